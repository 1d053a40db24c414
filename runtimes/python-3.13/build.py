#!/usr/bin/env python3
"""Builds the Python runtime: CPython and its C libraries, compiled for WASI and linked with the guest as one reactor.

    python3 build.py --out REACTOR.wasm --work DIR [--interpreter NAME] [--sources DIR] [--jobs N]

writes packages.bin beside REACTOR.wasm, with the packages that are imported from files.

Standard output speaks to the program that started this: `@step 3/8 95 Building Python` before each step (95 seconds
expected, 0 when it is already done), and `@error SENTENCE` with exit code 1 when the build cannot go on. All else goes
to DIR/build.log. A step that was interrupted starts afresh at the next call; finished ones are kept until something
that went into them changes. runtime.toml says what is built, and which interpreters there are: those share all steps but
the last three. DIR/native keeps the same Python for this machine.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import inspect
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import traceback
import zipfile

import extension_steps
import numpy_steps
import package_steps
from loop_patches import patch_loop
from parser_patches import patch_parser
from python_patches import patch_python
from python_steps import ADDRESSES_DO_NOT_WRAP, PYTHON_ARCHIVES, SMALL_COPIES_IN_PLACE, SQLITE_OPTIONS, WITHOUT_PROFILE
from python_steps import build_libraries, build_native, compile_python, configure_python
from regex_patches import patch_regex
from sources import BuildError, Source, fetch_sources, sha256_of_file
from state_patches import patch_state

HERE = pathlib.Path(__file__).resolve().parent
# The estimates of `@step` were taken with this many jobs.
ESTIMATE_JOBS = 2


# ---------------------------------------------------------------- the build


class Build:
    """Context of every step: settings, directories, the log, and how to run a program."""

    def __init__(self, arguments, settings):
        self.settings = settings
        self.recipe = HERE
        self.out = arguments.out.resolve()
        self.work = arguments.work.resolve()
        self.given_sources = arguments.sources and arguments.sources.resolve()
        self.jobs = arguments.jobs
        self.updated_suites = set()
        self.log = open(self.work / "build.log", "a", buffering=1)
        machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
        sources = [Source(entry) for entry in settings["source"]]
        if arguments.interpreter not in settings["interpreter"]:
            names = ", ".join(settings["interpreter"])
            raise BuildError(f"runtime.toml has no interpreter {arguments.interpreter}; it has {names}")
        self.interpreter = arguments.interpreter
        sources += [source for source, _ in package_steps.listed(HERE, self.interpreter)]
        self.libraries = extension_steps.listed(HERE, settings["interpreter"][self.interpreter])
        # Whether the engine that runs it has WebAssembly's exceptions.
        self.exceptions = settings["interpreter"][self.interpreter].get("exceptions", False)
        sources += [source for library in self.libraries for source in library.sources]
        self.sources = {source.name: source for source in sources if source.machine in (None, machine)}
        if "ziglang" not in self.sources:
            raise BuildError(f"runtime.toml names no compiler for {machine} machines; build on x86_64 or aarch64")

    @property
    def compile_flags(self):
        """For everything that ends up in the module."""
        return [
            "-g0", "-Wno-everything", *self.settings["build"]["optimize"],
            f"-DPROOFBOX_C_RECURSION_LIMIT={self.settings['limits']['c_recursion']}",
            f"-DPROOFBOX_PARSER_DEPTH={self.settings['limits']['parser_depth']}",
        ]

    def missing_sources(self):
        """Returns the sources whose archive is missing from work/sources, or has another hash."""
        archives = {source: self.archive(source.name) for source in self.sources.values()}
        return [
            source for source, path in archives.items() if not path.is_file() or sha256_of_file(path) != source.sha256
        ]

    def given(self, source):
        """The archive in --sources, if it is there."""
        path = self.given_sources and self.given_sources / source.archive
        return path if path and path.is_file() else None

    def archive(self, name):
        return self.work / "sources" / self.sources[name].archive

    def own(self, step):
        """The name, and the directory, of a step that each interpreter has for itself."""
        return step if self.interpreter == "default" else f"{step}-{self.interpreter}"

    def tool(self, name):
        return self.work / "toolchain" / "bin" / name

    @contextlib.contextmanager
    def scratch(self):
        path = self.work / "scratch"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def run(self, purpose, command, cwd=None, environment=None, extra=None):
        """Runs a program to its end, its output going to the log. If we are stopped, so is all that it started."""
        command = [str(word) for word in command]
        if environment is None:
            environment = self.compiler_environment()
        self.log.write(f"\n$ {shlex.join(command)}\n")
        process = subprocess.Popen(
            command, cwd=cwd or self.work, env={**environment, **(extra or {})}, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )
        try:
            code = process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if code != 0:
            raise BuildError(f"{purpose} failed ({command[0]} ended with {code}); the end of {self.log.name} says why")

    def output(self, purpose, command):
        """Runs a program for its output alone, and returns that."""
        try:
            return subprocess.check_output(
                [str(word) for word in command], cwd=self.work, env=self.compiler_environment(), stdin=subprocess.DEVNULL,
                stderr=self.log, text=True,
            )
        except subprocess.CalledProcessError as error:
            raise BuildError(f"{purpose} failed ({command[0]} ended with {error.returncode})") from error

    def compiler_environment(self):
        """Nothing of the caller's that could change the result."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.work),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "SOURCE_DATE_EPOCH": str(self.settings["build"]["source_date_epoch"]),
            "ZIG_GLOBAL_CACHE_DIR": str(self.work / "toolchain/cache"),
            "ZIG_LOCAL_CACHE_DIR": str(self.work / "toolchain/cache"),
        }

    def compile_all(self, purpose, files, folder, flags):
        """Compiles C files into `folder`, `jobs` at a time, and returns the objects."""
        folder.mkdir(parents=True, exist_ok=True)
        objects = [folder / f"{file.stem}.o" for file in files]
        assert len(set(objects)) == len(objects), "two files would share one object"
        rules = "".join(
            f"{object_file}: {file}\n\t@{shlex.join([str(self.tool('cc')), *map(str, flags)])} -c $< -o $@\n"
            for object_file, file in zip(objects, files)
        )
        makefile = folder / "Makefile"
        makefile.write_text(f"all: {' '.join(map(str, objects))}\n{rules}")
        self.run(purpose, ["make", f"-j{self.jobs}", "-f", makefile, "all"], cwd=folder)
        return objects

    def make_archive(self, path, objects):
        path.unlink(missing_ok=True)
        self.run(f"archiving {path.name}", [self.tool("ar"), "rcsD", path, *objects])


# ---------------------------------------------------------------- steps, in order


def unpack_toolchain(build, folder):
    """zig's C compiler for WASI, wrapped so that configure and make can call it like any other."""
    with zipfile.ZipFile(build.archive("ziglang")) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("ziglang/")])
    (folder / "ziglang/zig").chmod(0o755)
    (folder / "bin").mkdir()
    for name, arguments in TOOLS.items():
        tool = folder / "bin" / name
        tool.write_text(f"#!/bin/sh\n{DROP_STACK_FIRST}exec \"${{0%/bin/*}}/ziglang/zig\" {arguments} \"$@\"\n")
        tool.chmod(0o755)
    for file, old, new in TOOLCHAIN_PATCHES:
        path = folder / "ziglang/lib" / file
        text = path.read_text()
        if text.count(old) != 1:
            raise BuildError(f"{file} of this compiler is not as TOOLCHAIN_PATCHES in build.py expects it; adapt it to the version")
        path.write_text(text.replace(old, new))


# A block that `realloc` moves was copied byte by byte: within the C library, the compiler makes a loop of a copy.
TOOLCHAIN_PATCHES = (
    (
        "c/malloc.zig",
        "const no_context: *anyopaque = undefined;\n",
        "extern fn memcpy(noalias to: [*]u8, noalias from: [*]const u8, length: usize) callconv(.c) [*]u8;\n\n"
        "const no_context: *anyopaque = undefined;\n",
    ),
    (
        "c/malloc.zig",
        "        @memcpy(new_base[0..copy_len], old_base[0..copy_len]);\n",
        "        _ = memcpy(new_base, old_base, copy_len);\n",
    ),
)

# zig passes this to the linker itself and refuses to hear it from CPython's makefile as well.
DROP_STACK_FIRST = 'for word do shift; [ "$word" = -Wl,--stack-first ] || set -- "$@" "$word"; done\n'
# zig compiles C with the undefined-behaviour sanitizer unless told not to. bulk_memory makes memcpy one instruction.
TARGET = "-target wasm32-wasi -mcpu=lime1+bulk_memory -fno-sanitize=undefined"
TOOLS = {"cc": f"cc {TARGET}", "c++": f"c++ {TARGET}", "ar": "ar", "ranlib": "ranlib"}


def unpack_trees(build, folder):
    """The sources under names without versions."""
    for name in TREES:
        partial = folder / f"{name}.partial"
        with tarfile.open(build.archive(name)) as archive:
            archive.extractall(partial, filter="data")
        (only,) = partial.iterdir()
        only.rename(folder / name)
        partial.rmdir()
    patch_python(folder / "python")
    patch_loop(folder / "python")
    patch_state(folder / "python")
    patch_parser(folder / "python")
    patch_regex(folder / "python")


TREES = ("python", "zlib", "bzip2", "xz", "sqlite")


def stored(archive, folder):
    """A copy of a wheel that is not compressed: the Python that reads it has zlib only where the machine has its headers."""
    copy = folder / f"{archive.name}.stored"
    with zipfile.ZipFile(archive) as wheel, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as out:
        for name in sorted(wheel.namelist()):
            out.writestr(name, wheel.read(name))
    return copy


def freeze_library(build, folder):
    folder.mkdir(parents=True, exist_ok=True)
    build.run(
        "compiling the standard library",
        [build.work / "native/python", "-sP", HERE / "freeze.py", "--library", build.work / "trees/python/Lib",
         "--guest", HERE / "guest", "--time-zones", stored(build.archive("tzdata"), folder),
         *(word for name in PACKAGES for word in ("--package", stored(build.archive(name), folder))),
         "--tree", build.work / "numpy/python",
         *(word for library in build.libraries for word in ("--tree", library.python_folder(build) / "python")),
         *(word for library in build.libraries for name in library.preload for word in ("--preload", name)), "--out", folder],
    )
    build.run(
        "embedding the standard library",
        [build.tool("cc"), *build.compile_flags, *python_includes(build),
         "-c", folder / "frozen.c", "-o", folder / "frozen.o"],
    )


# Python packages in the image beside the standard library.
PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging")


# Files of CPython's _ctypes, which its own build leaves out for want of libffi; ctypes/ffi.c stands in for that.
CTYPES = ("_ctypes", "callbacks", "callproc", "cfield", "stgdict")


def python_includes(build):
    return [f"-I{build.work / 'trees/python/Include'}", f"-I{build.work / 'python'}"]


def link_reactor(build, folder):
    """The guest's C with everything else. Undefined symbols are errors but for the host's functions, which the guest
    declares as imports."""
    guest = HERE / "guest"
    objects = build.compile_all(
        "compiling the guest",
        sorted(guest.glob("*.c")),
        folder,
        [*build.compile_flags, *python_includes(build),
         f"-I{build.work / 'trees/python/Include/internal'}", f"-I{build.work / 'libraries/include'}", f"-I{guest}",
         f"-I{HERE / 'numpy/include'}"],
    )
    numpy = HERE / "numpy"
    objects += build.compile_all(
        "compiling what numpy lacks",
        sorted(numpy.glob("*.c")),
        folder / "numpy",
        [*build.compile_flags, *numpy_steps.FLAGS, *numpy_steps.FUSED, f"-I{numpy / 'include'}", *python_includes(build),
         *numpy_steps.includes(build), *(["-DPROOFBOX_LIBRARIES"] if build.libraries else [])],
    )
    objects += build.compile_all(
        "compiling ctypes",
        [HERE / "ctypes/ffi.c", *sorted(file for file in (build.work / "trees/python/Modules/_ctypes").glob("*.c") if file.stem in CTYPES)],
        folder / "ctypes",
        [*build.compile_flags, *python_includes(build), f"-I{build.work / 'trees/python/Include/internal'}", f"-I{HERE / 'ctypes/include'}",
         "-DPy_BUILD_CORE_MODULE", "-DHAVE_FFI_PREP_CIF_VAR=1", "-DHAVE_FFI_PREP_CLOSURE_LOC=1", "-DHAVE_FFI_CLOSURE_ALLOC=1"],
    )
    if build.libraries:
        glue = HERE / extension_steps.GLUE
        objects += build.compile_all(
            "compiling what the libraries lack",
            [*sorted(glue.glob("*.c")), extension_steps.write_modules(build, folder)],
            folder / "glue",
            [*build.compile_flags, *numpy_steps.FLAGS, f"-I{glue}", f"-I{numpy / 'include'}", *python_includes(build),
             *numpy_steps.includes(build), *(["-DPROOFBOX_EXCEPTIONS"] if build.exceptions else [])],
        )
        objects += extension_steps.objects(build)
    libraries = build.work / "libraries"
    build.run(
        "linking the reactor",
        [build.tool("c++"), *build.compile_flags, *(extension_steps.EXCEPTIONS if build.exceptions else []),
         "-mexec-model=reactor", "-o", folder / "reactor.wasm", *objects,
         *numpy_steps.objects(build),
         build.work / build.own("frozen") / "frozen.o", *(build.work / "python" / name for name in PYTHON_ARCHIVES),
         *(libraries / f"lib{name}.a" for name in ("z", "bz2", "lzma", "sqlite3")),
         "-lwasi-emulated-signal", "-lwasi-emulated-getpid", "-lwasi-emulated-process-clocks", "-lm",
         "-Wl,--export=__stack_pointer", "-Wl,--strip-debug",
         f"-Wl,-z,stack-size={build.settings['limits']['shadow_stack_bytes']}"],
    )

# ---------------------------------------------------------------- which steps are due


class Step:
    """Fills one directory. Done once and for all until something that goes into it changes."""

    def __init__(self, name, function, seconds, text, needs=(), inputs=lambda build: None, files=(), folder=None):
        self.name = name
        self.function = function
        self.seconds = seconds
        self.text = text
        self.needs = needs
        self.inputs = inputs
        self.files = files
        # A step that goes on in another one's directory cleans up after its own interruption.
        self.starts_empty = folder is None
        self.folder = folder or name

    def key(self, build, keys):
        """Equal for two calls exactly if the results would be."""
        files = [file for pattern in self.files for file in sorted(HERE.glob(pattern))]
        parts = [
            inspect.getsource(self.function),
            self.inputs(build),
            [keys[name] for name in self.needs],
            [(file.relative_to(HERE).as_posix(), sha256_of_file(file)) for file in files],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def carry_out(self, build):
        folder = build.work / self.folder
        if self.starts_empty:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.function(build, folder)


STEPS = [
    Step(
        "toolchain", unpack_toolchain, 3, "Unpacking the compiler",
        inputs=lambda build: [build.sources["ziglang"].sha256, TOOLS, DROP_STACK_FIRST, TOOLCHAIN_PATCHES],
    ),
    Step(
        "trees", unpack_trees, 3, "Unpacking the sources",
        inputs=lambda build: [build.sources[name].sha256 for name in TREES], files=["python_patches.py", "loop_patches.py", "state_patches.py", "parser_patches.py", "regex_patches.py"],
    ),
    Step("native", build_native, 110, "Building Python for this machine", needs=["trees"]),
    Step(
        "libraries", build_libraries, 30, "Compiling zlib, bzip2, lzma and SQLite",
        needs=["toolchain", "trees"], files=["libraries/**/*.h"],
        inputs=lambda build: [build.compile_flags, SQLITE_OPTIONS],
    ),
    Step(
        "python", configure_python, 55, "Configuring Python for WebAssembly",
        needs=["native", "libraries"], inputs=lambda build: build.compile_flags,
    ),
    Step(
        "compiled", compile_python, 35, "Compiling Python for WebAssembly", folder="python",
        needs=["python"],
        inputs=lambda build: [
            build.settings["modules"], PYTHON_ARCHIVES, SMALL_COPIES_IN_PLACE, ADDRESSES_DO_NOT_WRAP, WITHOUT_PROFILE,
        ],
        files=["profile/*.xz"],
    ),
    Step(
        "numpy", numpy_steps.unpack_numpy, 25, "Configuring numpy",
        needs=["toolchain", "native", "python"], files=["numpy/*.py", "numpy/include/*.h"],
        inputs=lambda build: [
            build.compile_flags, numpy_steps.settings(), *(build.sources[name].sha256 for name in ("numpy", "cython", "ninja"))
        ],
    ),
    Step(
        "numpy_compiled", numpy_steps.compile_numpy, 240, "Compiling numpy", folder="numpy", needs=["numpy"],
        inputs=lambda build: [numpy_steps.LEFT_OUT.pattern],
    ),
]


def steps_of(build):
    """The shared steps, those of the interpreter's libraries, and the interpreter's own."""
    extensions = []
    if build.libraries:
        extensions.append(Step(
            "cython", extension_steps.unpack_cython, 1, "Unpacking Cython", needs=["numpy"], files=["extensions/cython.toml"],
        ))
    if build.exceptions:
        extensions.append(Step(
            "exceptions", extension_steps.compile_exceptions, 5, "Compiling C++ exceptions", needs=["toolchain"],
            inputs=lambda build: [build.compile_flags, extension_steps.FLAGS, extension_steps.EXCEPTIONS],
            files=[f"{extension_steps.GLUE}/*.S"],
        ))
    for library in build.libraries:
        needed = [f"extension-{name}" for name in library.needs if name not in ("numpy", "libraries")]
        compiled, python = extension_steps.steps(library)
        extensions += [
            Step(
                library.compiled_step, compiled, library.entry.get("seconds", 10), f"Compiling {library.name}",
                needs=["cython", "python", "numpy_compiled", "libraries", *needed], inputs=library.compiled_inputs,
            ),
            Step(
                library.python_step, python, 2, f"Unpacking {library.name}'s Python files",
                needs=[library.compiled_step if library.part("meson") else "cython"],
                inputs=library.python_inputs, files=[f"{extension_steps.FOLDER}/{library.name}/*"],
            ),
        ]
    steps = [name for library in build.libraries for name in (library.compiled_step, library.python_step)]
    steps += ["exceptions"] if build.exceptions else []
    return [
        *STEPS, *extensions,
        Step(
            build.own("frozen"), freeze_library, 3, "Compiling the standard library",
            needs=["native", "python", "numpy_compiled", *steps], files=["freeze.py", "guest/**/*.py"],
            inputs=lambda build: [build.sources[name].sha256 for name in ("tzdata", *PACKAGES)],
        ),
        Step(
            build.own("packages"), package_steps.make_packages, 25, "Compiling the packages",
            needs=["native", "numpy_compiled", *steps],
            files=["package_steps.py", "nltk_data.py", "compile_packages.py", "freeze.py", "packages.toml", f"{package_steps.OWN}/**/*.py", "guest/stubs/**/*.py"],
            inputs=lambda build: [build.sources[name].version for name in package_steps.FROZEN],
        ),
        Step(
            build.own("reactor"), link_reactor, 20, "Linking the guest",
            needs=["compiled", build.own("frozen"), "libraries", "numpy_compiled", *steps],
            files=["guest/**/*.[ch]", "numpy/**/*.[ch]", "ctypes/**/*.[ch]", *([f"{extension_steps.GLUE}/*.[ch]"] if steps else [])],
            inputs=lambda build: [build.compile_flags, numpy_steps.FUSED, build.settings["limits"]],
        ),
    ]


def build_all(build):
    steps = steps_of(build)
    total = len(steps) + 1

    def announce(number, seconds, text):
        seconds = round(seconds * ESTIMATE_JOBS / build.jobs) if seconds else 0
        print(f"@step {number}/{total} {seconds} {text}", flush=True)

    announce(1, 30 if build.missing_sources() else 0, "Fetching the sources")
    fetch_sources(build)
    stamps = build.work / "stamps"
    stamps.mkdir(exist_ok=True)
    keys = {}
    for number, step in enumerate(steps, start=2):
        keys[step.name] = key = step.key(build, keys)
        stamp = stamps / step.name
        if stamp.is_file() and stamp.read_text() == key:
            announce(number, 0, step.text)
            continue
        announce(number, step.seconds, step.text)
        stamp.unlink(missing_ok=True)
        started = time.monotonic()
        step.carry_out(build)
        build.log.write(f"\n{step.text}: {time.monotonic() - started:.0f} s\n")
        stamp.write_text(key)
    build.out.parent.mkdir(parents=True, exist_ok=True)
    for made, path in (
        (build.own("reactor") + "/reactor.wasm", build.out),
        (build.own("packages") + "/packages.bin", build.out.with_name("packages.bin")),
    ):
        partial = path.with_name(path.name + ".partial")
        shutil.copyfile(build.work / made, partial)
        os.replace(partial, path)


# ---------------------------------------------------------------- the command


def check_prerequisites(missing_origins):
    """Says all that is missing at once, in the words of a Debian machine."""
    missing = []
    for program, package in {"cc": "gcc", "make": "make"}.items():
        if not shutil.which(program):
            missing.append(f"{program} (package {package})")
    if importlib.util.find_spec("_lzma") is None:
        missing.append("xz support in this Python (its lzma module; a distribution's own python3 has it)")
    if missing_origins & {"pypi", "pypi-source"} and importlib.util.find_spec("pip") is None:
        missing.append("pip (package python3-pip)")
    if "debian" in missing_origins and not shutil.which("apt-get"):
        missing.append("apt-get (a Debian machine, or the archives by --sources)")
    if "crate" in missing_origins and not shutil.which("cargo"):
        missing.append("cargo (a Rust toolchain, or the archive by --sources)")
    if missing:
        raise BuildError(f"install what the build needs and this machine lacks: {'; '.join(missing)}")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Builds the Python runtime's reactor module.")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the module is written")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="directory kept between builds")
    parser.add_argument("--interpreter", default="default", help="one of runtime.toml's (default: default)")
    parser.add_argument("--sources", type=pathlib.Path, help="directory with archives, used before any download")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time (default: processors)")
    return parser.parse_args()


def main():
    if sys.version_info < (3, 11, 4):
        raise BuildError(f"build.py needs Python 3.11.4 or later, and this is {platform.python_version()}")
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments.work.mkdir(parents=True, exist_ok=True)
    with open(arguments.work / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"another build is at work in {arguments.work}; wait for it or name another --work")
        import tomllib

        build = Build(arguments, tomllib.loads((HERE / "runtime.toml").read_text()))
        try:
            to_fetch = [source for source in build.missing_sources() if not build.given(source)]
            check_prerequisites({source.origin for source in to_fetch})
            build_all(build)
        except (BuildError, KeyboardInterrupt):
            raise
        except OSError as error:
            raise BuildError(f"{error}; free what is in the way and run the same command again") from error
        except Exception as error:
            traceback.print_exc(file=build.log)
            raise BuildError(f"the recipe itself failed ({error}); the end of {build.log.name} says where") from error


if __name__ == "__main__":
    try:
        main()
    except BuildError as error:
        print(f"@error {error}", flush=True)
        sys.exit(1)
    except KeyboardInterrupt:
        print("@error the build was stopped; the same command goes on from the last finished step", flush=True)
        sys.exit(1)
