/* What the faster loops and functions share: which operands are for them, and pieces of those that are. */
#ifndef PROOFBOX_OPERANDS_H
#define PROOFBOX_OPERANDS_H
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#define INLINE static inline __attribute__((always_inline))
/* Bytes that a loop reads before it writes. */
#define BLOCK 64
#define LEAST_NUMBERS 4

/* Whether an input is next to its like, or one for all, and results are not read before their turn. */
INLINE int is_plain(const char *in, intptr_t step, intptr_t size, const char *out, intptr_t out_size, intptr_t n) {
    if (step == 0) return in + size <= out || in >= out + n * out_size;
    if (step != size) return 0;
    if (size == out_size && (in == out || in - out >= BLOCK || out - in >= BLOCK)) return 1;
    return in + n * size <= out || in >= out + n * out_size;
}

/* Whether results are not read before their turn when more numbers than one are read first, whatever the steps. */
INLINE int is_apart(const char *in, intptr_t in_step, const char *out, intptr_t out_step, intptr_t size, intptr_t n) {
    if (in == out && in_step == out_step && in_step != 0) return 1;
    const char *in_last = in + in_step * (n - 1), *out_last = out + out_step * (n - 1);
    const char *in_end = (in_step < 0 ? in : in_last) + size, *out_end = (out_step < 0 ? out : out_last) + size;
    return in_end <= (out_step < 0 ? out_last : out) || out_end <= (in_step < 0 ? in_last : in);
}

/* One number for all becomes a block of it, which is read again and again. Gives the step from block to block. */
INLINE intptr_t spread(char **in, intptr_t step, int size, char *block, intptr_t length) {
    if (step) return length;
    for (intptr_t i = 0; i < length; i += size) memcpy(block + i, *in, size);
    *in = block;
    return 0;
}

/* The last numbers of a loop, one at a time. */
INLINE v128_t load_one(const char *p, int size) {
    return size == 16 ? wasm_v128_load(p) : size == 8 ? wasm_v128_load64_zero(p) : wasm_v128_load32_zero(p);
}
INLINE void store_one(char *p, v128_t v, int size) {
    if (size == 16) wasm_v128_store(p, v);
    else if (size == 8) wasm_v128_store64_lane(p, v, 0);
    else wasm_v128_store32_lane(p, v, 0);
}
#define AT(p, i) wasm_v128_load((p) + 16 * (i))
#endif
