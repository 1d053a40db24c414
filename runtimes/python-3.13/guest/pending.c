/* A guest that is stopped can't flush its buffers any more. The host asks here where their bytes lie, so that output
 * written before an endless loop is not lost. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "pending.h"
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* The beginning of `buffered` in Modules/_io/bufferedio.c, which has no header; pending_prepare checks that it is. */
typedef struct {
    PyObject_HEAD
    PyObject *raw;
    int ok, detached, readable, writable;
    char finalizing;
    int fast_closed_checks;
    off_t abs_pos;
    char *buffer;
    off_t pos, raw_pos, read_end, write_pos, write_end;
} Buffered;

/* The beginning of `textio` in Modules/_io/textio.c, which has none either. */
typedef struct {
    PyObject_HEAD
    int ok, detached;
    Py_ssize_t chunk_size;
    PyObject *buffer, *encoding, *encoder, *decoder, *readnl, *errors;
    const char *writenl;
    char line_buffering, write_through;
} Text;

static Buffered *streams[2];
static Text *texts[2];
static PyObject *names[2]; /* of these in `sys` */

static int find(int index, const char *name, const char *own_name) {
    static const char probe[] = "probe";
    PyObject *stream = PySys_GetObject(name);
    PyObject *buffer = stream ? PyObject_GetAttrString(stream, "buffer") : NULL;
    PyObject *written = buffer ? PyObject_CallMethod(buffer, "write", "y", probe) : NULL;
    if (!written) return -1;
    Py_DECREF(written);
    Buffered *b = streams[index] = (Buffered *)buffer; /* the reference is kept for ever */
    int found = b->write_end - b->write_pos == (off_t)(sizeof probe - 1)
                && memcmp(b->buffer + b->write_pos, probe, sizeof probe - 1) == 0;
    PyObject *flushed = PyObject_CallMethod(buffer, "flush", NULL);
    if (!flushed) return -1;
    Py_DECREF(flushed);
    Text *text = texts[index] = (Text *)stream;
    Py_INCREF(text);
    names[index] = PyUnicode_InternFromString(own_name);
    int lies_there = text->ok == 1 && text->detached == 0 && text->buffer == buffer && text->write_through == 1;
    return found && b->write_end == -1 && lies_there && names[index] ? 0 : -1;
}

int pending_prepare(void) {
    return find(0, "stdout", "__stdout__") < 0 || find(1, "stderr", "__stderr__") < 0 ? -1 : 0;
}

/* Address (high half) and length (low half) of what standard output (0) or error (1) still holds. */
__attribute__((export_name("proofbox_pending"))) uint64_t proofbox_pending(int index) {
    Buffered *b = streams[index & 1];
    if (!b || !b->buffer || b->write_end <= b->write_pos || b->write_pos < 0) return 0;
    return (uint64_t)(uintptr_t)(b->buffer + b->write_pos) << 32 | (uint32_t)(b->write_end - b->write_pos);
}

/* Whether a stream is the interpreter's own and holds nothing: its text goes straight to its buffer. */
static int holds_nothing(PyObject *stream, int index) {
    Text *text = texts[index];
    return stream == (PyObject *)text && text->ok && !text->detached && text->write_through
           && text->buffer == (PyObject *)streams[index] && proofbox_pending(index) == 0;
}

PyObject *pending_flush(PyObject *module, PyObject *unused) {
    for (int index = 0; index < 2; index++) {
        PyObject *stream = names[index] ? PyDict_GetItemWithError(_PyInterpreterState_GET()->sysdict, names[index]) : NULL;
        if (!stream || holds_nothing(stream, index)) continue;
        Py_INCREF(stream);
        PyObject *flushed = PyObject_CallMethod(stream, "flush", NULL);
        Py_DECREF(stream);
        Py_XDECREF(flushed);
        PyErr_Clear(); /* the program may have closed it */
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}
