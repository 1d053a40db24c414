/* The value codec and the module `_proofbox` built on it.
 *
 * A value is a tag byte and its payload; lengths, counts and indices are LEB128.
 *
 *   N T F        None, True, False
 *   i            int that fits 64 bits: zigzag LEB128
 *   I n bytes    any other int: little-endian two's complement
 *   f c          float, complex: little-endian IEEE 754 doubles
 *   s n bytes    str in UTF-8;  u n bytes  str with lone surrogates, in UTF-8 with "surrogatepass"
 *   b B n bytes  bytes, bytearray
 *   t l n values tuple, list
 *   S Z n values set, frozenset
 *   d n pairs    dict, in insertion order
 *   r index      a container seen before (shared reference or cycle)
 *   g index      a container of the message that this one answers, by its number there (bridge.py)
 *   x name value a value of a richer type, reduced by `reduce` and made again by `restore` (values.py, bridge.py)
 *   o type repr  a value that can't cross: two strs
 *
 * Tuples, lists, sets, dicts, bytearrays and `x` values are numbered in the order in which they begin; `r` names
 * those numbers. Only exact types count: an instance of a subclass goes through `reduce`. The host's
 * half is crates/types/src/value.rs, and takes nothing in here on trust. */
#define PY_SSIZE_T_CLEAN
#include "codec.h"
#include "check.h"
#include "descriptors.h"
#include "heap.h"
#include "immortal.h"
#include "attributes.h"
#include "pipe.h"
#include "threads.h"
#include <stdint.h>
#include <string.h>

#define HOST(name) __attribute__((import_module("proofbox"), import_name(name))) extern
HOST("post") int host_post(const void *message, size_t length);
HOST("exchange") int64_t host_exchange(int kind, const void *message, size_t length);
HOST("take") int host_take(void *message, size_t length);
HOST("printed") size_t host_printed(int stream, void *text, size_t capacity);
HOST("renew") int host_renew(void);

typedef struct {
    unsigned char *data;
    size_t length, capacity, limit;
    PyObject *seen;   /* id -> index of each container that more than one reference can reach */
    PyObject *reduce; /* borrowed; called for every value that is not of a type in the table above */
    PyObject *kept;   /* what `reduce` gave: freed too early, its ids could come again and be taken for references */
    PyObject *given;  /* borrowed; dict or NULL: id -> number of each container of the message that is answered */
    PyObject *record; /* borrowed; list or NULL: takes the containers, by number */
    uint32_t count;
    int depth;
} Writer;

/* The host's own bound (crates/types/src/value.rs). */
#define MAX_DEPTH 200

static int write_value(Writer *w, PyObject *o);

static int reserve(Writer *w, size_t more) {
    if (more > w->limit - w->length) {
        PyErr_SetString(PyExc_ValueError, "value too large to leave the sandbox");
        return -1;
    }
    size_t need = w->length + more;
    if (need > w->capacity) {
        size_t capacity = w->capacity * 2 > need ? w->capacity * 2 : need + 256;
        unsigned char *data = PyMem_Realloc(w->data, capacity);
        if (!data) {
            PyErr_NoMemory();
            return -1;
        }
        w->data = data;
        w->capacity = capacity;
    }
    return 0;
}

static int write_byte(Writer *w, unsigned char b) {
    if (reserve(w, 1) < 0) return -1;
    w->data[w->length++] = b;
    return 0;
}

static int write_number(Writer *w, uint64_t n) {
    if (reserve(w, 10) < 0) return -1;
    while (n > 0x7f) {
        w->data[w->length++] = (unsigned char)(n | 0x80);
        n >>= 7;
    }
    w->data[w->length++] = (unsigned char)n;
    return 0;
}

static int write_bytes(Writer *w, unsigned char tag, const void *bytes, size_t n) {
    if (write_byte(w, tag) < 0 || write_number(w, n) < 0 || reserve(w, n) < 0) return -1;
    memcpy(w->data + w->length, bytes, n);
    w->length += n;
    return 0;
}

static int write_double(Writer *w, double d) {
    if (reserve(w, 8) < 0) return -1;
    memcpy(w->data + w->length, &d, 8);
    w->length += 8;
    return 0;
}

static int write_str(Writer *w, PyObject *o) {
    Py_ssize_t n;
    const char *utf8 = PyUnicode_AsUTF8AndSize(o, &n);
    if (utf8) return write_bytes(w, 's', utf8, (size_t)n);
    PyErr_Clear();
    PyObject *b = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
    if (!b) return -1;
    int failed = write_bytes(w, 'u', PyBytes_AS_STRING(b), (size_t)PyBytes_GET_SIZE(b));
    Py_DECREF(b);
    return failed;
}

static int write_int(Writer *w, PyObject *o) {
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) {
        if (v == -1 && PyErr_Occurred()) return -1;
        return write_byte(w, 'i') < 0 ? -1 : write_number(w, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
    }
    Py_ssize_t n = PyLong_AsNativeBytes(o, NULL, 0, Py_ASNATIVEBYTES_LITTLE_ENDIAN);
    if (n < 0 || write_byte(w, 'I') < 0 || write_number(w, (uint64_t)n) < 0 || reserve(w, (size_t)n) < 0) return -1;
    if (PyLong_AsNativeBytes(o, w->data + w->length, n, Py_ASNATIVEBYTES_LITTLE_ENDIAN) < 0) return -1;
    w->length += (size_t)n;
    return 0;
}

/* 1: written as a reference; 0: `o` is new and has been numbered; -1: error. */
static int write_if_seen(Writer *w, PyObject *o) {
    if (w->given) {
        PyObject *key = PyLong_FromVoidPtr(o), *number = key ? PyDict_GetItemWithError(w->given, key) : NULL;
        Py_XDECREF(key);
        if (number) return write_byte(w, 'g') < 0 || write_number(w, PyLong_AsUnsignedLong(number)) < 0 ? -1 : 1;
        if (PyErr_Occurred()) return -1;
    }
    int alone = Py_REFCNT(o) == 1;
    if (w->record) {
        int known = w->seen && !alone;
        PyObject *key = known ? PyLong_FromVoidPtr(o) : NULL;
        known = key && PyDict_Contains(w->seen, key) == 1;
        Py_XDECREF(key);
        if (PyErr_Occurred() || (!known && PyList_Append(w->record, o) < 0)) return -1;
    }
    /* There is only one empty tuple, whoever uses it. */
    if (alone || (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == 0)) {
        w->count++;
        return 0;
    }
    if (!w->seen && !(w->seen = PyDict_New())) return -1;
    PyObject *key = PyLong_FromVoidPtr(o);
    if (!key) return -1;
    PyObject *index = PyDict_GetItemWithError(w->seen, key);
    int done = -1;
    if (index) {
        done = write_byte(w, 'r') < 0 || write_number(w, PyLong_AsUnsignedLong(index)) < 0 ? -1 : 1;
    } else if (!PyErr_Occurred() && (index = PyLong_FromUnsignedLong(w->count)) != NULL) {
        done = PyDict_SetItem(w->seen, key, index);
        Py_DECREF(index);
        w->count++;
    }
    Py_DECREF(key);
    return done;
}

static int changed_size(void) {
    PyErr_SetString(PyExc_RuntimeError, "container changed size while it was encoded");
    return -1;
}

static int write_sequence(Writer *w, PyObject *o, int is_list) {
    Py_ssize_t n = Py_SIZE(o);
    if (write_byte(w, is_list ? 'l' : 't') < 0 || write_number(w, (uint64_t)n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i >= Py_SIZE(o)) return changed_size();
        PyObject *item = Py_NewRef(is_list ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i));
        /* The reference held here must not make an unshared container look shared. */
        int shared = Py_REFCNT(item) > 2;
        if (!shared) Py_DECREF(item);
        int failed = write_value(w, item);
        if (shared) Py_DECREF(item);
        if (failed) return -1;
    }
    return Py_SIZE(o) == n ? 0 : changed_size();
}

static int write_set(Writer *w, PyObject *o, unsigned char tag) {
    Py_ssize_t n = PySet_GET_SIZE(o), written = 0;
    if (write_byte(w, tag) < 0 || write_number(w, (uint64_t)n) < 0) return -1;
    PyObject *iterator = PyObject_GetIter(o), *item;
    if (!iterator) return -1;
    while ((item = PyIter_Next(iterator)) != NULL) {
        int failed = ++written > n ? changed_size() : write_value(w, item);
        Py_DECREF(item);
        if (failed) break;
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred()) return -1;
    return written == n ? 0 : changed_size();
}

static int write_dict(Writer *w, PyObject *o) {
    Py_ssize_t n = PyDict_GET_SIZE(o), position = 0, written = 0;
    PyObject *key, *item;
    if (write_byte(w, 'd') < 0 || write_number(w, (uint64_t)n) < 0) return -1;
    while (PyDict_Next(o, &position, &key, &item)) {
        if (++written > n) return changed_size();
        Py_INCREF(key);
        Py_INCREF(item);
        int failed = write_value(w, key) < 0 || write_value(w, item) < 0;
        Py_DECREF(key);
        Py_DECREF(item);
        if (failed) return -1;
        if (PyDict_GET_SIZE(o) != n) return changed_size();
    }
    return written == n ? 0 : changed_size();
}

/* `reduce(value)` gives (name, payload), or (None, (type, repr)) for a value that can't cross. */
static int write_reduced(Writer *w, PyObject *o) {
    if (!w->reduce || w->reduce == Py_None) {
        PyErr_Format(PyExc_TypeError, "cannot encode %.100s", Py_TYPE(o)->tp_name);
        return -1;
    }
    PyObject *pair = PyObject_CallOneArg(w->reduce, o), *name, *payload;
    if (!pair) return -1;
    int failed = -1;
    if ((!w->kept && !(w->kept = PyList_New(0))) || PyList_Append(w->kept, pair) < 0) {
        failed = -1;
    } else if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "reduce must return a pair");
    } else {
        name = PyTuple_GET_ITEM(pair, 0);
        payload = PyTuple_GET_ITEM(pair, 1);
        if (PyUnicode_CheckExact(name)) {
            int seen = write_if_seen(w, o);
            failed = seen ? (seen < 0 ? -1 : 0)
                          : (write_byte(w, 'x') < 0 || write_str(w, name) < 0 || write_value(w, payload) < 0 ? -1 : 0);
        } else if (PyTuple_CheckExact(payload) && PyTuple_GET_SIZE(payload) == 2
                   && PyUnicode_CheckExact(PyTuple_GET_ITEM(payload, 0)) && PyUnicode_CheckExact(PyTuple_GET_ITEM(payload, 1))) {
            failed = write_byte(w, 'o') < 0 || write_str(w, PyTuple_GET_ITEM(payload, 0)) < 0
                     || write_str(w, PyTuple_GET_ITEM(payload, 1)) < 0 ? -1 : 0;
        } else {
            PyErr_SetString(PyExc_TypeError, "an opaque value needs its type and repr");
        }
    }
    Py_DECREF(pair);
    return failed;
}

static int write_value(Writer *w, PyObject *o) {
    if (o == Py_None) return write_byte(w, 'N');
    if (o == Py_True) return write_byte(w, 'T');
    if (o == Py_False) return write_byte(w, 'F');
    if (PyLong_CheckExact(o)) return write_int(w, o);
    if (PyUnicode_CheckExact(o)) return write_str(w, o);
    if (PyFloat_CheckExact(o)) return write_byte(w, 'f') < 0 ? -1 : write_double(w, PyFloat_AS_DOUBLE(o));
    if (PyBytes_CheckExact(o)) return write_bytes(w, 'b', PyBytes_AS_STRING(o), (size_t)PyBytes_GET_SIZE(o));
    if (PyComplex_CheckExact(o)) {
        Py_complex c = PyComplex_AsCComplex(o);
        return write_byte(w, 'c') < 0 || write_double(w, c.real) < 0 || write_double(w, c.imag) < 0 ? -1 : 0;
    }
    if (w->depth >= MAX_DEPTH) {
        PyErr_SetString(PyExc_ValueError, "value nested too deep to leave the sandbox");
        return -1;
    }
    if (Py_EnterRecursiveCall(" while encoding a value")) return -1;
    w->depth++;
    int failed = -1;
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o) || PyAnySet_CheckExact(o) || PyByteArray_CheckExact(o)) {
        int seen = write_if_seen(w, o);
        if (seen > 0) failed = 0;
        else if (seen < 0) failed = -1;
        else if (PyTuple_CheckExact(o)) failed = write_sequence(w, o, 0);
        else if (PyList_CheckExact(o)) failed = write_sequence(w, o, 1);
        else if (PyDict_CheckExact(o)) failed = write_dict(w, o);
        else if (PyByteArray_CheckExact(o)) failed = write_bytes(w, 'B', PyByteArray_AS_STRING(o), (size_t)PyByteArray_GET_SIZE(o));
        else failed = write_set(w, o, PyFrozenSet_CheckExact(o) ? 'Z' : 'S');
    } else {
        failed = write_reduced(w, o);
    }
    w->depth--;
    Py_LeaveRecursiveCall();
    return failed;
}

typedef struct {
    const unsigned char *at, *end;
    PyObject *seen;    /* list: the containers by number */
    PyObject *restore; /* borrowed, or NULL: makes richer values */
    PyObject *given;   /* borrowed; list or NULL: the containers of the message that this one answers */
} Reader;

static PyObject *read_value(Reader *r);

static PyObject *malformed(void) {
    PyErr_SetString(PyExc_ValueError, "malformed value");
    return NULL;
}

static int read_number(Reader *r, uint64_t *n) {
    *n = 0;
    for (int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        unsigned char b = *r->at++;
        *n |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return 0;
    }
    malformed();
    return -1;
}

/* A count or length: never more than the bytes that are left, so that nothing large is allocated for a short message. */
static int read_length(Reader *r, Py_ssize_t *n) {
    uint64_t v;
    if (read_number(r, &v) < 0) return -1;
    if (v > (uint64_t)(r->end - r->at)) {
        malformed();
        return -1;
    }
    *n = (Py_ssize_t)v;
    return 0;
}

static PyObject *read_sequence(Reader *r, int is_list) {
    Py_ssize_t n;
    if (read_length(r, &n) < 0) return NULL;
    PyObject *o = is_list ? PyList_New(n) : PyTuple_New(n);
    if (!o) return NULL;
    /* What is read meanwhile may refer to it, and must not find holes. */
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_list) PyList_SET_ITEM(o, i, Py_None);
        else PyTuple_SET_ITEM(o, i, Py_None);
    }
    if (PyList_Append(r->seen, o) < 0) goto error;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = read_value(r);
        if (!item) goto error;
        if (is_list) {
            /* Restoring an item may have run code that holds the list: it must still be as long. */
            if (PyList_GET_SIZE(o) != n) {
                Py_DECREF(item);
                malformed();
                goto error;
            }
            PyList_SET_ITEM(o, i, item);
        } else {
            PyTuple_SET_ITEM(o, i, item);
        }
    }
    return o;
error:
    Py_DECREF(o);
    return NULL;
}

static PyObject *read_set(Reader *r, int frozen) {
    Py_ssize_t n;
    if (read_length(r, &n) < 0) return NULL;
    PyObject *o = frozen ? PyFrozenSet_New(NULL) : PySet_New(NULL);
    if (!o) return NULL;
    /* A fresh frozenset may be filled (PySet_Add) only while nobody else holds it, so its number is filled in last. */
    Py_ssize_t index = PyList_GET_SIZE(r->seen);
    if (PyList_Append(r->seen, frozen ? Py_None : o) < 0) goto error;
    while (n-- > 0) {
        PyObject *item = read_value(r);
        if (!item) goto error;
        int failed = PySet_Add(o, item);
        Py_DECREF(item);
        if (failed) goto error;
    }
    if (frozen && PyList_SetItem(r->seen, index, Py_NewRef(o)) < 0) goto error;
    return o;
error:
    Py_DECREF(o);
    return NULL;
}

static PyObject *read_dict(Reader *r) {
    Py_ssize_t n;
    if (read_length(r, &n) < 0) return NULL;
    PyObject *o = PyDict_New();
    if (!o) return NULL;
    if (PyList_Append(r->seen, o) < 0) goto error;
    while (n-- > 0) {
        PyObject *key = read_value(r);
        if (!key) goto error;
        PyObject *item = read_value(r);
        int failed = !item || PyDict_SetItem(o, key, item) < 0;
        Py_DECREF(key);
        Py_XDECREF(item);
        if (failed) goto error;
    }
    return o;
error:
    Py_DECREF(o);
    return NULL;
}

static PyObject *read_double_as(Reader *r, int is_complex) {
    double d[2] = {0, 0};
    size_t n = is_complex ? 16 : 8;
    if ((size_t)(r->end - r->at) < n) return malformed();
    memcpy(d, r->at, n);
    r->at += n;
    return is_complex ? PyComplex_FromDoubles(d[0], d[1]) : PyFloat_FromDouble(d[0]);
}

static PyObject *read_int(Reader *r) {
    uint64_t z;
    if (read_number(r, &z) < 0) return NULL;
    return PyLong_FromLongLong((int64_t)(z >> 1) ^ -(int64_t)(z & 1));
}

static PyObject *read_bytes_as(Reader *r, unsigned char tag) {
    Py_ssize_t n;
    if (read_length(r, &n) < 0) return NULL;
    const char *at = (const char *)r->at;
    r->at += n;
    switch (tag) {
    case 's': return PyUnicode_DecodeUTF8(at, n, NULL);
    case 'u': return PyUnicode_DecodeUTF8(at, n, "surrogatepass");
    case 'b': return PyBytes_FromStringAndSize(at, n);
    case 'I': return PyLong_FromNativeBytes(at, (size_t)n, Py_ASNATIVEBYTES_LITTLE_ENDIAN);
    default: break;
    }
    PyObject *o = PyByteArray_FromStringAndSize(at, n);
    if (o && PyList_Append(r->seen, o) < 0) Py_CLEAR(o);
    return o;
}

static PyObject *read_reference(Reader *r) {
    uint64_t index;
    if (read_number(r, &index) < 0) return NULL;
    if (index >= (uint64_t)PyList_GET_SIZE(r->seen)) return malformed();
    return Py_NewRef(PyList_GET_ITEM(r->seen, (Py_ssize_t)index));
}

static PyObject *read_given(Reader *r) {
    uint64_t index;
    if (read_number(r, &index) < 0) return NULL;
    if (!r->given || index >= (uint64_t)PyList_GET_SIZE(r->given)) return malformed();
    return Py_NewRef(PyList_GET_ITEM(r->given, (Py_ssize_t)index));
}

/* `restore(name, payload)` makes the value. One whose name begins with '+' can contain itself: `restore(name, None)`
 * makes it, and `restore(name, payload, value)` fills it. */
static PyObject *read_extended(Reader *r) {
    Py_ssize_t index = PyList_GET_SIZE(r->seen);
    if (!r->restore || r->at >= r->end || *r->at++ != 's') return malformed();
    PyObject *name = read_bytes_as(r, 's'), *payload = NULL, *o = NULL;
    if (!name) return NULL;
    int fillable = PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) == '+';
    PyObject *early = fillable ? PyObject_CallFunctionObjArgs(r->restore, name, Py_None, NULL) : Py_NewRef(Py_None);
    if (early && PyList_Append(r->seen, early) == 0) payload = read_value(r);
    if (payload) o = PyObject_CallFunctionObjArgs(r->restore, name, payload, fillable ? early : NULL, NULL);
    if (o && !fillable && PyList_SetItem(r->seen, index, Py_NewRef(o)) < 0) Py_CLEAR(o);
    Py_DECREF(name);
    Py_XDECREF(early);
    Py_XDECREF(payload);
    return o;
}

static PyObject *read_value(Reader *r) {
    if (r->at >= r->end) return malformed();
    if (Py_EnterRecursiveCall(" while decoding a value")) return NULL;
    PyObject *o;
    unsigned char tag = *r->at++;
    switch (tag) {
    case 'N': o = Py_NewRef(Py_None); break;
    case 'T': o = Py_NewRef(Py_True); break;
    case 'F': o = Py_NewRef(Py_False); break;
    case 'i': o = read_int(r); break;
    case 'f': o = read_double_as(r, 0); break;
    case 'c': o = read_double_as(r, 1); break;
    case 's': case 'u': case 'b': case 'B': case 'I': o = read_bytes_as(r, tag); break;
    case 't': o = read_sequence(r, 0); break;
    case 'l': o = read_sequence(r, 1); break;
    case 'S': o = read_set(r, 0); break;
    case 'Z': o = read_set(r, 1); break;
    case 'd': o = read_dict(r); break;
    case 'r': o = read_reference(r); break;
    case 'g': o = read_given(r); break;
    case 'x': o = read_extended(r); break;
    default: o = malformed();
    }
    Py_LeaveRecursiveCall();
    return o;
}

static PyObject *decode(Reader *r) {
    PyObject *o = r->seen ? read_value(r) : NULL;
    if (o && r->at != r->end) {
        Py_DECREF(o);
        return malformed();
    }
    return o;
}

PyObject *codec_decode(const unsigned char *data, size_t length) {
    Reader r = {.at = data, .end = data + length, .seen = PyList_New(0)};
    PyObject *o = decode(&r);
    Py_XDECREF(r.seen);
    return o;
}

/* The host refuses longer messages too (crates/runtime/src/bridge.rs, report.rs); this only spares the work. */
#define MESSAGE_LIMIT ((size_t)8 << 20)
/* What is told to the host and made of nothing that must be reduced: what a cell shows may be as long as its output. */
#define TOLD_LIMIT ((size_t)17 << 20)

static void forget(Writer *w) {
    PyMem_Free(w->data);
    Py_XDECREF(w->seen);
    Py_XDECREF(w->kept);
}

/* {id: index} of a list's objects. */
static PyObject *numbers_of(PyObject *list) {
    PyObject *numbers = PyDict_New();
    for (Py_ssize_t i = 0; numbers && i < PyList_GET_SIZE(list); i++) {
        PyObject *key = PyLong_FromVoidPtr(PyList_GET_ITEM(list, i)), *index = key ? PyLong_FromSsize_t(i) : NULL;
        if (!index || PyDict_SetItem(numbers, key, index) < 0) Py_CLEAR(numbers);
        Py_XDECREF(key);
        Py_XDECREF(index);
    }
    return numbers;
}

static PyObject *post(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "post(message, reduce=None)");
        return NULL;
    }
    Writer w = {.limit = count > 1 ? MESSAGE_LIMIT : TOLD_LIMIT, .reduce = count > 1 ? args[1] : NULL};
    int failed = write_value(&w, args[0]);
    if (!failed && host_post(w.data, w.length) != 0) {
        PyErr_SetString(PyExc_ValueError, "message refused by the host");
        failed = -1;
    }
    forget(&w);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* Each item of a list as a value of its own, behind the first; the list may grow meanwhile. */
static int write_more(Writer *w, PyObject *more) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(more); i++) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(more, i));
        int failed = write_value(w, item);
        Py_DECREF(item);
        if (failed) return -1;
    }
    return 0;
}

/* A value, and the list of those behind it or None. */
static PyObject *decode_all(Reader *r, PyObject **more) {
    *more = Py_NewRef(Py_None);
    PyObject *o = r->seen ? read_value(r) : NULL;
    if (o && r->at != r->end) {
        Py_SETREF(*more, PyList_New(0));
        while (*more && r->at != r->end) {
            PyObject *item = read_value(r);
            if (!item || PyList_Append(*more, item) < 0) Py_CLEAR(*more);
            Py_XDECREF(item);
        }
    }
    if (!o || !*more) {
        Py_CLEAR(o);
        Py_CLEAR(*more);
    }
    return o;
}

/* exchange(kind, value, reduce, restore, sent, given, asked, more) -> (kind, value, received, more)
 *
 * Hands `value` to the other guest of the pair, waits, and returns what comes back; `kind` says which it is (bridge.py).
 * `sent` takes the containers of what is sent, by number. `given` (list or None) holds the containers of the message
 * that this one answers: they cross as themselves. `asked` holds those of the request that still waits for its reply:
 * as them the reply may name what it gives back. `received` lists the containers of what came. What is in the list `more`
 * once `value` is encoded goes behind it, and the list is emptied; what came so is the last item of the result, or None there.
 * A value that can't be encoded raises before anything is sent. */
static PyObject *exchange(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 8 || !PyList_CheckExact(args[4]) || (args[5] != Py_None && !PyList_CheckExact(args[5]))
        || (args[6] != Py_None && !PyList_CheckExact(args[6])) || !PyList_CheckExact(args[7])) {
        PyErr_SetString(PyExc_TypeError, "exchange(kind, value, reduce, restore, sent, given, asked, more)");
        return NULL;
    }
    Writer w = {.limit = MESSAGE_LIMIT, .reduce = args[2], .record = args[4]};
    int kind = (int)PyLong_AsLong(args[0]);
    int failed = kind == -1 && PyErr_Occurred();
    PyObject *given = NULL;
    if (!failed && args[5] != Py_None) failed = !(w.given = given = numbers_of(args[5]));
    failed = failed || write_value(&w, args[1]) < 0 || write_more(&w, args[7]) < 0;
    if (!failed && PyList_GET_SIZE(args[7])) failed = PyList_SetSlice(args[7], 0, PyList_GET_SIZE(args[7]), NULL) < 0;
    int64_t answered = failed ? -1 : host_exchange(kind, w.data, w.length);
    Py_XDECREF(given);
    forget(&w);
    if (failed) return NULL;
    if (answered < 0) {
        PyErr_SetString(PyExc_RuntimeError, "there is nobody to talk to");
        return NULL;
    }
    size_t length = (size_t)(answered & 0xFFFFFFFF);
    unsigned char *data = PyMem_Malloc(length ? length : 1);
    if (!data) return PyErr_NoMemory();
    PyObject *result = NULL;
    if (host_take(data, length) == 0) {
        kind = (int)(answered >> 32);
        int is_reply = kind == 2;
        Reader r = {.at = data, .end = data + length, .seen = PyList_New(0), .restore = args[3],
                    .given = is_reply && args[6] != Py_None ? args[6] : NULL};
        PyObject *more, *o = decode_all(&r, &more);
        if (o) result = Py_BuildValue("(iNON)", kind, o, r.seen, more);
        Py_XDECREF(r.seen);
    }
    PyMem_Free(data);
    if (!result) {
        /* Told apart from what can't be sent: the conversation has gone on. */
        PyErr_Clear();
        PyErr_SetString(PyExc_SystemError, "the other side's message makes no sense");
    }
    return result;
}

/* encode(value, reduce, sent, given, more) -> bytes, decode(bytes, restore, given) -> (value, received, more): the two
 * halves of exchange, for bridge_warmup.py. */
static PyObject *encode(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 5 || !PyList_CheckExact(args[2]) || (args[3] != Py_None && !PyList_CheckExact(args[3])) || !PyList_CheckExact(args[4])) {
        PyErr_SetString(PyExc_TypeError, "encode(value, reduce, sent, given, more)");
        return NULL;
    }
    Writer w = {.limit = MESSAGE_LIMIT, .reduce = args[1], .record = args[2]};
    PyObject *given = args[3] != Py_None ? numbers_of(args[3]) : NULL;
    w.given = given;
    int failed = PyErr_Occurred() || write_value(&w, args[0]) < 0 || write_more(&w, args[4]) < 0;
    PyObject *bytes = failed ? NULL : PyBytes_FromStringAndSize((const char *)w.data, (Py_ssize_t)w.length);
    Py_XDECREF(given);
    forget(&w);
    return bytes;
}

static PyObject *decode_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyBytes_CheckExact(args[0]) || (args[2] != Py_None && !PyList_CheckExact(args[2]))) {
        PyErr_SetString(PyExc_TypeError, "decode(bytes, restore, given)");
        return NULL;
    }
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    Reader r = {.at = data, .end = data + PyBytes_GET_SIZE(args[0]), .seen = PyList_New(0), .restore = args[1],
                .given = args[2] != Py_None ? args[2] : NULL};
    PyObject *more, *o = decode_all(&r, &more), *result = o ? Py_BuildValue("(NON)", o, r.seen, more) : NULL;
    Py_XDECREF(r.seen);
    return result;
}

/* snapshots(containers) -> list: of each list, dict, set and bytearray a shallow copy, to find out later whether it was
 * changed; None for the rest. */
static PyObject *snapshots(PyObject *module, PyObject *containers) {
    if (!PyList_CheckExact(containers)) {
        PyErr_SetString(PyExc_TypeError, "snapshots(list)");
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(containers);
    PyObject *copies = PyList_New(n);
    for (Py_ssize_t i = 0; copies && i < n; i++) {
        PyObject *o = PyList_GET_ITEM(containers, i), *copy;
        if (PyList_CheckExact(o)) copy = PyList_AsTuple(o);
        else if (PyDict_CheckExact(o)) copy = PyDict_Copy(o);
        else if (PySet_CheckExact(o)) copy = PyFrozenSet_New(o);
        else if (PyByteArray_CheckExact(o)) copy = PyBytes_FromStringAndSize(PyByteArray_AS_STRING(o), PyByteArray_GET_SIZE(o));
        else copy = Py_NewRef(Py_None);
        if (!copy) Py_CLEAR(copies);
        else PyList_SET_ITEM(copies, i, copy);
    }
    return copies;
}

/* Whether two dicts hold the same objects in the same order. */
static int same_items(PyObject *a, PyObject *b) {
    Py_ssize_t at_a = 0, at_b = 0;
    PyObject *key_a, *value_a, *key_b, *value_b;
    if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return 0;
    while (PyDict_Next(a, &at_a, &key_a, &value_a)) {
        if (!PyDict_Next(b, &at_b, &key_b, &value_b) || key_a != key_b || value_a != value_b) return 0;
    }
    return 1;
}

/* Whether two sets hold the same objects. Iteration runs over the tables: nothing of the user's is called. */
static int same_members(PyObject *set, PyObject *copy) {
    if (PySet_GET_SIZE(set) != PySet_GET_SIZE(copy)) return 0;
    PyObject *ids = PySet_New(NULL), *iterator = ids ? PyObject_GetIter(copy) : NULL, *item;
    int same = iterator != NULL;
    while (same && (item = PyIter_Next(iterator)) != NULL) {
        PyObject *id = PyLong_FromVoidPtr(item);
        same = id && PySet_Add(ids, id) == 0;
        Py_XDECREF(id);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    iterator = same ? PyObject_GetIter(set) : NULL;
    while (same && iterator && (item = PyIter_Next(iterator)) != NULL) {
        PyObject *id = PyLong_FromVoidPtr(item);
        same = id && PySet_Contains(ids, id) == 1;
        Py_XDECREF(id);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(ids);
    PyErr_Clear();
    return same;
}

/* changed(containers, snapshots) -> list of the indices of those that are no longer as they were. */
static PyObject *changed(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
        PyErr_SetString(PyExc_TypeError, "changed(containers, snapshots)");
        return NULL;
    }
    PyObject *indices = PyList_New(0);
    for (Py_ssize_t i = 0; indices && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *o = PyList_GET_ITEM(args[0], i), *copy = PyList_GET_ITEM(args[1], i);
        int same = 1;
        if (PyList_CheckExact(o) && PyTuple_CheckExact(copy)) {
            Py_ssize_t n = PyList_GET_SIZE(o);
            same = n == PyTuple_GET_SIZE(copy)
                   && (n == 0 || memcmp(((PyListObject *)o)->ob_item, ((PyTupleObject *)copy)->ob_item, (size_t)n * sizeof(PyObject *)) == 0);
        } else if (PyDict_CheckExact(o) && PyDict_CheckExact(copy)) {
            same = same_items(o, copy);
        } else if (PySet_CheckExact(o) && PyFrozenSet_CheckExact(copy)) {
            same = same_members(o, copy);
        } else if (PyByteArray_CheckExact(o) && PyBytes_CheckExact(copy)) {
            same = PyByteArray_GET_SIZE(o) == PyBytes_GET_SIZE(copy)
                   && memcmp(PyByteArray_AS_STRING(o), PyBytes_AS_STRING(copy), (size_t)PyBytes_GET_SIZE(copy)) == 0;
        }
        if (same) continue;
        PyObject *index = PyLong_FromSsize_t(i);
        if (!index || PyList_Append(indices, index) < 0) Py_CLEAR(indices);
        Py_XDECREF(index);
    }
    return indices;
}

/* printed(stream) -> bytes: what the candidate has written to its standard output (1) or error (2) since it was last
 * asked something. */
static PyObject *printed(PyObject *module, PyObject *stream) {
    int number = (int)PyLong_AsLong(stream);
    if (number == -1 && PyErr_Occurred()) return NULL;
    size_t length = host_printed(number, NULL, 0);
    PyObject *text = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)length);
    if (text) host_printed(number, PyBytes_AS_STRING(text), length);
    return text;
}

/* renew() -> bool: a fresh interpreter for the candidate, which loads its module when it is next spoken to. */
static PyObject *renew(PyObject *module, PyObject *unused) { return PyBool_FromLong(host_renew() == 0); }

static PyObject *attempt(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Writer w = {.limit = 4096};
    static const char tag[] = "attempt";
    int failed = count != 3 || write_byte(&w, 't') < 0 || write_number(&w, 4) < 0 || write_bytes(&w, 's', tag, sizeof tag - 1) < 0;
    for (int i = 0; i < 3 && !failed; i++) failed = !PyUnicode_Check(args[i]) || write_str(&w, args[i]) < 0;
    if (!failed) host_post(w.data, w.length);
    PyErr_Clear(); /* an attempt that can't be told is no reason to change what the program sees */
    PyMem_Free(w.data);
    Py_RETURN_NONE;
}

static PyObject *memory_bytes(PyObject *module, PyObject *unused) { return PyLong_FromSize_t(__builtin_wasm_memory_size(0) << 16); }

static PyMethodDef methods[] = {
    {"post", (PyCFunction)(void (*)(void))post, METH_FASTCALL, "post(message, reduce=None): hand a message to the host."},
    {"attempt", (PyCFunction)(void (*)(void))attempt, METH_FASTCALL, "attempt(kind, operation, target): tell the host what was tried."},
    {"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL,
     "exchange(kind, value, reduce, restore, sent, given, asked, more): hand a message to the other guest and wait for its."},
    {"encode", (PyCFunction)(void (*)(void))encode, METH_FASTCALL, "encode(value, reduce, sent, given, more) -> bytes"},
    {"decode", (PyCFunction)(void (*)(void))decode_bytes, METH_FASTCALL, "decode(bytes, restore, given) -> (value, received, more)"},
    {"snapshots", snapshots, METH_O, "snapshots(containers): shallow copies, for changed()."},
    {"changed", (PyCFunction)(void (*)(void))changed, METH_FASTCALL, "changed(containers, snapshots): indices of those that were changed."},
    {"printed", printed, METH_O, "printed(stream): what the candidate wrote since it was last asked something."},
    {"dup", descriptors_dup, METH_O, "dup(fd): another number for the same open file."},
    {"dup2", (PyCFunction)(void (*)(void))descriptors_dup2, METH_FASTCALL, "dup2(fd, fd2): that number for the same open file."},
    {"renew", renew, METH_NOARGS, "renew(): a fresh interpreter for the candidate."},
    {"compile_check", (PyCFunction)(void (*)(void))compile_check, METH_FASTCALL,
     "compile_check(source, filename, places) -> code: a module whose `check` tells of its cases; where they are is appended to places."},
    {"immortalise", immortalise, METH_O, "immortalise(objects): stop counting references to these and what they hold."},
    {"gather", gather, METH_O, "gather(function): what it makes lies side by side."},
    {"open_pipe", open_pipe, METH_NOARGS, "open_pipe() -> (r, w): a pipe within the process."},
    {"memory_bytes", memory_bytes, METH_NOARGS, "memory_bytes(): the size of the interpreter's memory."},
    {"set_mode", (PyCFunction)(void (*)(void))set_mode, METH_FASTCALL, "set_mode(fd, path, mode): sets the permission bits of a file; the error number."},
    {"set_owner", (PyCFunction)(void (*)(void))set_owner, METH_FASTCALL, "set_owner(fd, path, owner, follow): gives a file to a user; the error number."},
    {"set_descriptor_mode", (PyCFunction)(void (*)(void))set_descriptor_mode, METH_FASTCALL, "set_descriptor_mode(fd, mode): the same for an open file."},
    {"set_mask", set_mask, METH_O, "set_mask(mask): sets the creation mask; the old one."},
    {"user_number", user_number, METH_NOARGS, "user_number(): the number of the user who runs this."},
    {"set_interned_aside", set_interned_aside, METH_NOARGS, "set_interned_aside(): the image's names go where they are only read."},
    /* For _proofbox_threads.py alone: see threads.c. */
    {"threads_prepare", (PyCFunction)(void (*)(void))threads_prepare, METH_FASTCALL},
    {"threads_begin", threads_begin, METH_O},
    {"threads_end", threads_end, METH_NOARGS},
    {"threads_can_run", threads_can_run, METH_O},
    {"threads_open", threads_open, METH_NOARGS},
    {"threads_adopt", threads_adopt, METH_NOARGS},
    {"threads_leave", threads_leave, METH_O},
    {"threads_arrive", threads_arrive, METH_NOARGS},
    {"threads_identify", threads_identify, METH_O},
    {"threads_forget", threads_forget, METH_NOARGS},
    {"threads_guard", threads_guard, METH_O},
    {"threads_at_home", threads_at_home, METH_NOARGS},
    {"threads_interrupted", threads_interrupted, METH_NOARGS},
    {"threads_is_free", threads_is_free, METH_O},
    {"threads_replace_method", (PyCFunction)(void (*)(void))threads_replace_method, METH_FASTCALL},
    {"threads_enter_context", threads_enter_context, METH_O},
    {"threads_exit_context", threads_exit_context, METH_O},
    {0},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_proofbox", "What guest Python may say to the host.", 0, methods};
PyMODINIT_FUNC PyInit__proofbox(void) { return PyModule_Create(&module); }
