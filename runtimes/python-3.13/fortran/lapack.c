/* Routines of BLAS and LAPACK that are written in Fortran 90 or ask the compiler about the machine; and products of matrices,
 * which numpy's part of the runtime has faster. */
#include <float.h>
#include <gemm.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef int integer;
typedef struct {
    float re, im;
} single_complex;
typedef struct {
    double re, im;
} double_complex;

/* For f2c's library: files without a name are not to be had. */
FILE *f77_tmpfile(void) { return NULL; }

void xerbla_(const char *routine, const integer *argument) {
    int length = (int)strcspn(routine, " ");
    fprintf(stderr, " ** On entry to %.*s parameter number %d had an illegal value\n", length < 32 ? length : 32, routine, *argument);
}

integer disnan_(const double *x) { return isnan(*x); }
integer sisnan_(const float *x) { return isnan(*x); }
integer dlaisnan_(const double *x, const double *y) { return *x != *y; }
integer slaisnan_(const float *x, const float *y) { return *x != *y; }

/* The machine's numbers, by the first letter of their names. */
static double machine(char what, double epsilon, int digits, double least, int least_exponent, double most, int most_exponent) {
    switch (what & ~32) {
    case 'E': return epsilon / 2;
    case 'S': return least;
    case 'B': return FLT_RADIX;
    case 'P': return epsilon / 2 * FLT_RADIX;
    case 'N': return digits;
    case 'R': return 1;
    case 'M': return least_exponent;
    case 'U': return least;
    case 'L': return most_exponent;
    case 'O': return most;
    }
    return 0;
}
double dlamch_(const char *what) { return machine(*what, DBL_EPSILON, DBL_MANT_DIG, DBL_MIN, DBL_MIN_EXP, DBL_MAX, DBL_MAX_EXP); }
float slamch_(const char *what) { return (float)machine(*what, FLT_EPSILON, FLT_MANT_DIG, FLT_MIN, FLT_MIN_EXP, FLT_MAX, FLT_MAX_EXP); }

/* A sum that is stored before it is used. */
double dlamc3_(const double *a, const double *b) { return *a + *b; }
float slamc3_(const float *a, const float *b) { return *a + *b; }

/* A size of workspace as a number that is not smaller. */
double droundup_lwork_(const integer *size) { return *size; }
float sroundup_lwork_(const integer *size) {
    float rounded = (float)*size;
    return (double)rounded < *size ? rounded * (1 + FLT_EPSILON) : rounded;
}

/* Where the first of the largest numbers is, from 1; numbers that are none count only where there are no others. */
#define LARGEST(name, real)                                                                                                      \
    integer name(const integer *n, const real *x) {                                                                              \
        integer found = 0;                                                                                                       \
        for (integer i = 1; i < *n; i++)                                                                                         \
            if (x[i] > x[found] || (isnan(x[found]) && !isnan(x[i]))) found = i;                                                 \
        return *n > 0 ? found + 1 : 0;                                                                                           \
    }
LARGEST(idmaxl_, double)
LARGEST(ismaxl_, float)

/* The root of scale^2 * sum and the squares of n numbers, without overflow on the way: as a new scale and sum. */
#define SUM_OF_SQUARES(name, real, parts, absolute)                                                                              \
    void name(const integer *n, const real *x, const integer *step, real *scale, real *sum) {                                    \
        if (isnan(*scale) || isnan(*sum)) return;                                                                                \
        if (*sum == 0) *scale = 1;                                                                                               \
        if (*scale == 0) *scale = 1, *sum = 0;                                                                                   \
        ptrdiff_t at = *step < 0 ? (ptrdiff_t)(1 - *n) * *step * parts : 0;                                                      \
        for (integer i = 0; i < *n; i++, at += (ptrdiff_t)*step * parts)                                                         \
            for (int part = 0; part < parts; part++) {                                                                           \
                real size = absolute(x[at + part]);                                                                              \
                if (size == 0) continue;                                                                                         \
                if (*sum == 0) {                                                                                                 \
                    *scale = size, *sum = 1;                                                                                     \
                } else if (*scale < size) {                                                                                      \
                    *sum = 1 + *sum * (*scale / size) * (*scale / size), *scale = size;                                          \
                } else if (isinf(size)) {                                                                                        \
                    *sum += 1;                                                                                                   \
                } else {                                                                                                         \
                    *sum += (size / *scale) * (size / *scale);                                                                   \
                }                                                                                                                \
            }                                                                                                                    \
    }
SUM_OF_SQUARES(dlassq_, double, 1, fabs)
SUM_OF_SQUARES(slassq_, float, 1, fabsf)
SUM_OF_SQUARES(zlassq_, double, 2, fabs)
SUM_OF_SQUARES(classq_, float, 2, fabsf)

/* The square of a sum of squares: directly where no digit is lost by that. */
static double norm(integer n, const double *x, integer step, int parts, void (*careful)(const integer *, const double *, const integer *, double *, double *)) {
    double sum = 0;
    ptrdiff_t at = step < 0 ? (ptrdiff_t)(1 - n) * step * parts : 0;
    for (integer i = 0; i < n; i++, at += (ptrdiff_t)step * parts)
        for (int part = 0; part < parts; part++) sum += x[at + part] * x[at + part];
    if (isnan(sum) || (sum > 1e-280 && sum < 1e300)) return sqrt(sum);
    double scale = 1, rest = 0;
    careful(&n, x, &step, &scale, &rest);
    return scale * sqrt(rest);
}
static float single_norm(integer n, const float *x, integer step, int parts) {
    double sum = 0;
    ptrdiff_t at = step < 0 ? (ptrdiff_t)(1 - n) * step * parts : 0;
    for (integer i = 0; i < n; i++, at += (ptrdiff_t)step * parts)
        for (int part = 0; part < parts; part++) sum += (double)x[at + part] * x[at + part];
    return (float)sqrt(sum);
}
double dnrm2_(const integer *n, const double *x, const integer *step) { return norm(*n, x, *step, 1, dlassq_); }
double dznrm2_(const integer *n, const double *x, const integer *step) { return norm(*n, x, *step, 2, zlassq_); }
float snrm2_(const integer *n, const float *x, const integer *step) { return single_norm(*n, x, *step, 1); }
float scnrm2_(const integer *n, const float *x, const integer *step) { return single_norm(*n, x, *step, 2); }

/* Rotations that make the second of two numbers zero. `hypot` neither overflows nor loses small numbers. */
#define ROTATIONS(lartg, rotg, real, hypotenuse, sign)                                                                           \
    void lartg(const real *f, const real *g, real *c, real *s, real *r) {                                                        \
        if (*g == 0) {                                                                                                           \
            *c = 1, *s = 0, *r = *f;                                                                                             \
        } else if (*f == 0) {                                                                                                    \
            *c = 0, *s = sign(1, *g), *r = *g < 0 ? -*g : *g;                                                                    \
        } else {                                                                                                                 \
            real a = *f, b = *g, length = hypotenuse(a, b);                                                                      \
            real whole = sign(length, a);                                                                                        \
            *c = (a < 0 ? -a : a) / length, *s = b / whole, *r = whole;                                                          \
        }                                                                                                                        \
    }                                                                                                                            \
    void rotg(real *a, real *b, real *c, real *s) {                                                                              \
        real x = *a, y = *b;                                                                                                     \
        if (y == 0) {                                                                                                            \
            *c = 1, *s = 0, *b = 0;                                                                                              \
        } else if (x == 0) {                                                                                                     \
            *c = 0, *s = 1, *a = y, *b = 1;                                                                                      \
        } else {                                                                                                                 \
            int first = (x < 0 ? -x : x) > (y < 0 ? -y : y);                                                                     \
            real r = sign(hypotenuse(x, y), first ? x : y);                                                                      \
            *c = x / r, *s = y / r, *a = r, *b = first ? *s : *c != 0 ? 1 / *c : 1;                                              \
        }                                                                                                                        \
    }
ROTATIONS(dlartg_, drotg_, double, hypot, copysign)
ROTATIONS(slartg_, srotg_, float, hypotf, copysignf)

/* The same for complex numbers, calculated in `wide`: of two doubles the larger part becomes about 1 first. */
#define COMPLEX_ROTATIONS(lartg, rotg, number, real, hypotenuse)                                                                 \
    void lartg(const number *f, const number *g, real *c, number *s, number *r) {                                                \
        double f_size = hypotenuse(f->re, f->im), g_size = hypotenuse(g->re, g->im);                                             \
        if (g_size == 0) {                                                                                                       \
            number whole = *f;                                                                                                   \
            *c = 1, *s = (number){0, 0}, *r = whole;                                                                             \
        } else if (f_size == 0) {                                                                                                \
            number turned = {g->re / g_size, -g->im / g_size};                                                                   \
            *c = 0, *s = turned, *r = (number){g_size, 0};                                                                       \
        } else {                                                                                                                 \
            double length = hypotenuse(f_size, g_size), re = f->re / f_size, im = f->im / f_size;                                \
            double g_re = g->re / length, g_im = g->im / length;                                                                 \
            *c = f_size / length;                                                                                                \
            *s = (number){re * g_re + im * g_im, im * g_re - re * g_im};                                                         \
            *r = (number){re * length, im * length};                                                                             \
        }                                                                                                                        \
    }                                                                                                                            \
    void rotg(number *a, const number *b, real *c, number *s) {                                                                  \
        number r, f = *a;                                                                                                        \
        lartg(&f, b, c, s, &r);                                                                                                  \
        *a = r;                                                                                                                  \
    }
COMPLEX_ROTATIONS(zlartg_, zrotg_, double_complex, double, hypot)
COMPLEX_ROTATIONS(clartg_, crotg_, single_complex, float, hypot)

/* C = alpha A B + beta C, in columns. */
#define PRODUCT(name, title, real, gemm)                                                                                         \
    void name(const char *a_turned, const char *b_turned, const integer *m, const integer *n, const integer *k, const real *alpha, \
              const real *a, const integer *a_step, const real *b, const integer *b_step, const real *beta, real *c,             \
              const integer *c_step) {                                                                                           \
        int a_plain = (*a_turned & ~32) == 'N', b_plain = (*b_turned & ~32) == 'N';                                              \
        integer wrong = !a_plain && !strchr("TtCc", *a_turned)        ? 1                                                        \
                        : !b_plain && !strchr("TtCc", *b_turned)      ? 2                                                        \
                        : *m < 0                                      ? 3                                                        \
                        : *n < 0                                      ? 4                                                        \
                        : *k < 0                                      ? 5                                                        \
                        : *a_step < (a_plain ? *m : *k) || *a_step < 1 ? 8                                                       \
                        : *b_step < (b_plain ? *k : *n) || *b_step < 1 ? 10                                                      \
                        : *c_step < *m || *c_step < 1                  ? 13                                                      \
                                                                       : 0;                                                      \
        if (wrong) {                                                                                                             \
            xerbla_(title, &wrong);                                                                                              \
            return;                                                                                                              \
        }                                                                                                                        \
        for (integer j = 0; j < *n && *beta != 1; j++)                                                                           \
            for (integer i = 0; i < *m; i++) {                                                                                   \
                real *at = c + i + (ptrdiff_t)j * *c_step;                                                                       \
                *at = *beta == 0 ? 0 : *beta * *at;                                                                              \
            }                                                                                                                    \
        if (*alpha == 0 || *m == 0 || *n == 0 || *k == 0) return;                                                                \
        intptr_t size = sizeof(real);                                                                                            \
        matrix left = {(const char *)a, a_plain ? size : *a_step * size, a_plain ? *a_step * size : size};                       \
        matrix right = {(const char *)b, b_plain ? size : *b_step * size, b_plain ? *b_step * size : size};                      \
        matrix result = {(const char *)c, size, *c_step * size};                                                                 \
        if (gemm(*m, *n, *k, *alpha, left, right, result)) return;                                                               \
        for (integer j = 0; j < *n; j++)                                                                                         \
            for (integer d = 0; d < *k; d++) {                                                                                   \
                real factor = *alpha * *(const real *)(right.at + d * right.row + j * right.column);                             \
                for (integer i = 0; i < *m; i++)                                                                                 \
                    c[i + (ptrdiff_t)j * *c_step] += factor * *(const real *)(left.at + i * left.row + d * left.column);         \
            }                                                                                                                    \
    }
PRODUCT(dgemm_, "DGEMM", double, gemm_double)
PRODUCT(sgemm_, "SGEMM", float, gemm_float)
