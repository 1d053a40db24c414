/* What is in the image and would otherwise be written to by those who only use it: immortal.c. */
#ifndef PROOFBOX_IMMORTAL_H
#define PROOFBOX_IMMORTAL_H
#include <Python.h>

/* `_proofbox.immortalise(objects)`: makes them, and all they hold, immortal; how many. While the image is made. */
PyObject *immortalise(PyObject *module, PyObject *roots);

/* `_proofbox.settle(code, specialised)`: leaves instructions that could not be specialised as they are, and where
 * `specialised` is true those that could, too. While the image is made. */
PyObject *settle(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* `_proofbox.give_version(function)`: calls of a function whose code has been replaced are specialised again. */
PyObject *give_version(PyObject *module, PyObject *function);

/* `_proofbox.set_interned_aside()`: leaves the table of interned names empty but for mortal ones. While the image is made. */
PyObject *set_interned_aside(PyObject *module, PyObject *unused);
#endif
