/* Arguments are reduced to a short interval, in which a polynomial has errors well below the last place; what is lost by
 * rounding where that counts is kept apart and added before the last rounding. Arguments for which this does not hold go
 * to libc one by one; what a number becomes does not depend on its neighbours. Multiplications and additions are fused
 * (`relaxed_madd`), which the engine makes the same on all machines. */
#include "functions.h"
#include <math.h>
#include "operands.h"

/* Which ones are fused is written, for results don't depend on the compiler then. */
#pragma STDC FP_CONTRACT OFF

/* ---------------------------------------------------------------- coefficients */

/* Polynomials through the functions at Chebyshev's nodes, calculated with 250 bits. */
/* (exp(r) - 1 - r) / r^2, |r| up to log(2) / 2. */
static const double EXP_double[] = {
    0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100bep-7, 0x1.6c16c16c162c3p-10, 0x1.a01a01abf85abp-13,
    0x1.a01a01a6e1e2ap-16, 0x1.71de01fdbf9cap-19, 0x1.27e4db46cddd1p-22, 0x1.af4e554377204p-26, 0x1.1f7340dbc337ep-29,
};
static const float EXP_float[] = {0x1p-1f, 0x1.5554dcp-3f, 0x1.555518p-5f, 0x1.120be2p-7f, 0x1.6d117cp-10f};
/* (2^r - 1 - r log(2)) / r^2, |r| up to 1/2. */
static const double EXP2_double[] = {
    0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c2p-5, 0x1.3b2ab6fba4e78p-7, 0x1.5d87fe78a524bp-10, 0x1.430912f86bf41p-13,
    0x1.ffcbfc6724283p-17, 0x1.62c0224024720p-20, 0x1.b524faa21725ep-24, 0x1.e4cf1c9aa5b15p-28, 0x1.e9d48637d76acp-32,
    0x1.c48fe24edfb5ap-36,
};
static const float EXP2_float[] = {0x1.ebfbep-3f, 0x1.c6afecp-5f, 0x1.3b2a8p-7f, 0x1.5ec90cp-10f, 0x1.43e788p-13f};
/* (log((1 + s) / (1 - s)) - 2s) / s^3 by s^2, |s| up to 3 - sqrt(8). */
static const double LOG_double[] = {
    0x1.5555555555555p-1, 0x1.9999999999a3ap-2, 0x1.2492492476765p-2, 0x1.c71c7201f207cp-3, 0x1.745cf8c4c7bcap-3,
    0x1.3b1c42e3df02cp-3, 0x1.0fbd2bafa02d6p-3, 0x1.0c1263e1bac13p-3,
};
static const float LOG_float[] = {0x1.55555cp-1f, 0x1.997c12p-2f, 0x1.2eeb8p-2f};
/* (sin(r) - r) / r^3 by r^2, |r| up to pi / 4. */
static const double SIN_double[] = {
    -0x1.5555555555555p-3, 0x1.1111111110ba5p-7, -0x1.a01a019e80693p-13, 0x1.71de379252004p-19, -0x1.ae60069e53ef1p-26,
    0x1.5e098556d302ep-33,
};
static const float SIN_float[] = {-0x1.555552p-3f, 0x1.110c24p-7f, -0x1.9ac6fcp-13f};
/* (cos(r) - 1 + r^2 / 2) / r^4 by r^2. */
static const double COS_double[] = {
    0x1.5555555555555p-5, -0x1.6c16c16c16960p-10, 0x1.a01a019f4d0edp-16, -0x1.27e4fa15bd814p-22, 0x1.1eeb66b683028p-29,
    -0x1.907c0e63adbb6p-37,
};
static const float COS_float[] = {0x1.555554p-5f, -0x1.6c12cep-10f, 0x1.9bd67p-16f};
/* (arctan(t) - t) / t^3 by t^2, |t| up to sqrt(2) - 1. */
static const double ATAN_double[] = {
    -0x1.5555555555555p-2, 0x1.9999999999952p-3, -0x1.249249248d684p-3, 0x1.c71c71c2f37e8p-4, -0x1.745d165a9c002p-4,
    0x1.3b139279535a8p-4, -0x1.110e81459346ep-4, 0x1.e19978381e052p-5, -0x1.ac761b5db4f38p-5, 0x1.74c9760b1bea4p-5,
    -0x1.1aff6533dd0e5p-5, 0x1.0a5f8c60d732cp-6,
};
static const float ATAN_float[] = {-0x1.555554p-2f, 0x1.99972cp-3f, -0x1.241f98p-3f, 0x1.b802eep-4f, -0x1.081978p-4f};
/* (arcsin(a) - a) / a^3 by a^2, |a| up to 1/2. */
static const double ASIN_double[] = {
    0x1.5555555555555p-3, 0x1.3333333333388p-4, 0x1.6db6db6dac1e0p-5, 0x1.f1c71c7a52ba3p-6, 0x1.6e8ba123e494cp-6,
    0x1.1c4efce23019fp-6, 0x1.c990ad3d8fdcap-7, 0x1.7b027ee1dd585p-7, 0x1.3b49de7121487p-7, 0x1.31622469ce5adp-7,
    0x1.8f193743418ffp-9, 0x1.406192d124629p-6, -0x1.3b416bb7d9257p-6, 0x1.e529c6fce9bb4p-6,
};
static const float ASIN_float[] = {
    0x1.555554p-3f, 0x1.33343p-4f, 0x1.6d5bbap-5f, 0x1.fd8da2p-6f, 0x1.18f91ep-6f, 0x1.13fed4p-5f,
};
/* 1 / (1 + f), to 9 bits. */
static const double INVERSE_double[] = {0x1.ff5p-1, -0x1.02ecp+0, 0x1.1a4ap+0, -0x1.c5dp-1};
static const float INVERSE_float[] = {0x1.ff5p-1f, -0x1.02ecp+0f, 0x1.1a4ap+0f, -0x1.c5dp-1f};

/* Two vectors of the machine at once: what they wait for, and the constants that are loaded for them, are shared. */
typedef uint64_t two_vectors __attribute__((vector_size(32)));
typedef uint64_t one_vector __attribute__((vector_size(16)));
#define LOWER(x) ((v128_t)__builtin_shufflevector((two_vectors)(x), (two_vectors)(x), 0, 1))
#define UPPER(x) ((v128_t)__builtin_shufflevector((two_vectors)(x), (two_vectors)(x), 2, 3))
#define BOTH(lower, upper) __builtin_shufflevector((one_vector)(lower), (one_vector)(upper), 0, 1, 2, 3)

#define PI 3.14159265358979323846
#define ROOT_OF_2 1.41421356237309504880
#define ROOT_OF_HALF 0.70710678118654752440

/* ---------------------------------------------------------------- for both types */

/* A constant and its _REST, what is left of it in the type, and so on. */
#define real double
#define LANES 4
#define word uint64_t
#define FRACTION 52
#define BIAS 1023
#define NAME(function) function##_double
#define LIBC(function) function
#define MADD wasm_f64x2_relaxed_madd
#define NMADD wasm_f64x2_relaxed_nmadd
#define SQRT wasm_f64x2_sqrt
#define COMPARISON(order) wasm_f64x2_##order
#define SHIFT 0x1.8p52 /* Added to a number, it leaves the nearest integer in the lowest bits. */
#define LOG2 0x1.62e42fefa39efp-1
#define LOG2_REST 0x1.abc9e3b39803fp-56
#define INVERSE_LOG2 0x1.71547652b82fep+0
#define INVERSE_LOG2_REST 0x1.777d0ffda0d24p-56
#define INVERSE_LOG10 0x1.bcb7b1526e50ep-2
#define INVERSE_LOG10_REST 0x1.95355baaafad3p-57
#define LOG10_OF_2 0x1.34413509f4000p-2
#define LOG10_OF_2_REST 0x1.cff7988f8959bp-41
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_REST 0x1.1a62633145c07p-54
#define HALF_PI_LEAST -0x1.f1976b7ed8fbcp-110
#define MIN_NORMAL 0x1p-1022
#define MAX_EXPONENT 708
#define MAX_SQUARED 0x1p500
#define MIN_SQUARED 0x1p-400
#define MAX_ANGLE 0x1p30
#define TANH_IS_ONE 20
#include "functions_of_type.h"
#define real float
#define LANES 8
#define word uint32_t
#define FRACTION 23
#define BIAS 127
#define NAME(function) function##_float
#define LIBC(function) function##f
#define MADD wasm_f32x4_relaxed_madd
#define NMADD wasm_f32x4_relaxed_nmadd
#define SQRT wasm_f32x4_sqrt
#define COMPARISON(order) wasm_f32x4_##order
#define SHIFT 0x1.8p23f
#define LOG2 0x1.62e43p-1f
#define LOG2_REST -0x1.05c61p-29f
#define INVERSE_LOG2 0x1.715476p+0f
#define INVERSE_LOG2_REST 0x1.4ae0cp-26f
#define INVERSE_LOG10 0x1.bcb7b2p-2f
#define INVERSE_LOG10_REST -0x1.5b235ep-27f
#define LOG10_OF_2 0x1.344p-2f
#define LOG10_OF_2_REST 0x1.3509f8p-18f
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_REST -0x1.777a5cp-25f
#define HALF_PI_LEAST -0x1.ee59dap-50f
#define MIN_NORMAL 0x1p-126f
#define MAX_EXPONENT 87
#define MAX_SQUARED 0x1p60f
#define MIN_SQUARED 0x1p-50f
#define MAX_ANGLE 0x1p15f
#define TANH_IS_ONE 10
#include "functions_of_type.h"

/* ---------------------------------------------------------------- of complex numbers */

int absolute_complex(char **args, intptr_t n, const intptr_t *steps) {
    char *in = args[0], *out = args[1];
    int at_once = steps[0] == 16 && steps[1] == 8 && (in + n * 16 <= out || out + n * 8 <= in) ? 2 : 1;
    for (; n > 0; n -= at_once, in += at_once * steps[0], out += at_once * steps[1]) {
        int two = at_once == 2 && n > 1;
        v128_t a = AT(in, 0), b = two ? AT(in, 1) : wasm_f64x2_splat(1);
        v128_t real = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 0, 2)), imaginary = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 1, 3));
        v128_t larger = wasm_f64x2_pmax(real, imaginary), smaller = wasm_f64x2_pmin(real, imaginary);
        /* Squares that neither overflow nor lose what counts. */
        v128_t whole = wasm_v128_and(wasm_f64x2_lt(larger, wasm_f64x2_splat(0x1p500)), wasm_f64x2_gt(larger, wasm_f64x2_splat(0x1p-400)));
        whole = wasm_v128_and(whole, wasm_v128_and(wasm_f64x2_eq(real, real), wasm_f64x2_eq(imaginary, imaginary)));
        v128_t all = wasm_f64x2_sqrt(wasm_f64x2_add(wasm_f64x2_mul(larger, larger), wasm_f64x2_mul(smaller, smaller)));
        if (!wasm_i64x2_all_true(whole)) {
            if (!wasm_i64x2_extract_lane(whole, 0)) all = wasm_f64x2_replace_lane(all, 0, hypot(wasm_f64x2_extract_lane(real, 0), wasm_f64x2_extract_lane(imaginary, 0)));
            if (!wasm_i64x2_extract_lane(whole, 1)) all = wasm_f64x2_replace_lane(all, 1, hypot(wasm_f64x2_extract_lane(real, 1), wasm_f64x2_extract_lane(imaginary, 1)));
        }
        if (two) wasm_v128_store(out, all);
        else wasm_v128_store64_lane(out, all, 0);
    }
    return 1;
}
