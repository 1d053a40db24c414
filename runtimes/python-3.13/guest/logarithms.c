/* log2, log10 and acosh as FreeBSD's msun has them. The toolchain's lose the low half of a subnormal number when they scale it, and
 * find an area hyperbolic cosine for some numbers below -1. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x = 2**exponent * (1 + f), and log(1 + f) = high + low, with f near 0 and few bits in `high`. */
static void split(double x, double *exponent, double *high, double *low) {
    static const double
        L1 = 6.666666666666735130e-01, L2 = 3.999999999940941908e-01, L3 = 2.857142874366239149e-01,
        L4 = 2.222219843214978396e-01, L5 = 1.818357216161805012e-01, L6 = 1.531383769920937332e-01,
        L7 = 1.479819860511658591e-01;
    int k = 0;
    if (bits_of(x) >> 52 == 0) {
        k = -54;
        x *= 0x1p54;
    }
    uint64_t bits = bits_of(x);
    uint32_t top = (uint32_t)(bits >> 32) + (0x3ff00000 - 0x3fe6a09e);
    k += (int)(top >> 20) - 0x3ff;
    top = (top & 0x000fffff) + 0x3fe6a09e;
    double f = of_bits((uint64_t)top << 32 | (uint32_t)bits) - 1.0;
    double half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    double r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6));
    *high = of_bits(bits_of(f - half) & 0xffffffff00000000u);
    *low = f - *high - half + s * (half + r);
    *exponent = k;
}

/* What is no positive finite number: 0 when x is one. */
static int is_special(double x, double *result) {
    if (x > 0 && x < INFINITY) return 0;
    *result = x == 0 ? -1 / (x * x) : x < 0 ? (x - x) / 0.0 : x;
    return 1;
}

double log2(double x) {
    static const double log2e_high = 1.44269504072144627571e+00, log2e_low = 1.67517131648865118353e-10;
    double result, y, high, low;
    if (is_special(x, &result)) return result;
    if (x == 1) return 0;
    split(x, &y, &high, &low);
    double value_high = high * log2e_high, value_low = (low + high) * log2e_low + low * log2e_high;
    double w = y + value_high;
    value_low += (y - w) + value_high;
    return value_low + w;
}

double log10(double x) {
    static const double
        loge_high = 4.34294481878168880939e-01, loge_low = 2.50829467116452752298e-11,
        log2_high = 3.01029995663611771306e-01, log2_low = 3.69423907715893078616e-13;
    double result, k, high, low;
    if (is_special(x, &result)) return result;
    if (x == 1) return 0;
    split(x, &k, &high, &low);
    double value_high = high * loge_high, y = k * log2_high;
    double value_low = k * log2_low + (low + high) * loge_low + low * loge_high;
    double w = y + value_high;
    value_low += (y - w) + value_high;
    return value_low + w;
}

double acosh(double x) {
    static const double log_2 = 6.93147180559945286227e-01;
    if (x < 1) return (x - x) / 0.0;
    if (x > 0x1p28) return log(x) + log_2;
    if (x > 2) return log(2 * x - 1 / (x + sqrt(x * x - 1)));
    double above = x - 1;
    return log1p(above + sqrt(2 * above + above * above));
}

float acoshf(float x) { return (float)acosh(x); }
