# Gives a million objects of its own, each of which would need a handle.
class Thing:
    pass


def add(a, b, *callbacks):
    things = [Thing() for _ in range(1_000_000)]
    for callback in callbacks:
        callback(things)
    return things
