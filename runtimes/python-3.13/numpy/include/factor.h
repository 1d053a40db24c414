/* Triangular systems and LU decompositions by products of matrices, for numpy's LAPACK. */
#ifndef PROOFBOX_FACTOR_H
#define PROOFBOX_FACTOR_H
#include <gemm.h>

typedef enum { LOWER_TRIANGLE, UPPER_TRIANGLE } triangle;
typedef enum { GIVEN_DIAGONAL, UNIT_DIAGONAL } diagonal;

/* Replaces B of n x columns numbers by the X for which T X = B, T being a triangle of n rows. */
void solve_triangle_double(intptr_t n, intptr_t columns, matrix t, triangle shape, diagonal ones, matrix b);
void solve_triangle_float(intptr_t n, intptr_t columns, matrix t, triangle shape, diagonal ones, matrix b);

/* LAPACK's getrf: A of m x n numbers, column by column, becomes L and U; the i-th row was
 * exchanged with row pivots[i - 1], both counted from 1. Gives the first column, from 1 on, whose pivot is 0, or 0. */
int lu_double(intptr_t m, intptr_t n, double *a, intptr_t column, int *pivots);
int lu_float(intptr_t m, intptr_t n, float *a, intptr_t column, int *pivots);
#endif
