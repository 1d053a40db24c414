/* What comes before numpy's own selection: two numbers of a sample, close to the kth one at either side, divide the others
 * without branches, which leaves few to look among. npysort/selection.cpp includes it. */
#ifndef PROOFBOX_SELECT_H
#define PROOFBOX_SELECT_H
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <wasm_simd128.h>

/* With fewer numbers, a sample costs more than it saves. */
static constexpr npy_intp LEAST_TO_NARROW = 128;
/* Samples have the square of this and less. */
static constexpr npy_intp MOST_OF_SAMPLE = 32;

/* With so many to select, halves are found first, each of which is of use to several of them. */
static constexpr npy_intp MANY = 16;

/* Which bytes of a vector go where, so that the lanes of a mask come first. */
template <int size>
struct lane_orders {
    uint8_t of[1 << 16 / size][16];

    constexpr lane_orders() : of()
    {
        for (int mask = 0; mask < 1 << 16 / size; mask++) {
            int place = 0;
            for (int group = 1; group >= 0; group--) {
                for (int lane = 0; lane < 16 / size; lane++) {
                    for (int i = 0; i < size && (mask >> lane & 1) == group; i++) of[mask][place++] = lane * size + i;
                }
            }
        }
    }
};

template <int size>
static constexpr lane_orders<size> orders{};

template <int size>
static inline v128_t
ordered(v128_t lanes, uint32_t mask)
{
    return wasm_i8x16_swizzle(lanes, wasm_v128_load(orders<size>.of[mask]));
}

/* How many are less than a first number, and how many not greater than a last one; -1 when there was no memory. */
struct three_parts {
    npy_intp below, within;
};

/* Moves what is less than `first` to the beginning, and what is greater than `last`, or NaN, to the end. */
template <bool arg, typename type, typename item>
static three_parts
divide_(const type *v, item *items, npy_intp n, type first, type last)
{
    constexpr int size = sizeof(type), lanes = 16 / size;
    item *others = (item *)malloc((n + lanes) * sizeof(item));
    if (others == NULL) {
        return {-1, -1};
    }
    /* Each number is written to all three parts, of which one grows. The last one grows downwards. */
    item *below = items, *within = others, *above = others + n + lanes;
    npy_intp i = 0;
    /* 64-bit lanes have no comparison as unsigned numbers. */
    if constexpr (!arg && (size == 4 || (size == 8 && !std::is_unsigned_v<type>))) {
        typedef type vector __attribute__((vector_size(16)));
        constexpr uint32_t all = (1 << lanes) - 1;
#pragma clang loop unroll_count(4)
        for (; i + lanes <= n; i += lanes) {
            v128_t some = wasm_v128_load(items + i);
            v128_t is_below = (v128_t)((vector)some < first), is_not_above = (v128_t)((vector)some <= last);
            uint32_t lower = size == 8 ? wasm_i64x2_bitmask(is_below) : wasm_i32x4_bitmask(is_below);
            uint32_t not_above = size == 8 ? wasm_i64x2_bitmask(is_not_above) : wasm_i32x4_bitmask(is_not_above);
            wasm_v128_store(below, ordered<size>(some, lower));
            wasm_v128_store(within, ordered<size>(some, not_above ^ lower));
            wasm_v128_store(above - lanes, ordered<size>(some, not_above));
            below += __builtin_popcount(lower);
            within += __builtin_popcount(not_above ^ lower);
            above -= __builtin_popcount(not_above ^ all);
        }
    }
#pragma clang loop unroll_count(8)
    for (; i < n; i++) {
        item one = items[i];
        type number;
        if constexpr (arg) {
            number = v[one];
        }
        else {
            number = one;
        }
        *below = *within = above[-1] = one;
        below += number < first;
        within += (number <= last) - (number < first);
        above -= !(number <= last);
    }
    three_parts found = {below - items, below - items + (within - others)};
    memcpy(below, others, (within - others) * sizeof(item));
    memcpy(items + found.within, above, (n - found.within) * sizeof(item));
    free(others);
    return found;
}

/* Brings `low` and `high` closer to kth, which is one of `kths`. True when the number there is the one that belongs there. */
template <typename Tag, bool arg, typename type>
static __attribute__((noinline)) bool
narrow_(type *v, npy_intp *tosort, npy_intp *low, npy_intp *high, npy_intp kth, npy_intp kths, npy_intp *pivots, npy_intp *npiv)
{
    if constexpr (std::is_arithmetic_v<type> && sizeof(type) <= 8 && !std::is_same_v<Tag, npy::half_tag>) {
        using limits = std::numeric_limits<type>;
        constexpr type least = limits::has_infinity ? -limits::infinity() : limits::lowest();
        constexpr type most = limits::has_infinity ? limits::infinity() : limits::max();
        Idx<arg> idx(tosort);
        Sortee<type, arg> sortee(v, tosort);
        npy_intp n = *high - *low + 1, few = kths < MANY ? n : n / kths;
        bool was_in_vain = false;

        /* One large round is the rule. What samples say little about is left to numpy after a few. */
        for (int64_t rest = (int64_t)n * 3; n >= LEAST_TO_NARROW && n <= rest; n = *high - *low + 1) {
            rest -= n;
            type sample[MOST_OF_SAMPLE * MOST_OF_SAMPLE];
            npy_intp root = (npy_intp)(std::cbrt((double)n) * 0.7);
            root = root < MOST_OF_SAMPLE ? root : MOST_OF_SAMPLE;
            npy_intp size = root * root, distance = n / size;
            for (npy_intp i = 0; i < size; i++) {
                /* At uneven distances, for numbers may come in periods. */
                uint64_t place = (uint64_t)((uint32_t)i * 2654435769u) * (uint32_t)distance >> 32;
                sample[i] = v[idx(*low + i * distance + (npy_intp)place)];
            }
            npy_intp rank = (npy_intp)((double)(kth - *low) / n * size), margin = root - 1;
            npy_intp from = rank - margin, to = rank + margin;
            if (n > few) {
                from = to = size / 2;
            }
            /* NaN is not less than anything: all others are to come before it. */
            type first = least, last = most;
            if (to < size) {
                introselect_<Tag, false>(sample, NULL, size, to, NULL, NULL);
                last = sample[to] == sample[to] ? sample[to] : most;
            }
            if (from >= 0) {
                introselect_<Tag, false>(sample, NULL, to < size ? to + 1 : size, from, NULL, NULL);
                first = sample[from] == sample[from] ? sample[from] : most;
            }
            if (was_in_vain) {
                /* Of few values, one alone. */
                first = last = from < 0 ? last : first;
            }
            three_parts found = divide_<arg>(v, &sortee(*low), n, first, last);
            if (found.within < 0) {
                return false;
            }
            /* Equal numbers, or nothing but NaN. */
            bool is_none = found.within == 0, are_alike = is_none || first == last;
            npy_intp begin = is_none ? *low : *low + found.below, end = is_none ? *high + 1 : *low + found.within;
            if (are_alike && begin < end && kth < end - 1) {
                store_pivot(end - 1, kth, pivots, npiv);
            }
            if (are_alike && begin <= kth && kth < end) {
                /* Each place among them is a pivot. For what is wanted later, halves: else it would pass over all of them again. */
                for (npy_intp rest = (end - 1 - kth) / 2; rest >= LEAST_TO_NARROW; rest /= 2) {
                    store_pivot(kth + rest, kth, pivots, npiv);
                }
                store_pivot(kth, kth, pivots, npiv);
                return true;
            }
            if (kth < begin) {
                *high = begin - 1;
            }
            else if (kth >= end) {
                *low = end;
            }
            else {
                *low = begin;
                *high = end - 1;
            }
            bool is_in_vain = *high - *low + 1 == n;
            if (is_in_vain && was_in_vain) {
                return false;
            }
            was_in_vain = is_in_vain;
        }
    }
    return false;
}
#endif
