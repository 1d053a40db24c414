/* Plain data between guest and host: see codec.c for the format. */
#ifndef PROOFBOX_CODEC_H
#define PROOFBOX_CODEC_H
#include <Python.h>

/* A new reference to the value held in `data`, or NULL with ValueError set. */
PyObject *codec_decode(const unsigned char *data, size_t length);
/* The module `_proofbox`: what guest Python may say to the host. */
PyMODINIT_FUNC PyInit__proofbox(void);
#endif
