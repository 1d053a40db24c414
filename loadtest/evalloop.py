#!/usr/bin/env python3
"""Measures what a change of CPython's evaluation loop is worth, without building an image. README.md says how.

`code` compiles the loop as the service would, and counts what its machine code is made of: figures that depend on the compilers
alone. `race` runs the programs of `programs` in interpreters of their own, in turns, and compares their CPU time. Needs the
packages `wasmtime` and `capstone`, and an x86-64 machine."""

import argparse
import collections
import ctypes
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import capstone
import wasmtime

LOOP = "_PyEval_EvalFrameDefault"
# Opcodes whose quickest way through the loop is measured, by CPython's names. None falls back to another one: that would be quicker.
OPCODES = ("LOAD_FAST", "STORE_FAST", "LOAD_CONST", "POP_TOP", "POP_JUMP_IF_FALSE", "COPY", "SWAP", "RETURN_VALUE")
# A dispatcher of bytecodes has more targets than any other switch of the loop.
MIN_DISPATCH = 200


def link(zig, given, folder):
    """The module that a file is or that an object links to, alone: what it calls are imports."""
    if given.read_bytes()[:8] == b"\0asm\1\0\0\0" and given.suffix == ".wasm":
        return given
    linked = folder / f"{given.stem}.wasm"
    command = [zig, "wasm-ld", "--no-entry", "--allow-undefined", f"--export={LOOP}", "--strip-debug", given, "-o", linked]
    subprocess.run(list(map(str, command)), check=True)
    return linked


def engine(fuel):
    config = wasmtime.Config()
    config.consume_fuel = fuel
    return wasmtime.Engine(config)


def code_of_loop(compiled, folder):
    """The machine code of the loop in a compiled module, which is an ELF file with symbols."""
    path = folder / "module.elf"
    path.write_bytes(compiled)
    symbols = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(rf":\s+([0-9a-f]+)\s+(\S+)\s.*\b{LOOP}$", symbols, re.MULTILINE)
    if not found:
        sys.exit(f"no symbol of {LOOP}: link without stripping names")
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"\.text\s+PROGBITS\s+[0-9a-f]+\s+([0-9a-f]+)", sections).group(1), 16)
    start, size = int(found.group(1), 16), int(found.group(2), 0)
    return compiled[offset + start : offset + start + size]


def disassemble(code):
    """Instructions by address, and the jump tables between them as {address of the jump: {index: target}}."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    instructions, tables = {}, {}
    address = 0
    while address < len(code):
        for instruction in decoder.disasm(code[address:], address):
            instructions[instruction.address] = instruction
            address = instruction.address + instruction.size
            if instruction.mnemonic == "jmp" and instruction.operands[0].type == capstone.x86.X86_OP_REG:
                before = list(instructions.values())
                entries, first, table = table_size(before), first_entry(before), address
                tables[instruction.address] = {
                    first + n: table + int.from_bytes(code[table + 4 * n : table + 4 * n + 4], "little", signed=True)
                    for n in range(entries)
                }
                address += 4 * entries
                break
        else:
            # Constants behind the code, or padding.
            break
    return instructions, tables


def table_size(before):
    """Entries of the table of the jump that was decoded last: Cranelift clamps the index to the last one just before."""
    for instruction in before[-2:-30:-1]:
        if instruction.mnemonic == "mov" and len(instruction.operands) == 2 and instruction.operands[1].type == capstone.x86.X86_OP_IMM:
            return instruction.operands[1].imm + 1
    sys.exit("a jump table of unknown size")


def first_entry(before):
    """Value that the first entry of a table stands for: what is subtracted from the index before it is clamped."""
    for instruction in before[-2:-9:-1]:
        if instruction.mnemonic == "lea" and not instruction.operands[1].mem.index and instruction.operands[1].mem.disp < 0:
            return -instruction.operands[1].mem.disp
    return 0


def on_stack(instruction):
    return any(o.type == capstone.x86.X86_OP_MEM and o.mem.base == capstone.x86.X86_REG_RSP for o in instruction.operands)


def heap_base(instructions):
    """Returns where the address of linear memory is found when memory is accessed, as (place, share of accesses)."""
    places = collections.Counter()
    recent = collections.deque(maxlen=6)
    for instruction in instructions.values():
        for operand in instruction.operands:
            memory = operand.mem if operand.type == capstone.x86.X86_OP_MEM else None
            if memory is None or not memory.index or memory.scale != 1 or instruction.mnemonic == "lea":
                continue
            names = {instruction.reg_name(memory.base), instruction.reg_name(memory.index)}
            for earlier in reversed(recent):
                if earlier.mnemonic == "mov" and on_stack(earlier) and earlier.op_str.split(",")[0] in names:
                    places["stack " + re.search(r"\[.*\]", earlier.op_str).group()] += 1
                    break
            else:
                places.update(names)
        recent.append(instruction)
    accesses = sum(
        any(o.type == capstone.x86.X86_OP_MEM and o.mem.index and o.mem.scale == 1 for o in i.operands) and i.mnemonic != "lea"
        for i in instructions.values()
    )
    place, count = places.most_common(1)[0]
    return place, count / accesses


def quickest(instructions, tables, start, ends):
    """The fewest instructions from an address to one of `ends`, and how many of them touch the stack."""
    if start is None:
        return None
    order = sorted(instructions)
    following = dict(zip(order, order[1:]))
    seen, level, steps = {start: 0}, [start], 0
    before = {}
    while level:
        steps += 1
        further = []
        for address in level:
            if address in ends:
                path = [address]
                while path[-1] in before:
                    path.append(before[path[-1]])
                return len(path), sum(on_stack(instructions[a]) for a in path)
            instruction = instructions[address]
            after = []
            if instruction.mnemonic.startswith("j") and address not in tables:
                after.append(instruction.operands[0].imm)
            if instruction.mnemonic not in ("jmp", "ret", "ud2"):
                after.append(following[address])
            for target in after:
                if target in instructions and target not in seen:
                    seen[target] = steps
                    before[target] = address
                    further.append(target)
        level = further
    return None


def measure(wasm, fuel, opcodes, folder):
    compiled = wasmtime.Module.from_file(engine(fuel), str(wasm)).serialize()
    code = code_of_loop(bytes(compiled), folder)
    instructions, tables = disassemble(code)
    dispatchers = [address for address, targets in tables.items() if len(targets) >= MIN_DISPATCH]
    frame = next(i for i in instructions.values() if i.mnemonic == "sub" and i.op_str.startswith("rsp"))
    place, share = heap_base(instructions)
    row = {
        "bytes": len(code),
        "instructions": len(instructions),
        "on the stack": sum(map(on_stack, instructions.values())),
        "frame": frame.operands[1].imm,
        "calls": sum(i.mnemonic == "call" for i in instructions.values()),
        "dispatchers": len(dispatchers),
        "heap base": f"{place} ({share:.0%})",
    }
    for name in OPCODES if opcodes else ():
        best = [quickest(instructions, tables, tables[a].get(opcodes[name]), set(dispatchers)) for a in dispatchers]
        best = [found for found in best if found]
        row[name] = "{} ({})".format(*min(best)) if best else "-"
    return row


def numbers_of_opcodes(header):
    return {name: int(number) for name, number in re.findall(r"#define (\w+)\s+(\d+)$", header.read_text(), re.MULTILINE)}


def show_code(arguments):
    opcodes = arguments.opcodes and numbers_of_opcodes(arguments.opcodes)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for file in arguments.files:
            wasm = link(arguments.zig, file, folder)
            for fuel in (False, True):
                rows[file.stem, fuel] = measure(wasm, fuel, opcodes, folder)
    columns = list(next(iter(rows.values())))
    print("| build | fuel |", " | ".join(columns), "|")
    print("| --- | --- |", " | ".join("---:" for _ in columns), "|")
    for (name, fuel), row in rows.items():
        print(f"| {name} | {'on' if fuel else 'off'} |", " | ".join(str(row[column]) for column in columns), "|")


class Interpreter:
    """A CPython that was linked as a WASI command. Its clocks tell the CPU time of this thread, so that other work does not count."""

    def __init__(self, wasm, fuel):
        self.fuel = fuel
        config = wasmtime.Config()
        config.consume_fuel = fuel
        pointer = ctypes.cast(config.ptr(), ctypes.c_void_p)
        for name, kind, value in (("async_stack_size", ctypes.c_uint64, 80 << 20), ("max_wasm_stack", ctypes.c_size_t, 64 << 20)):
            setter = getattr(wasmtime._ffi.dll, f"wasmtime_config_{name}_set")
            setter.argtypes = [ctypes.c_void_p, kind]
            setter(pointer, value)
        self.engine = wasmtime.Engine(config)
        self.module = wasmtime.Module.from_file(self.engine, str(wasm))
        self.linker = wasmtime.Linker(self.engine)
        self.linker.allow_shadowing = True
        self.linker.define_wasi()
        i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
        self.linker.define_func(
            "wasi_snapshot_preview1", "clock_time_get", wasmtime.FuncType([i32, i64, i32], [i32]), self.tell_time, access_caller=True
        )
        for wanted in self.module.imports:
            if wanted.module != "wasi_snapshot_preview1":
                # Where metering would pause: the counter is large enough for all programs.
                self.linker.define_func(wanted.module, wanted.name, wanted.type, lambda *_: None)

    @staticmethod
    def tell_time(caller, _clock, _precision, result):
        caller["memory"].write(caller, struct.pack("<Q", time.thread_time_ns()), result)
        return 0

    def seconds(self, root, program):
        """Returns the seconds that the program says it took."""
        output = root / "output"
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["/bin/python3", "-I", "-S", "-B", f"/{program}"]
        wasi.env = [("PYTHONHOME", "/"), ("PYTHONHASHSEED", "0")]
        wasi.stdout_file = str(output)
        wasi.stderr_file = str(root / "errors")
        wasi.preopen_dir(str(root), "/")
        store = wasmtime.Store(self.engine)
        store.set_wasi(wasi)
        if self.fuel:
            store.set_fuel(1 << 62)
        try:
            self.linker.instantiate(store, self.module).exports(store)["_start"](store)
        except wasmtime.ExitTrap as ended:
            if ended.code != 0:
                sys.exit(f"{program}: {(root / 'errors').read_text()}")
        return float(output.read_text().split()[-1])


# The interpreter is left without being taken down, which takes longer than some programs.
LEAVE = "\nimport posix, sys\nsys.stdout.flush()\nposix._exit(0)\n"


def race(arguments):
    programs = sorted((pathlib.Path(__file__).resolve().parent / "programs").glob("*.py"))
    interpreters = {file.stem: Interpreter(file, arguments.fuel) for file in arguments.files}
    taken = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "lib").mkdir()
        subprocess.run(["cp", "-r", arguments.library, root / "lib/python3.13"], check=True)
        for program in programs:
            (root / program.name).write_text(program.read_text() + LEAVE)
        for turn in range(arguments.rounds):
            names = list(interpreters)[:: -1 if turn % 2 else 1]
            for program in programs:
                for name in names:
                    taken[name, program.stem].append(interpreters[name].seconds(root, program.name))
    base = next(iter(interpreters))
    print(f"CPU time, times that of {base}; {arguments.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("| build | of |", " | ".join(program.stem for program in programs), "| geometric mean |")
    print("| --- | --- |", " | ".join("---:" for _ in programs), "| ---: |")
    for name in interpreters:
        for what, of in (("minima", min), ("medians", statistics.median)):
            ratios = [of(taken[name, program.stem]) / of(taken[base, program.stem]) for program in programs]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"| {name} | {what} |", " | ".join(f"{ratio:.3f}" for ratio in ratios), f"| {mean:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    code = commands.add_parser("code", help="count what the loop's machine code is made of")
    code.add_argument("files", nargs="+", type=pathlib.Path, help="ceval.o, or a module linked with names")
    code.add_argument("--zig", type=pathlib.Path, help="the recipe's compiler, to link objects: toolchain/ziglang/zig")
    code.add_argument("--opcodes", type=pathlib.Path, help="CPython's Include/opcode_ids.h, for the opcodes' ways")
    code.set_defaults(function=show_code)
    racing = commands.add_parser("race", help="compare the CPU time of interpreters, in turns")
    racing.add_argument("files", nargs="+", type=pathlib.Path, help="CPython linked as a WASI command; the first is the base")
    racing.add_argument("--library", type=pathlib.Path, required=True, help="CPython's Lib")
    racing.add_argument("--rounds", type=int, default=9)
    racing.add_argument("--fuel", action="store_true", help="count wasmtime's fuel")
    racing.set_defaults(function=race)
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
