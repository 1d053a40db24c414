/* Where a run's own objects go: heap.c. */
#ifndef PROOFBOX_HEAP_H
#define PROOFBOX_HEAP_H

/* Fills the holes of the heap. Last of all while the image is made. */
void heap_fill_holes(void);

/* `_proofbox.gather(function)`: what the function makes lies side by side, and is never freed. While the image is made. */
PyObject *gather(PyObject *module, PyObject *make);
#endif
