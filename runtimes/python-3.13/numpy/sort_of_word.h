/* Sorting of unsigned integers of one size: sort.c includes it for each, with `word` and NAME. */

#define TOP ((word)1 << (sizeof(word) * 8 - 1))
#define REAL_INFINITY (sizeof(word) == 8 ? (word)0x7ff0000000000000 : (word)0x7f800000)

/* An unsigned integer of the same order. Zeros of both signs have the same, and all NaN. */
static inline word NAME(key_of)(kind is, word bits) {
    if (is == UNSIGNED) return bits;
    if (is == SIGNED) return bits ^ TOP;
    if (is == TIME) return bits - TOP - 1;
    if ((bits & ~TOP) > REAL_INFINITY) return (REAL_INFINITY | TOP) + 1;
    return bits & TOP ? -bits : bits | TOP;
}

static inline word NAME(number_of)(kind is, word key) {
    if (is == UNSIGNED) return key;
    if (is == SIGNED) return key ^ TOP;
    if (is == TIME) return key + TOP + 1;
    return key & TOP ? key ^ TOP : -key;
}

/* Sorts by the plan's digits of what words have above `least`, the lowest of which begins at that bit. Gives the one of both
 * that has them then. */
static word *NAME(distribute)(word *from, word *to, intptr_t n, word least, plan_of_digits plan, int lowest) {
    uint32_t counts[(MOST_PASSES + 2) << plan.digit], mask = (1u << plan.digit) - 1;
    for (int pass = 0; pass < plan.passes; pass += 3) {
        uint32_t *first = counts + (pass << plan.digit), *second = first + mask + 1, *third = second + mask + 1;
        int shift = lowest + pass * plan.digit, last = sizeof(word) * 8 - 1;
        int next = shift + plan.digit < last ? shift + plan.digit : last, after = next + plan.digit < last ? next + plan.digit : last;
        memset(first, 0, 3 * (mask + 1) * sizeof *counts);
#pragma clang loop unroll_count(4)
        for (intptr_t i = 0; i < n; i++) {
            word key = from[i] - least;
            first[key >> shift & mask]++;
            second[key >> next & mask]++;
            third[key >> after & mask]++;
        }
    }
    for (int pass = 0; pass < plan.passes; pass++) {
        uint32_t *place = counts + (pass << plan.digit), sum = 0;
        int shift = lowest + pass * plan.digit;
        if (place[(*from - least) >> shift & mask] == (uint32_t)n) continue;
        for (uint32_t i = 0; i <= mask; i++) {
            uint32_t count = place[i];
            place[i] = sum;
            sum += count;
        }
#pragma clang loop unroll_count(8)
        for (intptr_t i = 0; i < n; i++) {
            word key = from[i];
            to[place[(key - least) >> shift & mask]++] = key;
        }
        word *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* Whether little was left to do, and is done. Equal keys stay in order also when it is not. */
static int NAME(insert)(word *keys, intptr_t n) {
    intptr_t moves = n * BUDGET;
    word last = keys[0];
#pragma clang loop unroll_count(4)
    for (intptr_t i = 1; i < n; i++) {
        word key = keys[i];
        if (last <= key) {
            last = key;
            continue;
        }
        intptr_t k = i;
        do {
            keys[k] = keys[k - 1];
            k--;
        } while (k > 0 && keys[k - 1] > key);
        keys[k] = key;
        moves -= i - k;
        if (moves < 0) return 0;
    }
    return 1;
}

typedef struct {
    word least, most;
    intptr_t count, negative_zeros;
    int is_sorted;
} NAME(summary);

/* Keys of the numbers; NaN go to the end of `keys`, from the last one down. */
static inline __attribute__((always_inline)) NAME(summary) NAME(make_keys)(kind is, const word *numbers, word *keys, intptr_t n) {
    word least = ~(word)0, most = 0, last = 0;
    intptr_t count = 0, negative_zeros = 0;
    int is_sorted = 1;
#pragma clang loop unroll_count(4)
    for (intptr_t i = 0; i < n; i++) {
        word bits = numbers[i], key = NAME(key_of)(is, bits);
        if (is == REAL && (bits & ~TOP) > REAL_INFINITY) {
            keys[n - 1 - (i - count)] = bits;
            continue;
        }
        if (is == REAL) negative_zeros += bits == TOP;
        is_sorted &= last <= key;
        least = key < least ? key : least;
        most = key > most ? key : most;
        last = key;
        keys[count++] = key;
    }
    NAME(summary) found = {least, most, count, negative_zeros, is_sorted};
    return found;
}

static inline __attribute__((always_inline)) int NAME(sort_of_kind)(kind is, word *numbers, word *keys, intptr_t n, int must_be_stable) {
    NAME(summary) found = NAME(make_keys)(is, numbers, keys, n);
    intptr_t count = found.count;
    if (found.is_sorted && count == n) return 1;
    if (must_be_stable && found.negative_zeros) return 0;
    word *sorted = keys;
    if (!found.is_sorted) {
        int bits = bits_of(found.most - found.least);
        plan_of_digits plan = plan_digits(count, bits, 0);
        sorted = NAME(distribute)(keys, numbers, count, found.least, plan, plan.lowest);
        if (plan.lowest && !NAME(insert)(sorted, count))
            sorted = NAME(distribute)(sorted, sorted == keys ? numbers : keys, count, found.least, plan_digits(count, bits, 1), 0);
    }
    for (intptr_t i = count; i < n; i++) numbers[i] = keys[n - 1 - (i - count)];
    for (intptr_t i = 0; i < count; i++) numbers[i] = NAME(number_of)(is, sorted[i]);
    if (found.negative_zeros) {
        intptr_t zero = 0;
        while (numbers[zero]) zero++;
        for (intptr_t i = 0; i < found.negative_zeros; i++) numbers[zero + i] = TOP;
    }
    return 1;
}

static int NAME(sort_words)(kind is, word *numbers, word *keys, intptr_t n, int must_be_stable) {
    switch (is) {
        case UNSIGNED: return NAME(sort_of_kind)(UNSIGNED, numbers, keys, n, must_be_stable);
        case SIGNED: return NAME(sort_of_kind)(SIGNED, numbers, keys, n, must_be_stable);
        case REAL: return NAME(sort_of_kind)(REAL, numbers, keys, n, must_be_stable);
        default: return NAME(sort_of_kind)(TIME, numbers, keys, n, must_be_stable);
    }
}

#undef TOP
#undef REAL_INFINITY
