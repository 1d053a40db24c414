# Gives more items than can be handed over.
def add(a, b, *_):
    return list(range(5_000_000))
