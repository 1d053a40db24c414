/* C code that waits without a timeout (what Python waits for is seen to before: threads.c) waits for itself: there is one
 * stack. libc's stub of this function traps, which would end the guest and with it a session. A pending call raises
 * instead, in the place that CPython's lock code hands back to when a wait was interrupted. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "threads.h"
#include <pthread.h>

static int raise_deadlock(void *unused) {
    (void)unused;
    threads_answer_as_main(0);
    PyErr_SetString(PyExc_RuntimeError, "deadlock: no other thread exists that could release this lock");
    return -1;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
    (void)condition, (void)mutex;
    threads_answer_as_main(1);
    Py_AddPendingCall(raise_deadlock, NULL);
    return 0;
}
