/* Signals that a program sends itself: handlers as wasi-libc emulates them, and of those without a handler an end with the exit
 * code that a shell tells, 128 and the number, where wasi-libc prints and traps. Stands in for its emulation when linked. */
#define _GNU_SOURCE
#define _WASI_EMULATED_SIGNAL
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static void (*handlers[_NSIG])(int);

void __SIG_IGN(int number) {
    (void)number;
}

_Noreturn void __SIG_ERR(int number) {
    (void)number;
    __builtin_trap();
}

static int is_ignored(int number) {
    return number == 0 || number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

int raise(int number) {
    if (number < 0 || number >= _NSIG) {
        errno = EINVAL;
        return -1;
    }
    if (handlers[number] != SIG_DFL)
        handlers[number](number);
    else if (!is_ignored(number))
        _Exit(128 + number);
    return 0;
}

void (*signal(int number, void (*handler)(int)))(int) {
    if (number <= 0 || number >= _NSIG || number == SIGKILL || number == SIGSTOP) {
        errno = EINVAL;
        return SIG_ERR;
    }
    void (*old)(int) = handlers[number];
    handlers[number] = handler;
    return old;
}
