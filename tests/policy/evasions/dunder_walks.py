"""From any object to the interpreter's insides over names with two underscores."""

#: tuple_to_object -> introspection
print(().__class__.__base__.__subclasses__())

#: list_mro -> introspection
print([].__class__.__mro__[-1].__subclasses__())

#: bases_item -> introspection
print("".__class__.__bases__[0].__subclasses__())

#: type_mro_call -> introspection
print(type(0).mro()[-1].__subclasses__())

#: wrap_close_globals -> introspection, process
[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"][0].__init__.__globals__["system"]("id")

#: catch_warnings_module -> introspection, process
for c in object.__subclasses__():
    if c.__name__ == "catch_warnings":
        c()._module.sys.modules["os"].system("id")

#: popen_subclass -> introspection
for c in object.__subclasses__():
    if c.__name__ == "Popen":
        c(["id"])

#: builtin_importer_subclass -> introspection
for c in object.__subclasses__():
    if c.__name__ == "BuiltinImporter":
        c.load_module("posix")

#: function_globals -> introspection, process
import random
random.Random.seed.__globals__["_os"].system("id")

#: function_builtins -> introspection, process
(lambda: 0).__builtins__["__import__"]("os").system("id")

#: globals_builtins -> introspection, dynamic_code
def f(): ...
f.__globals__["__builtins__"].eval("1 + 1")

#: init_globals_of_library -> introspection, process
import shutil
shutil.copy.__globals__["os"].system("id")

#: method_func_globals -> introspection
import string
print(string.Formatter().format.__func__.__globals__["_string"])

#: builtins_self -> introspection, dynamic_code
print.__self__.eval("1 + 1")

#: builtins_of_len -> introspection, process
len.__self__.__import__("os").system("id")

#: builtins_name_item -> process
__builtins__.__dict__["__import__"]("os").system("id")

#: builtins_either_form -> process
b = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
b["__import__"]("os").system("id")

#: closure_cell -> introspection
def outer():
    secret = [1, 2, 3]
    return lambda: len(secret)
print(outer().__closure__[0].cell_contents)

#: code_constants -> introspection
def check(x): assert x == 42
print(check.__code__.co_consts)

#: code_names -> introspection
def check(x): return x.hidden
print(check.__code__.co_names)

#: defaults_changed -> introspection
def limit(n=10): return n
limit.__defaults__ = (10 ** 9,)

#: class_of_class_of_class -> introspection
print(''.__class__.__class__.__base__)

#: getattr_walk -> introspection
x = ()
for name in ("__class__", "__base__", "__subclasses__"):
    x = getattr(x, name)
print(x())

#: attrgetter_walk -> introspection
from operator import attrgetter
print(attrgetter("__class__.__base__.__subclasses__")(())())

#: reduce_ex_walk -> introspection
print(().__reduce_ex__(2)[0].__globals__["__builtins__"])

#: format_string_globals -> introspection
class User:
    def __init__(self): self.name = "a"
print("{u.__init__.__globals__[__name__]}".format(u=User()))

#: format_map_walk -> introspection
print("{x.__class__.__base__}".format_map({"x": 1}))

#: format_assembled -> introspection
print(("{0.__cla" + "ss__.__mro__}").format(1))

#: exception_walk -> introspection
try:
    1 / 0
except Exception as e:
    print(e.__class__.__base__.__subclasses__())

#: traceback_walk -> introspection
try:
    1 / 0
except Exception as e:
    print(e.__traceback__.tb_frame.f_globals["__builtins__"])

#: generator_walk -> introspection
print((x for x in ()).gi_frame.f_builtins["eval"])

#: super_walk -> introspection
class A:
    def up(self): return super().__thisclass__.__base__.__subclasses__()
A().up()

#: dict_of_type -> introspection
print(type.__dict__["__subclasses__"](object))

#: getattribute_dunder -> introspection
print(object.__getattribute__((), "__class__").__base__.__subclasses__())

#: wrapped_function -> introspection
import functools
@functools.wraps(print)
def f(): ...
print(f.__wrapped__.__self__.__dict__["exec"])

#: init_subclass_hook -> introspection
print(int.__init_subclass__.__self__.__base__.__subclasses__())

#: subclass_list_by_index -> introspection
print(().__class__.__base__.__subclasses__()[80].__init__)

#: match_walk -> introspection
match ():
    case object(__class__=c):
        print(c.__base__.__subclasses__())
