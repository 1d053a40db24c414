/* Where a run's own objects go. Making the image leaves holes all over its heap; a run that filled them would write to a
 * page here and a page there, and pay for each with a fault, and with a reset that can't be done in one piece. So the
 * holes are filled while the image is made, and a run's objects lie side by side in memory that nobody has touched. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#include "heap.h"
#include <internal/pycore_dict.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_pystate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The largest request that pymalloc serves itself (Objects/obmalloc.c), and its alignment on 32 bits at the least. */
#define SMALL 512
#define ALIGNMENT 8

/* pymalloc's arenas (ARENA_SIZE in Include/internal/pycore_obmalloc.h). With its header, libc would take twice as much for each. It
 * serves other sizes: those of stacks of frames. */
#define ARENA_BYTES ((size_t)1 << 18)
static void *free_arenas;

static void *arena_alloc(void *context, size_t size) {
    if (size != ARENA_BYTES) return malloc(size);
    void **arena = free_arenas;
    if (arena) {
        free_arenas = *arena;
        return arena;
    }
    size_t page = __builtin_wasm_memory_grow(0, ARENA_BYTES >> 16);
    return page == SIZE_MAX ? NULL : (void *)(page << 16);
}

static void arena_free(void *context, void *arena, size_t size) {
    if (size != ARENA_BYTES) {
        free(arena);
    } else if (arena) {
        *(void **)arena = free_arenas;
        free_arenas = arena;
    }
}

void heap_own_arenas(void) {
    PyObjectArenaAllocator ours = {NULL, arena_alloc, arena_free};
    PyObject_SetArenaAllocator(&ours);
}

static void end_gathering(void);

void heap_fill_holes(void) {
    end_gathering();
    /* Objects that wait to be used again lie where they were made. */
    _PyGC_ClearAllFreeLists(_PyInterpreterState_GET());
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

void heap_leave_room(void) {
    /* In pages of WebAssembly, of which libc takes powers of two with what it notes beside them. */
    static const unsigned char pages[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 8, 16};
    /* Else the compiler leaves out what is only allocated and freed. */
    void *volatile blocks[sizeof pages];
    void *arenas[8];
    for (size_t i = 0; i < sizeof pages; i++) blocks[i] = malloc(((size_t)pages[i] << 16) - 64);
    for (size_t i = 0; i < sizeof pages; i++) free(blocks[i]);
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) arenas[i] = arena_alloc(NULL, ARENA_BYTES);
    for (size_t i = sizeof arenas / sizeof *arenas; i-- > 0;) arena_free(NULL, arenas[i], ARENA_BYTES);
}

static void *copy(const void *old, size_t size) {
    void *p = PyMem_Malloc(size);
    return p ? memcpy(p, old, size) : NULL;
}

int heap_move(PyObject *containers) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(containers); i++) {
        PyObject *each = PyList_GET_ITEM(containers, i);
        if (PyDict_CheckExact(each)) {
            PyDictObject *dict = (PyDictObject *)each;
            /* Those of instances are shared; all empty dicts have the same. */
            if (dict->ma_values || !dict->ma_used) continue;
            PyDictKeysObject *keys = copy(dict->ma_keys, _PyDict_KeysSize(dict->ma_keys));
            if (!keys) return -1;
            dict->ma_keys = keys;
        } else if (PyList_CheckExact(each)) {
            PyListObject *list = (PyListObject *)each;
            if (!list->allocated) continue;
            PyObject **items = copy(list->ob_item, list->allocated * sizeof *items);
            if (!items) return -1;
            list->ob_item = items;
        }
    }
    return 0;
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
