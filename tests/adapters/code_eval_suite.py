"""Compares proofbox's `code_eval` with what the documentation of `evaluate`'s metric shows, and loads it by `evaluate`.

  pip install --require-hashes --no-deps -r tests/adapters/code_eval.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/code_eval_suite.py [pytest option ...]
"""

import itertools
import math
import os
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

import evaluate  # noqa: E402

import proofbox  # noqa: E402
from proofbox.code_eval import compute  # noqa: E402

TESTS = ["assert add(2, 3) == 5"]


# The metric's own page has these three, its module the third.
@pytest.mark.parametrize(
    ("candidates", "k", "expected"),
    [
        (["def add(a, b): return a + b"], [1], {"pass@1": 1.0}),
        (["def add(a,b): return a*b"], [1], {"pass@1": 0.0}),
        (["def add(a, b): return a*b", "def add(a,b): return a+b"], [1, 2], {"pass@1": 0.5, "pass@2": 1.0}),
    ],
)
def test_the_documented_examples(candidates: list[str], k: list[int], expected: dict[str, float]) -> None:
    pass_at_k, results = compute(references=TESTS, predictions=[candidates], k=k)
    assert pass_at_k == expected
    assert list(results) == [0] and [number for number, _ in results[0]] == list(range(len(candidates)))
    for number, result in results[0]:
        assert set(result) == {"task_id", "passed", "result", "completion_id"}
        assert (result["task_id"], result["completion_id"]) == (0, number)
        assert (result["result"] == "passed") == result["passed"] == ("+" in candidates[number])


def test_evaluate_loads_it(tmp_path: Path) -> None:
    folder = tmp_path / "proofbox_code_eval"
    folder.mkdir()
    (folder / "proofbox_code_eval.py").write_text("from proofbox.code_eval import CodeEval\n")
    metric = evaluate.load(str(folder))
    assert isinstance(metric, evaluate.Metric)
    candidates = [["def add(a, b): return a*b", "def add(a, b): return a+b"]]
    pass_at_k, results = metric.compute(references=TESTS, predictions=candidates, k=[1, 2], num_workers=2, timeout=2.0)
    assert pass_at_k == {"pass@1": 0.5, "pass@2": 1.0}
    assert [result["passed"] for _, result in results[0]] == [False, True]
    metric.add_batch(predictions=candidates, references=TESTS)
    assert metric.compute(k=1)[0] == {"pass@1": 0.5}


def test_a_check_function_of_humaneval_is_a_reference() -> None:
    reference = (
        "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate('a', 'b') == 'ab'\n\ncheck(add)"
    )
    pass_at_k, _ = compute([["def add(a, b): return a + b", "def add(a, b): return 3"]], [reference], k=[1])
    assert pass_at_k == {"pass@1": 0.5}


def test_how_candidates_end_is_told() -> None:
    endings = {
        "def add(a, b): return a - b": "failed: ",
        "def add(a, b:": "failed: ",
        "while True: pass": "timed out",
        "import time; time.sleep(60)": "timed out",
        "import os; os._exit(0)": "failed: ",
        "class Yes:\n    def __eq__(self, other): return True\ndef add(a, b): return Yes()": "failed: ",
        "import sys; sys.exit(0)": "failed: ",
        "def add(a, b): raise ValueError('no')": "failed: no",
    }
    pass_at_k, results = compute([list(endings)], TESTS, k=[1], timeout=1.0)
    assert pass_at_k == {"pass@1": 0.0}
    for (number, result), (code, words) in zip(results[0], endings.items(), strict=True):
        assert result["result"].startswith(words) and not result["passed"], (number, code, result)


def test_pass_at_k_is_the_mean_of_the_unbiased_estimates() -> None:
    right, wrong = "def add(a, b): return a + b", "def add(a, b): return a"
    correct = [1, 3, 0, 4]
    predictions = [[right] * n + [wrong] * (4 - n) for n in correct]
    pass_at_k, _ = compute(predictions, TESTS * 4, k=[1, 2, 3, 5])

    # By counting: of all choices of k candidates, those that have one that passes.
    def estimate(passing: int, k: int) -> float:
        choices = list(itertools.combinations([True] * passing + [False] * (4 - passing), k))
        return sum(map(any, choices)) / len(choices)

    assert set(pass_at_k) == {"pass@1", "pass@2", "pass@3"}
    for k in (1, 2, 3):
        assert math.isclose(pass_at_k[f"pass@{k}"], sum(estimate(n, k) for n in correct) / 4)


def test_a_number_of_references_that_differs_is_refused() -> None:
    with pytest.raises(ValueError, match="2 lists of predictions and 1 references"):
        compute([["1"], ["2"]], ["1"])


def test_a_service_that_is_gone_is_no_figure() -> None:
    gone = proofbox.Client("http://127.0.0.1:9", retries=proofbox.Retries(attempts=1))
    with pytest.raises(proofbox.ConnectionFailed):
        compute([["def add(a, b): return a + b"]], TESTS, client=gone)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
