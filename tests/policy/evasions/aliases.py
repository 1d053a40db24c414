"""The thing under another name: by assignment of all kinds, through containers, parameters and closures, and back."""

#: assigned -> process
import os
run = os.system
run("id")

#: assigned_twice -> process
import os
a = os
b = a
b.system("id")

#: chained_assignment -> process
import os
a = b = c = os.system
c("id")

#: tuple_unpacking -> process
import os, math
f, g = math.sqrt, os.system
g("id")

#: starred_unpacking -> process
import os
first, *rest = [len, print, os.system]
rest[-1]("id")

#: nested_unpacking -> process
import os
(_, (x, y)) = (1, (os.getcwd, os.system))
y("id")

#: swapped -> process
import os
a, b = print, os.system
a, b = b, a
a("id")

#: walrus -> process
import os
(go := os.system)("id")

#: walrus_in_condition -> process
if (m := __import__("os")) and m.system("id"):
    pass

#: default_argument -> process
import os
def report(text, show=os.system):
    show(text)
report("id")

#: keyword_only_default -> process
import os
def report(text, *, show=os.popen):
    return show(text).read()
report("id")

#: passed_as_argument -> process
import os
def apply(f, x):
    return f(x)
apply(os.system, "id")

#: module_passed -> process
import os
def use(module):
    module.system("id")
use(os)

#: closure -> process
import os
def make():
    inner = os.system
    def call(command):
        return inner(command)
    return call
make()("id")

#: returned_module -> process
def tools():
    import os
    return os
tools().system("id")

#: lambda_body -> process
import os
show = lambda c: os.system(c)
show("id")

#: lambda_returns_module -> process
(lambda: __import__("os"))().system("id")

#: lambda_argument -> process
import os
(lambda m: m.system("id"))(os)

#: class_attribute -> process
import os
class Report:
    show = os.system
Report.show("id")

#: self_attribute -> process
import os
class Report:
    def __init__(self):
        self.tool = os
    def show(self):
        self.tool.system("id")
Report().show()

#: inherited_attribute -> process
import os
class Base:
    run = staticmethod(os.system)
class Derived(Base):
    pass
Derived().run("id")

#: subclass_of_popen -> process
import subprocess
class Job(subprocess.Popen):
    pass
Job(["id"])

#: list_item -> process
import os
tools = [print, os.system]
tools[1]("id")

#: dict_item_call -> process
import os
tools = {"show": print, "go": os.system}
tools["go"]("id")

#: dict_method_get -> process
import subprocess
{"a": subprocess.run}.get("a")(["id"])

#: tuple_index -> process
import os
(len, os.system)[1]("id")

#: conditional_expression -> process
import os
(os.system if len("a") else print)("id")

#: boolean_operator -> process
import os
(None or os.system)("id")

#: for_loop -> process
import os
for f in (os.getcwd, os.system):
    pass
f("id")

#: for_over_modules -> process
import math, os
for m in [math, os]:
    if hasattr(m, "system"):
        m.system("id")

#: comprehension -> process
import os
[f("id") for f in [os.system]]

#: generator_sent -> process
import os
def machine():
    f = yield
    yield f("id")
g = machine()
next(g)
g.send(os.system)

#: partial -> process
import functools, os
functools.partial(os.system, "id")()

#: partialmethod -> process
import functools, subprocess
class T:
    go = functools.partialmethod(lambda self, c: subprocess.run(c), ["id"])
T().go()

#: map_call -> process
import os
list(map(os.system, ["id"]))

#: starmap -> process
import itertools, os
list(itertools.starmap(os.system, [("id",)]))

#: decorator_returns_it -> process
import os
def replaced(f):
    return os.system
@replaced
def show(text):
    print(text)
show("id")

#: with_as -> process
import contextlib, os
with contextlib.nullcontext(os.system) as show:
    show("id")

#: except_as -> process
import os
try:
    raise ValueError(os.system)
except ValueError as e:
    e.args[0]("id")

#: match_capture -> process
import os
match [1, os.system]:
    case [_, f]:
        f("id")

#: match_attribute -> process
import os
match os:
    case object(system=f):
        f("id")

#: match_mapping -> process
import os
match vars(os):
    case {"system": f}:
        f("id")

#: globals_item -> process
import os
globals()["os"].system("id")

#: globals_stored -> process
import os
globals()["show"] = os.system
show("id")

#: locals_item -> process
import subprocess
locals()["subprocess"].run(["id"])

#: global_statement -> process
def load():
    global helper
    helper = __import__("os")
load()
helper.system("id")

#: nonlocal_rebound -> process
import os
def outer():
    f = print
    def swap():
        nonlocal f
        f = os.system
    swap()
    f("id")
outer()

#: deleted_name -> process
import os
keep = os
del os
keep.system("id")

#: rebound_innocent_name -> process
import math
math = __import__("os")
math.system("id")

#: shadowed_print -> process
from os import system as print
print("id")

#: shadowed_in_branch -> process
import os
class os2: system = print
tool = os2
if True:
    tool = os
tool.system("id")

#: attribute_of_function -> process
import os
def f(): ...
f.go = os.system
f.go("id")

#: builtin_under_other_name -> dynamic_code
calculate = eval
calculate("1 + 1")

#: open_under_other_name -> file_write
save = open
save("out.txt", "w").write("x")

#: environ_under_other_name -> environment
from os import environ as settings
print(settings["HOME"])

#: method_bound -> network
import socket
send = socket.socket().connect
send(("example.com", 80))

#: dataclass_default -> process
import dataclasses, os, typing
@dataclasses.dataclass
class Task:
    run: typing.Any = os.system
Task().run("id")

#: namedtuple_field -> process
import collections, os
Tool = collections.namedtuple("Tool", "name call")
Tool("x", os.system).call("id")

#: enum_member -> process
import enum, os
class Tool(enum.Enum):
    RUN = enum.member(os.system)
Tool.RUN.value("id")

#: contextvar -> process
import contextvars, os
held = contextvars.ContextVar("held", default=os.system)
held.get()("id")

#: queue_roundtrip -> process
import os, queue
q = queue.SimpleQueue()
q.put(os.system)
q.get()("id")

#: type_alias_value -> process
import os
type Tool = os.system
Tool.__value__("id")
