/* What the processor notes elsewhere while it calculates, worked out here from what went in and what came out: a NaN from
 * no NaN was an invalid operation, an infinity from finite numbers an overflow or a pole. */
#ifndef PROOFBOX_FLOAT_STATUS_H
#define PROOFBOX_FLOAT_STATUS_H
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define STATUS_OPERANDS 8

/* How the status of one inner loop is to be worked out, and which faster loop may stand in for it: faster_loops.h. */
typedef struct {
    int (*faster)(char **args, intptr_t n, const intptr_t *steps);
    unsigned char in, out, pole, underflows, product, silent;
    struct {
        unsigned char format, parts, size;
    } operand[STATUS_OPERANDS];
} status_plan;

typedef void (*status_loop)(char **, const intptr_t *, const intptr_t *, void *);

/* Whether the loops of that ufunc for these types can raise anything by what they calculate, or there is a faster one. */
int status_plan_loop(status_plan *, const char *ufunc, int in, int out, const int *types, int has_core);

/* Runs the loop, and notes what it raised. */
void status_run_loop(const status_plan *, status_loop, char **args, const intptr_t *dimensions, const intptr_t *steps, void *data);

/* What one operation on numbers of that type raised: for numpy's scalars. NULL for an operand that is not there. */
void status_scalar(const char *operation, int type, const void *a, const void *b, const void *out);

/* Whether anybody wants to hear of underflow; hardly anybody does. */
extern int status_watch_underflow;

/* Conversions to integers as x86-64 does them, whose results beyond the range C leaves open. */
#define STATUS_CONVERSIONS(real, suffix)                                                                                         \
    static inline int64_t status_to_int64##suffix(real x) {                                                                      \
        if (x >= (real)-0x1p63 && x < (real)0x1p63) return (int64_t)x;                                                           \
        feraiseexcept(FE_INVALID);                                                                                               \
        return INT64_MIN;                                                                                                        \
    }                                                                                                                            \
    static inline int32_t status_to_int32##suffix(real x) {                                                                      \
        if (x > (real)-0x1p31 - 1 && x < (real)0x1p31) return (int32_t)x;                                                        \
        feraiseexcept(FE_INVALID);                                                                                               \
        return INT32_MIN;                                                                                                        \
    }                                                                                                                            \
    static inline uint64_t status_to_uint64##suffix(real x) {                                                                    \
        return x >= (real)0x1p63 ? (uint64_t)status_to_int64##suffix(x - (real)0x1p63) ^ (uint64_t)1 << 63                       \
                                 : (uint64_t)status_to_int64##suffix(x);                                                         \
    }
STATUS_CONVERSIONS(double, _d)
STATUS_CONVERSIONS(long double, _l)

#ifndef __cplusplus
#define STATUS_TO(kind, x) _Generic((x), long double: status_to_##kind##_l, default: status_to_##kind##_d)(x)
#define STATUS_TO_BYTE(x) ((int8_t)STATUS_TO(int32, x))
#define STATUS_TO_UBYTE(x) ((uint8_t)STATUS_TO(int32, x))
#define STATUS_TO_SHORT(x) ((int16_t)STATUS_TO(int32, x))
#define STATUS_TO_USHORT(x) ((uint16_t)STATUS_TO(int32, x))
#define STATUS_TO_INT(x) STATUS_TO(int32, x)
#define STATUS_TO_UINT(x) ((uint32_t)STATUS_TO(int64, x))
#define STATUS_TO_LONG(x) STATUS_TO(int32, x)
#define STATUS_TO_ULONG(x) ((uint32_t)STATUS_TO(int64, x))
#define STATUS_TO_LONGLONG(x) STATUS_TO(int64, x)
#define STATUS_TO_ULONGLONG(x) STATUS_TO(uint64, x)

static inline float status_to_float(long double x) {
    float y = (float)x;
    if (__builtin_isinf(y) && !__builtin_isinf(x)) feraiseexcept(FE_OVERFLOW);
    return y;
}
static inline double status_to_double(long double x) {
    double y = (double)x;
    if (__builtin_isinf(y) && !__builtin_isinf(x)) feraiseexcept(FE_OVERFLOW);
    return y;
}
static inline float status_double_to_float(double x) {
    float y = (float)x;
    if (__builtin_isinf(y) && !__builtin_isinf(x)) feraiseexcept(FE_OVERFLOW);
    return y;
}
#define STATUS_TO_FLOAT(x) _Generic((x), long double: status_to_float, default: status_double_to_float)(x)
#define STATUS_TO_CFLOAT(x) STATUS_TO_FLOAT(x)
#define STATUS_TO_DOUBLE(x) status_to_double(x)
#define STATUS_TO_CDOUBLE(x) status_to_double(x)

/* For the preprocessor: which of numpy's types lose something when they become which. */
#define STATUS_IS_REAL_FLOAT 1
#define STATUS_IS_REAL_DOUBLE 2
#define STATUS_IS_REAL_LONGDOUBLE 3
#define STATUS_IS_REAL_CFLOAT 1
#define STATUS_IS_REAL_CDOUBLE 2
#define STATUS_IS_REAL_CLONGDOUBLE 3
#define STATUS_IS_INT_BYTE 1
#define STATUS_IS_INT_UBYTE 1
#define STATUS_IS_INT_SHORT 1
#define STATUS_IS_INT_USHORT 1
#define STATUS_IS_INT_INT 1
#define STATUS_IS_INT_UINT 1
#define STATUS_IS_INT_LONG 1
#define STATUS_IS_INT_ULONG 1
#define STATUS_IS_INT_LONGLONG 1
#define STATUS_IS_INT_ULONGLONG 1
#endif

#ifdef __cplusplus
}
#endif
#endif
