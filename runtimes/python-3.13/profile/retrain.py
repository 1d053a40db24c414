"""Makes interpreter.profdata.xz anew: which branches of the interpreter the training programs take.

    python3 profile/retrain.py --work BUILD --profile-runtime MINICOV/c --llvm-profdata llvm-profdata

BUILD is a copy of the recipe's work directory after a build (`build` in the cache directory): its objects of Python are compiled
anew. MINICOV is the source of the crate minicov 0.3.8, which has LLVM's profile runtime. `pip install wasmtime` runs the
programs. Any llvm-profdata from version 14 on does, as it is given the profile as text."""

import argparse
import collections
import hashlib
import lzma
import pathlib
import shlex
import struct
import subprocess
import sys
import threading
import tomllib
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True

import build as recipe  # noqa: E402
from python_steps import ADDRESSES_DO_NOT_WRAP, PYTHON_ARCHIVES, SMALL_COPIES_IN_PLACE  # noqa: E402

RUNTIME = ("", "Buffer", "Internal", "Merge", "PlatformLinux", "Writer", "Value", "VersionVar")
# Version 10 of the raw format, for 32 bits: LLVM's compiler-rt/include/profile/InstrProfData.inc.
HEADER = struct.Struct("<16Q")
RECORD = struct.Struct("<QQIIIII3HxxI")
COUNTER_BYTES = 8
INDIRECT_CALLS, SIZES = 0, 1
MOST_FREQUENT = 24


def compile_instrumented(build):
    folder = build.work / "python"
    for old in (*folder.rglob("*.o"), *folder.rglob("*.a")):
        old.unlink()
    flags = ["-O2", "-fprofile-generate", SMALL_COPIES_IN_PLACE, ADDRESSES_DO_NOT_WRAP]
    build.run(
        "compiling Python with counters", ["make", "-s", f"-j{build.jobs}", f"EXTRA_CFLAGS={shlex.join(flags)}", *PYTHON_ARCHIVES], cwd=folder
    )


def link(build, runtime, folder):
    """The program that is trained: training.c with the instrumented Python and the profile runtime."""
    (folder / "InstrProfilingUtil.h").write_text("")
    mode = folder / "mode.c"
    mode.write_text("#include <sys/stat.h>\nmode_t proofbox_mode(const struct stat *st) { return st->st_mode; }\n")
    libraries, program = build.work / "libraries", folder / "training.wasm"
    build.run(
        "linking the training program",
        [build.tool("cc"), *build.compile_flags, "-DCOMPILER_RT_HAS_ATOMICS=1", f"-I{folder}", f"-I{runtime}", f"-I{runtime / 'profile'}",
         *recipe.python_includes(build), "-o", program, HERE / "training.c", mode,
         *(runtime / f"InstrProfiling{name}.c" for name in RUNTIME), build.work / "frozen/frozen.o",
         *(build.work / "python" / name for name in PYTHON_ARCHIVES), *(libraries / f"lib{name}.a" for name in ("z", "bz2", "lzma", "sqlite3")),
         "-lwasi-emulated-signal", "-lwasi-emulated-getpid", "-lwasi-emulated-process-clocks", "-lm", f"-Wl,-z,stack-size={64 << 20}"],
    )  # fmt: skip
    return program


def train(program, folder):
    """Runs each training program, and returns the raw profiles."""
    import wasmtime

    config = wasmtime.Config()
    config.max_wasm_stack = 2 << 20
    engine = wasmtime.Engine(config)
    module = wasmtime.Module.from_file(engine, str(program))
    profiles, failed = [], []

    def run_all():
        for source in sorted((HERE / "training").glob("*.py")):
            linker, store, wasi = wasmtime.Linker(engine), wasmtime.Store(engine), wasmtime.WasiConfig()
            linker.define_wasi()
            wasi.argv = ["training", f"/in/{source.name}", f"/out/{source.stem}.profraw"]
            wasi.preopen_dir(str(source.parent), "/in")
            wasi.preopen_dir(str(folder), "/out")
            wasi.inherit_stderr()
            wasi.stdout_file = str(folder / "stdout")
            store.set_wasi(wasi)
            try:
                linker.instantiate(store, module).exports(store)["_start"](store)
            except wasmtime.ExitTrap as end:
                if end.code:
                    failed.append(source.name)
            profiles.append(folder / f"{source.stem}.profraw")
            print(source.name, flush=True)

    threading.stack_size(64 << 20)
    thread = threading.Thread(target=run_all)
    thread.start()
    thread.join()
    if failed:
        sys.exit(f"these training programs failed: {', '.join(failed)}")
    return profiles


def number(data, at):
    """A LEB128 number, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def function_names(blob):
    """Names of functions by the first 64 bits of their MD5, which is what profiles know them by."""
    names, at = {}, 0
    while at < len(blob):
        size, at = number(blob, at)
        compressed, at = number(blob, at)
        text = zlib.decompress(blob[at : at + compressed]) if compressed else blob[at : at + size]
        at += compressed or size
        names.update((int.from_bytes(hashlib.md5(name).digest()[:8], "little"), name.decode()) for name in text.split(b"\x01"))
        while at < len(blob) and blob[at] == 0:
            at += 1
    return names


def read_profile(data, total):
    """Adds a raw profile to `total`: counters, and values by kind and place, for each function and hash of its branches."""
    (_, version, ids, records, before, counters, after, bitmaps, after_bitmaps, names_size, counters_from, *_) = HEADER.unpack_from(data)
    if version & 0xFFFFFFFF != 10:
        sys.exit(f"version {version & 0xFFFFFFFF} of the raw format is not known here")
    first = HEADER.size + ids
    counters_at = first + records * RECORD.size + before
    names_at = counters_at + counters * COUNTER_BYTES + after + bitmaps + after_bitmaps
    names = function_names(data[names_at : names_at + names_size])
    found = [RECORD.unpack_from(data, first + index * RECORD.size) for index in range(records)]
    by_address = {record[4]: record[0] for record in found if record[4]}
    values_at = (names_at + names_size + 7) // 8 * 8
    for index, (name, branches, counter, _, _, _, count, calls, sizes, tables, _) in enumerate(found):
        offset = (counter - counters_from + index * RECORD.size) & 0xFFFFFFFF
        counts = struct.unpack_from(f"<{count}Q", data, counters_at + offset)
        places = [[collections.Counter() for _ in range(sites)] for sites in (calls, sizes)]
        if calls or sizes or tables:
            values_size, kinds = struct.unpack_from("<II", data, values_at)
            at = values_at + 8
            for _ in range(kinds):
                kind, sites = struct.unpack_from("<II", data, at)
                lengths = data[at + 8 : at + 8 + sites]
                at += 8 + (sites + 7) // 8 * 8
                for site, length in enumerate(lengths):
                    for _ in range(length):
                        value, times = struct.unpack_from("<QQ", data, at)
                        at += 16
                        if kind == INDIRECT_CALLS:
                            value = names.get(by_address.get(value & 0xFFFFFFFF))
                        if kind <= SIZES and value is not None:
                            places[kind][site][value] += times
            values_at += values_size
        known = total.setdefault((names[name], branches), [[0] * count, [[collections.Counter() for _ in kind] for kind in places]])
        known[0] = [one + other for one, other in zip(known[0], counts)]
        for kind, more in zip(known[1], places):
            for site, values in zip(kind, more):
                site.update(values)


def as_text(total):
    lines = [":ir"]
    for (name, branches), (counts, places) in sorted(total.items()):
        if not any(counts):
            continue
        lines += [name, str(branches), str(len(counts)), *map(str, counts)]
        kinds = [kind for kind in (INDIRECT_CALLS, SIZES) if places[kind]]
        lines += [str(len(kinds))] if kinds else []
        for kind in kinds:
            lines += [str(kind), str(len(places[kind]))]
            for site in places[kind]:
                values = site.most_common(MOST_FREQUENT)
                lines += [str(len(values)), *(f"{value}:{times}" for value, times in values)]
        lines.append("")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--profile-runtime", type=pathlib.Path, required=True)
    parser.add_argument("--llvm-profdata", default="llvm-profdata")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    work = arguments.work.absolute()
    settings = tomllib.loads((HERE.parent / "runtime.toml").read_text())
    options = argparse.Namespace(out=work / "reactor.wasm", work=work, sources=None, jobs=arguments.jobs, interpreter="default")
    build = recipe.Build(options, settings)
    folder = work / "training"
    folder.mkdir(exist_ok=True)
    compile_instrumented(build)
    total = {}
    for profile in train(link(build, arguments.profile_runtime.absolute(), folder), folder):
        read_profile(profile.read_bytes(), total)
    text, indexed = folder / "interpreter.proftext", folder / "interpreter.profdata"
    text.write_text(as_text(total))
    subprocess.run([arguments.llvm_profdata, "merge", text, "-o", indexed], check=True)
    (HERE / "interpreter.profdata.xz").write_bytes(lzma.compress(indexed.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(total)} functions, {sum(any(counts) for counts, _ in total.values())} of them with a profile")


if __name__ == "__main__":
    main()
