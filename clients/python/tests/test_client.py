"""Calls of /v1 but those of sessions, through both clients, against a live service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

import proofbox


class Sync:
    """Calls through the plain client."""

    def __init__(self, url: str) -> None:
        self.client = proofbox.Client(url)

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self.client, name)(*arguments, **options)


class Async:
    """The same through the one for event loops."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        async def once() -> Any:
            async with proofbox.AsyncClient(self.url) as client:
                return await getattr(client, name)(*arguments, **options)

        return anyio.run(once)


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
def call(request: pytest.FixtureRequest, url: str) -> Any:
    return request.param(url)


def test_health_and_readiness(call: Any) -> None:
    assert call("health") == "ok"
    assert call("ready") == "ready"


def test_an_image_is_chosen_by_name_or_hash(call: Any) -> None:
    runtime = call("runtime")
    default = runtime.image("default")
    assert (default.image_hash, default.packages) == (runtime.image_hash, runtime.packages)
    done = call("execute", "print(1)", image=default.image_hash)
    assert (done.stdout, done.runtime["image_hash"]) == ("1\n", default.image_hash)
    assert runtime.image("no-such") is None
    with pytest.raises(proofbox.InvalidRequest, match="there is no image `no-such`; there are: default") as refused:
        call("execute", "print(1)", image="no-such")
    assert refused.value.field == "image"


def test_a_snippet_runs(call: Any) -> None:
    done = call("execute", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7", result="last_expression")
    assert (done.status, done.ok, done.stdout, done.stderr, done.result) == ("ok", True, "out\n", "err\n", 42)
    assert done.exit_code == 0
    assert done.error is None
    assert done.fuel_used > 0
    assert done.limits["wall_seconds"] > 0
    assert done.check() is done


def test_all_that_a_run_can_be_given(call: Any) -> None:
    code = (
        "import os, sys, pathlib\n"
        "print(input(), sys.argv[1:], os.environ['K'])\n"
        "pathlib.Path('out.bin').write_bytes(pathlib.Path('in.bin').read_bytes()[::-1])\n"
        "value = 5\n"
    )
    done = call(
        "execute",
        code,
        stdin="typed\n",
        args=["a", "b"],
        env={"K": "v"},
        files={"in.bin": b"\x00\xff", "text.txt": "é"},
        fetch_files=["*.bin", "*.txt"],
        result={"variable": "value"},
        limits={"fuel": 10**10, "wall_seconds": 5},
        policy="default",
        deterministic={"seed": 1},
        labels={"model": "m"},
        lint=True,
        receipt=True,
        report_use=["time"],
        canaries=["a secret string"],
    )
    assert done.check().stdout == "typed ['a', 'b'] v\n"
    assert done.files == {"in.bin": b"\x00\xff", "out.bin": b"\xff\x00", "text.txt": "é".encode()}
    assert (done.result, done.labels, done.limits["fuel"]) == (5, {"model": "m"}, 10**10)
    assert done.receipt.payload["kind"] == "proofbox.receipt.v1"
    assert done.receipt.public_key == call("receipts_key").public_key
    assert done.receipt.raw == done.raw["receipt"]
    assert (done.lint.clean, done.lint.error) == (False, None)
    assert [(found.code, found["line"]) for found in done.lint.diagnostics] == [("I001", 1)]


def test_a_snippet_that_fails_is_an_answer_and_check_raises(call: Any) -> None:
    done = call("execute", "def f():\n    return 1 / 0\nf()\n")
    assert (done.status, done.ok, done.exit_code, done.stderr_class) == ("error", False, 1, "exception")
    assert (done.error.class_, done.error.type, done.error.message) == (
        "exception",
        "ZeroDivisionError",
        "division by zero",
    )
    assert [(frame.line, frame.function) for frame in done.error.traceback] == [(3, "<module>"), (2, "f")]
    with pytest.raises(proofbox.CodeFailed, match="ZeroDivisionError: division by zero") as failed:
        done.check()
    assert failed.value.execution is done


def test_tests_are_graded(call: Any) -> None:
    tests = {"kind": "asserts", "asserts": ["assert f(2) == 4", "assert f(3) == 6"]}
    done = call("execute", completion="```python\ndef f(x):\n    return x * x\n```", tests=tests)
    assert (done.status, done.tests_passed, done.tests_total) == ("failed", 1, 2)
    assert [case.status for case in done.cases] == ["passed", "failed"]
    with pytest.raises(proofbox.CodeFailed):
        done.check()


def test_reports_have_attributes_and_are_read_like_objects(call: Any) -> None:
    done = call(
        "execute",
        "import os\ndef f(n):\n    return [0] * n\nos.environ.get('SECRET')\nprint('canary-0123456789')\n",
        tests={"kind": "asserts", "asserts": ["assert len(f(3)) == 3", "assert f(1) == [0]"]},
        complexity={"generator": "def generate(n): return (n,)", "entry_point": "f", "sizes": [10, 20]},
        canaries=["canary-0123456789"],
    )
    assert done.status == "passed"
    assert (done.integrity.level, done.integrity.planned, done.integrity.reported) == ("isolated", 2, 2)
    assert (done.integrity["level"], done.integrity.get("none"), "planned" in done.integrity) == (
        "isolated",
        None,
        True,
    )
    assert dict(done.integrity) == done.raw["integrity"]
    assert done.integrity.basis.values_compared > 0
    assert done.grader.fuel_used > 0
    assert done.grader.candidates == 1
    assert [point.n for point in done.complexity.points] == [10, 20]
    assert done.complexity.error is None
    tried = {(attempt.kind, attempt.target, attempt.allowed) for attempt in done.boundary.attempts}
    assert ("environment", "SECRET", False) in tried
    [canary] = done.boundary.canaries
    assert (canary.index, canary.found[0].encoding) == (0, "plain")
    assert "stdout" in {place.where for place in canary.found}
    assert done.completion is None
    assert done.lint is None
    found = call("execute", completion="Look:\n```python\nprint(1)\n```\n").completion
    assert (found.contains_code, found.chosen, found.blocks[0].form) == (True, 0, "fenced")


def test_an_evaluation_is_typed(call: Any) -> None:
    tests = {"kind": "evaluator", "preset": "exact_match", "output": "41", "correct_answer": "42"}
    done = call("execute", tests=tests)
    assert (done.status, done.evaluation.score, done.evaluation.passed) == ("failed", 0.0, False)
    assert (done.evaluation.interface, done.evaluation["reason"]) == ("v2", done.evaluation.reason)


def test_findings_say_where_they_are(call: Any) -> None:
    code = "x = 1\nimport socket\n"
    policy = call("scan", code, policy="strict").policy
    assert all(0 <= found.start < found.end <= len(code) for found in policy.findings)
    assert "socket" in code[policy.findings[0].start : policy.findings[0].end]
    assert policy.scan_seconds > 0
    assert {"imports", "capabilities"} <= {report.scanner for report in policy.scanners}
    matched = next(report for report in policy.scanners if report.scanner == "imports")
    assert (matched.matched, matched.action, matched["findings"]) == (True, "block", matched.findings)


def test_tagged_values_are_given_to_tests(call: Any) -> None:
    cases = [
        {"args": [proofbox.encode((1, 2)), {"$type": "set", "items": [3]}], "expected": proofbox.encode({1: (2,)})}
    ]
    code = "def f(a, b):\n    assert type(a) is tuple and type(b) is set\n    return {a[0]: a[1:]}\n"
    tests = {"kind": "function_cases", "entry_point": "f", "cases": cases}
    assert call("execute", code, tests=tests).status == "passed"


def test_a_scan_runs_nothing(call: Any) -> None:
    scan = call("scan", "import socket\n")
    assert (scan.contains_code, scan.syntax_ok, scan.policy.decision) == (True, True, "allow")
    assert (scan.policy.findings[0].capability, scan.policy.findings[0].line) == ("network", 1)
    assert call("scan", "import socket\n", policy="strict").policy.decision == "block"


def test_what_the_service_tells_of_itself(call: Any) -> None:
    runtime = call("runtime")
    assert runtime.python.startswith("3.")
    assert {"json", "math"} <= set(runtime.modules)
    policies = {policy.name: policy for policy in call("policies")}
    assert policies["default"].most["fuel"] >= policies["default"].default["fuel"]
    presets = {preset.name for preset in call("evaluator_presets")}
    assert presets
    assert call("receipts_key").algorithm == "ed25519"


def test_refusals_say_what_is_wrong(call: Any) -> None:
    with pytest.raises(proofbox.InvalidRequest) as refused:
        call("execute", "1", limits={"fuel": 10**18})
    error = refused.value
    assert (error.status, error.code, error.field) == (400, "limit_above_ceiling", "limits.fuel")
    assert error.asked == 10**18
    assert error.allowed < error.asked
    with pytest.raises(proofbox.InvalidRequest) as refused:
        call("execute", "1", files={"../../../x": "x"})
    assert (refused.value.status, refused.value.code) == (422, "bad_file")
    with pytest.raises(proofbox.InvalidRequest) as refused:
        call("execute", "1", typo=True)
    assert refused.value.field == "typo"
    with pytest.raises(proofbox.TooLarge):
        call("execute", "x = '" + "a" * (2 << 20) + "'")


def test_code_and_completion_are_not_both_given(call: Any) -> None:
    with pytest.raises(ValueError, match="not both"):
        call("execute", "1", completion="2")


def test_a_value_that_is_no_json_is_refused_here(call: Any) -> None:
    with pytest.raises(TypeError, match="can't be sent"):
        call("execute", "1", tests={"kind": "asserts", "asserts": [lambda: 1]})


ITEMS: list[Any] = [
    {"id": "square#0", "code": "def f(x): return x * x", "labels": {"model": "a"}},
    {"id": "square#1", "code": "def f(x): return x - x"},
    {"id": "square#2", "code": "def f(x:", "files": {"b": b"\x00"}},
]
DEFAULTS: Any = {"tests": {"kind": "asserts", "asserts": ["assert f(2) == 4"]}}


def check_suite(answers: list[proofbox.Execution], report: proofbox.SuiteReport) -> None:
    assert {answer.id: answer.status for answer in answers} == {
        "square#0": "passed",
        "square#1": "failed",
        "square#2": "failed",
    }
    assert {answer.task for answer in answers} == {"square"}
    assert (report.items, report.passed, report.failed) == (3, 1, 2)
    assert report.pass_at_k["1"] == pytest.approx(1 / 3)


def generated() -> Iterator[Any]:
    yield from ITEMS


async def generated_later() -> AsyncIterator[Any]:
    for item in ITEMS:
        yield item


@pytest.mark.parametrize("items", [ITEMS, None], ids=["list", "generator"])
def test_a_suite(client: proofbox.Client, items: Any) -> None:
    with client.suite(items or generated(), defaults=DEFAULTS, k=[1]) as run:
        answers = list(run)
        assert run.report is not None
        check_suite(answers, run.report)


@pytest.mark.parametrize("make", [lambda: ITEMS, generated, generated_later], ids=["list", "generator", "async"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_suite_in_an_event_loop(url: str, make: Any, backend: str) -> None:
    async def once() -> None:
        async with proofbox.AsyncClient(url) as client, client.suite(make(), defaults=DEFAULTS, k=[1]) as run:
            answers = [answer async for answer in run]
            assert run.report is not None
            check_suite(answers, run.report)

    anyio.run(once, backend=backend)


def test_a_suite_that_is_wrong_is_refused_with_its_item(client: proofbox.Client) -> None:
    with pytest.raises(proofbox.InvalidRequest) as refused:
        client.suite([{"id": "a", "code": "1"}, {"id": "b", "code": "1", "limits": {"fuel": 10**18}}])
    assert refused.value.field == "items[1].limits.fuel"


def test_many_at_once_from_an_event_loop(url: str) -> None:
    async def once() -> list[int]:
        results: dict[int, int] = {}
        async with proofbox.AsyncClient(url) as client, anyio.create_task_group() as group:

            async def one(number: int) -> None:
                done = await client.execute(f"{number} ** 2", result="last_expression")
                results[number] = done.check().result

            for number in range(40):
                group.start_soon(one, number)
        return [results[number] for number in range(40)]

    assert anyio.run(once) == [number**2 for number in range(40)]
