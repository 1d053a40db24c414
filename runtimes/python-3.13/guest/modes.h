#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* set_mode(inode, mode): what `stat` says of the file from now on. */
PyObject *set_mode(PyObject *module, PyObject *const *args, Py_ssize_t n);
