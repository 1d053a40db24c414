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
/* (log(1 + r) - r) / r^2, |r| up to 2^-6. */
static const double LOG_double[] = {
    -0x1p-1, 0x1.55555555561c8p-2, -0x1.0000000000b34p-2, 0x1.999998d26c9b2p-3, -0x1.555554a212f68p-3, 0x1.24ab2e4a28b0bp-3,
    -0x1.001667dbd1bdp-3,
};
/* (log((1 + s) / (1 - s)) - 2s) / s^3 by s^2, |s| up to 3 - sqrt(8). */
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
/* (tan(r) - r) / r^3 by r^2, |r| up to pi / 4: a quotient of two polynomials, through the function in the same way. */
static const double TAN_ABOVE_double[] = {
    0x1.5555555555555p-2, -0x1.5f4a11c18a44bp-6, 0x1.00b1e6ec99ce8p-12, -0x1.32d8d848d2141p-26,
};
static const double TAN_BELOW_double[] = {0x1p+0, -0x1.db777cede3867p-2, 0x1.925f459c217f3p-6, -0x1.0c630cad2d34ep-12};
static const float TAN_ABOVE_float[] = {0x1.555556p-2f, -0x1.e79b42p-7f};
static const float TAN_BELOW_float[] = {0x1p+0f, -0x1.c7502ap-2f, 0x1.055bd2p-6f};
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
static const float INVERSE_float[] = {0x1.ff5p-1f, -0x1.02ecp+0f, 0x1.1a4ap+0f, -0x1.c5dp-1f};

/* 1/c and log(c) for fractions from LEAST_FRACTION to twice that, by the first 7 bits of their difference to it as they are
 * stored. Of the 2^23 multiples of 2^-44 around the inverse of the middle of such fractions, 1/c is the one for which log(c) is
 * nearest to a multiple of 2^-43, as which it is written: they differ by less than 2^-65. From 1 - 2^-6 to 1 + 2^-6 c is 1. */
#define LEAST_FRACTION (180.0 / 256)
static const double LOG_TABLE[128][2] = {
    {0x1.6b1493346fep+0, -0x1.65d55ffeb18p-2}, {0x1.6914700bc19p+0, -0x1.602cfe706p-2}, {0x1.6719f39bafp+0, -0x1.5a8cae65dfp-2},
    {0x1.6524f7cc8b2p+0, -0x1.54f4303435p-2}, {0x1.63356b37b09p+0, -0x1.4f637dd2348p-2},
    {0x1.614b33da624p+0, -0x1.49da7786c5p-2}, {0x1.5f66445d40ep+0, -0x1.4459213cf9p-2},
    {0x1.5d867fa9723p+0, -0x1.3edf503e83p-2}, {0x1.5babc9e61ecp+0, -0x1.396cdc01828p-2},
    {0x1.59d61d084bcp+0, -0x1.3401db217dp-2}, {0x1.5805601a241p+0, -0x1.2e9e2bdbe18p-2},
    {0x1.56397d2ef29p+0, -0x1.2941b444008p-2}, {0x1.54725c3a487p+0, -0x1.23ec52f9398p-2},
    {0x1.52aff7a3891p+0, -0x1.1e9e1d30fap-2}, {0x1.50f22d7ac4ep+0, -0x1.1956d1f0d68p-2},
    {0x1.4f38f835db3p+0, -0x1.14168527ebp-2}, {0x1.4d843c229cp+0, -0x1.0edd06adbbp-2}, {0x1.4bd3eb1f037p+0, -0x1.09aa4ec021p-2},
    {0x1.4a27fcb0999p+0, -0x1.047e6689a48p-2}, {0x1.488054155aep+0, -0x1.feb22f73c3p-3},
    {0x1.46dce2cbff8p+0, -0x1.f474ae3b0cp-3}, {0x1.453d9ea34c7p+0, -0x1.ea444cdc9p-3}, {0x1.43a275fa6c5p+0, -0x1.e020def6ebp-3},
    {0x1.420b534b9b5p+0, -0x1.d60a1dadd3p-3}, {0x1.40782fad359p+0, -0x1.cc001d4c9ep-3}, {0x1.3ee8f74c168p+0, -0x1.c2029ece2p-3},
    {0x1.3d5d995377cp+0, -0x1.b811747a23p-3}, {0x1.3bd60bd2cf5p+0, -0x1.ae2c9ba16bp-3}, {0x1.3a5245af77p+0, -0x1.a4541639aep-3},
    {0x1.38d22c8561dp+0, -0x1.9a877457f7p-3}, {0x1.3755be69aacp+0, -0x1.90c6e42ee3p-3},
    {0x1.35dce5dfaedp+0, -0x1.871212c776p-3}, {0x1.34679d280e1p+0, -0x1.7d691368f3p-3},
    {0x1.32f5d09096ap+0, -0x1.73cb9bf9aap-3}, {0x1.318775483ap+0, -0x1.6a399bd3e2p-3}, {0x1.301c7f1a77dp+0, -0x1.60b2f80148p-3},
    {0x1.2eb4e692c29p+0, -0x1.5737b48905p-3}, {0x1.2d50a121679p+0, -0x1.4dc7bfc6c8p-3},
    {0x1.2bef95cfc98p+0, -0x1.4462a4cb67p-3}, {0x1.2a91c8023cap+0, -0x1.3b08ae64d7p-3},
    {0x1.293729abf0fp+0, -0x1.31b9aff86dp-3}, {0x1.27df9f9e4fdp+0, -0x1.2875209cebp-3},
    {0x1.268b33f0b34p+0, -0x1.1f3b7784c4p-3}, {0x1.2539d89f466p+0, -0x1.160c851d22p-3},
    {0x1.23eb7b0243bp+0, -0x1.0ce7f7d8afp-3}, {0x1.22a0159ee1bp+0, -0x1.03cdd900bdp-3}, {0x1.21579b09f4bp+0, -0x1.f57bf29dfp-4},
    {0x1.201200f2187p+0, -0x1.e3707c555p-4}, {0x1.1ecf40ab117p+0, -0x1.d1794c0d2ap-4}, {0x1.1d8f560b84p+0, -0x1.bf96819f2ap-4},
    {0x1.1c52337cdefp+0, -0x1.adc7b4a49ap-4}, {0x1.1b17c90bc94p+0, -0x1.9c0c57b75ap-4},
    {0x1.19e00ef6158p+0, -0x1.8a64511106p-4}, {0x1.18ab0487e59p+0, -0x1.78cfec8316p-4},
    {0x1.17789f4859bp+0, -0x1.674ee70fc8p-4}, {0x1.1648d3c60cap+0, -0x1.55e0ed5beap-4},
    {0x1.151b9c643f1p+0, -0x1.4485ffe782p-4}, {0x1.13f0e900575p+0, -0x1.333d821e94p-4},
    {0x1.12c8b845746p+0, -0x1.2207b092d4p-4}, {0x1.11a301ad046p+0, -0x1.10e45c5288p-4}, {0x1.107fb8097ap+0, -0x1.ffa61db79cp-5},
    {0x1.0f5ede0f1cp+0, -0x1.dda87d2e9cp-5}, {0x1.0e4065605e6p+0, -0x1.bbcec0bfbcp-5}, {0x1.0d2444f43adp+0, -0x1.9a186e20fcp-5},
    {0x1.0c0a7c01199p+0, -0x1.78860384f4p-5}, {0x1.0af2f8c8a6bp+0, -0x1.5715f74db8p-5},
    {0x1.09ddbaea951p+0, -0x1.35c8cf0624p-5}, {0x1.08cabc5df45p+0, -0x1.149e61dabcp-5},
    {0x1.07b9f009c01p+0, -0x1.e72b52def8p-6}, {0x1.06ab5ae598bp+0, -0x1.a55f9a3d7p-6}, {0x1.059eed19e2ap+0, -0x1.63d6d7fbap-6},
    {0x1.04949d5690cp+0, -0x1.228fd6a17p-6}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0},
    {0x1.f6310e890aep-1, 0x1.3ce9c9fd68p-6}, {0x1.f25f6bd968p-1, 0x1.b9fb08efcp-6}, {0x1.ee9c77d1966p-1, 0x1.1b0e1812f4p-5},
    {0x1.eae808b6236p-1, 0x1.58a5a99d2p-5}, {0x1.e741b22fd06p-1, 0x1.95c7ad28bp-5}, {0x1.e3a91b3d81p-1, 0x1.d2767b4bf8p-5},
    {0x1.e01e03f6e82p-1, 0x1.0759718722p-4}, {0x1.dca0236f552p-1, 0x1.253f326bdep-4}, {0x1.d92f20e3ecep-1, 0x1.42edd7356ap-4},
    {0x1.d5cacde54a4p-1, 0x1.6065576c56p-4}, {0x1.d272c989cbcp-1, 0x1.7da76d15acp-4}, {0x1.cf26ea9ab38p-1, 0x1.9ab3f999ep-4},
    {0x1.cbe6d63429ep-1, 0x1.b78c9efa7ap-4}, {0x1.c8b26350078p-1, 0x1.d43152b108p-4}, {0x1.c5894b56be4p-1, 0x1.f0a31b99bp-4},
    {0x1.c26b55bfcfcp-1, 0x1.0671474881p-3}, {0x1.bf58397884ep-1, 0x1.1478712ab4p-3}, {0x1.bc4fdbae0a6p-1, 0x1.2266d8fa6ep-3},
    {0x1.b951daebcaap-1, 0x1.303d95a01p-3}, {0x1.b65e3457802p-1, 0x1.3dfc0e8602p-3}, {0x1.b3747fe44d8p-1, 0x1.4ba385bbe9p-3},
    {0x1.b094af91418p-1, 0x1.59339e65dp-3}, {0x1.adbe8d89b44p-1, 0x1.66acb9a2ecp-3}, {0x1.aaf1ce213dp-1, 0x1.740fa68c93p-3},
    {0x1.a82e68f1d4ap-1, 0x1.815bf7649fp-3}, {0x1.a5741144d4cp-1, 0x1.8e9289fe0dp-3}, {0x1.a2c2a4b62e6p-1, 0x1.9bb3755ce5p-3},
    {0x1.a019faed122p-1, 0x1.a8bef0c1aep-3}, {0x1.9d79f48264ap-1, 0x1.b5b50ad321p-3}, {0x1.9ae256055fep-1, 0x1.c2966095f8p-3},
    {0x1.9852ee4bdap-1, 0x1.cf6361ac2bp-3}, {0x1.95cbaa2cee6p-1, 0x1.dc1beb2ffcp-3}, {0x1.934c6b45646p-1, 0x1.e8c0146e44p-3},
    {0x1.90d4f79b92p-1, 0x1.f5508445dap-3}, {0x1.8e652006302p-1, 0x1.00e6d80aed8p-2}, {0x1.8bfce138bb4p-1, 0x1.071b9794218p-2},
    {0x1.899c097d6dp-1, 0x1.0d46c4c95ep-2}, {0x1.874275974ap-1, 0x1.1368806747p-2}, {0x1.84f0088b872p-1, 0x1.1980dc5de88p-2},
    {0x1.82a4a1ba6c4p-1, 0x1.1f8ff590cf8p-2}, {0x1.80601b9ad98p-1, 0x1.2595f7837p-2}, {0x1.7e225894426p-1, 0x1.2b92fa4e4p-2},
    {0x1.7beb38ae264p-1, 0x1.31871dcfe1p-2}, {0x1.79baabe7376p-1, 0x1.377258272d8p-2}, {0x1.779080ec128p-1, 0x1.3d54fad875p-2},
    {0x1.756ca6c9f2p-1, 0x1.432f014289p-2}, {0x1.734f0d73c32p-1, 0x1.490064eac08p-2}, {0x1.713780047b4p-1, 0x1.4ec98619928p-2},
    {0x1.6f260450d8ap-1, 0x1.548a243161p-2}, {0x1.6d1a6916a3p-1, 0x1.5a429851dp-2},
};

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
#define LOG2_SHORT 0x1.62e42fefa38p-1 /* A multiple of 2^-43. */
#define LOG2_SHORT_REST 0x1.ef35793c7673p-45
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
#define LARGEST 0x1.fffffffffffffp1023
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
#define LARGEST 0x1.fffffep127f
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
