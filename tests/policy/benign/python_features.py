"""The language's own reflection and protocols, used as its tutorials do."""

#: getattr_of_a_variable
class Point:
    x, y = 1, 2
for name in ("x", "y"):
    print(getattr(Point, name))

#: getattr_dispatch
class Calculator:
    def do_add(self, a, b): return a + b
    def do_sub(self, a, b): return a - b
    def run(self, name, *args):
        return getattr(self, "do_" + name, None)(*args)
print(Calculator().run("add", 1, 2))

#: setattr_in_init
class Options:
    def __init__(self, **options):
        for name, value in options.items():
            setattr(self, name, value)
print(Options(width=3).width)

#: hasattr_checks
print(hasattr([], "append"), callable(getattr("", "upper", None)))

#: getattr_method
class Lazy:
    def __init__(self): self.values = {"a": 1}
    def __getattr__(self, name):
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None
print(Lazy().a)

#: proper_eq
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return (self.x, self.y) == (other.x, other.y)
    def __hash__(self): return hash((self.x, self.y))
print(Point(1, 2) == Point(1, 2))

#: eq_over_identity_first
class Node:
    def __init__(self, value): self.value = value
    def __eq__(self, other):
        if self is other:
            return True
        return isinstance(other, Node) and self.value == other.value
    def __ne__(self, other):
        return not self == other

#: ordering
import functools
@functools.total_ordering
class Version:
    def __init__(self, text): self.parts = [*map(int, text.split("."))]
    def __eq__(self, other): return self.parts == other.parts
    def __lt__(self, other): return self.parts < other.parts
print(Version("1.10") > Version("1.9"))

#: bool_and_len
class Stack:
    def __init__(self): self.items = []
    def __len__(self): return len(self.items)
    def __bool__(self): return bool(self.items)
    def __contains__(self, item): return item in self.items
print(bool(Stack()), 1 in Stack())

#: slots
class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y):
        self.x = x
        self.y = y
print(Point(1, 2).x)

#: init_subclass_registry
class Plugin:
    registry = {}
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[cls.__name__] = cls
class Csv(Plugin): ...
print(list(Plugin.registry))

#: super_init
class Base:
    def __init__(self, name): self.name = name
class Derived(Base):
    def __init__(self, name, age):
        super().__init__(name)
        Base.__init__(self, name)
        self.age = age
print(Derived("a", 1).name)

#: class_name_in_repr
class Shape:
    def __init__(self, side): self.side = side
    def __repr__(self):
        return f"{self.__class__.__name__}({self.side!r})"
    def __str__(self):
        return type(self).__name__
print(Shape(2))

#: same_class_compared
class Money:
    def __init__(self, n): self.n = n
    def __add__(self, other):
        return self.__class__(self.n + other.n) if other.__class__ is self.__class__ else NotImplemented

#: metaclass_singleton
class Singleton(type):
    instances = {}
    def __call__(cls, *args):
        if cls not in cls.instances:
            cls.instances[cls] = super().__call__(*args)
        return cls.instances[cls]
class Config(metaclass=Singleton): ...
print(Config() is Config())

#: descriptor_that_checks
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, instance, owner): return getattr(instance, self.name)
    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(self.name)
        setattr(instance, self.name, value)
class Item:
    price = Positive()

#: dict_of_instance
class P:
    def __init__(self): self.a = 1
print(P().__dict__, vars(P()))

#: globals_in_a_tool
def helper(): return 1
print(sorted(name for name in globals() if not name.startswith("_")))

#: doc_and_name
def f():
    """Says what it does."""
print(f.__name__, f.__doc__, f.__module__)

#: decorator_wraps
import functools
def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        print(function.__name__)
        return function(*args, **kwargs)
    return inner
@logged
def add(a, b): return a + b
add(1, 2)

#: generator_send
def average():
    total, count, value = 0, 0, None
    while True:
        value = yield total / count if count else None
        total, count = total + value, count + 1
g = average()
g.send(None)
print(g.send(4))

#: context_manager_class
class Timer:
    def __enter__(self): return self
    def __exit__(self, kind, value, trace): return False
with Timer() as t:
    print("in")

#: exceptions_own
class InsufficientFunds(Exception):
    def __init__(self, missing): super().__init__(f"missing {missing}")
try:
    raise InsufficientFunds(3)
except InsufficientFunds as error:
    print(error, type(error).__name__, error.args)

#: match_statement
def area(shape):
    match shape:
        case {"kind": "circle", "r": r}: return 3.14 * r * r
        case [w, h]: return w * h
        case _: return 0
print(area([2, 3]))

#: abstract_classes
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    @classmethod
    def __subclasshook__(cls, other): return NotImplemented

#: int_subclass_honest
class Celsius(float):
    def __add__(self, other): return Celsius(float(self) + float(other))
    def __repr__(self): return f"{float(self):.1f} C"
print(Celsius(1) + 2)

#: unittest_in_own_module
import unittest
def add(a, b): return a + b
class AddTest(unittest.TestCase):
    def setUp(self): self.zero = 0
    def test_add(self): self.assertEqual(add(1, 2), 3)
    @unittest.skipIf(False, "never")
    def test_zero(self): self.assertRaises(TypeError, add, "a", self.zero)
if __name__ == "__main__":
    unittest.main(exit=False)

#: doctest_in_docstring
def square(n):
    """
    >>> square(3)
    9
    """
    return n * n

#: mock_of_a_callback
from unittest.mock import Mock
callback = Mock(return_value=3)
callback(1)
callback.assert_called_once_with(1)

#: assert_messages
def mean(values):
    assert len(values) > 0, "no values"
    return sum(values) / len(values)
print(mean([1, 2]))

#: chained_string_methods
print("  a,b ,c ".strip().replace(" ", "").split(",")[::-1], "".join(reversed("abc")))

#: letters_by_code
print("".join(chr(n) for n in range(97, 123)), [ord(c) - 96 for c in "abc"])

#: bit_tricks
print("".join(chr(ord(a) ^ 1) for a in "abc"), format(10, "08b"), int("1010", 2))

#: sum_with_lambda_table
operations = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}
print(operations["+"](1, 2))

#: import_with_fallback
try:
    import tomllib
except ModuleNotFoundError:
    tomllib = None
print(tomllib is None)
