/* Pipes within the process, and what has a descriptor there: see pipe.c. */
#ifndef PROOFBOX_PIPE_H
#define PROOFBOX_PIPE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct socket;

/* Bytes in one direction: a ring that grows up to its bound. */
struct pipe {
    char *bytes;
    size_t capacity, max_capacity, start, length;
    /* How many descriptors there are of the reading and of the writing end. */
    int open[2];
};

/* A descriptor of a pipe's end, or of a socket. */
struct end {
    struct end *next;
    struct pipe *pipe;
    struct socket *socket;
    int fd, writes;
};

/* The end behind a descriptor, or NULL. */
struct end *find_end(int fd);
/* The first of the list of all of them. */
struct end *first_end(void);
/* A new descriptor of a socket; -1 with errno. */
int attach_socket(struct socket *socket);

/* A pipe without ends, or NULL; `max_capacity` is `capacity` times a power of two. */
struct pipe *pipe_open(size_t capacity, size_t max_capacity);
/* Ends one use of an end. The last one frees the pipe. */
void pipe_leave(struct pipe *pipe, int writes);
/* Moves up to `n` bytes out of the pipe (copies them, if `peeks`) or into it; their number. */
size_t pipe_take(struct pipe *pipe, char *to, size_t n, int peeks);
size_t pipe_put(struct pipe *pipe, const char *from, size_t n);
/* How many bytes it could take. */
size_t pipe_room(const struct pipe *pipe);

/* pipe() -> (reading end, writing end) */
PyObject *open_pipe(PyObject *module, PyObject *unused);
/* Hears that `to` is a copy of `from`: another number for that end, if it is one. 0, or -1 with errno. */
int pipe_copied(int from, int to);
#endif
