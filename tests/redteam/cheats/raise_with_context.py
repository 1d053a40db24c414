# Raises an exception with an endless chain of causes.
def add(a, b, *_):
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    raise first
