/* `object.__setattr__(mirror, name, value)`, and `type.__setattr__` of the class of one: what stands for an object of the other
 * interpreter has no attributes of its own, so these do to that object what an assignment would. All slot wrappers of one name
 * share the function that unpacks their arguments, and it can be replaced. */
#include "mirrors.h"

/* The metaclass of mirrors; NULL while there is none. */
static PyTypeObject *mirrors;
static wrapperfunc set_attribute, delete_attribute;

/* What is noted of a mirror here, and exceptions, whose changes are told otherwise (outgoing.py), are this interpreter's. */
static int is_passed_on(PyObject *o, PyObject *name) {
    if (!Py_IS_TYPE(Py_TYPE(o), mirrors) && !Py_IS_TYPE(o, mirrors)) return 0;
    if (PyExceptionInstance_Check(o) || !PyUnicode_Check(name)) return 0;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) PyErr_Clear();
    return !text || strncmp(text, "_proofbox_", 10);
}

static PyObject *hooked_set(PyObject *o, PyObject *args, void *wrapped) {
    if (PyTuple_GET_SIZE(args) != 2 || !is_passed_on(o, PyTuple_GET_ITEM(args, 0))) return set_attribute(o, args, wrapped);
    if (PyObject_SetAttr(o, PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1)) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *hooked_delete(PyObject *o, PyObject *args, void *wrapped) {
    if (PyTuple_GET_SIZE(args) != 1 || !is_passed_on(o, PyTuple_GET_ITEM(args, 0))) return delete_attribute(o, args, wrapped);
    if (PyObject_DelAttr(o, PyTuple_GET_ITEM(args, 0)) < 0) return NULL;
    Py_RETURN_NONE;
}

/* Puts `hooked` before the slot wrappers of that name; the function that was there. */
static wrapperfunc hook(const char *name, wrapperfunc hooked) {
    PyObject *wrapper = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, name);
    if (!wrapper || !Py_IS_TYPE(wrapper, &PyWrapperDescr_Type)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "%s of this CPython is not as mirrors.c expects it", name);
        Py_XDECREF(wrapper);
        return NULL;
    }
    struct wrapperbase *slot = ((PyWrapperDescrObject *)wrapper)->d_base;
    wrapperfunc original = slot->wrapper;
    slot->wrapper = hooked;
    Py_DECREF(wrapper);
    return original;
}

PyObject *mirrors_prepare(PyObject *module, PyObject *type) {
    if (mirrors) {
        PyErr_SetString(PyExc_SystemError, "there are mirrors already");
        return NULL;
    }
    mirrors = (PyTypeObject *)Py_NewRef(type);
    set_attribute = hook("__setattr__", hooked_set);
    delete_attribute = set_attribute ? hook("__delattr__", hooked_delete) : NULL;
    if (!delete_attribute) return NULL;
    Py_RETURN_NONE;
}

PyObject *mirrors_set_own(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyType_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "mirrors_set_own(class, name, value)");
        return NULL;
    }
    if (PyType_Type.tp_setattro(args[0], args[1], args[2]) < 0) return NULL;
    Py_RETURN_NONE;
}
