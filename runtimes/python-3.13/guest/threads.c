/* Threads where the machine has one stack, which can't be switched.
 *
 * A call from Python to Python takes no C stack: the eval loop goes on with the new frame, and on return with the frame
 * that `previous` names. So a thread whose frames are all Python's, back to its first one or to a guard, is nothing but
 * memory while it waits. To change threads, a function of Python (`_leave` in _proofbox_threads.py) has its own frame's
 * `previous` set to where the other thread waits, and returns. What a thread state holds of a thread is exchanged right
 * after (the fields are those that greenlet saves).
 *
 * Frames that a call from C made (a key function of `sorted`, the `__enter__` of a lock) belong to an eval loop on the C
 * stack, and may return to C only from there. Such a thread goes on when its loop is the topmost. Below a guard
 * (`guarded`) that does not count: who returns to the guard waits there until the topmost loop is the guard's own. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#include "threads.h"
#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_lock.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#include <internal/pycore_tstate.h>
#include <pthread.h>
#include <stdint.h>

#define MAX_STACKS 320
#define MAIN_IDENT 1
#define NOBODY 0x7fffffff

typedef _PyInterpreterFrame Frame;

typedef struct {
    Frame *frame;      /* the innermost one while the thread waits, else NULL */
    Frame *loop;       /* the entry frame of the eval loop that it has to go on in, or NULL if any will do */
    Frame *running_in; /* the loop in which it runs, if not that of its innermost entry frame or guard */
    int wants_home;
    int is_returning;  /* to a guard, and no exception may take it there too early */
    unsigned long ident;
    /* Fields of the thread state. */
    int depth, tracing, what_event, headroom, origin_tracking;
    Py_tracefunc profile, trace;
    PyObject *profile_object, *trace_object;
    _PyErr_StackItem *exc_info, exc_state;
    PyObject *dict, *async_exc, *firstiter, *finalizer, *context, *local_key, *local_sentinel, *running_loop;
    uint64_t id;
    _PyStackChunk *chunk;
    PyObject **top, **limit;
} Stack;

static Stack main_stack = {.ident = MAIN_IDENT}, *stacks[MAX_STACKS] = {&main_stack}, *current = &main_stack, *next;
static int stack_count = 1;
static uint64_t last_id = (uint64_t)1 << 40;
static Frame *top_loop;
static PyObject *guard, *contended, *empty; /* `guarded`; what is called for a lock that is taken, and for an empty queue */
static enum { STEADY, OPENING, LEAVING } phase;
static int choosing, as_main, told_of_interrupt;

/* ---------------------------------------------------------------- who runs */

void threads_answer_as_main(int answer) { as_main = answer; }

static int is_interrupted(void) { return _Py_atomic_load_int(&_PyRuntime.signals.is_tripped); }

/* CPython asks for it to know whose a lock is, and who may handle signals. Only the main thread may; another one is told
 * of an interrupt by an exception of its own. While a thread is chosen nobody may. */
pthread_t pthread_self(void) {
    if (as_main) return (pthread_t)(uintptr_t)MAIN_IDENT;
    if (phase != STEADY || choosing || current->is_returning) return (pthread_t)(uintptr_t)(current == &main_stack ? NOBODY : current->ident);
    if (current != &main_stack && !told_of_interrupt && is_interrupted()) {
        PyThreadState *tstate = _PyThreadState_GET();
        told_of_interrupt = 1;
        if (tstate && !tstate->async_exc) {
            tstate->async_exc = Py_NewRef(PyExc_KeyboardInterrupt);
            _Py_set_eval_breaker_bit(tstate, _PY_ASYNC_EXCEPTION_BIT);
        }
    }
    return (pthread_t)(uintptr_t)current->ident;
}

/* ---------------------------------------------------------------- loops */

static Frame *entry_below(Frame *frame, int stop_at_guard) {
    for (; frame; frame = frame->previous) {
        if (frame->owner == FRAME_OWNED_BY_CSTACK) return frame;
        if (stop_at_guard && frame->f_funcobj == guard) return NULL;
    }
    return NULL;
}

static Stack *stack_of(PyObject *number) {
    long index = PyLong_AsLong(number);
    if (index < 0 || index >= stack_count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such stack");
        return NULL;
    }
    return stacks[index];
}

/* 0, 1 if it can go on in any loop, 2 if the topmost one is its own. */
static int can_run(const Stack *stack) { return !stack->loop ? 1 : stack->loop == top_loop ? 2 : 0; }

/* begin(home) -> bool: the running thread is about to wait, and another one is chosen; where it is `home`, it goes on only
 * in the loop to which its guard returns. False where that is under way already: who asks is a finalizer or a tracer. */
PyObject *threads_begin(PyObject *module, PyObject *home) {
    if (choosing || phase != STEADY) Py_RETURN_FALSE;
    Frame *frame = _PyThreadState_GET()->current_frame;
    Frame *own = entry_below(frame, 1), *below = entry_below(frame, 0);
    top_loop = own ? own : current->running_in ? current->running_in : below;
    current->wants_home = home == Py_True;
    current->loop = current->wants_home ? below : own;
    choosing = 1;
    Py_RETURN_TRUE;
}

PyObject *threads_end(PyObject *module, PyObject *unused) {
    choosing = 0;
    if (current == &main_stack && is_interrupted()) {
        told_of_interrupt = 0;
        _Py_set_eval_breaker_bit(_PyThreadState_GET(), _PY_SIGNALS_PENDING_BIT);
    }
    Py_RETURN_NONE;
}

PyObject *threads_can_run(PyObject *module, PyObject *number) {
    Stack *stack = stack_of(number);
    return stack ? PyLong_FromLong(can_run(stack)) : NULL;
}

/* guard(place) -> place: of a guard that begins (None), or ends (what it got then). */
PyObject *threads_guard(PyObject *module, PyObject *place) {
    Frame *before = current->running_in;
    current->running_in = place == Py_None ? NULL : PyLong_AsVoidPtr(place);
    current->is_returning = 0;
    if (current == &main_stack && is_interrupted()) _Py_set_eval_breaker_bit(_PyThreadState_GET(), _PY_SIGNALS_PENDING_BIT);
    return PyLong_FromVoidPtr(before);
}

/* at_home() -> bool: whether the guard that calls may return. If not, no signal is handled until guard() is called. */
PyObject *threads_at_home(PyObject *module, PyObject *unused) {
    current->is_returning = current->running_in != NULL;
    return PyBool_FromLong(!current->is_returning);
}

PyObject *threads_interrupted(PyObject *module, PyObject *unused) { return PyBool_FromLong(is_interrupted()); }

/* ---------------------------------------------------------------- from one to another */

static void exchange_data_stack(PyThreadState *tstate, Stack *from, Stack *to) {
    from->chunk = tstate->datastack_chunk, from->top = tstate->datastack_top, from->limit = tstate->datastack_limit;
    tstate->datastack_chunk = to->chunk, tstate->datastack_top = to->top, tstate->datastack_limit = to->limit;
}

static void exchange_fields(PyThreadState *tstate, Stack *from, Stack *to) {
    from->depth = tstate->py_recursion_limit - tstate->py_recursion_remaining;
    tstate->py_recursion_remaining = tstate->py_recursion_limit - to->depth;
#define EXCHANGE(field, member) from->member = tstate->field, tstate->field = to->member
    EXCHANGE(recursion_headroom, headroom);
    EXCHANGE(tracing, tracing);
    EXCHANGE(what_event, what_event);
    EXCHANGE(coroutine_origin_tracking_depth, origin_tracking);
    EXCHANGE(c_profilefunc, profile);
    EXCHANGE(c_tracefunc, trace);
    EXCHANGE(c_profileobj, profile_object);
    EXCHANGE(c_traceobj, trace_object);
    EXCHANGE(exc_info, exc_info);
    EXCHANGE(exc_state, exc_state);
    EXCHANGE(dict, dict);
    EXCHANGE(async_exc, async_exc);
    EXCHANGE(async_gen_firstiter, firstiter);
    EXCHANGE(async_gen_finalizer, finalizer);
    EXCHANGE(context, context);
    EXCHANGE(threading_local_key, local_key);
    EXCHANGE(threading_local_sentinel, local_sentinel);
    EXCHANGE(id, id);
#undef EXCHANGE
    _PyThreadStateImpl *more = (_PyThreadStateImpl *)tstate;
    from->running_loop = more->asyncio_running_loop, more->asyncio_running_loop = to->running_loop;
    tstate->context_ver++;
    tstate->thread_id = to->ident;
    if (tstate->async_exc) _Py_set_eval_breaker_bit(tstate, _PY_ASYNC_EXCEPTION_BIT);
}

static void resume(Stack *to) {
    if (to->wants_home) to->running_in = NULL;
    else if (!to->loop) to->running_in = entry_below(_PyThreadState_GET()->current_frame, 0) == top_loop ? NULL : top_loop;
    current = to;
    phase = STEADY;
}

/* open() -> number of a new stack. The next frame is the first one on it: of a function that calls adopt() at once. If that
 * can't be, arrive() undoes it. */
PyObject *threads_open(PyObject *module, PyObject *unused) {
    PyThreadState *tstate = _PyThreadState_GET();
    if (phase != STEADY || stack_count == MAX_STACKS) {
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return NULL;
    }
    Stack *stack = PyMem_RawCalloc(1, sizeof *stack);
    PyObject *number = stack ? PyLong_FromLong(stack_count) : PyErr_NoMemory();
    if (!number) {
        PyMem_RawFree(stack);
        return NULL;
    }
    stack->exc_info = &tstate->exc_state;
    stack->depth = 1;
    stacks[stack_count++] = next = stack;
    exchange_data_stack(tstate, current, stack);
    phase = OPENING;
    return number;
}

/* adopt(): by the first frame of a stack. */
PyObject *threads_adopt(PyObject *module, PyObject *unused) {
    PyThreadState *tstate = _PyThreadState_GET();
    Frame *frame = tstate->current_frame;
    if (phase != OPENING || frame->owner != FRAME_OWNED_BY_THREAD || frame->previous->owner == FRAME_OWNED_BY_CSTACK) {
        PyErr_SetString(PyExc_RuntimeError, "a stack can't begin here");
        return NULL;
    }
    current->frame = frame->previous;
    frame->previous = NULL;
    exchange_fields(tstate, current, next);
    current->depth--; /* the call that got here does not return */
    resume(next);
    Py_RETURN_NONE;
}

/* leave(number): the function that calls returns to where the thread of that stack waits. */
PyObject *threads_leave(PyObject *module, PyObject *number) {
    Stack *to = stack_of(number);
    Frame *frame = _PyThreadState_GET()->current_frame;
    if (!to) return NULL;
    if (phase != STEADY || to == current || !to->frame || !can_run(to) || frame->owner != FRAME_OWNED_BY_THREAD
        || frame->previous->owner == FRAME_OWNED_BY_CSTACK) {
        PyErr_SetString(PyExc_RuntimeError, "this thread can't go on here");
        return NULL;
    }
    current->frame = frame->previous;
    frame->previous = to->frame;
    to->frame = NULL;
    next = to;
    phase = LEAVING;
    Py_RETURN_NONE;
}

/* arrive() -> bool: behind each call of what calls leave() or adopt(). False when nothing has changed. */
PyObject *threads_arrive(PyObject *module, PyObject *unused) {
    PyThreadState *tstate = _PyThreadState_GET();
    if (phase == STEADY) Py_RETURN_FALSE;
    if (phase == OPENING) {
        exchange_data_stack(tstate, next, current);
        phase = STEADY;
        Py_RETURN_FALSE;
    }
    exchange_fields(tstate, current, next);
    exchange_data_stack(tstate, current, next);
    resume(next);
    Py_RETURN_TRUE;
}

/* identify(ident): of the thread that begins on the running stack. */
PyObject *threads_identify(PyObject *module, PyObject *ident) {
    PyThreadState *tstate = _PyThreadState_GET();
    tstate->thread_id = current->ident = PyLong_AsUnsignedLong(ident);
    tstate->id = ++last_id;
    Py_RETURN_NONE;
}

/* forget(): what PyThreadState_Clear does at the end of a thread. */
PyObject *threads_forget(PyObject *module, PyObject *unused) {
    PyThreadState *tstate = _PyThreadState_GET();
    if (current == &main_stack) Py_RETURN_NONE;
    Py_CLEAR(tstate->threading_local_key);
    Py_CLEAR(tstate->threading_local_sentinel);
    Py_CLEAR(((_PyThreadStateImpl *)tstate)->asyncio_running_loop);
    Py_CLEAR(tstate->dict);
    Py_CLEAR(tstate->async_exc);
    Py_CLEAR(tstate->async_gen_firstiter);
    Py_CLEAR(tstate->async_gen_finalizer);
    Py_CLEAR(tstate->context);
    tstate->context_ver++;
    tstate->coroutine_origin_tracking_depth = 0;
    Py_RETURN_NONE;
}

/* replace_method(type, name, function) -> what it was; of a type that is immutable for programs. */
PyObject *threads_replace_method(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyTypeObject *type = (PyTypeObject *)args[0];
    PyObject *before = Py_XNewRef(PyDict_GetItemWithError(type->tp_dict, args[1]));
    if (!before || PyDict_SetItem(type->tp_dict, args[1], args[2]) < 0) {
        if (!PyErr_Occurred()) PyErr_SetObject(PyExc_AttributeError, args[1]);
        Py_XDECREF(before);
        return NULL;
    }
    PyType_Modified(type);
    return before;
}

PyObject *threads_enter_context(PyObject *module, PyObject *context) {
    if (PyContext_Enter(context) < 0) return NULL;
    Py_RETURN_NONE;
}

PyObject *threads_exit_context(PyObject *module, PyObject *context) {
    if (PyContext_Exit(context) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- locks */

/* As in Modules/_threadmodule.c; `hook` makes sure. */
typedef struct {
    PyObject_HEAD
    PyMutex lock;
} Lock;
typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    PyThread_ident_t owner;
    unsigned long count;
    PyObject *weak_references;
} ReentrantLock;

static PyTypeObject *lock_type, *rlock_type;
static PyCFunctionWithKeywords acquire_lock, acquire_rlock;

static int is_taken(PyObject *lock) {
    if (Py_IS_TYPE(lock, lock_type)) return PyMutex_IsLocked(&((Lock *)lock)->lock);
    if (PyObject_TypeCheck(lock, rlock_type)) return ((ReentrantLock *)lock)->count != 0;
    return -1;
}

/* is_free(lock) -> bool: whether nobody has it; None for a lock of another kind. */
PyObject *threads_is_free(PyObject *module, PyObject *lock) {
    int taken = is_taken(lock);
    return taken < 0 ? Py_NewRef(Py_None) : PyBool_FromLong(!taken);
}

static PyObject *wait_for(PyObject *lock, PyObject *args, PyObject *keywords) {
    PyObject *all = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
    if (!all) return NULL;
    PyTuple_SET_ITEM(all, 0, Py_NewRef(lock));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    PyObject *result = PyObject_Call(contended, all, keywords);
    Py_DECREF(all);
    return result;
}

static int is_blocking(PyObject *args) { return !PyTuple_GET_SIZE(args) || PyTuple_GET_ITEM(args, 0) != Py_False; }

static PyObject *hooked_lock(PyObject *lock, PyObject *args, PyObject *keywords) {
    if (PyMutex_IsLocked(&((Lock *)lock)->lock) && is_blocking(args)) return wait_for(lock, args, keywords);
    return acquire_lock(lock, args, keywords);
}

static PyObject *hooked_rlock(PyObject *lock, PyObject *args, PyObject *keywords) {
    const ReentrantLock *l = (ReentrantLock *)lock;
    if (l->count && l->owner != PyThread_get_thread_ident_ex() && is_blocking(args)) return wait_for(lock, args, keywords);
    return acquire_rlock(lock, args, keywords);
}

/* Puts `hook` before the methods of that C function; the function. */
static PyCFunctionWithKeywords hook(PyTypeObject *type, PyCFunctionWithKeywords hooked) {
    static const char *const names[] = {"acquire", "acquire_lock", "__enter__"};
    PyCFunctionWithKeywords original = NULL;
    for (int i = 0; i < 3; i++) {
        PyObject *method = PyDict_GetItemString(type->tp_dict, names[i]);
        if (!method || !Py_IS_TYPE(method, &PyMethodDescr_Type)) continue;
        PyMethodDef *definition = ((PyMethodDescrObject *)method)->d_method;
        original = (PyCFunctionWithKeywords)(void (*)(void))definition->ml_meth;
        definition->ml_meth = (PyCFunction)(void (*)(void))hooked;
    }
    return original;
}

static int is_as_expected(PyTypeObject *type) {
    PyObject *lock = PyObject_CallNoArgs((PyObject *)type), *done = NULL;
    int fine = lock && is_taken(lock) == 0;
    if (fine) done = PyObject_CallMethod(lock, "acquire", NULL);
    fine = done && is_taken(lock) == 1;
    Py_XDECREF(done);
    done = fine ? PyObject_CallMethod(lock, "release", NULL) : NULL;
    fine = done && is_taken(lock) == 0;
    Py_XDECREF(done);
    Py_XDECREF(lock);
    return fine;
}

/* `get` of _queue.SimpleQueue. */
static PyCMethod get_item;

static PyObject *hooked_get(PyObject *queue, PyTypeObject *type, PyObject *const *args, size_t count, PyObject *names) {
    if (count == 0 || args[0] != Py_False) {
        PyObject *is_empty = PyObject_CallMethod(queue, "empty", NULL);
        if (!is_empty) return NULL;
        Py_DECREF(is_empty);
        if (is_empty == Py_True) {
            size_t all = count + (names ? (size_t)PyTuple_GET_SIZE(names) : 0);
            PyObject **more = PyMem_Malloc((all + 1) * sizeof *more);
            if (!more) return PyErr_NoMemory();
            more[0] = queue;
            memcpy(more + 1, args, all * sizeof *more);
            PyObject *item = PyObject_Vectorcall(empty, more, count + 1, names);
            PyMem_Free(more);
            return item;
        }
    }
    return get_item(queue, type, args, count, names);
}

/* prepare(lock type, RLock type, `guarded`, what is called for a lock that is taken, SimpleQueue, and for an empty one) */
PyObject *threads_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    lock_type = (PyTypeObject *)Py_NewRef(args[0]);
    rlock_type = (PyTypeObject *)Py_NewRef(args[1]);
    guard = Py_NewRef(args[2]);
    contended = Py_NewRef(args[3]);
    if (!is_as_expected(lock_type) || !is_as_expected(rlock_type)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "locks of this CPython are not as threads.c expects them");
        return NULL;
    }
    acquire_lock = hook(lock_type, hooked_lock);
    acquire_rlock = hook(rlock_type, hooked_rlock);
    PyObject *get = PyDict_GetItemString(((PyTypeObject *)args[4])->tp_dict, "get");
    if (!get || !Py_IS_TYPE(get, &PyMethodDescr_Type)) {
        PyErr_SetString(PyExc_SystemError, "SimpleQueue of this CPython is not as threads.c expects it");
        return NULL;
    }
    PyMethodDef *definition = ((PyMethodDescrObject *)get)->d_method;
    get_item = (PyCMethod)(void (*)(void))definition->ml_meth;
    definition->ml_meth = (PyCFunction)(void (*)(void))hooked_get;
    empty = Py_NewRef(args[5]);
    Py_RETURN_NONE;
}
