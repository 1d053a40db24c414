/* Sockets within the process: see sockets.c. */
#ifndef PROOFBOX_SOCKETS_H
#define PROOFBOX_SOCKETS_H
#include "pipe.h"
#include <sys/types.h>

#define WOULD_WAIT (-2)

/* Counts the descriptors of a socket. The last one to leave closes it. */
void socket_join(struct socket *socket);
void socket_leave(struct socket *socket);
/* The number of bytes; WOULD_WAIT; or -1 with errno. */
ssize_t socket_read(struct socket *socket, char *to, size_t n, int peeks);
ssize_t socket_write(struct socket *socket, const char *from, size_t n);

PyObject *sockets_open(PyObject *module, PyObject *number);
PyObject *sockets_connect(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sockets_number(PyObject *module, PyObject *fd);
PyObject *sockets_count(PyObject *module, PyObject *number);
PyObject *sockets_abort(PyObject *module, PyObject *fd);
PyObject *sockets_recv(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sockets_recv_into(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sockets_send(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sockets_shutdown(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *sockets_take_error(PyObject *module, PyObject *fd);
PyObject *sockets_readiness(PyObject *module, PyObject *fd);
#endif
