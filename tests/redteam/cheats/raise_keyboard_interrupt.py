# Raises KeyboardInterrupt in the call.
def add(a, b, *_):
    raise KeyboardInterrupt
