"""Python packages in one file, which every sandbox sees as its site-packages (crates/runtime/src/packages.rs): compiled, without
their sources and tests. Beside them lie the sources of what is frozen into the image, for tracebacks and `inspect`."""

import json
import pathlib
import shutil
import tarfile
import zipfile

import freeze
import nltk_data
from sources import BuildError, Source

# Where sandboxes see them.
DIRECTORY = "/lib/python3.13/site-packages"
# Of a package's own description nobody asks for more than this.
DESCRIPTION = "METADATA"
LEFT_OUT = {"tests", "test", "__pycache__"}
# Sources of translations: what is read are their compiled forms.
SOURCES_OF_TRANSLATIONS = (".po", ".pot")
# Frozen into the image (build.py) and described here, as importlib.metadata looks for files.
FROZEN = ("numpy", "pytest", "pluggy", "iniconfig", "packaging")
# What makes the data of packages (`data_of` in packages.toml).
MAKERS = {"nltk": nltk_data.make}
# Packages of the recipe's own.
OWN = "packages"
# Of the standard library, what few programs import: files rather than parts of the image.
FROM_LIBRARY = ("tkinter", "turtle.py")
# Where the guest looks for sources (guest/packages.py).
SOURCES = "library-sources"


def listed(recipe, interpreter=None):
    """Returns the entries of packages.toml, all or those of one interpreter, as pairs of a source of the build and its
    entry."""
    import tomllib  # not at the top: an older Python is told so by build.py

    entries = tomllib.loads((recipe / "packages.toml").read_text())["package"]
    defaults = {"from": "pypi"}
    return [
        (Source({**defaults, "package": entry["name"], **entry, "name": f"packages/{entry['name']}"}), entry) for entry in entries
        if interpreter is None or interpreter in entry.get("interpreters", [interpreter])
    ]


def own(recipe, interpreter):
    """Names, versions and paths of the stand-ins that packages.toml lists for an interpreter."""
    import tomllib

    entries = tomllib.loads((recipe / "packages.toml").read_text())["own"]
    return [
        (entry["name"], entry["version"], recipe / OWN / entry["path"]) for entry in entries
        if interpreter in entry.get("interpreters", [interpreter])
    ]


def make_packages(build, folder):
    tree = folder / "site-packages"
    data = {}
    for source, entry in listed(build.recipe, build.interpreter):
        archive = build.archive(source.name)
        if "data_of" in entry:
            data.setdefault(entry["data_of"], {})[entry["name"]] = archive
            continue
        if archive.suffix == ".whl":
            unpack_wheel(archive, tree)
        else:
            unpack_source(archive, tree, entry.get("root"), entry.get("taken", ()))
            describe(entry["name"], source.version, tree)
        apply_changes(entry, tree)
        leave_out(entry, tree)
    for name, archives in data.items():
        MAKERS[name](archives, tree)
    stand_ins = own(build.recipe, build.interpreter)
    paths = [build.work / "trees/python/Lib" / name for name in FROM_LIBRARY] + [path for _, _, path in stand_ins]
    for path in paths:
        if path.is_file():
            shutil.copyfile(path, tree / path.name)
        else:
            shutil.copytree(path, tree / path.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", *LEFT_OUT))
    for name, version, _ in stand_ins:
        if version:
            describe(name, version, tree)
    for name, version in described(build):
        describe(name, version, tree)
    for library in build.libraries:
        shutil.copytree(library.python_folder(build) / "data", tree, dirs_exist_ok=True)
    build.run(
        "compiling the packages",
        [build.work / "native/python", "-sP", build.recipe / "compile_packages.py", "--tree", tree, "--shown-as", DIRECTORY,
         "--jobs", build.jobs],
    )
    for path, source in frozen_sources(build):
        target = tree / SOURCES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source)
    write(tree, folder / "packages.bin")


def apply_changes(entry, tree):
    for change in entry.get("changes", ()):
        text = (tree / change["file"]).read_text()
        if text.count(change["old"]) != 1:
            raise BuildError(f"{change['file']} is not as packages.toml expects it; adapt `changes` to the version")
        (tree / change["file"]).write_text(text.replace(change["old"], change["new"]))


def leave_out(entry, tree):
    kept = [tree / path for path in entry.get("kept", ())]
    for pattern in entry.get("left_out", ()):
        found = [path for path in tree.glob(pattern) if not any(path.is_relative_to(each) for each in kept)]
        if not found:
            raise BuildError(f"{entry['name']} has no {pattern}; adapt `left_out` to the version")
        for path in found:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def described(build):
    """Names and versions of what is frozen and is not in packages.toml."""
    yield from ((name, build.sources[name].version) for name in FROZEN)
    for library in build.libraries:
        default = [library.name] if library.part("python") else []
        names = library.part("python").get("described", default)
        yield from ((source.package, source.version) for source in library.sources if source.name in names)


def frozen_sources(build):
    """Paths below the library's directory, and sources, of the frozen modules that are not the guest's own."""
    wheels = [build.archive(name) for name in FROZEN if build.archive(name).suffix == ".whl"]
    found = [*freeze.standard_library(build.work / "trees/python/Lib"), *freeze.tree_modules(build.work / "numpy/python")]
    found += [module for wheel in wheels for module in freeze.wheel_modules(wheel)]
    found += [module for library in build.libraries for module in freeze.tree_modules(library.python_folder(build) / "python")]
    own = {path.relative_to(build.recipe / "guest/stubs").as_posix() for path in (build.recipe / "guest/stubs").rglob("*.py")}
    for _, _, source, shown_as in found:
        path = shown_as.removeprefix(freeze.LIBRARY_DIRECTORY + "/")
        if path not in own:
            yield path, source


def unpack_wheel(archive, tree, descriptions=frozenset([DESCRIPTION])):
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            path = pathlib.PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise BuildError(f"{archive.name} has a file that would lie elsewhere: {name}")
            head = path.parts[0]
            if head.endswith(".dist-info") and path.name not in descriptions:
                continue
            if head.endswith(".data"):
                # Parts for other places than the library's are scripts and manuals.
                if path.parts[1] != "purelib":
                    continue
                path = path.relative_to(head, path.parts[1])
            if not name.endswith(("/", *SOURCES_OF_TRANSLATIONS)) and not LEFT_OUT & set(path.parts):
                target = tree / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(name))


def unpack_source(archive, tree, root, taken):
    """Packages and modules below `root` of a source archive; and of its top what is `taken`, with all files."""
    with tarfile.open(archive) as source:
        for member in source:
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            below = parts[:1] == (root,) and member.name.endswith(".py")
            if member.isfile() and (below or parts[:1] and parts[0] in taken) and not LEFT_OUT & set(parts):
                target = tree.joinpath(*parts[1:] if below else parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source.extractfile(member) as file, open(target, "wb") as out:
                    shutil.copyfileobj(file, out)


def describe(name, version, tree):
    folder = tree / f"{name.lower().replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / DESCRIPTION).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def write(tree, path):
    index, position = {}, 0
    files = sorted(file for file in tree.rglob("*") if file.is_file())
    for file in files:
        length = file.stat().st_size
        index[file.relative_to(tree).as_posix()] = [position, length]
        position += length
    head = json.dumps(index, separators=(",", ":")).encode()
    with open(path, "wb") as out:
        out.write(len(head).to_bytes(8, "little") + head)
        for file in files:
            out.write(file.read_bytes())
