/* Functions of real numbers by vector instructions, as faster loops. */
#ifndef PROOFBOX_FUNCTIONS_H
#define PROOFBOX_FUNCTIONS_H
#include <stdint.h>

int exp_double(char **args, intptr_t n, const intptr_t *steps);
int exp_float(char **args, intptr_t n, const intptr_t *steps);
int log_double(char **args, intptr_t n, const intptr_t *steps);
int log_float(char **args, intptr_t n, const intptr_t *steps);
/* Of complex numbers. */
int absolute_complex(char **args, intptr_t n, const intptr_t *steps);
#endif
