"""Compiles the standard library and the guest's own modules into one blob with a table of frozen modules.

Run by build.py with the Python it has just built, so that the byte code fits the interpreter:
    python freeze.py --library Lib --guest guest --time-zones TZDATA.whl --package PACKAGE.whl ... --tree DIR ...
        --preload MODULE ... --out DIR
writes DIR/frozen.bin and DIR/frozen.c, which defines `guest_frozen`. With it the guest imports without any file.
"""

import argparse
import itertools
import marshal
import os
import pathlib
import re
import zipfile

# Packages with nothing to offer in a sandbox (windows, installers) or to users (their own tests).
SKIPPED_PACKAGES = {
    "__phello__", "__pycache__", "ensurepip", "idlelib", "site-packages", "test",
    "tests", "tkinter", "turtledemo", "venv",
}
SKIPPED_MODULES = {
    "__hello__", "_aix_support", "_android_support", "_apple_support", "_ios_support", "_osx_support", "turtle",
}
# Where tracebacks say the module is; guest.c names the same directory as the standard library's.
LIBRARY_DIRECTORY = "/lib/python3.13"
ALIGNMENT = 16


def standard_library(root):
    """(module name, is a package, source, file name in tracebacks) of all that is worth having."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_PACKAGES)
        package = pathlib.Path(folder).relative_to(root)
        if package.parts and "__init__.py" not in files:
            folders[:] = []
            continue
        for file in sorted(files):
            stem, extension = os.path.splitext(file)
            if extension != ".py" or (not package.parts and stem in SKIPPED_MODULES | {"__init__"}):
                continue
            yield as_module(package / file, pathlib.Path(folder, file).read_bytes())


def as_module(path, source):
    is_package = path.stem == "__init__"
    name = ".".join(path.parent.parts if is_package else (*path.parent.parts, path.stem))
    return name, is_package, source, f"{LIBRARY_DIRECTORY}/{path.as_posix()}"


def wheel_modules(wheel):
    """The modules of a wheel, as if they were the library's own."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".py"):
                yield as_module(pathlib.PurePosixPath(name), archive.read(name))


def tree_modules(root):
    """The modules of packages in a directory."""
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        if not UNWANTED & set(path.parts) or path.as_posix() in WANTED_TESTS:
            yield as_module(path, file.read_bytes())


# numpy: what packages it, and its tests but for what numpy.testing imports.
UNWANTED = {"_pyinstaller", "distutils", "tests", "conftest.py", "code_generators"}
WANTED_TESTS = {"numpy/_core/tests/__init__.py", "numpy/_core/tests/_natype.py"}


def guest_modules(root):
    """The guest's own modules, and its stand-ins for modules that cannot exist here, which may replace library ones."""
    for file in sorted(root.glob("*.py")):
        yield f"_proofbox_{file.stem}", False, file.read_bytes(), "<proofbox>"
    for file in sorted(root.glob("stubs/**/*.py")):
        yield as_module(file.relative_to(root / "stubs"), file.read_bytes())


# As a program would import them: when all else is prepared.
PRELOADING = """

_walk = walk


def walk():
    import importlib

    import _proofbox_frames
    import _proofbox_plotting

    for name in {names!r}:
        importlib.import_module(name)
    _proofbox_frames.prepare()
    _proofbox_plotting.prepare()
    _walk()
"""


def preloading(modules, names):
    """The guest's modules, of which the last that prepares the image (_proofbox_warmup) imports `names` first."""
    for name, is_package, source, shown_as in modules:
        if names and name == "_proofbox_warmup":
            source += PRELOADING.format(names=names).encode()
        yield name, is_package, source, shown_as


def time_zones(wheel):
    """Source of a module whose ZONES are the files of package tzdata, by their keys (`environment.py` serves them)."""
    with zipfile.ZipFile(wheel) as archive:
        keys = archive.read("tzdata/zones").decode().split()
        zones = {key: archive.read(f"tzdata/zoneinfo/{key}") for key in sorted(keys)}
    return f"ZONES = dict(zip({tuple(zones)!r}, {tuple(zones.values())!r}))\n"


def main():
    parser = argparse.ArgumentParser()
    for option in ("--library", "--guest", "--time-zones", "--out"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    for option in ("--package", "--tree"):
        parser.add_argument(option, type=pathlib.Path, action="append", default=[])
    parser.add_argument("--preload", action="append", default=[])
    arguments = parser.parse_args()

    modules = {}
    packages = (module for wheel in arguments.package for module in wheel_modules(wheel))
    trees = (module for tree in arguments.tree for module in tree_modules(tree))
    guest = preloading(guest_modules(arguments.guest), arguments.preload)
    found = itertools.chain(standard_library(arguments.library), packages, trees, guest)
    for name, is_package, source, shown_as in found:
        assert re.fullmatch(r"[\w.-]+", name), f"{name} is not a module's name"
        modules[name] = is_package, compile(source, shown_as, "exec", dont_inherit=True, optimize=0)

    zones = time_zones(arguments.time_zones)
    modules["_proofbox_tzdata"] = False, compile(zones, "<proofbox>", "exec", dont_inherit=True)

    blob = bytearray()
    rows = []
    for name, (is_package, code) in modules.items():
        blob.extend(bytes(-len(blob) % ALIGNMENT))
        data = marshal.dumps(code)
        rows.append(f'    {{"{name}", blob + {len(blob)}, {len(data)}, {int(is_package)}}},\n')
        blob.extend(data)

    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "frozen.bin").write_bytes(blob)
    (arguments.out / "frozen.c").write_text(
        "#include <Python.h>\n\n"
        f"__attribute__((aligned({ALIGNMENT}))) static const unsigned char blob[] = {{\n"
        '#embed "frozen.bin"\n'
        "};\n\n"
        f"const struct _frozen guest_frozen[] = {{\n{''.join(rows)}    {{0, 0, 0, 0}},\n}};\n"
    )
    print(len(modules), "modules,", len(blob), "bytes")


if __name__ == "__main__":
    main()
