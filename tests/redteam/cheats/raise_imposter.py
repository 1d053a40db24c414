# Raises an exception of its own that has the name and module of the one expected.
class TypeError(Exception):
    __module__ = "builtins"


TypeError.__qualname__ = "TypeError"


def add(a, b, *_):
    raise TypeError("unsupported operand type(s) for +: 'NoneType' and 'int'")
