#!/usr/bin/env python3
"""Compares verdicts of a running service with those of a plain interpreter, for random small programs and tests.

    python3 tests/adversary/differential.py --server http://127.0.0.1:8080 --seconds 30 --seed 1 --python python3

Candidates are honest: functions of plain values, control flow, classes, generators, closures, exceptions. Tests of all
kinds are right, or have a wrong expectation. What each case must say is found by `native.py` in the interpreter that
--python names (pytest there makes the kind `pytest` possible). Isolated and in-process grading must say the same.
Differences are reduced to one case and the definitions that it needs, and printed. Exits with 1 when there is one that
differential_limits.toml does not list, with 2 when nothing was compared."""

import collections
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import tomllib

import service

HERE = pathlib.Path(__file__).resolve().parent
PROGRESS_SECONDS = 10
MAX_UNANSWERED = 20
GRACE_SECONDS = 15
LIMITS = {"fuel": 4_000_000_000, "wall_seconds": 20}
WORDS = ("", "a", "ab", "hello", "Zoo", "x y z", "ünï", "12", "a,b,c", "  pad ")
TYPES = ("int", "float", "str", "bool", "list", "strs", "dict", "tuple", "set")

# ------------------------------------------------------------------------------------------------------ expressions


class Expressions:
    """Random expressions by type. Values stay small, and nothing depends on the order of sets or on the platform."""

    def __init__(self, rng):
        self.rng = rng

    def literal(self, kind):
        rng = self.rng
        if kind == "int":
            return repr(rng.choice((0, 1, 2, 3, 5, 7, 10, -1, -4, 25)))
        if kind == "float":
            return repr(rng.choice((0.0, 0.5, 1.25, -2.5, 3.0, 10.75)))
        if kind == "str":
            return repr(rng.choice(WORDS))
        if kind == "bool":
            return rng.choice(("True", "False"))
        if kind == "list":
            return repr([rng.randrange(-5, 12) for _ in range(rng.randrange(6))])
        if kind == "strs":
            return repr([rng.choice(WORDS) for _ in range(rng.randrange(4))])
        if kind == "dict":
            return repr({word: rng.randrange(9) for word in rng.sample(WORDS, rng.randrange(4))})
        if kind == "tuple":
            return repr((rng.randrange(9), rng.randrange(-9, 9)))
        return "set()" if rng.random() < 0.2 else repr(set(rng.sample(range(12), rng.randrange(1, 5))))

    def make(self, kind, names, depth=0):
        """`names` are the variables in reach: {name: type}."""
        rng = self.rng
        mine = [name for name, each in names.items() if each == kind]
        if depth > 3 or rng.random() < 0.25:
            return rng.choice(mine) if mine and rng.random() < 0.8 else self.literal(kind)
        sub = lambda each: self.make(each, names, depth + 1)
        item = f"x{depth}"
        within = lambda each: self.make(each, names | {item: "int"}, depth + 2)
        forms = {
            "int": (
                lambda: f"({sub('int')} {rng.choice(('+', '-', '*'))} {sub('int')})", lambda: f"({sub('int')} {rng.choice(('//', '%'))} {sub('int')})",
                lambda: f"abs({sub('int')})", lambda: f"len({sub(rng.choice(('str', 'list', 'dict', 'set', 'strs')))})", lambda: f"sum({sub('list')})",
                lambda: f"{rng.choice(('max', 'min'))}({sub('list')}, default={sub('int')})", lambda: f"{rng.choice(('max', 'min'))}({sub('int')}, {sub('int')})",
                lambda: f"({sub('list')})[{sub('int')}]", lambda: f"({sub('dict')}).get({sub('str')}, {sub('int')})", lambda: f"({sub('dict')})[{sub('str')}]",
                lambda: f"int({sub('bool')})", lambda: f"({sub('str')}).count({sub('str')})", lambda: f"({sub('int')} if {sub('bool')} else {sub('int')})",
                lambda: f"({sub('tuple')})[{rng.choice((0, 1, -1))}]", lambda: f"({sub('list')}).index({sub('int')})", lambda: f"int({sub('str')})",
                lambda: f"({sub('int')} {rng.choice('&|^')} {sub('int')})", lambda: f"(lambda {item}: {within('int')})({sub('int')})",
                lambda: f"sum({within('int')} for {item} in {sub('list')})", lambda: f"({sub('int')} % 7) ** 2", lambda: f"round({sub('float')})",
            ),
            "float": (
                lambda: f"({sub('float')} {rng.choice(('+', '-', '*'))} {sub('float')})", lambda: f"({sub('int')} / {sub('int')})", lambda: f"float({sub('int')})",
                lambda: f"round({sub('float')}, 2)", lambda: f"abs({sub('float')})", lambda: f"({sub('float')} if {sub('bool')} else {sub('float')})", lambda: f"sum([{sub('float')}, 0.5])",
            ),
            "str": (
                lambda: f"({sub('str')} + {sub('str')})", lambda: f"({sub('str')} * ({sub('int')} % 4))", lambda: f"({sub('str')})[::-1]", lambda: f"({sub('str')}).{rng.choice(('upper', 'lower', 'title', 'strip', 'swapcase'))}()",
                lambda: f"str({sub(rng.choice(('int', 'bool', 'list', 'tuple')))})", lambda: f"({sub('str')})[{sub('int')}:{sub('int')}]", lambda: f"'-'.join({sub('strs')})",
                lambda: f"'%d' % {sub('int')}", lambda: f"'{{}}:{{!r}}'.format({sub('int')}, {sub('str')})", lambda: f"({sub('str')}).replace({sub('str')}, {sub('str')}, 2)", lambda: f"({sub('str')})[{sub('int')}]",
                lambda: f"repr({sub(rng.choice(('str', 'list', 'dict')))})", lambda: f"({sub('str')}).zfill({sub('int')} % 9)", lambda: f"format({sub('int')}, '05d')",
            ),
            "bool": (
                lambda: f"({sub('int')} {rng.choice(('<', '<=', '==', '!=', '>', '>='))} {sub('int')})", lambda: f"({sub('bool')} {rng.choice(('and', 'or'))} {sub('bool')})",
                lambda: f"(not {sub('bool')})", lambda: f"({sub('int')} in {sub('list')})", lambda: f"({sub('str')} in {sub('str')})", lambda: f"({sub('str')} not in {sub('dict')})",
                lambda: f"{rng.choice(('all', 'any'))}({item} > {sub('int')} for {item} in {sub('list')})", lambda: f"bool({sub(rng.choice(('list', 'str', 'dict', 'int')))})",
                lambda: f"({sub('set')} {rng.choice(('<=', '>=', '==', '<'))} {sub('set')})", lambda: f"({sub('str')}).startswith({sub('str')})", lambda: f"isinstance({sub('int')}, int)", lambda: f"({sub('list')} == {sub('list')})",
            ),
            "list": (
                lambda: f"[{within('int')} for {item} in {sub('list')}]", lambda: f"[{item} for {item} in {sub('list')} if {within('bool')}]", lambda: f"sorted({sub(rng.choice(('list', 'set')))}, reverse={sub('bool')})",
                lambda: f"({sub('list')})[::-1]", lambda: f"({sub('list')})[{sub('int')}:{sub('int')}]", lambda: f"({sub('list')} + {sub('list')})", lambda: f"list(range({sub('int')} % 7))",
                lambda: f"list(map(lambda {item}: {within('int')}, {sub('list')}))", lambda: f"list({sub('tuple')})", lambda: f"list(filter(None, {sub('list')}))", lambda: f"[{sub('int')}, {sub('int')}]", lambda: f"list(({sub('dict')}).values())", lambda: f"[*{sub('list')}, {sub('int')}]",
            ),
            "strs": (
                lambda: f"({sub('str')}).split()", lambda: f"({sub('str')}).split(',')", lambda: f"[str({item}) for {item} in {sub('list')}]", lambda: f"sorted({sub('strs')})", lambda: f"list({sub('str')})",
                lambda: f"list({sub('dict')})", lambda: f"[{sub('str')}, {sub('str')}]", lambda: f"sorted({sub('strs')}, key=len)",
            ),
            "dict": (
                lambda: f"{{str({item}): {within('int')} for {item} in {sub('list')}}}", lambda: f"dict(zip({sub('strs')}, {sub('list')}))", lambda: f"{{**{sub('dict')}, {sub('str')}: {sub('int')}}}", lambda: f"({sub('dict')} | {sub('dict')})",
                lambda: f"dict(sorted(({sub('dict')}).items()))", lambda: f"dict.fromkeys({sub('strs')}, {sub('int')})",
            ),
            "tuple": (lambda: f"({sub('int')}, {sub('int')})", lambda: f"divmod({sub('int')}, {sub('int')})", lambda: f"tuple({sub('tuple')})", lambda: f"({sub('tuple')})[::-1]"),
            "set": (lambda: f"set({sub('list')})", lambda: f"({sub('set')} {rng.choice('|&-^')} {sub('set')})", lambda: f"{{{item} % 3 for {item} in {sub('list')}}}", lambda: f"{{{sub('int')}, {sub('int')}}}"),
        }  # fmt: skip
        return rng.choice(forms[kind])()


# ---------------------------------------------------------------------------------------------------------- programs


@dataclasses.dataclass(frozen=True)
class Unit:
    """A definition of the candidate: what it is called, and ways to use it in a test, each (statements, expression)."""

    names: tuple
    source: str
    uses: tuple


@dataclasses.dataclass(frozen=True)
class Case:
    statements: str
    expression: str
    outcome: tuple = ()  # ("value", repr) or ("raises", name)
    style: str = "eq"
    wrong: str = ""  # another value than the right one, when the test is to be wrong


def indent(text, by=4):
    return "".join(" " * by + line + "\n" if line.strip() else "\n" for line in text.splitlines())


class Programs:
    def __init__(self, rng):
        self.rng = rng
        self.make = Expressions(rng)
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def units(self):
        kinds = (self.function, self.function, self.function, self.loop, self.generator, self.closure, self.account, self.vector, self.stack, self.records, self.sequence,
                 self.managed, self.decorated, self.raising, self.shapes, self.mutating, self.coroutine, self.mapping, self.iterator, self.varied, self.recursive, self.subclassed)  # fmt: skip
        return [self.rng.choice(kinds)() for _ in range(self.rng.randrange(1, 4))]

    def parameters(self, most=3):
        return {name: self.rng.choice(TYPES) for name in "abc"[: self.rng.randrange(1, most + 1)]}

    def arguments(self, parameters):
        return ", ".join(self.make.literal(kind) for kind in parameters.values())

    def calls(self, name, parameters, count=3, wrap="{}"):
        return tuple(("", wrap.format(f"{name}({self.arguments(parameters)})")) for _ in range(count))

    # Each of these makes a unit.

    def function(self):
        name, parameters, rng = self.name("f"), self.parameters(), self.rng
        kind = rng.choice(TYPES)
        body = ""
        names = dict(parameters)
        for number in range(rng.randrange(3)):
            local, local_kind = f"v{number}", rng.choice(TYPES)
            body += f"{local} = {self.make.make(local_kind, names)}\n"
            names[local] = local_kind
        if rng.random() < 0.5:
            body += f"if {self.make.make('bool', names)}:\n    return {self.make.make(kind, names)}\n"
        if rng.random() < 0.2:
            body += f"if {self.make.make('bool', names)}:\n    raise {rng.choice(('ValueError', 'KeyError', 'RuntimeError', 'LookupError'))}({self.make.literal('str')})\n"
        if rng.random() < 0.2:
            body += f"try:\n    return {self.make.make(kind, names)}\nexcept {rng.choice(('ZeroDivisionError', 'Exception', '(IndexError, ValueError)', 'LookupError'))}:\n    return {self.make.make(kind, names)}\nfinally:\n    a = None\n"
        body += f"return {self.make.make(kind, names)}\n"
        calls = list(self.calls(name, parameters, 5))
        if rng.random() < 0.3:
            last = list(parameters)[-1]
            calls.append(("", f"{name}({', '.join(f'{key}={self.make.literal(each)}' for key, each in parameters.items())})"))
            del last
        if rng.random() < 0.3:
            calls.append(("", f"list(map({name}, {', '.join('[' + ', '.join(self.make.literal(each) for _ in range(3)) + ']' for each in parameters.values())}))"))
        return Unit((name,), f"def {name}({', '.join(parameters)}):\n{indent(body)}", tuple(calls))

    def loop(self):
        name, rng = self.name("f"), self.rng
        update = self.make.make("int", {"x": "int", "total": "int", "i": "int"}, 1)
        guard = self.make.make("bool", {"x": "int", "total": "int"}, 2)
        source = f"def {name}(items, start=0):\n    total = start\n    seen = []\n    for i, x in enumerate(items):\n        if {guard}:\n            {rng.choice(('continue', 'break', 'pass', 'seen.append(x)'))}\n        total = ({update}) % 1000\n        seen.append(total)\n    else:\n        seen.append(-1)\n    return {rng.choice(('total', 'seen', '(total, seen)', 'seen[-1]', '{i: x for i, x in enumerate(seen)}'))}\n"
        return Unit((name,), source, tuple(("", f"{name}({self.make.literal('list')}{rng.choice(('', ', 5', ', start=2'))})") for _ in range(4)))

    def generator(self):
        name, rng = self.name("g"), self.rng
        value = self.make.make("int", {"n": "int", "i": "int"}, 1)
        source = f"def {name}(n):\n    for i in range(n):\n        if i == 4:\n            return\n        got = yield {value}\n        if got is not None:\n            yield got * 2\n    {rng.choice(('yield -1', 'return', 'yield from [n, n]', 'raise ValueError(n)'))}\n"
        n = rng.randrange(6)
        return Unit((name,), source, (
            ("", f"list({name}({n}))"), ("", f"next({name}({n}))"), ("", f"[x for x in {name}({n})]"), ("", f"sum({name}({n}))"), (f"t = {name}({n})\nnext(t, None)", "next(t, 'end')"),
            (f"t = {name}(4)\nnext(t)", "t.send(5)"), ("", f"sorted({name}({n}))"), ("", f"dict(enumerate({name}({n})))"), (f"t = {name}(3)\nnext(t)\nt.close()", "next(t, 'closed')"),
            ("", f"max({name}({n}), default=None)"), ("", f"list(zip({name}({n}), range(3)))"), (f"a, *rest = {name}(3)", "(a, rest)"), ("", f"tuple({name}(2)) + tuple({name}(3))"), ("", f"5 in {name}({n})"),
        ))  # fmt: skip

    def closure(self):
        name, rng = self.name("f"), self.rng
        source = f"def {name}(n):\n    calls = []\n    def inner(x, *more, scale=1):\n        nonlocal n\n        calls.append(x)\n        n += {rng.choice(('1', 'x', 'len(more)'))}\n        return {rng.choice(('n * scale', '(n, len(calls))', 'calls + list(more)', 'sum(more, n)'))}\n    return inner\n"
        return Unit((name,), source, (
            ("", f"{name}(3)(4)"), (f"t = {name}(2)\nt(1)", "t(5, 6)"), (f"t = {name}(0)", "[t(i) for i in range(3)]"), (f"t = {name}(0)", "t(1, 2, 3, scale=2)"), (f"t, u = {name}(1), {name}(2)\nt(1)", "(t(2), u(2))"), (f"t = {name}(0)", "callable(t)"),
            (f"t = {name}(0)", "list(map(t, [1, 2]))"),
        ))  # fmt: skip

    def account(self):
        name, error, rng = self.name("Account"), self.name("Refused"), self.rng
        fee = rng.randrange(3)
        source = (
            f"class {error}({rng.choice(('Exception', 'ValueError', 'RuntimeError'))}):\n    def __init__(self, amount, code=7):\n        super().__init__(f'no {{amount}}')\n        self.amount, self.code = amount, code\n"
            f"class {name}:\n    opened = 0\n    limit = 100\n    def __init__(self, owner, balance=0):\n        self.owner, self.balance, self.log = owner, balance, []\n        type(self).opened += 1\n"
            f"    def deposit(self, amount):\n        if amount <= 0:\n            raise ValueError('amount')\n        self.balance += amount\n        self.log.append(('in', amount))\n        return self\n"
            f"    def withdraw(self, amount):\n        if amount > self.balance:\n            raise {error}(amount)\n        self.balance -= amount + {fee}\n        self.log.append(('out', amount))\n        return self.balance\n"
            f"    @property\n    def summary(self):\n        return {{'owner': self.owner, 'balance': self.balance}}\n    @summary.setter\n    def summary(self, value):\n        self.owner = value\n    @classmethod\n    def make(cls, text):\n        owner, amount = text.split(':')\n        return cls(owner, int(amount))\n    @staticmethod\n    def tax(amount):\n        return amount // 5\n    def __str__(self):\n        return f'{{self.owner}}={{self.balance}}'\n    def __bool__(self):\n        return self.balance > 0\n"
        )
        new = f"t = {name}('ann', {rng.randrange(20)})"
        return Unit((name, error), source, (
            (new, "t.deposit(5).balance"), (new, "t.withdraw(3)"), (new, "t.withdraw(1000)"), (new, "t.deposit(0)"), (new, "t.deposit(1).deposit(2).log"), (new, "t.summary"), (new + "\nt.summary = 'bob'", "t.owner"), ("", f"{name}.make('eve:7').summary"),
            ("", f"{name}.tax(27)"), (new, "str(t)"), (new, "bool(t)"), (new, "f'{t}'"), (new + "\nt.balance = 50", "t.withdraw(10)"), (new + "\nt.note = 'x'", "t.note"), (new, f"isinstance(t, {name})"), (new, "hasattr(t, 'nothing')"), (new, "getattr(t, 'nothing', 5)"),
            (new, "t.missing"), (new, f"{name}.limit + t.limit"), (new + f"\ntry:\n    t.withdraw(999)\nexcept {error} as error:\n    t = error", "(t.amount, t.code, str(t), t.args)"), ("", f"issubclass({error}, Exception)"), ("", f"{name}.make('bad')"),
            (f"t = [{name}(each, 1) for each in 'abc']", "[each.owner for each in t]"), (f"t = {name}('a'), {name}('b', 9)", "sorted((each.balance, each.owner) for each in t)"), (new + "\ndel t.owner", "hasattr(t, 'owner')"), (f"t = max([{name}('a', 3), {name}('b', 5)], key=lambda each: each.balance)", "t.owner"),
        ))  # fmt: skip

    def vector(self):
        name, rng = self.name("Vector"), self.rng
        source = (
            f"class {name}:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n    def __add__(self, other):\n        return {name}(self.x + other.x, self.y + other.y)\n    def __sub__(self, other):\n        return {name}(self.x - other.x, self.y - other.y)\n    def __neg__(self):\n        return {name}(-self.x, -self.y)\n"
            f"    def __eq__(self, other):\n        return isinstance(other, {name}) and (self.x, self.y) == (other.x, other.y)\n    def __hash__(self):\n        return hash((self.x, self.y))\n    def __lt__(self, other):\n        return (self.x, self.y) < (other.x, other.y)\n    def __repr__(self):\n        return f'V({{self.x}}, {{self.y}})'\n"
            f"    def __iter__(self):\n        yield self.x\n        yield self.y\n    def __len__(self):\n        return 2\n    def __getitem__(self, i):\n        return (self.x, self.y)[i]\n    def __abs__(self):\n        return abs(self.x) + abs(self.y)\n    def __contains__(self, each):\n        return each in (self.x, self.y)\n    def __call__(self, k):\n        return (self.x * k, self.y * k)\n    def __bool__(self):\n        return self.x != 0 or self.y != 0\n    def dot(self, other):\n        return self.x * other.x + self.y * other.y\n"
            f"def make_{name}(x):\n    return {name}(x, {rng.randrange(5)})\n"
        )
        a, b = (f"{name}({rng.randrange(5)}, {rng.randrange(-3, 5)})" for _ in range(2))
        return Unit((name, f"make_{name}"), source, (
            (f"t = {a} + {b}", "(t.x, t.y)"), ("", f"{a} + {b} == {b} + {a}"), ("", f"{a} == {b}"), ("", f"{a} != {b}"), (f"t = -{a}", "list(t)"), ("", f"repr({a})"), ("", f"len({a})"), ("", f"{a}[1]"), ("", f"{a}[5]"), ("", f"abs({a})"), ("", f"list({a})"), ("", f"tuple({a} - {b})"),
            ("", f"{a} < {b}"), (f"t = sorted([{a}, {b}])", "[tuple(each) for each in t]"), (f"x, y = {a}", "x + y"), ("", f"{a}.dot({b})"), ("", f"{a}(3)"), ("", f"bool({name}(0, 0))"), ("", f"len({{{a}, {b}, {a}}})"), ("", f"{{{a}: 1}}.get({a})"), ("", f"{a} in [{b}, {a}]"), ("", f"[{a}] == [{b}]"),
            (f"t = make_{name}(4)", "(t.x, t.dot(t))"), ("", f"make_{name}(1) == make_{name}(1)"), ("", f"2 in {a}"), ("", f"sum(each.x for each in [{a}, {b}])"), ("", f"f'{{{a}}}!'"), ("", f"{a}.z"), (f"t = min({a}, {b})", "tuple(t)"), ("", f"str([{a}, {b}])"), ("", f"max({a})"), ("", f"{a} == {a} and not {a} != {a}"),
        ))  # fmt: skip

    def stack(self):
        name, error = self.name("Stack"), self.name("Empty")
        source = (
            f"class {error}(IndexError):\n    pass\nclass {name}:\n    def __init__(self, items=()):\n        self.items = list(items)\n    def push(self, *items):\n        self.items.extend(items)\n        return len(self.items)\n    def pop(self):\n        if not self.items:\n            raise {error}('empty')\n        return self.items.pop()\n    def peek(self):\n        return self.items[-1]\n    def __len__(self):\n        return len(self.items)\n    def __iter__(self):\n        return iter(self.items[::-1])\n    def clear(self):\n        self.items.clear()\n"
        )
        items = self.make.literal("list")
        return Unit((name, error), source, (
            (f"t = {name}({items})", "t.push(1, 2)"), (f"t = {name}({items})", "t.pop()"), ("", f"{name}().pop()"), ("", f"{name}().peek()"), (f"t = {name}({items})\nt.push(9)", "list(t)"), (f"t = {name}({items})", "len(t)"), (f"t = {name}({items})\nt.clear()", "(len(t), t.items)"), (f"t = {name}({items})", "bool(t)"),
            (f"t = {name}({items})\nwhile t:\n    t.pop()", "t.items"), (f"t = {name}([1, 2])\nu = [t.pop(), t.pop()]", "u"), (f"t = {name}()\nfor each in {items}:\n    t.push(each)", "t.items"), (f"t = {name}([1])\ntry:\n    t.pop()\n    t.pop()\nexcept IndexError as error:\n    t = str(error)", "t"), ("", f"sorted({name}({items}))"), ("", f"[*{name}({items})]"), ("", f"3 in {name}([3, 4])"),
        ))  # fmt: skip

    def records(self):
        name, point, color, rng = self.name("Record"), self.name("Point"), self.name("Color"), self.rng
        source = (
            f"import collections\nimport dataclasses\nimport enum\n{point} = collections.namedtuple('{point}', 'x y')\n@dataclasses.dataclass{rng.choice(('', '(order=True)', '(frozen=True)'))}\nclass {name}:\n    key: int\n    tags: list = dataclasses.field(default_factory=list)\n    label: str = 'none'\n    def double(self):\n        return self.key * 2\nclass {color}(enum.Enum):\n    RED = 1\n    BLUE = 2\n    @property\n    def short(self):\n        return self.name[0]\n"
            f"def pick_{name}(n):\n    return {rng.choice((f'{name}(n, [n])', f'{point}(n, n + 1)', f'[{name}(i) for i in range(n)]', f'{{n: {name}(n)}}', f'{color}(n)', f'({point}(n, 0), {color}.RED)'))}\n"
        )
        return Unit((name, point, color, f"pick_{name}"), source, (
            ("", f"{name}(3).double()"), ("", f"{name}(3) == {name}(3)"), ("", f"{name}(3, [1]).tags"), ("", f"{name}(3) != {name}(4)"), ("", f"{name}(1, label='x').label"), ("", f"repr({name}(1, [2], 'y'))"), ("", f"{point}(1, 2).x"), ("", f"{point}(1, 2) == (1, 2)"), ("", f"tuple({point}(1, 2))"), (f"x, y = {point}(3, 4)", "x * y"),
            ("", f"{point}(1, 2)._asdict()"), ("", f"{point}(x=1, y=2)[1]"), ("", f"{color}.RED.value"), ("", f"{color}(2).name"), ("", f"{color}.RED == {color}.RED"), ("", f"{color}.RED is {color}(1)"), ("", f"{color}(5)"), ("", f"{color}['BLUE'].value"), ("", f"[each.value for each in {color}]"), ("", f"{color}.RED.short"), ("", f"{color}.RED in {color}"), ("", f"len({color})"),
            ("", f"{point}(1)"), ("", f"{name}()"), (f"t = pick_{name}(1)", "isinstance(t, (list, dict, tuple))"), (f"t = {name}(1)\nt.key = 9", "t.double()"), ("", f"{name}(1) < {name}(2)"), ("", f"{color}.RED != {color}.BLUE"), ("", f"{{{color}.RED: 1}}[{color}.RED]"), (f"t = {point}(1, 2)", "t._replace(y=5) == (1, 5)"), ("", f"{point}(1, 2) + (3,)"),
        ))  # fmt: skip

    def sequence(self):
        name = self.name("Deck")
        source = f"class {name}:\n    def __init__(self, n):\n        self.cards = [(i, i % {self.rng.randrange(2, 4)}) for i in range(n)]\n    def __len__(self):\n        return len(self.cards)\n    def __getitem__(self, i):\n        return self.cards[i]\n    def __setitem__(self, i, value):\n        self.cards[i] = value\n    def __delitem__(self, i):\n        del self.cards[i]\n"
        new = f"t = {name}({self.rng.randrange(1, 5)})"
        return Unit((name,), source, (
            (new, "len(t)"), (new, "t[0]"), (new, "t[-1]"), (new, "t[9]"), (new, "t[1:3]"), (new, "list(t)"), (new, "[a + b for a, b in t]"), (new, "(1, 1) in t"), (new + "\nt[0] = (7, 7)", "t.cards"), (new + "\ndel t[0]", "len(t)"), (new, "list(reversed(t))"), (new, "sorted(t, reverse=True)"), (new, "max(t)"), (new, "dict(t)"), (new, "t['a']"), (new, "[*t][0]"), (new, "list(zip(t, 'ab'))"), (new, "sum(a for a, _ in t)"),
        ))  # fmt: skip

    def managed(self):
        name, rng = self.name("Session"), self.rng
        source = (
            f"import contextlib\nLOG_{name} = []\nclass {name}:\n    def __init__(self, ignored=()):\n        self.ignored, self.state = ignored, 'new'\n    def __enter__(self):\n        self.state = 'open'\n        return self\n    def __exit__(self, kind, error, traceback):\n        self.state = 'closed'\n        return bool(self.ignored) and kind is not None and issubclass(kind, self.ignored)\n"
            f"@contextlib.contextmanager\ndef scope_{name}(value):\n    got = [value]\n    try:\n        yield got\n    finally:\n        got.append('end')\n"
        )
        return Unit((name, f"scope_{name}"), source, (
            (f"t = {name}()\nwith t as u:\n    v = u.state", "(v, t.state)"), (f"t = {name}(KeyError)\nwith t:\n    {{}}['x']", "t.state"), (f"t = {name}(KeyError)\nwith t:\n    1 / 0", "t.state"), (f"with scope_{name}(3) as t:\n    u = t[0]", "u"), (f"with scope_{name}({rng.randrange(5)}) as t:\n    u = t[0] + 1", "u"), (f"with scope_{name}(1):\n    raise ValueError('x')", "1"), (f"t = {name}()\nt.__enter__()", "t.state"),
        ))  # fmt: skip

    def decorated(self):
        name, wrap, rng = self.name("f"), self.name("wrap"), self.rng
        source = (
            f"import functools\ndef {wrap}(times):\n    def decorate(function):\n        @functools.wraps(function)\n        def inner(*args, **keywords):\n            inner.calls += 1\n            return [function(*args, **keywords)] * times\n        inner.calls = 0\n        return inner\n    return decorate\n"
            f"{rng.choice(('@functools.lru_cache(maxsize=None)', f'@{wrap}(2)', f'@{wrap}(0)'))}\ndef {name}(n, step=1):\n    return {self.make.make('int', {'n': 'int', 'step': 'int'}, 1)}\nhalf_{name} = functools.partial({name}, 4)\nsquare_{name} = lambda n, *rest: (n * n, *rest)\n"
        )
        return Unit((name, wrap, f"half_{name}", f"square_{name}"), source, (
            ("", f"{name}(3)"), ("", f"{name}(3, step=2)"), ("", f"half_{name}()"), ("", f"half_{name}(step=3)"), ("", f"square_{name}(5)"), ("", f"square_{name}(5, 6)"), ("", f"{name}.__name__"), ("", f"{name}()"), ("", f"[{name}(n) for n in range(3)]"), ("", f"list(map(half_{name}, [1, 2]))"), ("", f"{wrap}(3)(len)([1, 2])"), ("", f"{wrap}(2)(lambda n: n + 1)(4)"), ("", f"callable({name})"),
        ))  # fmt: skip

    def raising(self):
        name, base, derived, rng = self.name("f"), self.name("Base"), self.name("Derived"), self.rng
        source = (
            f"class {base}(Exception):\n    pass\nclass {derived}({base}, {rng.choice(('KeyError', 'ValueError'))}):\n    def __init__(self, code):\n        super().__init__('code', code)\n        self.code = code\n"
            f"def {name}(n):\n    if n == 0:\n        raise {base}('zero')\n    if n == 1:\n        raise {derived}(5)\n    if n == 2:\n        raise ValueError('two', 2)\n    if n == 3:\n        try:\n            [][n]\n        except IndexError as error:\n            raise RuntimeError('three') from error\n    if n == 4:\n        raise TypeError\n    if n == 5:\n        assert n > 9, 'small'\n    if n == 6:\n        return [] + ()\n    if n == 7:\n        raise StopIteration(7)\n    if n == 8:\n        raise SystemExit(3)\n    return n\n"
        )
        caught = lambda n, kind, what: (f"try:\n    t = {name}({n})\nexcept {kind} as error:\n    t = {what}", "t")
        return Unit((name, base, derived), source, (
            *(("", f"{name}({n})") for n in range(10) if n != 7), caught(0, base, "str(error)"), caught(1, base, "error.code"), caught(1, derived, "error.args"), caught(2, "ValueError", "error.args"), caught(3, "RuntimeError", "type(error.__cause__).__name__"), caught(4, "Exception", "type(error).__name__"), caught(1, "LookupError", "1"), caught(0, "(KeyError, OSError)", "2"), caught(6, "TypeError", "'type'"), caught(5, "AssertionError", "str(error)"),
            (f"t = []\nfor n in range(6):\n    try:\n        t.append({name}(n))\n    except {base}:\n        t.append('base')\n    except Exception as error:\n        t.append(type(error).__name__)", "t"), (f"try:\n    {name}(2)\nexcept KeyError:\n    t = 1\nexcept ValueError:\n    t = 2\nelse:\n    t = 3\nfinally:\n    u = 4", "(t, u)"), (f"import contextlib\nwith contextlib.suppress({base}):\n    {name}(1)\nt = 1", "t"), ("", f"isinstance({derived}(1), {base})"),
        ))  # fmt: skip

    def shapes(self):
        name, circle, square = self.name("Shape"), self.name("Circle"), self.name("Square")
        source = (
            f"import abc\nclass {name}(abc.ABC):\n    sides = None\n    def __init__(self, size):\n        self.size = size\n    @abc.abstractmethod\n    def area(self):\n        ...\n    def describe(self):\n        return f'{{type(self).__name__[:3]}} {{self.area()}}'\nclass {circle}({name}):\n    def area(self):\n        return 3 * self.size ** 2\nclass {square}({name}):\n    sides = 4\n    def area(self):\n        return self.size ** 2\n    def describe(self):\n        return 'big ' + super().describe()\nREGISTRY_{name} = {{'c': {circle}, 's': {square}}}\ndef build_{name}(kind, size):\n    return REGISTRY_{name}[kind](size)\n"
        )
        return Unit((name, circle, square, f"build_{name}"), source, (
            ("", f"{circle}(2).area()"), ("", f"{square}(3).describe()"), ("", f"{circle}(1).describe()"), ("", f"{name}(1)"), ("", f"isinstance({square}(1), {name})"), ("", f"issubclass({circle}, {name})"), ("", f"build_{name}('s', 4).area()"), ("", f"build_{name}('x', 4)"), ("", f"[each.area() for each in ({circle}(1), {square}(2))]"), ("", f"{square}.sides, {circle}.sides"), ("", f"type(build_{name}('c', 1)) is {circle}"), ("", f"{square}(2).sides"), ("", f"sum(map(lambda each: each.area(), [build_{name}(kind, 2) for kind in 'cs']))"),
        ))  # fmt: skip

    def mutating(self):
        name, rng = self.name("f"), self.rng
        change = rng.choice(("items.sort()", "items.append(len(items))", "items.reverse()", "items.pop()", "items[0] = 9", "del items[-1:]", "items.extend(items)", "items += [1]", "items.insert(0, 5)", "items.clear()", "items.remove(3)"))
        source = f"HISTORY_{name} = []\ndef {name}(items, table=None):\n    {change}\n    if table is not None:\n        table['n'] = len(items)\n        table.setdefault('k', []).append(1)\n    HISTORY_{name}.append(list(items))\n    return {rng.choice(('None', 'items', 'len(items)', 'list(items)'))}\ndef history_{name}():\n    return HISTORY_{name}[-2:]\n"
        items = self.make.literal("list")
        return Unit((name, f"history_{name}"), source, (
            (f"t = {items}\nu = {name}(t)", "(t, u)"), (f"t = {items}\nu = {{}}\n{name}(t, u)", "(t, u)"), (f"t = [3, 1, 2]\n{name}(t)", "t"), (f"t = [3, 1]\n{name}(t)\n{name}(t)", "t"), (f"t = {{'a': [3, 3]}}\n{name}(t['a'])", "t"), (f"t = [3]\nu = t\n{name}(t)", "u is t and u"), (f"t = [[3], [4]]\n{name}(t[0])", "t"), ("", f"{name}([])"), (f"{name}([3, 4])", f"history_{name}()"), (f"t = [3, 5]\nu = {name}(t)", "u is t"),
        ))  # fmt: skip

    def coroutine(self):
        name = self.name("f")
        source = f"import asyncio\nasync def {name}(n):\n    await asyncio.sleep(0)\n    if n < 0:\n        raise ValueError(n)\n    return n * {self.rng.randrange(2, 5)}\nasync def stream_{name}(n):\n    for i in range(n):\n        yield i\n"
        return Unit((name, f"stream_{name}"), source, (
            ("import asyncio", f"asyncio.run({name}(3))"), ("import asyncio", f"asyncio.run({name}(-3))"), (f"import asyncio\nasync def run():\n    return [await {name}(n) for n in range(3)]", "asyncio.run(run())"), (f"import asyncio\nasync def run():\n    return await asyncio.gather({name}(1), {name}(2))", "asyncio.run(run())"),
            (f"import asyncio\nasync def run():\n    return [each async for each in stream_{name}(3)]", "asyncio.run(run())"), (f"import asyncio\nasync def run():\n    return await asyncio.wait_for({name}(5), 5)", "asyncio.run(run())"), (f"import asyncio\nasync def run():\n    task = asyncio.create_task({name}(2))\n    return await task + 1", "asyncio.run(run())"),
        ))  # fmt: skip

    def mapping(self):
        name = self.name("Table")
        source = f"import collections\nclass {name}:\n    def __init__(self, **rows):\n        self.rows = rows\n    def __getitem__(self, key):\n        return self.rows[key]\n    def __contains__(self, key):\n        return key in self.rows\n    def keys(self):\n        return self.rows.keys()\n    def items(self):\n        return self.rows.items()\n    def __len__(self):\n        return len(self.rows)\ndef group_{name}(words):\n    groups = collections.defaultdict(list)\n    for word in words:\n        groups[len(word)].append(word)\n    return groups\ndef count_{name}(text):\n    return collections.Counter(text)\n"
        words = self.make.literal("strs")
        return Unit((name, f"group_{name}", f"count_{name}"), source, (
            ("", f"{name}(a=1)['a']"), ("", f"{name}(a=1)['b']"), ("", f"'a' in {name}(a=1)"), ("", f"dict({name}(a=1, b=2))"), ("", f"{{**{name}(a=1)}}"), ("", f"sorted({name}(b=1, a=2).keys())"), ("", f"dict({name}(a=1).items())"), ("", f"len({name}())"), ("", f"dict(group_{name}({words}))"), ("", f"group_{name}({words}) == {{}}"), ("", f"count_{name}('hello')['l']"), ("", f"count_{name}('aab').most_common(1)"), ("", f"dict(count_{name}('ab'))"), ("", f"group_{name}(['a'])[9]"), ("", f"count_{name}('ab') + count_{name}('b') == {{'a': 1, 'b': 2}}"),
        ))  # fmt: skip

    def iterator(self):
        name = self.name("Countdown")
        source = f"class {name}:\n    def __init__(self, n, hook=None):\n        self.n, self.hook = n, hook\n    def __iter__(self):\n        return self\n    def __next__(self):\n        if self.n <= 0:\n            raise StopIteration\n        self.n -= 1\n        if self.hook:\n            self.hook(self.n)\n        return self.n\ndef apply_{name}(function, items, *, start=0):\n    return [function(item) for item in items][start:]\n"
        return Unit((name, f"apply_{name}"), source, (
            ("", f"list({name}(3))"), (f"t = {name}(2)", "[next(t), next(t), next(t, None)]"), (f"t = {name}(0)", "next(t)"), (f"t = []\nfor each in {name}(3, t.append): pass", "t"), ("", f"sum({name}(4))"), ("", f"apply_{name}(lambda x: x + 1, [1, 2])"), ("", f"apply_{name}(str, [1, 2], start=1)"), ("", f"apply_{name}(lambda x: 1 / x, [0])"), (f"t = []\nu = apply_{name}(t.append, 'ab')", "(t, u)"), ("", f"list(zip({name}(2), {name}(3)))"),
            (f"def shout(x):\n    if x > 1:\n        raise KeyError('big')\n    return x", f"apply_{name}(shout, [1, 2])"), (f"t = {{}}\nu = apply_{name}(t.get, ['x'])", "u"), (f"class Local:\n    def __call__(self, x):\n        return x * 2", f"apply_{name}(Local(), [1, 2])"), ("", f"apply_{name}(len, ['a', 'bb'])"), ("", f"max({name}(3))"), ("", f"2 in {name}(4)"),
        ))  # fmt: skip

    def varied(self):
        name, rng = self.name("f"), self.rng
        value = rng.choice(("None", "...", "range(n)", "b'x' * n", "(n,)", "frozenset({n})", "complex(n, 1)", "[[n], {n: [n]}]", "{'a': {'b': (n, [n])}}", "{(n, 1): 'x'}", "10 ** (n * 9)", "-(2 ** 70)", "'\\n\\t\\0' * n", "[True, 1, 1.0]", "{n: None}", "bytearray(b'ab')", "n / 3", "'\U0001f600' * n", "[None] * n", "float(n)", "{1, 2} - {n}", "slice(n)", "(n for _ in 'ab')", "iter([n])", "{}.keys()", "map(str, [n])", "[n].append", "int", "type", "memoryview(b'ab')"))
        source = f"def {name}(n=2, /, *args, key=None, **more):\n    if args or key or more:\n        return (n, args, key, sorted(more.items()))\n    return {value}\n"
        return Unit((name,), source, (
            ("", f"{name}(3)"), ("", f"{name}()"), ("", f"{name}(1, 2, 3)"), ("", f"{name}(1, key=2)"), ("", f"{name}(1, z=3, y=2)"), ("", f"{name}(n=5)"), ("", f"{name}(*[1, 2], **{{'key': 3}})"), ("", f"type({name}(3)).__name__"), ("", f"{name}(3) == {name}(3)"), ("", f"{name}(1) is None"), ("", f"list({name}(3))"), ("", f"str({name}(2))[:1]"), ("", f"bool({name}(1))"), ("", f"len({name}(2))"), ("", f"[{name}(1)] * 2 == [{name}(1)] * 2"),
        ))  # fmt: skip

    def recursive(self):
        name = self.name("f")
        step = self.rng.choice(("n + {0}(n - 1)", "{0}(n // 2) + {0}(n - 2) % 5", "[n] + {0}(n - 1)", "{{n: {0}(n - 1)}}", "({0}(n - 1), n)", "str(n) + {0}(n - 1)")).format(name).replace("{{", "{").replace("}}", "}")
        zero = "[]" if step.startswith("[") else "{}" if step.startswith("{") else "''" if step.startswith("str") else "()" if step.startswith("(") else "1"
        source = f"def {name}(n):\n    if n <= 0:\n        return {zero}\n    return {step}\nclass Node_{name}:\n    def __init__(self, value, *children):\n        self.value, self.children = value, list(children)\n    def total(self):\n        return self.value + sum(child.total() for child in self.children)\n    def walk(self):\n        yield self.value\n        for child in self.children:\n            yield from child.walk()\n"
        tree = f"Node_{name}(1, Node_{name}(2), Node_{name}(3, Node_{name}(4)))"
        return Unit((name, f"Node_{name}"), source, (
            *(("", f"{name}({n})") for n in (0, 1, 3, 6)), ("", f"{tree}.total()"), ("", f"list({tree}.walk())"), (f"t = {tree}", "t.children[1].children[0].value"), (f"t = {tree}\nt.children[0].value = 10", "t.total()"), (f"t = {tree}", "[child.value for child in t.children]"), (f"t = {tree}", "len(t.children)"), (f"t = {tree}\nu = t.children[1]", "u.total() if isinstance(u, Node_%s) else None" % name),
        ))  # fmt: skip

    def subclassed(self):
        base, name, rng = self.rng.choice(("int", "str", "list", "dict", "tuple", "float", "set")), self.name("Own"), self.rng
        content = {"int": "5", "str": "'abc'", "list": "[3, 1, 2]", "dict": "{'a': 1}", "tuple": "(1, 2)", "float": "2.5", "set": "{1, 2}"}[base]
        source = f"class {name}({base}):\n    def shape(self):\n        return '{base}', {rng.randrange(5)}\ndef make_{name}():\n    return {name}({content})\n"
        extra = {
            "int": ("make() + 1", "make() == 5", "make() < 6", "[0, 1, 2, 3, 4, 5, 6][make()]", "make() in (5, 6)", "f'{make():03d}'"), "str": ("make() + 'd'", "make() == 'abc'", "make().upper()", "make()[1]", "''.join(make())", "'b' in make()"),
            "list": ("make() == [3, 1, 2]", "sorted(make())", "len(make())", "make()[0]", "make() + [4]", "[0] + make()", "list(make())", "1 in make()", "make()[::-1]", "make() < [4]", "max(make())", "make().index(2)"), "dict": ("make() == {'a': 1}", "make()['a']", "dict(make())", "{**make()}", "list(make())", "make() | {'b': 2}", "'a' in make()", "make().get('z', 4)", "list(make().items())"),
            "tuple": ("make() == (1, 2)", "make()[0]", "make() + (3,)", "len(make())", "sum(make())"), "float": ("make() * 2", "make() == 2.5", "round(make())", "int(make())"), "set": ("make() == {1, 2}", "make() <= {1, 2, 3}", "{1} | make()", "make() - {1}", "sorted(make())", "1 in make()", "len(make())", "make() & {2, 9}"),
        }[base]  # fmt: skip
        return Unit((name, f"make_{name}"), source, (("", f"make_{name}().shape()"), ("", f"isinstance(make_{name}(), {base})"), ("", f"isinstance({name}(), {name})"), *(("", each.replace("make()", f"make_{name}()")) for each in extra)))


# ------------------------------------------------------------------------------------------------------------- tests

STYLES = {
    "eq": "assert @X == @E",
    "reversed": "assert @E == @X",
    "not_ne": "assert not @X != @E",
    "in_list": "assert @X in [@E]",
    "wrapped": "assert [@X, 1] == [@E, 1]",
    "bound": "got = @X\nassert got == @E, got",
    "all": "assert all(each == @E for each in [@X])",
    "if": "if @X != @E:\n    raise AssertionError('other')",
    "map": "assert list(map(lambda each: each == @E, [@X])) == [True]",
    "type": "got = @X\nassert type(got) is type(@E) and got == @E",
    "loop": "for got, want in zip([@X], [@E]):\n    assert got == want",
}
UNITTEST_STYLES = {
    "assertEqual": "self.assertEqual(@X, @E)",
    "assertEqual_reversed": "self.assertEqual(@E, @X)",
    "assertTrue": "self.assertTrue(@X == @E)",
    "assertIn": "self.assertIn(@X, [@E])",
    "assertCountEqual": "self.assertCountEqual([@X], [@E])",
    "subTest": "for want in [@E]:\n    with self.subTest(want=want):\n        self.assertEqual(@X, want)",
}
RAISES = {
    "raises": "try:\n    @X\nexcept @K:\n    pass\nelse:\n    raise AssertionError('nothing raised')",
    "uncaught": "assert @X == 1",
    "caught": "got = None\ntry:\n    got = @X\nexcept Exception as error:\n    got = type(error).__name__\nassert got == '@K'",
}
UNITTEST_RAISES = {"assertRaises": "with self.assertRaises(@K):\n    @X"}
PYTEST_RAISES = {"pytest_raises": "with pytest.raises(@K):\n    @X"}
BUILTIN_ERRORS = ("ValueError", "KeyError", "IndexError", "TypeError", "ZeroDivisionError", "RuntimeError", "LookupError", "AttributeError", "AssertionError")
# What ends an interpreter, or is no Exception, is for attack.py.
NOT_TESTED = {"SystemExit", "StopIteration", "KeyboardInterrupt", "RecursionError", "MemoryError", "OverflowError", "NameError", "UnboundLocalError", "SyntaxError"}
KINDS = ("asserts", "check_function", "pytest", "unittest", "script", "evaluator", "function_cases")


@dataclasses.dataclass(frozen=True)
class Item:
    units: tuple
    cases: tuple
    kind: str

    @property
    def code(self):
        return "".join(unit.source for unit in self.units)

    @property
    def names(self):
        return [name for unit in self.units for name in unit.names]

    def body(self, case):
        kind, text = case.outcome
        tables = STYLES | UNITTEST_STYLES | RAISES | UNITTEST_RAISES | PYTEST_RAISES
        code = tables[case.style].replace("@X", f"({case.expression})" if not re.fullmatch(r"\w+\([^()]*\)|\w+", case.expression) else case.expression)
        expected = case.wrong or text
        code = code.replace("@K", expected) if kind == "raises" else code.replace("@E", expected)
        return f"{case.statements}\n{code}\n" if case.statements else f"{code}\n"

    def tests(self):
        bodies = [self.body(case) for case in self.cases]
        names = f"from solution import {', '.join(self.names)}\n"
        if self.kind == "asserts":
            return {"kind": self.kind, "asserts": bodies}
        if self.kind == "check_function":
            return {"kind": self.kind, "entry_point": self.names[0], "source": "def check(candidate):\n" + "".join(f"    if True:\n{indent(body, 8)}        assert True\n" for body in bodies)}
        if self.kind == "pytest":
            return {"kind": self.kind, "source": f"import pytest\n{names}" + "".join(f"def test_{number:02}():\n{indent(body)}" for number, body in enumerate(bodies))}
        if self.kind == "unittest":
            return {"kind": self.kind, "source": f"import unittest\n{names}class Tests(unittest.TestCase):\n" + "".join(f"    def test_{number:02}(self):\n{indent(body, 8)}" for number, body in enumerate(bodies))}
        if self.kind == "script":
            return {"kind": self.kind, "source": "".join(bodies)}
        if self.kind == "evaluator":
            return {"kind": self.kind, "interface": "get_assert", "output": "", "threshold": 1.0, "source": f"{names}def get_assert(output, context):\n{indent(''.join(bodies))}    return True\n"}
        cases = []
        for case in self.cases:
            arguments = case.expression[case.expression.index("(") :]
            found = {"args": [tagged(each) for each in eval(f"_{arguments}", {"_": lambda *args: args})]}
            kind, text = case.outcome
            if kind == "raises":
                found["raises"] = case.wrong or text
            else:
                found["expected"] = tagged(eval(case.wrong or text))
            cases.append(found)
        return {"kind": self.kind, "entry_point": self.cases[0].expression.partition("(")[0], "cases": cases}

    def request(self, grading):
        return {"code": self.code, "tests": self.tests(), "grading": grading, "limits": LIMITS}


def tagged(value):
    """Tagged JSON of a plain value."""
    if value is None or type(value) in (bool, float, str) or type(value) is int and abs(value) < 2**53:
        return value
    if type(value) is int:
        return {"$type": "int", "value": str(value)}
    if type(value) is list:
        return [tagged(each) for each in value]
    if type(value) is dict and all(type(key) is str and key[:1] != "$" for key in value):
        return {key: tagged(each) for key, each in value.items()}
    if type(value) is dict:
        return {"$type": "dict", "items": [[tagged(key), tagged(each)] for key, each in value.items()]}
    if type(value) in (tuple, set, frozenset):
        return {"$type": type(value).__name__, "items": [tagged(each) for each in value]}
    raise ValueError(f"no argument: {value!r}")


def mutated(rng, text):
    """Returns the source of another plain value of the same type."""
    value = eval(text)
    kind = type(value)
    if kind is bool:
        return repr(not value)
    if kind in (int, float):
        return repr(value + rng.choice((1, -1, 10)))
    if kind is str:
        return repr(value + "x")
    if kind is list:
        return repr(rng.choice((value + [0], value[:-1] if value else [1])))
    if kind is tuple:
        return repr(value + (0,))
    if kind is dict:
        return repr(value | {"other": 1})
    if kind in (set, frozenset):
        return repr(kind(value | {99}))
    return "5"


class Native:
    """The interpreter that tells the truth: a process that forks for each item."""

    def __init__(self, python):
        self.lock = threading.Lock()
        self.process = subprocess.Popen([python, str(HERE / "native.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.about = json.loads(self.process.stdout.readline() or "null")
        if not self.about:
            raise SystemExit(f"--python {python}: does not run native.py")

    def ask(self, item):
        """The answer, or None."""
        with self.lock:
            self.process.stdin.write(json.dumps(item) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline()).get("answer")


class Differential:
    def __init__(self, arguments):
        self.arguments = arguments
        self.server = service.Service(arguments.server, arguments.key)
        self.natives = [Native(arguments.python) for _ in range(arguments.jobs)]
        self.kinds = [kind for kind in KINDS if kind in self.natives[0].about["kinds"]]
        self.limits = tomllib.loads((HERE / "differential_limits.toml").read_text()).get("limit", [])
        self.lock = threading.Lock()
        self.next = arguments.first
        self.counts = collections.Counter()
        self.findings = []
        self.listed = collections.Counter()
        self.end = time.monotonic() + arguments.seconds
        self.broken = None

    def compose(self, index, native):
        rng = random.Random(f"{self.arguments.seed}:{index}")
        units = Programs(rng).units()
        uses = [use for unit in units for use in unit.uses]
        rng.shuffle(uses)
        uses = uses[:14]
        kind = rng.choices(self.kinds, [{"asserts": 6, "check_function": 4, "pytest": 2, "unittest": 4, "script": 1, "evaluator": 1, "function_cases": 3}[kind] for kind in self.kinds])[0]
        if kind == "function_cases":
            plain = re.compile(r"f\d+\([^=*]*\)")
            entry = next((use[1].partition("(")[0] for use in uses if not use[0] and plain.fullmatch(use[1])), None)
            uses = [use for use in uses if not use[0] and plain.fullmatch(use[1]) and use[1].partition("(")[0] == entry]
            if not uses:
                return None
        code = "".join(unit.source for unit in units)
        outcomes = native.ask({"op": "evaluate", "code": code, "expressions": uses})
        if outcomes is None:
            self.count("programs that no interpreter takes")
            return None
        cases = []
        for (statements, expression), outcome in zip(uses, outcomes):
            if outcome is None or outcome[0] == "raises" and outcome[1] in NOT_TESTED:
                continue
            if len(outcome[1]) > 3000:
                continue
            wrong = ""
            if outcome[0] == "raises":
                known = outcome[1] in BUILTIN_ERRORS or any(outcome[1] in unit.names for unit in units)
                tables = RAISES | (UNITTEST_RAISES if kind == "unittest" else PYTEST_RAISES if kind == "pytest" else {})
                style = rng.choice(list(tables)) if known else "caught"
                if rng.random() < 0.25:
                    wrong = rng.choice([name for name in BUILTIN_ERRORS if name != outcome[1]])
            else:
                tables = STYLES | (UNITTEST_STYLES if kind == "unittest" else {})
                style = rng.choice(list(tables))
                if rng.random() < 0.3:
                    wrong = mutated(rng, outcome[1])
            try:
                if kind == "function_cases":
                    eval(f"[*map(tagged, _{expression[expression.index('('):]})]", {"_": lambda *args: args, "tagged": tagged})
                    if outcome[0] == "value":
                        tagged(eval(outcome[1]))
            except Exception:
                continue
            cases.append(Case(statements, expression, tuple(outcome), style, wrong))
        if kind in ("script", "evaluator"):
            cases = cases[:3]
        return Item(tuple(units), tuple(cases), kind) if cases else None

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] += by

    def truth(self, item, native):
        return native.ask({"op": "run", "code": item.code, "tests": item.tests()})

    def statuses(self, item, grading):
        answer = self.server.execute(item.request(grading))
        found = [case["status"] for case in answer["cases"]]
        return found, answer

    def try_item(self, index, native):
        item = self.compose(index, native)
        if item is None:
            return
        truth = self.truth(item, native)
        if truth is None or len(truth) != len(item.cases) and item.kind not in ("script", "evaluator"):
            self.count("tests that no interpreter takes")
            return
        self.count("programs")
        self.count("cases", len(truth))
        for grading in ("isolated", "in_process"):
            found, answer = self.statuses(item, grading)
            if found == truth:
                continue
            if service.is_infrastructure_error(answer):
                self.report(index, item, grading, 0, truth, found, answer, "infrastructure_error")
                continue
            places = [place for place, (a, b) in enumerate(zip(truth, found)) if a != b] or [0]
            for place in places[:3]:
                self.reduce_and_report(index, item, grading, place, native)

    def differs(self, item, grading, native):
        """(truth, found, answer) of the one case, if they differ."""
        truth = self.truth(item, native)
        if not truth:
            return None
        found, answer = self.statuses(item, grading)
        return (truth, found, answer) if found != truth else None

    def reduce_and_report(self, index, item, grading, place, native):
        whole = item
        if item.kind not in ("script", "evaluator"):
            one = dataclasses.replace(item, cases=(item.cases[place],))
            if not self.differs(one, grading, native):
                # It takes the cases before it.
                one = dataclasses.replace(item, cases=item.cases[: place + 1])
                if not self.differs(one, grading, native):
                    self.count("differences seen once only")
                    if (again := self.differs(whole, grading, native)) is None:
                        return
                    one = whole
            item = one
        changed = True
        while changed and time.monotonic() < self.end + GRACE_SECONDS:
            changed = False
            for part in ("cases", "units"):
                for each in getattr(item, part):
                    rest = tuple(other for other in getattr(item, part) if other is not each)
                    other = dataclasses.replace(item, **{part: rest})
                    if rest and not (part == "units" and item.kind == "check_function" and each is item.units[0]) and self.differs(other, grading, native):
                        item, changed = other, True
        if item.kind not in ("asserts", "function_cases"):
            other = dataclasses.replace(item, kind="asserts", cases=tuple(case for case in item.cases if case.style in STYLES | RAISES))
            if other.cases and self.differs(other, grading, native):
                item = other
        found = self.differs(item, grading, native)
        if found:
            self.report(index, item, grading, place, *found, "difference")
        else:
            self.count("differences seen once only")

    def report(self, index, item, grading, place, truth, found, answer, what):
        text = "\n".join(self.source(item))
        for limit in self.limits:
            if re.search(limit["source"], text) and limit.get("grading", grading) == grading:
                with self.lock:
                    self.listed[limit["reason"]] += 1
                return
        messages = [str(case.get("message")) for case in answer["cases"] if case["status"] == "error"]
        about = " ".join(messages) or " ".join(f"{case.statements}|{case.expression}|{case.style}" for case in item.cases)
        shape = what, grading, re.sub(r"\d+|line .*", "", about)[:200], str(found)
        with self.lock:
            known = shape in {each[0] for each in self.findings}
            self.findings.append((shape, index))
            number = len(self.findings)
        if known:
            return
        messages = [case.get("message") for case in answer["cases"]]
        print(f"{what}: program {self.arguments.seed}:{index}: {grading}, {item.kind}: must be {truth}, is {found}; says {str(messages)[:300]}, {answer['integrity']['signals']}")
        print("\n".join(f"    {line}" for line in text.splitlines()), flush=True)
        if self.arguments.keep:
            directory = pathlib.Path(self.arguments.keep)
            directory.mkdir(parents=True, exist_ok=True)
            content = {"what": what, "truth": truth, "found": found, "seed": self.arguments.seed, "program": index, "request": item.request(grading), "answer": answer}
            (directory / f"{what}-{number:04}.json").write_text(json.dumps(content, indent=1) + "\n")

    def source(self, item):
        tests = item.tests()
        yield item.code.rstrip()
        yield "# tests"
        yield from tests.get("asserts") or [tests.get("source") or json.dumps(tests["cases"])]

    def work(self, native):
        while time.monotonic() < self.end and not self.broken:
            with self.lock:
                index, self.next = self.next, self.next + 1
            if self.arguments.programs and index >= self.arguments.first + self.arguments.programs:
                return
            try:
                self.try_item(index, native)
            except service.ServiceError as error:
                print(f"program {self.arguments.seed}:{index}: {error}", flush=True)
                with self.lock:
                    self.findings.append((("no verdict", str(error)[:100]), index))
                    self.counts["no verdict"] += 1
                self.pause(error)
            except Exception as error:
                self.broken = error
                raise

    def pause(self, error):
        """After a request without a verdict. Too many of these end the run."""
        time.sleep(0.5)
        if self.counts["no verdict"] > MAX_UNANSWERED:
            self.broken = error

    def run(self):
        begun = last = time.monotonic()
        threads = [threading.Thread(target=self.work, args=(native,), daemon=True) for native in self.natives]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                print(self.progress(last - begun), flush=True)
        for native in self.natives:
            native.process.stdin.close()
            native.process.wait()
        print()
        print(self.progress(time.monotonic() - begun))
        for what, count in sorted(self.counts.items()):
            print(f"  {what}: {count}")
        for reason, count in self.listed.most_common():
            print(f"  listed: {count}: {reason}")
        failed = len({shape for shape, _ in self.findings}) + bool(self.broken)
        return service.exit_code(self.counts["programs"], len({index for _, index in self.findings}), failed, self.broken)

    def progress(self, seconds):
        rate = self.counts["programs"] / max(seconds, 0.001)
        return f"{seconds:6.0f} s: {self.counts['programs']} programs, {self.counts['cases']} cases, {rate:.0f} programs/s; {len({shape for shape, _ in self.findings})} differences"


def main():
    parser = service.parser_of(__doc__, jobs=2, item="program", finding="difference")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that tells the truth (this one)")
    return Differential(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
