/* Each function is reduced to a polynomial near 0, with error bounds below one unit in the last place. Numbers for which that
 * does not hold, such as infinities, go to libc one by one; what a number becomes does not depend on its neighbours. */
#include "functions.h"
#include <math.h>
#include "operands.h"

#define ADD wasm_f64x2_add
#define SUB wasm_f64x2_sub
#define MUL wasm_f64x2_mul
#define DIV wasm_f64x2_div
#define CONSTANT(x) wasm_f64x2_splat(x)

/* The upper 40 bits of log(2), times which an exponent is exact, and the rest. */
#define LOG2_UPPER 0x1.62e42fefa2000p-1
#define LOG2_LOWER 0x1.9ef35793c7673p-41

/* a + b x, Estrin's way of evaluating a polynomial: more of it at once. */
#define LINE(a, b, x) ADD(CONSTANT(a), MUL(CONSTANT(b), x))

/* For numbers between -708 and 708. */
INLINE v128_t exp_of(v128_t x) {
    /* The sum has the nearest integer in its lowest bits. */
    const v128_t shifted = CONSTANT(0x1.8p52);
    v128_t sum = ADD(MUL(x, CONSTANT(0x1.71547652b82fep+0)), shifted), power = SUB(sum, shifted);
    v128_t scale = wasm_i64x2_shl(wasm_i64x2_add(sum, wasm_i64x2_const_splat(1023)), 52);
    v128_t upper = SUB(x, MUL(power, CONSTANT(LOG2_UPPER))), lower = MUL(power, CONSTANT(LOG2_LOWER)), r = SUB(upper, lower);
    v128_t r2 = MUL(r, r), r4 = MUL(r2, r2), r8 = MUL(r4, r4);
    /* (exp(r) - 1 - r) / r^2 */
    v128_t q0 = ADD(LINE(0x1.0000000000000p-1, 0x1.5555555555557p-3, r), MUL(r2, LINE(0x1.5555555555556p-5, 0x1.11111111100dcp-7, r)));
    v128_t q4 = ADD(LINE(0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13, r), MUL(r2, LINE(0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19, r)));
    v128_t q8 = ADD(LINE(0x1.27e4db646b17ep-22, 0x1.af4de97ca4194p-26, r), MUL(r2, CONSTANT(0x1.1f730349868cep-29)));
    v128_t q = ADD(ADD(q0, MUL(r4, q4)), MUL(r8, q8));
    /* The lower part of r by itself: it is added before what is larger. */
    v128_t rest = SUB(MUL(r2, q), ADD(SUB(r, upper), lower));
    return MUL(ADD(CONSTANT(1), ADD(r, rest)), scale);
}
INLINE v128_t exp_is_left(v128_t x) { return wasm_v128_not(wasm_f64x2_lt(wasm_f64x2_abs(x), CONSTANT(708))); }

/* For positive numbers that are neither infinite nor subnormal. */
INLINE v128_t log_of(v128_t x) {
    /* x = 2^k (1 + f), with 1 + f from sqrt(1/2) to sqrt(2). */
    const v128_t half_root = wasm_i64x2_const_splat(0x3fe6a09e667f3bcd), one = wasm_i64x2_const_splat(0x3ff0000000000000);
    v128_t exponent = wasm_i64x2_shr(wasm_i64x2_sub(x, half_root), 52);
    v128_t f = SUB(wasm_i64x2_sub(x, wasm_i64x2_shl(exponent, 52)), one);
    v128_t k = wasm_f64x2_convert_low_i32x4(wasm_i32x4_shuffle(exponent, exponent, 0, 2, 0, 2));
    /* log(1 + f) = 2 artanh(s) = 2 s + s z R(z), where 2 s = f - s f. */
    v128_t s = DIV(f, ADD(CONSTANT(2), f)), z = MUL(s, s), z2 = MUL(z, z), z4 = MUL(z2, z2);
    v128_t low = ADD(LINE(0x1.5555555555555p-1, 0x1.9999999999a38p-2, z), MUL(z2, LINE(0x1.2492492476c87p-2, 0x1.c71c720160b47p-3, z)));
    v128_t high = ADD(LINE(0x1.745cf901605f7p-3, 0x1.3b1c360763b8ap-3, z), MUL(z2, LINE(0x1.0fbe83c2cbcf3p-3, 0x1.0c04595972ab8p-3, z)));
    v128_t series = MUL(z, ADD(low, MUL(z4, high))), half = MUL(CONSTANT(0.5), MUL(f, f));
    /* 2 s = f - half + s half, with the small ones first. */
    v128_t rest = ADD(MUL(s, ADD(half, series)), MUL(k, CONSTANT(LOG2_LOWER)));
    return ADD(MUL(k, CONSTANT(LOG2_UPPER)), SUB(f, SUB(half, rest)));
}
INLINE v128_t log_is_left(v128_t x) {
    return wasm_v128_not(wasm_v128_and(wasm_f64x2_ge(x, CONSTANT(0x1p-1022)), wasm_f64x2_lt(x, CONSTANT(INFINITY))));
}

#define OF_DOUBLE(name, function, is_left, libc)                                                                                 \
    static void name##_left(v128_t x, v128_t left, double *y, int n) {                                                           \
        if (wasm_i64x2_extract_lane(left, 0)) y[0] = libc(wasm_f64x2_extract_lane(x, 0));                                        \
        if (n > 1 && wasm_i64x2_extract_lane(left, 1)) y[1] = libc(wasm_f64x2_extract_lane(x, 1));                               \
    }                                                                                                                            \
    int name(char **args, intptr_t n, const intptr_t *steps) {                                                                   \
        char *in = args[0], *out = args[1];                                                                                      \
        int is_next = steps[0] == 8 && steps[1] == 8 && is_plain(in, 8, 8, out, 8, n);                                           \
        for (; is_next && n >= 4; n -= 4, in += 32, out += 32) {                                                                 \
            v128_t a = AT(in, 0), b = AT(in, 1), a_left = is_left(a), b_left = is_left(b);                                       \
            v128_t c = function(a), d = function(b);                                                                             \
            wasm_v128_store(out, c);                                                                                             \
            wasm_v128_store(out + 16, d);                                                                                        \
            if (wasm_v128_any_true(wasm_v128_or(a_left, b_left))) {                                                              \
                name##_left(a, a_left, (double *)out, 2);                                                                        \
                name##_left(b, b_left, (double *)out + 2, 2);                                                                    \
            }                                                                                                                    \
        }                                                                                                                        \
        for (; n > 0; n--, in += steps[0], out += steps[1]) {                                                                    \
            v128_t a = load_one(in, 8), left = is_left(a);                                                                       \
            store_one(out, function(a), 8);                                                                                      \
            name##_left(a, left, (double *)out, 1);                                                                              \
        }                                                                                                                        \
        return 1;                                                                                                                \
    }
OF_DOUBLE(exp_double, exp_of, exp_is_left, exp)
OF_DOUBLE(log_double, log_of, log_is_left, log)

/* Of single precision, by way of double. */
#define OF_FLOAT(name, function, is_left, libc)                                                                                  \
    static void name##_pair(v128_t two, float *y, int n) {                                                                       \
        v128_t x = wasm_f64x2_promote_low_f32x4(two), left = is_left(x), all = wasm_f32x4_demote_f64x2_zero(function(x));        \
        if (n > 1) wasm_v128_store64_lane(y, all, 0);                                                                            \
        else wasm_v128_store32_lane(y, all, 0);                                                                                  \
        if (wasm_i64x2_extract_lane(left, 0)) y[0] = libc(wasm_f32x4_extract_lane(two, 0));                                      \
        if (n > 1 && wasm_i64x2_extract_lane(left, 1)) y[1] = libc(wasm_f32x4_extract_lane(two, 1));                             \
    }                                                                                                                            \
    int name(char **args, intptr_t n, const intptr_t *steps) {                                                                   \
        char *in = args[0], *out = args[1];                                                                                      \
        int is_next = steps[0] == 4 && steps[1] == 4 && is_plain(in, 4, 4, out, 4, n);                                           \
        for (; is_next && n >= 2; n -= 2, in += 8, out += 8) name##_pair(load_one(in, 8), (float *)out, 2);                      \
        for (; n > 0; n--, in += steps[0], out += steps[1]) name##_pair(load_one(in, 4), (float *)out, 1);                       \
        return 1;                                                                                                                \
    }
OF_FLOAT(exp_float, exp_of, exp_is_left, expf)
OF_FLOAT(log_float, log_of, log_is_left, logf)

int absolute_complex(char **args, intptr_t n, const intptr_t *steps) {
    char *in = args[0], *out = args[1];
    int at_once = steps[0] == 16 && steps[1] == 8 && (in + n * 16 <= out || out + n * 8 <= in) ? 2 : 1;
    for (; n > 0; n -= at_once, in += at_once * steps[0], out += at_once * steps[1]) {
        int two = at_once == 2 && n > 1;
        v128_t a = AT(in, 0), b = two ? AT(in, 1) : CONSTANT(1);
        v128_t real = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 0, 2)), imaginary = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 1, 3));
        v128_t larger = wasm_f64x2_pmax(real, imaginary), smaller = wasm_f64x2_pmin(real, imaginary);
        /* Squares that neither overflow nor lose what counts. */
        v128_t whole = wasm_v128_and(wasm_f64x2_lt(larger, CONSTANT(0x1p500)), wasm_f64x2_gt(larger, CONSTANT(0x1p-400)));
        whole = wasm_v128_and(whole, wasm_v128_and(wasm_f64x2_eq(real, real), wasm_f64x2_eq(imaginary, imaginary)));
        v128_t all = wasm_f64x2_sqrt(ADD(MUL(larger, larger), MUL(smaller, smaller)));
        if (!wasm_i64x2_all_true(whole)) {
            if (!wasm_i64x2_extract_lane(whole, 0)) all = wasm_f64x2_replace_lane(all, 0, hypot(wasm_f64x2_extract_lane(real, 0), wasm_f64x2_extract_lane(imaginary, 0)));
            if (!wasm_i64x2_extract_lane(whole, 1)) all = wasm_f64x2_replace_lane(all, 1, hypot(wasm_f64x2_extract_lane(real, 1), wasm_f64x2_extract_lane(imaginary, 1)));
        }
        if (two) wasm_v128_store(out, all);
        else wasm_v128_store64_lane(out, all, 0);
    }
    return 1;
}
