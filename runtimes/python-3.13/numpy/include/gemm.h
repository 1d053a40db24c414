/* Products of matrices and vectors of any layout, blocked for the cache and by vector instructions: there is no BLAS here. */
#ifndef PROOFBOX_GEMM_H
#define PROOFBOX_GEMM_H
#include <stdint.h>

/* A matrix: where it is, and the steps in bytes between its rows and between its columns. */
typedef struct {
    const char *at;
    intptr_t row, column;
} matrix;

/* C += alpha A B, with A of m x k, B of k x n numbers. 0 when there is no memory for it, and nothing is done. */
int gemm_double(intptr_t m, intptr_t n, intptr_t k, double alpha, matrix a, matrix b, matrix c);
int gemm_float(intptr_t m, intptr_t n, intptr_t k, float alpha, matrix a, matrix b, matrix c);

/* C += A B of complex numbers, each a real and an imaginary one. */
int gemm_complex_double(intptr_t m, intptr_t n, intptr_t k, matrix a, matrix b, matrix c);
int gemm_complex_float(intptr_t m, intptr_t n, intptr_t k, matrix a, matrix b, matrix c);

/* The scalar product of two vectors. */
double dot_double(const char *a, intptr_t a_step, const char *b, intptr_t b_step, intptr_t n);
float dot_float(const char *a, intptr_t a_step, const char *b, intptr_t b_step, intptr_t n);

/* For numpy's templates. */
#define GEMM_FOR_DOUBLE 1
#define GEMM_FOR_FLOAT 1
#define GEMM_FOR_COMPLEX_CDOUBLE 1
#define GEMM_FOR_COMPLEX_CFLOAT 1
#define GEMM_DOUBLE gemm_double
#define GEMM_FLOAT gemm_float
#define GEMM_CDOUBLE gemm_complex_double
#define GEMM_CFLOAT gemm_complex_float
#define DOT_DOUBLE dot_double
#define DOT_FLOAT dot_float
#endif
