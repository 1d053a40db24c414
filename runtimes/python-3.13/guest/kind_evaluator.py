"""A function that scores an output: the one case passes if the function says so.

Interfaces, by the name and the parameters of the function (`auto` tells them apart):

    v1          evaluate(app_params, inputs, output, correct_answer)      Agenta's first
    v2, v3      evaluate(inputs, outputs, trace)                          Agenta's
    testcase    evaluate(testcase, inputs, outputs, trace)
    get_assert  get_assert(output, context)                               promptfoo's `python` assertion; an expression
                                                                          or a function's body does, too

A function all of whose parameters have names from this table gets them by name, and may leave out what it has no use
for. What it may return:

    bool        passed or not: the score is 1 or 0
    number      the score: it passes at `threshold`, by default 0.5; with get_assert without threshold above 0
    dict        or an object with such attributes: score, and success, pass or pass_; reason; named_scores and
                component_results, in camel case, too. A threshold that the request names must be reached as well
                as success. Further numbers count as named scores.
    str         JSON of one of these, for v1 and get_assert only

With v3 it may return any JSON value, as with Agenta, and the evaluation has that as `value`. The numbers of a dict are
named scores. A value that is no bool and no number and has neither score nor success is a measurement, which passes.

Scalars of numpy count as what they stand for. Anything else, and a score that is no finite number, is an error."""

import ast
import asyncio
import dataclasses
import inspect
import json
import math
import re
import sys
import types

import _proofbox
import _proofbox_grading as grading
import _proofbox_report as report

FILE = "/evaluator.py"
THRESHOLD = 0.5
# Results within results, and how many of them are told.
COMPONENTS_DEPTH = 8
COMPONENTS_LIMIT = 1000
# Depth and number of the values of a JSON value.
JSON_DEPTH = 100
JSON_LIMIT = 100_000

INTERFACES = {
    "v1": ("app_params", "inputs", "output", "correct_answer"),
    "v2": ("inputs", "outputs", "trace"),
    "v3": ("inputs", "outputs", "trace"),
    "testcase": ("testcase", "inputs", "outputs", "trace"),
    "get_assert": ("output", "context"),
}
PARAMETERS = frozenset(name for names in INTERFACES.values() for name in names)
PASS_KEYS = ("success", "pass", "pass_", "passed")
NUMPY_SCALARS = "bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


class EvaluatorError(Exception):
    """The source holds no evaluator, or what it returned is no result."""


class Evaluator:
    def __init__(self, request):
        self.source = request["source"]
        self.interface = request.get("interface") or "auto"
        self.threshold = request.get("threshold")
        self.module = request.get("module") or "solution"
        self.arguments = _arguments(request)
        self.names = ["evaluate"]

    def run(self, candidate, cases):
        cases.plan(self.names)
        cases.begin(0)
        evaluation = error = None
        try:
            with grading.Imports(self.module) as imports:
                imports.provide(candidate)
                evaluation = self._evaluate()
        except BaseException as caught:
            error = caught
        if evaluation is not None and candidate.gone() is None:
            _proofbox.post(("evaluation", evaluation))
            if not evaluation["passed"]:
                error = AssertionError(evaluation["reason"] or f"the score is {evaluation['score']:g}")
        return 1 if cases.end(error) else 0

    def _evaluate(self):
        function, interface = self._function()
        names = INTERFACES[interface]
        parameters = _parameters(function)
        if parameters is None:
            result = function(**self.arguments)
        elif parameters <= PARAMETERS:
            result = function(**{name: self.arguments[name] for name in parameters})
        else:
            result = function(*(self.arguments[name] for name in names))
        if type(result) is types.CoroutineType:
            result = asyncio.run(result)
        if type(result) is str and interface in ("v1", "get_assert"):
            result = _read(result)
        reading = Reading(interface, self.threshold)
        return {"interface": interface, **(reading.json(result) if interface == "v3" else reading.result(result))}

    def _function(self):
        source = grading.text(self.source)
        grading.quotable(FILE, source)
        if self.interface in ("auto", "get_assert"):
            source = _with_function(source)
        module = sys.modules["evaluator"] = types.ModuleType("evaluator")
        try:
            exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
        finally:
            del sys.modules["evaluator"]
        wanted = {"auto": ("evaluate", "get_assert"), "get_assert": ("get_assert",)}.get(self.interface, ("evaluate",))
        for name in wanted:
            function = module.__dict__.get(name)
            if callable(function):
                return function, self._interface_of(name, function)
        raise EvaluatorError(f"the source defines no function {' or '.join(wanted)}")

    def _interface_of(self, name, function):
        if self.interface != "auto":
            return self.interface
        if name == "get_assert":
            return "get_assert"
        parameters = _parameters(function) or set()
        if "testcase" in parameters:
            return "testcase"
        if parameters & {"output", "correct_answer"} and "outputs" not in parameters:
            return "get_assert" if "context" in parameters else "v1"
        if parameters <= PARAMETERS:
            return "v2"
        return {4: "v1", 3: "v2", 2: "get_assert"}.get(len(parameters), "v2")


def _arguments(request):
    """Returns the arguments that the function may ask for. What the request leaves out is taken from where else it may
    be."""
    given = {name: request[name] for name in (*PARAMETERS, "context") if request.get(name) is not None}
    testcase = given.get("testcase", given.get("inputs", {}))
    inputs = given.get("inputs", testcase)
    output = given.get("output", given.get("outputs"))
    answer = next((of["correct_answer"] for of in (inputs, testcase) if type(of) is dict and "correct_answer" in of), None)
    trace = given.get("trace")
    return {
        "app_params": {},
        "inputs": inputs,
        "output": output,
        "outputs": given.get("outputs", output),
        "correct_answer": answer,
        "testcase": testcase,
        "trace": trace,
        "context": {"prompt": None, "vars": inputs, "test": {"vars": inputs}, "config": {}, "trace": trace},
        **given,
    }


def _parameters(function):
    """Names of the function's parameters, or None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    if any(parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) for parameter in parameters):
        return {"(by position)", *(parameter.name for parameter in parameters)}
    # One that has a default and a name of its own is none of ours to give.
    return {p.name for p in parameters if p.name in PARAMETERS or p.default is p.empty}


def _with_function(source):
    """promptfoo takes an expression, or the body of a function of output and context, for the function itself."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    returns = any(isinstance(node, ast.Return) for statement in tree.body for node in _own_nodes(statement))
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        body = [ast.copy_location(ast.Return(tree.body[0].value), tree.body[0])]
    elif returns:
        body = tree.body
    else:
        return source
    template = ast.parse("import json, math, re\ndef get_assert(output, context): pass")
    template.body[1].body = body
    return template


def _own_nodes(node):
    """The node and all within it that is not in a function or class of its own."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)


def _read(text):
    """A result that was put into text, or the text if it is none."""
    try:
        return json.loads({"True": "true", "False": "false"}.get(text.strip(), text))
    except ValueError:
        return text


class Reading:
    """Makes plain data of what an evaluator has returned. Only values of exact builtin types are believed: one that
    comes from the candidate may be of a class that says what it likes."""

    def __init__(self, interface, threshold):
        self.threshold = None if threshold is None else _number(threshold, "threshold")
        # The lowest score that passes, where nothing else says so; None: all above 0.
        self.lowest = (None if interface == "get_assert" else THRESHOLD) if threshold is None else self.threshold
        self.components = 0

    def json(self, value):
        """The evaluation of any JSON value."""
        value = _json(value, [JSON_LIMIT])
        if value is None:
            raise EvaluatorError("an evaluator returns a value, and this one returned None")
        if type(value) in (bool, int, float):
            return {**self.result(value), "value": value}
        fields = value if type(value) is dict else {}
        says = {key: field for key, field in fields.items() if key not in PASS_KEYS or type(field) is bool}
        if type(says.get("score")) not in (int, float):
            says.pop("score", None)
        if says.keys() & {"score", *PASS_KEYS}:
            return {**self._fields(says, 0), "value": value}
        if self.threshold is not None:
            raise EvaluatorError("there is a threshold, and the result has no score")
        reason = fields.get("reason")
        reason = report.text_of(reason) if type(reason) is str else None
        return {**_evaluation(None, True, reason, dict(_numbers(fields))), "value": value}

    def result(self, value, depth=0):
        value = _plain(value)
        if type(value) is bool:
            return _evaluation(1.0 if value else 0.0, value, None if value else "the evaluator returned False")
        if type(value) in (int, float):
            score = _number(value, "score")
            passed = self._passes(score)
            return _evaluation(score, passed, None if passed else self._too_low(score))
        fields = _fields(value)
        if fields is None:
            raise EvaluatorError(f"an evaluator returns a bool, a number or a result, and this one returned {_shown(value)}")
        return self._fields(fields, depth)

    def _fields(self, fields, depth):
        given = next((key for key in PASS_KEYS if key in fields), None)
        passed = _plain(fields.get(given))
        if given is not None and type(passed) is not bool:
            raise EvaluatorError(f"{given!r} of the result is True or False, and this is {_shown(passed)}")
        score = fields.get("score")
        if score is None and given is None:
            told = ", ".join(repr(key) for key in list(fields)[:20] if type(key) is str) or "nothing"
            raise EvaluatorError(f"the result has neither 'score' nor 'success', but {told}")
        score = (1.0 if passed else 0.0) if score is None else _number(score, "score")
        reason = fields.get("reason")
        reason = report.text_of(reason) if type(reason) is str else None if reason is None else _shown(reason)
        if given is None:
            passed = self._passes(score)
        if self.threshold is not None and depth == 0 and score < self.threshold:
            passed = False
            reason = self._too_low(score) + (f": {reason}" if reason else "")
        named = _either(fields, "named_scores", "namedScores")
        named = dict(_numbers(named if type(named) is dict else {}))
        known = {"score", "reason", *PASS_KEYS}
        named.update(_numbers({key: number for key, number in fields.items() if key not in known}))
        return _evaluation(score, passed, reason, named, self._components(fields, depth))

    def _components(self, fields, depth):
        components = _either(fields, "component_results", "componentResults")
        out = []
        if type(components) in (list, tuple) and depth < COMPONENTS_DEPTH:
            for component in components:
                self.components += 1
                if self.components > COMPONENTS_LIMIT:
                    break
                out.append(self.result(component, depth + 1))
        return out

    def _passes(self, score):
        return score > 0 if self.lowest is None else score >= self.lowest

    def _too_low(self, score):
        return f"the score is {score:g}" if self.lowest is None else f"the score {score:g} is below the threshold {self.lowest:g}"


def _evaluation(score, passed, reason=None, named_scores=None, component_results=None):
    return {
        "score": score,
        "passed": passed,
        "reason": reason,
        "named_scores": named_scores or {},
        "component_results": component_results or [],
    }


def _fields(value):
    """The result's fields as a dict, or None if it is none."""
    if isinstance(value, dict):
        fields = {key: field for key, field in dict.items(value) if type(key) is str}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        fields = dict(zip(type(value)._fields, tuple.__iter__(value)))
    else:
        try:
            fields = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return None
        if type(fields) is not dict or not fields.keys() & {"score", *PASS_KEYS}:
            return None
    return fields


def _plain(value):
    """The value, or what it stands for if it is a scalar of numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and any(type(value) is getattr(numpy, name, None) for name in NUMPY_SCALARS):
        return type(value).item(value)
    return value


def _json(value, room, depth=0):
    """The value as JSON has it, of exact builtin types; `room` holds how many values there may be yet."""
    value = _plain(value)
    room[0] -= 1
    if room[0] < 0 or depth > JSON_DEPTH:
        raise EvaluatorError(f"a result has at most {JSON_LIMIT} values, {JSON_DEPTH} deep")
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is float:
        return _number(value, "value")
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        keys = {str(key) if type(key) is int else key: field for key, field in dict.items(value)}
        if any(type(key) is not str for key in keys):
            raise EvaluatorError("the keys of a result are texts")
        return {key: _json(field, room, depth + 1) for key, field in keys.items()}
    for kind in (list, tuple):
        if isinstance(value, kind):
            return [_json(item, room, depth + 1) for item in kind.__iter__(value)]
    raise EvaluatorError(f"a result is a JSON value, and this has {_shown(value)}")


def _number(value, what):
    value = _plain(value)
    if type(value) not in (int, float, bool):
        raise EvaluatorError(f"the {what} is a number, and this is {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EvaluatorError(f"the {what} is a finite number, and this is {number}")
    return number


def _numbers(fields):
    for name, value in list(fields.items())[:COMPONENTS_LIMIT]:
        if type(name) is str and type(_plain(value)) in (int, float, bool):
            yield name, _number(value, f"score {name!r}")


def _either(fields, snake, camel):
    value = fields.get(snake)
    return fields.get(camel) if value is None else value


def _shown(value):
    """The value for an error message, without asking objects that are not plain."""
    if type(value) in (str, int, float, bool, type(None), bytes):
        text = re.sub(r"\s+", " ", repr(value))
        return text if len(text) <= 100 else text[:100] + "…"
    return f"an object of type {type(value).__name__}"
