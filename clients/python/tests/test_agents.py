"""The same agents through our executor, smolagents' own E2BExecutor (unmodified, against the same service), and its
LocalPythonExecutor as a third opinion: same answers, same steps that fail."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from scripted_agent import Broken, Till, agent_with, area, longest, steps_of
from smolagents import E2BExecutor, LocalPythonExecutor
from smolagents.agent_types import AgentType
from smolagents.monitoring import AgentLogger, LogLevel

import proofbox
from proofbox.smolagents import ProofboxExecutor

MakeExecutor = Callable[[Sequence[str]], Any]


def ours(url: str) -> MakeExecutor:
    return lambda imports: ProofboxExecutor(imports, url=url)


def e2b(_: str) -> MakeExecutor:
    return lambda imports: E2BExecutor(list(imports), AgentLogger(level=LogLevel.OFF))


def local(_: str) -> MakeExecutor:
    return lambda imports: LocalPythonExecutor(list(imports))


@pytest.fixture(params=[ours, e2b, local], ids=["proofbox", "e2b", "local"])
def make_executor(request: pytest.FixtureRequest, url: str, e2b_environment: None) -> Iterator[MakeExecutor]:
    """Makes executors of one kind; they are cleaned up at the end."""
    made: list[Any] = []
    make = request.param(url)

    def kept(imports: Sequence[str] = ()) -> Any:
        made.append(make(imports))
        return made[-1]

    yield kept
    for executor in made:
        if hasattr(executor, "cleanup"):
            executor.cleanup()


@dataclasses.dataclass
class Run:
    """An agent's run: what it does, and what must come of it."""

    name: str
    steps: list[str]
    answer: Any
    tools: list[Callable[[], Any]] = dataclasses.field(default_factory=list)
    imports: list[str] = dataclasses.field(default_factory=list)
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    # By step: a word of the error, or None for a step that works.
    errors: list[str | None] = dataclasses.field(default_factory=list)
    # By step: what must be in its observations.
    logs: dict[int, list[str]] = dataclasses.field(default_factory=dict)


RUNS = [
    Run(
        "state lives between steps",
        [
            "import math\nnumbers = [3, 4]\ndef hypotenuse(a, b):\n    return math.sqrt(a * a + b * b)",
            "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\npair = Pair(*numbers)",
            "numbers.append(hypotenuse(pair.a, pair.b))",
            "final_answer(numbers)",
        ],
        [3, 4, 5.0],
    ),
    Run(
        "tools with arguments",
        [
            "a = area(3.0)\nb = area(width=2.0, height=5.0)\nprint(a, b)",
            "w = longest(['a', 'bbb', 'ccc'], least=2)",
            "final_answer({'areas': [a, b], 'longest': w})",
        ],
        {"areas": [6.0, 10.0], "longest": {"words": ["bbb", "ccc"], "length": 3}},
        tools=[lambda: area, lambda: longest],
        logs={0: ["6.0 10.0"]},
    ),
    Run(
        "a tool keeps its state",
        ["till(3)", "first = till(4)", "final_answer([first, till(amount=5)])"],
        [7, 12],
        tools=[Till],
    ),
    Run(
        "a tool that fails is an error of the step",
        ["broken('bread')", "try:\n    broken('milk')\nexcept Exception:\n    word = 'none'", "final_answer(word)"],
        "none",
        tools=[Broken],
        errors=["no bread here", None, None],
    ),
    Run(
        "an error, and what was done before it",
        [
            "total = 5\ntotal = total + 1\nbad = 1 / 0\ntotal = 100",
            "print('total is', total)",
            "try:\n    value = int('k')\nexcept ValueError:\n    value = 'missing'",
            "final_answer([total, value])",
        ],
        [6, "missing"],
        errors=["ZeroDivisionError", None, None, None],
        logs={1: ["total is 6"]},
    ),
    Run(
        "a name that is not there",
        ["print(undefined_name)", "undefined_name = 3", "final_answer(undefined_name)"],
        3,
        errors=["undefined_name", None, None],
    ),
    Run(
        "syntax that is wrong",
        ["def broken(:\n    pass", "final_answer('recovered')"],
        "recovered",
        errors=["yntax", None],
    ),
    Run(
        "an exception of its own",
        [
            "class TooCold(Exception):\n    pass\ndef check(degrees):\n    if degrees < 0:\n"
            "        raise TooCold(f'{degrees} degrees')\ncheck(-5)",
            "try:\n    check(-1)\nexcept TooCold as error:\n    said = str(error)",
            "final_answer(said)",
        ],
        "-1 degrees",
        errors=["-5 degrees", None, None],
    ),
    Run(
        "prints are logs",
        ["for n in range(3):\n    print('line', n)\nprint('é 😀')", "print('a', 'b')\nfinal_answer(None)"],
        None,
        logs={0: ["line 0\nline 1\nline 2\n", "é 😀"], 1: ["a b"]},
    ),
    Run(
        "a step that works shows its last value",
        ["x = 20\nx + 22", "final_answer(x)"],
        20,
        logs={0: ["42"]},
    ),
    Run(
        "additional imports",
        [
            "import json, statistics\nfrom collections import Counter\nimport itertools",
            "data = json.loads('[1, 2, 2, 3]')",
            "final_answer([statistics.mean(data), Counter(data)[2], list(itertools.accumulate(data))])",
        ],
        [2, 2, [1, 3, 5, 8]],
        imports=["json", "statistics"],
    ),
    Run(
        "variables that the agent is given",
        [
            "print(sorted(prices))\ntotal = sum(prices.values())",
            "note['more'] = [when.year, tags]\nfinal_answer([total, note, blob])",
        ],
        [3.5, {"text": "é", "more": [2026, ("a", "b")]}, b"\x00\xff"],
        arguments={
            "prices": {"tea": 1.0, "cake": 2.5},
            "note": {"text": "é"},
            "when": datetime.datetime(2026, 1, 2),
            "tags": ("a", "b"),
            "blob": b"\x00\xff",
        },
        logs={0: ["['cake', 'tea']"]},
    ),
    Run(
        "a final answer from inside a function, a loop and a handler",
        [
            "def search(limit):\n    for n in range(limit):\n        try:\n            if n == 7:\n"
            "                final_answer(n)\n        except Exception:\n            print('swallowed')\nsearch(100)"
        ],
        7,
    ),
    Run(
        "what comes after the final answer is not run",
        ["print('before')\nfinal_answer('first')\nprint('after')"],
        "first",
        logs={0: ["before"]},
    ),
    Run(
        "a final answer as a keyword",
        ["final_answer(answer='named')"],
        "named",
    ),
    Run(
        "a variable named final_answer does no harm",
        ["final_answer = 3 + 4\nfinal_answer(final_answer)"],
        7,
    ),
]

DEEP: Any = "leaf"
for _level in range(30):
    DEEP = {"level": [DEEP]}

# Expressions that all three can evaluate, and what they give.
ANSWERS: list[tuple[str, Any]] = [
    ("None", None),
    ("True", True),
    ("'text with é, 😀, \"quotes\", \\\\ and \\n lines'", 'text with é, 😀, "quotes", \\ and \n lines'),
    ("''", ""),
    ("42", 42),
    ("-(2**100)", -(2**100)),
    ("2.5", 2.5),
    ("1e300", 1e300),
    ("[1, 'a', None]", [1, "a", None]),
    ("{'b': 1, 'a': [2]}", {"b": 1, "a": [2]}),
    ("{1: 'one', (2, 3): 'pair', None: 'none'}", {1: "one", (2, 3): "pair", None: "none"}),
    ("[(1, 2), {3, 4}, {'k': (5,)}]", [(1, 2), {3, 4}, {"k": (5,)}]),
    ("(1, (2, 3))", (1, (2, 3))),
    ("{'x', 'y'}", {"x", "y"}),
    ("frozenset([1, 2])", frozenset([1, 2])),
    ("b'\\x00\\xff' * 3", b"\x00\xff" * 3),
    ("complex(1, -2)", complex(1, -2)),
    ("datetime.datetime(2026, 1, 2, 3, 4, 5)", datetime.datetime(2026, 1, 2, 3, 4, 5)),
    (
        "datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)",
        datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
    ),
    ("datetime.date(2026, 1, 2)", datetime.date(2026, 1, 2)),
    ("datetime.time(3, 4)", datetime.time(3, 4)),
    ("datetime.timedelta(days=1, seconds=2)", datetime.timedelta(days=1, seconds=2)),
    ("decimal.Decimal('1.10')", decimal.Decimal("1.10")),
    ("pathlib.PurePosixPath('a/b')", pathlib.PurePosixPath("a/b")),
    ("{'__type__': 'set', 'data': [1]}", {"__type__": "set", "data": [1]}),
    ("{'$type': 'set', 'items': [1]}", {"$type": "set", "items": [1]}),
    ("{'type': 'C', 'repr': 'x'}", {"type": "C", "repr": "x"}),
    ("nested(30)", DEEP),
    ("'0123456789' * 500_000", "0123456789" * 500_000),
    ("list(range(200_000))", list(range(200_000))),
]

# Where smolagents' own executors give something else.
NOT_BY: dict[tuple[type, str], str] = {
    (E2BExecutor, "pathlib.PurePosixPath('a/b')"): "smolagents encodes pathlib.Path, and no pure paths",
    (E2BExecutor, "{'__type__': 'set', 'data': [1]}"): "smolagents takes a dict with this key for its own tag",
    (LocalPythonExecutor, "frozenset([1, 2])"): "its interpreter has no frozenset",
}


def plain(answer: Any) -> Any:
    """smolagents wraps texts and images."""
    return answer.to_raw() if isinstance(answer, AgentType) else answer


PREPARE = """\
import datetime, decimal, pathlib
def nested(depth):
    value = 'leaf'
    for _ in range(depth):
        value = {'level': [value]}
    return value
"""


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_ends_with_the_same_answer_everywhere(make_executor: MakeExecutor, run: Run) -> None:
    agent = agent_with(make_executor(run.imports), run.steps, [make() for make in run.tools])
    answer = plain(agent.run("task", additional_args=run.arguments or None))
    assert answer == run.answer
    assert type(answer) is type(run.answer)
    steps = steps_of(agent)
    assert len(steps) == len(run.steps)
    for number, step in enumerate(steps):
        expected = run.errors[number] if run.errors else None
        if expected is None:
            assert step.error is None, (number, step.error)
        else:
            assert step.error is not None, number
            assert expected in str(step.error.message)
        for text in run.logs.get(number, []):
            assert text in step.observations, number


@pytest.mark.parametrize(("expression", "value"), ANSWERS, ids=[expression[:40] for expression, _ in ANSWERS])
def test_a_final_answer_arrives_as_it_was(
    make_executor: MakeExecutor, request: pytest.FixtureRequest, expression: str, value: Any
) -> None:
    executor = make_executor(["datetime", "decimal", "pathlib"])
    why_not = NOT_BY.get((type(executor), expression))
    if why_not is not None:
        request.applymarker(pytest.mark.xfail(reason=why_not, raises=AssertionError, strict=True))
    agent = agent_with(executor, [PREPARE, f"final_answer({expression})"])
    answer = plain(agent.run("task"))
    assert answer == value
    assert type(answer) is type(value)


@pytest.mark.parametrize("code", ["open", "object()", "[lambda: 1]", "{'a': (n for n in range(3))}"])
def test_what_is_no_data_can_t_be_a_final_answer_of_a_sandbox(url: str, e2b_environment: None, code: str) -> None:
    for make in (ours, e2b):
        executor = make(url)([])
        try:
            agent = agent_with(executor, [f"final_answer({code})", "final_answer('plain')"])
            assert agent.run("task") == "plain"
            assert steps_of(agent)[0].error is not None
        finally:
            executor.cleanup()


def test_a_second_run_goes_on_where_the_first_ended(url: str) -> None:
    for make in (ours, local):
        executor = make(url)([])
        agent = agent_with(executor, ["x = till(3)\nfinal_answer(x)"], [Till()])
        assert agent.run("task") == 3
        agent.model.steps = ["y = till(4)\nfinal_answer([x, y])"]
        assert agent.run("go on", reset=False) == [3, 7]
        if isinstance(executor, ProofboxExecutor):
            executor.cleanup()


def test_agents_do_not_see_each_other(url: str) -> None:
    with ProofboxExecutor(url=url) as first, ProofboxExecutor(url=url) as second:
        first("secret = 1\nopen('mine.txt', 'w').write('x')")
        with pytest.raises(Exception, match="secret"):
            second("secret")
        assert second("import os\nos.path.exists('mine.txt')").output is False
        assert first.session.id != second.session.id


def test_an_agent_that_is_left_leaves_no_session(client: proofbox.Client, url: str) -> None:
    executor = ProofboxExecutor(url=url)
    with agent_with(executor, ["final_answer(1)"]) as agent:
        agent.run("task")
        session_id = executor.session.id
    with pytest.raises(proofbox.SessionNotFound):
        client.get_session(session_id)
