/* See include/faster_loops.h. Loops of one instruction for each number pay more for being counted than for what they do, so
 * all take a block of numbers at a time. */
#include <faster_loops.h>
#include <numpy/ndarraytypes.h>
#include "functions.h"
#include "operands.h"

/* ---------------------------------------------------------------- results of the operands' size */

#define BINARY(name, size, operation)                                                                                            \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        char *a = args[0], *b = args[1], *out = args[2];                                                                         \
        if (n < LEAST_NUMBERS || steps[2] != size || !is_plain(a, steps[0], size, out, size, n) ||                               \
            !is_plain(b, steps[1], size, out, size, n))                                                                          \
            return 0;                                                                                                            \
        char first[BLOCK], second[BLOCK];                                                                                        \
        intptr_t a_step = spread(&a, steps[0], size, first, BLOCK), b_step = spread(&b, steps[1], size, second, BLOCK);          \
        _Pragma("clang loop unroll_count(2)")                                                                                    \
        for (; n >= BLOCK / size; n -= BLOCK / size, a += a_step, b += b_step, out += BLOCK) {                                   \
            v128_t w = operation(AT(a, 0), AT(b, 0)), x = operation(AT(a, 1), AT(b, 1));                                         \
            v128_t y = operation(AT(a, 2), AT(b, 2)), z = operation(AT(a, 3), AT(b, 3));                                         \
            wasm_v128_store(out, w);                                                                                             \
            wasm_v128_store(out + 16, x);                                                                                        \
            wasm_v128_store(out + 32, y);                                                                                        \
            wasm_v128_store(out + 48, z);                                                                                        \
        }                                                                                                                        \
        for (; n > 0; n--, a += size, b += size, out += size)                                                                    \
            store_one(out, operation(load_one(a, size), load_one(b, size)), size);                                               \
        return 1;                                                                                                                \
    }

#define UNARY(name, size, operation)                                                                                             \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        char *a = args[0], *out = args[1];                                                                                       \
        if (n < LEAST_NUMBERS || steps[0] != size || steps[1] != size || !is_plain(a, size, size, out, size, n)) return 0;       \
        _Pragma("clang loop unroll_count(2)")                                                                                    \
        for (; n >= BLOCK / size; n -= BLOCK / size, a += BLOCK, out += BLOCK) {                                                 \
            v128_t w = operation(AT(a, 0)), x = operation(AT(a, 1)), y = operation(AT(a, 2)), z = operation(AT(a, 3));           \
            wasm_v128_store(out, w);                                                                                             \
            wasm_v128_store(out + 16, x);                                                                                        \
            wasm_v128_store(out + 32, y);                                                                                        \
            wasm_v128_store(out + 48, z);                                                                                        \
        }                                                                                                                        \
        for (; n > 0; n--, a += size, out += size) store_one(out, operation(load_one(a, size)), size);                           \
        return 1;                                                                                                                \
    }

/* As numpy's: of equal ones the first, of NaN the first; fmax and fmin take what is no NaN, and know the order of zeros. */
#define REAL_LOOPS(lanes, size)                                                                                                  \
    INLINE v128_t larger_##lanes(v128_t a, v128_t b) {                                                                           \
        return wasm_v128_bitselect(a, b, wasm_v128_or(wasm_##lanes##_ge(a, b), wasm_##lanes##_ne(a, a)));                        \
    }                                                                                                                            \
    INLINE v128_t smaller_##lanes(v128_t a, v128_t b) {                                                                          \
        return wasm_v128_bitselect(a, b, wasm_v128_or(wasm_##lanes##_le(a, b), wasm_##lanes##_ne(a, a)));                        \
    }                                                                                                                            \
    INLINE v128_t number_of_##lanes(v128_t found, v128_t a, v128_t b) {                                                          \
        return wasm_v128_bitselect(b, wasm_v128_bitselect(a, found, wasm_##lanes##_ne(b, b)), wasm_##lanes##_ne(a, a));          \
    }                                                                                                                            \
    INLINE v128_t larger_number_##lanes(v128_t a, v128_t b) { return number_of_##lanes(wasm_##lanes##_max(a, b), a, b); }        \
    INLINE v128_t smaller_number_##lanes(v128_t a, v128_t b) { return number_of_##lanes(wasm_##lanes##_min(a, b), a, b); }       \
    INLINE v128_t square_##lanes(v128_t a) { return wasm_##lanes##_mul(a, a); }                                                  \
    BINARY(add_##lanes, size, wasm_##lanes##_add)                                                                                \
    BINARY(subtract_##lanes, size, wasm_##lanes##_sub)                                                                           \
    BINARY(multiply_##lanes, size, wasm_##lanes##_mul)                                                                           \
    BINARY(divide_##lanes, size, wasm_##lanes##_div)                                                                             \
    BINARY(maximum_each_##lanes, size, larger_##lanes)                                                                           \
    BINARY(minimum_each_##lanes, size, smaller_##lanes)                                                                          \
    BINARY(fmax_each_##lanes, size, larger_number_##lanes)                                                                       \
    BINARY(fmin_each_##lanes, size, smaller_number_##lanes)                                                                      \
    UNARY(sqrt_##lanes, size, wasm_##lanes##_sqrt)                                                                               \
    UNARY(squares_##lanes, size, square_##lanes)                                                                                 \
    INLINE v128_t inverse_##lanes(v128_t a) { return wasm_##lanes##_div(wasm_##lanes##_splat(1), a); }                           \
    UNARY(rint_##lanes, size, wasm_##lanes##_nearest)                                                                            \
    UNARY(floor_##lanes, size, wasm_##lanes##_floor)                                                                             \
    UNARY(ceil_##lanes, size, wasm_##lanes##_ceil)                                                                               \
    UNARY(trunc_##lanes, size, wasm_##lanes##_trunc)                                                                             \
    UNARY(absolute_##lanes, size, wasm_##lanes##_abs)                                                                            \
    UNARY(negative_##lanes, size, wasm_##lanes##_neg)                                                                            \
    UNARY(reciprocal_##lanes, size, inverse_##lanes)
REAL_LOOPS(f64x2, 8)
REAL_LOOPS(f32x4, 4)

/* Of few numbers, and of those that are apart, too: numpy's own loop gives NaN a sign. */
#define ABSOLUTES(real, lanes, function)                                                                                         \
    static int absolutes_##lanes(char **args, intptr_t n, const intptr_t *steps) {                                               \
        if (absolute_##lanes(args, n, steps)) return 1;                                                                          \
        char *in = args[0], *out = args[1];                                                                                      \
        for (; n > 0; n--, in += steps[0], out += steps[1]) *(real *)out = function(*(real *)in);                                \
        return 1;                                                                                                                \
    }
ABSOLUTES(double, f64x2, __builtin_fabs)
ABSOLUTES(float, f32x4, __builtin_fabsf)

/* (a + bi)(c + di): the sum of a(c + di) and b(-d + ci). */
INLINE v128_t multiply_complex(v128_t first, v128_t second) {
    v128_t turned = wasm_v128_xor(wasm_i64x2_shuffle(second, second, 1, 0), wasm_i64x2_const(INT64_MIN, 0));
    return wasm_f64x2_add(wasm_f64x2_mul(wasm_i64x2_shuffle(first, first, 0, 0), second),
                          wasm_f64x2_mul(wasm_i64x2_shuffle(first, first, 1, 1), turned));
}
BINARY(multiply_complexes, 16, multiply_complex)
BINARY(add_complexes, 16, wasm_f64x2_add)
BINARY(subtract_complexes, 16, wasm_f64x2_sub)

/* ---------------------------------------------------------------- reductions */

INLINE int is_reduction(char **args, const intptr_t *steps) { return args[0] == args[2] && steps[0] == 0 && steps[2] == 0; }

/* The largest or smallest number. Where there is a NaN, all is left to numpy. */
#define EXTREME_REAL(name, each, real, lanes, choice, order)                                                                     \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        if (!is_reduction(args, steps)) return each(args, n, steps);                                                             \
        if (steps[1] != sizeof(real) || n < BLOCK / (intptr_t)sizeof(real)) return 0;                                            \
        real found = *(real *)args[0], parts[BLOCK / sizeof(real)];                                                              \
        const char *p = args[1];                                                                                                 \
        v128_t w = wasm_##lanes##_splat(found), x = w, y = w, z = w, nan = wasm_##lanes##_ne(w, w);                              \
        _Pragma("clang loop unroll_count(4)")                                                                                    \
        for (; n >= BLOCK / (intptr_t)sizeof(real); n -= BLOCK / sizeof(real), p += BLOCK) {                                     \
            v128_t a = AT(p, 0), b = AT(p, 1), c = AT(p, 2), d = AT(p, 3);                                                       \
            w = choice(w, a), x = choice(x, b), y = choice(y, c), z = choice(z, d);                                              \
            v128_t ab = wasm_v128_or(wasm_##lanes##_ne(a, a), wasm_##lanes##_ne(b, b));                                          \
            v128_t cd = wasm_v128_or(wasm_##lanes##_ne(c, c), wasm_##lanes##_ne(d, d));                                          \
            nan = wasm_v128_or(nan, wasm_v128_or(ab, cd));                                                                       \
        }                                                                                                                        \
        int any_nan = wasm_v128_any_true(nan);                                                                                   \
        wasm_v128_store(parts, choice(choice(w, x), choice(y, z)));                                                              \
        for (int i = 0; i < 16 / (int)sizeof(real); i++) found = parts[i] order found ? parts[i] : found;                        \
        for (; n > 0; n--, p += sizeof(real)) {                                                                                  \
            real one = *(real *)p;                                                                                               \
            any_nan |= one != one;                                                                                               \
            found = one order found ? one : found;                                                                               \
        }                                                                                                                        \
        if (!any_nan) *(real *)args[2] = found;                                                                                  \
        return !any_nan;                                                                                                         \
    }
EXTREME_REAL(maximum_f64x2, maximum_each_f64x2, double, f64x2, wasm_f64x2_pmax, >)
EXTREME_REAL(minimum_f64x2, minimum_each_f64x2, double, f64x2, wasm_f64x2_pmin, <)
EXTREME_REAL(fmax_f64x2, fmax_each_f64x2, double, f64x2, wasm_f64x2_pmax, >)
EXTREME_REAL(fmin_f64x2, fmin_each_f64x2, double, f64x2, wasm_f64x2_pmin, <)
EXTREME_REAL(maximum_f32x4, maximum_each_f32x4, float, f32x4, wasm_f32x4_pmax, >)
EXTREME_REAL(minimum_f32x4, minimum_each_f32x4, float, f32x4, wasm_f32x4_pmin, <)
EXTREME_REAL(fmax_f32x4, fmax_each_f32x4, float, f32x4, wasm_f32x4_pmax, >)
EXTREME_REAL(fmin_f32x4, fmin_each_f32x4, float, f32x4, wasm_f32x4_pmin, <)

/* The compiler makes vectors of these. */
#define REDUCE_INTEGERS(name, integer, operation)                                                                                \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        if (!is_reduction(args, steps) || steps[1] != sizeof(integer)) return 0;                                                 \
        const integer *p = (const integer *)args[1];                                                                             \
        integer found = *(integer *)args[0];                                                                                     \
        _Pragma("clang loop vectorize(enable) interleave_count(4)")                                                              \
        for (intptr_t i = 0; i < n; i++) found = operation(found, p[i]);                                                         \
        *(integer *)args[2] = found;                                                                                             \
        return 1;                                                                                                                \
    }
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define EXTREMES(integer)                                                                                                        \
    REDUCE_INTEGERS(maximum_##integer, integer, LARGER)                                                                          \
    REDUCE_INTEGERS(minimum_##integer, integer, SMALLER)
EXTREMES(int8_t)
EXTREMES(uint8_t)
EXTREMES(int16_t)
EXTREMES(uint16_t)
EXTREMES(int32_t)
EXTREMES(uint32_t)
EXTREMES(int64_t)
EXTREMES(uint64_t)
REDUCE_INTEGERS(sum_uint32_t, uint32_t, SUM)
REDUCE_INTEGERS(sum_uint64_t, uint64_t, SUM)

/* ---------------------------------------------------------------- truth values */

#define MASKS_64(a, b, i, operation)                                                                                             \
    wasm_i32x4_shuffle(operation(AT(a, i), AT(b, i)), operation(AT(a, i + 1), AT(b, i + 1)), 0, 2, 4, 6)
#define MASKS_32(a, b, i, operation) operation(AT(a, i), AT(b, i))

#define COMPARE(name, number, size, masks, per_mask, operation, scalar)                                                          \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        char *a = args[0], *b = args[1], *out = args[2];                                                                         \
        if (n < 16 || steps[2] != 1 || !is_plain(a, steps[0], size, out, 1, n) || !is_plain(b, steps[1], size, out, 1, n))       \
            return 0;                                                                                                            \
        _Alignas(16) char first[16 * size], second[16 * size];                                                                   \
        intptr_t a_step = spread(&a, steps[0], size, first, 16 * size), b_step = spread(&b, steps[1], size, second, 16 * size);  \
        for (; n >= 16; n -= 16, a += a_step, b += b_step, out += 16) {                                                          \
            v128_t w = masks(a, b, 0, operation), x = masks(a, b, per_mask, operation);                                          \
            v128_t y = masks(a, b, 2 * per_mask, operation), z = masks(a, b, 3 * per_mask, operation);                           \
            v128_t all = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(w, x), wasm_i16x8_narrow_i32x4(y, z));                  \
            wasm_v128_store(out, wasm_v128_and(all, wasm_i8x16_splat(1)));                                                       \
        }                                                                                                                        \
        for (intptr_t i = 0; i < n; i++) out[i] = ((number *)a)[i] scalar ((number *)b)[i];                                      \
        return 1;                                                                                                                \
    }
#define COMPARISONS(number, lanes, size, masks, per_mask)                                                                        \
    COMPARE(less_##lanes, number, size, masks, per_mask, wasm_##lanes##_lt, <)                                                   \
    COMPARE(less_equal_##lanes, number, size, masks, per_mask, wasm_##lanes##_le, <=)                                            \
    COMPARE(equal_##lanes, number, size, masks, per_mask, wasm_##lanes##_eq, ==)                                                 \
    COMPARE(not_equal_##lanes, number, size, masks, per_mask, wasm_##lanes##_ne, !=)                                             \
    COMPARE(greater_##lanes, number, size, masks, per_mask, wasm_##lanes##_gt, >)                                                \
    COMPARE(greater_equal_##lanes, number, size, masks, per_mask, wasm_##lanes##_ge, >=)
COMPARISONS(double, f64x2, 8, MASKS_64, 2)
COMPARISONS(int64_t, i64x2, 8, MASKS_64, 2)
COMPARISONS(float, f32x4, 4, MASKS_32, 1)
COMPARISONS(int32_t, i32x4, 4, MASKS_32, 1)

/* Of one number. Some are told by its bits, all but the sign. */
#define TEST(name, size, word, masks, per_mask, operation, scalar)                                                               \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        char *a = args[0], *out = args[1];                                                                                       \
        if (n < 16 || steps[0] != size || steps[1] != 1 || !is_plain(a, size, size, out, 1, n)) return 0;                        \
        for (; n >= 16; n -= 16, a += 16 * size, out += 16) {                                                                    \
            v128_t w = masks(a, a, 0, operation), x = masks(a, a, per_mask, operation);                                          \
            v128_t y = masks(a, a, 2 * per_mask, operation), z = masks(a, a, 3 * per_mask, operation);                           \
            v128_t all = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(w, x), wasm_i16x8_narrow_i32x4(y, z));                  \
            wasm_v128_store(out, wasm_v128_and(all, wasm_i8x16_splat(1)));                                                       \
        }                                                                                                                        \
        for (intptr_t i = 0; i < n; i++) {                                                                                       \
            word bits = ((word *)a)[i], infinity = size == 8 ? (word)0x7ff0000000000000 : (word)0x7f800000, rest = bits & (word)-1 >> 1; \
            out[i] = scalar;                                                                                                     \
        }                                                                                                                        \
        return 1;                                                                                                                \
    }
#define TESTS(lanes, signs, size, word, masks, per_mask)                                                                         \
    INLINE v128_t is_infinite_##lanes(v128_t a, v128_t b) { return wasm_##lanes##_eq(wasm_##lanes##_abs(a), wasm_##lanes##_splat(__builtin_inff())); } \
    INLINE v128_t is_finite_##lanes(v128_t a, v128_t b) { return wasm_##lanes##_lt(wasm_##lanes##_abs(a), wasm_##lanes##_splat(__builtin_inff())); } \
    INLINE v128_t is_signed_##lanes(v128_t a, v128_t b) { return wasm_##signs##_lt(a, wasm_i32x4_splat(0)); }                    \
    TEST(isnan_##lanes, size, word, masks, per_mask, wasm_##lanes##_ne, rest > infinity)                                         \
    TEST(isinf_##lanes, size, word, masks, per_mask, is_infinite_##lanes, rest == infinity)                                      \
    TEST(isfinite_##lanes, size, word, masks, per_mask, is_finite_##lanes, rest < infinity)                                      \
    TEST(signbit_##lanes, size, word, masks, per_mask, is_signed_##lanes, bits != rest)
TESTS(f64x2, i64x2, 8, uint64_t, MASKS_64, 2)
TESTS(f32x4, i32x4, 4, uint32_t, MASKS_32, 1)

#define LOGICAL(name, operation)                                                                                                 \
    static int name(char **args, intptr_t n, const intptr_t *steps) {                                                            \
        const uint8_t *a = (const uint8_t *)args[0], *b = (const uint8_t *)args[1];                                              \
        uint8_t *out = (uint8_t *)args[2];                                                                                       \
        if (n < LEAST_NUMBERS || steps[0] != 1 || steps[1] != 1 || steps[2] != 1) return 0;                                      \
        if (!is_plain(args[0], 1, 1, args[2], 1, n) || !is_plain(args[1], 1, 1, args[2], 1, n)) return 0;                        \
        v128_t none = wasm_i8x16_splat(0), one = wasm_i8x16_splat(1);                                                            \
        for (; n >= 16; n -= 16, a += 16, b += 16, out += 16) {                                                                  \
            v128_t x = wasm_i8x16_ne(wasm_v128_load(a), none), y = wasm_i8x16_ne(wasm_v128_load(b), none);                       \
            wasm_v128_store(out, wasm_v128_and(operation(x, y), one));                                                           \
        }                                                                                                                        \
        for (intptr_t i = 0; i < n; i++) out[i] = wasm_i8x16_extract_lane(wasm_v128_and(one, operation(                          \
            wasm_i8x16_splat(-(a[i] != 0)), wasm_i8x16_splat(-(b[i] != 0)))), 0);                                                \
        return 1;                                                                                                                \
    }
LOGICAL(and_bool, wasm_v128_and)
LOGICAL(or_bool, wasm_v128_or)

static int not_bool(char **args, intptr_t n, const intptr_t *steps) {
    const char *a = args[0];
    char *out = args[1];
    if (n < LEAST_NUMBERS || steps[0] != 1 || steps[1] != 1 || !is_plain(a, 1, 1, out, 1, n)) return 0;
    for (; n >= 16; n -= 16, a += 16, out += 16)
        wasm_v128_store(out, wasm_v128_and(wasm_i8x16_eq(wasm_v128_load(a), wasm_i8x16_splat(0)), wasm_i8x16_splat(1)));
    for (intptr_t i = 0; i < n; i++) out[i] = !a[i];
    return 1;
}

/* ---------------------------------------------------------------- which */

typedef struct {
    const char *name;
    /* numpy's letters, with 32 and 64 bits as i, I, q and Q. */
    const char *types;
    faster_loop loop;
} entry;

#define REAL_ENTRIES(letter, lanes)                                                                                              \
    {"add", letter letter letter, add_##lanes}, {"subtract", letter letter letter, subtract_##lanes},                            \
    {"multiply", letter letter letter, multiply_##lanes}, {"divide", letter letter letter, divide_##lanes},                      \
    {"maximum", letter letter letter, maximum_##lanes}, {"minimum", letter letter letter, minimum_##lanes},                      \
    {"fmax", letter letter letter, fmax_##lanes}, {"fmin", letter letter letter, fmin_##lanes},                                  \
    {"sqrt", letter letter, sqrt_##lanes}, {"square", letter letter, squares_##lanes}, {"rint", letter letter, rint_##lanes},  \
    {"floor", letter letter, floor_##lanes}, {"ceil", letter letter, ceil_##lanes}, {"trunc", letter letter, trunc_##lanes},     \
    {"absolute", letter letter, absolutes_##lanes}, {"fabs", letter letter, absolutes_##lanes},                                   \
    {"negative", letter letter, negative_##lanes}, {"reciprocal", letter letter, reciprocal_##lanes},                            \
    {"isnan", letter "?", isnan_##lanes}, {"isinf", letter "?", isinf_##lanes}, {"isfinite", letter "?", isfinite_##lanes},      \
    {"signbit", letter "?", signbit_##lanes}
#define COMPARISON_ENTRIES(letter, lanes)                                                                                        \
    {"less", letter letter "?", less_##lanes}, {"less_equal", letter letter "?", less_equal_##lanes},                            \
    {"equal", letter letter "?", equal_##lanes}, {"not_equal", letter letter "?", not_equal_##lanes},                            \
    {"greater", letter letter "?", greater_##lanes}, {"greater_equal", letter letter "?", greater_equal_##lanes}
#define EXTREME_ENTRIES(letter, integer)                                                                                         \
    {"maximum", letter letter letter, maximum_##integer}, {"minimum", letter letter letter, minimum_##integer}
#define FUNCTION_ENTRIES(name) {#name, "dd", name##_double}, {#name, "ff", name##_float},
#define FUNCTION_OF_TWO_ENTRIES(name) {#name, "ddd", name##_double}, {#name, "fff", name##_float},

static const entry ENTRIES[] = {
    REAL_ENTRIES("d", f64x2), REAL_ENTRIES("f", f32x4),
    COMPARISON_ENTRIES("d", f64x2), COMPARISON_ENTRIES("f", f32x4), COMPARISON_ENTRIES("q", i64x2), COMPARISON_ENTRIES("i", i32x4),
    EXTREME_ENTRIES("b", int8_t), EXTREME_ENTRIES("B", uint8_t), EXTREME_ENTRIES("h", int16_t), EXTREME_ENTRIES("H", uint16_t),
    EXTREME_ENTRIES("i", int32_t), EXTREME_ENTRIES("I", uint32_t), EXTREME_ENTRIES("q", int64_t), EXTREME_ENTRIES("Q", uint64_t),
    {"add", "iii", sum_uint32_t}, {"add", "III", sum_uint32_t}, {"add", "qqq", sum_uint64_t}, {"add", "QQQ", sum_uint64_t},
    {"logical_and", "???", and_bool}, {"logical_or", "???", or_bool}, {"logical_not", "??", not_bool},
    {"bitwise_and", "???", and_bool}, {"bitwise_or", "???", or_bool}, {"invert", "??", not_bool},
    FOR_EACH_FUNCTION(FUNCTION_ENTRIES)
    FOR_EACH_FUNCTION_OF_TWO(FUNCTION_OF_TWO_ENTRIES)
    {"multiply", "DDD", multiply_complexes}, {"add", "DDD", add_complexes}, {"subtract", "DDD", subtract_complexes},
    {"absolute", "Dd", absolute_complex},
};

static char letter_of(int type) {
    static const char LETTERS[] = {
        [NPY_BOOL] = '?', [NPY_BYTE] = 'b', [NPY_UBYTE] = 'B', [NPY_SHORT] = 'h', [NPY_USHORT] = 'H', [NPY_INT] = 'i', [NPY_UINT] = 'I',
        [NPY_LONG] = 'i', [NPY_ULONG] = 'I', [NPY_LONGLONG] = 'q', [NPY_ULONGLONG] = 'Q', [NPY_FLOAT] = 'f', [NPY_DOUBLE] = 'd',
        [NPY_CFLOAT] = 'F', [NPY_CDOUBLE] = 'D',
    };
    return type >= 0 && (size_t)type < sizeof LETTERS ? LETTERS[type] : 0;
}

faster_loop faster_loop_for(const char *ufunc, int in, int out, const int *types) {
    char letters[4] = {0};
    if (in + out > 3 || out != 1) return NULL;
    for (int i = 0; i < in + out; i++)
        if (!(letters[i] = letter_of(types[i]))) return NULL;
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++)
        if (strcmp(ENTRIES[i].types, letters) == 0 && strcmp(ENTRIES[i].name, ufunc) == 0) return ENTRIES[i].loop;
    return NULL;
}
