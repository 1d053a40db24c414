/* Permission bits of files. WASI knows none, so they are kept here: what `chmod` gave a file, by its inode's number, which
 * no other file ever gets; the rest have what a usual umask leaves. */
#include "modes.h"
#include <stdlib.h>
#include <sys/stat.h>

#define BITS 07777
#define LEAST_CAPACITY 64

struct entry { ino_t inode; mode_t mode; };
/* Open addressing; a number of 0 is a free entry. */
static struct entry *entries;
static size_t capacity, count;

static struct entry *find(ino_t inode) {
    size_t at = (size_t)(inode * 0x9E3779B97F4A7C15ull >> 32) & (capacity - 1);
    while (entries[at].inode && entries[at].inode != inode) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static int grow(void) {
    struct entry *old = entries;
    size_t old_capacity = capacity, larger = capacity ? 2 * capacity : LEAST_CAPACITY;
    struct entry *made = calloc(larger, sizeof *made);
    if (!made) return -1;
    entries = made;
    capacity = larger;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].inode) *find(old[i].inode) = old[i];
    free(old);
    return 0;
}

mode_t proofbox_mode(const struct stat *st) {
    if (st->st_mode & BITS) return st->st_mode;
    if (count) {
        struct entry *entry = find(st->st_ino);
        if (entry->inode) return st->st_mode | entry->mode;
    }
    switch (st->st_mode & S_IFMT) {
    case S_IFREG: return st->st_mode | 0644;
    case S_IFDIR: return st->st_mode | 0755;
    case S_IFLNK: return st->st_mode | 0777;
    case S_IFCHR: return st->st_mode | 0666;
    default: return st->st_mode;
    }
}

PyObject *set_mode(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "set_mode(inode, mode)");
        return NULL;
    }
    ino_t inode = PyLong_AsUnsignedLongLong(args[0]);
    mode_t mode = (mode_t)PyLong_AsLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (2 * count >= capacity && grow() < 0) return PyErr_NoMemory();
    struct entry *entry = find(inode);
    if (!entry->inode) count++;
    *entry = (struct entry){inode, mode & BITS};
    Py_RETURN_NONE;
}
