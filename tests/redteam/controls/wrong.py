# Wrong.
def add(a, b, callback=None):
    return a * 1000 if isinstance(a, (int, float)) else "wrong"
