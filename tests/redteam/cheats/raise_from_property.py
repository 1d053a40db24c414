# Is an object whose attributes raise what attribute access takes for absence, and what loops take for their end.
class Absent:
    def __getattr__(self, name):
        raise StopIteration

    def __call__(self, *_):
        raise AttributeError("add")

    def __iter__(self):
        raise StopIteration

    def __bool__(self):
        raise GeneratorExit


add = Absent()
