#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Whether it is one of numpy's arrays; of a derived class it is not. */
int sharing_is_array(PyObject *o);
/* See _proofbox's table of methods in codec.c. */
PyObject *sharing_know_arrays(PyObject *module, PyObject *type);
PyObject *sharing_snapshots(PyObject *module, PyObject *containers);
PyObject *sharing_changed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sharing_altered(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sharing_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sharing_spliced(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sharing_held(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sharing_forget(PyObject *module, PyObject *const *args, Py_ssize_t count);
