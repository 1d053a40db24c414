"""The metric `code_eval` of Hugging Face's `evaluate`, graded by proofbox.

>>> from proofbox.code_eval import compute
>>> candidates = [["def add(a, b): return a * b", "def add(a, b): return a + b"]]
>>> pass_at_k, results = compute(predictions=candidates, references=["assert add(2, 3) == 5"], k=[1, 2])
>>> pass_at_k
{'pass@1': 0.5, 'pass@2': 1.0}
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Literal

from .client import Client
from .errors import ProofboxError
from .options import ExecuteOptions, SuiteItem
from .types import Execution

try:
    import datasets
    import evaluate
except ModuleNotFoundError:
    evaluate = None

__all__ = ["compute"]

Results = dict[int, list[tuple[int, dict[str, Any]]]]

_DESCRIPTION = "pass@k of programs whose tests run in proofbox, apart from the programs"
_INPUTS = """
predictions: for each problem a list of candidate programs
references: for each problem the source of its tests
k: which pass@k, by default 1, 10 and 100; those with more than a problem's candidates are left out
num_workers: has no meaning here; the service runs as many at once as it has room for
timeout: seconds of CPU time and sleep that a candidate has
"""


def compute(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str],
    k: int | Sequence[int] = (1, 10, 100),
    num_workers: int = 4,
    timeout: float = 3.0,
    *,
    client: Client | None = None,
    grading: Literal["isolated", "in_process", "auto"] = "isolated",
) -> tuple[dict[str, float], Results]:
    """Returns pass@k, and of each problem its results: number of the candidate, and how it ended.

    The arguments are those of `evaluate`'s metric. Tests run where the candidate can't reach them, and a candidate that
    leaves with exit code 0 has not passed. Raises `ProofboxError` where the service could not grade a candidate.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} lists of predictions and {len(references)} references")
    items = [
        SuiteItem(
            id=f"{task}/{number}", task=str(task), code=code, tests={"kind": "script", "source": references[task]}
        )
        for task, candidates in enumerate(predictions)
        for number, code in enumerate(candidates)
    ]
    defaults = ExecuteOptions(grading=grading, limits={"wall_seconds": timeout})
    ks = [k] if isinstance(k, int) else list(k)
    results: Results = {task: [] for task in range(len(predictions))}
    with contextlib.ExitStack() as stack:
        service = client or stack.enter_context(Client())
        run = stack.enter_context(service.suite(items, defaults=defaults, k=ks))
        for done in run:
            task, number = map(int, done.id.split("/"))
            results[task].append((number, _result(done, task, number)))
    for of_task in results.values():
        of_task.sort(key=lambda result: result[0])
    assert run.report is not None
    pass_at_k = {f"pass@{n}": rate for n in ks if (rate := run.report.pass_at_k[str(n)]) is not None}
    return pass_at_k, results


def _result(done: Execution, task: int, number: int) -> dict[str, Any]:
    """Returns a candidate's result as the metric words it. Raises `ProofboxError` where the service could not grade
    it."""
    if done.status == "infrastructure_error":
        raise ProofboxError(f"the service could not grade candidate {number} of problem {task}: {done.execution_id}")
    words = "passed"
    if done.stderr_class in ("timeout", "fuel_exhausted"):
        words = "timed out"
    elif done.status != "passed":
        case = next((case.message for case in done.cases if case.message), None)
        message = done.error.message if done.error is not None and done.error.message else case
        words = f"failed: {message or done.stderr_class}"
    return {"task_id": task, "passed": done.status == "passed", "result": words, "completion_id": number}


if evaluate is not None:
    __all__ += ["CodeEval"]

    class CodeEval(evaluate.Metric):
        """The metric, for `evaluate.load` of a file that imports it."""

        def _info(self) -> Any:
            features = {
                "predictions": datasets.Sequence(datasets.Value("string")),
                "references": datasets.Value("string"),
            }
            return evaluate.MetricInfo(
                description=_DESCRIPTION,
                citation="",
                inputs_description=_INPUTS,
                features=datasets.Features(features),
            )

        def _compute(
            self, predictions: Sequence[Sequence[str]], references: Sequence[str], **options: Any
        ) -> tuple[dict[str, float], Results]:
            return compute(predictions, references, **options)
