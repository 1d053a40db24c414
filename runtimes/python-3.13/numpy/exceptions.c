/* C++ exceptions need tables that this module has not. numpy throws them only when there is no memory; reserve.h makes
 * sure of it before, so to come here is an error in the recipe. An interpreter with more libraries has other functions of
 * these names: extensions/glue/jumps.c. */
#include <reserve.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PROOFBOX_LIBRARIES
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
