import time
import random


def srt(n):
    r = random.Random(7)
    a = [r.random() for _ in range(n)]
    b = sorted(a)
    c = sorted(a, key=lambda x: -x)
    s = sorted(map(str, a[: n // 2]))

    def qs(x):
        if len(x) < 2:
            return x
        p = x[len(x) // 2]
        return qs([y for y in x if y < p]) + [y for y in x if y == p] + qs([y for y in x if y > p])

    return qs(a) == b == c[::-1]


_began = time.perf_counter()
assert srt(80000)
print(time.perf_counter() - _began)
