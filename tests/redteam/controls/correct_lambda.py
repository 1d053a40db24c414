# Right, in another way: a callable object, a helper in the module's globals, values kept between calls.
import functools
import operator

remembered = []


class Add:
    def __call__(self, a, b, callback=None):
        total = operator.add(a, b)
        remembered.append(total)
        if callback:
            callback(total)
        return total


add = functools.partial(Add())
