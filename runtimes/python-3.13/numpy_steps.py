"""numpy as part of the module: its extension modules are linked into it, its Python files go where the library's go."""

import inspect
import re
import shlex
import shutil
import sys
import tarfile
import zipfile

from sources import BuildError

# Vector instructions: numpy's loops are made for them. Small copies: see build.py.
FLAGS = ["-mcpu=lime1+simd128-bulk_memory_opt", "-fno-threadsafe-statics"]
# For numpy/*.c: fused multiplications and additions, and no other instruction of that proposal.
FUSED = ["-mrelaxed-simd"]
# Each turn of a loop is counted (fuel), which costs more than adding two numbers: turns that do more, where that is worth
# the code's size.
LONG_TURNS = ["-mllvm", "-force-vector-interleave=4"]
WITH_LONG_TURNS = "*/loops_*.dispatch.c|*/lowlevel_strided_loops.c|*/clip.cpp|*/f2c_blas.c"
# Flags of other targets that meson and numpy ask for.
DROPPED = "-Wl,--*|-Wl,-O1|-fPIC|-pthread|-fexceptions"
# For C++: what is thrown is never caught (numpy/exceptions.c).
CXX_FLAGS = ["-fignore-exceptions"]
OPTIONS = [
    "--buildtype=release", "-Db_ndebug=true", "-Dblas=none", "-Dlapack=none", "-Dallow-noblas=true",
    "-Ddisable-optimization=true", "-Ddisable-svml=true", "-Ddisable-highway=true", "-Ddisable-intel-sort=true",
    "-Ddisable-threading=true", "-Dcpu-baseline=none", "-Dcpu-dispatch=none",
]

# A second copy of what two extension modules have of the same; and what only other processors have.
LEFT_OUT = re.compile(
    r"_simd\.(cpython|dispatch)|_(multiarray|umath)_tests\..*/src_common_|linalg/lapack_lite\..*/lapack_lite_(f2c|python)|mtrand\..*/src_distributions"
)


def unpack_numpy(build, folder):
    """The sources, changed as numpy/patches.py says, and configured with numpy's own meson."""
    unpack_tools(build, folder / "tools")
    with tarfile.open(build.archive("numpy")) as archive:
        archive.extractall(folder / "partial", filter="data")
    (only,) = (folder / "partial").iterdir()
    only.rename(folder / "tree")
    (folder / "partial").rmdir()
    patch(build, folder / "tree")
    # numpy's compiler is the toolchain's, told where this Python's headers are.
    includes = [f"-I{build.recipe / 'numpy/include'}", f"-I{build.work / 'python'}", f"-I{build.work / 'trees/python/Include'}"]
    for name, more in {"cc": [], "c++": CXX_FLAGS}.items():
        write_tool(
            folder / "tools/bin" / name,
            'case "$*" in *-Wl,--version*) echo "LLD (compatible with GNU linkers)"; exit 0;; esac\n'
            f'for word do shift; case "$word" in {DROPPED}) ;; {WITH_LONG_TURNS}) set -- "$@" "$word" {shlex.join(LONG_TURNS)};; '
            '*) set -- "$@" "$word";; esac; done\n'
            f"exec {shlex.join(map(str, [build.tool(name), *build.compile_flags, *FLAGS, *more, *includes]))} \"$@\"\n",
        )
    (folder / "cross.ini").write_text(CROSS_FILE.format(tools=folder / "tools/bin", ar=build.tool("ar"), python=build.work / "native/python"))
    build.run(
        "configuring numpy",
        [sys.executable, "-B", folder / "tree/vendored-meson/meson/meson.py", "setup", folder / "build", folder / "tree",
         "--cross-file", folder / "cross.ini", *OPTIONS],
        extra=environment(build, folder),
    )


CROSS_FILE = """\
[binaries]
c = '{tools}/cc'
cpp = '{tools}/c++'
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
"""


def settings():
    """Returns all that decides how numpy is configured, beside its sources and our changes to them."""
    parts = (unpack_tools, write_tool, patch, environment)
    return [FLAGS, LONG_TURNS, WITH_LONG_TURNS, DROPPED, CXX_FLAGS, OPTIONS, CROSS_FILE, *map(inspect.getsource, parts)]


def unpack_tools(build, tools):
    for name in ("bin", "path"):
        (tools / name).mkdir(parents=True)
    with zipfile.ZipFile(build.archive("cython")) as wheel:
        wheel.extractall(tools / "cython")
    write_tool(
        tools / "path/cython",
        f"PYTHONPATH={shlex.quote(str(tools / 'cython'))} exec {shlex.quote(sys.executable)} -B -m cython \"$@\"\n",
    )
    with zipfile.ZipFile(build.archive("ninja")) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/scripts/ninja"))
        (tools / "ninja").write_bytes(wheel.read(name))
    (tools / "ninja").chmod(0o755)


def environment(build, folder):
    """Meson wants a generator of this machine's on its path."""
    path = build.compiler_environment()["PATH"]
    return {"NINJA": str(folder / "tools/ninja"), "PATH": f"{folder / 'tools/path'}:{path}"}


def write_tool(path, script):
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def patch(build, tree):
    sys.path.insert(0, str(build.recipe / "numpy"))
    import patches

    try:
        patches.apply(tree)
    except ValueError as error:
        raise BuildError(f"{error}; adapt it to the version") from error


def compile_numpy(build, folder):
    """All objects of the extension modules, in the configured directory."""
    ninja = [folder / "tools/ninja", "-C", folder / "build"]
    listing = build.output("listing numpy's objects", [*ninja, "-t", "targets", "all"])
    objects = re.findall(r"(?m)^(\S+\.o): ", listing)
    objects = sorted(name for name in objects if not LEFT_OUT.search(name))
    build.run("compiling numpy", [*ninja, f"-j{build.jobs}", *objects], extra=environment(build, folder))
    (folder / "objects").write_text("".join(f"{name}\n" for name in objects))
    # The Python files, with the one that was generated.
    python = folder / "python"
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(folder / "tree/numpy", python / "numpy", ignore=lambda _, names: [name for name in names if not keeps(name)])
    # A package without a file of its own, of which numpy.testing imports a module.
    (python / "numpy/_core/tests/__init__.py").touch()
    # It names the compilers with their paths, which differ between machines: the image must not.
    config = (folder / "build/numpy/__config__.py").read_text().replace(str(build.work), "/build")
    (python / "numpy/__config__.py").write_text(config)


def keeps(name):
    return "." not in name or name.endswith(".py")


def objects(build):
    """Returns the objects to link for numpy."""
    folder = build.work / "numpy"
    return [folder / "build" / name for name in (folder / "objects").read_text().split()]


def includes(build):
    """For C files that use numpy's headers."""
    folder = build.work / "numpy"
    return [f"-I{folder / 'tree/numpy/_core/include'}", f"-I{folder / 'build/numpy/_core/include'}", f"-I{folder / 'build/numpy/_core'}"]
