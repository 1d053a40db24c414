/* What throws or jumps ends the run, where the engine has no exceptions (`exceptions` in runtime.toml). */
#ifndef PROOFBOX_EXCEPTIONS
#include "include/setjmp.h"
#include <Python.h>
#include <stdio.h>
#include <stdlib.h>

extern void _Py_DumpTraceback(int descriptor, PyThreadState *thread);

static _Noreturn void end(const char *what, const char *type) {
    fprintf(stderr, "%s%s\n", what, type);
    fflush(stderr);
    _Py_DumpTraceback(2, PyThreadState_GetUnchecked());
    abort();
}

void proofbox_longjmp(void) { end("a library can't go on with its input", ""); }

void *__cxa_allocate_exception(size_t size) {
    static _Alignas(16) char exception[1024];
    return size <= sizeof exception ? exception : NULL;
}

/* A type's description begins with a table and its name. */
__attribute__((noreturn)) void __cxa_throw(void *exception, void *type, void *destructor) {
    end("an extension module throws ", ((const char **)type)[1]);
}
#endif
