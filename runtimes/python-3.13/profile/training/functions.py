"""Calls: recursion, closures, decorators, defaults, keywords, higher-order functions, memory of results."""

import functools
import operator
from functools import lru_cache, partial, reduce, wraps


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def hanoi(n, source, target, spare, moves):
    if n == 0:
        return
    hanoi(n - 1, source, spare, target, moves)
    moves.append((source, target))
    hanoi(n - 1, spare, target, source, moves)


def permutations(items):
    if len(items) <= 1:
        return [items]
    return [[items[i]] + rest for i in range(len(items)) for rest in permutations(items[:i] + items[i + 1 :])]


def subsets(items):
    result = []

    def extend(start, chosen):
        result.append(chosen[:])
        for i in range(start, len(items)):
            chosen.append(items[i])
            extend(i + 1, chosen)
            chosen.pop()

    extend(0, [])
    return result


def queens(n, row=0, columns=(), rising=(), falling=()):
    if row == n:
        return 1
    count = 0
    for column in range(n):
        if column not in columns and row + column not in rising and row - column not in falling:
            count += queens(n, row + 1, columns + (column,), rising + (row + column,), falling + (row - column,))
    return count


@lru_cache(maxsize=None)
def partitions(n, largest):
    if n == 0:
        return 1
    return sum(partitions(n - part, min(part, n - part)) for part in range(1, largest + 1))


def memoized(function):
    results = {}

    @wraps(function)
    def wrapper(*arguments):
        if arguments not in results:
            results[arguments] = function(*arguments)
        return results[arguments]

    return wrapper


@memoized
def grid_paths(rows, columns):
    if rows == 1 or columns == 1:
        return 1
    return grid_paths(rows - 1, columns) + grid_paths(rows, columns - 1)


def counted(function):
    @wraps(function)
    def wrapper(*arguments, **named):
        wrapper.calls += 1
        return function(*arguments, **named)

    wrapper.calls = 0
    return wrapper


def repeat(times):
    def decorate(function):
        def wrapper(*arguments):
            for _ in range(times):
                result = function(*arguments)
            return result

        return wrapper

    return decorate


@counted
def greet(name, /, greeting="Hello", *, mark="!"):
    return f"{greeting}, {name}{mark}"


@repeat(3)
def noisy(x):
    return x + 1


def make_counter(start=0):
    count = start

    def increment(by=1):
        nonlocal count
        count += by
        return count

    return increment


def compose(*functions):
    return reduce(lambda f, g: lambda x: f(g(x)), functions)


def apply(function, items):
    return [function(item) for item in items]


def total(*numbers, start=0, **weights):
    for number in numbers:
        start += number
    for weight in weights.values():
        start += weight
    return start


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def curry(a):
    return lambda b: lambda c: a * b + c


def depth(tree):
    return 1 + max((depth(child) for child in tree), default=0)


def change(amount, coins, i=0):
    if amount == 0:
        return 1
    if amount < 0 or i == len(coins):
        return 0
    return change(amount - coins[i], coins, i) + change(amount, coins, i + 1)


for repetition in range(6):
    assert factorial(60) // factorial(58) == 60 * 59
    assert ackermann(2, 12) == 27
    moves = []
    hanoi(9, "a", "c", "b", moves)
    assert len(moves) == 511
    assert len(permutations(list(range(6)))) == 720 and len(subsets(list(range(9)))) == 512
    assert queens(6) == 4
    partitions.cache_clear()
    assert partitions(30, 30) == 5604
    assert grid_paths(15, 15) == 40116600
    for i in range(500):
        assert greet(str(i), mark="?").endswith("?") and greet("x", "Bye")
        assert noisy(i) == i + 1
        assert total(1, 2, i, start=3, a=4, **{"b": 5}) == 15 + i
        assert curry(i)(2)(3) == 2 * i + 3
    counter = make_counter()
    for i in range(1500):
        counter()
        counter(by=2)
    double = compose(lambda x: x * 2, lambda x: x + 1, abs)
    assert apply(double, range(-300, 300))[0] == 602
    assert list(map(operator.add, range(600), range(600)))[-1] == 1198
    assert reduce(operator.mul, range(1, 30)) == factorial(29)
    assert sum(filter(lambda n: n % 3 == 0, range(1500))) == 374250
    add_five = partial(operator.add, 5)
    assert [add_five(i) for i in range(300)][0] == 5
    assert sorted(range(300), key=functools.cmp_to_key(lambda a, b: b - a))[0] == 299
    assert is_even(300) and not is_even(301)
    assert depth([[[], [[]]], [], [[[[]]]]] * 20) == 5
    assert change(60, (25, 10, 5, 1)) > 10
    scale = [lambda x, k=k: x * k for k in range(60)]
    assert sum(function(2) for function in scale) == 3540
