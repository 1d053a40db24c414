/* How the host interrupts a guest that keeps its state: it does what a signal handler would do on SIGINT
 * (Modules/signalmodule.c, trip_signal), and the interpreter raises KeyboardInterrupt at its next check. The host writes
 * while the guest gives way, so no code of the guest runs meanwhile; here it learns where. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#include <signal.h>
#include <stdint.h>

/* Address and what is or-ed to the 32-bit word there, for each of the three places; made anew at each call, so that a
 * program that wrote to it fools nobody for long. */
static uint32_t places[6];

__attribute__((export_name("proofbox_interrupt_places"))) uint32_t *proofbox_interrupt_places(void) {
    PyThreadState *thread = _PyThreadState_GET();
    places[0] = (uint32_t)(uintptr_t)&_PyRuntime.signals.handlers[SIGINT].tripped;
    places[1] = 1;
    places[2] = (uint32_t)(uintptr_t)&_PyRuntime.signals.is_tripped;
    places[3] = 1;
    places[4] = thread ? (uint32_t)(uintptr_t)&thread->eval_breaker : 0;
    places[5] = _PY_SIGNALS_PENDING_BIT;
    return places;
}
