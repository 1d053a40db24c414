/* A set of numbers for numpy's `unique`: std::unordered_set takes a piece of memory for each, and throws when there is none. */
#ifndef PROOFBOX_NUMBER_SET_H
#define PROOFBOX_NUMBER_SET_H
#include <cstdint>
#include <cstdlib>
#include <type_traits>

template <typename T>
class number_set {
    T *slots = nullptr; /* 0 in those that are free */
    size_t room = 0, used = 0;
    int shift = 0;
    bool has_zero = false;

    void put(T number) {
        size_t i = (uint64_t)(typename std::make_unsigned<T>::type)number * UINT64_C(0x9e3779b97f4a7c15) >> shift;
        while (slots[i] != number) {
            if (slots[i] == 0) {
                slots[i] = number;
                used++;
                return;
            }
            i = (i + 1) & (room - 1);
        }
    }

    bool grow() {
        T *old = slots;
        size_t old_room = room;
        room = room ? room * 2 : 1024;
        slots = (T *)calloc(room, sizeof(T));
        if (slots == nullptr) {
            slots = old;
            room = old_room;
            return false;
        }
        shift = 64 - __builtin_ctzll(room);
        used = 0;
        for (size_t i = 0; i < old_room; i++) {
            if (old[i] != 0) put(old[i]);
        }
        free(old);
        return true;
    }

public:
    number_set() = default;
    number_set(const number_set &) = delete;
    number_set &operator=(const number_set &) = delete;
    ~number_set() { free(slots); }

    size_t size() const { return used + has_zero; }

    /* false when there is no memory. */
    bool insert(T number) {
        if (number == 0) {
            has_zero = true;
            return true;
        }
        if (used * 2 >= room && !grow()) return false;
        put(number);
        return true;
    }

    void copy_to(T *to) const {
        if (has_zero) *to++ = 0;
        for (size_t i = 0; i < room; i++) {
            if (slots[i] != 0) *to++ = slots[i];
        }
    }
};
#endif
