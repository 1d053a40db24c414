"""Compiles the modules in a directory, in place of their sources.

Run by build.py with the Python it has just built, so that the byte code fits the interpreter:
    python compile_packages.py --tree DIR --shown-as /where/sandboxes/see/it --jobs N
"""

import argparse
import multiprocessing
import pathlib
import py_compile


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
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        pool.map(compile_module, jobs, chunksize=16)
    print(len(files), "modules")


if __name__ == "__main__":
    main()
