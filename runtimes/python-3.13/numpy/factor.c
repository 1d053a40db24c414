/* Both halve the matrix until little is left, so that nearly all is done by products. */
#include <factor.h>
#include "operands.h"

/* Rows of a triangle, and columns of a matrix, that are not halved. */
#define FEW 8

#define real double
#define LANES 2
#define NAME(function) function##_double
#define ABSOLUTE __builtin_fabs
#define SPLAT wasm_f64x2_splat
#define DIV wasm_f64x2_div
#define NMADD wasm_f64x2_relaxed_nmadd
#include "factor_of_type.h"

#define real float
#define LANES 4
#define NAME(function) function##_float
#define ABSOLUTE __builtin_fabsf
#define SPLAT wasm_f32x4_splat
#define DIV wasm_f32x4_div
#define NMADD wasm_f32x4_relaxed_nmadd
#include "factor_of_type.h"
