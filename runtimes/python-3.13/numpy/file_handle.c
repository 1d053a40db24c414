/* C's files on descriptors that Python has open. One is made for each descriptor and kept: closing it would close Python's. */
#include <stdio.h>
#include <unistd.h>

#define DESCRIPTORS 256
static FILE *readers[DESCRIPTORS], *writers[DESCRIPTORS];

FILE *file_handle(int descriptor, const char *mode) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return fdopen(descriptor, mode);
    FILE **file = (*mode == 'r' ? readers : writers) + descriptor;
    if (!*file) *file = fdopen(descriptor, mode);
    if (!*file) return NULL;
    /* It may be another file by now, and somewhere else. */
    off_t position = lseek(descriptor, 0, SEEK_CUR);
    clearerr(*file);
    fseeko(*file, position < 0 ? 0 : position, SEEK_SET);
    return *file;
}
