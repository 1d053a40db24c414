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
 *   g index      a container of the request that this message answers or calls back for, by its number there (bridge.py)
 *   h index      likewise of the reply that came last (sharing.py)
 *   k number     a container that both sides have (sharing.py)
 *   K number v   a container that both sides have from now on; 0: one that they should, but can't
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
#include "pending.h"
#include "attributes.h"
#include "pipe.h"
#include "sockets.h"
#include "mirrors.h"
#include "sharing.h"
#include "threads.h"
#include "words.h"
#include <stdint.h>
#include <string.h>

#define HOST(name) __attribute__((import_module("proofbox"), import_name(name))) extern
HOST("post") int host_post(const void *message, size_t length);
/* A reply of at most `capacity` bytes is written to `reply`; a longer one is to be taken. */
HOST("exchange") int64_t host_exchange(int kind, const void *message, size_t length, void *reply, size_t capacity);
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
    PyObject *taken;  /* borrowed; dict or NULL: the same of the reply that came last */
    PyObject *record; /* borrowed; list or NULL: takes the containers, by number */
    uint32_t count;
    int depth;
    /* What both sides have: see sharing.py. */
    PyObject *shared;  /* borrowed; dict or NULL: number -> container */
    PyObject *numbers; /* borrowed; dict: id -> number */
    uint32_t next;     /* the number of the next container that becomes shared */
    int sharing;       /* whether containers that are held beside the message become shared */
    int accounted;     /* references to the value that comes next that are the message's own */
    int copied;        /* ... and those of a copy of the container around it */
    int held;          /* whether the container around it is held beside the message */
    int structure;     /* levels of containers, from the next on, that are the message's own */
    int payload;       /* levels of containers that `reduce` may have made */
    int lost;          /* something is held beside the message that can't be shared */
    int owned;         /* of a reply of the tests: something in it is held beside the message */
    int stale;         /* a set or dict has keys that it would not find */
} Writer;

/* How many containers are shared at once, and of how many items, each and all together (sharing.py); those of few items
 * are not counted. */
#define MAX_SHARED 256
#define MAX_SHARED_ITEMS 2000
#define MAX_SHARED_SUM 10000
#define FEW_ITEMS 32

/* The host's own bound (crates/types/src/value.rs). */
#define MAX_DEPTH 200

static int write_value(Writer *w, PyObject *o);

/* As write_value: `accounted` references to the value are the message's own. */
static int write_item(Writer *w, PyObject *o, int accounted) {
    w->accounted = accounted;
    return write_value(w, o);
}

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

/* The number of a container that both sides have; 0: it is not one; -1: error. */
static long shared_number(Writer *w, PyObject *o) {
    if (!w->numbers || !PyDict_GET_SIZE(w->numbers)) return 0;
    PyObject *key = PyLong_FromVoidPtr(o), *number = key ? PyDict_GetItemWithError(w->numbers, key) : NULL;
    Py_XDECREF(key);
    return number ? PyLong_AsLong(number) : PyErr_Occurred() ? -1 : 0;
}

/* 1: written by its number in `numbers`; 0: it is not there; -1: error. */
static int write_if_known(Writer *w, PyObject *numbers, unsigned char tag, PyObject *o) {
    /* There is only one empty tuple, whoever uses it. */
    if (!numbers || (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == 0)) return 0;
    PyObject *key = PyLong_FromVoidPtr(o), *number = key ? PyDict_GetItemWithError(numbers, key) : NULL;
    Py_XDECREF(key);
    if (number) return write_byte(w, tag) < 0 || write_number(w, PyLong_AsUnsignedLong(number)) < 0 ? -1 : 1;
    return PyErr_Occurred() ? -1 : 0;
}

/* 1: written as a reference; 0: `o` is new and has been numbered; -1: error. `alone`: nothing else can refer to it. */
static int write_if_seen(Writer *w, PyObject *o, int alone) {
    int written = write_if_known(w, w->given, 'g', o);
    if (!written) written = write_if_known(w, w->taken, 'h', o);
    if (written) return written;
    int known = w->record && w->seen && !alone;
    if (known) {
        PyObject *key = PyLong_FromVoidPtr(o);
        known = key && PyDict_Contains(w->seen, key) == 1;
        Py_XDECREF(key);
        if (PyErr_Occurred()) return -1;
    }
    if (!known && !alone) {
        long number = shared_number(w, o);
        if (number) return number < 0 || write_byte(w, 'k') < 0 || write_number(w, (uint64_t)number) < 0 ? -1 : 1;
    }
    if (w->record && !known && PyList_Append(w->record, o) < 0) return -1;
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
        int failed = write_item(w, item, 2);
        Py_DECREF(item);
        if (failed) return -1;
    }
    return Py_SIZE(o) == n ? 0 : changed_size();
}

extern int _PySet_NextEntry(PyObject *set, Py_ssize_t *position, PyObject **key, Py_hash_t *hash);
extern int _PyDict_Next(PyObject *dict, Py_ssize_t *position, PyObject **key, PyObject **item, Py_hash_t *hash);

/* Whether its metaclass is that of handles (`ProxyType` in proxies.py), which has the name of the one that it stands for. */
static int is_handle_class(PyTypeObject *type) {
    if (Py_IS_TYPE((PyObject *)type, &PyType_Type)) return 0;
    PyObject *attributes = PyType_GetDict(Py_TYPE(type));
    int has = attributes && PyDict_ContainsString(attributes, "_proofbox_stands") > 0;
    Py_XDECREF(attributes);
    return has;
}

/* Whether a class of the program says the hash of a key. Objects of the other side are not asked. */
static int is_hashed_by_class(PyObject *key) {
    PyTypeObject *type = Py_TYPE(key);
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_hash != PyBaseObject_Type.tp_hash && !is_handle_class(type);
}

/* Notes keys whose hash is another than when they were put in. On the other side they would be found. */
static void note_stale(Writer *w, PyObject *o) {
    Py_ssize_t position = 0, n = PyObject_Size(o);
    PyObject *key, *item;
    Py_hash_t hash;
    while (!w->stale && PyObject_Size(o) == n && (PyAnySet_CheckExact(o) ? _PySet_NextEntry(o, &position, &key, &hash) : _PyDict_Next(o, &position, &key, &item, &hash))) {
        if (!is_hashed_by_class(key)) continue;
        Py_INCREF(key);
        if (PyObject_Hash(key) != hash) w->stale = 1;
        PyErr_Clear();
        Py_DECREF(key);
    }
}

static int write_set(Writer *w, PyObject *o, unsigned char tag) {
    Py_ssize_t n = PySet_GET_SIZE(o), written = 0;
    int is_hashed = 0;
    if (write_byte(w, tag) < 0 || write_number(w, (uint64_t)n) < 0) return -1;
    PyObject *iterator = PyObject_GetIter(o), *item;
    if (!iterator) return -1;
    while ((item = PyIter_Next(iterator)) != NULL) {
        is_hashed |= is_hashed_by_class(item);
        int failed = ++written > n ? changed_size() : write_item(w, item, 2);
        Py_DECREF(item);
        if (failed) break;
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred()) return -1;
    if (is_hashed) note_stale(w, o);
    return written == n ? 0 : changed_size();
}

static int write_dict(Writer *w, PyObject *o) {
    Py_ssize_t n = PyDict_GET_SIZE(o), position = 0, written = 0;
    PyObject *key, *item;
    int is_hashed = 0;
    if (write_byte(w, 'd') < 0 || write_number(w, (uint64_t)n) < 0) return -1;
    while (PyDict_Next(o, &position, &key, &item)) {
        if (++written > n) return changed_size();
        is_hashed |= is_hashed_by_class(key);
        Py_INCREF(key);
        Py_INCREF(item);
        int failed = write_item(w, key, 2) < 0 || write_item(w, item, 2) < 0;
        Py_DECREF(key);
        Py_DECREF(item);
        if (failed) return -1;
        if (PyDict_GET_SIZE(o) != n) return changed_size();
    }
    if (is_hashed) note_stale(w, o);
    return written == n ? 0 : changed_size();
}

/* Rich containers that can be shared, by their names on the wire. */
static int is_container_name(const char *name, size_t length) {
    static const char *const names[] = {"+deque", "deque", "+counter", "+ordered_dict", "+default_dict", "+ndarray", "array"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return 1;
    }
    return 0;
}

/* What can be changed and is not shared. */
static int is_frame_name(const char *name) { return !strcmp(name, "+frame") || !strcmp(name, "+series") || !strcmp(name, "masked_array"); }

/* How many items a container has, for its share of the bounds; of an array, how many doubles would take its bytes. */
static Py_ssize_t items_of(PyObject *o) {
    if (!sharing_is_array(o)) return PyObject_Size(o);
    PyObject *bytes = PyObject_GetAttrString(o, "nbytes");
    Py_ssize_t size = bytes ? PyLong_AsSsize_t(bytes) / 8 : -1;
    Py_XDECREF(bytes);
    return size;
}

static int has_room(PyObject *shared, Py_ssize_t size) {
    if (PyDict_GET_SIZE(shared) >= MAX_SHARED || size > MAX_SHARED_ITEMS) return 0;
    Py_ssize_t position = 0, sum = size, each;
    PyObject *o;
    if (size <= FEW_ITEMS) return 1;
    while (PyDict_Next(shared, &position, NULL, &o) && sum <= MAX_SHARED_SUM) {
        if ((each = items_of(o)) > FEW_ITEMS) sum += each;
    }
    return sum <= MAX_SHARED_SUM;
}

/* has_room(containers, container) -> bool: whether that one can be shared, too. */
static PyObject *shared_has_room(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size = count == 2 && PyDict_Check(args[0]) ? items_of(args[1]) : -1;
    if (size < 0) return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    return PyBool_FromLong(has_room(args[0], size));
}

/* Makes a container that is held beside the message one that both sides have. */
static int write_shared(Writer *w, PyObject *o) {
    Py_ssize_t size = items_of(o);
    if (size < 0) return -1;
    uint32_t number = has_room(w->shared, size) ? w->next : 0;
    if (write_byte(w, 'K') < 0 || write_number(w, number) < 0) return -1;
    if (!number) return 0;
    w->next++;
    PyObject *key = PyLong_FromVoidPtr(o), *value = key ? PyLong_FromUnsignedLong(number) : NULL;
    int failed = !value || PyDict_SetItem(w->shared, value, o) < 0 || PyDict_SetItem(w->numbers, key, value) < 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* `reduce(value)` gives (name, payload), or (None, (type, repr)) for a value that can't cross. */
static int write_reduced(Writer *w, PyObject *o, Py_ssize_t references, int accounted) {
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
            int seen = write_if_seen(w, o, references <= accounted), sharing = w->sharing;
            if (!seen && (references > accounted || sharing_is_array(o))) w->owned = 1; /* It may be a view of what is held. */
            if (!seen && sharing) {
                Py_ssize_t n;
                const char *text = PyUnicode_AsUTF8AndSize(name, &n);
                w->held = w->held || references > accounted + w->copied;
                if (!text || (w->held && is_container_name(text, (size_t)n) && write_shared(w, o) < 0)) seen = -1;
                if (text && w->held && is_frame_name(text)) w->lost = 1;
                /* What describes a class or an exception is made for the message. */
                if (text && (!strcmp(text, "class") || !strcmp(text, "exception"))) w->sharing = 0;
                w->structure = 0;
                w->payload = 2;
            }
            failed = seen ? (seen < 0 ? -1 : 0)
                          : (write_byte(w, 'x') < 0 || write_str(w, name) < 0 || write_item(w, payload, 1) < 0 ? -1 : 0);
            w->sharing = sharing;
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

/* Shares a container that somebody but the message holds, and says what its items are written by. */
static int write_if_held(Writer *w, PyObject *o, Py_ssize_t references, int accounted) {
    if (w->structure) {
        w->structure--;
        return 0;
    }
    if (w->payload) {
        w->payload = PyTuple_CheckExact(o) ? w->payload - 1 : 0;
        if (references <= accounted) return 0;
        w->payload = 0;
    }
    w->held = w->held || references > accounted + w->copied;
    return w->held && !PyTuple_CheckExact(o) && !PyFrozenSet_CheckExact(o) ? write_shared(w, o) : 0;
}

/* `math.nan` and `numpy.nan`: containers that hold these are equal. Kept for ever. */
static PyObject *constants[2];

/* Between two guests these are reduced like richer values (marshal.py), so that they are the same objects there. */
static int is_constant(const Writer *w, const PyObject *o) {
    return w->numbers && PyFloat_AS_DOUBLE(o) != PyFloat_AS_DOUBLE(o) && (o == constants[0] || o == constants[1]);
}

static PyObject *know_constants(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count && i < 2; i++) constants[i] = PyFloat_CheckExact(args[i]) ? Py_NewRef(args[i]) : NULL;
    Py_RETURN_NONE;
}

static int write_value(Writer *w, PyObject *o) {
    if (o == Py_None) return write_byte(w, 'N');
    if (o == Py_True) return write_byte(w, 'T');
    if (o == Py_False) return write_byte(w, 'F');
    if (PyLong_CheckExact(o)) return write_int(w, o);
    if (PyUnicode_CheckExact(o)) return write_str(w, o);
    if (PyFloat_CheckExact(o) && !is_constant(w, o)) return write_byte(w, 'f') < 0 ? -1 : write_double(w, PyFloat_AS_DOUBLE(o));
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
    int accounted = w->accounted, held = w->held, structure = w->structure, payload = w->payload, failed;
    Py_ssize_t references = Py_REFCNT(o);
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o) || PyAnySet_CheckExact(o) || PyByteArray_CheckExact(o)) {
        int seen = write_if_seen(w, o, references <= accounted);
        if (!seen && references > accounted) w->owned = 1;
        if (!seen && w->sharing) seen = write_if_held(w, o, references, accounted);
        if (seen) failed = seen > 0 ? 0 : -1;
        else if (PyTuple_CheckExact(o)) failed = write_sequence(w, o, 0);
        else if (PyList_CheckExact(o)) failed = write_sequence(w, o, 1);
        else if (PyDict_CheckExact(o)) failed = write_dict(w, o);
        else if (PyByteArray_CheckExact(o)) failed = write_bytes(w, 'B', PyByteArray_AS_STRING(o), (size_t)PyByteArray_GET_SIZE(o));
        else failed = write_set(w, o, PyFrozenSet_CheckExact(o) ? 'Z' : 'S');
    } else {
        failed = write_reduced(w, o, references, accounted);
    }
    w->held = held;
    w->structure = structure;
    w->payload = payload;
    w->depth--;
    Py_LeaveRecursiveCall();
    return failed;
}

typedef struct {
    const unsigned char *at, *end;
    PyObject *seen;    /* list: the containers by number */
    PyObject *restore; /* borrowed, or NULL: makes richer values */
    PyObject *given;   /* borrowed; list or NULL: the containers of the message that this one answers */
    PyObject *taken;   /* borrowed; list or NULL: those of the reply that this side has sent before it */
    PyObject *shared;  /* borrowed; dict or NULL: number -> container that both sides have */
    PyObject *numbers; /* borrowed; dict: id -> number */
    int is_told;       /* whether the other side says which containers are shared */
    int lost;          /* it has said that one can't be */
    int nan;           /* a number that is neither above nor below another has come */
    int infinite;      /* one that is infinite */
    int empty;         /* a container or text without items, within another container */
    int classes;       /* a class of the library, as a value */
    int depth;         /* containers around what comes next; those of the message itself are two */
    int quiet;         /* it is no value, but part of a description */
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

/* Levels of containers that are the message's own. */
#define OWN_LEVELS 2

/* A loop over what holds nothing checks nothing. */
static void note_length(Reader *r, Py_ssize_t n) { r->empty |= !n && !r->quiet && r->depth >= OWN_LEVELS; }

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

/* From here on a square is infinite. */
#define SQUARE_OVERFLOWS 1e150

static PyObject *read_double_as(Reader *r, int is_complex) {
    double d[2] = {0, 0};
    size_t n = is_complex ? 16 : 8;
    if ((size_t)(r->end - r->at) < n) return malformed();
    memcpy(d, r->at, n);
    r->at += n;
    r->nan |= d[0] != d[0] || d[1] != d[1];
    r->infinite |= !r->quiet && (d[0] > SQUARE_OVERFLOWS || d[0] < -SQUARE_OVERFLOWS || d[1] > SQUARE_OVERFLOWS || d[1] < -SQUARE_OVERFLOWS);
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
    note_length(r, n);
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

static PyObject *read_taken(Reader *r) {
    uint64_t index;
    if (read_number(r, &index) < 0) return NULL;
    if (!r->taken || index >= (uint64_t)PyList_GET_SIZE(r->taken)) return malformed();
    return Py_NewRef(PyList_GET_ITEM(r->taken, (Py_ssize_t)index));
}

static PyObject *read_shared(Reader *r) {
    uint64_t number;
    if (read_number(r, &number) < 0) return NULL;
    PyObject *key = PyLong_FromUnsignedLongLong(number), *o = key && r->shared ? PyDict_GetItemWithError(r->shared, key) : NULL;
    Py_XDECREF(key);
    return o ? Py_NewRef(o) : malformed();
}

/* Whether a list, dict, set or bytearray comes next, or another container that can be shared. */
static int is_container_next(Reader *r) {
    const unsigned char *at = r->at;
    if (at >= r->end) return 0;
    if (*at == 'l' || *at == 'd' || *at == 'S' || *at == 'B') return 1;
    return r->end - at > 3 && at[0] == 'x' && at[1] == 's' && at[2] <= r->end - at - 3 && is_container_name((const char *)at + 3, at[2]);
}

/* Only a container that this message makes becomes shared, and none in the place of another. */
static PyObject *read_newly_shared(Reader *r) {
    uint64_t number;
    if (!r->is_told || read_number(r, &number) < 0 || !is_container_next(r)) return malformed();
    if (!number) {
        r->lost = 1;
        return read_value(r);
    }
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    if (!key || PyDict_GET_SIZE(r->shared) >= MAX_SHARED || PyDict_Contains(r->shared, key)) {
        Py_XDECREF(key);
        return malformed();
    }
    PyObject *o = read_value(r), *id = o ? PyLong_FromVoidPtr(o) : NULL;
    if (!id || PyDict_GET_SIZE(r->shared) >= MAX_SHARED || PyDict_Contains(r->shared, key) || PyDict_SetItem(r->shared, key, o) < 0
        || PyDict_SetItem(r->numbers, id, key) < 0) {
        Py_CLEAR(o);
        if (!PyErr_Occurred()) malformed();
    }
    Py_DECREF(key);
    Py_XDECREF(id);
    return o;
}

/* Whether the payload of a richer value is what it holds; notes a class of the library. */
static int is_content(Reader *r, PyObject *name) {
    static const char *const names[] = {"deque", "dict_keys", "dict_values", "dict_items", "mappingproxy", "array", "default_dict", "counter", "ordered_dict"};
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) {
        PyErr_Clear(); /* no name that there is: restoring it fails */
        return 0;
    }
    if (!strcmp(text, "library")) r->classes = 1;
    if (*text == '+') text++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) return 1;
    }
    return 0;
}

/* `restore(name, payload)` makes the value. One whose name begins with '+' can contain itself: `restore(name, None)`
 * makes it, and `restore(name, payload, value)` fills it. */
static PyObject *read_extended(Reader *r) {
    Py_ssize_t index = PyList_GET_SIZE(r->seen);
    if (!r->restore || r->at >= r->end || *r->at++ != 's') return malformed();
    PyObject *name = read_bytes_as(r, 's'), *payload = NULL, *o = NULL;
    if (!name) return NULL;
    int quiet = r->quiet;
    if (!quiet && r->is_told) r->quiet = !is_content(r, name);
    int fillable = PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) == '+';
    PyObject *early = fillable ? PyObject_CallFunctionObjArgs(r->restore, name, Py_None, NULL) : Py_NewRef(Py_None);
    if (early && PyList_Append(r->seen, early) == 0) payload = read_value(r);
    if (payload) o = PyObject_CallFunctionObjArgs(r->restore, name, payload, fillable ? early : NULL, NULL);
    if (o && !fillable && PyList_SetItem(r->seen, index, Py_NewRef(o)) < 0) Py_CLEAR(o);
    r->quiet = quiet;
    Py_DECREF(name);
    Py_XDECREF(early);
    Py_XDECREF(payload);
    return o;
}

static PyObject *read_items(Reader *r, unsigned char tag) {
    switch (tag) {
    case 't': return read_sequence(r, 0);
    case 'l': return read_sequence(r, 1);
    case 'd': return read_dict(r);
    default: return read_set(r, tag == 'Z');
    }
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
    case 't': case 'l': case 'S': case 'Z': case 'd':
        if (r->at < r->end) note_length(r, *r->at);
        r->depth++;
        o = read_items(r, tag);
        r->depth--;
        break;
    case 'r': o = read_reference(r); break;
    case 'g': o = read_given(r); break;
    case 'h': o = read_taken(r); break;
    case 'k': o = read_shared(r); break;
    case 'K': o = read_newly_shared(r); break;
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

/* The host refuses longer messages too (crates/runtime/src/grading/channel.rs, report.rs); this only spares the work. */
#define MESSAGE_LIMIT ((size_t)16 << 20)
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
        w->structure = 2;
        int failed = write_item(w, item, 2);
        Py_DECREF(item);
        if (failed) return -1;
    }
    return 0;
}

static int is_text(PyObject *o, const char *text) { return PyUnicode_CheckExact(o) && PyUnicode_CompareWithASCIIString(o, text) == 0; }

/* A reply is sent as three values: whether the request has succeeded, with what, and how that has changed its containers.
 * Of a result, what is held beside the message becomes shared. */
static int write_reply(Writer *w, PyObject *reply, PyObject *changes, PyObject *more) {
    if (!PyTuple_CheckExact(reply) || PyTuple_GET_SIZE(reply) != 2) return write_item(w, reply, 1);
    w->sharing = w->next != 0 && PyTuple_GET_ITEM(reply, 0) == Py_True;
    w->count++;
    /* Of the tests' reply the containers are known to the message that follows. */
    if (w->record && !w->next && PyList_Append(w->record, reply) < 0) return -1;
    if (write_byte(w, 't') < 0 || write_number(w, 3) < 0) return -1;
    if (write_item(w, PyTuple_GET_ITEM(reply, 0), 1) < 0 || write_item(w, PyTuple_GET_ITEM(reply, 1), 1) < 0) return -1;
    /* The candidate need not look after what the tests hold no more: it is told so by a False for None. */
    if (changes == Py_None && !w->next && !w->owned && !PyList_GET_SIZE(more)) return write_byte(w, 'F');
    /* Copies of the contents of containers that may be nobody's any more. */
    w->copied = 1;
    w->structure = 3;
    int failed = write_item(w, changes, 1);
    w->copied = w->structure = 0;
    return failed;
}

/* Of a request of the candidate, all arguments become shared: it can't be seen who holds them. */
static int write_request(Writer *w, PyObject *request) {
    if (w->next && PyTuple_CheckExact(request) && PyTuple_GET_SIZE(request)) {
        PyObject *operation = PyTuple_GET_ITEM(request, 0);
        int sets = is_text(operation, "set");
        w->sharing = w->held = sets || is_text(operation, "call") || is_text(operation, "special");
        w->structure = sets ? 1 : 2;
    }
    int failed = write_item(w, request, 1);
    w->held = w->structure = 0;
    return failed;
}

enum { KIND_REPLY = 2 };

/* Adds a note to the list of what comes behind a message. */
static int append_note(PyObject *more, const char *what) {
    PyObject *entry = Py_BuildValue("(siO)", what, 0, Py_None);
    int failed = !entry || PyList_Append(more, entry) < 0;
    Py_XDECREF(entry);
    return failed ? -1 : 0;
}

static int write_message(Writer *w, int kind, PyObject *message, PyObject *changes, PyObject *more) {
    int failed = kind == KIND_REPLY ? write_reply(w, message, changes, more) : write_request(w, message);
    w->sharing = w->next != 0;
    if (!failed && w->lost) failed = append_note(more, "lost");
    if (!failed && w->stale) failed = append_note(more, "stale");
    return failed || write_more(w, more) < 0 ? -1 : 0;
}

/* Adds to what came behind a message what was seen while it was read. */
static void note_seen(PyObject *o, PyObject **more, const char *what) {
    if (!o || !*more) return;
    if (*more == Py_None) Py_SETREF(*more, PyList_New(0));
    if (!*more || append_note(*more, what) < 0) Py_CLEAR(*more);
}

/* A value, and the list of those behind it or None. */
static PyObject *decode_all(Reader *r, PyObject **more) {
    *more = Py_NewRef(Py_None);
    PyObject *o = r->seen ? read_value(r) : NULL;
    if (o && r->at != r->end) {
        Py_SETREF(*more, PyList_New(0));
        r->depth = -1; /* an entry's own levels are three */
        while (*more && r->at != r->end) {
            PyObject *item = read_value(r);
            if (!item || PyList_Append(*more, item) < 0) Py_CLEAR(*more);
            Py_XDECREF(item);
        }
    }
    if (r->lost) note_seen(o, more, "lost");
    if (r->nan && r->is_told) note_seen(o, more, "nan");
    if (r->infinite && r->is_told) note_seen(o, more, "infinite");
    if (r->empty && r->is_told) note_seen(o, more, "empty");
    if (r->classes && r->is_told) note_seen(o, more, "classes");
    if (!o || !*more) {
        Py_CLEAR(o);
        Py_CLEAR(*more);
    }
    return o;
}

/* What all messages of one side have in common: (more, shared, numbers, next, taken). */
enum { MORE, SHARED, NUMBERS, NEXT, TAKEN, LINKS };

static int is_link(PyObject *link) {
    return PyTuple_CheckExact(link) && PyTuple_GET_SIZE(link) == LINKS && PyList_CheckExact(PyTuple_GET_ITEM(link, MORE))
           && PyDict_Check(PyTuple_GET_ITEM(link, SHARED)) && PyDict_CheckExact(PyTuple_GET_ITEM(link, NUMBERS))
           && PyList_CheckExact(PyTuple_GET_ITEM(link, NEXT)) && PyList_GET_SIZE(PyTuple_GET_ITEM(link, NEXT)) == 1
           && PyList_CheckExact(PyTuple_GET_ITEM(link, TAKEN));
}

static int is_list_or_none(PyObject *o) { return o == Py_None || PyList_CheckExact(o); }

/* `args`: message, changes, sent, given */
static int encode_message(Writer *w, int kind, PyObject *const *args, PyObject *reduce, PyObject *link) {
    PyObject *more = PyTuple_GET_ITEM(link, MORE), *next = PyTuple_GET_ITEM(link, NEXT);
    w->limit = MESSAGE_LIMIT;
    w->reduce = reduce;
    w->record = args[2];
    w->shared = PyTuple_GET_ITEM(link, SHARED);
    w->numbers = PyTuple_GET_ITEM(link, NUMBERS);
    w->next = (uint32_t)PyLong_AsLong(PyList_GET_ITEM(next, 0));
    uint32_t first = w->next;
    int failed = PyErr_Occurred() != NULL || (args[3] != Py_None && !(w->given = numbers_of(args[3])));
    PyObject *taken = PyTuple_GET_ITEM(link, TAKEN);
    failed = failed || (PyList_GET_SIZE(taken) && !(w->taken = numbers_of(taken)));
    failed = failed || write_message(w, kind, args[0], args[1], more) < 0;
    if (!failed && PyList_GET_SIZE(more)) failed = PyList_SetSlice(more, 0, PyList_GET_SIZE(more), NULL) < 0;
    if (!failed && w->next != first) {
        PyObject *number = PyLong_FromUnsignedLong(w->next);
        failed = !number || PyList_SetItem(next, 0, number) < 0;
    }
    Py_CLEAR(w->given);
    Py_CLEAR(w->taken);
    return failed ? -1 : 0;
}

static Reader reader_of(const unsigned char *data, size_t length, PyObject *restore, PyObject *asked, PyObject *replied, PyObject *link) {
    return (Reader){
        .at = data, .end = data + length, .seen = PyList_New(0), .restore = restore, .taken = replied,
        .given = asked != Py_None ? asked : NULL, .shared = PyTuple_GET_ITEM(link, SHARED), .numbers = PyTuple_GET_ITEM(link, NUMBERS),
        .is_told = PyLong_AsLong(PyList_GET_ITEM(PyTuple_GET_ITEM(link, NEXT), 0)) == 0,
    };
}

/* Bytes of a reply up to which it lies on the stack. */
#define SMALL_REPLY 512

/* (kind, message, received, more), without a kind where there is none; takes over all references. */
static PyObject *decoded(PyObject *kind, PyObject *message, PyObject *received, PyObject *more) {
    PyObject *items[] = {kind, message, received, more};
    int first = kind == NULL;
    PyObject *all = PyTuple_New(4 - first);
    for (int i = first; i < 4; i++) {
        if (all) PyTuple_SET_ITEM(all, i - first, items[i]);
        else Py_DECREF(items[i]);
    }
    return all;
}

/* exchange(kind, message, changes, sent, given, asked, reduce, restore, link) -> (kind, message, received, more)
 *
 * Hands a message to the other guest of the pair, waits, and returns what comes back; `kind` says which it is (bridge.py).
 * `changes` belong to a reply. `sent` takes the containers of what is sent, by number. `given` (list or None) holds the
 * containers of the request that this message answers, or calls back for: they cross as themselves. `asked` holds those of
 * the request that still waits for its reply: as them that may name what it gives back, and a request what it passes on.
 * `received` lists the containers of what came.
 * `link`: what is in the list `more` once the message is encoded goes behind it, and the list is emptied; what came so is
 * the last item of the result, or None there. `shared` and `numbers` say what both sides have, `next` is a list of the
 * number of the next such container (0: the other side gives numbers); all three are brought up to date. `taken` lists the
 * containers of the reply that this side has had last; those of a reply that is sent are known to the message that follows.
 * A message that can't be encoded raises before anything is sent. */
static PyObject *exchange(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 9 || !PyList_CheckExact(args[3]) || !is_list_or_none(args[4]) || !is_list_or_none(args[5]) || !is_link(args[8])) {
        PyErr_SetString(PyExc_TypeError, "exchange(kind, message, changes, sent, given, asked, reduce, restore, link)");
        return NULL;
    }
    Writer w = {0};
    int kind = (int)PyLong_AsLong(args[0]);
    int failed = (kind == -1 && PyErr_Occurred()) || encode_message(&w, kind, args + 1, args[6], args[8]) < 0;
    unsigned char small[SMALL_REPLY];
    int64_t answered = failed ? -1 : host_exchange(kind, w.data, w.length, small, sizeof small);
    forget(&w);
    if (failed) return NULL;
    if (answered < 0) {
        PyErr_SetString(PyExc_RuntimeError, "there is nobody to talk to");
        return NULL;
    }
    size_t length = (size_t)(answered & 0xFFFFFFFF);
    unsigned char *large = length > sizeof small ? PyMem_Malloc(length) : NULL, *data = large ? large : small;
    if (length > sizeof small && !large) return PyErr_NoMemory();
    PyObject *result = NULL;
    if (!large || host_take(large, length) == 0) {
        Reader r = reader_of(data, length, args[7], args[5], kind == KIND_REPLY ? args[3] : NULL, args[8]);
        PyObject *more, *o = decode_all(&r, &more);
        if (o) result = decoded(PyLong_FromLong((long)(answered >> 32)), o, r.seen, more);
        else Py_XDECREF(r.seen);
    }
    PyMem_Free(large);
    if (!result) {
        /* Told apart from what can't be sent: the conversation has gone on. */
        PyErr_Clear();
        PyErr_SetString(PyExc_SystemError, "the other side's message makes no sense");
    }
    return result;
}

/* encode(kind, message, changes, sent, given, reduce, link) -> bytes, decode(bytes, asked, restore, link) -> (message, received, more): the
 * two halves of exchange, for bridge_warmup.py. */
static PyObject *encode(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 7 || !PyList_CheckExact(args[3]) || !is_list_or_none(args[4]) || !is_link(args[6])) {
        PyErr_SetString(PyExc_TypeError, "encode(kind, message, changes, sent, given, reduce, link)");
        return NULL;
    }
    Writer w = {0};
    int kind = (int)PyLong_AsLong(args[0]);
    int failed = (kind == -1 && PyErr_Occurred()) || encode_message(&w, kind, args + 1, args[5], args[6]) < 0;
    PyObject *bytes = failed ? NULL : PyBytes_FromStringAndSize((const char *)w.data, (Py_ssize_t)w.length);
    forget(&w);
    return bytes;
}

static PyObject *decode_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyBytes_CheckExact(args[0]) || !is_list_or_none(args[1]) || !is_link(args[3])) {
        PyErr_SetString(PyExc_TypeError, "decode(bytes, asked, restore, link)");
        return NULL;
    }
    Reader r = reader_of((const unsigned char *)PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0]), args[2], args[1], NULL, args[3]);
    PyObject *more, *o = decode_all(&r, &more);
    if (o) return decoded(NULL, o, r.seen, more);
    Py_XDECREF(r.seen);
    return NULL;
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
     "exchange(kind, message, changes, sent, given, asked, reduce, restore, link): hand a message to the other guest and wait for its."},
    {"encode", (PyCFunction)(void (*)(void))encode, METH_FASTCALL, "encode(kind, message, changes, sent, given, reduce, link) -> bytes"},
    {"decode", (PyCFunction)(void (*)(void))decode_bytes, METH_FASTCALL, "decode(bytes, asked, restore, link) -> (message, received, more)"},
    {"know_constants", (PyCFunction)(void (*)(void))know_constants, METH_FASTCALL, "know_constants(nan, ...): floats whose identity crosses."},
    {"know_arrays", sharing_know_arrays, METH_O, "know_arrays(type): arrays are containers that can be shared."},
    {"snapshots", sharing_snapshots, METH_O, "snapshots(containers): shallow copies, for changed()."},
    {"changed", (PyCFunction)(void (*)(void))sharing_changed, METH_FASTCALL, "changed(containers, snapshots): indices of those that were changed."},
    {"altered", (PyCFunction)(void (*)(void))sharing_altered, METH_FASTCALL, "altered(containers, snapshots): as changed(), of dicts."},
    {"mirrors_prepare", mirrors_prepare, METH_O, "mirrors_prepare(metaclass): see mirrors.c."},
    {"mirrors_set_own", (PyCFunction)(void (*)(void))mirrors_set_own, METH_FASTCALL, "mirrors_set_own(class, name, value): sets an attribute of a mirror here."},
    {"has_room", (PyCFunction)(void (*)(void))shared_has_room, METH_FASTCALL, "has_room(containers, container): whether that one can be shared, too."},
    {"begin", (PyCFunction)(void (*)(void))sharing_begin, METH_FASTCALL, "begin(containers, snapshots): snapshots of those that have none."},
    {"forget", (PyCFunction)(void (*)(void))sharing_forget, METH_FASTCALL, "forget(keys, containers, ids, snapshots): takes them out."},
    {"spliced", (PyCFunction)(void (*)(void))sharing_spliced, METH_FASTCALL, "spliced(list, snapshot): where it was changed."},
    {"held", (PyCFunction)(void (*)(void))sharing_held, METH_FASTCALL,
     "held(containers, snapshots, reply, kinds, own, first): indices of those that something else refers to."},
    {"printed", printed, METH_O, "printed(stream): what the candidate wrote since it was last asked something."},
    {"flush", pending_flush, METH_NOARGS, "flush(): the standard streams, where they hold something."},
    {"dup", descriptors_dup, METH_O, "dup(fd): another number for the same open file."},
    {"dup2", (PyCFunction)(void (*)(void))descriptors_dup2, METH_FASTCALL, "dup2(fd, fd2): that number for the same open file."},
    {"renew", renew, METH_NOARGS, "renew(): a fresh interpreter for the candidate."},
    {"compile_check", (PyCFunction)(void (*)(void))compile_check, METH_FASTCALL,
     "compile_check(source, filename, places) -> code: a module whose `check` tells of its cases; where they are is appended to places."},
    {"immortalise", immortalise, METH_O, "immortalise(objects): stop counting references to these and what they hold."},
    {"settle", (PyCFunction)(void (*)(void))settle, METH_FASTCALL, "settle(code, specialised): the code adapts no more."},
    {"give_version", give_version, METH_O, "give_version(function): calls of a function whose code was replaced are specialised again."},
    {"gather", gather, METH_O, "gather(function): what it makes lies side by side."},
    {"open_pipe", open_pipe, METH_NOARGS, "open_pipe() -> (r, w): a pipe within the process."},
    /* For _proofbox_loopback.py alone: see sockets.c. */
    {"sockets_open", sockets_open, METH_O},
    {"sockets_connect", (PyCFunction)(void (*)(void))sockets_connect, METH_FASTCALL},
    {"sockets_number", sockets_number, METH_O},
    {"sockets_count", sockets_count, METH_O},
    {"sockets_abort", sockets_abort, METH_O},
    {"sockets_recv", (PyCFunction)(void (*)(void))sockets_recv, METH_FASTCALL},
    {"sockets_recv_into", (PyCFunction)(void (*)(void))sockets_recv_into, METH_FASTCALL},
    {"sockets_send", (PyCFunction)(void (*)(void))sockets_send, METH_FASTCALL},
    {"sockets_shutdown", (PyCFunction)(void (*)(void))sockets_shutdown, METH_FASTCALL},
    {"sockets_take_error", sockets_take_error, METH_O},
    {"sockets_readiness", sockets_readiness, METH_O},
    {"has_any", (PyCFunction)(void (*)(void))has_any, METH_FASTCALL, "has_any(text, words): whether one of a tuple of words is in a text."},
    {"memory_bytes", memory_bytes, METH_NOARGS, "memory_bytes(): the size of the interpreter's memory."},
    {"set_mode", (PyCFunction)(void (*)(void))set_mode, METH_FASTCALL, "set_mode(fd, path, mode): sets the permission bits of a file; the error number."},
    {"set_owner", (PyCFunction)(void (*)(void))set_owner, METH_FASTCALL, "set_owner(fd, path, owner, follow): gives a file to a user; the error number."},
    {"set_descriptor_mode", (PyCFunction)(void (*)(void))set_descriptor_mode, METH_FASTCALL, "set_descriptor_mode(fd, mode): the same for an open file."},
    {"read_elsewhere", (PyCFunction)(void (*)(void))read_elsewhere, METH_FASTCALL, "read_elsewhere(seeming, actual): what is read below the one directory is read below the other."},
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
