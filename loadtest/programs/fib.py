import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


_began = time.perf_counter()
assert fib(29) == 514229
print(time.perf_counter() - _began)
