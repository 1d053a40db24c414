/* Where a run's own objects go: heap.c. */
#ifndef PROOFBOX_HEAP_H
#define PROOFBOX_HEAP_H

/* Takes pymalloc's arenas from WebAssembly itself. Before anything is allocated. */
void heap_own_arenas(void);

/* Fills the holes of the heap. Last of all while the image is made. */
void heap_fill_holes(void);

/* Leaves room for what runs allocate, after the holes have been filled: an interpreter whose memory has grown is not used again. */
void heap_leave_room(void);

/* Moves what dicts and lists of a list hold, their tables and items, to where a run's own objects will lie: each run writes to
 * them. A table stays as it is, with its version, by which code finds values in it. What was moved leaves no hole. */
int heap_move(PyObject *containers);

/* `_proofbox.gather(function)`: what the function makes lies side by side, and is never freed. While the image is made. */
PyObject *gather(PyObject *module, PyObject *make);
#endif
