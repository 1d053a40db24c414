/* Each number becomes a key, an unsigned integer of the same order. Keys are distributed by digits of what they have above
 * the least one, from the lowest digit to the highest. With many bits, only the first ones are looked at, as a few more than
 * n needs leave little to do: insertion does it, and gives up when it is more. */
#include <sort.h>
#include <stdlib.h>
#include <string.h>
#include <numpy/ndarraytypes.h>

/* With fewer numbers, tables of digits cost more than they save. */
#define LEAST 128
#define MOST_PASSES 6
#define MOST_DIGIT 11
/* How far insertion may move numbers, for each of them. */
#define BUDGET 6

typedef enum { UNSIGNED, SIGNED, REAL, TIME } kind;

typedef struct {
    int passes, digit, lowest;
} plan_of_digits;

static int bits_of(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* Digits for the upper ones of `bits`: all of them, or as many as n numbers need. */
static plan_of_digits plan_digits(intptr_t n, int bits, int all) {
    int needed = bits_of(n), wanted = all || bits < needed + 8 ? bits : needed + 8;
    int most = all || needed > MOST_DIGIT ? MOST_DIGIT : needed < 8 ? 8 : needed;
    int passes = (wanted + most - 1) / most;
    int covered = passes * most < bits ? passes * most : bits;
    int digit = passes ? (covered + passes - 1) / passes : 0;
    plan_of_digits plan = {passes, digit, bits > passes * digit ? bits - passes * digit : 0};
    return plan;
}

#define word uint64_t
#define NAME(function) function##_64
#include "sort_of_word.h"
#undef word
#undef NAME

#define word uint32_t
#define NAME(function) function##_32
#include "sort_of_word.h"
#undef word
#undef NAME

/* 0 when it is no number for this; else its size. */
static int kind_of(int type, kind *is) {
    switch (type) {
        case NPY_UINT: case NPY_ULONG: return *is = UNSIGNED, 4;
        case NPY_INT: case NPY_LONG: return *is = SIGNED, 4;
        case NPY_FLOAT: return *is = REAL, 4;
        case NPY_ULONGLONG: return *is = UNSIGNED, 8;
        case NPY_LONGLONG: return *is = SIGNED, 8;
        case NPY_DOUBLE: return *is = REAL, 8;
        case NPY_DATETIME: case NPY_TIMEDELTA: return *is = TIME, 8;
        default: return 0;
    }
}

int sort_numbers(int type, void *numbers, intptr_t n, int must_be_stable) {
    kind is;
    int size = n < LEAST || n > INTPTR_MAX / 8 ? 0 : kind_of(type, &is);
    if (!size) return 0;
    void *keys = malloc(n * size);
    if (!keys) return 0;
    int done = size == 8 ? sort_words_64(is, numbers, keys, n, must_be_stable) : sort_words_32(is, numbers, keys, n, must_be_stable);
    free(keys);
    return done;
}

/* ---------------------------------------------------------------- positions */

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t key_at(int size, kind is, const void *numbers, uint32_t position) {
    return size == 8 ? key_of_64(is, ((const uint64_t *)numbers)[position]) : key_of_32(is, ((const uint32_t *)numbers)[position]);
}

/* As for words: those that are packed have the beginning of a key before the position. */
INLINE int insert_packed(int size, kind is, const void *numbers, uint64_t *packed, intptr_t n, int is_truncated) {
    intptr_t moves = n * BUDGET;
    for (intptr_t i = 1; i < n; i++) {
        uint64_t one = packed[i], head = one >> 32;
        if (packed[i - 1] >> 32 < head || (packed[i - 1] >> 32 == head && !is_truncated)) continue;
        uint64_t key = key_at(size, is, numbers, (uint32_t)one);
        intptr_t k = i;
        while (k > 0 && packed[k - 1] >> 32 >= head &&
               (packed[k - 1] >> 32 > head || (is_truncated && key_at(size, is, numbers, (uint32_t)packed[k - 1]) > key))) {
            packed[k] = packed[k - 1];
            k--;
        }
        packed[k] = one;
        moves -= i - k;
        if (moves < 0) return 0;
    }
    return 1;
}

INLINE int sort_positions_of(int size, kind is, const void *numbers, intptr_t *positions, intptr_t n) {
    uint64_t least = UINT64_MAX, most = 0, last = 0;
    int is_sorted = 1;
    for (intptr_t i = 0; i < n; i++) {
        uint64_t key = key_at(size, is, numbers, positions[i]);
        is_sorted &= last <= key;
        least = key < least ? key : least;
        most = key > most ? key : most;
        last = key;
    }
    if (is_sorted) return 1;
    uint64_t *packed = malloc(n * 16), *other = packed + n;
    if (!packed) return 0;
    int bits = bits_of(most - least), lost = bits > 32 ? bits - 32 : 0;
    for (intptr_t i = 0; i < n; i++) {
        uint32_t position = positions[i];
        packed[i] = (key_at(size, is, numbers, position) - least) >> lost << 32 | position;
    }
    plan_of_digits plan = plan_digits(n, bits - lost, 0);
    uint64_t *sorted = distribute_64(packed, other, n, 0, plan, 32 + plan.lowest);
    int done = plan.lowest + lost == 0 || insert_packed(size, is, numbers, sorted, n, lost > 0);
    if (!done && !lost) {
        sorted = distribute_64(sorted, sorted == packed ? other : packed, n, 0, plan_digits(n, bits, 1), 32);
        done = 1;
    }
    for (intptr_t i = 0; done && i < n; i++) positions[i] = (uint32_t)sorted[i];
    free(packed);
    return done;
}

int sort_positions(int type, const void *numbers, intptr_t *positions, intptr_t n) {
    kind is;
    int size = n < LEAST || n > INTPTR_MAX / 16 ? 0 : kind_of(type, &is);
    if (size == 4 && is == UNSIGNED) return sort_positions_of(4, UNSIGNED, numbers, positions, n);
    if (size == 4 && is == SIGNED) return sort_positions_of(4, SIGNED, numbers, positions, n);
    if (size == 4) return sort_positions_of(4, REAL, numbers, positions, n);
    if (size == 8 && is == UNSIGNED) return sort_positions_of(8, UNSIGNED, numbers, positions, n);
    if (size == 8 && is == SIGNED) return sort_positions_of(8, SIGNED, numbers, positions, n);
    if (size == 8 && is == REAL) return sort_positions_of(8, REAL, numbers, positions, n);
    return size == 8 && sort_positions_of(8, TIME, numbers, positions, n);
}
