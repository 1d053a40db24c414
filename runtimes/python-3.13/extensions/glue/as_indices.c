#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include "as_indices.h"
#include <numpy/arrayobject.h>
#include <indices.h>

PyObject *proofbox_as_indices(PyObject *object) {
    if (PyArray_API == NULL && _import_array() < 0) {
        PyErr_Clear();
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_TYPE(array) != NPY_INT64 || !PyArray_ISNOTSWAPPED(array)) return NULL;
    PyObject *indices = indices_fit(array) == 0 ? PyArray_NewLikeArray(array, NPY_KEEPORDER, PyArray_DescrFromType(NPY_INTP), 0) : NULL;
    if (indices && PyArray_CopyInto((PyArrayObject *)indices, array) < 0) Py_CLEAR(indices);
    PyErr_Clear();
    return indices;
}
