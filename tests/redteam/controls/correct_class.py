# Right, with a class of its own that has more than is asked for.
def add(a, b, callback=None):
    total = a + b
    if callback:
        callback(total)
    return total


class Calculator:
    """Adds, and remembers."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.history = []

    def add(self, a, b):
        total = a + b
        self.history.append(total)
        return total

    @property
    def last(self):
        return self.history[-1]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    def __eq__(self, other):
        if not isinstance(other, Calculator):
            return NotImplemented
        return self.history == other.history

    __hash__ = None

    def __repr__(self):
        return f"Calculator({self.history})"
