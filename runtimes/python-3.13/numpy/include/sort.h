/* Sorting of numbers by their digits, which takes no comparisons, for numpy's own sorting functions. */
#ifndef PROOFBOX_SORT_H
#define PROOFBOX_SORT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Sorts numbers of that type (NPY_INT and so on), as numpy does: NaN and NaT come last. 0, and nothing is changed, when it
 * is not for this: few numbers, another type, zeros of both signs that must stay in order, no memory. */
int sort_numbers(int type, void *numbers, intptr_t n, int must_be_stable);

/* The same for positions of numbers; always stable. */
int sort_positions(int type, const void *numbers, intptr_t *positions, intptr_t n);
#ifdef __cplusplus
}
#endif
#endif
