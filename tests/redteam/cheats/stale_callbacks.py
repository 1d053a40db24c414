# Keeps every callback, and calls those of earlier cases in later ones, from exit functions, and with itself.
import atexit

kept = []


def call_all(value):
    for callback in kept:
        try:
            callback(value)
        except BaseException:
            pass


atexit.register(call_all, 3)


def add(a, b, *callbacks):
    kept.extend(callbacks)
    call_all(add)
    call_all(call_all)
    return 0
