/* numpy's extension modules as built-in ones, under their dotted names. */
#include <Python.h>
#include "modules.h"

#define MODULES(M)                                                                                                               \
    M("numpy._core._multiarray_umath", _multiarray_umath)                                                                        \
    M("numpy._core._multiarray_tests", _multiarray_tests)                                                                        \
    M("numpy._core._operand_flag_tests", _operand_flag_tests)                                                                    \
    M("numpy._core._rational_tests", _rational_tests)                                                                            \
    M("numpy._core._struct_ufunc_tests", _struct_ufunc_tests)                                                                    \
    M("numpy._core._umath_tests", _umath_tests)                                                                                  \
    M("numpy.fft._pocketfft_umath", _pocketfft_umath)                                                                            \
    M("numpy.linalg._umath_linalg", _umath_linalg)                                                                               \
    M("numpy.linalg.lapack_lite", lapack_lite)                                                                                   \
    M("numpy.random._bounded_integers", _bounded_integers)                                                                       \
    M("numpy.random._common", _common)                                                                                           \
    M("numpy.random._generator", _generator)                                                                                     \
    M("numpy.random._mt19937", _mt19937)                                                                                         \
    M("numpy.random._pcg64", _pcg64)                                                                                             \
    M("numpy.random._philox", _philox)                                                                                           \
    M("numpy.random._sfc64", _sfc64)                                                                                             \
    M("numpy.random.bit_generator", bit_generator)                                                                               \
    M("numpy.random.mtrand", mtrand)
#define DECLARATION(name, function) extern PyObject *PyInit_##function(void);
#define ENTRY(name, function) {name, PyInit_##function},
MODULES(DECLARATION)

int numpy_modules_register(void) {
    static struct _inittab modules[] = {MODULES(ENTRY){NULL, NULL}};
    return PyImport_ExtendInittab(modules);
}
