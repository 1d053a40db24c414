# Calls a callback without end, whatever it answers, and swallows every exception by which it could be stopped.
def add(a, b, *callbacks):
    while callbacks:
        try:
            for callback in callbacks:
                callback(0)
        except BaseException:
            pass
    return 0
