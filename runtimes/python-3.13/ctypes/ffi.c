/* What _ctypes needs of libffi and of a dynamic linker, where there is neither.

Types, structures, arrays and pointers of ctypes need no calls of C, and are CPython's own. No library can be loaded, so that
the functions that a program can call are those that ctypes itself gives it (memmove, memset, string_at, cast), whose
arguments are integers and pointers, and its own callbacks. */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

#define TYPE(name, c_type, kind) ffi_type ffi_type_##name = {sizeof(c_type), _Alignof(c_type), kind, NULL}

ffi_type ffi_type_void = {1, 1, FFI_TYPE_VOID, NULL};
TYPE(uint8, uint8_t, FFI_TYPE_UINT8);
TYPE(sint8, int8_t, FFI_TYPE_SINT8);
TYPE(uint16, uint16_t, FFI_TYPE_UINT16);
TYPE(sint16, int16_t, FFI_TYPE_SINT16);
TYPE(uint32, uint32_t, FFI_TYPE_UINT32);
TYPE(sint32, int32_t, FFI_TYPE_SINT32);
TYPE(uint64, uint64_t, FFI_TYPE_UINT64);
TYPE(sint64, int64_t, FFI_TYPE_SINT64);
TYPE(float, float, FFI_TYPE_FLOAT);
TYPE(double, double, FFI_TYPE_DOUBLE);
TYPE(longdouble, long double, FFI_TYPE_LONGDOUBLE);
TYPE(pointer, void *, FFI_TYPE_POINTER);

ffi_status ffi_prep_cif(ffi_cif *cif, ffi_abi abi, unsigned count, ffi_type *result, ffi_type **arguments) {
    if (abi != FFI_DEFAULT_ABI) return FFI_BAD_ABI;
    *cif = (ffi_cif){count, arguments, result};
    return FFI_OK;
}

ffi_status ffi_prep_cif_var(ffi_cif *cif, ffi_abi abi, unsigned fixed, unsigned count, ffi_type *result, ffi_type **arguments) {
    return ffi_prep_cif(cif, abi, count, result, arguments);
}

/* ---------------------------------------------------------------- callbacks */

/* "proofbox": tells a callback, which is called by its address, from a function of C, which has a small number. */
#define CLOSURE 0x786f62666f6f7270
#define MAX_FUNCTIONS 0x100000

void *ffi_closure_alloc(size_t size, void **code) {
    ffi_closure *closure = calloc(1, size);
    *code = closure;
    return closure;
}

void ffi_closure_free(void *closure) {
    memset(closure, 0, sizeof(ffi_closure));
    free(closure);
}

ffi_status ffi_prep_closure_loc(ffi_closure *closure, ffi_cif *cif, ffi_function *function, void *data, void *code) {
    *closure = (ffi_closure){CLOSURE, cif, function, data};
    return FFI_OK;
}

/* ---------------------------------------------------------------- calls */

static int is_word(const ffi_type *type) {
    switch (type->type) {
    case FFI_TYPE_UINT8: case FFI_TYPE_SINT8: case FFI_TYPE_UINT16: case FFI_TYPE_SINT16: case FFI_TYPE_UINT32: case FFI_TYPE_SINT32:
    case FFI_TYPE_INT: case FFI_TYPE_POINTER: return 1;
    default: return 0;
    }
}

static uint32_t word(const ffi_type *type, const void *from) {
    switch (type->type) {
    case FFI_TYPE_UINT8: return *(const uint8_t *)from;
    case FFI_TYPE_SINT8: return (uint32_t)*(const int8_t *)from;
    case FFI_TYPE_UINT16: return *(const uint16_t *)from;
    case FFI_TYPE_SINT16: return (uint32_t)*(const int16_t *)from;
    default: return *(const uint32_t *)from;
    }
}

static uint32_t call_words(void (*function)(void), unsigned count, const uint32_t *words) {
    if (count == 2) return ((uint32_t(*)(uint32_t, uint32_t))function)(words[0], words[1]);
    return ((uint32_t(*)(uint32_t, uint32_t, uint32_t))function)(words[0], words[1], words[2]);
}

/* A call of what is no function, or of one by another type than its own, ends the interpreter, as elsewhere. */
void ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **arguments) {
    uintptr_t number = (uintptr_t)function;
    if (number >= MAX_FUNCTIONS) {
        const ffi_closure *closure = (const ffi_closure *)number;
        if (closure->mark != CLOSURE || closure->cif->nargs != cif->nargs) abort();
        closure->function(closure->cif, result, arguments, closure->data);
        return;
    }
    uint32_t words[3];
    unsigned count = cif->nargs;
    if (count != 2 && count != 3) abort();
    for (unsigned index = 0; index < count; index++) {
        if (!is_word(cif->arg_types[index])) abort();
        words[index] = word(cif->arg_types[index], arguments[index]);
    }
    *(uint32_t *)result = call_words(function, count, words);
}

/* ---------------------------------------------------------------- libraries */

/* The interpreter itself, which ctypes.pythonapi opens without a name; no function of it can be found. */
static char interpreter;

void *dlopen(const char *name, int flags) { return name ? NULL : &interpreter; }
void *dlsym(void *library, const char *name) { return NULL; }
int dlclose(void *library) { return 0; }
char *dlerror(void) { return "native libraries can't be loaded in this sandbox"; }
