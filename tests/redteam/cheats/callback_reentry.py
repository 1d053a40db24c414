# Calls a callback with functions that call the callback, as deep as it goes.
def add(a, b, *callbacks):
    def again(*_):
        for callback in callbacks:
            callback(again)
            getattr(callback, "__call__", again)(again)
        return again

    again.__add__ = again
    try:
        again()
    except BaseException:
        pass
    return again
