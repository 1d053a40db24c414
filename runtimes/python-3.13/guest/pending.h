/* Output that Python has buffered and the host has not seen: pending.c. */
#ifndef PROOFBOX_PENDING_H
#define PROOFBOX_PENDING_H
#include <Python.h>

/* Finds the buffers; -1 when they are not where they are expected, or text does not go straight to them. Once, while the
 * image is made. */
int pending_prepare(void);

/* `_proofbox.flush()`: flushes `sys.__stdout__` and `sys.__stderr__` where they hold something; errors are passed over. */
PyObject *pending_flush(PyObject *module, PyObject *unused);
#endif
