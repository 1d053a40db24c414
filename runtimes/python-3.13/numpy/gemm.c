/* After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication": pieces of both matrices are copied into
 * the order in which the innermost loop reads them. */
#include <gemm.h>
#include <stdlib.h>
#include <string.h>
#include "operands.h"

/* A strip of A, DEPTH x 4 vectors, and one of B, DEPTH x 2, stay in the first-level cache, DEPTH x COLUMNS numbers of B in the
 * second. */
#define DEPTH 320
#define ROWS 36
#define COLUMNS 320
#define STRIP_ROWS 4
/* Of the innermost loop, in a turn, between which the sums are not in registers: the work is counted then. */
#define STEPS 32
/* Of a scalar product: as many as hide the time that one operation takes. */
#define DOT_SUMS 8

#define real double
#define LANES 2
#define NAME(function) function##_double
#define SPLAT wasm_f64x2_splat
#define ADD wasm_f64x2_add
#define MADD wasm_f64x2_relaxed_madd
#include "gemm_of_type.h"

#define real float
#define LANES 4
#define NAME(function) function##_float
#define SPLAT wasm_f32x4_splat
#define ADD wasm_f32x4_add
#define MADD wasm_f32x4_relaxed_madd
#include "gemm_of_type.h"
