/* Connections between sockets of one interpreter: two pipes, of which each side reads one and writes the other. Addresses,
 * listening sockets and datagrams are Python's (_proofbox_loopback.py); so is all waiting. Errors come as on Linux:
 * - The other side has closed: what was sent can be read, then comes the end. A first write is lost (TCP), later ones fail.
 * - It has closed without reading everything: once ECONNRESET, for reading or writing. */
#include "sockets.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY 16384
#define MAX_CAPACITY (1 << 20)

struct socket {
    struct socket *peer; /* while it is open */
    struct pipe *in, *out;
    long number;
    int descriptors, is_unix, error, is_reset, ended[2]; /* reading, writing: by shutdown */
};

static int failed(int error) {
    errno = error;
    return -1;
}

void socket_join(struct socket *socket) { socket->descriptors++; }

void socket_leave(struct socket *socket) {
    if (--socket->descriptors) return;
    if (socket->peer) {
        struct socket *peer = socket->peer;
        peer->peer = NULL;
        if (socket->in->length) peer->error = ECONNRESET, peer->is_reset = 1;
    }
    if (socket->in) {
        pipe_leave(socket->in, 0);
        if (!socket->ended[1]) pipe_leave(socket->out, 1);
    }
    free(socket);
}

static int has_ended(const struct socket *socket) {
    return !socket->in->open[1] || socket->ended[0] || socket->is_reset;
}

ssize_t socket_read(struct socket *socket, char *to, size_t n, int peeks) {
    if (!socket->in) return failed(ENOTCONN);
    if (socket->in->length) return (ssize_t)pipe_take(socket->in, to, n, peeks);
    if (socket->error) {
        int error = socket->error;
        socket->error = 0;
        return failed(error);
    }
    return has_ended(socket) || n == 0 ? 0 : WOULD_WAIT;
}

ssize_t socket_write(struct socket *socket, const char *from, size_t n) {
    if (!socket->out) return failed(socket->is_unix ? ENOTCONN : EPIPE);
    if (socket->error) {
        int error = socket->error;
        socket->error = 0;
        return failed(error);
    }
    if (socket->ended[1] || socket->is_reset) return failed(EPIPE);
    if (!socket->out->open[0] || (socket->is_unix && socket->peer && socket->peer->ended[0])) {
        if (socket->is_unix) return failed(EPIPE);
        socket->is_reset = 1;
        return (ssize_t)n;
    }
    if (n == 0) return 0;
    if (!pipe_room(socket->out)) return WOULD_WAIT;
    size_t done = pipe_put(socket->out, from, n);
    return done ? (ssize_t)done : failed(ENOBUFS); /* no memory to grow */
}

/* ---------------------------------------------------------------- for Python */

static struct socket *find(PyObject *fd) {
    int number = PyLong_AsInt(fd);
    if (number == -1 && PyErr_Occurred()) return NULL;
    struct end *end = find_end(number);
    if (end && end->socket) return end->socket;
    errno = EBADF;
    PyErr_SetFromErrno(PyExc_OSError);
    return NULL;
}

/* None for what would wait; the negative number of an error, for which Python has Linux's words. */
static PyObject *answer(ssize_t done) {
    if (done == WOULD_WAIT) Py_RETURN_NONE;
    return PyLong_FromSsize_t(done < 0 ? -errno : done);
}

/* open(number) -> fd: of a socket that is not connected; Python knows it by that number. */
PyObject *sockets_open(PyObject *module, PyObject *number) {
    struct socket *socket = calloc(1, sizeof *socket);
    if (!socket) return PyErr_NoMemory();
    socket->number = PyLong_AsLong(number);
    int fd = attach_socket(socket);
    if (fd >= 0) return PyLong_FromLong(fd);
    free(socket);
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* connect(fd, fd, is_unix) */
PyObject *sockets_connect(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    struct socket *one = find(args[0]), *other = one ? find(args[1]) : NULL;
    if (!other) return NULL;
    if (one == other || one->in || other->in) {
        errno = EISCONN;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    struct pipe *there = pipe_open(CAPACITY, MAX_CAPACITY), *back = there ? pipe_open(CAPACITY, MAX_CAPACITY) : NULL;
    if (!back) {
        if (there) free(there->bytes), free(there);
        return PyErr_NoMemory();
    }
    there->open[0] = there->open[1] = back->open[0] = back->open[1] = 1;
    one->out = other->in = there, one->in = other->out = back;
    one->peer = other, other->peer = one;
    one->is_unix = other->is_unix = args[2] == Py_True;
    Py_RETURN_NONE;
}

/* number(fd) -> the number of the socket behind a descriptor, or -1. */
PyObject *sockets_number(PyObject *module, PyObject *fd) {
    int number = PyLong_AsInt(fd);
    if (number == -1 && PyErr_Occurred()) return NULL;
    struct end *end = find_end(number);
    return PyLong_FromLong(end && end->socket ? end->socket->number : -1);
}

/* count(number) -> how many descriptors that socket has. */
PyObject *sockets_count(PyObject *module, PyObject *number) {
    long wanted = PyLong_AsLong(number);
    const struct end *end = first_end();
    while (end && !(end->socket && end->socket->number == wanted)) end = end->next;
    return PyLong_FromLong(end ? end->socket->descriptors : 0);
}

/* recv(fd, size, peeks) -> bytes, None, or a negative error number */
PyObject *sockets_recv(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    struct socket *socket = find(args[0]);
    Py_ssize_t size = socket ? PyLong_AsSsize_t(args[1]) : -1;
    if (size < 0) return NULL;
    size_t wanted = (size_t)size, there = socket->in ? socket->in->length : 0;
    if (wanted > there) size = (Py_ssize_t)there;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (!bytes) return NULL;
    ssize_t done = socket_read(socket, PyBytes_AS_STRING(bytes), there ? (size_t)size : wanted, args[2] == Py_True);
    if (done == size) return bytes;
    Py_DECREF(bytes);
    return answer(done);
}

/* recv_into(fd, buffer, size, peeks) -> count, None, or a negative error number */
PyObject *sockets_recv_into(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size = PyLong_AsSsize_t(args[2]);
    Py_buffer buffer;
    if (size < 0 || PyObject_GetBuffer(args[1], &buffer, PyBUF_WRITABLE) < 0) return NULL;
    struct socket *socket = find(args[0]); /* behind what may run Python, which may close it */
    PyObject *told = NULL;
    if (socket) told = answer(socket_read(socket, buffer.buf, (size_t)(size < buffer.len ? size : buffer.len), args[3] == Py_True));
    PyBuffer_Release(&buffer);
    return told;
}

/* send(fd, buffer, start) -> count, None, or a negative error number: of the bytes from `start` on */
PyObject *sockets_send(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t start = PyLong_AsSsize_t(args[2]);
    Py_buffer buffer;
    if (start < 0 || PyObject_GetBuffer(args[1], &buffer, PyBUF_SIMPLE) < 0) return NULL;
    struct socket *socket = find(args[0]); /* behind what may run Python, which may close it */
    PyObject *told = NULL;
    if (socket) told = answer(start > buffer.len ? 0 : socket_write(socket, (char *)buffer.buf + start, (size_t)(buffer.len - start)));
    PyBuffer_Release(&buffer);
    return told;
}

/* shutdown(fd, reading, writing) -> 0 or a negative error number */
PyObject *sockets_shutdown(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    struct socket *socket = find(args[0]);
    if (!socket) return NULL;
    if (!socket->in || socket->is_reset) return PyLong_FromLong(-ENOTCONN);
    if (args[1] == Py_True) socket->ended[0] = 1;
    if (args[2] == Py_True && !socket->ended[1]) {
        socket->ended[1] = 1;
        pipe_leave(socket->out, 1);
    }
    return PyLong_FromLong(0);
}

/* abort(fd): the other side's next call fails, as what it has sent is thrown away. */
PyObject *sockets_abort(PyObject *module, PyObject *fd) {
    struct socket *socket = find(fd);
    if (!socket) return NULL;
    if (socket->peer) socket->peer->error = ECONNRESET, socket->peer->is_reset = 1;
    Py_RETURN_NONE;
}

/* take_error(fd) -> the number of the error that is pending, or 0; it no longer is. */
PyObject *sockets_take_error(PyObject *module, PyObject *fd) {
    struct socket *socket = find(fd);
    if (!socket) return NULL;
    int error = socket->error;
    socket->error = 0;
    return PyLong_FromLong(error);
}

enum { READS = 1, WRITES = 2, HAS_ENDED = 4, IS_HUNG_UP = 8, HAS_FAILED = 16, IS_UNCONNECTED = 32, IS_OTHER = 64 };

/* readiness(fd) -> which of these is the case; IS_OTHER for what is neither a pipe nor a socket, or not open. */
PyObject *sockets_readiness(PyObject *module, PyObject *fd) {
    int number = PyLong_AsInt(fd), is = 0;
    if (number == -1 && PyErr_Occurred()) return NULL;
    struct end *end = find_end(number);
    if (!end) return PyLong_FromLong(IS_OTHER);
    const struct socket *socket = end->socket;
    if (!socket && end->writes) {
        if (!end->pipe->open[0]) is = WRITES | HAS_FAILED;
        else if (end->pipe->length + 4096 <= end->pipe->capacity) is = WRITES;
    } else if (!socket) {
        if (end->pipe->length) is = READS;
        if (!end->pipe->open[1]) is |= IS_HUNG_UP;
    } else if (!socket->in) {
        is = IS_UNCONNECTED;
    } else {
        int ended = has_ended(socket), done = socket->ended[1] || socket->is_reset || !socket->out->open[0];
        if (socket->in->length || socket->error || ended) is |= READS;
        if (done || socket->error || pipe_room(socket->out)) is |= WRITES;
        if (ended) is |= HAS_ENDED;
        if (ended && (socket->ended[1] || socket->is_reset)) is |= IS_HUNG_UP;
        if (socket->error) is |= HAS_FAILED;
    }
    return PyLong_FromLong(is);
}
