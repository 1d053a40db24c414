/* The `check` function of a test, compiled so that it tells of its cases: check.c. */
#ifndef PROOFBOX_CHECK_H
#define PROOFBOX_CHECK_H
#include <Python.h>

/* `_proofbox.compile_check(source, filename, places)`: the code of the module. */
PyObject *compile_check(PyObject *module, PyObject *const *args, Py_ssize_t n);
#endif
