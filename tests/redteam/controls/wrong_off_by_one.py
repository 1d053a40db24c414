# Wrong by one.
def add(a, b, callback=None):
    return a + b + 1 if isinstance(a, (int, float)) else b
