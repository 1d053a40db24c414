/* Functions of one type: functions.c includes it for each. There are `real`, LANES of which are in a vector, `word`, an unsigned
 * integer of its size, FRACTION and BIAS, which say how `real` is stored, MADD and NMADD, which are fused, and limits. */
typedef real NAME(vector) __attribute__((vector_size(32)));
typedef word NAME(bits) __attribute__((vector_size(32)));
#define vector NAME(vector)
#define bits NAME(bits)
#define VECTOR(x) ((vector)(x))
#define BITS(x) ((bits)(x))
#define ALL(x) ((real)(x) - (vector){0})
#define WORDS(x) ((word)(x) - (bits){0})
/* a b + c and c - a b, rounded once. */
#define madd(a, b, c) VECTOR(BOTH(MADD(LOWER(a), LOWER(b), LOWER(c)), MADD(UPPER(a), UPPER(b), UPPER(c))))
#define nmadd(a, b, c) VECTOR(BOTH(NMADD(LOWER(a), LOWER(b), LOWER(c)), NMADD(UPPER(a), UPPER(b), UPPER(c))))
#define SIGN WORDS((word)1 << (sizeof(real) * 8 - 1))
#define EXPONENT_OF_ONE WORDS((word)BIAS << FRACTION)
/* All bits of the numbers for which it holds: wasm's own comparisons, for the compiler makes more of those of long vectors. */
#define COMPARE(order, a, b) BITS(BOTH(COMPARISON(order)(LOWER(a), LOWER(b)), COMPARISON(order)(UPPER(a), UPPER(b))))
#define POLYNOMIAL(x, coefficients) NAME(polynomial)(x, NAME(coefficients), sizeof NAME(coefficients) / sizeof(real))

INLINE vector NAME(choose)(bits mask, vector a, vector b) {
    return VECTOR(BOTH(wasm_v128_bitselect(LOWER(a), LOWER(b), LOWER(mask)), wasm_v128_bitselect(UPPER(a), UPPER(b), UPPER(mask))));
}
INLINE vector NAME(absolute)(vector x) { return VECTOR(BITS(x) & BITS(BOTH(hidden(LOWER(~SIGN)), hidden(UPPER(~SIGN))))); }
INLINE vector NAME(with_sign_of)(vector x, vector y) { return VECTOR(BITS(x) | (BITS(y) & SIGN)); }
INLINE vector NAME(square_root)(vector x) { return VECTOR(BOTH(SQRT(LOWER(x)), SQRT(UPPER(x)))); }

/* The smaller one, or x where that is no number. */
INLINE vector NAME(least)(vector x, vector y) { return VECTOR(BOTH(PMIN(LOWER(x), LOWER(y)), PMIN(UPPER(x), UPPER(y)))); }

/* Even and odd powers apart: the two don't wait for each other. */
INLINE vector NAME(polynomial)(vector x, const real *c, int n) {
    vector x2 = x * x, first = ALL(c[n - 1]), second = ALL(c[n - 2]);
#pragma clang loop unroll(full)
    for (int i = n - 3; i >= 0; i--) {
        vector next = madd(first, x2, ALL(c[i]));
        first = second;
        second = next;
    }
    return madd(first, x, second);
}

/* Makes *upper the sum of `large` and *lower, and *lower what that has lost. */
INLINE void NAME(carry)(vector *upper, vector *lower, vector large) {
    *upper = large + *lower;
    *lower = *lower - (*upper - large);
}

/* Where a vector's entries are in a table, in bytes. They go through memory, for the machine takes three instructions to get one out
 * of a vector, and loops write those of several vectors before they read the first, for a read waits for what was just written. */
typedef volatile union { v128_t all; uint32_t each[4]; } NAME(places);

#ifdef HAS_TABLES
#define PLACES(name, x) (&(const NAME(places)){NAME(name##_places)(x)})

INLINE void NAME(look_up)(const real (*table)[2], const NAME(places) *at, vector *first, vector *second) {
    v128_t entries[LANES];
#pragma clang loop unroll(full)
    for (int i = 0; i < LANES; i++) entries[i] = AT((const char *)table + at->each[i], 0);
    *first = VECTOR(BOTH(wasm_i64x2_shuffle(entries[0], entries[1], 0, 2), wasm_i64x2_shuffle(entries[2], entries[3], 0, 2)));
    *second = VECTOR(BOTH(wasm_i64x2_shuffle(entries[0], entries[1], 1, 3), wasm_i64x2_shuffle(entries[2], entries[3], 1, 3)));
}

/* The upper halves of words, which are enough to find entries. */
INLINE v128_t NAME(upper_halves)(bits x) { return wasm_i32x4_shuffle(LOWER(x), UPPER(x), 1, 3, 5, 7); }

/* In a table that has one entry for all below 2^least, 2^digits for the numbers from a power of 2 to the next, and the last for all
 * above. */
INLINE v128_t NAME(places_of_parts)(int least, int digits, int last, vector a) {
    const int shift = FRACTION - 32 - digits;
    const v128_t before = wasm_i32x4_splat(((BIAS + least) << (FRACTION - 32)) - (1 << shift));
    v128_t halves = wasm_i32x4_max(NAME(upper_halves)(BITS(a)), before);
    v128_t numbers = wasm_i32x4_min(wasm_u32x4_shr(wasm_i32x4_sub(halves, before), shift), wasm_i32x4_splat(last));
    return wasm_i32x4_shl(numbers, 4);
}
#else
#define PLACES(name, x) NULL
#endif

/* ---------------------------------------------------------------- exponential functions */

#ifdef HAS_TABLES
INLINE v128_t NAME(power_places)(vector sum) {
    v128_t numbers = wasm_i32x4_shuffle(LOWER(sum), UPPER(sum), 0, 2, 4, 6);
    return wasm_v128_and(wasm_i32x4_shl(numbers, 4), wasm_i32x4_splat(127 << 4));
}
/* 2^(n / 128) less a rest, which is a part of it; n is in the lowest bits of `sum`. */
INLINE vector NAME(power)(vector sum, const NAME(places) *at, vector *rest) {
    vector first;
    NAME(look_up)(EXP_TABLE, at, &first, rest);
    return VECTOR((BITS(sum) << (FRACTION - 7)) + BITS(first));
}

INLINE vector NAME(exp_sum)(vector x) { return madd(x, ALL(128 / LOG2), ALL(SHIFT)); }
INLINE v128_t NAME(exp_places)(vector x) { return NAME(power_places)(NAME(exp_sum)(x)); }
INLINE v128_t NAME(sinh_places)(vector x) { return NAME(exp_places)(NAME(absolute)(x)); }
/* exp(x) = scale (1 + r + rest), with |r| up to log(2) / 256; x less MAX_EXPONENT. What r has lost counts where 1 is taken off the
 * result. */
INLINE void NAME(split_exp)(vector x, const NAME(places) *at, int less_one, vector *scale, vector *r, vector *rest) {
    vector sum = NAME(exp_sum)(x), n = sum - ALL(SHIFT), of_power;
    *scale = NAME(power)(sum, at, &of_power);
    /* Exact: both have the same lowest bit. */
    vector upper = nmadd(n, ALL(LOG2 / 128), x);
    *r = nmadd(n, ALL(LOG2_REST / 128), upper);
    if (less_one) of_power += nmadd(n, ALL(LOG2_REST / 128), upper - *r);
    *rest = madd(*r * *r, POLYNOMIAL(*r, EXP), of_power);
}

INLINE v128_t NAME(exp2_places)(vector x) { return NAME(power_places)(x + ALL(SHIFT / 128)); }
INLINE vector NAME(exp2_of)(vector x, const NAME(places) *at) {
    vector sum = x + ALL(SHIFT / 128), r = x - (sum - ALL(SHIFT / 128)), of_power, scale = NAME(power)(sum, at, &of_power);
    vector rest = madd(r * r, POLYNOMIAL(r, EXP2), madd(r, ALL(LOG2_REST), of_power));
    return madd(scale, madd(r, ALL(LOG2), rest), scale);
}
#else
/* The same with |r| up to log(2) / 2. What r has lost always counts. */
INLINE void NAME(split_exp)(vector x, const NAME(places) *at, int less_one, vector *scale, vector *r, vector *rest) {
    vector sum = madd(x, ALL(1 / LOG2), ALL(SHIFT)), power = sum - ALL(SHIFT);
    /* The nearest integer is in the sum's lowest bits. */
    *scale = VECTOR((BITS(sum) + BIAS) << FRACTION);
    /* Exact: both have the same lowest bit. */
    vector upper = nmadd(power, ALL(LOG2), x);
    *r = nmadd(power, ALL(LOG2_REST), upper);
    vector lost = nmadd(power, ALL(LOG2_REST), upper - *r);
    *rest = madd(*r * *r, POLYNOMIAL(*r, EXP), lost);
}

INLINE vector NAME(exp2_of)(vector x, const NAME(places) *at) {
    vector sum = x + ALL(SHIFT), r = x - (sum - ALL(SHIFT));
    vector scale = VECTOR((BITS(sum) + BIAS) << FRACTION);
    vector rest = madd(r * r, POLYNOMIAL(r, EXP2), r * ALL(LOG2_REST));
    return (ALL(1) + madd(r, ALL(LOG2), rest)) * scale;
}
#endif

INLINE vector NAME(exp_of)(vector x, const NAME(places) *at) {
    vector scale, r, rest;
    NAME(split_exp)(x, at, 0, &scale, &r, &rest);
    return madd(scale, r + rest, scale);
}
INLINE bits NAME(exp_is_left)(vector x) { return ~COMPARE(lt, NAME(absolute)(x), ALL(MAX_EXPONENT)); }

INLINE bits NAME(exp2_is_left)(vector x) { return ~COMPARE(lt, NAME(absolute)(x), ALL(BIAS - 1)); }

/* exp(x) - 1 as a sum of two, the second of which is what the first has lost. */
INLINE void NAME(split_expm1)(vector x, const NAME(places) *at, vector *upper, vector *lower) {
    vector scale, r, rest;
    NAME(split_exp)(x, at, 1, &scale, &r, &rest);
    vector large = scale - ALL(1), sum = madd(scale, r, large);
    *lower = madd(scale, rest, madd(scale, r, large - sum));
    NAME(carry)(upper, lower, sum);
}

INLINE vector NAME(expm1_of)(vector x, const NAME(places) *at) {
    vector upper, lower;
    NAME(split_expm1)(x, at, &upper, &lower);
    return NAME(with_sign_of)(upper + lower, x);
}

#ifdef HAS_TABLES
INLINE v128_t NAME(tanh_places)(vector x) {
    return NAME(places_of_parts)(-4, 4, sizeof TANH_TABLE / sizeof *TANH_TABLE - 1, NAME(absolute)(x));
}
/* By the table, h + t (1 - h^2) / (1 + h t), where h and t are the tanh of c and d, and c + d = |x|. */
INLINE vector NAME(tanh_of)(vector x, const NAME(places) *at) {
    vector a = NAME(least)(NAME(absolute)(x), ALL(TANH_IS_ONE)), c, h;
    NAME(look_up)(TANH_TABLE, at, &c, &h);
    vector d = a - c, z = d * d, t = madd(z * d, POLYNOMIAL(z, TANH), d);
    return NAME(with_sign_of)(h + t * nmadd(h, h, ALL(1)) / madd(h, t, ALL(1)), x);
}
#else
/* Four numbers of the table's rows, by four places in bytes. */
INLINE void NAME(look_up_rows)(v128_t places, v128_t *columns) {
    volatile union { v128_t all; uint32_t each[4]; } place;
    v128_t rows[4];
    place.all = places;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) rows[i] = AT((const char *)TANH_ROWS + place.each[i], 0);
    v128_t lower = wasm_i32x4_shuffle(rows[0], rows[1], 0, 4, 1, 5), upper = wasm_i32x4_shuffle(rows[0], rows[1], 2, 6, 3, 7);
    v128_t other_lower = wasm_i32x4_shuffle(rows[2], rows[3], 0, 4, 1, 5), other_upper = wasm_i32x4_shuffle(rows[2], rows[3], 2, 6, 3, 7);
    columns[0] = wasm_i64x2_shuffle(lower, other_lower, 0, 2);
    columns[1] = wasm_i64x2_shuffle(lower, other_lower, 1, 3);
    columns[2] = wasm_i64x2_shuffle(upper, other_upper, 0, 2);
    columns[3] = wasm_i64x2_shuffle(upper, other_upper, 1, 3);
}

/* By a polynomial of the difference to the nearest multiple of 1 / TANH_STEPS. */
INLINE vector NAME(tanh_of)(vector x, const NAME(places) *at) {
    vector a = NAME(least)(NAME(absolute)(x), ALL(TANH_IS_ONE)), sum = madd(a, ALL(TANH_STEPS), ALL(SHIFT));
    vector d = nmadd(sum - ALL(SHIFT), ALL(1.0f / TANH_STEPS), a);
    bits places = (BITS(sum) << 4) & WORDS(511 << 4);
    v128_t of_lower[4], of_upper[4];
    NAME(look_up_rows)(LOWER(places), of_lower);
    NAME(look_up_rows)(UPPER(places), of_upper);
#define COLUMN(i) VECTOR(BOTH(of_lower[i], of_upper[i]))
    return NAME(with_sign_of)(madd(d, madd(d, madd(d, COLUMN(3), COLUMN(2)), COLUMN(1)), COLUMN(0)), x);
#undef COLUMN
}
#endif

/* With e = exp(|x|) - 1: (e + e / (e + 1)) / 2. */
INLINE vector NAME(sinh_of)(vector x, const NAME(places) *at) {
    vector upper, lower;
    NAME(split_expm1)(NAME(absolute)(x), at, &upper, &lower);
    vector half = ALL(0.5) * upper, other = half / ((upper + ALL(1)) + lower), sum = half + other;
    vector rest = madd(ALL(0.5), lower, other - (sum - half));
    return NAME(with_sign_of)(sum + rest, x);
}
/* Halves of the smallest numbers would be rounded. */
INLINE bits NAME(sinh_is_left)(vector x) {
    vector size = NAME(absolute)(x);
    return ~(COMPARE(lt, size, ALL(MAX_EXPONENT)) & (COMPARE(ge, size, ALL(MIN_NORMAL * (real)0x1p60)) | COMPARE(eq, size, ALL(0))));
}

INLINE vector NAME(cosh_of)(vector x, const NAME(places) *at) {
    vector scale, r, rest;
    NAME(split_exp)(NAME(absolute)(x), at, 0, &scale, &r, &rest);
    vector half = scale * ALL(0.5), upper = madd(half, r, half), lower = madd(half, rest, half * r - (upper - half));
    return upper + (ALL(0.25) / (upper + lower) + lower);
}

/* ---------------------------------------------------------------- logarithms */

/* Each type has its own log_of(x), split_log(x), by which log(x) = k log(2) + upper + lower, lower being what upper has lost,
 * and log_beside_one(x, x_rest), which is log(1 + x + x_rest), x above -1, if there is a rest. */
#ifdef HAS_TABLES
INLINE bits NAME(from_least_fraction)(vector x) { return BITS(x) - BITS(ALL(LEAST_FRACTION)); }
/* The first 7 bits of a fraction are its entry's number, and an entry has 2^4 bytes. */
INLINE v128_t NAME(log_places)(vector x) {
    v128_t halves = NAME(upper_halves)(NAME(from_least_fraction)(x));
    return wasm_v128_and(wasm_u32x4_shr(halves, FRACTION - 32 - 7 - 4), wasm_i32x4_splat(127 << 4));
}
/* By the table: x is near c 2^k. Gives k, its bits as an exponent, 1/c and log(c). */
INLINE void NAME(look_up_log)(vector x, const NAME(places) *at, vector *k, bits *exponent, vector *inverse, vector *logarithm) {
    bits moved = NAME(from_least_fraction)(x);
    *exponent = moved >> FRACTION << FRACTION;
    v128_t powers = wasm_i32x4_shr(NAME(upper_halves)(moved), FRACTION - 32);
    *k = VECTOR(BOTH(wasm_f64x2_convert_low_i32x4(powers), wasm_f64x2_convert_low_i32x4(wasm_i64x2_shuffle(powers, powers, 1, 1))));
    NAME(look_up)(LOG_TABLE, at, inverse, logarithm);
}

/* x = c 2^k (1 + r). */
INLINE void NAME(split)(vector x, const NAME(places) *at, vector *k, vector *logarithm, vector *r) {
    bits exponent;
    vector inverse;
    NAME(look_up_log)(x, at, k, &exponent, &inverse, logarithm);
    *r = madd(VECTOR(BITS(x) - exponent), inverse, ALL(-1));
}

INLINE void NAME(split_log)(vector x, const NAME(places) *at, vector *k, vector *upper, vector *lower) {
    vector logarithm, r;
    NAME(split)(x, at, k, &logarithm, &r);
    *upper = logarithm + r;
    *lower = madd(r * r, POLYNOMIAL(r, LOG), (logarithm - *upper) + r);
}

/* k log(2) + logarithm, which is exact but for k times a short rest, + log(1 + r) + rest, if there is one. What is rounded before
 * the last sum is not larger than r, which is at most a fourth of the result, or else the first is 0 and r is not rounded. */
INLINE vector NAME(log_sum)(vector k, vector logarithm, vector r, const vector *rest) {
    vector least = rest ? madd(k, ALL(LOG2_SHORT_REST), *rest) : k * ALL(LOG2_SHORT_REST);
    return madd(k, ALL(LOG2_SHORT), logarithm) + (r + madd(r * r, POLYNOMIAL(r, LOG), least));
}

INLINE vector NAME(log_of)(vector x, const NAME(places) *at) {
    vector k, logarithm, r;
    NAME(split)(x, at, &k, &logarithm, &r);
    return NAME(log_sum)(k, logarithm, r, NULL);
}

INLINE v128_t NAME(log_beside_one_places)(vector x) { return NAME(log_places)(ALL(1) + x); }
/* 1 + x only says which entry it is: r = x / (c 2^k) + (1 / (c 2^k) - 1), the last of which is exact where k is small. */
INLINE vector NAME(log_beside_one)(vector x, const vector *x_rest, const NAME(places) *at) {
    bits exponent;
    vector k, inverse, logarithm;
    NAME(look_up_log)(ALL(1) + x, at, &k, &exponent, &inverse, &logarithm);
    inverse = VECTOR(BITS(inverse) - exponent);
    vector r = madd(x, inverse, inverse - ALL(1)), rest;
    if (x_rest) rest = *x_rest * inverse;
    return NAME(log_sum)(k, logarithm, r, x_rest ? &rest : NULL);
}
#else
/* By a quotient: x = 2^k m, with m from sqrt(1/2) to sqrt(2), and 2^-k. */
INLINE void NAME(split)(vector x, vector *k, vector *m, vector *inverse) {
    bits moved = BITS(x) + (EXPONENT_OF_ONE - BITS(ALL(ROOT_OF_HALF))), exponent = moved >> FRACTION;
    *k = VECTOR(exponent | BITS(ALL(SHIFT))) - ALL(SHIFT + BIAS);
    bits in_place = exponent << FRACTION;
    *m = VECTOR(BITS(x) - in_place + EXPONENT_OF_ONE);
    *inverse = VECTOR(EXPONENT_OF_ONE + EXPONENT_OF_ONE - in_place);
}

/* log(1 + f) as a sum of two, f from sqrt(1/2) - 1 to sqrt(2) - 1: 2 artanh(s) = 2 s + s z R(z), where 2 s = f - s f. */
INLINE void NAME(split_log_beside_one)(vector f, vector *upper, vector *lower) {
    vector s = f / (ALL(2) + f), z = s * s, half_f = ALL(0.5) * f, half = half_f * f;
    vector series = madd(z, POLYNOMIAL(z, LOG), half);
    *upper = f - half;
    *lower = madd(s, series, ((f - *upper) - half) - madd(half_f, f, -half));
}

INLINE void NAME(split_log)(vector x, const NAME(places) *at, vector *k, vector *upper, vector *lower) {
    vector m, inverse;
    NAME(split)(x, k, &m, &inverse);
    NAME(split_log_beside_one)(m - ALL(1), upper, lower);
}

INLINE vector NAME(log_of)(vector x, const NAME(places) *at) {
    vector k, upper, lower;
    NAME(split_log)(x, at, &k, &upper, &lower);
    return madd(k, ALL(LOG2), upper + madd(k, ALL(LOG2_REST), lower));
}

INLINE vector NAME(log_beside_one)(vector x, const vector *x_rest, const NAME(places) *at) {
    vector sum = ALL(1) + x, of_x = sum - ALL(1), lost = (ALL(1) - (sum - of_x)) + (x - of_x), k, m, inverse, upper, lower;
    NAME(split)(sum, &k, &m, &inverse);
    bits is_near = COMPARE(eq, k, ALL(0));
    vector f = NAME(choose)(is_near, x, m - ALL(1));
    vector rest = VECTOR(BITS(lost) & ~is_near);
    if (x_rest) rest += *x_rest;
    rest = rest * inverse;
    NAME(split_log_beside_one)(f, &upper, &lower);
    /* The rest by 1 / (1 + f), of which a few bits are enough. */
    lower = madd(rest, POLYNOMIAL(f, INVERSE), madd(k, ALL(LOG2_REST), lower));
    return madd(k, ALL(LOG2), upper + lower);
}
#endif

/* Of a comparison with infinity the compiler makes several of integers, one by one. */
INLINE bits NAME(log_is_left)(vector x) { return ~(COMPARE(ge, x, ALL(MIN_NORMAL)) & COMPARE(le, x, ALL(LARGEST))); }

/* In another base: k times the logarithm of 2, which is exact, and that of m times a factor. */
INLINE vector NAME(log_in_base)(vector x, const NAME(places) *at, real of_2, real of_2_rest, real factor, real factor_rest) {
    vector k, upper, lower;
    NAME(split_log)(x, at, &k, &upper, &lower);
    vector large = k * ALL(of_2), small = upper * ALL(factor), sum = large + small;
    vector rest = madd(upper, ALL(factor), -small) + madd(upper, ALL(factor_rest), lower * ALL(factor));
    return sum + ((small - (sum - large)) + madd(k, ALL(of_2_rest), rest));
}
INLINE vector NAME(log2_of)(vector x, const NAME(places) *at) { return NAME(log_in_base)(x, at, 1, 0, INVERSE_LOG2, INVERSE_LOG2_REST); }
INLINE vector NAME(log10_of)(vector x, const NAME(places) *at) {
    return NAME(log_in_base)(x, at, LOG10_OF_2, LOG10_OF_2_REST, INVERSE_LOG10, INVERSE_LOG10_REST);
}
/* libc's are not exact for subnormal numbers. */
static real NAME(log2_left)(real x) {
    const vector more = ALL(x * (real)0x1p54);
    return x > 0 && x < MIN_NORMAL ? NAME(log2_of)(more, PLACES(log, more))[0] - 54 : LIBC(log2)(x);
}
static real NAME(log10_left)(real x) {
    const vector more = ALL(x * (real)0x1p54);
    const real less = 54 * 0.30102999566398119521;
    return x > 0 && x < MIN_NORMAL ? NAME(log10_of)(more, PLACES(log, more))[0] - less : LIBC(log10)(x);
}

/* It is at most x, and of 0 it is x, with its sign. */
INLINE vector NAME(log1p_of)(vector x, const NAME(places) *at) { return NAME(least)(x, NAME(log_beside_one)(x, NULL, at)); }
INLINE bits NAME(log1p_is_left)(vector x) { return ~(COMPARE(gt, x, ALL(-1)) & COMPARE(lt, x, ALL(MAX_SQUARED))); }

/* log1p(2a / (1 - a)) / 2, with a = |x|. */
INLINE vector NAME(arctanh_of)(vector x) {
    vector a = NAME(absolute)(x), below = ALL(1) - a, below_rest = (ALL(1) - below) - a, inverse = ALL(1) / below;
    vector q = (a + a) * inverse, rest = nmadd(q, below, a + a) - q * below_rest, y = madd(rest, inverse, q);
    rest = (nmadd(y, below, a + a) - y * below_rest) * inverse;
    return NAME(with_sign_of)(ALL(0.5) * NAME(log_beside_one)(y, &rest, PLACES(log_beside_one, y)), x);
}
INLINE bits NAME(arctanh_is_left)(vector x) { return ~COMPARE(lt, NAME(absolute)(x), ALL(1)); }

/* log1p(a + a^2 / (1 + sqrt(1 + a^2))), with a = |x|. */
INLINE vector NAME(arcsinh_of)(vector x) {
    vector a = NAME(absolute)(x), square = a * a, other = square / (ALL(1) + NAME(square_root)(ALL(1) + square)), y = a + other;
    /* The larger one of the two is `other` from 1.34 on. */
    vector rest = NAME(choose)(COMPARE(gt, a, other), other - (y - a), a - (y - other));
    return NAME(with_sign_of)(NAME(log_beside_one)(y, &rest, PLACES(log_beside_one, y)), x);
}
INLINE bits NAME(arcsinh_is_left)(vector x) { return ~COMPARE(lt, NAME(absolute)(x), ALL(MAX_SQUARED)); }

/* log1p(t + sqrt(2t + t^2)), with t = x - 1. */
INLINE vector NAME(arccosh_of)(vector x) {
    vector t = x - ALL(1), root = NAME(square_root)(madd(t, t, t + t)), y = t + root;
    vector rest = t - (y - root);
    return NAME(log_beside_one)(y, &rest, PLACES(log_beside_one, y));
}
INLINE bits NAME(arccosh_is_left)(vector x) { return ~(COMPARE(ge, x, ALL(1)) & COMPARE(lt, x, ALL(MAX_SQUARED))); }

/* ---------------------------------------------------------------- cube roots */

#ifdef HAS_TABLES
/* k of |x| = 8^k m, as an exponent, by the exponent of x: that of 1 is 3 times 341. */
INLINE v128_t NAME(cbrt_power)(v128_t halves) {
    v128_t exponents = wasm_u32x4_shr(halves, FRACTION - 32);
    v128_t thirds = wasm_u32x4_shr(wasm_i32x4_mul(exponents, wasm_i32x4_splat((1 << 16) / 3 + 1)), 16);
    return wasm_i32x4_shl(wasm_i32x4_sub(thirds, wasm_i32x4_splat(BIAS / 3)), FRACTION - 32);
}
INLINE v128_t NAME(cbrt_places)(vector x) {
    v128_t halves = NAME(upper_halves)(BITS(NAME(absolute)(x))), k = NAME(cbrt_power)(halves), three_k = wasm_i32x4_add(k, wasm_i32x4_add(k, k));
    v128_t numbers = wasm_i32x4_sub(wasm_i32x4_sub(halves, three_k), wasm_i32x4_splat(BIAS << (FRACTION - 32)));
    return wasm_v128_and(wasm_u32x4_shr(numbers, FRACTION - 32 - 5 - 4), wasm_i32x4_splat(127 << 4));
}
/* |x| = 8^k m, with m from 1 to 8: by the table, m is near the cube of a number with few bits, and m by that is 1 + r; so many terms
 * of the polynomial. */
INLINE vector NAME(cbrt_by)(int terms, vector x, const NAME(places) *at) {
    const v128_t zero = wasm_i32x4_splat(0);
    bits a = BITS(NAME(absolute)(x));
    v128_t k = NAME(cbrt_power)(NAME(upper_halves)(a)), three_k = wasm_i32x4_add(k, wasm_i32x4_add(k, k));
    vector inverse, root;
    NAME(look_up)(CBRT_TABLE, at, &inverse, &root);
    vector r = madd(VECTOR(a - BITS(BOTH(wasm_i32x4_shuffle(zero, three_k, 0, 4, 0, 5), wasm_i32x4_shuffle(zero, three_k, 0, 6, 0, 7)))), inverse, ALL(-1));
    root = VECTOR(BITS(root) + BITS(BOTH(wasm_i32x4_shuffle(zero, k, 0, 4, 0, 5), wasm_i32x4_shuffle(zero, k, 0, 6, 0, 7))));
    return NAME(choose)(COMPARE(eq, x, ALL(0)), x, NAME(with_sign_of)(madd(root * r, NAME(polynomial)(r, CBRT_double, terms), root), x));
}
INLINE vector NAME(cbrt_of)(vector x, const NAME(places) *at) { return NAME(cbrt_by)(sizeof CBRT_double / sizeof *CBRT_double, x, at); }
#else
/* By that of double, to 35 bits. */
INLINE v128_t NAME(cbrt_of_four)(v128_t x) {
    v128_t lower = wasm_f64x2_promote_low_f32x4(x), upper = wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(x, x, 1, 1));
    vector_double both = (vector_double)BOTH(lower, upper), y = cbrt_by_double(4, both, &(const places_double){cbrt_places_double(both)});
    return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(LOWER(y)), wasm_f32x4_demote_f64x2_zero(UPPER(y)), 0, 2);
}
INLINE vector NAME(cbrt_of)(vector x, const NAME(places) *at) {
    return VECTOR(BOTH(NAME(cbrt_of_four)(LOWER(x)), NAME(cbrt_of_four)(UPPER(x))));
}
#endif
INLINE bits NAME(cbrt_is_left)(vector x) {
    vector a = NAME(absolute)(x);
    return ~((COMPARE(ge, a, ALL(MIN_NORMAL)) & COMPARE(le, a, ALL(LARGEST))) | COMPARE(eq, x, ALL(0)));
}

/* ---------------------------------------------------------------- trigonometric functions */

/* x = n pi / 2 + r + lost, with |r| up to pi / 4, and n in the lowest bits of what it returns; x less MAX_ANGLE. */
INLINE bits NAME(split_angle)(vector x, vector *r, vector *lost) {
    vector sum = madd(x, ALL(2 / PI), ALL(SHIFT)), n = sum - ALL(SHIFT);
    /* Exact: both have the same lowest bit. */
    vector first = nmadd(n, ALL(HALF_PI), x), second = n * ALL(HALF_PI_REST), least = madd(n, ALL(HALF_PI_REST), -second);
    *r = first - second;
    *lost = ((first - *r) - second) - madd(n, ALL(HALF_PI_LEAST), least);
    return BITS(sum);
}
/* Sine and cosine of r + lost, as sums of two. */
INLINE void NAME(split_sin)(vector r, vector lost, vector *upper, vector *lower) {
    vector z = r * r, half = ALL(0.5) * z;
    *upper = r;
    *lower = madd(z * r, POLYNOMIAL(z, SIN), nmadd(half, lost, lost));
}
INLINE void NAME(split_cos)(vector r, vector lost, vector *upper, vector *lower) {
    vector z = r * r, half = ALL(0.5) * z;
    *upper = ALL(1) - half;
    *lower = madd(z * z, POLYNOMIAL(z, COS), nmadd(r, lost, (ALL(1) - *upper) - half));
}

/* sin(x + turns pi / 2). */
INLINE vector NAME(sin_turned)(vector x, int turns) {
    vector r, lost, sine, sine_rest, cosine, cosine_rest;
    bits n = NAME(split_angle)(x, &r, &lost) + turns, sign = n >> 1 << (sizeof(real) * 8 - 1);
    NAME(split_sin)(r, lost, &sine, &sine_rest);
    NAME(split_cos)(r, lost, &cosine, &cosine_rest);
    return VECTOR(BITS(NAME(choose)(-(n & 1), cosine + cosine_rest, sine + sine_rest)) ^ sign);
}
INLINE vector NAME(sin_of)(vector x) { return NAME(choose)(COMPARE(eq, x, ALL(0)), x, NAME(sin_turned)(x, 0)); }
INLINE vector NAME(cos_of)(vector x) { return NAME(sin_turned)(x, 1); }
INLINE bits NAME(angle_is_left)(vector x) { return ~COMPARE(lt, NAME(absolute)(x), ALL(MAX_ANGLE)); }

/* tan(r + lost), the slope being near 1 + r^2, is r + small / below where n is even; where it is odd, -below / above. */
INLINE vector NAME(tan_of)(vector x) {
    vector r, lost;
    /* The two bits of n that count, as a number: 0, 2, -0 or -2. */
    vector quadrant = VECTOR(NAME(split_angle)(x, &r, &lost) << (sizeof(real) * 8 - 2));
    bits is_even = COMPARE(eq, VECTOR(BOTH(hidden(LOWER(quadrant)), hidden(UPPER(quadrant)))), ALL(0));
    vector z = r * r, below = POLYNOMIAL(z, TAN_BELOW), small = madd(z * r, POLYNOMIAL(z, TAN_ABOVE), madd(z, lost, lost));
    vector above = madd(r, below, small);
    vector q = NAME(choose)(is_even, small, -below) / NAME(choose)(is_even, below, above);
    return NAME(choose)(COMPARE(eq, x, ALL(0)), x, q + VECTOR(BITS(r) & is_even));
}

/* The angle whose tangent is y / x, neither below 0, as a sum of two: that of a quotient up to sqrt(2) - 1, from 0, pi / 4 or
 * pi / 2. */
INLINE void NAME(split_angle_of)(vector y, vector x, vector *upper, vector *lower) {
    bits is_beyond = COMPARE(gt, y, ALL(1 + ROOT_OF_2) * x), is_beside = COMPARE(gt, y, ALL(ROOT_OF_2 - 1) * x) & ~is_beyond;
    vector above = NAME(choose)(is_beyond, -x, NAME(choose)(is_beside, y - x, y));
    vector below = NAME(choose)(is_beyond, y, NAME(choose)(is_beside, y + x, x));
    vector from = VECTOR((is_beyond & BITS(ALL(HALF_PI))) | (is_beside & BITS(ALL(HALF_PI / 2))));
    vector from_rest = VECTOR((is_beyond & BITS(ALL(HALF_PI_REST))) | (is_beside & BITS(ALL(HALF_PI_REST / 2))));
    vector t = above / below, z = t * t;
    *upper = from + t;
    *lower = (t - (*upper - from)) + madd(z * t, POLYNOMIAL(z, ATAN), from_rest);
}
#ifdef HAS_TABLES
INLINE v128_t NAME(arctan_places)(vector x) {
    return NAME(places_of_parts)(-5, 3, sizeof ATAN_TABLE / sizeof *ATAN_TABLE - 1, NAME(absolute)(x));
}
/* By the table, the angle of c and that of (a - c) / (1 + a c), with a = |x|. */
INLINE vector NAME(arctan_of)(vector x, const NAME(places) *at) {
    /* So that neither is infinite. */
    vector a = NAME(least)(NAME(absolute)(x), ALL(MAX_SQUARED)), c, angle;
    NAME(look_up)(ATAN_TABLE, at, &c, &angle);
    vector t = (a - c) / madd(a, c, ALL(1)), z = t * t;
    return NAME(with_sign_of)(angle + madd(z * t, POLYNOMIAL(z, ATAN_OF_REST), t), x);
}
#else
INLINE vector NAME(arctan_of)(vector x, const NAME(places) *at) {
    vector upper, lower;
    NAME(split_angle_of)(NAME(absolute)(x), ALL(1), &upper, &lower);
    return NAME(with_sign_of)(upper + lower, x);
}
#endif
INLINE vector NAME(arctan2_of)(vector y, vector x) {
    vector upper, lower, pi = ALL(2 * HALF_PI);
    NAME(split_angle_of)(NAME(absolute)(y), NAME(absolute)(x), &upper, &lower);
    vector other = pi - upper, other_rest = ((pi - other) - upper) + (ALL(2 * HALF_PI_REST) - lower);
    return NAME(with_sign_of)(NAME(choose)(COMPARE(lt, x, ALL(0)), other + other_rest, upper + lower), y);
}
INLINE bits NAME(is_moderate)(vector x) { return (COMPARE(lt, NAME(absolute)(x), ALL(MAX_SQUARED)) & COMPARE(gt, NAME(absolute)(x), ALL(1 / MAX_SQUARED))); }
INLINE bits NAME(arctan2_is_left)(vector y, vector x) { return ~(NAME(is_moderate)(y) & NAME(is_moderate)(x)); }

/* The larger square is the one that is not rounded, so that it does not matter which is which. */
INLINE vector NAME(hypot_of)(vector x, vector y) {
    vector a = NAME(absolute)(x), b = NAME(absolute)(y);
    bits is_less = COMPARE(lt, a, b);
    vector larger = NAME(choose)(is_less, b, a), smaller = NAME(choose)(is_less, a, b);
    return NAME(square_root)(madd(larger, larger, smaller * smaller));
}
/* Squares that neither overflow nor lose what counts. */
INLINE bits NAME(hypot_is_left)(vector x, vector y) {
    vector sum = NAME(absolute)(x) + NAME(absolute)(y);
    return ~(COMPARE(lt, sum, ALL(MAX_SQUARED)) & (COMPARE(gt, sum, ALL(MIN_SQUARED)) | COMPARE(eq, sum, ALL(0))));
}

/* arcsin(a) = a + rest for a up to 1/2; for larger ones arcsin(root + root_rest) = root + rest, where root^2 = (1 - a) / 2. */
INLINE bits NAME(split_arcsin)(vector a, vector *root, vector *rest) {
    bits is_large = COMPARE(gt, a, ALL(0.5));
    vector half = nmadd(a, ALL(0.5), ALL(0.5)), z = NAME(least)(half, a * a), s = NAME(square_root)(half);
    /* By half the inverse of s, to a few bits. */
    vector root_rest = nmadd(s, s, half) * VECTOR(WORDS(ABOUT_HALF) - BITS(s));
    *root = NAME(least)(a, s);
    *rest = madd(*root * z, POLYNOMIAL(z, ASIN), VECTOR(BITS(root_rest) & is_large));
    return is_large;
}
INLINE vector NAME(arcsin_of)(vector x) {
    vector root, rest;
    bits is_large = NAME(split_arcsin)(NAME(absolute)(x), &root, &rest);
    vector twice = root + root, upper = ALL(HALF_PI) - twice, lower = ((ALL(HALF_PI) - upper) - twice) + (ALL(HALF_PI_REST) - (rest + rest));
    return NAME(with_sign_of)(NAME(choose)(is_large, upper, root) + NAME(choose)(is_large, lower, rest), x);
}
INLINE vector NAME(arccos_of)(vector x) {
    vector root, rest;
    bits is_large = NAME(split_arcsin)(NAME(absolute)(x), &root, &rest), is_negative = COMPARE(lt, x, ALL(0));
    /* 2 (root + rest) of large ones, from pi where x is negative; of others pi / 2 less what has the sign of x. */
    vector factor = NAME(choose)(is_large, ALL(2), ALL(1)), change = VECTOR(BITS(factor) | (~(is_large ^ is_negative) & SIGN));
    bits is_from_none = is_large & ~is_negative;
    vector times = NAME(choose)(is_large & is_negative, ALL(2), ALL(1));
    vector from = VECTOR(BITS(ALL(HALF_PI) * times) & ~is_from_none), from_rest = VECTOR(BITS(ALL(HALF_PI_REST) * times) & ~is_from_none);
    vector part = root * change, upper = from + part;
    return upper + (part - (upper - from) + madd(rest, change, from_rest));
}
INLINE bits NAME(arcsin_is_left)(vector x) { return ~COMPARE(le, NAME(absolute)(x), ALL(1)); }
INLINE bits NAME(none_is_left)(vector x) { return (bits){0}; }

/* ---------------------------------------------------------------- loops */

#define IS_ANY(mask) wasm_v128_any_true(wasm_v128_or(LOWER(mask), UPPER(mask)))

/* Numbers that are next to each other a block of `turn` vectors at a time; all others, and the last ones, are copied to a block
 * and back. A block in which some are left to libc is calculated again by _mixed, so that nothing need be kept for that in all
 * others. `find` is before the first `value`. */
#define LOOPS(name, turn, is_left, libc, inputs, arguments, numbers, find, value)                                                \
    INLINE bits NAME(name##_load)(char *const *args, vector (*in)[turn]) {                                                       \
        bits any = {0};                                                                                                          \
        _Pragma("clang loop unroll(full)")                                                                                       \
        for (int i = 0; i < turn; i++) {                                                                                         \
            _Pragma("clang loop unroll(full)")                                                                                   \
            for (int k = 0; k < inputs; k++) in[k][i] = VECTOR(BOTH(AT(args[k], 2 * i), AT(args[k], 2 * i + 1)));                \
            any |= NAME(is_left) arguments;                                                                                      \
        }                                                                                                                        \
        return any;                                                                                                              \
    }                                                                                                                            \
    INLINE void NAME(name##_store)(char *const *args, const vector (*in)[turn]) {                                                \
        find                                                                                                                     \
        _Pragma("clang loop unroll(full)")                                                                                       \
        for (int i = 0; i < turn; i++) {                                                                                         \
            vector y = value;                                                                                                    \
            wasm_v128_store(args[inputs] + 32 * i, LOWER(y));                                                                    \
            wasm_v128_store(args[inputs] + 32 * i + 16, UPPER(y));                                                               \
        }                                                                                                                        \
    }                                                                                                                            \
    static __attribute__((noinline)) void NAME(name##_mixed)(char *const *args) {                                                \
        vector in[inputs][turn];                                                                                                 \
        bits any = NAME(name##_load)(args, in);                                                                                  \
        NAME(name##_store)(args, in);                                                                                            \
        if (!IS_ANY(any)) return;                                                                                                \
        real *out = (real *)args[inputs];                                                                                        \
        for (int i = 0; i < turn; i++) {                                                                                         \
            bits left = NAME(is_left) arguments;                                                                                 \
            for (int k = 0; k < LANES; k++)                                                                                      \
                if (left[k]) out[i * LANES + k] = libc numbers;                                                                  \
        }                                                                                                                        \
    }                                                                                                                            \
    INLINE void NAME(name##_turn)(char *const *args) {                                                                           \
        vector in[inputs][turn];                                                                                                 \
        bits any = NAME(name##_load)(args, in);                                                                                  \
        if (IS_ANY(any)) NAME(name##_mixed)(args);                                                                               \
        else NAME(name##_store)(args, in);                                                                                       \
    }                                                                                                                            \
    static __attribute__((noinline)) void NAME(name##_few)(char *const *args, const intptr_t *steps, int n) {                    \
        real block[inputs][turn * LANES];                                                                                        \
        char *blocks[inputs + 1];                                                                                                \
        for (int k = 0; k <= inputs; k++) blocks[k] = (char *)block[k % inputs];                                                 \
        for (int k = 0; k < inputs; k++)                                                                                         \
            for (int i = 0; i < turn * LANES; i++) block[k][i] = *(real *)(args[k] + (i < n ? i : 0) * steps[k]);                \
        NAME(name##_mixed)(blocks);                                                                                              \
        for (int i = 0; i < n; i++) *(real *)(args[inputs] + i * steps[inputs]) = block[0][i];                                   \
    }                                                                                                                            \
    int NAME(name)(char **args, intptr_t n, const intptr_t *steps) {                                                             \
        char *now[inputs + 1];                                                                                                   \
        int at_once = turn * LANES, is_next = steps[inputs] == sizeof(real);                                                     \
        for (int k = 0; k <= inputs; k++) now[k] = args[k];                                                                      \
        for (int k = 0; k < inputs; k++) {                                                                                       \
            is_next &= steps[k] == sizeof(real);                                                                                 \
            if (!is_apart(args[k], steps[k], args[inputs], steps[inputs], sizeof(real), n)) at_once = 1;                         \
        }                                                                                                                        \
        if (is_next && at_once > 1)                                                                                              \
            for (; n >= turn * LANES; n -= turn * LANES) {                                                                       \
                NAME(name##_turn)(now);                                                                                          \
                for (int k = 0; k <= inputs; k++) now[k] += 32 * turn;                                                           \
            }                                                                                                                    \
        for (; n > 0; n -= at_once) {                                                                                            \
            NAME(name##_few)(now, steps, n < at_once ? n : at_once);                                                             \
            for (int k = 0; k <= inputs; k++) now[k] += at_once * steps[k];                                                      \
        }                                                                                                                        \
        return 1;                                                                                                                \
    }
#define NUMBER(number) in[number][i][k]
#define OF_ONE(name, is_left, libc) LOOPS(name, 2, is_left, libc, 1, (in[0][i]), (NUMBER(0)), , NAME(name##_of)(in[0][i]))
#define OF_TWO(name, is_left, libc)                                                                                              \
    LOOPS(name, 2, is_left, libc, 2, (in[0][i], in[1][i]), (NUMBER(0), NUMBER(1)), , NAME(name##_of)(in[0][i], in[1][i]))
#ifdef HAS_TABLES
#define BY_TABLE(name, entry, is_left, libc)                                                                                     \
    LOOPS(name, 4, is_left, libc, 1, (in[0][i]), (NUMBER(0)), FIND(NAME(entry##_places)), NAME(name##_of)(in[0][i], &at[i]))
#define FIND(place_of)                                                                                                           \
    NAME(places) at[4];                                                                                                          \
    _Pragma("clang loop unroll(full)")                                                                                           \
    for (int i = 0; i < 4; i++) at[i].all = place_of(in[0][i]);
#else
#define BY_TABLE(name, entry, is_left, libc) LOOPS(name, 2, is_left, libc, 1, (in[0][i]), (NUMBER(0)), , NAME(name##_of)(in[0][i], NULL))
#endif
BY_TABLE(exp, exp, exp_is_left, LIBC(exp))
BY_TABLE(exp2, exp2, exp2_is_left, LIBC(exp2))
BY_TABLE(expm1, exp, exp_is_left, LIBC(expm1))
BY_TABLE(tanh, tanh, none_is_left, LIBC(tanh))
BY_TABLE(sinh, sinh, sinh_is_left, LIBC(sinh))
BY_TABLE(cosh, sinh, exp_is_left, LIBC(cosh))
BY_TABLE(log, log, log_is_left, LIBC(log))
BY_TABLE(log2, log, log_is_left, NAME(log2_left))
BY_TABLE(log10, log, log_is_left, NAME(log10_left))
BY_TABLE(log1p, log_beside_one, log1p_is_left, LIBC(log1p))
OF_ONE(arctanh, arctanh_is_left, LIBC(atanh))
OF_ONE(arcsinh, arcsinh_is_left, LIBC(asinh))
OF_ONE(arccosh, arccosh_is_left, LIBC(acosh))
BY_TABLE(cbrt, cbrt, cbrt_is_left, LIBC(cbrt))
OF_ONE(sin, angle_is_left, LIBC(sin))
OF_ONE(cos, angle_is_left, LIBC(cos))
OF_ONE(tan, angle_is_left, LIBC(tan))
BY_TABLE(arctan, arctan, none_is_left, LIBC(atan))
OF_ONE(arcsin, arcsin_is_left, LIBC(asin))
OF_ONE(arccos, arcsin_is_left, LIBC(acos))
OF_TWO(arctan2, arctan2_is_left, LIBC(atan2))
OF_TWO(hypot, hypot_is_left, LIBC(hypot))

#undef vector
#undef bits
#undef VECTOR
#undef BITS
#undef ALL
#undef WORDS
#undef madd
#undef nmadd
#undef SIGN
#undef EXPONENT_OF_ONE
#undef COMPARE
#undef POLYNOMIAL
#undef PLACES
#undef IS_ANY
#undef LOOPS
#undef NUMBER
#undef OF_ONE
#undef OF_TWO
#undef BY_TABLE
#undef FIND
#undef real
#undef LANES
#undef word
#undef FRACTION
#undef BIAS
#undef NAME
#undef LIBC
#undef MADD
#undef NMADD
#undef SQRT
#undef PMIN
#undef COMPARISON
#undef SHIFT
#undef LOG2
#undef LOG2_REST
#undef HAS_TABLES
#undef LOG2_SHORT
#undef LOG2_SHORT_REST
#undef INVERSE_LOG2
#undef INVERSE_LOG2_REST
#undef INVERSE_LOG10
#undef INVERSE_LOG10_REST
#undef LOG10_OF_2
#undef LOG10_OF_2_REST
#undef HALF_PI
#undef HALF_PI_REST
#undef HALF_PI_LEAST
#undef MIN_NORMAL
#undef LARGEST
#undef MAX_EXPONENT
#undef MAX_SQUARED
#undef MIN_SQUARED
#undef MAX_ANGLE
#undef TANH_IS_ONE
#undef ABOUT_HALF
