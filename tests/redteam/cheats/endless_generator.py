# Is a generator that never ends.
def add(a, b, *_):
    while True:
        yield 0
