/* Numbers of 64 bits where indices are wanted, which have 32 here: for what Cython generates. */
#ifndef PROOFBOX_AS_INDICES_H
#define PROOFBOX_AS_INDICES_H
#include <Python.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A new array of indices with the numbers of `array`; or NULL, and no exception, if it is no array of 64-bit integers, or one
 * does not fit: the caller goes on with what it has, and fails as for any other wrong type. */
PyObject *proofbox_as_indices(PyObject *array);

/* Whether a buffer of that type, by its name in C, is one of indices. */
static inline int proofbox_is_index_type(const char *name) { return strstr(name, "intp") || strstr(name, "ssize_t"); }

#ifdef __cplusplus
}
#endif
#endif
