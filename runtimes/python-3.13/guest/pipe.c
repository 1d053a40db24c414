/* Pipes within the process, in its memory. Each end is a descriptor of /dev/null at the host, so that its number is taken;
 * the functions of libc that meet one of these are here, and do for all others what libc's own do.
 *
 * Nobody else could fill or empty a pipe, so what would wait for that is a deadlock (EDEADLK, or EAGAIN where the
 * descriptor does not block). */
#include "pipe.h"
#include "attributes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

/* As on Linux. */
#define CAPACITY 65536
#define ATOMIC 4096

struct pipe {
    char bytes[CAPACITY];
    size_t start, length;
    /* How many descriptors there are of the reading and of the writing end. */
    int open[2];
};

struct end {
    struct end *next;
    struct pipe *pipe;
    int fd, writes;
};

static struct end *ends;

static struct end *find(int fd) {
    struct end *end = ends;
    while (end && end->fd != fd) end = end->next;
    return end;
}

static int failed(int error) {
    errno = error;
    return -1;
}

static int would_wait(const struct end *end) {
    __wasi_fdstat_t of;
    int blocks = __wasi_fd_fdstat_get(end->fd, &of) || !(of.fs_flags & __WASI_FDFLAGS_NONBLOCK);
    return failed(blocks ? EDEADLK : EAGAIN);
}

static ssize_t read_pipe(struct end *end, char *to, size_t n) {
    struct pipe *pipe = end->pipe;
    if (end->writes) return failed(EBADF);
    if (n == 0) return 0;
    if (pipe->length == 0) return pipe->open[1] ? would_wait(end) : 0;
    if (n > pipe->length) n = pipe->length;
    size_t first = n < CAPACITY - pipe->start ? n : CAPACITY - pipe->start;
    memcpy(to, pipe->bytes + pipe->start, first);
    memcpy(to + first, pipe->bytes, n - first);
    pipe->start = (pipe->start + n) % CAPACITY;
    pipe->length -= n;
    return (ssize_t)n;
}

static ssize_t write_pipe(struct end *end, const char *from, size_t n) {
    struct pipe *pipe = end->pipe;
    if (!end->writes) return failed(EBADF);
    if (n == 0) return 0;
    if (!pipe->open[0]) return failed(EPIPE);
    size_t room = CAPACITY - pipe->length;
    if (room == 0 || (n <= ATOMIC && n > room)) return would_wait(end);
    if (n > room) n = room;
    size_t at = (pipe->start + pipe->length) % CAPACITY, first = n < CAPACITY - at ? n : CAPACITY - at;
    memcpy(pipe->bytes + at, from, first);
    memcpy(pipe->bytes, from + first, n - first);
    pipe->length += n;
    return (ssize_t)n;
}

static void forget(int fd) {
    for (struct end **link = &ends; *link; link = &(*link)->next) {
        struct end *end = *link;
        if (end->fd != fd) continue;
        *link = end->next;
        end->pipe->open[end->writes]--;
        if (!end->pipe->open[0] && !end->pipe->open[1]) free(end->pipe);
        free(end);
        return;
    }
}

static struct end *attach(struct pipe *pipe, int writes) {
    struct end *end = malloc(sizeof *end);
    int fd = end ? open("/dev/null", writes ? O_WRONLY : O_RDONLY) : failed(ENOMEM);
    if (fd < 0) {
        free(end);
        return NULL;
    }
    *end = (struct end){ends, pipe, fd, writes};
    pipe->open[writes]++;
    return ends = end;
}

int pipe_copied(int from, int to) {
    struct end *end = find(from);
    if (!end) return 0;
    struct end *copy = malloc(sizeof *copy);
    if (!copy) return failed(ENOMEM);
    *copy = (struct end){ends, end->pipe, to, end->writes};
    end->pipe->open[end->writes]++;
    ends = copy;
    return 0;
}

PyObject *open_pipe(PyObject *module, PyObject *unused) {
    struct pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe) return PyErr_NoMemory();
    struct end *reads = attach(pipe, 0);
    if (!reads) {
        free(pipe);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    struct end *writes = attach(pipe, 1);
    if (!writes) {
        int error = errno;
        close(reads->fd);
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return Py_BuildValue("(ii)", reads->fd, writes->fd);
}

/* ---------------------------------------------------------------- in place of libc's */

ssize_t read(int fd, void *to, size_t n) {
    struct end *end = find(fd);
    if (end) return read_pipe(end, to, n);
    __wasi_iovec_t part = {to, n};
    size_t done;
    __wasi_errno_t error = __wasi_fd_read(fd, &part, 1, &done);
    return error ? failed(error == ENOTCAPABLE ? EBADF : error) : (ssize_t)done;
}

ssize_t write(int fd, const void *from, size_t n) {
    struct end *end = find(fd);
    if (end) return write_pipe(end, from, n);
    __wasi_ciovec_t part = {from, n};
    size_t done;
    __wasi_errno_t error = __wasi_fd_write(fd, &part, 1, &done);
    return error ? failed(error == ENOTCAPABLE ? EBADF : error) : (ssize_t)done;
}

int close(int fd) {
    forget(fd);
    __wasi_errno_t error = __wasi_fd_close(fd);
    return error ? failed(error) : 0;
}

#undef lseek
off_t lseek(int fd, off_t offset, int whence) {
    if (find(fd)) return failed(ESPIPE);
    __wasi_filesize_t at;
    __wasi_errno_t error = __wasi_fd_seek(fd, offset, (__wasi_whence_t)whence, &at);
    return error ? failed(error == ENOTCAPABLE ? ESPIPE : error) : (off_t)at;
}
/* What `lseek` is with a constant offset of 0 from the present one. */
off_t __wasilibc_tell(int fd) {
    if (find(fd)) return failed(ESPIPE);
    __wasi_filesize_t at;
    __wasi_errno_t error = __wasi_fd_tell(fd, &at);
    return error ? failed(error == ENOTCAPABLE ? ESPIPE : error) : (off_t)at;
}

int fstat(int fd, struct stat *to) {
    __wasi_filestat_t of;
    __wasi_errno_t error = __wasi_fd_filestat_get(fd, &of);
    if (error) return failed(error);
    stat_of_record(&of, to);
    struct end *end = find(fd);
    if (end) {
        to->st_mode = S_IFIFO | 0600;
        to->st_ino = (uintptr_t)end->pipe;
    }
    return 0;
}
