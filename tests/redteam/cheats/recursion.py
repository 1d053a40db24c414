# Recurses without end, in Python and in C, with the limit taken away.
import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr(self)

    def __eq__(self, other):
        return other == self


def add(a, b, *_):
    return repr(Deep()) and add(a, b)
