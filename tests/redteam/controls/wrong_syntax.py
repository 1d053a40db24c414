# Does not parse.
def add(a, b)
    return a + b
