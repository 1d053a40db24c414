"""Runs one program over and over, each time in a fresh fork of an interpreter that has imported the same modules as
the service's: the usual way to make Python start fast, without any isolation.

    python -I -S -c SERVER IMPORTS PROGRAM

Writes one line of JSON when it is ready, and one a run: `{"nanoseconds", "exit_code", "output"}`. Each line on
standard input is one run; it ends at the end of input. The time is from before the fork to after the wait."""

import gc
import json
import os
import sys
import time
import traceback

READ_BYTES = 65536


def run(program):
    begin = time.perf_counter_ns()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        run_in_child(program, writing)
    os.close(writing)
    output = bytearray()
    while chunk := os.read(reading, READ_BYTES):
        output += chunk
    os.close(reading)
    _, status = os.waitpid(child, 0)
    nanoseconds = time.perf_counter_ns() - begin
    return {"nanoseconds": nanoseconds, "exit_code": os.waitstatus_to_exitcode(status), "output": output.decode()}


def run_in_child(program, writing):
    exit_code = 1
    try:
        os.dup2(writing, 1)
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
        exit_code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(exit_code)


def main():
    imports, program = sys.argv[1:]
    exec(imports, {})
    gc.collect()
    gc.freeze()
    # The children have standard streams of their own.
    commands = os.fdopen(os.dup(0), "r")
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    print(json.dumps({"modules": len(sys.modules)}), file=answers, flush=True)
    for _ in commands:
        print(json.dumps(run(program)), file=answers, flush=True)


main()
