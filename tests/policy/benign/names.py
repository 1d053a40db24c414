"""Own things that are called like dangerous ones, and talk about them."""

#: method_named_system
class Equations:
    def system(self, a, b):
        return [a, b]
print(Equations().system(1, 2))

#: method_named_eval
class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients
    def eval(self, x):
        return sum(c * x ** i for i, c in enumerate(self.coefficients))
print(Polynomial(1, 2, 3).eval(2))

#: method_named_exec
class Machine:
    def exec(self, instruction):
        return instruction.upper()
print(Machine().exec("push 1"))

#: method_named_open
class Door:
    def open(self, mode="w"):
        self.state = mode
door = Door()
door.open("w")

#: method_named_connect
class Graph:
    def __init__(self): self.edges = set()
    def connect(self, a, b): self.edges.add((a, b))
g = Graph()
g.connect("a", "b")

#: methods_named_like_processes
class Scheduler:
    def fork(self): return "fork"
    def kill(self, task): return task
    def popen(self): return 0
    def run(self, args): return args
print(Scheduler().kill("task"), Scheduler().run(["id"]))

#: own_compile
import re
def compile(source):
    return re.split(r"\s+", source)
print(compile("push 1"))

#: own_eval_function
def evaluate(tokens):
    stack = []
    for token in tokens:
        stack.append(int(token) if token.isdigit() else stack.pop() + stack.pop())
    return stack[0]
eval_result = evaluate("1 2 +".split())

#: variable_named_os
os = {"name": "linux", "system": "v6"}
print(os["system"], os.get("environ"))

#: variable_named_subprocess
subprocess = ["wash", "dry"]
for run in subprocess:
    print(run)

#: variable_named_socket
class Light:
    def connect(self, socket):
        return f"plugged into {socket}"
socket = "wall socket"
print(Light().connect(socket))

#: variable_named_environ
environ = {"HOME": "/home/ada"}
print(environ["HOME"])

#: variables_named_like_builtins
input, exec, eval = 1, 2, 3
print(input + exec + eval)

#: parameter_named_open
def candle(open, high, low, close):
    return close > open
print(candle(open=1, high=3, low=0, close=2))

#: dataframe_like_eval
class Frame(dict):
    def eval(self, expression):
        left, right = expression.split(" + ")
        return [a + b for a, b in zip(self[left], self[right])]
    def query(self, text): return text
df = Frame(a=[1], b=[2])
print(df.eval("a + b"), df.query("a > 1"))

#: regex_compile
import re
pattern = re.compile(r"^\s*(\w+)\s*=\s*(.*)$")
print(pattern.match("a = 1").groups())

#: docstring_about_os_system
def add(a, b):
    """Adds. Unlike os.system("rm x") or eval(), this has no effect on anything; see subprocess.run."""
    return a + b
print(add(1, 2))

#: comment_about_exec
# do not use exec() or __import__("os") here: open(path, "w") would be refused
x = 1

#: string_about_builtins
message = "Names like __globals__ and __subclasses__ are not allowed"
print(message)

#: keyword_argument_named_shell
def cook(name, shell=False, env=None):
    return name, shell, env
print(cook("egg", shell=True))

#: enum_of_commands
import enum
class Command(enum.Enum):
    SYSTEM = "system"
    EXEC = "exec"
    POPEN = "popen"
print(Command("exec").name)

#: dictionary_with_dangerous_keys
menu = {"system": print, "open": len, "eval": sum}
print(menu["eval"]([1, 2]))

#: test_named_socket
class SocketTest:
    def bind(self, name): return name
    def listen(self): return []
    def accept(self): return None
    def send(self, text): return len(text)
print(SocketTest().send("x"))

#: greek_identifiers
import math
π = math.pi
Δx, λ = 0.1, 2.0
print(π * Δx / λ)

#: accented_identifiers
größe = 3
año = 2024
été = größe + año
print(été)

#: chinese_and_japanese_identifiers
数 = [1, 2, 3]
合計 = sum(数)
print(合計)

#: cyrillic_program
def сумма(числа):
    итог = 0
    for число in числа:
        итог += число
    return итог
print(сумма([1, 2]))
