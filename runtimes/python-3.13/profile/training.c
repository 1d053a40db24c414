/* The program that is profiled: `training MODULE.py RAW_PROFILE` runs one Python file as `__main__`, with the standard
 * library that is frozen into the image, and writes what was counted. Start-up is not counted: no run pays for it. */
#include <Python.h>
#include <stdio.h>
#include <stdlib.h>

/* The runtime's headers define a function of this name, and so do ours. */
#define getpagesize profile_getpagesize
#include "InstrProfiling.h"
#include "InstrProfilingInternal.h"

/* What the programs import; in the image an import finds its module there already. `_proofbox` is the guest's, which
 * some stand-ins for modules that WASI lacks want to see. */
static const char PRELOAD[] =
    "import sys, types\n"
    "class Guest(types.ModuleType):\n"
    "    def __getattr__(self, name):\n"
    "        if name.startswith('__'):\n"
    "            raise AttributeError(name)\n"
    "        return lambda *arguments: 0\n"
    "sys.modules['_proofbox'] = Guest('_proofbox')\n"
    "import abc, array, ast, asyncio, base64, bisect, calendar, collections, contextlib, copy, csv, dataclasses, datetime\n"
    "import decimal, difflib, enum, fractions, functools, hashlib, heapq, html, inspect, io, itertools, json, logging\n"
    "import math, operator, os, pathlib, pickle, pprint, queue, random, re, selectors, shlex, sqlite3, statistics, string\n"
    "import struct, sys, textwrap, time, traceback, types, typing, unittest, urllib.parse, weakref, xml.etree.ElementTree\n"
    "import zlib\n"
    "os.getuid = lambda: 1000\n";

extern const struct _frozen guest_frozen[];

/* What the profile runtime asks of its user. */
int __llvm_profile_runtime;

void *minicov_alloc_zeroed(size_t size, size_t alignment) {
    (void)alignment;
    return calloc(1, size);
}

void minicov_dealloc(void *memory, size_t size, size_t alignment) {
    (void)size, (void)alignment;
    free(memory);
}

static uint32_t write_pieces(ProfDataWriter *writer, ProfDataIOVec *pieces, uint32_t count) {
    FILE *file = writer->WriterCtx;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = pieces[i].ElmSize * pieces[i].NumElm;
        if (pieces[i].Data) {
            if (fwrite(pieces[i].Data, 1, length, file) != length) return 1;
        } else {
            while (length--)
                if (putc(0, file) == EOF) return 1;
        }
    }
    return 0;
}

static void write_profile(const char *path) {
    ProfDataWriter writer = {write_pieces, fopen(path, "wb")};
    if (!writer.WriterCtx || lprofWriteData(&writer, lprofGetVPDataReader(), 0) != 0 || fclose(writer.WriterCtx) != 0) {
        perror(path);
        exit(1);
    }
}

static void check(PyStatus status) {
    if (PyStatus_Exception(status)) {
        fprintf(stderr, "cannot start Python: %s\n", status.err_msg);
        exit(1);
    }
}

/* As guest.c does, so that the same paths are hot. */
static void initialise_python(void) {
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    check(Py_PreInitialize(&pre));
    PyImport_FrozenModules = guest_frozen;
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.write_bytecode = 0;
    config.install_signal_handlers = 0;
    config.pathconfig_warnings = 0;
    config.parse_argv = 0;
    config.use_frozen_modules = 1;
    config.module_search_paths_set = 1;
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    PyConfig_SetString(&config, &config.program_name, L"python3");
    PyConfig_SetString(&config, &config.executable, L"/bin/python3");
    PyConfig_SetString(&config, &config.prefix, L"/");
    PyConfig_SetString(&config, &config.exec_prefix, L"/");
    PyConfig_SetString(&config, &config.stdlib_dir, L"/lib/python3.13");
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: training MODULE.py RAW_PROFILE\n");
        return 2;
    }
    initialise_python();
    if (PyRun_SimpleString(PRELOAD) != 0) return 1;
    __llvm_profile_reset_counters();
    FILE *source = fopen(argv[1], "rb");
    if (!source) {
        perror(argv[1]);
        return 1;
    }
    int failed = PyRun_SimpleFileExFlags(source, argv[1], 1, NULL);
    fflush(stdout);
    fflush(stderr);
    write_profile(argv[2]);
    return failed ? 1 : 0;
}
