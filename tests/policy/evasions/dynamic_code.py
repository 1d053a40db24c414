"""Code that is data first: text, trees, code objects and serialised objects that become programs."""

#: exec_of_import -> dynamic_code, process
exec("import os; os.system('id')")

#: eval_of_import -> dynamic_code, process
eval("__import__('os').system('id')")

#: exec_nested -> dynamic_code, process
exec("exec(\"import os; os.system('id')\")")

#: eval_of_exec -> dynamic_code, process
eval("exec('import subprocess\\nsubprocess.run([\"id\"])')")

#: exec_of_triple_quoted -> dynamic_code, network
exec("""
import socket
def send():
    socket.create_connection(("example.com", 80))
send()
""")

#: exec_into_namespace -> dynamic_code, process
space = {}
exec("from os import system as go", space)
space["go"]("id")

#: eval_compiled -> dynamic_code, process
eval(compile("__import__('os').system('id')", "<x>", "eval"))

#: exec_variable -> dynamic_code, process
source = "import os\n"
source += "os.system('id')\n"
exec(source)

#: exec_lines_joined -> dynamic_code, process
lines = ["import os", "os.system('id')"]
exec("\n".join(lines))

#: exec_bytes -> dynamic_code, process
exec(b"import os; os.system('id')")

#: exec_utf7 -> dynamic_code, process
exec(b"# coding: utf-7\nimport os+ADs os.system('id')")

#: exec_lambda -> dynamic_code, process
exec("(lambda: __import__('os').system('id'))()")

#: exec_as_decorator -> dynamic_code
@exec
@lambda f: "print('decorated')"
def anything(): ...

#: exec_mapped -> dynamic_code
list(map(exec, ["x = 1", "print(x)"]))

#: exec_in_thread -> dynamic_code
import threading
threading.Thread(target=exec, args=("print(1)",)).start()

#: exec_from_builtins_name -> dynamic_code
__builtins__.exec("print(1)")

#: exec_from_stdin -> dynamic_code
import sys
exec(sys.stdin.read())

#: exec_own_docstring -> dynamic_code, process
def f():
    "import os; os.system('id')"
exec(f.__doc__)

#: exec_comment_of_self -> dynamic_code
# print('from a comment')
exec(open(__file__).readline()[2:])

#: exec_name_of_class -> dynamic_code
exec(type("print(1)", (), {}).__name__)

#: type_with_methods -> process
import os
T = type("T", (), {"go": staticmethod(os.system)})
T.go("id")

#: type_with_base -> process
import subprocess
type("Job", (subprocess.Popen,), {})(["id"])

#: types_new_class -> process
import os, types
types.new_class("T", (), {}, lambda ns: ns.update(go=os.system)).go("id")

#: make_dataclass -> process
import dataclasses, os
dataclasses.make_dataclass("T", [], namespace={"go": staticmethod(os.system)}).go("id")

#: function_type -> dynamic_code
import types
types.FunctionType(compile("print(1)", "", "exec"), {})()

#: function_type_from_lambda -> dynamic_code
F = type(lambda: 0)
F((lambda: print(1)).__code__, globals())()

#: code_replaced -> dynamic_code
def a(): return 1
def b(): return 2
a.__code__ = b.__code__
print(a())

#: code_constants_replaced -> dynamic_code
def greet(): print("hello")
greet.__code__ = greet.__code__.replace(co_consts=(None, "patched"))
greet()

#: code_type_made -> dynamic_code
import types
def f(): return 1
c = f.__code__
types.CodeType(0, 0, 0, 0, 1, 3, b"\x97\x00S\x01", (None, 42), (), (), "f", "f", "f", 1, b"", b"", (), ())

#: module_type -> dynamic_code
import types
m = types.ModuleType("m")
exec("def go(): return 1", m.__dict__)
m.go()

#: code_interact -> dynamic_code
import code
code.interact(local={})

#: interactive_console -> dynamic_code, process
import code
code.InteractiveInterpreter().runsource("import os; os.system('id')")

#: codeop -> dynamic_code
import codeop
eval(codeop.compile_command("print(1)"))

#: timeit_statement -> dynamic_code, process
import timeit
timeit.timeit("os.system('id')", setup="import os", number=1)

#: timeit_timer -> dynamic_code
from timeit import Timer
Timer("print(1)").timeit(1)

#: pdb_run -> dynamic_code
import pdb
pdb.run("print(1)")

#: bdb_run -> dynamic_code
import bdb
bdb.Bdb().runeval("1 + 1")

#: breakpoint_call -> dynamic_code
breakpoint()

#: cprofile_run -> dynamic_code, process
import cProfile
cProfile.run("import os; os.system('id')")

#: trace_run -> dynamic_code
import trace
trace.Trace(count=0, trace=0).run("print(1)")

#: doctest_runs_docstring -> dynamic_code
import doctest
def f():
    """
    >>> import os; os.system('id')
    """
doctest.testmod()

#: doctest_script -> dynamic_code
import doctest
exec(doctest.script_from_examples(">>> print(1)\n1\n"))

#: ast_compiled -> dynamic_code, process
import ast
exec(compile(ast.parse("import os; os.system('id')"), "", "exec"))

#: ast_built -> dynamic_code
import ast
call = ast.Call(ast.Name("print", ast.Load()), [ast.Constant(1)], [])
eval(compile(ast.fix_missing_locations(ast.Expression(call)), "", "eval"))

#: marshal_code -> dynamic_code
import marshal
exec(marshal.loads(marshal.dumps(compile("print(1)", "", "exec"))))

#: pickle_reduce -> dynamic_code, process
import os, pickle
class P:
    def __reduce__(self):
        return os.system, ("id",)
pickle.loads(pickle.dumps(P()))

#: pickle_literal -> dynamic_code
import pickle
pickle.loads(b"cposix\nsystem\n(S'id'\ntR.")

#: pickle_base64 -> dynamic_code
import base64, pickle
pickle.loads(base64.b64decode("Y3Bvc2l4CnN5c3RlbQooUydpZCcKdFIu"))

#: pickle_unpickler -> dynamic_code
import io, pickle
pickle.Unpickler(io.BytesIO(b"cbuiltins\neval\n(S'1+1'\ntR.")).load()

#: c_pickle -> dynamic_code
import _pickle
_pickle.loads(b"cbuiltins\nprint\n(S'x'\ntR.")

#: shelve_load -> dynamic_code
import shelve
shelve.open("/tmp/given")["object"]

#: pickle_copy -> process
import copy, os
class P:
    def __reduce_ex__(self, protocol):
        return os.system, ("id",)
copy.copy(P())

#: formatter_attribute -> introspection
import string
string.Formatter().get_field("0.__class__.__mro__", ((),), {})

#: format_attribute -> introspection
class C:
    def __init__(self): ...
print("{0.__class__.__init__.__globals__}".format(C()))

#: eval_in_argument -> dynamic_code
import collections
collections.namedtuple("T", "a b", defaults=(eval("1"), 2))

#: typing_get_type_hints -> dynamic_code, process
import typing
def f(x: "__import__('os').system('id')"): ...
typing.get_type_hints(f)

#: forward_ref -> dynamic_code, process
import typing
class C:
    x: "__import__('os').system('id')"
typing.get_type_hints(C)

#: inspect_signature_eval -> dynamic_code, process
import inspect
def f(x: "__import__('os').system('id')"): ...
inspect.signature(f, eval_str=True)

#: gettext_plural -> dynamic_code
import gettext
gettext.c2py("n == 1")(1)

#: ctypes_py_run -> dynamic_code
import ctypes
ctypes.pythonapi.PyRun_SimpleString(b"print(1)")

#: testcapi_run -> dynamic_code
import _testcapi
_testcapi.run_in_subinterp("print(1)")

#: subinterpreter -> dynamic_code
import _interpreters
_interpreters.exec(_interpreters.create(), "print(1)")

#: py_compile_then_import -> dynamic_code, file_write
open("made.py", "w").write("print(1)")
import made

#: unpickler_of_shelve -> dynamic_code
import io, shelve
shelve.Unpickler(io.BytesIO(b"cbuiltins\nprint\n(S'x'\ntR.")).load()

#: logging_config_eval -> dynamic_code
import configparser, logging.config
c = configparser.ConfigParser()
c.read_string("[loggers]\nkeys=root\n[handlers]\nkeys=h\n[formatters]\nkeys=\n[logger_root]\nhandlers=h\n[handler_h]\nclass=StreamHandler\nargs=(print(1),)\n")
logging.config.fileConfig(c)
