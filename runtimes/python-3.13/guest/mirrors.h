#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* See _proofbox's table of methods in codec.c. */
PyObject *mirrors_prepare(PyObject *module, PyObject *type);
PyObject *mirrors_set_own(PyObject *module, PyObject *const *args, Py_ssize_t count);
