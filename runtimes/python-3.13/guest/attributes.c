/* Permission bits and owners of files, which WASI does not know: the host puts them into bytes of its records that WASI
 * leaves free, and has calls of its own to change them. The functions of libc that drop these bytes are here instead. */
#include "attributes.h"
#include "descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST(name) __attribute__((import_module("proofbox"), import_name(name))) extern

HOST("path_set_mode") int32_t host_path_set_mode(int fd, int flags, const char *path, size_t length, int mode);
HOST("path_set_owner") int32_t host_path_set_owner(int fd, int flags, const char *path, size_t length, int owner);
HOST("fd_set_mode") int32_t host_fd_set_mode(int fd, int mode);
HOST("set_mask") int32_t host_set_mask(int mask);
HOST("user") int32_t host_user(void);

/* Where the host puts them. */
#define MODE_AT 18
#define OWNER_AT 20

static struct timespec time_of(__wasi_timestamp_t nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
}

static mode_t type_of(__wasi_filetype_t type) {
    switch (type) {
    case __WASI_FILETYPE_BLOCK_DEVICE: return S_IFBLK;
    case __WASI_FILETYPE_CHARACTER_DEVICE: return S_IFCHR;
    case __WASI_FILETYPE_DIRECTORY: return S_IFDIR;
    case __WASI_FILETYPE_REGULAR_FILE: return S_IFREG;
    case __WASI_FILETYPE_SOCKET_DGRAM:
    case __WASI_FILETYPE_SOCKET_STREAM: return S_IFSOCK;
    case __WASI_FILETYPE_SYMBOLIC_LINK: return S_IFLNK;
    default: return 0;
    }
}

void stat_of_record(const __wasi_filestat_t *of, struct stat *to) {
    uint16_t mode;
    uint32_t owner;
    memcpy(&mode, (const char *)of + MODE_AT, sizeof mode);
    memcpy(&owner, (const char *)of + OWNER_AT, sizeof owner);
    *to = (struct stat){
        .st_dev = of->dev, .st_ino = of->ino, .st_nlink = of->nlink, .st_size = of->size,
        .st_mode = type_of(of->filetype) | mode, .st_uid = owner, .st_gid = owner,
        .st_atim = time_of(of->atim), .st_mtim = time_of(of->mtim), .st_ctim = time_of(of->ctim),
    };
}

/* ---------------------------------------------------------------- files that are read elsewhere than where they seem to be */

/* The root directory, which all absolute paths are relative to. */
#define ROOT 3
/* What is read below the one directory is read below the other. Both relative to the root; NULL while there is no such. */
static char *seeming, *actual;

/* The path that is read in the place of another: that one, or one to be freed. */
static const char *path_read(int fd, const char *path) {
    size_t length = strlen(seeming);
    if (fd != ROOT || strncmp(path, seeming, length) || (path[length] && path[length] != '/')) return path;
    char *found = malloc(strlen(actual) + strlen(path + length) + 1);
    if (!found) return path;
    strcpy(found, actual);
    return strcat(found, path + length);
}

static void free_path(const char *found, const char *path) {
    if (found != path) free((char *)found);
}

PyObject *read_elsewhere(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 2 || !PyBytes_Check(args[0]) || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "read_elsewhere(seeming, actual)");
        return NULL;
    }
    char *from = strdup(PyBytes_AS_STRING(args[0])), *to = strdup(PyBytes_AS_STRING(args[1]));
    if (!from || !to) {
        free(from);
        free(to);
        return PyErr_NoMemory();
    }
    free(seeming);
    free(actual);
    seeming = from, actual = to;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- in place of libc's: as the first object that is linked, this one comes before those that would fetch them */

static int open_at(int fd, const char *path, int flags) {
    static const __wasi_rights_t reading = __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_READDIR;
    static const __wasi_rights_t writing = __WASI_RIGHTS_FD_DATASYNC | __WASI_RIGHTS_FD_WRITE | __WASI_RIGHTS_FD_ALLOCATE | __WASI_RIGHTS_FD_FILESTAT_SET_SIZE;
    __wasi_fdstat_t at;
    __wasi_errno_t error = __wasi_fd_fdstat_get(fd, &at);
    __wasi_fd_t opened = 0;
    if (!error) {
        __wasi_rights_t passed_on = at.fs_rights_inheriting;
        __wasi_rights_t rights = passed_on & ~(flags & O_RDONLY ? 0 : reading) & ~(flags & O_WRONLY ? 0 : writing);
        __wasi_lookupflags_t follow = flags & O_NOFOLLOW ? 0 : __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW;
        error = __wasi_path_open(fd, follow, path, (flags >> 12) & 0xfff, rights, passed_on, flags & 0xfff, &opened);
    }
    if (error) {
        errno = error;
        return -1;
    }
    return (int)opened;
}

int __wasilibc_nocwd_openat_nomode(int fd, const char *path, int flags) {
    if (!seeming || flags & (O_WRONLY | O_CREAT | O_TRUNC)) return open_at(fd, path, flags);
    const char *found = path_read(fd, path);
    int opened = open_at(fd, found, flags);
    free_path(found, path);
    return opened;
}

int __wasilibc_nocwd_fstatat(int fd, const char *restrict path, struct stat *restrict to, int flags) {
    __wasi_filestat_t of;
    __wasi_lookupflags_t follow = flags & AT_SYMLINK_NOFOLLOW ? 0 : __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW;
    const char *found = seeming ? path_read(fd, path) : path;
    __wasi_errno_t error = __wasi_path_filestat_get(fd, follow, found, &of);
    free_path(found, path);
    if (error) {
        errno = error;
        return -1;
    }
    stat_of_record(&of, to);
    return 0;
}

int __wasilibc_nocwd_faccessat(int fd, const char *path, int wanted, int flags) {
    struct stat of;
    if (__wasilibc_nocwd_fstatat(fd, path, &of, flags) < 0) return -1;
    uid_t user = (uid_t)host_user();
    mode_t bits = of.st_mode >> (of.st_uid == user ? 6 : 0);
    mode_t granted = (bits & 4 ? R_OK : 0) | (bits & 2 ? W_OK : 0) | (bits & 1 ? X_OK : 0);
    /* Root may execute what anybody may. */
    if (user == 0) granted = R_OK | W_OK | (S_ISDIR(of.st_mode) || of.st_mode & 0111 ? X_OK : 0);
    if ((wanted & (R_OK | W_OK | X_OK)) & ~granted) {
        errno = EACCES;
        return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- for environment.py */

/* What CPython's `stat` says of a mode (python_patches.py). */
mode_t proofbox_mode(const struct stat *st) {
    return st->st_mode;
}

PyObject *set_mode(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 3 || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "set_mode(fd, path, mode)");
        return NULL;
    }
    int fd = (int)PyLong_AsLong(args[0]), mode = (int)PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    const char *path = PyBytes_AS_STRING(args[1]);
    return PyLong_FromLong(host_path_set_mode(host(fd), __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path, PyBytes_GET_SIZE(args[1]), mode));
}

PyObject *set_owner(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 4 || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "set_owner(fd, path, owner, follow)");
        return NULL;
    }
    int fd = (int)PyLong_AsLong(args[0]), owner = (int)PyLong_AsLong(args[2]), follow = PyObject_IsTrue(args[3]);
    if (PyErr_Occurred()) return NULL;
    const char *path = PyBytes_AS_STRING(args[1]);
    int flags = follow ? __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW : 0;
    return PyLong_FromLong(host_path_set_owner(host(fd), flags, path, PyBytes_GET_SIZE(args[1]), owner));
}

PyObject *set_descriptor_mode(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "set_descriptor_mode(fd, mode)");
        return NULL;
    }
    int fd = (int)PyLong_AsLong(args[0]), mode = (int)PyLong_AsLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLong(host_fd_set_mode(host(fd), mode));
}

PyObject *set_mask(PyObject *module, PyObject *mask) {
    int wanted = (int)PyLong_AsLong(mask);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLong(host_set_mask(wanted));
}

PyObject *user_number(PyObject *module, PyObject *unused) {
    return PyLong_FromLong(host_user());
}
