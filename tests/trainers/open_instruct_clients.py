"""open-instruct's verifiers `code` and `code_stdio`, unmodified, against a running service, and its own grader beside it. The
URL of the service is PROOFBOX_URL."""

import asyncio
import json
import os
import sys
import tempfile

import requests
from checks import check, run_checks
from sources import OPEN_INSTRUCT, stand_in

FOLDER = OPEN_INSTRUCT.unpack()
sys.path.insert(0, str(FOLDER))
stand_in(*(f"open_instruct.{name}" for name in (
    "context_window_checker", "if_functions", "IFEvalG", "IFEvalG.instructions_registry", "judge_utils", "math_utils", "rubrics",
    "rubrics.prompts", "rubrics.run_utils", "utils",
)))  # fmt: skip
# Its grader has a directory of its own below this one.
WORK = tempfile.TemporaryDirectory()
os.chdir(WORK.name)

from open_instruct import ground_truth_utils  # noqa: E402

# The package imports its service, which needs FastAPI.
stand_in("open_instruct.code_utils")
sys.modules["open_instruct.code_utils"].__path__ = [str(FOLDER / "open_instruct/code_utils")]
import importlib  # noqa: E402

code_utils = importlib.import_module("open_instruct.code_utils.code_utils")

BASE = os.environ["PROOFBOX_URL"] + "/open-instruct"
ADD = "def add(a, b):\n    return a + b\n"
DOUBLE = "for line in iter(input, ''):\n    print(2 * int(line))\n"


def score(answer, label, kind="test_program", limit=1.0, threshold=0.0, penalty=False):
    config = ground_truth_utils.CodeVerifierConfig(
        code_api_url=f"{BASE}/{kind}", code_max_execution_time=limit, code_pass_rate_reward_threshold=threshold,
        code_apply_perf_penalty=penalty,
    )  # fmt: skip
    verifier = ground_truth_utils.CodeVerifier(config)
    return asyncio.run(verifier.async_call([], f"Here:\n```python\n{answer}\n```", label)).score


def post(kind, program, tests, limit=1.0):
    body = {"program": program, "tests": tests, "max_execution_time": limit}
    answer = requests.post(f"{BASE}/{kind}", json=body, timeout=60)
    return answer.status_code, answer.json()


@check
def its_own_example_has_its_own_answer():
    tests = ["assert add(1, 2) == 3", "assert add(-1, 1) == 0", "assert add(0, 0) == 1"]
    status, said = post("test_program", ADD, tests)
    assert (status, said["results"]) == (200, [1, 1, 0]), said
    assert all(0 < runtime < 1 for runtime in said["runtimes"][:2]) and said["runtimes"][2] == -1.0, said
    assert (said["proofbox"]["grading"], said["proofbox"]["forgeable"]) == ("isolated", False), said
    assert said["proofbox"]["stderr_classes"] == ["none", "none", "assertion_failure"], said
    assert requests.get(f"{BASE}/health", timeout=10).json() == {"status": "healthy"}


@check
def the_reward_is_the_share_of_tests_that_pass():
    right, half = ["assert add(1, 2) == 3"] * 3, ["assert add(1, 2) == 3", "assert add(1, 2) == 4"]
    assert score(ADD, right) == 1.0
    assert score(ADD, half) == 0.5
    assert score(ADD, half, threshold=0.6) == 0.0
    assert score(ADD, json.dumps(half)) == 0.5
    assert score(ADD, code_utils.encode_tests(half)) == 0.5
    assert score("def add(a, b): return a - b", right) == 0.0
    assert score("def add(", right) == 0.0
    assert score("def add(a, b):\n    while True: pass", right) == 0.0
    assert 0.5 < score(ADD, right, penalty=True) < 1.0
    assert score(ADD, []) == 0.0


@check
def every_test_has_a_program_and_a_time_of_its_own():
    program = "seen = []\ndef f(n):\n    seen.append(n)\n    if n == 2:\n        while True: pass\n    return len(seen)\n"
    assert post("test_program", program, [f"assert f({n}) == 1" for n in range(4)])[1]["results"] == [1, 1, 0, 1]


@check
def output_is_compared_line_by_line():
    tests = [{"input": "1\n2\n\n", "output": "2\n4"}, {"input": ["5", "", ""], "output": "10.0"}, {"input": "1\n\n", "output": "3"}]
    status, said = post("test_program_stdio", DOUBLE, tests)
    assert (status, said["results"], said["proofbox"]["grading"]) == (200, [1, 1, 0], "outputs_compared"), said
    assert not said["proofbox"]["forgeable"] and all(runtime > 0 for runtime in said["runtimes"]), said
    assert score(DOUBLE, tests[:2], kind="test_program_stdio") == 1.0
    assert score(DOUBLE, code_utils.encode_tests(tests), kind="test_program_stdio") == 2 / 3
    # Names that LiveCodeBench's harness imports.
    assert score("print(int(sqrt(int(input()))), Counter('aa')['a'])", [{"input": "16", "output": "4 2"}], "test_program_stdio") == 1.0
    assert score("while True: pass", [{"input": "", "output": ""}], "test_program_stdio") == 0.0


@check
def its_own_grader_has_the_same_results():
    statements = [
        (ADD, ["assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'", "assert add(1, 2) is None", "add(1)", "x = add(1, 2)\nassert x == 3"]),
        ("from collections import Counter\nimport math\n", ["assert Counter('aab')['a'] == 2", "assert math.isclose(math.pi, 3.14159, abs_tol=1e-3)"]),
        ("class A:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n", ["assert A(1) == A(1)", "assert A(1) != A(2)", "assert A(1).x == 2"]),
        ("raise ValueError(1)", ["assert True"]),
        ("import sys\nsys.exit(0)", ["assert True"]),
        ("def f(:", ["assert True"]),
        ("a = 1", ["assert False", "assert True", "import time\ntime.sleep(10)", "assert a == 1"]),
        ("def f(x):\n    raise KeyError(x)", ["try:\n    f(1)\nexcept KeyError as e:\n    assert e.args == (1,)\nelse:\n    assert False"]),
    ]  # fmt: skip
    for program, tests in statements:
        expected, _ = code_utils.get_successful_tests_fast(program, tests)
        assert post("test_program", program, tests)[1]["results"] == expected, (program, expected)
    outputs = [
        (DOUBLE, [{"input": "1\n\n", "output": "2"}, {"input": "1\n\n", "output": "2.0\n"}, {"input": "1\n\n", "output": "2 "}, {"input": "x\n\n", "output": ""}]),
        ("import sys\nfor line in sys.stdin.read().splitlines():\n    print(int(line.strip()) + 1)", [{"input": "1\n", "output": "2\n"}, {"input": "100\n", "output": "102\n"}]),
        ("def main():\n    print(*sorted(map(int, input().split())))\nif __name__ == '__main__':\n    main()", [{"input": "3 1 2", "output": "1 2 3"}, {"input": "1", "output": "1"}]),
        ("print(1", [{"input": "", "output": "1"}]),
    ]  # fmt: skip
    for program, tests in outputs:
        expected, _ = code_utils.get_successful_tests_stdio(program, tests)
        assert post("test_program_stdio", program, tests)[1]["results"] == expected, (program, expected)
    with open(FOLDER / "open_instruct/test_data/acecode_sample.jsonl") as file:
        sample = json.loads(file.readline())
    tests, (program, rate) = code_utils.decode_tests(sample["test_cases"]), (sample["inferences"][-1]["completion"], sample["inferences"][-1]["pass_rate"])
    assert sum(post("test_program", program, sample["test_cases"])[1]["results"]) == int(len(tests) * rate)


@check
def programs_that_cheat_have_no_reward():
    always = "class Equal:\n    def __eq__(self, other): return True\ndef add(a, b): return Equal()\n"
    leave = "import os\nos._exit(0)\n"
    patch = "import builtins, sys\nsys.modules['builtins'].AssertionError = ValueError\ndef add(a, b): return 0\n"
    own, _ = code_utils.get_successful_tests_fast(always, ["assert add(1, 2) == 3"])
    assert own == [1], "its own grader lets this pass"
    for program in (always, leave, patch):
        said = post("test_program", program, ["assert add(1, 2) == 3"])[1]
        assert said["results"] == [0], (program, said)
    assert post("test_program", always, ["assert add(1, 2) == 3"])[1]["proofbox"]["signals"], "it is told"


@check
def what_is_no_request_is_refused():
    for body in ({}, {"program": "1", "tests": 5}, {"program": "1", "tests": "!"}, {"program": "1", "tests": [1]}, []):
        answer = requests.post(f"{BASE}/test_program", json=body, timeout=10)
        assert answer.status_code == 422 and answer.json()["detail"], (body, answer.text)
    for test in ("assert True", ["1", "2"], {"input": "1"}):
        assert post("test_program_stdio", "1", [test])[0] == 422, test
    many = post("test_program", "1", ["assert True"] * 10_001)
    assert many[0] == 413 and "at most 10000" in many[1]["detail"], many


if __name__ == "__main__":
    run_checks()
