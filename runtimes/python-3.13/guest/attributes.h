#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/stat.h>
#include <wasi/api.h>

/* What `stat` says of a record of the host's. */
void stat_of_record(const __wasi_filestat_t *of, struct stat *to);

/* set_mode(fd, path, mode): sets the permission bits of what lies there from the directory; the error number. */
PyObject *set_mode(PyObject *module, PyObject *const *args, Py_ssize_t n);
/* set_owner(fd, path, owner, follow): gives what lies there to a user; the error number. */
PyObject *set_owner(PyObject *module, PyObject *const *args, Py_ssize_t n);
/* set_descriptor_mode(fd, mode): the same for an open file. */
PyObject *set_descriptor_mode(PyObject *module, PyObject *const *args, Py_ssize_t n);
/* set_mask(mask): sets the creation mask; the old one. */
PyObject *set_mask(PyObject *module, PyObject *mask);
/* user_number(): the number of the user who runs this. */
PyObject *user_number(PyObject *module, PyObject *unused);
/* read_elsewhere(seeming, actual): from now on what is read below the one directory is read below the other. */
PyObject *read_elsewhere(PyObject *module, PyObject *const *args, Py_ssize_t n);
