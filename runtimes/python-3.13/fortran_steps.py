"""Fortran: a compiler by way of f2c for libraries that have some, and the routines of BLAS and LAPACK that they call."""

import itertools
import json
import re
import shlex
import shutil
import sys

import numpy_steps

FOLDER = "fortran"
sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parent / FOLDER))
import fortran  # noqa: E402

FLAGS = [*numpy_steps.FLAGS, "-std=gnu17", "-D_WASI_EMULATED_SIGNAL"]
# numpy has its own copies of some: these are others.
PREFIX = "f77_"
# Functions of f2c's library that numpy's copy of it has too.
RUNTIME = re.compile(r"(pow|[cdhilrsz])_\w+")
# A division of complex numbers by zero gives infinities and NaN, as natively, and does not end the program.
RUNTIME_FLAGS = ["-Dtmpfile=f77_tmpfile", "-DIEEE_COMPLEX_DIVIDE"]
# Routines that are translated and compiled together.
TOGETHER = 40


# ---------------------------------------------------------------- the compiler


def make_compiler(build, folder, entry):
    """f2c for this machine, headers that give Fortran's functions names of their own, and a program that compiles."""
    tree = folder / "tree"
    f2c = tree / entry["f2c"]
    tokens = (f2c / "tokens").read_text().split("\n")
    (f2c / "tokdefs.h").write_text("".join(f"#define {name} {number}\n" for number, name in enumerate(filter(None, tokens), 1)))
    (f2c / "sysdep.hd").write_text("/* mkdtemp is there */\n")
    makefile = re.search(r"OBJECTSd = ((?:.*\\\n)*.*)", (f2c / "makefile.u").read_text())[1]
    sources = [f2c / f"{name}.c" for name in re.findall(r"(\w+)\.o", makefile)]
    build.run("compiling f2c", ["cc", "-O1", "-w", "-std=gnu89", "-o", folder / "f2c", *sources])
    include = folder / "include"
    include.mkdir()
    runtime = tree / entry["runtime"]
    for header in ("f2c", "sysdep1", "signal1"):
        text = (runtime / f"{header}.h0").read_text()
        # A subroutine that is given as an argument returns nothing, either (fortran.py).
        (include / f"{header}.h").write_text(re.sub(r"typedef .*(?=\(\*[SU]_fp\))", "typedef void ", text))
    # What its own configuration finds out about numbers.
    (include / "arith.h").write_text("#define IEEE_8087\n#define Arith_Kind_ASL 1\n")
    routines = sorted({path.stem.lower() for path in routines_of(tree, entry)} | written(build, entry))
    (include / "fortran_names.h").write_text("".join(f"#define {name}_ {PREFIX}{name}_\n" for name in routines))
    helpers = sorted(path.stem for path in runtime.glob("*.c") if RUNTIME.fullmatch(path.stem))
    (include / "f2c_names.h").write_text("".join(f"#define {name} {PREFIX}{name}\n" for name in [*helpers, "F77_aloc"]))
    settings = {
        "name": f"G95 (f2c) {build.sources['f2c'].version}", "f2c": str(folder / "f2c"),
        "cc": [str(word) for word in c_compiler(build, folder)],
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    command = [sys.executable, "-B", build.recipe / FOLDER / "fortran.py", folder / "settings.json"]
    numpy_steps.write_tool(folder / "compiler", f'exec {shlex.join(map(str, command))} "$@"\n')


def c_compiler(build, folder):
    """For what f2c makes."""
    return [
        build.tool("cc"), *build.compile_flags, *FLAGS, f"-I{folder / 'include'}",
        "-include", folder / "include/fortran_names.h", "-include", folder / "include/f2c_names.h",
    ]


def routines_of(tree, entry):
    """Files with one routine each, of the same name."""
    return [path for pattern in entry["routines"] for path in sorted(tree.glob(pattern))]


def written(build, entry):
    """Names of the routines that are written in C here."""
    return {name for file in entry["own"] for name in re.findall(r"\b([a-z]\w*)_(?=[(,)])", (build.recipe / FOLDER / file).read_text())}


# ---------------------------------------------------------------- what is called of it


def compile_called(build, folder, compiler, entry, objects):
    """Compiles the routines that the objects call, and those that they call in turn; returns the objects made."""
    tree = compiler / "tree"
    own, provided = [build.recipe / FOLDER / name for name in entry["own"]], written(build, entry)
    known = {path.stem.lower(): path for path in routines_of(tree, entry)}
    wanted = {name for path in objects for name in imported_functions(path.read_bytes()) if name.startswith(PREFIX)}
    todo = {name.removeprefix(PREFIX).removesuffix("_") for name in wanted if name.endswith("_")}
    called = set()
    while todo:
        name = todo.pop()
        if name in known and name not in called and name not in provided:
            called.add(name)
            text = "\n".join(line for line in known[name].read_text(errors="replace").split("\n") if line[:1] not in tuple("*Cc!"))
            todo |= set(re.findall(r"\w+", text.lower())) & known.keys()
    rules = []
    groups = itertools.batched(sorted(called), TOGETHER) if hasattr(itertools, "batched") else batched(sorted(called))
    command = [sys.executable, "-B", build.recipe / FOLDER / "fortran.py", compiler / "settings.json", "-c"]
    for number, names in enumerate(groups):
        target = folder / f"routines{number}.o"
        rules.append((target, [*command, *(known[name] for name in names), "-o", target]))
    includes = [f"-I{build.recipe / 'numpy/include'}"]
    for path in own:
        target = folder / f"{path.stem}.o"
        rules.append((target, [*c_compiler(build, compiler), *includes, "-c", path, "-o", target]))
    made = [target for target, _ in rules]
    make(build, folder, rules, "compiling what is called of BLAS and LAPACK")
    runtime = tree / entry["runtime"]
    sources = [path for path in sorted(runtime.glob("*.c")) if path.stem not in entry["left_out"]]
    helpers = build.compile_all("compiling f2c's library", sources, folder / "runtime", [*c_compiler(build, compiler)[1:], f"-I{runtime}", *RUNTIME_FLAGS])
    build.make_archive(folder / "libf2c.a", helpers)
    return [*made, folder / "libf2c.a"]


def batched(names):
    return [names[start : start + TOGETHER] for start in range(0, len(names), TOGETHER)]


def make(build, folder, rules, purpose):
    makefile = folder / "Makefile"
    targets = " ".join(str(target) for target, _ in rules)
    makefile.write_text(f"all: {targets}\n" + "".join(f"{target}:\n\t@{shlex.join(map(str, command))}\n" for target, command in rules))
    build.run(purpose, ["make", f"-j{build.jobs}", "-f", makefile, "all"], cwd=folder)


def imported_functions(data):
    """Names of the functions that an object of WebAssembly calls and does not have."""
    position = 8

    def number():
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text():
        nonlocal position
        length = number()
        position += length
        return data[position - length : position].decode()

    while position < len(data):
        section, length = data[position], None
        position += 1
        length = number()
        end = position + length
        if section == 2:
            found = []
            for _ in range(number()):
                text()
                name, kind = text(), data[position]
                position += 1
                if kind == 0:
                    found.append(name)
                    number()
                elif kind in (1, 2):
                    position += kind == 1
                    limits = number()
                    number()
                    if limits & 1:
                        number()
                elif kind == 3:
                    position += 2
                else:
                    position += 1
                    number()
            return found
        position = end
    return []
