/* Where a run's own objects go. Making the image leaves holes all over its heap; a run that filled them would write to a
 * page here and a page there, and pay for each with a fault, and with a reset that can't be done in one piece. So the
 * holes are filled while the image is made, and a run's objects lie side by side in memory that nobody has touched. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "heap.h"
#include <stdlib.h>
#include <string.h>

/* The largest request that pymalloc serves itself (Objects/obmalloc.c), and its alignment on 32 bits at the least. */
#define SMALL 512
#define ALIGNMENT 8

static void end_gathering(void);

void heap_fill_holes(void) {
    end_gathering();
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

/* Objects that are made side by side: code that every run executes. Its inline caches count, so a run writes to each of its
 * pages; together these are few, and lie in one piece. What is made so is never freed. */
#define GATHERED_BYTES ((size_t)1 << 21)
static char *gathered, *gathered_top, *gathered_end;
static PyMemAllocatorEx usual;

static int is_gathered(void *p) { return (char *)p >= gathered && (char *)p < gathered_end; }

static void *gather_malloc(void *context, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (size > (size_t)(gathered_end - gathered_top)) return NULL;
    char *p = gathered_top;
    gathered_top += size;
    return p;
}

static void *gather_calloc(void *context, size_t count, size_t size) {
    void *p = gather_malloc(context, count * size);
    return p ? memset(p, 0, count * size) : NULL;
}

static void *gather_realloc(void *context, void *old, size_t size) {
    if (old && !is_gathered(old)) return usual.realloc(usual.ctx, old, size);
    void *p = gather_malloc(context, size);
    if (p && old) memmove(p, old, size < (size_t)((char *)p - (char *)old) ? size : (size_t)((char *)p - (char *)old));
    return p;
}

static void gather_free(void *context, void *p) {
    if (!is_gathered(p)) usual.free(usual.ctx, p);
}

/* Between the gathering and the end of the image's making, something that was made along the way may still be dropped. */
static void *usual_malloc(void *context, size_t size) { return usual.malloc(usual.ctx, size); }
static void *usual_calloc(void *context, size_t count, size_t size) { return usual.calloc(usual.ctx, count, size); }
static void *moving_realloc(void *context, void *old, size_t size) {
    if (!old || !is_gathered(old)) return usual.realloc(usual.ctx, old, size);
    void *p = usual.malloc(usual.ctx, size);
    if (p) memcpy(p, old, size < (size_t)(gathered_end - (char *)old) ? size : (size_t)(gathered_end - (char *)old));
    return p;
}

static void end_gathering(void) {
    if (gathered) PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &usual);
}

PyObject *gather(PyObject *module, PyObject *make) {
    if (gathered || !(gathered = gathered_top = aligned_alloc(65536, GATHERED_BYTES))) {
        PyErr_SetString(PyExc_RuntimeError, "objects are gathered once");
        return NULL;
    }
    gathered_end = gathered + GATHERED_BYTES;
    PyMemAllocatorEx ours = {NULL, gather_malloc, gather_calloc, gather_realloc, gather_free};
    PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &usual);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &ours);
    PyObject *result = PyObject_CallNoArgs(make);
    PyMemAllocatorEx afterwards = {NULL, usual_malloc, usual_calloc, moving_realloc, gather_free};
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &afterwards);
    return result;
}
