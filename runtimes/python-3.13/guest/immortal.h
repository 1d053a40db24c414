/* Objects whose references are not counted any more: immortal.c. */
#ifndef PROOFBOX_IMMORTAL_H
#define PROOFBOX_IMMORTAL_H
#include <Python.h>

/* `_proofbox.immortalise(objects)`: makes them, and all they hold, immortal; how many. While the image is made. */
PyObject *immortalise(PyObject *module, PyObject *roots);

/* `_proofbox.set_interned_aside()`: leaves the table of interned names empty but for mortal ones. While the image is made. */
PyObject *set_interned_aside(PyObject *module, PyObject *unused);
#endif
