"""Clients of Piston, unmodified, against a running service: ultra-piston, and its WebSocket by hand. The URL of the
service is PROOFBOX_URL."""

import json
import os
import urllib.error
import urllib.request

from ultra_piston import File, PistonClient
from ultra_piston.errors import BadRequestError

BASE = os.environ["PROOFBOX_URL"] + "/piston/api/v2/"
CLIENT = PistonClient(base_url=BASE, rate_limit=0)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


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


def main():
    for function in CHECKS:
        print(function.__name__, flush=True)
        function()
    print(f"{len(CHECKS)} passed, 0 failed")


if __name__ == "__main__":
    main()
