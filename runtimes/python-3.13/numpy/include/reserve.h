/* For C++ code that would throw when it finds no memory. */
#ifndef PROOFBOX_RESERVE_H
#define PROOFBOX_RESERVE_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Whether there is that much memory. Nothing else runs between this and its use. */
int reserve(size_t bytes);
#ifdef __cplusplus
}
#endif
#endif
