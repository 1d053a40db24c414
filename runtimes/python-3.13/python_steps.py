"""CPython for this machine and for WebAssembly, and the C libraries that it needs."""

import pathlib
import platform
import re
import shlex
import shutil

from sources import BuildError, sha256_of_file

HERE = pathlib.Path(__file__).resolve().parent


def build_native(build, folder):
    """The same Python for this machine: it compiles the library's byte code, and benchmarks compare with it."""
    tree = "../trees/python"
    build.run(
        "configuring Python for this machine",
        [f"{tree}/configure", "-q", "--without-ensurepip", "--disable-test-modules"],
        cwd=folder,
    )
    build.run("compiling Python for this machine", ["make", "-s", f"-j{build.jobs}"], cwd=folder)


def build_libraries(build, folder):
    """Static zlib, bzip2, liblzma and SQLite, with their headers beside them."""
    trees = build.work / "trees"
    flags = build.compile_flags

    zlib = trees / "zlib"
    objects = build.compile_all(
        "compiling zlib",
        [file for file in sorted(zlib.glob("*.c")) if not file.name.startswith("gz")],
        folder / "zlib",
        [*flags, "-DHAVE_UNISTD_H", "-DHAVE_STDARG_H"],
    )
    build.make_archive(folder / "libz.a", objects)

    bzip2 = trees / "bzip2"
    names = ("blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib")
    objects = build.compile_all(
        "compiling bzip2", [bzip2 / f"{name}.c" for name in names], folder / "bzip2", flags
    )
    build.make_archive(folder / "libbz2.a", objects)

    lzma = trees / "xz/src/liblzma"
    parts = ("check", "common", "delta", "lz", "lzma", "rangecoder", "simple")
    # Generators of tables, size-optimised doubles, and what needs threads or the machine's memory size.
    left_out = re.compile(r".*_tablegen|.*_small|.*_mt|crc_clmul_consts_gen|hardware_.*|outqueue")
    objects = build.compile_all(
        "compiling liblzma",
        [file for part in parts for file in sorted((lzma / part).glob("*.c")) if not left_out.fullmatch(file.stem)],
        folder / "lzma",
        [*flags, "-DHAVE_CONFIG_H", f"-I{HERE / 'libraries/lzma'}", f"-I{trees / 'xz/src/common'}",
         f"-I{lzma / 'api'}", *(f"-I{lzma / part}" for part in parts)],
    )
    build.make_archive(folder / "liblzma.a", objects)

    sqlite = trees / "sqlite/sqlite3"
    objects = build.compile_all(
        "compiling SQLite",
        [sqlite / "sqlite3.c"],
        folder / "sqlite",
        [*flags, "-include", HERE / "libraries/sqlite_wasi.h", *SQLITE_OPTIONS],
    )
    build.make_archive(folder / "libsqlite3.a", objects)

    include = folder / "include"
    shutil.copytree(lzma / "api", include)
    for header in (zlib / "zlib.h", zlib / "zconf.h", bzip2 / "bzlib.h", sqlite / "sqlite3.h"):
        shutil.copy(header, include)


SQLITE_OPTIONS = [
    "-DSQLITE_THREADSAFE=0",
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    # Both need memory shared between processes, which WASI lacks.
    "-DSQLITE_OMIT_WAL",
    "-DSQLITE_MAX_MMAP_SIZE=0",
    '-DSQLITE_DEFAULT_UNIX_VFS="unix"',
    # Temporary tables in memory: quicker than the sandbox's files, and they need no quota.
    "-DSQLITE_TEMP_STORE=2",
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
    "-DHAVE_LOCALTIME_R",
    "-DHAVE_USLEEP",
    # What distributions switch on and programs have come to expect.
    "-DSQLITE_ENABLE_COLUMN_METADATA",
    "-DSQLITE_ENABLE_FTS3",
    "-DSQLITE_ENABLE_FTS3_PARENTHESIS",
    "-DSQLITE_ENABLE_FTS4",
    "-DSQLITE_ENABLE_FTS5",
    "-DSQLITE_ENABLE_MATH_FUNCTIONS",
    "-DSQLITE_ENABLE_RTREE",
]


def configure_python(build, folder):
    """Cross configuration. What is answered here for configure are headers and functions that zig's libc declares,
    so that configure finds them, but does not have."""
    libraries = build.work / "libraries"
    absent_functions = (
        "epoll_create", "epoll_create1", "gethostbyaddr", "gethostbyname", "getprotobyname", "getservbyname",
        "getservbyport", "hstrerror", "mmap", "setgroups", "timerfd_create",
    )
    absent_headers = (
        "libintl_h", "net_ethernet_h", "net_if_h", "pty_h", "shadow_h", "spawn_h", "sys_epoll_h", "sys_eventfd_h",
        "sys_sendfile_h", "sys_timerfd_h", "sys_xattr_h", "utmp_h",
    )
    include = f"-I{libraries / 'include'}"
    answers = {
        "CONFIG_SITE": "../trees/python/Tools/wasm/config.site-wasm32-wasi",
        "CC": build.tool("cc"),
        "CXX": build.tool("c++"),
        "CPP": f"{build.tool('cc')} -E",
        "AR": build.tool("ar"),
        "RANLIB": build.tool("ranlib"),
        "READELF": ":",
        "OPT": shlex.join(build.compile_flags),
        "CFLAGS": "",
        # configure must neither ask this machine about its libraries nor run what it has compiled.
        "PKG_CONFIG": "false",
        "HOSTRUNNER": "false",
        "py_cv_module__socket": "n/a",
        **{f"ac_cv_func_{name}": "no" for name in absent_functions},
        **{f"ac_cv_header_{name}": "no" for name in absent_headers},
        **{
            f"{variable}_{kind}": value
            for variable, library in {
                "ZLIB": "z", "BZIP2": "bz2", "LIBLZMA": "lzma", "LIBSQLITE3": "sqlite3",
            }.items()
            for kind, value in {"CFLAGS": include, "LIBS": f"-L{libraries} -l{library}"}.items()
        },
    }
    build.run(
        "configuring Python for WASI",
        ["../trees/python/configure", "-q", "--host=wasm32-wasip1", f"--build={platform.machine()}-pc-linux-gnu",
         "--with-build-python=../native/python", "--prefix=/", "--with-pymalloc", "--disable-test-modules",
         "--without-ensurepip", "--disable-ipv6"],
        cwd=folder,
        extra={name: str(value) for name, value in answers.items()},
    )


# wasmtime calls the host for each `memory.copy`, which costs more than the few bytes that Python mostly copies. With this
# memcpy stays a call of libc's, which copies small pieces itself and leaves large ones to the instruction.
SMALL_COPIES_IN_PLACE = "-mcpu=lime1-bulk_memory_opt"

# clang takes CPython's -fno-strict-overflow to mean addresses as well, and then adds each offset into a structure by an instruction
# of its own, instead of putting it into the load.
ADDRESSES_DO_NOT_WRAP = "-fno-wrapv-pointer"

PROFILE = HERE / "profile/interpreter.profdata.xz"

# Told which branches are taken, the compiler makes so much of the loop in place that nothing of it stays in registers.
WITHOUT_PROFILE = "Python/ceval.o"


def unpack_profile(build):
    """Unpacks the profile of the branches that programs take (profile/README.md), for the compiler. Its name has its
    hash: the compiler's cache knows a file by its name alone."""
    import lzma  # not at the top: what a Python without it lacks is said by check_prerequisites

    path = build.work / "profile" / f"{sha256_of_file(PROFILE)[:16]}.profdata"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.decompress(PROFILE.read_bytes()))
    return path


def compile_python(build, folder):
    """libpython and the archives of its bundled libraries, in the configured directory."""
    for leftover in (*folder.rglob("*.o"), *folder.rglob("*.a")):
        leftover.unlink()
    flags = [SMALL_COPIES_IN_PLACE, ADDRESSES_DO_NOT_WRAP]
    profile = [f"-fprofile-use={unpack_profile(build)}", "-Werror=profile-instr-out-of-date"]
    for wanted, targets in ((flags, [WITHOUT_PROFILE]), ([*profile, *flags], PYTHON_ARCHIVES)):
        build.run(
            "compiling Python for WASI",
            ["make", "-s", f"-j{build.jobs}", f"EXTRA_CFLAGS={shlex.join(wanted)}", *targets],
            cwd=folder,
        )
    built = set(re.findall(r'{"(\w+)", PyInit_', (folder / "Modules/config.c").read_text()))
    missing = sorted(set(build.settings["modules"]["required"]) - built)
    if missing:
        raise BuildError(
            f"configure left out the extension modules {', '.join(missing)}; {folder / 'config.log'} says why"
        )


PYTHON_ARCHIVES = (
    "libpython3.13.a",
    "Modules/_decimal/libmpdec/libmpdec.a",
    "Modules/expat/libexpat.a",
    "Modules/_hacl/libHacl_Hash_SHA2.a",
)
