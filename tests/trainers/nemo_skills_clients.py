"""NeMo-Skills' `LocalSandbox`, unmodified, against a running service: its own tests of it, and more. The URL of the service is
PROOFBOX_URL."""

import asyncio
import os
import sys
import uuid


import httpx  # noqa: E402
import pytest  # noqa: E402
from checks import check, run_checks  # noqa: E402
from sources import NEMO_SKILLS, stand_in  # noqa: E402

FOLDER = NEMO_SKILLS.unpack()
sys.path.insert(0, str(FOLDER))
URL = os.environ["PROOFBOX_URL"] + "/nemo-skills"
HOST, PORT = URL.split("://")[1].split(":", 1)
os.environ |= {"NEMO_SKILLS_SANDBOX_HOST": HOST, "NEMO_SKILLS_SANDBOX_PORT": PORT}
# It is for Lean.
stand_in("nemo_skills.code_execution.proof_utils")

from nemo_skills.code_execution.sandbox import get_sandbox  # noqa: E402

# Tests of its own that want what is not here: Lean 4, and its harnesses.
OTHERS = "lean4 or minif2f or ioi or code_exec_eval"
# Tests that expect the traceback of another version of Python, letter by letter.
TRACEBACKS = ["test_execution_error[python]", "test_execution_error[pypy3]", "test_syntax_error"]


def run(*cells, **options):
    """Runs cells one after the other, in one session unless `session_id` says otherwise."""

    async def all_of_them():
        sandbox = get_sandbox()
        outputs, session = [], options.pop("session_id", None)
        for cell in cells:
            output, session = await sandbox.execute_code(cell, session_id=session, **options)
            outputs.append(output)
        await sandbox.close()
        return outputs, session

    return asyncio.run(all_of_them())


@check
def its_own_tests_pass():
    os.chdir(FOLDER)
    file = "tests/test_code_execution.py"
    others = [argument for name in TRACEBACKS for argument in ("--deselect", f"{file}::{name}")]
    plain = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    assert pytest.main([*plain, "-k", f"not ({OTHERS})", *others, file]) == 0


@check
def the_service_is_healthy_to_its_client():
    assert get_sandbox()._check_ready()


@check
def sessions_keep_their_names_apart():
    _, first = run("a = 1")
    _, second = run("a = 2")
    assert run("a", session_id=first)[0][0]["stdout"] == "1\n"
    assert run("a", session_id=second)[0][0]["stdout"] == "2\n"
    listed = httpx.get(f"{URL}/sessions").json()
    assert {str(first), str(second)} <= set(listed["sessions"]) and listed["backend"] == "ipython", listed


@check
def a_session_that_is_gone_is_restored_by_its_client():
    async def work():
        sandbox = get_sandbox()
        _, session = await sandbox.execute_code("a = 41")
        assert httpx.delete(f"{URL}/sessions/{session}").status_code == 200
        assert httpx.delete(f"{URL}/sessions/{session}").status_code == 404
        output, _ = await sandbox.execute_code("a + 1", session_id=session)
        assert output == {"process_status": "completed", "stdout": "42\n", "stderr": ""}, output
        await sandbox.delete_session(str(session))
        await sandbox.close()

    asyncio.run(work())


@check
def time_is_up():
    [output], session = run("while True: pass", timeout=1)
    assert output == {"process_status": "timeout", "stdout": "", "stderr": "Execution timed out after 1 seconds\n"}, output
    for language in ("python", "shell"):
        [output], _ = run("while True: pass" if language == "python" else "sleep 30", timeout=1, language=language)
        assert (output["process_status"], output["stderr"]) == ("timeout", "Execution timed out after 1 seconds\n"), output


@check
def a_session_outlives_a_cell_that_took_too_long():
    outputs, _ = run("a = 5", "print(a)\nwhile True: pass", "a", timeout=1)
    assert [output["process_status"] for output in outputs] == ["completed", "timeout", "completed"], outputs
    assert (outputs[1]["stdout"], outputs[2]["stdout"]) == ("5\n", "5\n"), outputs


@check
def output_and_values_are_shown():
    [output], _ = run("print('x')\n[1, 2]")
    assert output["stdout"] == "x\n[1, 2]\n", output
    [output], _ = run("print('x' * 5000)", max_output_characters=100)
    assert output["stdout"] == "x" * 100 + "<output cut>", output


@check
def tracebacks_have_the_mode_that_is_asked_for():
    code = "def f():\n    return x\nf()"
    plain, context, minimal = (run(code, traceback_verbosity=mode)[0][0]["stdout"] for mode in ("plain", "context", "minimal"))
    assert plain == "Traceback (most recent call last):\n    f()\n    return x\nNameError: name 'x' is not defined\n", plain
    assert "----> 3 f()" in context and minimal == "NameError: name 'x' is not defined\n", (context, minimal)


@check
def what_a_program_says_of_itself_is_marked():
    body = {"generated_code": "print(1)", "timeout": 5, "language": "python"}
    answer = httpx.post(f"{URL}/execute", json=body, timeout=30)
    assert answer.json() == {"process_status": "completed", "stdout": "1\n", "stderr": ""}
    assert answer.headers["x-proofbox-integrity"] == "none"


@check
def what_is_not_here_is_refused_as_a_result():
    [output], _ = run("#eval 1", language="lean4")
    assert output["process_status"] == "error" and "`lean4` is not supported" in output["stderr"], output
    body = {"generated_code": "1", "timeout": 5}
    answer = httpx.post(f"{URL}/execute", json=body)
    assert answer.status_code == 400 and "X-Session-ID" in answer.json()["error"], answer.text
    answer = httpx.post(f"{URL}/execute", json=body, headers={"X-Session-ID": "x" * 300})
    assert answer.status_code == 413, answer.text
    assert httpx.post(f"{URL}/execute", json={}).status_code == 422
    assert httpx.delete(f"{URL}/sessions/{uuid.uuid4()}").status_code == 404


if __name__ == "__main__":
    run_checks()
