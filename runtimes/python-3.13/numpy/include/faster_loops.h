/* Inner loops by vector instructions, for what numpy has them natively. */
#ifndef PROOFBOX_LOOPS_H
#define PROOFBOX_LOOPS_H
#include <stdint.h>

/* Does the work, or gives 0 when these operands are not for it, and nothing is changed. */
typedef int (*faster_loop)(char **args, intptr_t n, const intptr_t *steps);

/* That for a ufunc with operands of these types; NULL when there is none. */
faster_loop faster_loop_for(const char *ufunc, int in, int out, const int *types);
#endif
