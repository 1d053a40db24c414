"""Clients of Piston, unmodified, against a running service: ultra-piston, and its WebSocket by hand. The URL of the
service is PROOFBOX_URL."""

import json
import os
import time
import urllib.error
import urllib.request

import websockets
from checks import check, run_checks
from ultra_piston import File, PistonClient
from ultra_piston.errors import BadRequestError
from websockets.sync.client import connect

BASE = os.environ["PROOFBOX_URL"] + "/piston/api/v2/"
CLIENT = PistonClient(base_url=BASE, rate_limit=0)


def run(code, language="python", version="*", **more):
    return CLIENT.post_execute(language, version, File(name="main.py", content=code), **more)


def post(body, kind="application/json"):
    request = urllib.request.Request(BASE + "execute", json.dumps(body).encode(), {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def fields(code="", **more):
    return {"language": "python", "version": "3.x", "files": [{"content": code}], **more}


@check
def the_runtime_is_listed_and_run_by_all_its_names():
    [runtime] = CLIENT.get_runtimes()
    assert runtime.language == "python" and runtime.version.startswith("3.13."), runtime
    for name in [runtime.language, *runtime.aliases]:
        done = run("print(1)", language=name, version=runtime.version)
        assert (done.language, done.version, done.run.stdout) == ("python", runtime.version, "1\n"), done
    [package] = CLIENT.get_packages()
    assert package.installed and package.language_version == runtime.version


@check
def a_program_has_its_input_arguments_and_exit_code():
    done = run("import sys\nprint(sys.argv[1:], input())\nsys.stderr.write('e')\nsys.exit(3)", stdin="x\n", args=["a", "b c"])
    assert (done.run.stdout, done.run.stderr, done.run.code) == ("['a', 'b c'] x\n", "e", 3), done
    assert done.run.output == "['a', 'b c'] x\ne" and done.run.signal is None and done.compile is None
    assert run("import sys\nprint([input(), sys.stdin.read()])").run.stdout == "['', '']\n"
    status, done = post(fields("print(1)"))
    assert status == 200 and done["run"]["code"] == 0 and done["run"]["status"] is None, done
    assert done["run"]["memory"] > 0 and done["run"]["cpu_time"] >= 0 and done["run"]["wall_time"] >= 0
    status, done = post(fields("1 / 0"))
    assert (done["run"]["code"], done["run"]["status"]) == (1, "RE") and "ZeroDivisionError" in done["run"]["stderr"]


@check
def limits_end_programs_by_signal():
    for code in ("while True: pass", "import time; time.sleep(30)"):
        done = post(fields(code, run_timeout=500))[1]["run"]
        assert (done["code"], done["signal"], done["status"]) == (None, "SIGKILL", "TO"), done
    done = post(fields("while True: pass", run_cpu_time=300, run_timeout=5000))[1]["run"]
    assert done["status"] == "TO", done
    done = post(fields("x = bytearray(10**9)", run_memory_limit=50_000_000))[1]["run"]
    assert (done["code"], done["signal"], done["status"]) == (None, "SIGKILL", "SG"), done
    assert run("import time; time.sleep(0.5); print(1)").run.stdout == "1\n"


@check
def files_of_all_encodings_are_there():
    code = "import other\nprint(other.x, open('d/bin', 'rb').read(), open('b64').read())"
    files = [
        {"name": "main.py", "content": code},
        {"name": "other.py", "content": "x = 7", "encoding": "utf8"},
        {"name": "d/bin", "content": "00ff", "encoding": "hex"},
        {"name": "b64", "content": "aGVsbG8=", "encoding": "base64"},
    ]
    status, done = post(fields() | {"files": files})
    assert (status, done["run"]["output"]) == (200, "7 b'\\x00\\xff' hello\n"), done
    for name in ("../x", "a/../../x"):
        status, said = post(fields() | {"files": [{"content": "1"}, {"name": name, "content": "x"}]})
        assert status == 400 and "message" in said, (name, status, said)


@check
def what_is_not_here_is_refused_in_pistons_words():
    for language, version in (("javascript", "*"), ("python", "2.7.18"), ("python", "3.10.0")):
        status, said = post(fields() | {"language": language, "version": version})
        assert (status, said) == (400, {"message": f"{language}-{version} runtime is unknown"}), said
    try:
        run("1", version="4.x")
        raise AssertionError("it was run")
    except BadRequestError:
        pass
    for body, said in (
        ({}, "language is required as a string"),
        ({"language": "python"}, "version is required as a string"),
        ({"language": "python", "version": "*"}, "files is required as an array"),
        (fields("1", run_timeout="x"), "If specified, run_timeout must be a number"),
        (fields("1", run_timeout=-1), "run_timeout must be non-negative"),
    ):
        assert post(body) == (400, {"message": said}), (body, post(body))
    status, said = post(fields("1", run_timeout=10**9))
    assert status == 400 and said["message"].startswith("run_timeout cannot exceed the configured limit of "), said
    assert post(fields("1"), kind="text/html") == (415, {"message": "requests must be of type application/json"})


def socket():
    return connect(BASE.replace("http", "ws", 1) + "connect")


def said(ws, *messages):
    """Sends messages, and returns what is answered until the connection closes, and its code."""
    for message in messages:
        ws.send(message if isinstance(message, str) else json.dumps(message))
    answers = []
    try:
        while True:
            answers.append(json.loads(ws.recv(timeout=30)))
    except websockets.ConnectionClosed as closed:
        return answers, closed.rcvd.code


def output(answers, stream="stdout"):
    return "".join(answer["data"] for answer in answers if answer["type"] == "data" and answer["stream"] == stream)


@check
def a_socket_carries_output_as_it_comes():
    with socket() as ws:
        code = "import sys\nprint('a', flush=True)\nsys.stderr.write('e')\nprint(sys.argv[1:], '\u00e9')\nsys.exit(3)"
        answers, end = said(ws, {"type": "init", **fields(code, args=["x", "y z"])})
    [runtime] = CLIENT.get_runtimes()
    assert answers[0] == {"type": "runtime", "language": "python", "version": runtime.version}, answers
    assert answers[1] == {"type": "stage", "stage": "run"}, answers
    assert (output(answers), output(answers, "stderr")) == ("a\n['x', 'y z'] \u00e9\n", "e"), answers
    assert (answers[-1], end) == ({"type": "exit", "stage": "run", "code": 3, "signal": None}, 4999), answers


@check
def a_socket_talks_with_a_program():
    code = "name = input('name? ')\nprint('hello', name, flush=True)\nprint(int(input()) * 2)"
    with socket() as ws:
        ws.send(json.dumps({"type": "init", **fields(code, run_timeout=10000)}))
        seen = ""
        while "name? " not in seen:
            message = json.loads(ws.recv(timeout=30))
            seen += message["data"] if message["type"] == "data" else ""
        ws.send(json.dumps({"type": "data", "stream": "stdin", "data": "Ann\n"}))
        while "hello Ann" not in seen:
            message = json.loads(ws.recv(timeout=30))
            seen += message["data"] if message["type"] == "data" else ""
        answers, end = said(ws, {"type": "data", "stream": "stdin", "data": "21\n"})
    assert output(answers) == "42\n" and answers[-1]["code"] == 0 and end == 4999, answers


@check
def a_socket_ends_a_program():
    for more, signal in (({"run_timeout": 500}, "SIGKILL"), ({"run_timeout": 10000}, "SIGTERM")):
        with socket() as ws:
            messages = [{"type": "init", **fields("print(1, flush=True)\nwhile True: pass", **more)}]
            if signal == "SIGTERM":
                ws.send(json.dumps(messages.pop()))
                while json.loads(ws.recv(timeout=30))["type"] != "data":
                    pass
                messages = [{"type": "signal", "signal": "SIGTERM"}]
            answers, end = said(ws, *messages)
        assert answers[-1] == {"type": "exit", "stage": "run", "code": None, "signal": signal} and end == 4999, answers


@check
def files_are_beside_the_program_of_a_socket():
    files = [{"name": "main.py", "content": "import other\nprint(other.x)"}, {"name": "other.py", "content": "x = 7"}]
    with socket() as ws:
        answers, _ = said(ws, {"type": "init", **fields(), "files": files})
    assert output(answers) == "7\n", answers


@check
def what_a_socket_may_not_say_closes_it():
    slow = {"type": "init", **fields("import time; time.sleep(2)")}
    for messages, code in (
        ([{"type": "data", "stream": "stdin", "data": "x"}], 4003),
        ([{"type": "signal", "signal": "SIGINT"}], 4003),
        ([slow, slow], 4000),
        ([slow, {"type": "data", "stream": "stdout", "data": "x"}], 4004),
        ([slow, {"type": "signal", "signal": "SIGNONE"}], 4005),
        (["{"], 4002),
        ([{"type": "init", "language": "cpp", "version": "*", "files": []}], 4002),
    ):
        with socket() as ws:
            answers, end = said(ws, *messages)
        assert end == code, (messages, answers, end)
        assert (answers[-1]["type"] == "error") if code == 4002 else True, answers
    began = time.monotonic()
    with socket() as ws:
        assert said(ws) == ([], 4001)
    assert 0.9 < time.monotonic() - began < 10


if __name__ == "__main__":
    run_checks()
