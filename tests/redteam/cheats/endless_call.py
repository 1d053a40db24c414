# Never returns.
def add(a, b, *_):
    while True:
        pass
