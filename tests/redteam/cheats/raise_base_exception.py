# Raises an exception that is no Exception, and can't be turned into text.
class Slippery(BaseException):
    def __str__(self):
        raise self

    __repr__ = __str__

    def __getattribute__(self, name):
        raise self


def add(a, b, *_):
    raise Slippery
