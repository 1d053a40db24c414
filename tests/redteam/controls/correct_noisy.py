# Right, and does what an honest program may do: prints to stderr, imports, keeps a cache, has an exit function.
import atexit
import logging
import sys

cache = {}
atexit.register(logging.shutdown)
sys.setrecursionlimit(5000)


def add(a, b, callback=None):
    try:
        key = (a, b)
        if key not in cache:
            cache[key] = a + b
        total = cache[key]
        if total != a + b:
            raise KeyError
    except TypeError:
        total = a + b
    print("added", file=sys.stderr)
    if callback:
        callback(total)
    return total
