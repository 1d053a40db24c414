/* Copies of descriptors: see descriptors.c. */
#ifndef PROOFBOX_DESCRIPTORS_H
#define PROOFBOX_DESCRIPTORS_H
#include <Python.h>

/* The host's number of a descriptor; -1, which no call takes for open, where there is none. */
int32_t host(int32_t fd);

/* dup(fd) -> fd: the lowest free number for the same open file. */
PyObject *descriptors_dup(PyObject *module, PyObject *descriptor);
/* dup2(fd, fd2) -> fd2: the same open file under that number; what it had is closed. */
PyObject *descriptors_dup2(PyObject *module, PyObject *const *args, Py_ssize_t count);
#endif
