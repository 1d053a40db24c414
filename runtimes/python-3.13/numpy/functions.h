/* Functions of real numbers by vector instructions, as faster loops. */
#ifndef PROOFBOX_FUNCTIONS_H
#define PROOFBOX_FUNCTIONS_H
#include <stdint.h>

/* By numpy's names, with _double and _float. */
#define FOR_EACH_FUNCTION(x)                                                                                                     \
    x(exp) x(exp2) x(expm1) x(tanh) x(sinh) x(cosh) x(log) x(log2) x(log10) x(log1p) x(arctanh) x(arcsinh) x(arccosh) x(sin)     \
    x(cos) x(tan) x(arctan) x(arcsin) x(arccos) x(cbrt)
#define FOR_EACH_FUNCTION_OF_TWO(x) x(arctan2) x(hypot)

#define DECLARE_FUNCTION(name)                                                                                                   \
    int name##_double(char **args, intptr_t n, const intptr_t *steps);                                                           \
    int name##_float(char **args, intptr_t n, const intptr_t *steps);
FOR_EACH_FUNCTION(DECLARE_FUNCTION)
FOR_EACH_FUNCTION_OF_TWO(DECLARE_FUNCTION)

/* Of complex numbers. */
int absolute_complex(char **args, intptr_t n, const intptr_t *steps);
#endif
