/* Stacks of Python frames, one a thread, and the change from one to another (threads.c). */
#pragma once
#include <Python.h>

PyObject *threads_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *threads_begin(PyObject *module, PyObject *home);
PyObject *threads_end(PyObject *module, PyObject *unused);
PyObject *threads_can_run(PyObject *module, PyObject *number);
PyObject *threads_open(PyObject *module, PyObject *unused);
PyObject *threads_adopt(PyObject *module, PyObject *unused);
PyObject *threads_leave(PyObject *module, PyObject *number);
PyObject *threads_arrive(PyObject *module, PyObject *unused);
PyObject *threads_identify(PyObject *module, PyObject *ident);
PyObject *threads_forget(PyObject *module, PyObject *unused);
PyObject *threads_guard(PyObject *module, PyObject *place);
PyObject *threads_at_home(PyObject *module, PyObject *unused);
PyObject *threads_interrupted(PyObject *module, PyObject *unused);
PyObject *threads_is_free(PyObject *module, PyObject *lock);
PyObject *threads_replace_method(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *threads_enter_context(PyObject *module, PyObject *context);
PyObject *threads_exit_context(PyObject *module, PyObject *context);

/* Until it is called with 0, the running thread counts as the main one, which alone carries out pending calls. */
void threads_answer_as_main(int answer);
