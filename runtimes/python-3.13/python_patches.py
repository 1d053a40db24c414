"""What CPython's sources need to behave here as on a 64-bit machine, as (file, what is there once, what takes its place).

An element with a fourth part says how often `old` is there. None alters the branches of a function that the profile
(profile/README.md) knows: what is added is a function of its own, not inlined."""

import re

from sources import BuildError

# Sizes that only a 64-bit machine could try to allocate fail as they fail there: with MemoryError. As an index, such a
# number is just out of range.
SIZE_ERROR = """\
static __attribute__((noinline)) Py_ssize_t
size_beyond(PyThreadState *tstate, PyObject *err, PyObject *value, PyObject *item)
{
    int overflow;
    long long size = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (err == PyExc_IndexError && !overflow) {
        return size < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX;
    }
    if (err == PyExc_OverflowError && !overflow && size > 0) {
        err = PyExc_MemoryError;
    }
    _PyErr_Format(tstate, err, "cannot fit '%.200s' into an index-sized integer", Py_TYPE(item)->tp_name);
    return -1;
}

"""

# Arguments that are only bounds (how many at most, up to where) may be as large as sys.maxsize, which is that of 64 bits.
BOUND_DECLARATIONS = """\

/* An argument that is only a bound: what needs 64 bits is clamped to the largest size there is. */
PyAPI_FUNC(Py_ssize_t) _PyLong_AsBound(PyObject *);
PyAPI_FUNC(Py_ssize_t) _PyNumber_AsBound(PyObject *);
/* The way back: the largest size is shown as sys.maxsize. */
PyAPI_FUNC(PyObject *) _PyLong_FromBound(Py_ssize_t);
"""
BOUNDS = """\
Py_ssize_t
_PyLong_AsBound(PyObject *value)
{
    Py_ssize_t size = PyLong_AsSsize_t(value);
    if (size != -1 || !PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return size;
    }
    int overflow;
    long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
        return -1;
    }
    PyErr_Clear();
    return wide < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX;
}

Py_ssize_t
_PyNumber_AsBound(PyObject *item)
{
    PyObject *value = _PyNumber_Index(item);
    if (value == NULL) {
        return -1;
    }
    Py_ssize_t size = _PyLong_AsBound(value);
    Py_DECREF(value);
    return size;
}

PyObject *
_PyLong_FromBound(Py_ssize_t size)
{
    return size == PY_SSIZE_T_MAX ? PyLong_FromLongLong(INT64_MAX) : PyLong_FromSsize_t(size);
}

"""

# A large allocation that fails is tried once more after a collection: what lies in reference cycles may be most of the
# memory. Only where an object or a buffer is made that nobody has seen yet, as finalizers run meanwhile.
COLLECTING_DECLARATIONS = """\

/* Whether a failed allocation of that size is worth another attempt: garbage has been collected, and until
   _PyMem_EndRetry there is no further attempt. */
PyAPI_FUNC(int) _PyMem_BeginRetry(size_t size);
PyAPI_FUNC(void) _PyMem_EndRetry(void);
/* malloc and calloc with such an attempt. */
PyAPI_FUNC(void *) _PyMem_CollectingMalloc(size_t size);
PyAPI_FUNC(void *) _PyMem_CollectingCalloc(size_t count, size_t size);
"""
COLLECTING = """\

#define WORTH_COLLECTING 65536
static int collecting_for_memory;

int
_PyMem_BeginRetry(size_t size)
{
    if (size < WORTH_COLLECTING || collecting_for_memory || !Py_IsInitialized()) {
        return 0;
    }
    collecting_for_memory = 1;
    PyGILState_STATE state = PyGILState_Ensure();
    PyGC_Collect();
    PyGILState_Release(state);
    return 1;
}

void
_PyMem_EndRetry(void)
{
    collecting_for_memory = 0;
}

void *
_PyMem_CollectingMalloc(size_t size)
{
    void *p = malloc(size);
    if (p == NULL && _PyMem_BeginRetry(size)) {
        p = malloc(size);
        _PyMem_EndRetry();
    }
    return p;
}

void *
_PyMem_CollectingCalloc(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p == NULL && (size == 0 || count <= PY_SSIZE_T_MAX / size) && _PyMem_BeginRetry(count * size)) {
        p = calloc(count, size);
        _PyMem_EndRetry();
    }
    return p;
}
"""
BYTES_AFTER_COLLECTION = """\
static PyObject *_PyBytes_FromSize(Py_ssize_t size, int use_calloc);

static __attribute__((noinline)) PyObject *
bytes_after_collection(Py_ssize_t size, int use_calloc)
{
    if (!_PyMem_BeginRetry((size_t)size)) {
        return PyErr_NoMemory();
    }
    PyObject *result = _PyBytes_FromSize(size, use_calloc);
    _PyMem_EndRetry();
    return result;
}

"""
REPEATED_AFTER_COLLECTION = """\
static PyObject *bytes_repeat(PyBytesObject *a, Py_ssize_t n);

static __attribute__((noinline)) PyObject *
repeated_after_collection(PyBytesObject *a, Py_ssize_t n)
{
    if (!_PyMem_BeginRetry((size_t)Py_SIZE(a) * (size_t)n)) {
        return PyErr_NoMemory();
    }
    PyObject *result = bytes_repeat(a, n);
    _PyMem_EndRetry();
    return result;
}

"""
TEXT_AFTER_COLLECTION = """\
static __attribute__((noinline)) PyObject *
text_after_collection(Py_ssize_t size, Py_UCS4 maxchar)
{
    if (!_PyMem_BeginRetry((size_t)size)) {
        return PyErr_NoMemory();
    }
    PyObject *result = PyUnicode_New(size, maxchar);
    _PyMem_EndRetry();
    return result;
}

"""

# WASI's files have no permission bits (guest/modes.c).
MODE_DECLARATION = """\
#ifdef __wasi__
extern mode_t proofbox_mode(const STRUCT_STAT *st);
#else
#  define proofbox_mode(st) ((st)->st_mode)
#endif

"""

PATCHES = [
    # CPython's two recursion limits on WASI are ours to set.
    (
        "Include/cpython/pystate.h",
        "#elif defined(__wasi__)\n   // Based on wasmtime 16.\n#  define Py_C_RECURSION_LIMIT 5000\n",
        "#elif defined(__wasi__)\n#  define Py_C_RECURSION_LIMIT PROOFBOX_C_RECURSION_LIMIT\n",
    ),
    ("Parser/parser.c", "#    define MAXSTACK 4000\n", "#    define MAXSTACK PROOFBOX_PARSER_DEPTH\n"),
    # Sizes.
    ("Objects/abstract.c", "Py_ssize_t\nPyNumber_AsSsize_t(PyObject *item", SIZE_ERROR + "Py_ssize_t\nPyNumber_AsSsize_t(PyObject *item"),
    (
        "Objects/abstract.c",
        "_PyErr_Format(tstate, err,\n                      \"cannot fit '%.200s' into an index-sized integer\",\n"
        "                      Py_TYPE(item)->tp_name);",
        "result = size_beyond(tstate, err, value, item);",
    ),
    (
        "Include/cpython/longobject.h",
        "/* For use by the gcd function in mathmodule.c */\nPyAPI_FUNC(PyObject *) _PyLong_GCD(PyObject *, PyObject *);\n",
        "/* For use by the gcd function in mathmodule.c */\nPyAPI_FUNC(PyObject *) _PyLong_GCD(PyObject *, PyObject *);\n"
        + BOUND_DECLARATIONS,
    ),
    (
        "Objects/longobject.c",
        "/* Get a C unsigned long int from an int object.\n   Returns -1 and sets an error condition if overflow occurs. */\n",
        BOUNDS + "/* Get a C unsigned long int from an int object.\n   Returns -1 and sets an error condition if overflow occurs. */\n",
    ),
    ("Python/getargs.c", "ival = PyLong_AsSsize_t(iobj);", "ival = _PyLong_AsBound(iobj);"),
    ("Python/modsupport.c", "limit = PyNumber_AsSsize_t(obj, PyExc_OverflowError);", "limit = _PyNumber_AsBound(obj);"),
    ("Modules/itertoolsmodule.c", "start = PyNumber_AsSsize_t(a1, PyExc_OverflowError);", "start = _PyNumber_AsBound(a1);"),
    ("Modules/itertoolsmodule.c", "stop = PyNumber_AsSsize_t(a1, PyExc_OverflowError);", "stop = _PyNumber_AsBound(a1);"),
    ("Modules/itertoolsmodule.c", "stop = PyNumber_AsSsize_t(a2, PyExc_OverflowError);", "stop = _PyNumber_AsBound(a2);"),
    ("Modules/itertoolsmodule.c", "step = PyNumber_AsSsize_t(a3, PyExc_OverflowError);", "step = _PyNumber_AsBound(a3);"),
    ("Modules/itertoolsmodule.c", "r = PyLong_AsSsize_t(robj);", "r = _PyLong_AsBound(robj);"),
    (
        "Modules/_functoolsmodule.c",
        "maxsize = PyNumber_AsSsize_t(maxsize_O, PyExc_OverflowError);",
        "maxsize = _PyNumber_AsBound(maxsize_O);",
    ),
    (
        "Modules/_functoolsmodule.c",
        'cache_info_type, "nnnn",\n                                 _self->hits, _self->misses, _self->maxsize,\n',
        'cache_info_type, "nnNn",\n                                 _self->hits, _self->misses, _PyLong_FromBound(_self->maxsize),\n',
    ),
    ("Modules/_collectionsmodule.c", "maxlen = PyLong_AsSsize_t(maxlenobj);", "maxlen = _PyLong_AsBound(maxlenobj);"),
    ("Modules/_collectionsmodule.c", "PyLong_FromSsize_t(deque->maxlen)", "_PyLong_FromBound(deque->maxlen)"),
    ("Modules/_csv.c", "PyLong_AsSsize_t(new_limit)", "_PyLong_AsBound(new_limit)"),
    ("Modules/_csv.c", "PyLong_FromSsize_t(old_limit)", "_PyLong_FromBound(old_limit)"),
    ("Modules/_io/bytesio.c", "maxsize = PyLong_AsSsize_t(arg);", "maxsize = _PyLong_AsBound(arg);"),
    # How much a text file reads at once is a hint: it reads on where that is not enough.
    (
        "Modules/_io/textio.c",
        "        size_hint = (Py_ssize_t)(Py_MAX(self->b2cratio, 1.0) * size_hint);",
        "        size_hint = (Py_ssize_t)(Py_MAX(self->b2cratio, 1.0) * Py_MIN(size_hint, 1 << 20));",
    ),
    ("Modules/cjkcodecs/multibytecodec.c", "size = PyLong_AsSsize_t(sizeobj);", "size = _PyLong_AsBound(sizeobj);", 2),
    ("Modules/cjkcodecs/multibytecodec.c", "PyLong_AsSsize_t(sizehintobj)", "_PyLong_AsBound(sizehintobj)"),
    # Memory.
    ("Include/cpython/pymem.h", "typedef enum {\n    /* PyMem_RawMalloc()", COLLECTING_DECLARATIONS.lstrip("\n") + "\ntypedef enum {\n    /* PyMem_RawMalloc()"),
    (
        "Objects/bytesobject.c",
        "static PyObject *\n_PyBytes_FromSize(Py_ssize_t size, int use_calloc)\n",
        BYTES_AFTER_COLLECTION + "static PyObject *\n_PyBytes_FromSize(Py_ssize_t size, int use_calloc)\n",
    ),
    (
        "Objects/bytesobject.c",
        "        op = (PyBytesObject *)PyObject_Malloc(PyBytesObject_SIZE + size);\n    if (op == NULL) {\n        return PyErr_NoMemory();\n",
        "        op = (PyBytesObject *)PyObject_Malloc(PyBytesObject_SIZE + size);\n    if (op == NULL) {\n"
        "        return bytes_after_collection(size, use_calloc);\n",
    ),
    (
        "Objects/bytesobject.c",
        "static PyObject *\nbytes_repeat(PyBytesObject *a, Py_ssize_t n)\n",
        REPEATED_AFTER_COLLECTION + "static PyObject *\nbytes_repeat(PyBytesObject *a, Py_ssize_t n)\n",
    ),
    (
        "Objects/bytesobject.c",
        "    op = (PyBytesObject *)PyObject_Malloc(PyBytesObject_SIZE + nbytes);\n    if (op == NULL) {\n        return PyErr_NoMemory();\n",
        "    op = (PyBytesObject *)PyObject_Malloc(PyBytesObject_SIZE + nbytes);\n    if (op == NULL) {\n"
        "        return repeated_after_collection(a, n);\n",
    ),
    (
        "Objects/unicodeobject.c",
        "PyObject *\nPyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)\n",
        TEXT_AFTER_COLLECTION + "PyObject *\nPyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)\n",
    ),
    (
        "Objects/unicodeobject.c",
        "    obj = (PyObject *) PyObject_Malloc(struct_size + (size + 1) * char_size);\n    if (obj == NULL) {\n        return PyErr_NoMemory();\n",
        "    obj = (PyObject *) PyObject_Malloc(struct_size + (size + 1) * char_size);\n    if (obj == NULL) {\n"
        "        return text_after_collection(size, maxchar);\n",
    ),
    ("Modules/_lzmamodule.c", "return PyMem_RawMalloc(items * size);", "return _PyMem_CollectingMalloc(items * size);"),
    ("Modules/_lzmamodule.c", "PyMem_RawFree(ptr);", "free(ptr);"),
    # Files.
    (
        "Modules/posixmodule.c",
        "static PyObject*\n_pystat_fromstructstat(PyObject *module, STRUCT_STAT *st)\n",
        MODE_DECLARATION + "static PyObject*\n_pystat_fromstructstat(PyObject *module, STRUCT_STAT *st)\n",
    ),
    ("Modules/posixmodule.c", "SET_ITEM(0, PyLong_FromLong((long)st->st_mode));", "SET_ITEM(0, PyLong_FromLong((long)proofbox_mode(st)));"),
    # Where there is no memory for the number of an instruction, which some handlers want, CPython looks for the handler of
    # that error, which is the same one, for ever. The frame ends instead.
    ("Python/ceval.c", "                // No handlers, so exit.\n", "                // No handlers, so exit.\nunhandled:\n"),
    (
        "Python/ceval.c",
        "                if (lasti == NULL) {\n                    goto exception_unwind;\n",
        "                if (lasti == NULL) {\n                    goto unhandled;\n",
    ),
    # Versions of dicts, which nobody reads (PEP 699): each change of one wrote to the dict, and to a counter.
    ("Include/internal/pycore_dict.h", "    ((INTERP)->dict_state.global_version += DICT_VERSION_INCREMENT)\n", "    ((void)(INTERP), 0)\n"),
    (
        "Include/internal/pycore_dict.h",
        "    return DICT_NEXT_VERSION(interp) | (mp->ma_version_tag & DICT_WATCHER_AND_MODIFICATION_MASK);",
        "    return 0;",
    ),
    ("Objects/dictobject.c", "mp->ma_version_tag = new_version;", "", 8),
    ("Objects/dictobject.c", "self->ma_version_tag = new_version;", ""),
    ("Python/generated_cases.c.h", "dict->ma_version_tag = new_version; // PEP 509", ""),
    # The instructions of a function: few have as many as there was room for, and what there is room for is cleared.
    ("Python/instruction_sequence.c", "#define INITIAL_INSTR_SEQUENCE_SIZE 100\n", "#define INITIAL_INSTR_SEQUENCE_SIZE 32\n"),
    # There are no threads, as with CPython's own build for WASI.
    (
        "Python/thread.c",
        "#   if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)\n#     define PYTHREAD_NAME",
        "#   if defined(__wasi__) || defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)\n#     define PYTHREAD_NAME",
    ),
]
# Added at the end of a file.
ADDED = {"Objects/obmalloc.c": COLLECTING}
# Arguments that Argument Clinic converts: all are bounds or indices, but for these, which say how far or what.
CLINIC = "ival = PyLong_AsSsize_t(iobj);"
NO_BOUNDS = {
    "Modules/_io/clinic/bytesio.c.h": "BytesIO_seek",
    "Modules/_io/clinic/stringio.c.h": "StringIO_seek",
    "Modules/clinic/_collectionsmodule.c.h": "deque_rotate",
    "Modules/clinic/_operator.c.h": "_operator_length_hint",
    "Objects/clinic/longobject.c.h": "int_to_bytes",
}


def patch_python(python):
    """Applies all of them to the sources in a directory."""

    def unexpected(file):
        return BuildError(f"{file} of this CPython is not as python_patches.py expects it; adapt it to the version")

    for file, old, new, *count in PATCHES:
        path = python / file
        text = path.read_text()
        if text.count(old) != (count[0] if count else 1):
            raise unexpected(file)
        path.write_text(text.replace(old, new))
    for file, added in ADDED.items():
        path = python / file
        path.write_text(path.read_text() + added)
    left = set(NO_BOUNDS)
    for path in sorted(path for folder in ("Modules", "Objects", "Python") for path in (python / folder).rglob("clinic/*.h")):
        text = path.read_text()
        if CLINIC not in text:
            continue
        file = path.relative_to(python).as_posix()
        # Each function's part begins with its documentation.
        parts = re.split(r"(?=^PyDoc_STRVAR\()", text, flags=re.MULTILINE)
        kept = NO_BOUNDS.get(file)
        if kept:
            if sum(f"{kept}__doc__" in part and CLINIC in part for part in parts) != 1:
                raise unexpected(file)
            left.discard(file)
        path.write_text("".join(
            part if kept and f"{kept}__doc__" in part else part.replace(CLINIC, "ival = _PyLong_AsBound(iobj);") for part in parts
        ))
    if left:
        raise unexpected(left.pop())
