/* libc's searches and comparisons, 16 bytes at a time: those of the toolchain look at each byte. A load from an address
 * that is a multiple of 16 never crosses the end of memory. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t lanes __attribute__((vector_size(16)));
typedef uint8_t loose_lanes __attribute__((vector_size(16), aligned(1)));
typedef uint64_t loose_word __attribute__((aligned(1)));
typedef uint32_t loose_half __attribute__((aligned(1)));

#define SIMD __attribute__((target("simd128"), no_builtin))

SIMD static inline uint32_t mask_of(lanes equal) { return __builtin_wasm_bitmask_i8x16((__attribute__((vector_size(16))) signed char)equal); }

SIMD static inline lanes all(int byte) {
    uint8_t b = (uint8_t)byte;
    return (lanes){b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b};
}

SIMD static inline uint32_t equal_at(const unsigned char *p, lanes wanted) {
    return mask_of((lanes)(*(const loose_lanes *)p == wanted));
}

SIMD void *memchr(const void *start, int byte, size_t n) {
    const unsigned char *p = start, *end = p + n;
    if (n < 16) {
        for (; p != end; p++)
            if (*p == (unsigned char)byte) return (void *)p;
        return NULL;
    }
    lanes wanted = all(byte);
    uint32_t found;
    for (; (size_t)(end - p) >= 16; p += 16)
        if ((found = equal_at(p, wanted))) return (void *)(p + __builtin_ctz(found));
    if (p == end) return NULL;
    found = equal_at(end - 16, wanted);
    return found ? (void *)(end - 16 + __builtin_ctz(found)) : NULL;
}

SIMD void *memrchr(const void *start, int byte, size_t n) {
    const unsigned char *p = start, *end = p + n;
    if (n < 16) {
        while (end != p)
            if (*--end == (unsigned char)byte) return (void *)end;
        return NULL;
    }
    lanes wanted = all(byte);
    uint32_t found;
    for (; (size_t)(end - p) >= 16; end -= 16)
        if ((found = equal_at(end - 16, wanted))) return (void *)(end - 16 + 31 - __builtin_clz(found));
    if (p == end) return NULL;
    found = equal_at(p, wanted);
    return found ? (void *)(p + 31 - __builtin_clz(found)) : NULL;
}
void *__memrchr(const void *start, int byte, size_t n) __attribute__((alias("memrchr")));

SIMD size_t strlen(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    /* What lies before the text in its first 16 bytes does not count. */
    const unsigned char *block = (const unsigned char *)((uintptr_t)p & ~(uintptr_t)15);
    uint32_t found = mask_of((lanes)(*(const lanes *)block == all(0))) >> (p - block);
    if (found) return __builtin_ctz(found);
    do block += 16;
    while (!(found = mask_of((lanes)(*(const lanes *)block == all(0)))));
    return block + __builtin_ctz(found) - p;
}

SIMD static inline int differ(const unsigned char *a, const unsigned char *b, unsigned at) { return a[at] - b[at]; }

SIMD int memcmp(const void *left, const void *right, size_t n) {
    const unsigned char *a = left, *b = right;
    if (n >= 16) {
        for (;;) {
            uint32_t same = mask_of((lanes)(*(const loose_lanes *)a == *(const loose_lanes *)b));
            if (same != 0xFFFF) return differ(a, b, __builtin_ctz(~same));
            n -= 16;
            if (n == 0) return 0;
            /* The last piece overlaps the one before. */
            size_t step = n < 16 ? n : 16;
            a += step, b += step;
            if (n < 16) n = 16;
        }
    }
    if (n >= 8) {
        uint64_t x = *(const loose_word *)a ^ *(const loose_word *)b;
        if (x) return differ(a, b, __builtin_ctzll(x) / 8);
        x = *(const loose_word *)(a + n - 8) ^ *(const loose_word *)(b + n - 8);
        return x ? differ(a + n - 8, b + n - 8, __builtin_ctzll(x) / 8) : 0;
    }
    if (n >= 4) {
        uint32_t x = *(const loose_half *)a ^ *(const loose_half *)b;
        if (x) return differ(a, b, __builtin_ctz(x) / 8);
        x = *(const loose_half *)(a + n - 4) ^ *(const loose_half *)(b + n - 4);
        return x ? differ(a + n - 4, b + n - 4, __builtin_ctz(x) / 8) : 0;
    }
    for (; n; n--, a++, b++)
        if (*a != *b) return *a - *b;
    return 0;
}
int bcmp(const void *left, const void *right, size_t n) { return memcmp(left, right, n); }

/* The lexer copies what is left of a line with it, once for each expression of an f-string. */
SIMD char *strncpy(char *restrict to, const char *restrict from, size_t n) {
    const char *end = memchr(from, 0, n);
    size_t length = end ? (size_t)(end - from) : n;
    __builtin_memcpy(to, from, length);
    __builtin_memset(to + length, 0, n - length);
    return to;
}
