# Sleeps through the tests.
import time


def add(a, b, *_):
    time.sleep(10**6)
    return a + b
