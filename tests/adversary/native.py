"""Runs small tests in the interpreter that runs this file, each item in a forked child: the truth that differential.py
compares with. One JSON object per line in, one out. Started by differential.py.

    {"op": "evaluate", "code": ..., "expressions": [[statements, expression], ...]}  ->  [["value", repr] | ["raises", name] | null, ...]
    {"op": "run", "code": ..., "tests": {...}}                                       ->  ["passed" | "failed" | "error", ...]
"""

import contextlib
import io
import json
import os
import select
import signal
import sys
import tempfile
import types

SECONDS = 20
MODULE = "solution"


def load(code, name=MODULE):
    module = types.ModuleType(name)
    module.__file__ = "/solution.py"
    sys.modules[MODULE] = sys.modules[name] = module
    exec(compile(code, "/solution.py", "exec", dont_inherit=True), module.__dict__)
    return module


def status(function):
    try:
        function()
    except AssertionError:
        return "failed"
    except BaseException as error:
        return "failed" if type(error).__name__ == "Failed" and type(error).__module__ == "_pytest.outcomes" else "error"
    return "passed"


def evaluate(item):
    found = []
    module = load(item["code"])
    for statements, expression in item["expressions"]:
        namespace = dict(module.__dict__)
        try:
            exec(statements, namespace)
            value = eval(expression, namespace)
            text = repr(value)
            found.append(["value", text] if is_plain(value) and eval(text) == value else None)
        except BaseException as error:
            found.append(["raises", type(error).__name__])
    return found


def is_plain(value, depth=0):
    if value is None or type(value) in (int, float, str, bool, bytes):
        return value == value and value not in (float("inf"), float("-inf"))
    if type(value) in (list, tuple, set, frozenset):
        return depth < 6 and all(is_plain(each, depth + 1) for each in value)
    return type(value) is dict and depth < 6 and all(is_plain(each, depth + 1) for pair in value.items() for each in pair)


def run(item):
    tests = item["tests"]
    return KINDS[tests["kind"]](item["code"], tests)


def run_asserts(code, tests):
    module = load(code, "__main__")
    namespace = dict(module.__dict__)
    exec(tests.get("setup", ""), namespace)
    return [status(lambda: exec(source, namespace)) for source in tests["asserts"]]


def run_check(code, tests):
    """Runs each statement of `check` as a case of its own; none here leaves names that a later one needs."""
    import ast

    module = load(code, "__main__")
    tree = ast.parse(tests["source"])
    check = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    found = []
    for statement in check.body:
        one = ast.parse("def check(candidate):\n    pass\n")
        one.body[0].body = [statement]
        namespace = dict(module.__dict__)
        exec(compile(ast.fix_missing_locations(one), "/tests.py", "exec"), namespace)
        found.append(status(lambda: namespace["check"](namespace[tests["entry_point"]])))
    return found


def run_unittest(code, tests):
    import unittest

    load(code)
    namespace = {"__name__": "tests"}
    exec(tests["source"], namespace)
    case = next(each for each in namespace.values() if isinstance(each, type) and issubclass(each, unittest.TestCase))
    found = []
    for name in sorted(name for name in dir(case) if name.startswith("test")):
        result = unittest.TestResult()
        case(name).run(result)
        found.append("failed" if result.failures else "error" if result.errors else "passed")
    return found


def run_pytest(code, tests):
    import pytest

    load(code)
    found = {}

    class Collector:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            yield
            if call.excinfo is not None and found.get(item.name) != "error":
                found[item.name] = "failed" if call.excinfo.errisinstance((AssertionError, pytest.fail.Exception)) else "error"
            else:
                found.setdefault(item.name, "passed")

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, f"test_{os.getpid()}.py")
        with open(path, "w") as file:
            file.write(tests["source"])
        pytest.main([path, "-q", "-p", "no:cacheprovider", "--rootdir", directory, "-c", os.devnull], plugins=[Collector()])
    return [found[name] for name in found]


def run_script(code, tests):
    module = load(code, "__main__")
    return [status(lambda: exec(tests["source"], dict(module.__dict__)))]


def run_evaluator(code, tests):
    load(code)
    namespace = {"__name__": "tests"}
    exec(tests["source"], namespace)
    passed = []
    found = status(lambda: passed.append(namespace["get_assert"]("", {})))
    return [found if found != "passed" or passed[0] is True else "failed"]


def run_calls(code, tests):
    module = load(code, "__main__")
    found = []
    for case in tests["cases"]:
        try:
            value = module.__dict__[tests["entry_point"]](*(plain(each) for each in case["args"]))
        except Exception as error:
            names = [each.__name__ for each in type(error).__mro__]
            found.append("passed" if case.get("raises") in names else "failed" if isinstance(error, AssertionError) else "error")
            continue
        if "raises" in case:
            found.append("failed")
        else:
            found.append("passed" if same(plain(case["expected"]), value) else "failed")
    return found


def same(expected, value):
    """Compares as the host does: an expected list equals a tuple as well."""
    if type(expected) is list:
        return type(value) in (list, tuple) and len(value) == len(expected) and all(map(same, expected, value))
    if type(expected) is tuple:
        return type(value) is tuple and len(value) == len(expected) and all(map(same, expected, value))
    if type(expected) is dict:
        return type(value) is dict and value.keys() == expected.keys() and all(same(expected[key], value[key]) for key in expected)
    return is_plain(value) and expected == value


def plain(value):
    """The value that tagged JSON stands for."""
    if type(value) is list:
        return [plain(each) for each in value]
    if type(value) is not dict:
        return value
    if "$type" not in value:
        return {key: plain(each) for key, each in value.items()}
    if value["$type"] == "dict":
        return {plain(key): plain(each) for key, each in value["items"]}
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[value["$type"]](plain(each) for each in value["items"])


KINDS = {
    "asserts": run_asserts, "check_function": run_check, "unittest": run_unittest, "pytest": run_pytest, "script": run_script,
    "evaluator": run_evaluator, "function_cases": run_calls,
}  # fmt: skip


def forked(item):
    """The answer of a child, or what kept it from giving one."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        sink = io.StringIO()
        try:
            with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
                answer = {"answer": evaluate(item) if item["op"] == "evaluate" else run(item)}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(write, "w") as file:
            file.write(json.dumps(answer))
        os._exit(0)
    os.close(write)
    text = b""
    while select.select([read], [], [], SECONDS)[0]:
        piece = os.read(read, 1 << 16)
        text += piece
        if not piece:
            break
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return {"error": "no answer in time"}


def main():
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        import pytest  # noqa: F401: loaded once, not in each child
    except ImportError:
        del KINDS["pytest"]
    import unittest  # noqa: F401

    print(json.dumps({"kinds": list(KINDS), "version": list(sys.version_info[:3])}), flush=True)
    for line in sys.stdin:
        print(json.dumps(forked(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
