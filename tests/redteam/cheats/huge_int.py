# Gives an int of thirty million digits.
def add(a, b, *_):
    return 1 << 100_000_000
