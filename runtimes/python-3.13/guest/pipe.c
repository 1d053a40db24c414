/* Pipes within the process, in its memory, and descriptors of sockets (sockets.c). Each end is a descriptor of /dev/null at the host, so that its number is taken;
 * the functions of libc that meet one of these are here, and do for all others what libc's own do.
 *
 * Nobody else could fill or empty a pipe, so what would wait for that is a deadlock (EDEADLK, or EAGAIN where the
 * descriptor does not block). */
#include "pipe.h"
#include "attributes.h"
#include "sockets.h"
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

static struct end *ends;

struct end *find_end(int fd) {
    struct end *end = ends;
    while (end && end->fd != fd) end = end->next;
    return end;
}

struct end *first_end(void) { return ends; }

static int failed(int error) {
    errno = error;
    return -1;
}

static int would_wait(const struct end *end) {
    __wasi_fdstat_t of;
    int blocks = __wasi_fd_fdstat_get(end->fd, &of) || !(of.fs_flags & __WASI_FDFLAGS_NONBLOCK);
    return failed(blocks ? EDEADLK : EAGAIN);
}

/* ---------------------------------------------------------------- bytes */

struct pipe *pipe_open(size_t capacity, size_t max_capacity) {
    struct pipe *pipe = calloc(1, sizeof *pipe);
    char *bytes = pipe ? malloc(capacity) : NULL;
    if (!bytes) {
        free(pipe);
        return NULL;
    }
    pipe->bytes = bytes, pipe->capacity = capacity, pipe->max_capacity = max_capacity;
    return pipe;
}

void pipe_leave(struct pipe *pipe, int writes) {
    pipe->open[writes]--;
    if (pipe->open[0] || pipe->open[1]) return;
    free(pipe->bytes);
    free(pipe);
}

size_t pipe_take(struct pipe *pipe, char *to, size_t n, int peeks) {
    if (n > pipe->length) n = pipe->length;
    size_t first = n < pipe->capacity - pipe->start ? n : pipe->capacity - pipe->start;
    memcpy(to, pipe->bytes + pipe->start, first);
    memcpy(to + first, pipe->bytes, n - first);
    if (peeks) return n;
    pipe->start = (pipe->start + n) % pipe->capacity;
    pipe->length -= n;
    return n;
}

static void grow(struct pipe *pipe, size_t wanted) {
    size_t capacity = pipe->capacity;
    while (capacity < wanted && capacity < pipe->max_capacity) capacity *= 2;
    if (capacity == pipe->capacity) return;
    char *bytes = malloc(capacity);
    if (!bytes) return; /* less is taken at once */
    size_t length = pipe->length;
    pipe_take(pipe, bytes, length, 1);
    free(pipe->bytes);
    pipe->bytes = bytes, pipe->capacity = capacity, pipe->start = 0;
}

size_t pipe_room(const struct pipe *pipe) { return pipe->max_capacity - pipe->length; }

size_t pipe_put(struct pipe *pipe, const char *from, size_t n) {
    if (pipe->length + n > pipe->capacity) grow(pipe, pipe->length + n);
    if (n > pipe->capacity - pipe->length) n = pipe->capacity - pipe->length;
    size_t at = (pipe->start + pipe->length) % pipe->capacity, first = n < pipe->capacity - at ? n : pipe->capacity - at;
    memcpy(pipe->bytes + at, from, first);
    memcpy(pipe->bytes, from + first, n - first);
    pipe->length += n;
    return n;
}

/* ---------------------------------------------------------------- ends */

static ssize_t read_pipe(struct end *end, char *to, size_t n) {
    struct pipe *pipe = end->pipe;
    if (end->writes) return failed(EBADF);
    if (n == 0) return 0;
    if (pipe->length == 0) return pipe->open[1] ? would_wait(end) : 0;
    return (ssize_t)pipe_take(pipe, to, n, 0);
}

static ssize_t write_pipe(struct end *end, const char *from, size_t n) {
    struct pipe *pipe = end->pipe;
    if (!end->writes) return failed(EBADF);
    if (n == 0) return 0;
    if (!pipe->open[0]) return failed(EPIPE);
    size_t room = pipe_room(pipe);
    if (room == 0 || (n <= ATOMIC && n > room)) return would_wait(end);
    return (ssize_t)pipe_put(pipe, from, n);
}

/* What a function of sockets.c has answered. */
static ssize_t done_or_waiting(const struct end *end, ssize_t done) { return done == WOULD_WAIT ? would_wait(end) : done; }

static void forget(int fd) {
    for (struct end **link = &ends; *link; link = &(*link)->next) {
        struct end *end = *link;
        if (end->fd != fd) continue;
        *link = end->next;
        if (end->socket) socket_leave(end->socket);
        else pipe_leave(end->pipe, end->writes);
        free(end);
        return;
    }
}

static struct end *attach(int flags) {
    struct end *end = calloc(1, sizeof *end);
    int fd = end ? open("/dev/null", flags) : failed(ENOMEM);
    if (fd < 0) {
        free(end);
        return NULL;
    }
    end->next = ends, end->fd = fd;
    return ends = end;
}

static struct end *attach_pipe(struct pipe *pipe, int writes) {
    struct end *end = attach(writes ? O_WRONLY : O_RDONLY);
    if (!end) return NULL;
    end->pipe = pipe, end->writes = writes;
    pipe->open[writes]++;
    return end;
}

int attach_socket(struct socket *socket) {
    struct end *end = attach(O_RDWR);
    if (!end) return -1;
    end->socket = socket;
    socket_join(socket);
    return end->fd;
}

int pipe_copied(int from, int to) {
    struct end *end = find_end(from);
    if (!end) return 0;
    struct end *copy = malloc(sizeof *copy);
    if (!copy) return failed(ENOMEM);
    *copy = *end;
    copy->next = ends, copy->fd = to;
    if (end->socket) socket_join(end->socket);
    else end->pipe->open[end->writes]++;
    ends = copy;
    return 0;
}

PyObject *open_pipe(PyObject *module, PyObject *unused) {
    struct pipe *pipe = pipe_open(CAPACITY, CAPACITY);
    if (!pipe) return PyErr_NoMemory();
    struct end *reads = attach_pipe(pipe, 0);
    if (!reads) {
        free(pipe->bytes);
        free(pipe);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    struct end *writes = attach_pipe(pipe, 1);
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
    struct end *end = find_end(fd);
    if (end && end->socket) return done_or_waiting(end, socket_read(end->socket, to, n, 0));
    if (end) return read_pipe(end, to, n);
    __wasi_iovec_t part = {to, n};
    size_t done;
    __wasi_errno_t error = __wasi_fd_read(fd, &part, 1, &done);
    return error ? failed(error == ENOTCAPABLE ? EBADF : error) : (ssize_t)done;
}

ssize_t write(int fd, const void *from, size_t n) {
    struct end *end = find_end(fd);
    if (end && end->socket) return done_or_waiting(end, socket_write(end->socket, from, n));
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
    if (find_end(fd)) return failed(ESPIPE);
    __wasi_filesize_t at;
    __wasi_errno_t error = __wasi_fd_seek(fd, offset, (__wasi_whence_t)whence, &at);
    return error ? failed(error == ENOTCAPABLE ? ESPIPE : error) : (off_t)at;
}
/* What `lseek` is with a constant offset of 0 from the present one. */
off_t __wasilibc_tell(int fd) {
    if (find_end(fd)) return failed(ESPIPE);
    __wasi_filesize_t at;
    __wasi_errno_t error = __wasi_fd_tell(fd, &at);
    return error ? failed(error == ENOTCAPABLE ? ESPIPE : error) : (off_t)at;
}

int fstat(int fd, struct stat *to) {
    __wasi_filestat_t of;
    __wasi_errno_t error = __wasi_fd_filestat_get(fd, &of);
    if (error) return failed(error);
    stat_of_record(&of, to);
    struct end *end = find_end(fd);
    if (end) {
        to->st_mode = end->socket ? S_IFSOCK | 0777 : S_IFIFO | 0600;
        to->st_ino = end->socket ? (uintptr_t)end->socket : (uintptr_t)end->pipe;
    }
    return 0;
}
