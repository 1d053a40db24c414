/* Descriptors that are copies of others (`dup`, `dup2`), which WASI preview 1 lacks. From the first copy on, a table leads
 * from the program's numbers to the host's; several numbers may lead to one. libc's calls pass through here: the linker
 * takes these functions for the imports that libc declares. */
#define PY_SSIZE_T_CLEAN
#include "descriptors.h"
#include "pipe.h"
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* As many as the host allows. */
#define MAX_DESCRIPTORS 256
#define OK 0
#define BADF 8
#define MFILE 33
#define NOTSUP 58
/* `/`, which libc finds all paths through. */
#define PREOPEN 3
#define IMPORT(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) int32_t host_##name
#define LIBC(name) int32_t __imported_wasi_snapshot_preview1_##name

static int copied; /* whether the table is in use; before, all numbers are the host's */
static int16_t host_of[MAX_DESCRIPTORS]; /* -1: not open */
static int16_t references[MAX_DESCRIPTORS]; /* by the host's number */

IMPORT(fd_fdstat_get)(int32_t fd, int32_t out);
IMPORT(fd_close)(int32_t fd);
IMPORT(fd_renumber)(int32_t from, int32_t to);
IMPORT(path_open)(int32_t fd, int32_t lookup, int32_t path, int32_t length, int32_t how, int64_t rights, int64_t inheriting, int32_t flags, int32_t out);

static void begin(void) {
    uint64_t fdstat[3];
    if (copied) return;
    for (int fd = 0; fd < MAX_DESCRIPTORS; fd++) {
        int open = host_fd_fdstat_get(fd, (int32_t)(uintptr_t)fdstat) == OK;
        host_of[fd] = open ? (int16_t)fd : -1;
        references[fd] = (int16_t)open;
    }
    copied = 1;
}

int32_t host(int32_t fd) {
    if (!copied) return fd;
    return (uint32_t)fd < MAX_DESCRIPTORS ? host_of[fd] : -1;
}

/* The lowest number that is free, or -1. */
static int32_t free_number(void) {
    for (int32_t fd = 0; fd < MAX_DESCRIPTORS; fd++) {
        if (host_of[fd] < 0) return fd;
    }
    return -1;
}

static void lead(int32_t fd, int32_t to) {
    host_of[fd] = (int16_t)to;
    references[to]++;
}

LIBC(fd_close)(int32_t fd) {
    int32_t at = host(fd);
    if (!copied || at < 0) return host_fd_close(at);
    if (fd == PREOPEN) return NOTSUP;
    if (references[at] == 1) {
        int32_t error = host_fd_close(at);
        if (error != OK) return error;
    }
    references[at]--;
    host_of[fd] = -1;
    return OK;
}

/* `fd` becomes one more number for what `from` is. */
static int32_t add_copy(int32_t from, int32_t fd) {
    if (pipe_copied(from, fd) < 0) return ENOMEM;
    lead(fd, host_of[from]);
    return OK;
}

/* `to` becomes a copy of `fd`. */
static int32_t copy_to(int32_t fd, int32_t to) {
    int32_t at = host(fd);
    if (at < 0 || (uint32_t)to >= MAX_DESCRIPTORS) return BADF;
    if (fd == to) return OK;
    if (host_of[to] >= 0 && close(to) < 0) return errno;
    return add_copy(fd, to);
}

LIBC(fd_renumber)(int32_t from, int32_t to) {
    if (!copied) return host_fd_renumber(from, to);
    if (host(to) < 0) return BADF;
    int32_t error = copy_to(from, to);
    if (error != OK || from == to) return error;
    return close(from) < 0 ? errno : OK;
}

LIBC(path_open)(int32_t fd, int32_t lookup, int32_t path, int32_t length, int32_t how, int64_t rights, int64_t inheriting, int32_t flags, int32_t out) {
    int32_t error = host_path_open(host(fd), lookup, path, length, how, rights, inheriting, flags, out);
    if (!copied || error != OK) return error;
    int32_t *opened = (int32_t *)(uintptr_t)out, at = *opened, number = free_number();
    if (number < 0) {
        host_fd_close(at);
        return MFILE;
    }
    lead(number, at);
    *opened = number;
    return OK;
}

/* Those that only need the host's number: of their first argument, or of another one as well. */
#define PASS(name, declared, ...) \
    IMPORT(name) declared; \
    LIBC(name) declared { return host_##name(__VA_ARGS__); }

PASS(fd_advise, (int32_t fd, int64_t b, int64_t c, int32_t d), host(fd), b, c, d)
PASS(fd_allocate, (int32_t fd, int64_t b, int64_t c), host(fd), b, c)
PASS(fd_datasync, (int32_t fd), host(fd))
LIBC(fd_fdstat_get)(int32_t fd, int32_t b) { return host_fd_fdstat_get(host(fd), b); }
PASS(fd_fdstat_set_flags, (int32_t fd, int32_t b), host(fd), b)
PASS(fd_fdstat_set_rights, (int32_t fd, int64_t b, int64_t c), host(fd), b, c)
PASS(fd_filestat_get, (int32_t fd, int32_t b), host(fd), b)
PASS(fd_filestat_set_size, (int32_t fd, int64_t b), host(fd), b)
PASS(fd_filestat_set_times, (int32_t fd, int64_t b, int64_t c, int32_t d), host(fd), b, c, d)
PASS(fd_pread, (int32_t fd, int32_t b, int32_t c, int64_t d, int32_t e), host(fd), b, c, d, e)
PASS(fd_pwrite, (int32_t fd, int32_t b, int32_t c, int64_t d, int32_t e), host(fd), b, c, d, e)
PASS(fd_read, (int32_t fd, int32_t b, int32_t c, int32_t d), host(fd), b, c, d)
PASS(fd_readdir, (int32_t fd, int32_t b, int32_t c, int64_t d, int32_t e), host(fd), b, c, d, e)
PASS(fd_seek, (int32_t fd, int64_t b, int32_t c, int32_t d), host(fd), b, c, d)
PASS(fd_sync, (int32_t fd), host(fd))
PASS(fd_tell, (int32_t fd, int32_t b), host(fd), b)
PASS(fd_write, (int32_t fd, int32_t b, int32_t c, int32_t d), host(fd), b, c, d)
PASS(path_create_directory, (int32_t fd, int32_t b, int32_t c), host(fd), b, c)
PASS(path_filestat_get, (int32_t fd, int32_t b, int32_t c, int32_t d, int32_t e), host(fd), b, c, d, e)
PASS(path_filestat_set_times, (int32_t fd, int32_t b, int32_t c, int32_t d, int64_t e, int64_t f, int32_t g), host(fd), b, c, d, e, f, g)
PASS(path_link, (int32_t fd, int32_t b, int32_t c, int32_t d, int32_t to, int32_t f, int32_t g), host(fd), b, c, d, host(to), f, g)
PASS(path_readlink, (int32_t fd, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f), host(fd), b, c, d, e, f)
PASS(path_remove_directory, (int32_t fd, int32_t b, int32_t c), host(fd), b, c)
PASS(path_rename, (int32_t fd, int32_t b, int32_t c, int32_t to, int32_t e, int32_t f), host(fd), b, c, host(to), e, f)
PASS(path_symlink, (int32_t b, int32_t c, int32_t fd, int32_t d, int32_t e), b, c, host(fd), d, e)
PASS(path_unlink_file, (int32_t fd, int32_t b, int32_t c), host(fd), b, c)

/* ---------------------------------------------------------------- for Python */

static PyObject *failure(int number) {
    errno = number;
    return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject *descriptors_dup(PyObject *module, PyObject *descriptor) {
    int fd = PyLong_AsInt(descriptor);
    if (fd == -1 && PyErr_Occurred()) return NULL;
    begin();
    int32_t at = host(fd), number = free_number();
    if (at < 0) return failure(EBADF);
    if (number < 0) return failure(EMFILE);
    int32_t error = add_copy(fd, number);
    return error == OK ? PyLong_FromLong(number) : failure(error);
}

PyObject *descriptors_dup2(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "dup2(fd, fd2)");
        return NULL;
    }
    int fd = PyLong_AsInt(args[0]);
    if (fd == -1 && PyErr_Occurred()) return NULL;
    int to = PyLong_AsInt(args[1]);
    if (to == -1 && PyErr_Occurred()) return NULL;
    begin();
    int32_t error = copy_to(fd, to);
    /* preview 1's numbers are libc's */
    return error == OK ? PyLong_FromLong(to) : failure(error);
}
