/* Indices are numbers of 32 bits here, and what programs count with has 64. For numpy's own files. */
#ifndef PROOFBOX_INDICES_H
#define PROOFBOX_INDICES_H

/* 0 when all of an array of 64-bit integers could be indices; or -1, and an IndexError that names one that could not. */
static inline int indices_fit(PyArrayObject *array) {
    npy_intp size = PyArray_SIZE(array);
    if (PyArray_ISCARRAY_RO(array)) {
        const npy_int64 *index = (const npy_int64 *)PyArray_DATA(array);
        npy_int64 lost = 0;
        for (npy_intp i = 0; i < size; i++) lost |= index[i] ^ (npy_int32)index[i];
        if (!lost) return 0;
    }
    if (size == 0) return 0;
    for (int i = 0; i < 2; i++) {
        PyObject *most = i ? PyArray_Max(array, NPY_RAVEL_AXIS, NULL) : PyArray_Min(array, NPY_RAVEL_AXIS, NULL);
        PyObject *number = most ? PyNumber_Long(most) : NULL;
        long long value = number ? PyLong_AsLongLong(number) : -1;
        Py_XDECREF(most);
        Py_XDECREF(number);
        if (PyErr_Occurred()) return -1;
        if (value < NPY_MIN_INTP || value > NPY_MAX_INTP) {
            PyErr_Format(PyExc_IndexError, "index %lld is out of bounds", value);
            return -1;
        }
    }
    return 0;
}
#endif
