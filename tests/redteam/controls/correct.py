# Right.
def add(a, b, callback=None):
    total = a + b
    if callback is not None:
        callback(total)
    return total
