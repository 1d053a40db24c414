"""What CPython looks up by chains of loads and by indirect calls, with its place known when the module is linked.

Natively the state of the thread is one load away, and an indirect call costs as much as any other. In WebAssembly there is one
thread and one interpreter, whose states have addresses; and an indirect call takes some twenty instructions, which check where it
leads. docs/explanation/performance.md has what this gains.

All of it is in effect where `__wasi__` is defined; natively CPython stays as it is."""

from sources import BuildError

# The tracer of objects (tracemalloc's) still hears of all of them.
NEW_REFERENCE = """\
static inline void
_Py_NewReferenceInPlace(PyObject *op)
{
#ifdef __wasi__
    if (__builtin_expect(_PyRuntime.ref_tracer.tracer_func == NULL, 1)) {
        op->ob_refcnt = 1;
        return;
    }
#endif
    _Py_NewReference(op);
}

"""

# The deallocators of the commonest types, in place but for what is rare.
KNOWN_TYPES = """\
#ifdef __wasi__
    if (type == &PyUnicode_Type) {
        const PyASCIIObject *text = (PyASCIIObject *)op;
        if (text->state.compact && text->state.ascii && !text->state.interned && !text->state.statically_allocated) {
            PyObject_Free(op);
            return;
        }
        _PyUnicode_ExactDealloc(op);
        return;
    }
    if (type == &PyLong_Type && (size_t)((char *)op - (char *)_PyLong_SMALL_INTS) >= sizeof(_PyLong_SMALL_INTS)) {
        PyObject_Free(op);
        return;
    }
    if (type == &PyFloat_Type) {
        struct _Py_float_freelist *floats = &_Py_object_freelists_GET()->floats;
        if (floats->numfree >= 0 && floats->numfree < PyFloat_MAXFREELIST) {
            floats->numfree++;
            Py_SET_TYPE(op, (PyTypeObject *)floats->items);
            floats->items = (PyFloatObject *)op;
            return;
        }
        PyObject_Free(op);
        return;
    }
#endif
    (*dealloc)(op);
"""

# A frame that nobody has asked for is cleared in place.
CLEAR_FRAME = """\
#ifdef __wasi__
static inline void
clear_frame(_PyInterpreterFrame *frame)
{
    if (frame->frame_obj != NULL) {
        _PyFrame_ClearExceptCode(frame);
        return;
    }
    int stacktop = frame->stacktop;
    frame->stacktop = 0;
    for (int i = 0; i < stacktop; i++) {
        Py_XDECREF(frame->localsplus[i]);
    }
    PyObject *locals = frame->f_locals;
    if (locals != NULL) {
        frame->f_locals = NULL;
        Py_DECREF(locals);
    }
    Py_DECREF(frame->f_funcobj);
}

static inline void
pop_frame(PyThreadState *tstate, _PyInterpreterFrame *frame)
{
    if ((PyObject **)frame == &tstate->datastack_chunk->data[0]) {
        _PyThreadState_PopFrame(tstate, frame);
    }
    else {
        tstate->datastack_top = (PyObject **)frame;
    }
}
#else
#  define clear_frame _PyFrame_ClearExceptCode
#  define pop_frame _PyThreadState_PopFrame
#endif

"""


def allocator(name, arguments, domain, function, result=""):
    """A call of the allocator that is set, which is CPython's own unless somebody has set another."""
    old = f"    {result}{domain}.{name}({domain}.ctx, {arguments});\n"
    new = (
        "#ifdef __wasi__\n"
        f"    if ({domain}.{name} == {function}) {{\n        {result}{function}(NULL, {arguments});\n"
        + ("" if result else "        return;\n")
        + "    }\n#endif\n"
        + old
    )
    return "Objects/obmalloc.c", old, new


PATCHES = [
    (
        "Include/internal/pycore_pystate.h",
        "_PyThreadState_GET(void)\n{\n#if defined(HAVE_THREAD_LOCAL)",
        "_PyThreadState_GET(void)\n{\n#ifdef __wasi__\n    return &_PyRuntime._main_interpreter._initial_thread.base;\n#elif defined(HAVE_THREAD_LOCAL)",
    ),
    (
        "Include/internal/pycore_pystate.h",
        "static inline PyInterpreterState* _PyInterpreterState_GET(void) {\n",
        "static inline PyInterpreterState* _PyInterpreterState_GET(void) {\n#ifdef __wasi__\n    return &_PyRuntime._main_interpreter;\n#endif\n",
    ),
    (
        "Objects/obmalloc.c",
        "get_state(void)\n{\n",
        "get_state(void)\n{\n#ifdef __wasi__\n    return &obmalloc_state_main;\n#endif\n",
    ),
    allocator("malloc", "size", "_PyMem", "_PyObject_Malloc", "return "),
    allocator("realloc", "ptr, new_size", "_PyMem", "_PyObject_Realloc", "return "),
    allocator("free", "ptr", "_PyMem", "_PyObject_Free"),
    allocator("malloc", "size", "_PyObject", "_PyObject_Malloc", "return "),
    allocator("realloc", "ptr, new_size", "_PyObject", "_PyObject_Realloc", "return "),
    allocator("free", "ptr", "_PyObject", "_PyObject_Free"),
    # Objects that are made.
    ("Include/internal/pycore_object.h", "static inline void\n_PyObject_Init(PyObject *op", NEW_REFERENCE + "static inline void\n_PyObject_Init(PyObject *op"),
    ("Include/internal/pycore_object.h", "    Py_INCREF(typeobj);\n    _Py_NewReference(op);\n", "    Py_INCREF(typeobj);\n    _Py_NewReferenceInPlace(op);\n"),
    ("Objects/listobject.c", "_Py_NewReference((PyObject *)op)", "_Py_NewReferenceInPlace((PyObject *)op)"),
    ("Objects/tupleobject.c", "_Py_NewReference((PyObject *)op)", "_Py_NewReferenceInPlace((PyObject *)op)"),
    ("Objects/dictobject.c", "_Py_NewReference((PyObject *)mp)", "_Py_NewReferenceInPlace((PyObject *)mp)"),
    (
        "Include/internal/pycore_gc.h",
        "MAY_BE_TRACKED(PyObject *obj) {\n    if (!PyObject_IS_GC(obj)) {\n",
        "MAY_BE_TRACKED(PyObject *obj) {\n    if (!PyType_IS_GC(Py_TYPE(obj)) || !PyObject_IS_GC(obj)) {\n",
    ),
    # Objects that end.
    ("Objects/object.c", "    _PyReftracerTrack(op, PyRefTracer_DESTROY);\n    (*dealloc)(op);\n", "    _PyReftracerTrack(op, PyRefTracer_DESTROY);\n" + KNOWN_TYPES),
    (
        "Objects/longobject.c",
        "    Py_TYPE(self)->tp_free(self);\n}\n\nstatic Py_hash_t\nlong_hash(",
        "#ifdef __wasi__\n    if (PyLong_CheckExact(self)) {\n        PyObject_Free(self);\n        return;\n    }\n#endif\n"
        "    Py_TYPE(self)->tp_free(self);\n}\n\nstatic Py_hash_t\nlong_hash(",
    ),
    (
        "Objects/unicodeobject.c",
        "    Py_TYPE(unicode)->tp_free(unicode);\n}\n\n#ifdef Py_DEBUG\nstatic int\nunicode_is_singleton(",
        "#ifdef __wasi__\n    if (PyUnicode_CheckExact(unicode)) {\n        PyObject_Free(unicode);\n        return;\n    }\n#endif\n"
        "    Py_TYPE(unicode)->tp_free(unicode);\n}\n\n#ifdef Py_DEBUG\nstatic int\nunicode_is_singleton(",
    ),
    # Frames.
    ("Python/ceval.c", "static void\nclear_thread_frame(PyThreadState *tstate", CLEAR_FRAME + "static void\nclear_thread_frame(PyThreadState *tstate"),
    (
        "Python/ceval.c",
        "    _PyFrame_ClearExceptCode(frame);\n    Py_DECREF(frame->f_executable);\n    tstate->c_recursion_remaining++;\n    _PyThreadState_PopFrame(tstate, frame);\n",
        "    clear_frame(frame);\n    Py_DECREF(frame->f_executable);\n    tstate->c_recursion_remaining++;\n    pop_frame(tstate, frame);\n",
    ),
]


def apply(patches, python, by):
    """Replaces texts in the sources in a directory, each of which stands there once; `by` is the file that lists them."""
    for file, old, new in patches:
        path = python / file
        text = path.read_text()
        if text.count(old) != 1:
            raise BuildError(f"{file} of this CPython is not as {by} expects it at {old.strip()[:60]!r} ({text.count(old)}); adapt it to the version")
        path.write_text(text.replace(old, new))


def patch_state(python):
    """Applies all of them to the sources in a directory."""
    apply(PATCHES, python, "state_patches.py")
