/* Where a run's own objects go. Making the image leaves holes all over its heap; a run that filled them would write to a
 * page here and a page there, and pay for each with a fault, and with a reset that can't be done in one piece. So the
 * holes are filled while the image is made, and a run's objects lie side by side in memory that nobody has touched. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "heap.h"
#include <stdlib.h>

/* The largest request that pymalloc serves itself (Objects/obmalloc.c), and its alignment on 32 bits at the least. */
#define SMALL 512
#define ALIGNMENT 8

void heap_fill_holes(void) {
    char *top = (char *)(__builtin_wasm_memory_size(0) * 65536);
    /* libc's holes, the largest first. What is got is never given back. */
    for (size_t size = 1 << 20; size >= 16; size -= size > 4096 ? size / 4 : size > 256 ? 64 : 8) {
        char *block;
        while ((block = malloc(size)) != NULL && block < top) {}
        free(block);
    }
    /* pymalloc's: until each size is served from an arena beyond the old top. */
    for (size_t size = SMALL; size >= ALIGNMENT; size -= ALIGNMENT) {
        char *block;
        while ((block = PyObject_Malloc(size)) != NULL && block < top) {}
        PyObject_Free(block);
    }
}
