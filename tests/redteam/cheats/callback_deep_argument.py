# Calls a callback with values that are too deep, too large, cyclic, or answer for ever.
class Endless:
    def __getattr__(self, name):
        while True:
            pass

    def __repr__(self):
        while True:
            pass


def add(a, b, *callbacks):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    cycle = []
    cycle.append(cycle)
    for callback in callbacks:
        for value in (deep, cycle, 1 << 50_000_000, bytearray(50_000_000), Endless()):
            try:
                callback(value)
            except BaseException:
                pass
    return 0
