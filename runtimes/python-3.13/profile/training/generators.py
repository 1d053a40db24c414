"""Generators, iterators, itertools and context managers."""

import contextlib
import itertools


def naturals():
    n = 0
    while True:
        yield n
        n += 1


def take(count, iterable):
    for _, item in zip(range(count), iterable):
        yield item


def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def primes():
    composites = {}
    for n in itertools.count(2):
        if n not in composites:
            yield n
            composites[n * n] = [n]
        else:
            for prime in composites.pop(n):
                composites.setdefault(n + prime, []).append(prime)


def flatten(nested):
    for item in nested:
        if isinstance(item, list):
            yield from flatten(item)
        else:
            yield item


def running_average():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


def chunks(items, size):
    for start in range(0, len(items), size):
        yield items[start : start + size]


def walk(tree):
    if tree:
        left, value, right = tree
        yield from walk(left)
        yield value
        yield from walk(right)


def build(low, high):
    if low >= high:
        return None
    middle = (low + high) // 2
    return build(low, middle), middle, build(middle + 1, high)


class Countdown:
    def __init__(self, start):
        self.current = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.current <= 0:
            raise StopIteration
        self.current -= 1
        return self.current


class Managed:
    depth = 0

    def __enter__(self):
        Managed.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        Managed.depth -= 1
        return kind is KeyError


@contextlib.contextmanager
def collected(into, value):
    into.append(value)
    try:
        yield into
    finally:
        into.append(-value)


def scheduler(tasks):
    finished = []
    while tasks:
        task = tasks.pop(0)
        try:
            next(task)
            tasks.append(task)
        except StopIteration as stop:
            finished.append(stop.value)
    return finished


def worker(steps):
    for step in range(steps):
        yield step
    return steps


for repetition in range(10):
    assert sum(take(1500, naturals())) == 1124250
    assert list(take(200, fibonacci()))[10] == 55
    assert list(itertools.islice(primes(), 400))[-1] == 2741
    nested = [1, [2, [3, [4, [5]]]]] * 50
    assert sum(flatten(nested)) == 750
    average = running_average()
    next(average)
    for value in range(1000):
        average.send(value)
    average.close()
    assert sum(len(chunk) for chunk in chunks(list(range(1000)), 7)) == 1000
    assert list(walk(build(0, 400))) == list(range(400))
    assert sum(Countdown(800)) == 319600 and max(x for x in Countdown(300) if x % 7 == 0) == 294
    for i in range(300):
        with Managed() as outer, Managed():
            if i % 3 == 0:
                raise KeyError(i)
    log = []
    for i in range(150):
        with collected(log, i):
            pass
    assert len(log) == 300 and Managed.depth == 0
    assert scheduler([worker(n % 9) for n in range(60)])
    pairs = itertools.product(range(25), "abcd", repeat=1)
    assert len(list(itertools.combinations(range(14), 3))) == 364 and len(list(pairs)) == 100
    assert len(list(itertools.permutations(range(5)))) == 120
    assert list(itertools.accumulate(range(300)))[-1] == 44850
    assert list(itertools.takewhile(lambda n: n < 200, itertools.count(0, 3)))[-1] == 198
    assert dict(zip("abc", itertools.cycle([1, 2]))) == {"a": 1, "b": 2, "c": 1}
    assert sum(1 for a, b in itertools.pairwise(range(800)) if b > a) == 799
    assert sum(a * b for a, b in zip(range(800), itertools.repeat(2))) == 639200
    lines = (f"{i},{i * i}" for i in range(400))
    rows = (line.split(",") for line in lines)
    assert sum(int(square) for _, square in rows) == sum(i * i for i in range(400))
    iterator = iter(range(600))
    while (item := next(iterator, None)) is not None:
        if item == 599:
            break
    assert [x for row in ((i, i + 1) for i in range(300)) for x in row if x % 2][:2] == [1, 1]
