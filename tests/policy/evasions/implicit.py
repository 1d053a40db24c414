"""Calls that nobody writes: the interpreter or a library makes them, because of an operator, a protocol, a callback or
an annotation."""

#: decorator_calls -> process
import os
@os.system
@lambda f: "id"
def anything(): ...

#: class_decorator_calls -> process
import os
@os.system
@lambda c: "id"
class Anything: ...

#: class_getitem -> process
import os
class C:
    __class_getitem__ = os.system
C["id"]

#: operator_add -> process
import os
class Shell:
    def __add__(self, command):
        return os.system(command)
Shell() + "id"

#: operator_assigned -> process
import os
class Shell:
    __matmul__ = lambda self, command: os.system(command)
Shell() @ "id"

#: instance_getitem -> process
import os
class Shell:
    __getitem__ = staticmethod(os.system)
Shell()["id"]

#: metaclass_getattr -> process
import os
class Meta(type):
    def __getattr__(cls, name):
        return os.system(name)
class Shell(metaclass=Meta): ...
Shell.id

#: module_getattr -> process
import os, sys
__getattr__ = os.system
sys.modules[__name__].id

#: set_name -> process
import os
class Hook:
    def __set_name__(self, owner, name):
        os.system(name)
class C:
    id = Hook()

#: init_subclass -> process
import os
class Base:
    def __init_subclass__(cls, command):
        os.system(command)
class Derived(Base, command="id"): ...

#: metaclass_is_function -> process
import os
class C(metaclass=lambda name, bases, space: os.system(name)): ...

#: context_manager -> process
import os
class Shell:
    def __enter__(self): return os.system("id")
    def __exit__(self, *a): ...
with Shell(): ...

#: descriptor -> process
import os
class Shell:
    def __get__(self, instance, owner): return os.system("id")
class C:
    x = Shell()
C.x

#: property_lambda -> process
import os
class C:
    x = property(lambda self: os.system("id"))
C().x

#: iterator_protocol -> process
import os
class Shell:
    def __iter__(self):
        yield os.system("id")
[*Shell()]

#: iter_with_sentinel -> process
import functools, os
next(iter(functools.partial(os.system, "id"), None))

#: formatting -> process
import os
class Shell:
    def __format__(self, command): return str(os.system(command))
print(f"{Shell():id}")

#: conversion_to_text -> process
import os
class Shell:
    def __repr__(self): return str(os.system("id"))
print(Shell())

#: truth_value -> process
import os
class Shell:
    def __bool__(self): return os.system("id") == 0
if Shell(): ...

#: missing_key -> process
import os
class Shell(dict):
    def __missing__(self, command): return os.system(command)
Shell()["id"]

#: destructor -> process
import os
class Shell:
    def __del__(self): os.system("id")
Shell()

#: default_evaluated -> process
import os
def f(x=os.system("id")): ...

#: annotation_evaluated -> process
import os
def f(x: os.system("id")): ...

#: base_class_evaluated -> process
import os
class C(os.system("id") and object or object): ...

#: exception_expression -> process
import os
try:
    raise ValueError
except (os.system("id") and KeyError or ValueError):
    pass

#: assert_evaluated -> process
import os
assert os.system("id") == 0, "no"

#: fstring_evaluated -> process
import os
print(f"{os.system('id')}")

#: fstring_format_spec -> process
import os
print(f"{1:{os.system('id')}}")

#: fstring_debug -> process
import os
print(f"{os.system('id')=}")

#: lazy_type_alias -> process
type Lazy = __import__("os").system("id")
Lazy.__value__

#: lazy_type_bound -> process
def f[T: __import__("os").system("id")](): ...
f.__type_params__[0].__bound__

#: match_guard -> process
import os
match 1:
    case 1 if os.system("id") == 0: ...

#: sorted_key -> process
import os
sorted(["id"], key=os.system)

#: min_key -> process
import os
min("id", "id", key=os.system)

#: filter_call -> process
import os
any(filter(os.system, ["id"]))

#: reduce_call -> process
import functools, os
functools.reduce(lambda f, x: f(x), [os.system, "id"])

#: operator_call -> process
import operator, os
operator.call(os.system, "id")

#: defaultdict_factory -> process
import collections, os
collections.defaultdict(lambda: os.system("id"))["x"]

#: re_sub_callback -> process
import os, re
re.sub("id", lambda m: str(os.system(m[0])), "id")

#: json_object_hook -> process
import json, os
json.loads('{"c": "id"}', object_hook=lambda o: os.system(o["c"]))

#: json_default -> process
import json, os
json.dumps({1, 2}, default=lambda o: os.system("id"))

#: argparse_type -> process
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("x", type=os.system)
parser.parse_args(["id"])

#: thread_target -> process
import os, threading
threading.Thread(target=os.system, args=("id",)).start()

#: thread_subclass -> process
import os
from threading import Thread
class T(Thread):
    def run(self): os.system("id")
T().start()

#: thread_pool -> process
import os
from concurrent.futures import ThreadPoolExecutor
ThreadPoolExecutor().submit(os.system, "id")

#: low_level_thread -> process
import _thread, os
_thread.start_new_thread(os.system, ("id",))

#: asyncio_to_thread -> process
import asyncio, os
asyncio.run(asyncio.to_thread(os.system, "id"))

#: scheduler -> process
import os, sched
s = sched.scheduler()
s.enter(0, 0, os.system, ("id",))
s.run()

#: exit_stack -> process
import contextlib, os
with contextlib.ExitStack() as stack:
    stack.callback(os.system, "id")

#: finalizer -> process
import os, weakref
class C: ...
weakref.finalize(C(), os.system, "id")

#: signal_callback -> process
import os, signal
signal.signal(signal.SIGUSR1, lambda *a: os.system("id"))
signal.raise_signal(signal.SIGUSR1)

#: node_visitor -> process
import ast, os
class V(ast.NodeVisitor):
    def visit_Constant(self, node): os.system(node.value)
V().visit(ast.parse("'id'"))

#: dataclass_factory -> process
import dataclasses, os
@dataclasses.dataclass
class C:
    x: int = dataclasses.field(default_factory=lambda: os.system("id"))
C()

#: enum_missing -> process
import enum, os
class E(enum.Enum):
    A = 1
    @classmethod
    def _missing_(cls, value): return os.system(value)
E("id")

#: singledispatch -> process
import functools, os
show = functools.singledispatch(print)
show.register(str, os.system)
show("id")

#: cached_call -> process
import functools, os
functools.lru_cache(os.system)("id")

#: codec_registered -> process
import codecs, os
codecs.register(os.system)
try:
    codecs.lookup("id")
except TypeError: ...

#: copyreg_constructor -> process
import copy, copyreg, os
class C: ...
copyreg.pickle(C, lambda c: (os.system, ("id",)))
copy.copy(C())

#: warning_shown -> process
import os, warnings
warnings.showwarning = lambda message, *a: os.system(str(message))
warnings.warn("id")

#: logging_handler -> process
import logging, os
class H(logging.Handler):
    def emit(self, record): os.system(record.getMessage())
logging.getLogger().addHandler(H())
logging.error("id")

#: html_parser_callback -> process
import html.parser, os
class P(html.parser.HTMLParser):
    def handle_data(self, data): os.system(data)
P().feed("<p>id</p>")

#: sqlite_function -> process
import os, sqlite3
db = sqlite3.connect(":memory:")
db.create_function("go", 1, os.system)
db.execute("select go('id')").fetchall()

#: cmd_shell -> process
import cmd, os
class C(cmd.Cmd):
    do_run = lambda self, line: os.system(line)
C().onecmd("run id")

#: environ_as_getattr -> environment
import os
class Settings:
    __getattr__ = staticmethod(os.getenv)
print(Settings().HOME)
