"""What numpy needs to run as part of a WebAssembly module, as (file, what is there once, what takes its place).

An element with a fourth part says how often `old` is there. What makes it faster is in faster.py."""

import faster

PATCHES = [
    # Large arrays are tried once more after a collection (python_patches.py).
    (
        "numpy/_core/src/multiarray/alloc.c",
        "    return _npy_alloc_cache(size, 1, NBUCKETS, datacache, &malloc);\n",
        "    return _npy_alloc_cache(size, 1, NBUCKETS, datacache, &_PyMem_CollectingMalloc);\n",
    ),
    (
        "numpy/_core/src/multiarray/alloc.c",
        "    p = calloc(nelem, elsize);\n",
        "    p = _PyMem_CollectingCalloc(nelem, elsize);\n",
    ),
    # A processor it does not know; any WebAssembly is like Emscripten's.
    (
        "numpy/_core/include/numpy/npy_cpu.h",
        "#elif defined(__EMSCRIPTEN__)\n",
        "#elif defined(__EMSCRIPTEN__) || defined(__wasm__)\n",
    ),
    # The default integer has 64 bits, as on any 64-bit machine. numpy ties it to the size of a pointer.
    (
        "numpy/_core/include/numpy/npy_2_compat.h",
        "    #define NPY_DEFAULT_INT NPY_INTP\n",
        "    #define NPY_DEFAULT_INT NPY_INT64\n",
    ),
    (
        "numpy/_core/src/multiarray/abstractdtypes.c",
        "    return PyArray_DescrFromType(NPY_INTP);\n}\n\nstatic PyArray_Descr *\ndiscover",
        "    return PyArray_DescrFromType(NPY_INT64);\n}\n\nstatic PyArray_Descr *\ndiscover",
    ),
    (
        "numpy/_core/src/multiarray/abstractdtypes.c",
        "        if (NPY_MIN_INTP <= value && value <= NPY_MAX_INTP) {\n"
        "            return PyArray_DescrFromType(NPY_INTP);\n        }\n",
        "",
    ),
    (
        "numpy/_core/src/multiarray/abstractdtypes.c",
        "return NPY_DT_NewRef(&PyArray_IntpDType);",
        "return NPY_DT_NewRef(&PyArray_DefaultIntDType);",
    ),
    (
        "numpy/_core/src/multiarray/abstractdtypes.c",
        "default_int = &PyArray_IntpDType;",
        "default_int = &PyArray_DefaultIntDType;",
    ),
    (
        "numpy/_core/src/multiarray/descriptor.c",
        "typ == &PyLong_Type) {\n        return PyArray_DescrFromType(NPY_INTP);",
        "typ == &PyLong_Type) {\n        return PyArray_DescrFromType(NPY_INT64);",
    ),
    (
        "numpy/_core/src/multiarray/ctors.c",
        "/* intentionally made to be at least NPY_LONG */\n        dtype = PyArray_DescrFromType(NPY_INTP);",
        "/* intentionally made to be at least NPY_LONG */\n        dtype = PyArray_DescrFromType(NPY_INT64);",
    ),
    (
        "numpy/_core/src/multiarray/convert_datatype.c",
        "default_dtype = PyArray_DescrNewFromType(NPY_INTP);",
        "default_dtype = PyArray_DescrNewFromType(NPY_INT64);",
    ),
    ("numpy/_core/src/umath/ufunc_object.c", "typenum = NPY_INTP;", "typenum = NPY_INT64;", 2),
    ("numpy/_core/src/umath/ufunc_object.c", "typenum = NPY_UINTP;", "typenum = NPY_UINT64;"),
    (
        "numpy/_core/src/umath/ufunc_object.c",
        "(size_t)PyArray_ITEMSIZE(arr) < sizeof(npy_intp)",
        "(size_t)PyArray_ITEMSIZE(arr) < sizeof(npy_int64)",
    ),
    (
        "numpy/_core/src/umath/ufunc_object.c",
        "descr_obj == (PyObject *)&PyLong_Type) {\n            descr = PyArray_DescrFromType(NPY_INTP);",
        "descr_obj == (PyObject *)&PyLong_Type) {\n            descr = PyArray_DescrFromType(NPY_INT64);",
    ),
    ("numpy/_core/_type_aliases.py", '"int_": "intp"', '"int_": "int64"'),
    ("numpy/_core/_type_aliases.py", '"uint": "uintp"', '"uint": "uint64"'),
    # RandomState draws C's `long`, which has 64 bits wherever its streams are known from.
    (
        "numpy/_core/include/numpy/random/distributions.h",
        "#define RAND_INT_TYPE long\n#define RAND_INT_MAX LONG_MAX\n",
        "#define RAND_INT_TYPE int64_t\n#define RAND_INT_MAX INT64_MAX\n",
    ),
    ("numpy/random/mtrand.pyx", "bitgen_t *bitgen_state, long n, long *mnix,", "bitgen_t *bitgen_state, int64_t n, int64_t *mnix,"),
    ("numpy/random/mtrand.pyx", "        return <long>x64\n    return x.astype('l', ", "        return <int64_t>x64\n    return x.astype('q', "),
    ("numpy/random/mtrand.pyx", 'np.dtype(dtype) if dtype is not int else np.dtype("long")', 'np.dtype(dtype) if dtype is not int else np.dtype("int64")'),
    ("numpy/random/mtrand.pyx", "np.long", "np.int64", 7),
    ("numpy/random/mtrand.pyx", "cdef long *", "cdef int64_t *", 2),
    ("numpy/random/mtrand.pyx", "cdef long ni\n", "cdef int64_t ni\n"),
    ("numpy/random/mtrand.pyx", "<long*>", "<int64_t*>", 2),
    ("numpy/random/mtrand.pyx", "<long *>", "<int64_t *>"),
    ("numpy/random/mtrand.pyx", "return <long>legacy_random_binomial", "return <int64_t>legacy_random_binomial"),
    ("numpy/random/mtrand.pyx", "def multinomial(self, long n,", "def multinomial(self, int64_t n,"),
    ("numpy/random/_common.pyx", "np.iinfo('l').max", "np.iinfo('q').max", 2),
    # Floating-point status: include/float_status.h.
    (
        "numpy/_core/src/umath/legacy_array_method.c",
        '#include "ufunc_type_resolution.h"\n',
        '#include "ufunc_type_resolution.h"\n#include <float_status.h>\n',
    ),
    (
        "numpy/_core/src/umath/legacy_array_method.c",
        "    int pyerr_check;\n} legacy_array_method_auxdata;\n",
        "    int pyerr_check;\n    status_plan status;\n} legacy_array_method_auxdata;\n",
    ),
    (
        "numpy/_core/src/umath/legacy_array_method.c",
        "/*\n * Signal that the old type-resolution function must be used",
        """\
/* The same, with the status of what it calculates. */
static int
status_wrapped_legacy_loop(PyArrayMethod_Context *NPY_UNUSED(context),
        char *const *data, const npy_intp *dimensions, const npy_intp *strides,
        NpyAuxData *auxdata)
{
    legacy_array_method_auxdata *ldata = (legacy_array_method_auxdata *)auxdata;

    status_run_loop(&ldata->status, (status_loop)ldata->loop, (char **)data,
            (const intptr_t *)dimensions, (const intptr_t *)strides, ldata->user_data);
    if (PyErr_Occurred()) {
        /* It was left half done: what it calculated says nothing. */
        feclearexcept(FE_ALL_EXCEPT);
        return -1;
    }
    return 0;
}

/*
 * Signal that the old type-resolution function must be used""",
    ),
    (
        "numpy/_core/src/umath/legacy_array_method.c",
        "        PyErr_NoMemory();\n        return -1;\n    }\n    return 0;\n}\n\n\n\n/*\n * We can shave off",
        """\
        PyErr_NoMemory();
        return -1;
    }
    int types[STATUS_OPERANDS];
    for (int i = 0; i < ufunc->nargs && i < STATUS_OPERANDS; i++) {
        types[i] = context->descriptors[i]->type_num;
    }
    if (status_plan_loop(&((legacy_array_method_auxdata *)*out_transferdata)->status,
            ufunc->name, ufunc->nin, ufunc->nout, types, ufunc->core_enabled)) {
        *out_loop = &status_wrapped_legacy_loop;
    }
    return 0;
}



/*
 * We can shave off""",
    ),
    (
        "numpy/_core/src/umath/extobj.c",
        "        *errmask = extobj.errmask;\n",
        "        *errmask = extobj.errmask;\n        status_watch_underflow = (extobj.errmask & UFUNC_MASK_UNDERFLOW) != 0;\n",
    ),
    (
        "numpy/_core/src/umath/extobj.c",
        '#include "numpy/ufuncobject.h"\n',
        '#include "numpy/ufuncobject.h"\n#include <float_status.h>\n',
    ),
    (
        "numpy/_core/src/umath/scalarmath.c.src",
        '#include "numpy/npy_math.h"\n',
        '#include "numpy/npy_math.h"\n#include <float_status.h>\n',
    ),
    (
        "numpy/_core/src/umath/scalarmath.c.src",
        """\
#if @fperr@
    /* Check status flag.  If it is set, then look up what to do */
    retstatus |= npy_get_floatstatus_barrier((char*)&out);
""",
        """\
#if @fperr@
    status_scalar("@oper@", NPY_@NAME@, &arg1, &arg2, &out);
#if @twoout@
    status_scalar("remainder", NPY_@NAME@, &arg1, &arg2, &out2);
#endif
    /* Check status flag.  If it is set, then look up what to do */
    retstatus |= npy_get_floatstatus_barrier((char*)&out);
""",
    ),
    (
        "numpy/_core/src/umath/scalarmath.c.src",
        "    npy_float64 out = arg1 / arg2;\n",
        '    npy_float64 out = arg1 / arg2;\n    status_scalar("true_divide", NPY_DOUBLE, &arg1, &arg2, &out);\n',
    ),
    (
        "numpy/_core/src/umath/scalarmath.c.src",
        "#if !@isint@\n    /* Check status flag.",
        '#if !@isint@\n    status_scalar("power", NPY_@NAME@, &arg1, &arg2, &out);\n    /* Check status flag.',
    ),
    (
        "numpy/_core/src/multiarray/lowlevel_strided_loops.c.src",
        "#    define _CONVERT_FN(x) ((_TYPE2)npy_half_to_float(x))\n",
        """\
#    if STATUS_IS_INT_@NAME2@
#      define _CONVERT_FN(x) STATUS_TO_@NAME2@(npy_half_to_float(x))
#    else
#      define _CONVERT_FN(x) ((_TYPE2)npy_half_to_float(x))
#    endif
""",
    ),
    (
        "numpy/_core/src/multiarray/lowlevel_strided_loops.c.src",
        "#    define _CONVERT_FN(x) ((npy_bool)(x != 0))\n#  else\n",
        """\
#    define _CONVERT_FN(x) ((npy_bool)(x != 0))
#  elif STATUS_IS_REAL_@NAME1@ && (STATUS_IS_INT_@NAME2@ || (STATUS_IS_REAL_@NAME2@ && STATUS_IS_REAL_@NAME2@ < STATUS_IS_REAL_@NAME1@))
#    define _CONVERT_FN(x) STATUS_TO_@NAME2@(x)
#  else
""",
    ),
    (
        "numpy/_core/src/multiarray/lowlevel_strided_loops.c.src",
        "/************* STRIDED CASTING SPECIALIZED FUNCTIONS *************/\n",
        "/************* STRIDED CASTING SPECIALIZED FUNCTIONS *************/\n#include <float_status.h>\n",
    ),
    # Without threads there is no interpreter lock to give back.
    (
        "numpy/_core/src/multiarray/unique.cpp",
        """\
    PyThreadState *_save;
    _save = PyEval_SaveThread();
    // Making sure the GIL is re-acquired when the function returns, with
    // or w/o an exception
    auto grab_gil = finally([&]() { PyEval_RestoreThread(_save); });
""",
        "",
    ),
    # C++ exceptions: include/reserve.h.
    (
        "numpy/fft/_pocketfft_umath.cpp",
        "    try {\n        cpp_ufunc(args, dimensions, steps, func);\n",
        """\
    // Plans, their factors and copies of the data. Lengths with large prime factors are reduced to others of twice as much.
    size_t longest = dimensions[1] > dimensions[2] ? dimensions[1] : dimensions[2], rest = longest;
    for (size_t factor : {2, 3, 5, 7, 11}) {
        while (rest > 1 && rest % factor == 0) {
            rest /= factor;
        }
    }
    size_t room = rest > 1 ? 512 : 128;
    if (longest > SIZE_MAX / 512 || !reserve(longest * room + 65536)) {
        PyErr_NoMemory();
        return;
    }
    try {
        cpp_ufunc(args, dimensions, steps, func);
""",
    ),
    (
        "numpy/fft/_pocketfft_umath.cpp",
        '#include "pocketfft/pocketfft_hdronly.h"\n',
        '#include "pocketfft/pocketfft_hdronly.h"\n#include <reserve.h>\n',
    ),
    # Sizes that only 64 bits can count fail as they do there, for want of memory.
    (
        "numpy/_core/src/multiarray/ctors.c",
        "            if (npy_mul_sizes_with_overflow(&nbytes, nbytes, fa->dimensions[i])) {\n",
        """\
            if (npy_mul_sizes_with_overflow(&nbytes, nbytes, fa->dimensions[i])) {
                double bytes = (double)descr->elsize;
                for (int j = 0; j < nd; j++) {
                    bytes *= dims[j] > 0 ? (double)dims[j] : 1;
                }
                if (bytes < 0x1p63) {
                    raise_memory_error(nd, dims, descr);
                    goto fail;
                }
""",
    ),
    (
        "numpy/_core/src/multiarray/ctors.c",
        "        if (PyErr_GivenExceptionMatches(err, PyExc_OverflowError)) {\n            PyErr_SetString(PyExc_ValueError, \"Maximum allowed size exceeded\");\n",
        """\
        if (PyErr_GivenExceptionMatches(err, PyExc_OverflowError)) {
            PyErr_Clear();
            double size = (PyFloat_AsDouble(stop) - PyFloat_AsDouble(start)) / (step ? PyFloat_AsDouble(step) : 1);
            if (!PyErr_Occurred() && size > 0 && size < 0x1p60) {
                PyErr_SetString(PyExc_MemoryError, "Unable to allocate an array of so many numbers");
                goto fail;
            }
            PyErr_SetString(PyExc_ValueError, "Maximum allowed size exceeded");
""",
    ),
    (
        "numpy/_core/src/multiarray/conversion_utils.c",
        "            PyErr_SetString(PyExc_ValueError,\n                    \"Maximum allowed dimension exceeded\");\n",
        """\
            PyErr_Clear();
            PyObject *index = PyNumber_Index(ob);
            long long dimension = index ? PyLong_AsLongLong(index) : -1;
            Py_XDECREF(index);
            if (!PyErr_Occurred() && dimension > 0) {
                PyErr_Format(PyExc_MemoryError, "Unable to allocate an array with a dimension of %lld", dimension);
                return -1;
            }
            PyErr_SetString(PyExc_ValueError,
                    "Maximum allowed dimension exceeded");
""",
    ),
    # Integers that stay within 32 bits are as good as indices as those that must.
    (
        "numpy/_core/src/multiarray/ctors.c",
        "    /* Raise an error if the casting rule isn't followed */\n    if (!PyArray_CanCastArrayTo(arr, newtype, casting)) {\n",
        """\
    if (newtype->type_num == NPY_INTP && oldtype->type_num == NPY_LONGLONG && casting == NPY_SAFE_CASTING) {
        if (indices_fit(arr) < 0) {
            Py_DECREF(newtype);
            return NULL;
        }
        casting = NPY_SAME_KIND_CASTING;
    }

    /* Raise an error if the casting rule isn't followed */
    if (!PyArray_CanCastArrayTo(arr, newtype, casting)) {
""",
    ),
    (
        "numpy/_core/src/multiarray/ctors.c",
        '#include "numpy/npy_math.h"\n',
        '#include "numpy/npy_math.h"\n#include <indices.h>\n',
    ),
    (
        "numpy/_core/src/multiarray/mapping.c",
        "        else if (PyArray_ISINTEGER(arr)) {\n            if (PyArray_NDIM(arr) == 0) {\n",
        """\
        else if (PyArray_ISINTEGER(arr)) {
            if (PyArray_NDIM(arr) > 0 && PyArray_TYPE(arr) == NPY_LONGLONG && indices_fit(arr) < 0) {
                Py_DECREF(arr);
                goto failed_building_indices;
            }
            if (PyArray_NDIM(arr) == 0) {
""",
    ),
    (
        "numpy/_core/src/multiarray/mapping.c",
        '#include "numpy/arrayobject.h"\n',
        '#include "numpy/arrayobject.h"\n#include <indices.h>\n',
    ),
    # What is called with another number of arguments than it has ends a WebAssembly module.
    (
        "numpy/_core/src/multiarray/array_converter.c",
        "array_converter_get_scalar_input(PyArrayArrayConverterObject *self)",
        "array_converter_get_scalar_input(PyArrayArrayConverterObject *self, void *NPY_UNUSED(closure))",
    ),
    (
        "numpy/_core/src/multiarray/array_method.c",
        "boundarraymethod__supports_unaligned(PyBoundArrayMethodObject *self)",
        "boundarraymethod__supports_unaligned(PyBoundArrayMethodObject *self, void *NPY_UNUSED(closure))",
    ),
    (
        "numpy/_core/src/multiarray/multiarraymodule.c",
        "(PyCFunction)_get_castingimpl,\n        METH_VARARGS | METH_KEYWORDS, NULL}",
        "(PyCFunction)_get_castingimpl,\n        METH_VARARGS, NULL}",
    ),
    (
        "numpy/_core/src/umath/_scaled_float_dtype.c",
        "sfloat___reduce__(PyArray_SFloatDescr *self)",
        "sfloat___reduce__(PyArray_SFloatDescr *self, PyObject *NPY_UNUSED(arguments))",
    ),
    (
        "numpy/_core/src/multiarray/_multiarray_tests.c.src",
        "(PyCFunction)printf_float_g,\n        METH_VARARGS , NULL}",
        "(PyCFunction)printf_float_g,\n        METH_VARARGS | METH_KEYWORDS, NULL}",
    ),
    # Results of string functions are default integers.
    ("numpy/_core/src/umath/string_ufuncs.cpp", "*(npy_intp *)out = ", "*(npy_int64 *)out = ", 3),
    ("numpy/_core/src/umath/stringdtype_ufuncs.cpp", "*(npy_intp *)out = pos;", "*(npy_int64 *)out = pos;"),
    # Files are used by their descriptor, which WASI can't duplicate: include/file_handle.h.
    (
        "numpy/_core/include/numpy/npy_3kcompat.h",
        """\
    os = PyImport_ImportModule("os");
    if (os == NULL) {
        return NULL;
    }
    ret = PyObject_CallMethod(os, "dup", "i", fd);
    Py_DECREF(os);
    if (ret == NULL) {
        return NULL;
    }
    fd2_tmp = PyNumber_AsSsize_t(ret, PyExc_IOError);
    Py_DECREF(ret);
    if (fd2_tmp == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (fd2_tmp < INT_MIN || fd2_tmp > INT_MAX) {
        PyErr_SetString(PyExc_IOError,
                        "Getting an 'int' from os.dup() failed");
        return NULL;
    }
    fd2 = (int)fd2_tmp;
""",
        "    fd2 = fd;\n    (void)os;\n    (void)fd2_tmp;\n",
    ),
    ("numpy/_core/include/numpy/npy_3kcompat.h", "    handle = fdopen(fd2, mode);\n", "    handle = file_handle(fd2, mode);\n"),
    ("numpy/_core/include/numpy/npy_3kcompat.h", "fclose(handle);", "fflush(handle);", 7),
    (
        "numpy/_core/include/numpy/npy_3kcompat.h",
        "static inline FILE*\nnpy_PyFile_Dup2(",
        "FILE *file_handle(int descriptor, const char *mode);\n\nstatic inline FILE*\nnpy_PyFile_Dup2(",
    ),
    # The size of a pointer is not that of an integer.
    ("numpy/_array_api_info.py", '"integral": dtype(intp)', '"integral": dtype("int64")'),
    ("numpy/_core/arrayprint.py", "options['legacy'] = sys.maxsize", "options['legacy'] = 2**31 - 1", 2),
    ("numpy/_core/arrayprint.py", "sys.maxsize: False", "2**31 - 1: False"),
    ("numpy/_core/printoptions.py", "'legacy': sys.maxsize,", "'legacy': 2**31 - 1,"),
]


def apply(tree):
    """Changes the files below `tree`; a ValueError names the one that is not as this list expects it."""
    for file, old, new, *count in [*PATCHES, *faster.PATCHES]:
        path = tree / file
        text = path.read_text()
        if text.count(old) != (count[0] if count else 1):
            raise ValueError(f"{file} of this numpy is not as the changes to it expect ({old.strip()[:60]!r})")
        path.write_text(text.replace(old, new))
