#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* pipe() -> (reading end, writing end) */
PyObject *open_pipe(PyObject *module, PyObject *unused);
/* Hears that `to` is a copy of `from`: another number for that end, if it is one. 0, or -1 with errno. */
int pipe_copied(int from, int to);
