"""Source text to running code: the share of a short run that is not the program itself. Many small programs, as they
come; each is compiled and run once, so that the unspecialised interpreter counts as well."""

import ast
import io
import contextlib
import tokenize

PROGRAMS = [
    "print(sum(range(10)))\n",
    "x = 5\ny = x * 2 + 1\nprint(f'{x=} {y=}')\n",
    "def add(a, b):\n    return a + b\n\nassert add(2, 3) == 5\nassert add('a', 'b') == 'ab'\n",
    '''
from typing import List


def has_close_elements(numbers: List[float], threshold: float) -> bool:
    """Are any two of the numbers closer than the threshold?

    >>> has_close_elements([1.0, 2.0, 3.0], 0.5)
    False
    """
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i != j and abs(a - b) < threshold:
                return True
    return False


def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.05) == False
    assert candidate([], 1) == False


check(has_close_elements)
''',
    '''
import math
from collections import Counter


class Statistics:
    """Mean, median, mode of some numbers."""

    def __init__(self, values):
        self.values = sorted(values)

    def mean(self):
        return sum(self.values) / len(self.values)

    def median(self):
        n = len(self.values)
        middle = n // 2
        if n % 2:
            return self.values[middle]
        return (self.values[middle - 1] + self.values[middle]) / 2

    def mode(self):
        return Counter(self.values).most_common(1)[0][0]

    @property
    def deviation(self):
        mean = self.mean()
        return math.sqrt(sum((v - mean) ** 2 for v in self.values) / len(self.values))


numbers = Statistics([4, 8, 15, 16, 23, 42, 4])
print(numbers.mean(), numbers.median(), numbers.mode(), round(numbers.deviation, 3))
''',
    '''
def solve(lines):
    n, *rest = map(int, lines[0].split())
    result = []
    for line in lines[1 : n + 1]:
        try:
            a, op, b = line.split()
            if op == "+":
                result.append(int(a) + int(b))
            elif op == "-":
                result.append(int(a) - int(b))
            elif op == "*":
                result.append(int(a) * int(b))
            else:
                result.append(int(a) // int(b))
        except (ValueError, ZeroDivisionError) as error:
            result.append(type(error).__name__)
        finally:
            n -= 1
    return result


print(*solve(["4 x".replace("x", "1"), "1 + 2", "7 / 0", "3 * 9", "oops"]), sep="\\n")
''',
    '''
async def fetch(i):
    return i * 2

def numbers(limit=10, *, step=1, **options):
    with_index = {i: [j for j in range(i) if j % 2] for i in range(0, limit, step)}
    yield from with_index.items()
    lambda_value = (lambda a, *b, c=3: (a, b, c))(1, 2, 3, c=4)
    yield ("x", lambda_value) if lambda_value else None

match list(numbers(6, step=2, colour="red")):
    case [(0, []), *others] if others:
        found = others[-1]
    case {"a": 1, **rest}:
        found = rest
    case str() | int() as found:
        pass
    case _:
        found = None
while True:
    try:
        assert isinstance(found, tuple), "not a tuple"
        break
    except AssertionError:
        raise
    else:
        continue
global_value: int = 3 if found else -1
global_value += ~global_value & 0xFF | 1 << 4
del found
''',
]
EXPRESSIONS = [
    "1 + 2 * 3", "(a, b) = (1, 2)", "[i ** 2 for i in range(10) if i % 2 == 0]", "{'k': [1, 2, {'n': (None, True)}]}",
    "x if y else z", "not a and b or c", "f(a, *b, c=d, **e)", "a[1:2, ::3]", "'%s' % (a,) + f'{b!r:>{width}}'",
    "lambda x: (yield)", "a < b <= c != d is not e not in f", "print('hello')", "a @ b // c >> 3 ^ ~d",
]

for repetition in range(14):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for i, program in enumerate(PROGRAMS):
            code = compile(program, f"<program {i}>", "exec", dont_inherit=True)
            exec(code, {"__name__": "__main__"})
    assert out.getvalue().startswith("45\n")
    for expression in EXPRESSIONS:
        tree = ast.parse(expression)
        assert ast.unparse(tree) and ast.dump(tree)
    for program in PROGRAMS:
        tree = ast.parse(program)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert names is not None
    assert eval("sum(x * y for x, y in zip(a, b))", {"a": [1, 2], "b": [3, 4]}) == 11
    for broken in ("def f(:\n", "x = = 3", "if True\n  pass", "print 'x'", "(1, 2", "  bad"):
        try:
            compile(broken, "<broken>", "exec")
        except SyntaxError as error:
            assert error.lineno
for program in PROGRAMS:
    assert list(tokenize.generate_tokens(io.StringIO(program).readline))
