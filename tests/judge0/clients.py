"""Judge0's own SDK, unmodified, against a running service, and what else its interface has. The URL of the service is
PROOFBOX_URL."""

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

import judge0
from checks import check, run_checks
from judge0 import Status, Submission, TestCase

BASE = os.environ["PROOFBOX_URL"] + "/judge0"
CLIENT = judge0.Client(BASE, {"X-Auth-Token": os.environ["PROOFBOX_KEY"]})
PYTHON = judge0.LanguageAlias.PYTHON


def ask(method, path, body=None, key=os.environ["PROOFBOX_KEY"], **query):
    url = f"{BASE}{path}?{urllib.parse.urlencode(query)}"
    headers = {"Content-Type": "application/json", "X-Auth-Token": key}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def run(source_code, **more):
    submission = Submission(source_code=source_code, language=PYTHON, **more)
    return judge0.run(client=CLIENT, submissions=submission)


@check
def the_sdk_learns_what_is_here():
    assert CLIENT.version == "1.13.1" and CLIENT.is_language_supported(PYTHON)
    assert not CLIENT.is_language_supported(judge0.LanguageAlias.CPP)
    assert CLIENT.get_language(71).name.startswith("Python (3.13.")
    assert [status["id"] for status in CLIENT.get_statuses()] == list(range(1, 15))
    assert CLIENT.config.max_cpu_time_limit > 1 and not CLIENT.config.allow_enable_network
    assert ask("GET", "/system_info")[1]["Architecture"] and ask("GET", "/languages/50")[0] == 404


@check
def a_program_is_run_and_compared():
    done = run("print(input()[::-1])", stdin="abc\n", expected_output="cba")
    assert (done.status, done.stdout, done.stderr) == (Status.ACCEPTED, "cba\n", None), done
    assert done.exit_code == 0 and done.time >= 0 and done.wall_time >= 0 and done.memory > 0
    assert done.finished_at >= done.created_at
    assert run("print(1)").status == Status.ACCEPTED
    assert run("print(1)", expected_output="2").status == Status.WRONG_ANSWER
    wrong = run("1 / 0")
    assert wrong.status == Status.RUNTIME_ERROR_NZEC and "ZeroDivisionError" in wrong.stderr, wrong
    assert wrong.exit_code == 1 and wrong.message
    done = run("import sys; print(sys.argv[1:])", command_line_arguments="a 'b c'")
    assert done.stdout == "['a', 'b c']\n", done
    both = run("import sys; print(1); sys.stderr.write('e')", redirect_stderr_to_stdout=True)
    assert (both.stdout, both.stderr) == ("1\ne", None), both


@check
def limits_have_their_statuses():
    assert run("while True: pass", cpu_time_limit=0.5).status == Status.TIME_LIMIT_EXCEEDED
    assert run("import time; time.sleep(30)", wall_time_limit=1).status == Status.TIME_LIMIT_EXCEEDED
    killed = run("x = bytearray(10**9)", memory_limit=50_000)
    assert (killed.status, killed.exit_signal) == (Status.RUNTIME_ERROR_OTHER, 9), killed


@check
def test_cases_of_the_sdk_are_run_as_a_batch():
    cases = [TestCase(input=str(n), expected_output=str(n * n)) for n in range(4)]
    done = judge0.run(client=CLIENT, source_code="print(int(input()) ** 2)", language=PYTHON, test_cases=cases)
    assert [one.status for one in done] == [Status.ACCEPTED] * 4, done
    done = judge0.run(client=CLIENT, source_code="print(4)", language=PYTHON, test_cases=cases)
    assert [one.status for one in done] == [Status.WRONG_ANSWER] * 2 + [Status.ACCEPTED, Status.WRONG_ANSWER], done


@check
def submissions_are_waited_for_shown_and_deleted():
    status, done = ask("POST", "/submissions", {"source_code": "print('é')", "language_id": "71"}, wait="true")
    assert status == 201 and set(done) == {
        "token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status",
    }, done
    assert done["stdout"] == "é\n" and done["status"] == {"id": 3, "description": "Accepted"}
    token = done["token"]
    assert ask("GET", f"/submissions/{token}", fields="stdout,status_id") == (200, {"stdout": "é\n", "status_id": 3})
    shown = ask("GET", f"/submissions/{token}", base64_encoded="true", fields="*")[1]
    assert base64.b64decode(shown["stdout"]).decode() == "é\n" and shown["language"]["id"] == 71, shown
    assert ask("GET", f"/submissions/{token}", fields="nothing") == (400, {"error": "invalid fields: [nothing]"})
    listed = ask("GET", "/submissions", per_page=1, fields="token")[1]
    assert listed["submissions"] == [{"token": token}] and listed["meta"]["total_count"] > 1, listed
    other = os.environ["PROOFBOX_OTHER_KEY"]
    assert ask("GET", f"/submissions/{token}", key=other)[0] == 404
    assert ask("GET", "/submissions", key=other)[1]["submissions"] == []
    assert ask("DELETE", f"/submissions/{token}", fields="token") == (200, {"token": token})
    assert ask("GET", f"/submissions/{token}")[0] == 404


@check
def texts_that_are_not_utf_8_need_base64():
    body = {"source_code": "import sys; sys.stdout.buffer.write(b'\\xfe')", "language_id": 71}
    status, said = ask("POST", "/submissions", body, wait="true")
    assert status == 201 and "base64_encoded=true" in said["error"], said
    assert ask("GET", f"/submissions/{said['token']}")[0] == 400
    shown = ask("GET", f"/submissions/{said['token']}", base64_encoded="true")[1]
    assert base64.b64decode(shown["stdout"]) == b"\xfe"


@check
def large_submissions_are_shown_alone():
    large = "x" * (10 << 20)
    body = {"source_code": "print(len(input()))", "language_id": 71, "stdin": large}
    token = ask("POST", "/submissions", body, wait="true", fields="token")[1]["token"]
    assert ask("GET", f"/submissions/{token}", fields=",".join(["stdin"] * 500))[1] == {"stdin": large}
    shown = ask("GET", "/submissions/batch", tokens=",".join([token] * 2), fields="stdin")[1]["submissions"]
    assert shown == [{"stdin": large}] * 2
    many = ",".join([token] * 20)
    assert ask("GET", "/submissions/batch", tokens=many, fields="stdin")[0] == 413
    assert ask("GET", "/submissions/batch", tokens=many, fields="stdout")[1]["submissions"] == [{"stdout": f"{10 << 20}\n"}] * 20


@check
def what_is_wrong_is_said_by_field():
    status, said = ask("POST", "/submissions", {"language_id": 150000, "source_code": "x"})
    assert (status, said) == (422, {"language_id": ["language with id 150000 doesn't exist"]}), said
    status, said = ask("POST", "/submissions", {"wall_time_limit": 100000, "enable_network": True})
    assert status == 422 and set(said) == {"language_id", "source_code", "wall_time_limit", "enable_network"}, said
    batch = [{"language_id": 71, "source_code": "print(1)"}, {"language_id": 71, "source_code": ""}]
    status, said = ask("POST", "/submissions/batch", {"submissions": batch})
    assert status == 201 and "token" in said[0] and said[1] == {"source_code": ["can't be blank"]}, said
    for _ in range(600):
        shown = ask("GET", "/submissions/batch", tokens=f"{said[0]['token']},{said[0]['token'][::-1]}")[1]["submissions"]
        if shown[0]["status"]["id"] > 2:
            break
        time.sleep(0.1)
    assert shown[0]["stdout"] == "1\n" and shown[1] is None, shown
    assert ask("POST", "/submissions/batch", {"submissions": batch * 11})[0] == 400
    assert ask("GET", "/submissions/batch", tokens="")[0] == 400
    assert ask("GET", "/about", key="wrong")[0] == 401


if __name__ == "__main__":
    run_checks()
