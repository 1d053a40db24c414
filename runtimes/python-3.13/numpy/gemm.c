/* After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication": pieces of both matrices are copied into
 * the order in which the innermost loop reads them. */
#include <gemm.h>
#include <stdlib.h>
#include <string.h>

/* Of A, DEPTH x ROWS numbers stay in the second-level cache, of B, DEPTH x 1 strip in the first. */
#define DEPTH 256
#define ROWS 64
#define COLUMNS 512
#define STRIP_ROWS 4

#define real double
#define LANES 2
#define NAME(function) function##_double
#include "gemm_of_type.h"
#undef real
#undef LANES
#undef NAME

#define real float
#define LANES 4
#define NAME(function) function##_float
#include "gemm_of_type.h"
