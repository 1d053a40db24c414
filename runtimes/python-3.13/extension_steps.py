"""Libraries with native code that an interpreter has beside numpy, each described by one file extensions/NAME.toml.

docs/explanation/data-interpreter.md explains the fields of such a file and shows how to add a library."""

import inspect
import json
import re
import shlex
import shutil
import sys
import tarfile

import fortran_steps
import meson_steps
import numpy_steps
import package_steps
import signatures
from sources import BuildError, Source

FOLDER = "extensions"
# For all C and C++: see numpy_steps.
FLAGS = [*numpy_steps.FLAGS, "-DNDEBUG"]
GLUE = f"{FOLDER}/glue"
# C++ exceptions and longjmp by those of WebAssembly, as it standardised them.
EXCEPTIONS = [
    "-mcpu=lime1+simd128-bulk_memory_opt+exception_handling+reference_types+multivalue", "-fwasm-exceptions",
    "-mllvm", "-wasm-use-legacy-eh=false", "-mllvm", "-wasm-enable-sjlj",
]
COMPILED = (".build", ".c", ".cc", ".cpp", ".cxx", ".f", ".h", ".hh", ".hpp", ".pxd", ".pxi", ".pxi.in", ".pyf", ".pyf.src", ".pyx", ".pyx.in", ".txt")


def loaded(path):
    import tomllib  # not at the top: an older Python is told so by build.py

    return tomllib.loads(path.read_text())


class Library:
    """Extension library, as one file extensions/NAME.toml describes it."""

    def __init__(self, recipe, name):
        self.name = name
        # Two steps, so that what is compiled stays when only Python changes.
        self.compiled_step, self.python_step = f"extension-{name}", f"extension-{name}-python"
        self.path = recipe / FOLDER / f"{name}.toml"
        if not self.path.is_file():
            raise BuildError(f"{self.path} is missing: each library of an interpreter in runtime.toml has such a file")
        self.entry = loaded(self.path)
        self.needs = self.entry.get("needs", [])
        defaults = {"name": name, "from": "pypi-source"}
        self.sources = [Source({**defaults, **source}) for source in self.entry.get("source", ())]

    def part(self, name):
        return self.entry.get(name, {})

    def folder(self, build):
        """Directory of the compiled objects."""
        return build.work / self.compiled_step

    def python_folder(self, build):
        return build.work / self.python_step

    def changes(self, python):
        """Changes to its sources: all of them, or those that concern what is compiled."""
        return [entry for entry in self.entry.get("change", ()) if python or entry["file"].endswith(COMPILED)]

    def compiled_inputs(self, build):
        names = ("needs", "file", "configured", "copy", "rewritten", "cython", "compile", "modules", "meson", "fortran", "called")
        parts = {name: self.entry.get(name) for name in names if name in self.entry}
        engine = (
            unpack, change, adapt_signatures, signatures, generate, matching, cython_modules, init_function, modules,
            compile_library, jump_flags, includes,
        )
        if self.part("meson"):
            engine += (compile_with_meson, meson_steps)
        if self.part("fortran") or self.part("called"):
            engine += (fortran_steps, fortran_steps.fortran)
        return [
            build.compile_flags, FLAGS, TEMPITA, build.exceptions, EXCEPTIONS, [source.sha256 for source in self.sources],
            parts, self.changes(False),
            [inspect.getsource(function) for function in engine],
        ]

    def python_inputs(self, build):
        engine = (unpack, change, matching, copy_python, collect_python, meson_steps.copy_installed)
        return [
            [source.sha256 for source in self.sources], self.entry, [inspect.getsource(function) for function in engine],
            [build.sources[f"packages/{name}"].sha256 for name in self.part("python").get("frozen", ())],
        ]

    @property
    def preload(self):
        return self.part("python").get("preload", [])


def listed(recipe, interpreter):
    """The libraries of an interpreter, those that others need first."""
    return [Library(recipe, name) for name in interpreter.get("extensions", [])]


# ---------------------------------------------------------------- Cython


def unpack_cython(build, folder):
    """The pinned Cython, changed as extensions/cython.toml says."""
    shutil.copytree(build.work / "numpy/tools/cython", folder / "cython")
    change(folder / "cython", loaded(build.recipe / FOLDER / "cython.toml").get("change", ()))


def cython(build):
    return [sys.executable, "-B", "-m", "cython"], {"PYTHONPATH": str(build.work / "cython/cython")}


# ---------------------------------------------------------------- one library


def steps(library):
    """The functions of a library's two steps."""

    def compiled(build, folder):
        unpack(build, library, folder / "tree", library.changes(False))
        if library.part("meson"):
            compile_with_meson(build, library, folder)
            return
        if library.part("fortran"):
            fortran_steps.make_compiler(build, folder, library.part("fortran"))
        if library.part("called"):
            compile_called(build, library, folder)
            return
        adapt_signatures(library, folder / "tree")
        generate(build, library, folder)
        compile_library(build, library, folder)

    def python(build, folder):
        unpack(build, library, folder / "tree", library.changes(True))
        collect_python(build, library, folder)
        shutil.rmtree(folder / "tree", ignore_errors=True)

    return compiled, python


def unpack(build, library, tree, changes):
    for source in library.sources:
        archive = build.archive(source.name)
        target = tree / source.below if source.below else tree
        if archive.suffix == ".whl":
            package_steps.unpack_wheel(archive, target)
            continue
        partial = tree.with_name("partial")
        with tarfile.open(archive) as file:
            file.extractall(partial, filter="data")
        (only,) = partial.iterdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        only.rename(target)
        partial.rmdir()
    for file in library.entry.get("file", ()):
        path = tree / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"])
    for entry in library.entry.get("configured", ()):
        values, text = entry.get("values", {}), (tree / entry["from"]).read_text()
        (tree / entry["to"]).write_text(re.sub(r"@(\w+)@", lambda match: values.get(match[1], entry["default"]), text))
    for entry in library.entry.get("rewritten", ()):
        for path in matching(tree, entry["files"]):
            text, count = re.subn(entry["old"], entry["new"], path.read_text(), flags=re.MULTILINE)
            if not count:
                raise BuildError(f"{path} is not as the recipe expects it ({entry['old'][:60]!r}); adapt it to the version")
            path.write_text(text)
    for copy in library.entry.get("copy", ()):
        shutil.copyfile(tree / copy["from"], tree / copy["to"])
    change(tree, changes)


def change(tree, changes):
    """Replaces `old`, which is there once or `count` times, by `new` in `file`."""
    for entry in changes:
        path = tree / entry["file"]
        text = path.read_text()
        if text.count(entry["old"]) != entry.get("count", 1):
            raise BuildError(f"{path} is not as the recipe expects it ({entry['old'].strip()[:60]!r}); adapt it to the version")
        path.write_text(text.replace(entry["old"], entry["new"]))


TEMPITA = """\
import pathlib, sys
from Cython import Tempita
for name in sys.argv[1:]:
    file = pathlib.Path(name)
    file.with_suffix("").write_text(Tempita.sub(file.read_text()))
"""


def compile_with_meson(build, library, folder):
    """As its own meson describes it (meson_steps.py)."""
    entry = library.part("compile")
    needed = [other_library(build, name) for name in library.needs if name not in ("numpy", "libraries")]
    with_fortran = [other for other in needed if other.part("fortran")]
    names = [word for other in with_fortran for word in ("-include", other.folder(build) / "include/fortran_names.h")]
    threads = ["-include", build.recipe / GLUE / "include/no_threads.h"] if entry.get("threads") else []
    # Where numpy's headers are meson says, to those that want them.
    paths = [path for path in includes(build, library, folder) if path not in numpy_steps.includes(build)]
    meson_steps.compile_library(build, library, folder, {
        "flags": [*build.compile_flags, *FLAGS, *paths, *names, *entry.get("flags", [])],
        "c": [*jump_flags(build, library, False), *entry.get("c_flags", [])],
        "c++": [*jump_flags(build, library, True), *threads, *entry.get("cpp_flags", [])],
        "cython": cython(build), "glue": build.recipe / GLUE, "init_function": init_function,
        "fortran": with_fortran[0].folder(build) / "compiler" if with_fortran else None,
        "pxd": [other_library(build, name).folder(build) for name in library.part("meson").get("pxd", ())],
    })


def compile_called(build, library, folder):
    """Compiles those of a library's Fortran routines that other libraries call (fortran_steps.py)."""
    compiler = other_library(build, library.part("called")["of"])
    callers = [other_library(build, name) for name in library.part("called")["by"]]
    objects = [caller.folder(build) / name for caller in callers for name in described(build, caller)["objects"]]
    made = fortran_steps.compile_called(build, folder, compiler.folder(build), compiler.part("fortran"), objects)
    (folder / "list.json").write_text(json.dumps({"objects": [path.name for path in made], "modules": {}}))


def other_library(build, name):
    return Library(build.recipe, name)


def generate(build, library, folder):
    """Files that templates make."""
    templates = matching(folder / "tree", library.part("cython").get("templates", []))
    if templates:
        _, environment = cython(build)
        build.run(f"filling in {library.name}'s templates", [sys.executable, "-B", "-c", TEMPITA, *templates], extra=environment)


def adapt_signatures(library, tree):
    """Wraps the functions that Python calls with more arguments than they have (signatures.py)."""
    for file in matching(tree, library.part("compile").get("signatures", [])):
        text, count = signatures.adapt(file.read_text())
        if not count:
            raise BuildError(f"{file} needs no other signatures; take it off the list in {library.path.name}")
        file.write_text(text)


def matching(tree, patterns):
    """Files of the patterns in turn; one with a `!` before it takes files away."""
    found = []
    for pattern in patterns:
        if pattern.startswith("!"):
            found = [file for file in found if not file.relative_to(tree).match(pattern[1:])]
            continue
        files = sorted(tree.glob(pattern))
        if not files:
            raise BuildError(f"{tree} has no file {pattern}; adapt the recipe to the version")
        found += [file for file in files if file not in found]
    return found


def cython_modules(library, tree):
    """(dotted name, file) of each module in Cython's language."""
    entry = library.part("cython")
    root = tree / entry.get("root", "")
    for file in matching(tree, entry.get("modules", [])):
        yield ".".join(file.relative_to(root).with_suffix("").parts), file


def init_function(dotted):
    """Another one than `PyInit_NAME`, of which there would be several in one program."""
    return f"PyInit_{dotted.replace('.', '__')}"


def modules(library, tree):
    """Dotted names of the extension modules, with their functions."""
    found = {name: init_function(name) for name, _ in cython_modules(library, tree)}
    found.update({name: f"PyInit_{function}" for name, function in library.part("modules").items()})
    return found


def compile_library(build, library, folder):
    """All objects, by one makefile. Their list is kept in `objects`, the extension modules in `modules`."""
    tree, objects = folder / "tree", folder / "objects"
    entry = library.part("compile")
    rules, made = [], []

    def rule(target, source, commands):
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"\t@{shlex.join(map(str, command))}\n" for command in commands)
        rules.append(f"{target}: {source}\n{lines}")

    def compiled(source, target, flags):
        plus = source.suffix in (".cpp", ".cc", ".cxx")
        compiler = build.tool("c++" if plus else "cc")
        path = source.relative_to(folder)
        parts = (part for part in entry.get("for", ()) if any(path.match(pattern) for pattern in part["files"]))
        own = [flag for part in parts for flag in part["flags"]]
        language = [*entry.get("cpp_flags" if plus else "c_flags", []), *jump_flags(build, library, plus)]
        if plus and entry.get("threads"):
            language += ["-include", build.recipe / GLUE / "include/no_threads.h"]
        rule(target, source, [[compiler, *common, *language, *own, *flags, "-c", source, "-o", target]])
        made.append(target)

    common = [*build.compile_flags, *FLAGS, *entry.get("flags", []), *includes(build, library, folder)]
    for source in matching(tree, entry.get("sources", [])):
        compiled(source, objects / source.relative_to(tree).with_suffix(f"{source.suffix}.o"), [])
    command, environment = cython(build)
    cython_entry = library.part("cython")
    as_cpp = matching(tree, cython_entry.get("cpp", []))
    for dotted, file in cython_modules(library, tree):
        plus = file in as_cpp
        generated = folder / "generated" / f"{dotted}.{'cpp' if plus else 'c'}"
        words = [*command, "-3", "--module-name", dotted, *cython_entry.get("options", []), *(["--cplus"] if plus else [])]
        for path in [*cython_entry.get("include", []), cython_entry.get("root", ".")]:
            words += ["-I", tree / path]
        if "numpy" in library.needs:
            words += ["-I", build.work / "numpy/tree"]
        rule(generated, file, [[*words, file.relative_to(tree), "-o", generated]])
        init = f"-DPyInit_{dotted.rpartition('.')[2]}={init_function(dotted)}"
        compiled(
            generated, objects / f"{dotted}.o",
            ["-include", build.recipe / GLUE / "as_indices.h", f"-I{file.parent}", init],
        )
    makefile = folder / "Makefile"
    makefile.write_text(f"all: {' '.join(map(str, made))}\n.SECONDARY:\n" + "".join(rules))
    build.run(f"compiling {library.name}", ["make", f"-j{build.jobs}", "-f", makefile, "all"], cwd=tree, extra=environment)
    (folder / "list.json").write_text(json.dumps({
        "objects": [str(path.relative_to(folder)) for path in made], "modules": modules(library, tree)
    }))


def jump_flags(build, library, plus):
    """How C++ throws, and C jumps, in an engine with exceptions or without: there, both end the run (glue/jumps.c)."""
    jumps = library.part("compile").get("jumps", False)
    if build.exceptions:
        return EXCEPTIONS if plus or jumps else []
    return [*(numpy_steps.CXX_FLAGS if plus else []), *([f"-I{build.recipe / GLUE / 'include'}"] if jumps else [])]


def compile_exceptions(build, folder):
    """What the toolchain's library leaves out for WebAssembly: throwing and catching."""
    library = build.work / "toolchain/ziglang/lib"
    paths = [f"-I{library / path}" for path in ("libcxxabi/include", "libcxxabi/src", "libcxx/src", "libunwind/include")]
    flags = [*build.compile_flags, *FLAGS, *EXCEPTIONS]
    abi = ["-std=c++23", "-D_LIBCPP_BUILDING_LIBRARY", "-D_LIBCXXABI_BUILDING_LIBRARY", "-D_LIBCXXABI_HAS_NO_THREADS"]
    sources = {
        library / "libunwind/src/Unwind-wasm.c": ["-fdeclspec", "-D_LIBUNWIND_HIDE_SYMBOLS"],
        library / "libcxxabi/src/cxa_exception.cpp": abi,
        library / "libcxxabi/src/cxa_personality.cpp": abi,
        build.recipe / GLUE / "exception_tags.S": [],
    }
    for source, more in sources.items():
        tool = build.tool("c++" if source.suffix == ".cpp" else "cc")
        build.run(f"compiling {source.name}", [tool, *flags, *more, *paths, "-c", source, "-o", folder / f"{source.stem}.o"])


def includes(build, library, folder):
    """Directories of headers: its own, Python's, and those of what it needs."""
    found = [f"-I{folder / 'tree' / path}" for path in library.part("compile").get("include", [])]
    for name in library.needs:
        if name == "numpy":
            found += numpy_steps.includes(build)
        elif name == "libraries":
            found.append(f"-I{build.work / 'libraries/include'}")
        else:
            needed = other_library(build, name)
            found += [f"-I{needed.folder(build) / 'tree' / path}" for path in needed.part("compile").get("exported", [])]
    return [*found, f"-I{build.work / 'trees/python/Include'}", f"-I{build.work / 'python'}"]


def copy_python(source, target):
    shutil.copytree(source, target, ignore=lambda _, names: [name for name in names if not numpy_steps.keeps(name)])


def collect_python(build, library, folder):
    """Its modules in Python, which are frozen, in `python`; what lies in the packages' layer, in `data`."""
    entry = library.part("python")
    python = folder / "python"
    python.mkdir()
    if library.part("meson"):
        meson_steps.copy_installed(library.folder(build), folder / "tree", python)
    for name, path in entry.get("packages", {}).items():
        source = folder / "tree" / path
        if source.is_file():
            shutil.copyfile(source, python / f"{name}.py")
        else:
            copy_python(source, python / name)
    for pattern in entry.get("left_out", ()):
        for path in python.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if entry.get("frozen"):
        tree = folder / "frozen"
        entries = {source.package: (source, entry) for source, entry in package_steps.listed(build.recipe)}
        for name in entry["frozen"]:
            source, described = entries[name]
            package_steps.unpack_wheel(build.archive(source.name), tree)
            package_steps.apply_changes(described, tree)
        change(tree, library.entry.get("frozen_change", ()))
        for each in sorted(tree.iterdir()):
            if each.suffix == ".py":
                shutil.copyfile(each, python / each.name)
            elif not each.name.endswith(".dist-info"):
                copy_python(each, python / each.name)
    for part in library.entry.get("embedded", ()):
        root = folder / "tree" / part["root"]
        files = {file.relative_to(root).as_posix(): file for file in matching(root, part["files"])}
        files.update({name: build.recipe / FOLDER / library.name / name for name in part.get("recipe", ())})
        texts = {name: file.read_text() for name, file in files.items()}
        (python / part["module"]).write_text(f"FILES = {texts!r}\n")
    data = folder / "data"
    data.mkdir()
    for part in entry.get("data", ()):
        root = folder / "tree" / part["root"]
        for file in matching(root, part["files"]):
            if file.is_file():
                target = data / part.get("below", "") / file.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)


# ---------------------------------------------------------------- what the interpreter's own steps take of them


def described(build, library):
    return json.loads((library.folder(build) / "list.json").read_text())


def objects(build):
    """Returns the objects to link for the interpreter's libraries."""
    found = [library.folder(build) / name for library in build.libraries for name in described(build, library)["objects"]]
    # First: the linker takes the toolchain's own of the same names for what is not there yet.
    return [*(sorted((build.work / "exceptions").glob("*.o")) if build.exceptions else []), *found]


# A constructor runs before main, where the table of built-in modules may still be extended: the guest's C needs not know.
MODULES_FILE = """\
#include <Python.h>
{declarations}
static struct _inittab modules[] = {{
{entries}    {{NULL, NULL}},
}};
__attribute__((constructor)) static void register_modules(void) {{
    if (PyImport_ExtendInittab(modules) < 0) __builtin_trap();
}}
"""


def write_modules(build, folder):
    """A C file that makes the libraries' extension modules built-in ones, under their dotted names."""
    found = {}
    for library in build.libraries:
        found.update(described(build, library)["modules"])
    path = folder / "extension_modules.c"
    path.write_text(MODULES_FILE.format(
        declarations="".join(f"extern PyObject *{function}(void);\n" for function in found.values()),
        entries="".join(f'    {{"{name}", {function}}},\n' for name, function in found.items()),
    ))
    return path
