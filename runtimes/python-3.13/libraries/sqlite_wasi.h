/* Included before sqlite3.c: file locks for SQLite's ordinary "unix" VFS, which needs fcntl locks that WASI lacks.
 * One process owns the sandbox's files, and that VFS already arbitrates between the connections of one process, so
 * the operating system's half may always say yes. */
#include <fcntl.h>
#include <stdarg.h>

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2
#ifndef F_GETLK
#define F_GETLK 12
#define F_SETLK 13
#define F_SETLKW 14
#endif

static int always_granted(int fd, int command, ...) {
    (void)fd;
    if (command == F_GETLK) {
        va_list arguments;
        va_start(arguments, command);
        va_arg(arguments, struct flock *)->l_type = F_UNLCK;
        va_end(arguments);
    }
    return 0;
}

#define fcntl always_granted
