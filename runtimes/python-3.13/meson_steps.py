"""Libraries that are built by their own meson: its configuration says what is generated, compiled and installed."""

import json
import pathlib
import re
import shlex
import shutil
import sys

import numpy_steps


def compile_library(build, library, folder, settings):
    """Configures and compiles; leaves list.json with objects and modules, and installed.json with the Python files.

    `settings` has what extension_steps knows of a library: flags of C and C++, and Cython's command."""
    entry = library.part("meson")
    write_tools(build, entry, folder, settings)
    setup = [sys.executable, "-B", build.work / "numpy/tree/vendored-meson/meson/meson.py", "setup", folder / "build", folder / "tree"]
    build.run(
        f"configuring {library.name}", [*setup, "--cross-file", folder / "cross.ini", *OPTIONS, *entry.get("options", [])],
        extra=environment(build, folder, settings),
    )
    left_out = re.compile("|".join(entry.get("left_out", ["$^"])))
    ninja = [build.work / "numpy/tools/ninja", "-C", folder / "build"]
    listing = build.output(f"listing {library.name}'s objects", [*ninja, "-t", "targets", "all"])
    objects = sorted(name for name in re.findall(r"(?m)^(\S+\.o): ", listing) if not left_out.search(name))
    build.run(f"compiling {library.name}", [*ninja, f"-j{build.jobs}", *objects], extra=environment(build, folder, settings))
    # Named after where they would be installed; their first functions after where they are built (COMPILER).
    modules = {}
    for source, target in installed(folder):
        path = pathlib.Path(source)
        if path.suffix == ".so" and not left_out.search(f"{path.relative_to(folder / 'build')}.p/"):
            modules[dotted(target)] = settings["init_function"](dotted(path.relative_to(folder / "build")))
    (folder / "list.json").write_text(json.dumps({"objects": [f"build/{name}" for name in objects], "modules": modules}))
    list_installed(folder)


OPTIONS = ["--buildtype=plain", "-Db_ndebug=true", "--wrap-mode=nodownload"]


def installed(folder):
    """(file, where below the packages' directory) of all that would be installed there."""
    plan = json.loads((folder / "build/meson-info/intro-install_plan.json").read_text())
    for kind in plan.values():
        for source, where in kind.items():
            root, *parts = pathlib.PurePosixPath(where["destination"]).parts
            if root not in ("{py_purelib}", "{py_platlib}"):
                continue
            path, target = pathlib.Path(source), pathlib.PurePosixPath(*parts)
            if not path.is_dir():
                yield source, target
                continue
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    yield str(file), target / file.relative_to(path)


def dotted(path):
    """The name of a module in such a file."""
    return ".".join([*path.parent.parts, path.name.partition(".")[0]])


def list_installed(folder):
    """Writes where the Python files of the tree would be installed; those that were generated are put there, with nothing of
    the machine in them."""
    listed = {}
    for source, target in installed(folder):
        path = pathlib.Path(source)
        if target.suffix != ".py":
            continue
        if path.is_relative_to(folder / "tree"):
            listed[str(path.relative_to(folder / "tree"))] = str(target)
        else:
            copy = folder / "generated" / target
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text().replace(str(folder.parent), "/build"))
    (folder / "installed.json").write_text(json.dumps(listed))


def copy_installed(compiled, tree, python):
    """The Python files of a tree, and those generated when it was compiled, where they would be installed."""
    for source, target in json.loads((compiled / "installed.json").read_text()).items():
        (python / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / source, python / target)
    if (compiled / "generated").is_dir():
        shutil.copytree(compiled / "generated", python, dirs_exist_ok=True)


CROSS_FILE = """\
[binaries]
c = '{tools}/cc'
cpp = '{tools}/c++'
fortran = '{tools}/fortran'
cython = '{generators}/cython'
f2py = '{generators}/f2py'
ar = '{ar}'
python = '{python}'
pkg-config = '/bin/false'
[host_machine]
system = 'wasi'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
[properties]
needs_exe_wrapper = true
longdouble_format = 'IEEE_QUAD_LE'
skip_sanity_check = true
numpy-include-dir = '{numpy}/_core/include'
"""

# A compiler for meson: told where headers are, and that each module's first function has the name that it has here.
COMPILER = """\
case "$*" in *-Wl,--version*) echo "LLD (compatible with GNU linkers)"; exit 0;; esac
for word do
    shift
    case "$last" in -o) object=$word;; esac
    case "$word" in {dropped}) ;; *.c|*.cc|*.cpp|*.cxx) source=$word; set -- "$@" "$word";; *) set -- "$@" "$word";; esac
    last=$word
done
# Nothing is linked: of modules only the objects are wanted, but some wait for whole ones.
case "$object" in *.so) : > "$object"; exit;; esac
case "$object" in *.so.p/*)
    module=${{object%%.so.p/*}}
    module=${{module%%.cpython-*}}
    set -- "$@" "-DPyInit_${{module##*/}}=PyInit_$(echo "$module" | sed s,/,__,g)"
    case "$module" in {own} *) ;; esac
    read -r line < "$source"
    case "$line" in "/* Generated by Cython"*) set -- -include {glue}/as_indices.h "$@";; esac
esac
case "$object" in {cases} *) ;; esac
exec {command} "$@"
"""

# f2py without numpy around it: it only writes text.
F2PY = """\
import sys, types
package = types.ModuleType("numpy")
package.__path__ = [{tree!r}]
package.intp = type("intp", (), {{"itemsize": 4}})
sys.modules["numpy"] = package
from numpy.f2py.f2py2e import main
main()
"""


def write_tools(build, entry, folder, settings):
    tools, generators, numpy = folder / "tools/bin", folder / "tools/path", folder / "numpy"
    tools.mkdir(parents=True)
    generators.mkdir()
    tree = build.work / "numpy/tree"
    # Where an installed numpy has its headers.
    shutil.copytree(tree / "numpy/_core/include", numpy / "_core/include")
    for path in (build.work / "numpy/build/numpy/_core").glob("*.h"):
        shutil.copyfile(path, numpy / "_core/include/numpy" / path.name)
    for path in (build.work / "numpy/build/numpy/_core/include/numpy").glob("*.h"):
        shutil.copyfile(path, numpy / "_core/include/numpy" / path.name)
    shutil.copytree(tree / "numpy/f2py/src", numpy / "f2py/src")
    (numpy / "_core/lib").mkdir()
    build.make_archive(numpy / "_core/lib/libnpymath.a", [])
    cases = "".join(
        f"{'|'.join(part['files'])}) set -- \"$@\" {shlex.join(part['flags'])};; " for part in entry.get("for", ())
    )
    # Names that several modules define, and each for itself.
    own = "".join(
        f"{module}) set -- \"$@\" {' '.join(f'-D{name}={name}_of_{pathlib.Path(module).name}' for name in part['names'])};; "
        for part in entry.get("own", ()) for module in part["modules"]
    )
    for name in ("cc", "c++"):
        command = shlex.join(str(word) for word in [build.tool(name), *settings["flags"], *settings["c++" if name == "c++" else "c"]])
        numpy_steps.write_tool(
            tools / name,
            COMPILER.format(dropped=numpy_steps.DROPPED, glue=shlex.quote(str(settings["glue"])), cases=cases, own=own, command=command),
        )
    command, variables = settings["cython"]
    for other in settings["pxd"]:
        copy_declarations(other, folder / "pxd")
    includes = ["-I", tree, "-I", folder / "pxd", *(word for path in entry.get("cython_include", []) for word in ("-I", folder / "tree" / path))]
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    numpy_steps.write_tool(generators / "cython", f'{variables} exec {shlex.join(map(str, [*command, *includes]))} "$@"\n')
    (folder / "tools/f2py.py").write_text(F2PY.format(tree=str(tree / "numpy")))
    numpy_steps.write_tool(generators / "f2py", f'exec {shlex.join([sys.executable, "-B", str(folder / "tools/f2py.py")])} "$@"\n')
    if settings["fortran"]:
        numpy_steps.write_tool(tools / "fortran", f'exec {shlex.quote(str(settings["fortran"]))} "$@"\n')
    (folder / "cross.ini").write_text(CROSS_FILE.format(
        tools=tools, generators=generators, ar=build.tool("ar"), python=build.work / "native/python", numpy=numpy,
    ))


def copy_declarations(library, target):
    """What modules of a library that was built by its meson declare for other modules in Cython's language."""
    for root in (library / "tree", library / "build"):
        for file in root.rglob("*.pxd"):
            copy = target / file.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            for parent in copy.relative_to(target).parents[:-1]:
                (target / parent / "__init__.py").touch()


def environment(build, folder, settings):
    path = build.compiler_environment()["PATH"]
    _, variables = settings["cython"]
    return {**variables, "NINJA": str(build.work / "numpy/tools/ninja"), "PATH": f"{folder / 'tools/path'}:{path}"}
