"""open-r1's clients of its routers for E2B and MorphCloud, and its reward for code, unmodified, against a running service. The
URL of the service is PROOFBOX_URL."""

import importlib
import os
import sys

import requests
from e2b_code_interpreter.models import Execution, ExecutionError
from checks import check, run_checks
from sources import OPEN_R1, parent, stand_in

PACKAGE = OPEN_R1.unpack() / "src/open_r1"
parent("open_r1", PACKAGE)
# Its package imports transformers.
parent("open_r1.utils", PACKAGE / "utils", is_e2b_available=lambda: True, is_morph_available=lambda: False)
stand_in("latex2sympy2_extended", "math_verify", "open_r1.utils.competitive_programming")

rewards = importlib.import_module("open_r1.rewards")
routed_morph = importlib.import_module("open_r1.utils.routed_morph")
routed_sandbox = importlib.import_module("open_r1.utils.routed_sandbox")

URL = os.environ["PROOFBOX_URL"] + "/open-r1"
ROUTER = URL.split("://")[1]


def post(scripts, languages=None, **more):
    body = {"scripts": scripts, "languages": languages or ["python"] * len(scripts), "timeout": 10, "request_timeout": 9, **more}
    answer = requests.post(f"{URL}/execute_batch", json=body, timeout=60)
    return answer.status_code, answer.json()


@check
def scripts_that_succeed_have_their_output():
    scripts = ["print('hello from integration test')", "result = 2 + 2\nprint(result)"]
    results = routed_sandbox.RoutedSandbox(router_url=ROUTER).run_code(scripts)
    assert len(results) == 2
    for result in results:
        assert isinstance(result, Execution) and result.error is None
        assert "hello" in result.logs["stdout"][0] or "4" in result.logs["stdout"][0]
    assert requests.get(f"{URL}/health", timeout=10).json() == {"status": "ok"}


@check
def a_script_that_fails_has_its_error():
    results = routed_sandbox.RoutedSandbox(router_url=ROUTER).run_code(["print('this is fine')", "print('unterminated string", "1 / 0"])
    assert results[0].error is None and "this is fine" in results[0].logs["stdout"][0]
    assert isinstance(results[1].error, ExecutionError) and "SyntaxError" in results[1].error.name
    assert (results[2].error.name, results[2].error.value) == ("ZeroDivisionError", "division by zero")
    assert "Traceback" in results[2].error.traceback


@check
def the_last_expression_is_the_result():
    results = routed_sandbox.RoutedSandbox(router_url=ROUTER).run_code(["0.25", "x = 1", "'a'", "print(1)\n[1, 2]"])
    assert [result.text for result in results] == ["0.25", None, "a", "[1, 2]"], results
    assert results[0].results[0].is_main_result and results[0].execution_count == 1


@check
def scripts_know_nothing_of_each_other():
    status, results = post(["x = 1\nopen('f', 'w').write('1')", "x", "import os\nos.listdir()"])
    assert status == 200 and results[1]["execution"]["error"]["name"] == "NameError", results
    assert results[2]["text"] == "[]", results


@check
def a_script_without_a_result_has_a_reason():
    status, results = post(["while True: pass", "import time; time.sleep(30)", "1", "1"], ["python"] * 3 + ["cpp"], timeout=1)
    assert status == 200 and [result["execution"] is None for result in results] == [True, True, False, True], results
    assert "too long" in results[0]["exception_str"] and "`cpp` is not supported" in results[3]["exception_str"], results
    client = routed_sandbox.RoutedSandbox(router_url=ROUTER)
    assert client.run_code(["while True: pass"], timeout=1)[0].text is None


@check
def the_client_for_morphcloud_reads_text():
    results = routed_morph.RoutedMorphSandbox(router_url=ROUTER).run_code(["print(0.5)", "0.75", "1 / 0"], timeout=10)
    assert [result.text for result in results[:2]] == ["0.5\n", "0.75"], [result.text for result in results]
    assert results[2].exception_str == "ZeroDivisionError: division by zero" and float(results[0].text) == 0.5


@check
def the_reward_for_code_is_the_share_of_cases_that_pass():
    cases = [{"input": "1\n", "output": "2"}, {"input": "5\n", "output": "10"}]
    answers = [
        ("print(2 * int(input()))", 1.0),
        ("print(2)", 0.5),
        ("print(0)", 0.0),
        ("1 / 0", 0.0),
        ("import sys\nsys.exit(3)", 0.0),
    ]
    completions = [[{"role": "assistant", "content": f"Here:\n```python\n{code}\n```"}] for code, _ in answers]
    info = [{"language": "python", "test_cases": cases}] * len(answers)
    given = rewards.code_reward(completions, provider_type="e2b", e2b_router_url=ROUTER, verification_info=info)
    assert given == [reward for _, reward in answers], given
    given = rewards.binary_code_reward(completions, provider_type="e2b", e2b_router_url=ROUTER, verification_info=info)
    assert given == [1.0, 0.0, 0.0, 0.0, 0.0], given


@check
def what_is_no_request_is_refused():
    for body in ({}, {"scripts": "1", "languages": []}, [], {"scripts": [1], "languages": ["python"]}):
        answer = requests.post(f"{URL}/execute_batch", json=body, timeout=10)
        assert answer.status_code == 422 and answer.json()["detail"], (body, answer.text)
    assert post([]) == (200, [])
    status, said = post(["1"] * 4097)
    assert status == 413 and "at most 4096" in said["detail"], said


if __name__ == "__main__":
    run_checks()
