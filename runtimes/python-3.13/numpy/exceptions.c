/* C++ exceptions need tables that this module has not. numpy throws them only when there is no memory; reserve.h makes
 * sure of it before, so to come here is an error in the recipe. An interpreter whose
 * libraries throw (`exceptions` in runtime.toml) has the tables, and the library's functions. */
#include <reserve.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PROOFBOX_EXCEPTIONS
void *__cxa_allocate_exception(size_t size) {
    static _Alignas(16) char exception[256];
    return size <= sizeof exception ? exception : NULL;
}

__attribute__((noreturn)) void __cxa_throw(void *exception, void *type, void *destructor) {
    fputs("a C++ exception in an extension module\n", stderr);
    fflush(stderr);
    abort();
}
#endif

int reserve(size_t bytes) {
    /* The compiler would take an allocation that nobody uses for one that succeeds. */
    void *volatile block = malloc(bytes);
    free(block);
    return block != NULL;
}
