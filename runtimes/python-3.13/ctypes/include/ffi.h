/* The part of libffi's interface that CPython's _ctypes uses, for WebAssembly (ffi.c). */

#ifndef PROOFBOX_FFI_H
#define PROOFBOX_FFI_H

#include <stddef.h>
#include <stdint.h>

typedef struct ffi_type {
    size_t size;
    unsigned short alignment;
    unsigned short type;
    struct ffi_type **elements;
} ffi_type;

enum {
    FFI_TYPE_VOID, FFI_TYPE_INT, FFI_TYPE_FLOAT, FFI_TYPE_DOUBLE, FFI_TYPE_LONGDOUBLE, FFI_TYPE_UINT8, FFI_TYPE_SINT8, FFI_TYPE_UINT16,
    FFI_TYPE_SINT16, FFI_TYPE_UINT32, FFI_TYPE_SINT32, FFI_TYPE_UINT64, FFI_TYPE_SINT64, FFI_TYPE_STRUCT, FFI_TYPE_POINTER,
};

extern ffi_type ffi_type_void, ffi_type_uint8, ffi_type_sint8, ffi_type_uint16, ffi_type_sint16, ffi_type_uint32, ffi_type_sint32,
    ffi_type_uint64, ffi_type_sint64, ffi_type_float, ffi_type_double, ffi_type_longdouble, ffi_type_pointer;

#define ffi_type_uchar ffi_type_uint8
#define ffi_type_schar ffi_type_sint8
#define ffi_type_ushort ffi_type_uint16
#define ffi_type_sshort ffi_type_sint16
#define ffi_type_uint ffi_type_uint32
#define ffi_type_sint ffi_type_sint32
#define ffi_type_ulong ffi_type_uint32
#define ffi_type_slong ffi_type_sint32

typedef int32_t ffi_sarg;
typedef uint32_t ffi_arg;
typedef enum { FFI_FIRST_ABI, FFI_DEFAULT_ABI } ffi_abi;
typedef enum { FFI_OK, FFI_BAD_TYPEDEF, FFI_BAD_ABI, FFI_BAD_ARGTYPE } ffi_status;

typedef struct {
    unsigned nargs;
    ffi_type **arg_types;
    ffi_type *rtype;
} ffi_cif;

typedef void ffi_function(ffi_cif *, void *result, void **arguments, void *data);

typedef struct {
    uint64_t mark;
    ffi_cif *cif;
    ffi_function *function;
    void *data;
} ffi_closure;

ffi_status ffi_prep_cif(ffi_cif *, ffi_abi, unsigned count, ffi_type *result, ffi_type **arguments);
ffi_status ffi_prep_cif_var(ffi_cif *, ffi_abi, unsigned fixed, unsigned count, ffi_type *result, ffi_type **arguments);
void ffi_call(ffi_cif *, void (*function)(void), void *result, void **arguments);
void *ffi_closure_alloc(size_t, void **code);
void ffi_closure_free(void *);
ffi_status ffi_prep_closure_loc(ffi_closure *, ffi_cif *, ffi_function *, void *data, void *code);

#endif
