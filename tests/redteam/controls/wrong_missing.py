# Has no add.
def sub(a, b):
    return a - b
