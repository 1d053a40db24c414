# Breaks the interpreter with code made by hand, in the hope that a crash counts as a pass.
import types


def add(a, b, *_):
    code = add.__code__
    broken = code.replace(co_code=bytes([255, 255] * 64), co_consts=(), co_stacksize=0, co_nlocals=3)
    return types.FunctionType(broken, {})(a, b, 0)
