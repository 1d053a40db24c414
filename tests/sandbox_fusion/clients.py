"""Clients of SandboxFusion, unmodified, against a running service: `sandbox-fusion`'s SDK, verl's reward function, and
tinker-cookbook's client. The URL of the service is PROOFBOX_URL."""

import asyncio
import base64
import os

from parts import module_of

BASE = os.environ["PROOFBOX_URL"] + "/sandbox-fusion"
os.environ["SANDBOX_FUSION_ENDPOINT"] = BASE

import requests  # noqa: E402
import sandbox_fusion as sf  # noqa: E402

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def run(code, **fields):
    request = sf.RunCodeRequest(**{"code": code, "language": "python", **fields})
    return sf.run_code(request, max_attempts=1, client_timeout=60)


@check
def a_program_prints_and_exits():
    done = run("print(input()[::-1])", stdin="abc\n")
    assert done.status == sf.RunStatus.Success, done
    assert done.compile_result is None and done.message == ""
    assert done.run_result.status == sf.CommandRunStatus.Finished
    assert (done.run_result.return_code, done.run_result.stdout, done.run_result.stderr) == (0, "cba\n", "")
    assert 0 < done.run_result.execution_time < 5


@check
def failures_have_their_code_and_traceback():
    done = run("print(1)\n1 / 0")
    assert done.status == sf.RunStatus.Failed and done.run_result.return_code == 1, done
    assert done.run_result.stdout == "1\n" and "ZeroDivisionError" in done.run_result.stderr
    assert run("import sys; sys.exit(7)").run_result.return_code == 7
    broken = run("def f(:")
    assert broken.status == sf.RunStatus.Failed and "SyntaxError" in broken.run_result.stderr


@check
def time_is_up():
    for code in ("while True: pass", "import time; time.sleep(30)", "import time; time.sleep(1.5); print(1)"):
        done = run(code, run_timeout=1)
        assert done.status == sf.RunStatus.Failed, done
        assert done.run_result.status == sf.CommandRunStatus.TimeLimitExceeded and done.run_result.return_code is None
    done = run("import time; time.sleep(0.5); print(1)", run_timeout=1)
    assert done.status == sf.RunStatus.Success, done


@check
def files_go_in_and_come_out():
    text = base64.b64encode(b"hello").decode()
    code = "import os; os.makedirs('d', exist_ok=True)\nopen('d/out', 'w').write(open('in.txt').read().upper())"
    done = run(code, files={"in.txt": text, "none": None}, fetch_files=["d/out"])
    assert done.files == {"d/out": base64.b64encode(b"HELLO").decode()}, done


@check
def other_languages_are_refused_in_the_protocols_words():
    answer = requests.post(f"{BASE}/run_code", json={"code": "int main(){}", "language": "cpp"}, timeout=10)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert said["status"] == "SandboxError" and "`cpp` is not supported" in said["message"], said
    assert said["run_result"] is None


@check
def python_is_the_language_of_a_request_that_names_none():
    said = requests.post(f"{BASE}/run_code", json={"code": "print(1)"}, timeout=30).json()
    assert said["status"] == "Success" and said["run_result"]["stdout"] == "1\n", said
    assert said["proofbox"]["integrity"] == "none" and said["proofbox"]["stderr_class"] == "none"


@check
def an_exit_code_that_proves_nothing_is_marked():
    said = requests.post(f"{BASE}/run_code", json={"code": "import os; os._exit(0)\nassert False"}, timeout=30).json()
    assert said["status"] == "Success" and said["proofbox"]["integrity"] == "none", said


@check
def what_is_no_request_is_told():
    for body in (b"{", b"[]", b'{"language": "python"}', b'{"code": 1}'):
        answer = requests.post(f"{BASE}/run_code", data=body, timeout=10)
        assert answer.status_code == 422 and "detail" in answer.json(), (body, answer.text)
    assert requests.get(f"{BASE}/v1/ping", timeout=10).text == "pong"


@check
def notebooks_keep_their_state():
    request = sf.RunJupyterRequest(
        cells=["a = 123", "a", "print(a)", "import sys; n = sys.stderr.write('oops')", "raise RuntimeError('no')", "a + 1"],
        files={"f": base64.b64encode(b"x").decode()},
        fetch_files=["f"],
    )
    done = sf.run_jupyter(request, max_attempts=1, client_timeout=60)
    assert done.status == sf.RunStatus.Success and len(done.cells) == 6, done
    assert done.cells[1].display[0]["text/plain"] == "123"
    assert done.cells[2].stdout == "123\n" and done.cells[3].stderr == "oops"
    assert done.cells[4].error[0]["ename"] == "RuntimeError" and done.cells[4].error[0]["evalue"] == "no"
    assert done.cells[5].display[0]["text/plain"] == "124"
    assert done.driver.status == sf.CommandRunStatus.Finished and done.files == {"f": "eA=="}
    late = sf.RunJupyterRequest(cells=["1", "while True: pass", "2"], total_timeout=1)
    late = sf.run_jupyter(late, max_attempts=1, client_timeout=60)
    assert late.status == sf.RunStatus.Failed, late
    assert late.driver.status == sf.CommandRunStatus.TimeLimitExceeded


def submit(kind, row, completion, **config):
    request = sf.SubmitRequest(
        dataset="inline", id=row.get("id", 0), completion=completion,
        config=sf.TestConfig(dataset_type=kind, provided_data=row, **config),
    )
    return sf.submit(request, max_attempts=1, client_timeout=60)


def fenced(code):
    return f"Here it is:\n```python\n{code}\n```\n"


OJ = {
    "id": 1, "content": "Add two numbers.", "labels": {},
    "test": [{"input": {"stdin": f"{n} {n}\n"}, "output": {"stdout": f"{2 * n}\n"}} for n in range(6)],
}
ADD = "print(sum(map(int, input().split())))"


@check
def programs_are_judged_by_their_output():
    good = submit("CommonOJDataset", OJ, fenced(ADD), language="python")
    assert good.accepted and len(good.tests) == 6 and good.extracted_type == "fenced", good
    assert good.tests[1].exec_info.run_result.stdout == "2\n" and good.extra["grading"] == "outputs_compared"
    wrong = submit("CommonOJDataset", OJ, fenced("print(0)"), language="python")
    assert not wrong.accepted and [test.passed for test in wrong.tests] == [True, False], wrong
    every = submit("CommonOJDataset", OJ, fenced("print(0)"), language="python", extra={"run_all_cases": True})
    assert [test.passed for test in every.tests] == [True] + [False] * 5
    cheat = submit("CommonOJDataset", OJ, fenced("import os; os._exit(0)"), language="python")
    assert not cheat.accepted


AUTO = {
    "id": 2, "content": "Write add(a, b).", "labels": '{"programming_language": "python"}',
    "test": '{"code": "assert add(1, 2) == 3\\nassert add(2, 2) == 4", "asset": null}',
}
GOOD = "def add(a, b):\n    return a + b"
AUTO_BODY = {
    "dataset": "x", "id": 2, "completion": fenced(GOOD),
    "config": {"dataset_type": "AutoEvalDataset", "provided_data": AUTO},
}
CHEATS = [
    "import os\nos._exit(0)",
    "import sys\ndef add(a, b):\n    sys.exit(0)",
    "class Yes:\n    def __eq__(self, other): return True\ndef add(a, b): return Yes()",
    "import atexit, os\natexit.register(lambda: os._exit(0))\ndef add(a, b): return 0",
]


@check
def functions_are_graded_apart_from_their_tests():
    good = submit("AutoEvalDataset", AUTO, fenced(GOOD))
    assert good.accepted and good.extra == {"grading": "isolated", "forgeable": False, "signals": []}, good
    assert requests.post(f"{BASE}/submit", json=AUTO_BODY, timeout=30).json()["tests"][0]["exec_info"]["proofbox"][
        "integrity"
    ] == "isolated"
    assert not submit("AutoEvalDataset", AUTO, fenced("def add(a, b):\n    return 3")).accepted
    for cheat in CHEATS:
        assert not submit("AutoEvalDataset", AUTO, fenced(cheat)).accepted, cheat


@check
def what_exit_codes_prove_is_marked():
    for cheat in CHEATS[:2]:
        forged = submit("AutoEvalDataset", AUTO, fenced(cheat), extra={"grading": "exit_code"})
        assert forged.accepted and forged.extra["forgeable"] and forged.extra["grading"] == "exit_code", forged
    marked = {**AUTO, "test": {"code": "#<INSERT>\nassert add(1, 2) == 3"}}
    good = submit("AutoEvalDataset", marked, fenced(GOOD))
    assert good.accepted and good.extra["forgeable"], good
    config = {"dataset_type": "AutoEvalDataset", "provided_data": marked, "extra": {"grading": "isolated"}}
    body = {"dataset": "x", "id": 1, "completion": fenced(GOOD), "config": config}
    refused = requests.post(f"{BASE}/submit", json=body, timeout=30)
    assert refused.status_code == 400 and "isolated" in refused.json()["detail"], refused.text


@check
def humaneval_and_mbpp_rows_are_graded_apart():
    row = {
        "task_id": "HumanEval/0", "prompt": "def add(a, b):\n    \"\"\"Adds.\"\"\"\n", "entry_point": "add",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(2, 2) == 4\n",
    }
    assert submit("HumanEvalDataset", row, "    return a + b\n").accepted
    assert submit("HumanEvalDataset", row, fenced(GOOD)).accepted
    assert not submit("HumanEvalDataset", row, "    return 3\n").accepted
    assert not submit("HumanEvalDataset", row, "    import os; os._exit(0)\n").accepted
    row = {"id": 3, "content": "Add.", "labels": {"test_setup_code": ""}, "test_list": ["assert add(1, 2) == 3"]}
    good = submit("MBPPDataset", row, fenced(GOOD))
    assert good.accepted and good.extra["grading"] == "isolated", good
    assert not submit("MBPPDataset", row, fenced("import os\nos._exit(0)")).accepted


@check
def prompts_of_rows_come_back():
    config = sf.TestConfig(dataset_type="AutoEvalDataset", provided_data=[AUTO, AUTO])
    prompts = sf.get_prompts(sf.GetPromptsRequest(dataset="x", config=config))
    assert [prompt.prompt for prompt in prompts] == ["Write add(a, b)."] * 2
    config = sf.TestConfig(dataset_type="CommonOJDataset", provided_data=OJ, language="python")
    prompt = sf.get_prompt_by_id(sf.GetPromptByIdRequest(dataset="x", config=config, id=1))
    assert prompt.id == 1 and prompt.prompt.startswith("Add two numbers.\n\n")
    answer = requests.post(f"{BASE}/get_prompts", json={"dataset": "humaneval_python", "config": {}}, timeout=10)
    assert answer.status_code == 400 and "dataset_type" in answer.json()["detail"], answer.text


@check
def the_asynchronous_sdk_works():
    async def several():
        request = sf.RunCodeRequest(code="print(1)", language="python")
        return await asyncio.gather(*[sf.run_code_async(request, max_attempts=1) for _ in range(8)])

    assert all(done.run_result.stdout == "1\n" for done in asyncio.run(several()))


@check
def verls_reward_is_right():
    compute_score = module_of("verl", "verl.utils.reward_score.sandbox_fusion").compute_score

    def score(code, cases, timeout=2):
        return compute_score(f"{BASE}/run_code", None, 1024, f"```python\n{code}\n```", cases, timeout=timeout)

    cases = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
    assert score(ADD, cases)[0] == 1.0
    assert score("print(3)", cases)[0] == 0.5
    loops, facts = score("while True: pass", cases)
    assert loops == 0.0 and [fact["status"] for fact in facts] == ["timeout"] * 2, facts
    assert [fact["status"] for fact in score("1 / 0", cases)[1]] == ["runtime_error"] * 2
    function = {"inputs": ["1\n2", "3\n4"], "outputs": ["3", "7"], "fn_name": "add"}
    assert score(GOOD, function)[0] == 1.0
    asserts = {"assert_case": ["assert add(1, 2) == 3", "assert add(1, 2) == 4"]}
    assert score(GOOD, asserts)[0] == 0.5


@check
def tinkers_client_runs_programs_with_files():
    client_type = module_of("tinker_cookbook", "tinker_cookbook.sandbox.sandboxfusion").SandboxFusionClient

    async def run():
        client = client_type(url=f"{BASE}/run_code", max_concurrency=4)
        good = await client.run("print(open('data.txt').read())", {"data.txt": "some"}, timeout=5)
        bad = await client.run("raise SystemExit(3)", {}, timeout=5)
        await client.close()
        return good, bad

    (good, said), (bad, _) = asyncio.run(run())
    assert good and said["run_result"]["stdout"] == "some\n" and not bad, said


def main():
    failed = 0
    for function in CHECKS:
        try:
            function()
        except Exception as error:
            failed += 1
            print(f"FAILED {function.__name__}: {type(error).__name__}: {str(error)[:2000]}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
