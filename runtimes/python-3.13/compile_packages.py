"""Compiles the modules in a directory, in place of their sources.

Run by build.py with the Python it has just built, so that the byte code fits the interpreter:
    python -sP compile_packages.py --tree DIR --shown-as /where/sandboxes/see/it --jobs N
"""

import argparse
import multiprocessing
import pathlib
import py_compile

# How constants are shared in byte code depends on what the process has compiled before: each task is these many files in
# order, in a process forked for it, so that the result does not depend on the number of processes or their speed.
FILES_PER_PROCESS = 64


def compile_module(job):
    file, shown_as = job
    try:
        # Never compared with the source, which is not there.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(file, cfile=f"{file}c", dfile=shown_as, doraise=True, invalidation_mode=mode)
    except py_compile.PyCompileError as error:
        # A template, or for other versions: nothing that is imported here.
        print(error)
    file.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--shown-as", required=True)
    parser.add_argument("--jobs", type=int, required=True)
    arguments = parser.parse_args()
    files = sorted(arguments.tree.rglob("*.py"))
    jobs = [(file, f"{arguments.shown_as}/{file.relative_to(arguments.tree).as_posix()}") for file in files]
    with multiprocessing.get_context("fork").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        pool.map(compile_module, jobs, chunksize=FILES_PER_PROCESS)
    print(len(files), "modules")


if __name__ == "__main__":
    main()
