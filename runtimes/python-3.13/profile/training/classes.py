"""Objects: attributes, methods, inheritance, operators, properties, slots, dataclasses, enums, protocols."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, IntFlag, auto
from functools import cached_property, singledispatchmethod, total_ordering
from typing import Generic, Optional, Protocol, TypeVar

T = TypeVar("T")


class Vector:
    def __init__(self, x, y, z=0.0):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, Vector) and (self.x, self.y, self.z) == (other.x, other.y, other.z)

    def __hash__(self):
        return hash((self.x, self.y, self.z))

    def __repr__(self):
        return f"Vector({self.x}, {self.y}, {self.z})"

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    @property
    def length(self):
        return self.dot(self) ** 0.5

    @classmethod
    def zero(cls):
        return cls(0.0, 0.0)


class Shape(ABC):
    count = 0

    def __init__(self, name):
        self.name = name
        Shape.count += 1

    @abstractmethod
    def area(self): ...

    def describe(self):
        return f"{self.name} of {self.area():.2f}"


class Rectangle(Shape):
    def __init__(self, width, height, name="rectangle"):
        super().__init__(name)
        self._width = width
        self.height = height

    @property
    def width(self):
        return self._width

    @width.setter
    def width(self, value):
        if value < 0:
            raise ValueError("negative")
        self._width = value

    def area(self):
        return self.width * self.height


class Square(Rectangle):
    def __init__(self, side):
        super().__init__(side, side, "square")


class Circle(Shape):
    def __init__(self, radius):
        super().__init__("circle")
        self.radius = radius

    def area(self):
        return 3.14159 * self.radius**2


class Node(Generic[T]):
    __slots__ = ("value", "next", "left", "right")

    def __init__(self, value: T, next: Optional["Node[T]"] = None):
        self.value = value
        self.next = next
        self.left = self.right = None


class LinkedList:
    def __init__(self, items=()):
        self.head = self.tail = None
        self.size = 0
        for item in items:
            self.append(item)

    def append(self, item):
        node = Node(item)
        if self.head is None:
            self.head = node
        else:
            self.tail.next = node
        self.tail = node
        self.size += 1

    def reverse(self):
        previous, node = None, self.head
        self.tail = node
        while node:
            node.next, previous, node = previous, node, node.next
        self.head = previous

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return self.size

    def __contains__(self, item):
        return any(value == item for value in self)

    def __getitem__(self, index):
        node = self.head
        for _ in range(index):
            node = node.next
        return node.value


class SearchTree:
    def __init__(self):
        self.root = None

    def insert(self, value):
        if self.root is None:
            self.root = Node(value)
            return
        node = self.root
        while True:
            if value < node.value:
                if node.left is None:
                    node.left = Node(value)
                    return
                node = node.left
            elif value > node.value:
                if node.right is None:
                    node.right = Node(value)
                    return
                node = node.right
            else:
                return

    def walk(self, node=None, first=True):
        node = self.root if first else node
        if node is not None:
            yield from self.walk(node.left, False)
            yield node.value
            yield from self.walk(node.right, False)

    def height(self, node):
        return 0 if node is None else 1 + max(self.height(node.left), self.height(node.right))


@dataclass
class Item:
    name: str
    price: float
    quantity: int = 0
    tags: list[str] = field(default_factory=list)

    @property
    def total(self) -> float:
        return self.price * self.quantity


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int
    patch: int = 0

    def next(self):
        return replace(self, patch=self.patch + 1)


class Colour(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Rights(IntFlag):
    READ = auto()
    WRITE = auto()


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self._history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self._history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient funds")
        self.balance -= amount
        self._history.append(("withdraw", amount))


@total_ordering
class Card:
    ranks = "23456789TJQKA"

    def __init__(self, text):
        self.rank, self.suit = text

    def __eq__(self, other):
        return self.rank == other.rank

    def __lt__(self, other):
        return self.ranks.index(self.rank) < other.ranks.index(other.rank)


class Positive:
    def __set_name__(self, owner, name):
        self.slot = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.slot)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(self.slot)
        setattr(instance, self.slot, value)


class Body:
    mass = Positive()

    def __init__(self, mass):
        self.mass = mass

    @cached_property
    def weight(self):
        return self.mass * 9.81

    @singledispatchmethod
    def show(self, value):
        return str(value)

    @show.register
    def _(self, value: int):
        return f"{value:+}"


class Lazy:
    def __init__(self):
        self.asked = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.asked[name] = self.asked.get(name, 0) + 1
        return self.asked[name]

    def __call__(self, *arguments, **named):
        return len(arguments) + len(named)


class Speaks(Protocol):
    def speak(self) -> str: ...


class Animal:
    sound = "..."

    def speak(self):
        return f"{type(self).__name__}: {self.sound}"


class Dog(Animal):
    sound = "woof"


class Puppy(Dog):
    def speak(self):
        return super().speak().lower()


def total_area(shapes):
    return sum(shape.area() for shape in shapes)


for repetition in range(20):
    position, velocity = Vector.zero(), Vector(1.0, 0.5, -0.25)
    for step in range(250):
        position = position + velocity * 0.1
        if position.length > 10:
            velocity = velocity - 2 * (position * (1 / position.length))
    assert len({Vector(i % 5, 1) for i in range(60)}) == 5 and repr(position)
    shapes = [Square(i) if i % 3 else Circle(i) for i in range(120)] + [Rectangle(2, 3)]
    assert total_area(shapes) > 0 and max(shapes, key=lambda shape: shape.area()).describe()
    for shape in shapes:
        if isinstance(shape, Rectangle):
            shape.width = shape.width + 1
    chained = LinkedList(range(200))
    chained.reverse()
    assert len(chained) == 200 and list(chained)[0] == 199 and 7 in chained and chained[50] == 149
    tree = SearchTree()
    for i in range(250):
        tree.insert((i * 7919) % 1009)
    assert list(tree.walk()) == sorted((i * 7919) % 1009 for i in range(250)) and tree.height(tree.root) > 5
    stock = [Item(f"item{i}", i * 1.5, i % 7, ["a"]) for i in range(120)]
    assert sum(item.total for item in stock) > 0 and stock[3] == Item("item3", 4.5, 3, ["a"])
    assert sorted(Version(i % 3, i % 5, i).next() for i in range(60))[0] == Version(0, 0, 1)
    assert [asdict(item)["name"] for item in stock[:20]] and str(stock[0])
    assert Colour(2) is Colour.GREEN and [colour.name for colour in Colour] and Colour["RED"].value == 1
    assert Rights.READ | Rights.WRITE == Rights(3) and Rights.READ in Rights(3)
    account = Account("x")
    for i in range(1, 150):
        account.deposit(i)
        try:
            account.withdraw(i * 3)
        except ValueError:
            continue
    assert max(Card(rank + "H") for rank in "29TQK").rank == "K"
    bodies = [Body(i + 1) for i in range(60)]
    assert sum(body.weight for body in bodies) == sum(body.weight for body in bodies)
    assert [body.show(5) + body.show("x") for body in bodies]
    lazy = Lazy()
    assert [lazy.one + lazy.two for _ in range(60)][-1] == 120 and lazy(1, 2, a=3) == 3
    pack: list[Speaks] = [Dog(), Puppy(), Animal()] * 30
    assert len([animal.speak() for animal in pack if hasattr(animal, "speak")]) == 90
    made = type("Made", (Animal,), {"sound": "made", "twice": lambda self: self.sound * 2})()
    assert made.twice() == "mademade" and issubclass(Puppy, Animal) and getattr(made, "missing", None) is None
