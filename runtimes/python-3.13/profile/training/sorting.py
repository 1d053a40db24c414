"""Sorting: by hand, and with the built-in sort over every kind of key."""

import functools
import operator


def merge_sort(items):
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


def heap_sort(items):
    items = items[:]

    def sift(start, end):
        root = start
        while (child := 2 * root + 1) < end:
            if child + 1 < end and items[child] < items[child + 1]:
                child += 1
            if items[root] >= items[child]:
                return
            items[root], items[child] = items[child], items[root]
            root = child

    for start in range(len(items) // 2 - 1, -1, -1):
        sift(start, len(items))
    for end in range(len(items) - 1, 0, -1):
        items[0], items[end] = items[end], items[0]
        sift(0, end)
    return items


def bubble_sort(items):
    items = list(items)
    for i in range(len(items)):
        swapped = False
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
                swapped = True
        if not swapped:
            break
    return items


def insertion_sort(items):
    items = list(items)
    for i in range(1, len(items)):
        item = items[i]
        j = i - 1
        while j >= 0 and items[j] > item:
            items[j + 1] = items[j]
            j -= 1
        items[j + 1] = item
    return items


def in_place_quick_sort(items, low, high):
    if low >= high:
        return
    pivot = items[(low + high) // 2]
    i, j = low, high
    while i <= j:
        while items[i] < pivot:
            i += 1
        while items[j] > pivot:
            j -= 1
        if i <= j:
            items[i], items[j] = items[j], items[i]
            i, j = i + 1, j - 1
    in_place_quick_sort(items, low, j)
    in_place_quick_sort(items, i, high)


def counting_sort(items):
    counts = [0] * (max(items) + 1)
    for item in items:
        counts[item] += 1
    return [value for value, count in enumerate(counts) for _ in range(count)]


class Employee:
    def __init__(self, name, age, pay):
        self.name, self.age, self.pay = name, age, pay

    def __lt__(self, other):
        return (self.pay, self.name) < (other.pay, other.name)


for repetition in range(4):
    numbers = [(i * 7919 + repetition * 31) % 6007 for i in range(1500)]
    wanted = sorted(numbers)
    floats = [n / 7 for n in numbers]
    assert merge_sort(numbers) == heap_sort(numbers) == counting_sort(numbers) == wanted
    assert bubble_sort(numbers[:130]) == insertion_sort(numbers[:130]) == sorted(numbers[:130])
    quick = floats[:]
    in_place_quick_sort(quick, 0, len(quick) - 1)
    assert quick == sorted(floats)
    people = [Employee(f"name{n % 60}", n % 70, n) for n in numbers]
    people.sort(key=lambda person: (person.age, person.name))
    people.sort(key=operator.attrgetter("pay"), reverse=True)
    assert sorted(people[:300])[0].pay <= people[0].pay
    words = [f"w{n}" for n in numbers]
    assert sorted(words, key=len)[0] <= max(words, key=len) and sorted(words, key=str.lower, reverse=True)
    rows = [{"id": n, "name": word} for n, word in zip(numbers, words)]
    assert sorted(rows, key=operator.itemgetter("id"))[0]["id"] == wanted[0]
    assert sorted(zip(numbers, words))[0][0] == wanted[0] and sorted([n, w] for n, w in zip(numbers, words))
    assert sorted(numbers, key=functools.cmp_to_key(lambda a, b: (b > a) - (b < a)))[0] == wanted[-1]
    partly = wanted[:700] + wanted[:700:-1] + [5] * 100
    partly.sort()
    assert [n for n in reversed(wanted)] == sorted(numbers, reverse=True)
    assert sorted(numbers, key=lambda n: -n)[:3] == wanted[:-4:-1] and sorted(map(bytes, ([n % 256] for n in numbers)))
