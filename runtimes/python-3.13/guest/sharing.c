/* What containers are found out about without a word of Python: whether they have changed, and whether somebody holds
 * them (sharing.py, marshal.py). */
#include "sharing.h"
#include <stdint.h>
#include <string.h>

/* The type of numpy's arrays, which the cycle collector does not see. Kept for ever. */
static PyTypeObject *array_type;

PyObject *sharing_know_arrays(PyObject *module, PyObject *type) {
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "know_arrays(type)");
        return NULL;
    }
    array_type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

int sharing_is_array(PyObject *o) { return Py_IS_TYPE(o, array_type); }

/* A shallow copy of a list, dict, set or bytearray, to find out later whether it was changed; None for the rest. */
static PyObject *snapshot_of(PyObject *o) {
    if (PyList_CheckExact(o)) return PyList_AsTuple(o);
    if (PyDict_CheckExact(o)) return PyDict_Copy(o);
    if (PySet_CheckExact(o)) return PyFrozenSet_New(o);
    if (PyByteArray_CheckExact(o)) return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(o), PyByteArray_GET_SIZE(o));
    return Py_NewRef(Py_None);
}

/* snapshots(containers) -> (list, None or the indices of those that may be containers of other types) */
PyObject *sharing_snapshots(PyObject *module, PyObject *containers) {
    if (!PyList_CheckExact(containers)) {
        PyErr_SetString(PyExc_TypeError, "snapshots(list)");
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(containers);
    PyObject *copies = PyList_New(n), *others = Py_NewRef(Py_None);
    for (Py_ssize_t i = 0; copies && i < n; i++) {
        PyObject *o = PyList_GET_ITEM(containers, i), *copy = snapshot_of(o);
        if (!copy) {
            Py_CLEAR(copies);
            break;
        }
        PyList_SET_ITEM(copies, i, copy);
        if (copy != Py_None || PyTuple_CheckExact(o) || PyFrozenSet_CheckExact(o)) continue;
        if (others == Py_None) Py_SETREF(others, PyList_New(0));
        PyObject *index = PyLong_FromSsize_t(i);
        if (!others || !index || PyList_Append(others, index) < 0) Py_CLEAR(copies);
        Py_XDECREF(index);
    }
    if (copies) return Py_BuildValue("(NN)", copies, others);
    Py_XDECREF(others);
    return NULL;
}

/* How large a container is that is told of when it begins. */
#define LARGE 256

/* begin(containers, snapshots) -> list: of each container of the dict `containers` that has no snapshot in the other dict,
 * puts one there; the keys of those of these that are of other types, or large. */
PyObject *sharing_begin(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyDict_Check(args[0]) || !PyDict_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "begin(dict, dict)");
        return NULL;
    }
    PyObject *begun = PyList_New(0), *key, *o;
    Py_ssize_t position = 0;
    while (begun && PyDict_Next(args[0], &position, &key, &o)) {
        int known = PyDict_Contains(args[1], key);
        if (known > 0) continue;
        PyObject *copy = known == 0 ? snapshot_of(o) : NULL;
        int failed = !copy || PyDict_SetItem(args[1], key, copy) < 0;
        if (!failed && (copy == Py_None || PyObject_Size(copy) > LARGE)) failed = PyList_Append(begun, key) < 0;
        if (failed) Py_CLEAR(begun);
        Py_XDECREF(copy);
    }
    return begun;
}

/* How many pointers are the same from the beginning on. */
static Py_ssize_t same_pointers(PyObject *const *a, PyObject *const *b, Py_ssize_t n) {
    Py_ssize_t i = 0;
    for (uint64_t x, y; i + 2 <= n && sizeof *a == 4; i += 2) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y) break;
    }
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* spliced(list, tuple) -> (begin, end, items): the items `begin:end` of the tuple have become these. */
PyObject *sharing_spliced(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyTuple_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "spliced(list, tuple)");
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(args[0]), m = PyTuple_GET_SIZE(args[1]), least = n < m ? n : m;
    PyObject **now = ((PyListObject *)args[0])->ob_item, **then = ((PyTupleObject *)args[1])->ob_item;
    Py_ssize_t begin = same_pointers(now, then, least), behind = 0;
    while (behind < least - begin && now[n - 1 - behind] == then[m - 1 - behind]) behind++;
    PyObject *items = PyList_GetSlice(args[0], begin, n - behind), *made = items ? PyList_AsTuple(items) : NULL;
    Py_XDECREF(items);
    return made ? Py_BuildValue("(nnN)", begin, m - behind, made) : NULL;
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

static int is_same(PyObject *o, PyObject *copy) {
    if (PyList_CheckExact(o) && PyTuple_CheckExact(copy)) {
        Py_ssize_t n = PyList_GET_SIZE(o);
        return n == PyTuple_GET_SIZE(copy) && same_pointers(((PyListObject *)o)->ob_item, ((PyTupleObject *)copy)->ob_item, n) == n;
    }
    if (PyDict_CheckExact(o) && PyDict_CheckExact(copy)) return same_items(o, copy);
    if (PySet_CheckExact(o) && PyFrozenSet_CheckExact(copy)) return same_members(o, copy);
    if (PyByteArray_CheckExact(o) && PyBytes_CheckExact(copy)) {
        return PyByteArray_GET_SIZE(o) == PyBytes_GET_SIZE(copy)
               && memcmp(PyByteArray_AS_STRING(o), PyBytes_AS_STRING(copy), (size_t)PyBytes_GET_SIZE(copy)) == 0;
    }
    return 1;
}

/* changed(containers, snapshots) -> list of the indices of those that are no longer as they were. */
PyObject *sharing_changed(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
        PyErr_SetString(PyExc_TypeError, "changed(containers, snapshots)");
        return NULL;
    }
    PyObject *indices = PyList_New(0);
    for (Py_ssize_t i = 0; indices && i < PyList_GET_SIZE(args[0]); i++) {
        if (is_same(PyList_GET_ITEM(args[0], i), PyList_GET_ITEM(args[1], i))) continue;
        PyObject *index = PyLong_FromSsize_t(i);
        if (!index || PyList_Append(indices, index) < 0) Py_CLEAR(indices);
        Py_XDECREF(index);
    }
    return indices;
}

/* altered(containers, snapshots) -> list of the keys of those, of two dicts. */
PyObject *sharing_altered(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyDict_Check(args[0]) || !PyDict_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "altered(dict, dict)");
        return NULL;
    }
    PyObject *keys = PyList_New(0), *key, *o;
    Py_ssize_t position = 0;
    while (keys && PyDict_Next(args[0], &position, &key, &o)) {
        PyObject *copy = PyDict_GetItemWithError(args[1], key);
        if (copy && !is_same(o, copy) && PyList_Append(keys, key) < 0) Py_CLEAR(keys);
    }
    return keys;
}

/* ---------------------------------------------------------------- who holds them */

/* Containers by address, and what is known of each: open addressing, at most half full. */
typedef struct {
    PyObject *const *containers;
    Py_ssize_t n;
    uint32_t *slots; /* index + 1 of a container, or 0 */
    uint32_t mask;
    uint32_t *internal; /* references among those that are looked at */
    uint32_t *stack;
    Py_ssize_t depth;
    unsigned char *held;
    PyObject *kinds;
    int nesting;
} Graph;

/* How deep what a message is made of is looked into. */
#define MAX_NESTING 100

static uint32_t slot_of(const Graph *g, const PyObject *o) {
    uint32_t at = (uint32_t)(((uintptr_t)o >> 3) * 2654435761u) & g->mask;
    while (g->slots[at] && g->containers[g->slots[at] - 1] != o) at = (at + 1) & g->mask;
    return at;
}

static int may_be_known(PyObject *o) { return PyType_IS_GC(Py_TYPE(o)) || PyByteArray_CheckExact(o) || sharing_is_array(o); }

static int count(PyObject *o, void *graph) {
    Graph *g = graph;
    if (!may_be_known(o)) return 0;
    uint32_t index = g->slots[slot_of(g, o)];
    if (index) g->internal[index - 1]++;
    return 0;
}

/* Of a snapshot: pairs that are its own are looked into. */
static int count_in_copy(PyObject *o, void *graph) {
    if (PyTuple_CheckExact(o) && Py_REFCNT(o) == 1) return Py_TYPE(o)->tp_traverse(o, count, graph);
    return count(o, graph);
}

static int is_of_kinds(const Graph *g, PyObject *o) {
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o) || PyAnySet_CheckExact(o)) return 1;
    return Py_TYPE(o)->tp_traverse && PySet_Contains(g->kinds, (PyObject *)Py_TYPE(o)) == 1;
}

/* Of a message that is to be sent: what is in containers that only it holds counts as its own. */
static int count_in_message(PyObject *o, void *graph) {
    Graph *g = graph;
    if (!may_be_known(o)) return 0;
    uint32_t index = g->slots[slot_of(g, o)];
    if (index) {
        g->internal[index - 1]++;
    } else if (Py_REFCNT(o) == 1 && g->nesting < MAX_NESTING && is_of_kinds(g, o)) {
        g->nesting++;
        Py_TYPE(o)->tp_traverse(o, count_in_message, g);
        g->nesting--;
    }
    return 0;
}

static int mark(PyObject *o, void *graph) {
    Graph *g = graph;
    uint32_t index = may_be_known(o) ? g->slots[slot_of(g, o)] : 0;
    if (index && !g->held[index - 1]) {
        g->held[index - 1] = 1;
        g->stack[g->depth++] = index - 1;
    }
    return 0;
}

static void traverse(Graph *g, PyObject *o, visitproc visit) {
    if (is_of_kinds(g, o)) Py_TYPE(o)->tp_traverse(o, visit, g);
}

static PyObject *held_of(Graph *g, PyObject *copies, PyObject *reply, Py_ssize_t own, Py_ssize_t first) {
    for (Py_ssize_t i = 0; i < g->n; i++) g->slots[slot_of(g, g->containers[i])] = (uint32_t)i + 1;
    for (Py_ssize_t i = 0; i < g->n; i++) traverse(g, g->containers[i], count);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(copies); i++) {
        PyObject *copy = PyList_GET_ITEM(copies, i);
        if (PyTuple_CheckExact(copy) || PyDict_CheckExact(copy) || PyFrozenSet_CheckExact(copy)) Py_TYPE(copy)->tp_traverse(copy, count_in_copy, g);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reply); i++) count_in_message(PyTuple_GET_ITEM(reply, i), g);
    for (Py_ssize_t i = first; i < g->n; i++) {
        PyObject *o = g->containers[i];
        if (!_Py_IsImmortal(o) && Py_REFCNT(o) > (Py_ssize_t)g->internal[i] + own) mark(o, g);
    }
    while (g->depth) traverse(g, g->containers[g->stack[--g->depth]], mark);
    PyObject *indices = PyList_New(0);
    for (Py_ssize_t i = first; indices && i < g->n; i++) {
        PyObject *index = g->held[i] ? PyLong_FromSsize_t(i) : NULL;
        if (g->held[i] && (!index || PyList_Append(indices, index) < 0)) Py_CLEAR(indices);
        Py_XDECREF(index);
    }
    return indices;
}

/* Up to so many containers nothing is allocated: twice as many slots, and two numbers of each. */
#define FEW 16

/* held(containers, snapshots, reply, kinds, own, first) -> list of the indices of those, from `first` on, that something
 * refers to beside `own` references, the other containers, the snapshots, and what is in the tuple `reply`; and of what
 * such contain. Containers of a type that is not in the set `kinds` are not looked into. */
PyObject *sharing_held(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 6 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyTuple_CheckExact(args[2]) || !PyAnySet_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "held(containers, snapshots, reply, kinds, own, first)");
        return NULL;
    }
    Py_ssize_t own = PyLong_AsSsize_t(args[4]), first = PyLong_AsSsize_t(args[5]), n = PyList_GET_SIZE(args[0]);
    if (PyErr_Occurred()) return NULL;
    size_t slots = 8;
    while (slots < 2 * (size_t)n) slots *= 2;
    uint32_t few_numbers[FEW * 4];
    unsigned char few_held[FEW];
    uint32_t *numbers = n <= FEW ? memset(few_numbers, 0, sizeof few_numbers) : PyMem_Calloc(slots + 2 * (size_t)n, sizeof *numbers);
    unsigned char *held = n <= FEW ? memset(few_held, 0, sizeof few_held) : PyMem_Calloc((size_t)n, 1);
    PyObject *indices = NULL;
    if (numbers && held && first >= 0) {
        Graph g = {.containers = ((PyListObject *)args[0])->ob_item, .n = n, .slots = numbers, .mask = (uint32_t)slots - 1,
                   .internal = numbers + slots, .stack = numbers + slots + n, .held = held, .kinds = args[3]};
        indices = held_of(&g, args[1], args[2], own, first);
    } else {
        PyErr_NoMemory();
    }
    if (n > FEW) {
        PyMem_Free(numbers);
        PyMem_Free(held);
    }
    return indices;
}

/* forget(keys, containers, ids, snapshots): takes containers and what is known of them out of three dicts. */
PyObject *sharing_forget(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyList_CheckExact(args[0]) || !PyDict_Check(args[1]) || !PyDict_CheckExact(args[2]) || !PyDict_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "forget(list, dict, dict, dict)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *key = PyList_GET_ITEM(args[0], i), *o = PyDict_GetItemWithError(args[1], key);
        PyObject *id = o ? PyLong_FromVoidPtr(o) : NULL;
        if (!id && PyErr_Occurred()) return NULL;
        if (!id) continue;
        int failed = PyDict_Pop(args[2], id, NULL) < 0 || PyDict_Pop(args[3], key, NULL) < 0 || PyDict_Pop(args[1], key, NULL) < 0;
        Py_DECREF(id);
        if (failed) return NULL;
    }
    Py_RETURN_NONE;
}
