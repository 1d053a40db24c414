/* Whether a text has one of many words: words.c. */
#ifndef PROOFBOX_WORDS_H
#define PROOFBOX_WORDS_H
#include <Python.h>

/* `_proofbox.has_any(text, words)`. */
PyObject *has_any(PyObject *module, PyObject *const *args, Py_ssize_t n);
#endif
