/* Reference counts of what is in the image are never needed: nothing of it is ever freed. But to count them is to write,
 * and the first write to a page of the image costs a page fault and a copy in every run. So all objects of the image
 * become immortal (PEP 683), and their counts are left alone. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "immortal.h"
#include <internal/pycore_backoff.h>
#include <internal/pycore_code.h>
#include <internal/pycore_function.h>
#include <internal/pycore_hashtable.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#include <stdlib.h>

typedef struct {
    PyObject **items;
    size_t count, capacity;
    int failed;
} Worklist;

static int add(PyObject *o, void *list) {
    Worklist *w = list;
    /* Frames are those of the code that prepares the image: they end with it. */
    if (!o || _Py_IsImmortal(o) || PyFrame_Check(o)) return 0;
    if (w->count == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 1024;
        PyObject **items = realloc(w->items, capacity * sizeof *items);
        if (!items) return w->failed = -1;
        w->items = items;
        w->capacity = capacity;
    }
    o->ob_refcnt = _Py_IMMORTAL_REFCNT;
    w->items[w->count++] = o;
    return 0;
}

/* What `o` holds: by its type's traversal, and beyond that what a collector need not know. */
static void add_referents(PyObject *o, Worklist *w) {
    if (PyObject_IS_GC(o) && Py_TYPE(o)->tp_traverse) Py_TYPE(o)->tp_traverse(o, add, w);
    if (PyDict_Check(o)) {
        PyObject *key, *value;
        Py_ssize_t position = 0;
        while (PyDict_Next(o, &position, &key, &value)) add(key, w);
    }
    if (PyCode_Check(o)) {
        PyCodeObject *code = (PyCodeObject *)o;
        PyObject *held[] = {code->co_consts, code->co_names, code->co_exceptiontable, code->co_localsplusnames, code->co_localspluskinds,
                            code->co_filename, code->co_name, code->co_qualname, code->co_linetable};
        for (size_t i = 0; i < sizeof held / sizeof *held; i++) add(held[i], w);
    }
    if (PyTuple_CheckExact(o)) /* a tuple of constants is not traversed once the collector has let go of it */
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) add(PyTuple_GET_ITEM(o, i), w);
}

PyObject *immortalise(PyObject *module, PyObject *roots) {
    Worklist w = {0};
    if (!PyList_CheckExact(roots)) {
        PyErr_SetString(PyExc_TypeError, "immortalise(list of objects)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots); i++) add(PyList_GET_ITEM(roots, i), &w);
    for (size_t i = 0; i < w.count && !w.failed; i++) add_referents(w.items[i], &w);
    free(w.items);
    return w.failed ? PyErr_NoMemory() : PyLong_FromSize_t(w.count);
}

/* Failures to specialise an instruction after which it is not tried again. */
#define FAILURES 2

/* Whether the first cache entry of such an instruction counts down until it is specialised. */
static int adapts(int opcode) {
    switch (opcode) {
    case JUMP_BACKWARD:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
        return 0;
    default:
        return _PyOpcode_Caches[opcode] > 0;
    }
}

/* An instruction that could not be specialised (PEP 659) counts how often it runs until it is tried again, and one that
 * could counts how often that did not fit: each time its code is written to. What the image's own code has become when
 * the image is made it stays. */
PyObject *settle(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    int specialised = n == 2 && PyCode_Check(args[0]) ? PyObject_IsTrue(args[1]) : -1;
    if (specialised < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "settle(code, specialised)");
        return NULL;
    }
    PyCodeObject *code = (PyCodeObject *)args[0];
    _Py_CODEUNIT *instructions = _PyCode_CODE(code);
    for (int i = 0; i < (int)Py_SIZE(code);) {
        int opcode = _Py_GetBaseOpcode(code, i);
        _Py_BackoffCounter *counter = &instructions[i + 1].counter;
        if (adapts(opcode) && (counter->backoff >= FAILURES || (specialised && counter->backoff == 0)))
            *counter = initial_unreachable_backoff_counter();
        i += 1 + _PyOpcode_Caches[opcode];
    }
    Py_RETURN_NONE;
}

/* A function that has been given other code has no version, and without one no call of it is ever specialised. The code
 * is that function's alone, so it gets the code's version, as a function has that a `def` makes. */
PyObject *give_version(PyObject *module, PyObject *function) {
    if (!PyFunction_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "give_version(function)");
        return NULL;
    }
    _PyFunction_SetVersion((PyFunctionObject *)function, ((PyCodeObject *)PyFunction_GET_CODE(function))->co_version);
    Py_RETURN_NONE;
}

/* Names that programs intern go to a table, and the image's own hundred thousand make that table so large that each new
 * name would write to another page of it. So the image's names move to the runtime's table of static strings, which is
 * looked at first and only read, and a run begins with an empty table of its own. Names stay the same objects. */
PyObject *set_interned_aside(PyObject *module, PyObject *unused) {
    PyObject **table = &_PyInterpreterState_GET()->cached_objects.interned_strings;
    PyObject *fresh = PyDict_New(), *name, *value;
    Py_ssize_t position = 0;
    if (!fresh) return NULL;
    while (PyDict_Next(*table, &position, &name, &value)) {
        if (!_Py_IsImmortal(name)) continue;
        ((PyASCIIObject *)name)->state.interned = SSTATE_INTERNED_IMMORTAL;
        if (_Py_hashtable_set(_PyRuntime.cached_objects.interned_strings, name, name) < 0) return PyErr_NoMemory();
    }
    position = 0;
    while (PyDict_Next(*table, &position, &name, &value))
        if (!_Py_IsImmortal(name) && PyDict_SetItem(fresh, name, value) < 0) return NULL;
    *table = fresh;
    Py_RETURN_NONE;
}
