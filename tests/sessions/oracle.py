#!/usr/bin/env python3
"""Sessions against a real IPython kernel: every sequence of cells through both, compared cell by cell.

    python oracle.py --server http://127.0.0.1:8080     against a running service
    python oracle.py --native                           against the guest's Python, run natively

Needs what requirements.txt pins, and for both the same Python: that of the guest, which the runtime's recipe also builds for
this machine:

    python3 -m pip install --require-hashes --no-deps --only-binary=:all: --python-version 3.13 --target SITE -r requirements.txt
    PYTHONPATH=SITE BUILD/native/python oracle.py --server URL

Exits with 1 on any difference that differences.toml does not explain, and on any
explanation that is not needed."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 60
# What /v1 has of a message; the whole is in `traceback_text`.
MESSAGE_LIMIT = 4000
FIELDS = ("result", "displays", "error", "stdout", "stderr")
# Paths, addresses and file names of cells, which are nobody's promise.
SAME = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x…"),
    (re.compile(r"\[Errno \d+\]"), "[Errno …]"),  # the numbers are WASI's
    (re.compile(r"(?<!\S)\S*/ipykernel_\d+/\d+\.py"), "<cell>"),
    (re.compile(r"Cell In\[\d+\](?=[:,\"]| line)"), "<cell>"),
    (re.compile(r"\((?:\d+\.py|<cell>), line"), "(<cell>, line"),
)
# How long something took.
DURATION = re.compile(r"(?:(?<=user )|(?<=sys: )|(?<=Wall time: ))[\d.e+]+ \w+|(?<=total: )[\d.e+]+ \w+|[\d.e+]+ \w+(?= ± | per loop)")
# Commands write to a terminal in the kernel, and it makes each end of a line two characters.
COMMANDS = re.compile(r"!|%cat|\.system\(")
# A traceback on stderr, up to its last paragraph.
TRACEBACK = re.compile(r"-{75}\n\S+ +Traceback \(most recent call last\)\n(?:.*\n)?\n(?=\S)", re.DOTALL)


def normal(value):
    if isinstance(value, str):
        for pattern, text in SAME:
            value = pattern.sub(text, value)
        return value
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    return value


def sequences(wanted):
    """Name -> cells. A line `# %%` stands between two cells."""
    found = {}
    for file in sorted((HERE / "cells").glob("*.cells")):
        if not wanted or file.stem in wanted:
            found[file.stem] = re.split(r"^# %%\n", file.read_text("utf-8"), flags=re.MULTILINE)
            found[file.stem] = [cell.removesuffix("\n") for cell in found[file.stem] if cell]
    return found


class Kernel:
    """IPython, with nobody to answer questions."""

    def __init__(self):
        from jupyter_client.manager import KernelManager

        self._folder = tempfile.TemporaryDirectory()
        home, place = (pathlib.Path(self._folder.name, name) for name in ("home", "place"))
        home.mkdir()
        place.mkdir()
        # Not by ports, which kernels that start together may take from each other.
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(pathlib.Path(self._folder.name, "ipc")))
        self._manager.start_kernel(cwd=place, env=os.environ | {"IPYTHONDIR": str(home), "HOME": str(home), "NO_COLOR": "1"})
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=TIMEOUT)
        # Its own bytecode and colours are no part of the comparison.
        self._client.execute_interactive("%colors nocolor", silent=True, timeout=TIMEOUT)

    def run(self, code):
        seen = {"result": None, "displays": [], "error": None, "stdout": "", "stderr": ""}
        raised = []

        def hear(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                seen[content["name"]] += content["text"]
            elif kind == "execute_result":
                seen["result"] = content["data"]
            elif kind in ("display_data", "update_display_data"):
                seen["displays"].append(content["data"])
            elif kind == "error":
                raised.append(f"{content['ename']}: {content['evalue']}\n")

        reply = self._client.execute_interactive(code, allow_stdin=False, output_hook=hear, timeout=TIMEOUT)["content"]
        if reply["status"] == "error":
            seen["error"] = [reply["ename"], reply["evalue"]]
        else:
            # A formatter's: the cell has not failed.
            seen["stderr"] += "".join(raised)
        return seen

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._folder.cleanup()


class Native:
    """The guest's Python in a native one."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, HERE / "native.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self._folder.name
        )

    def run(self, code):
        self._process.stdin.write(json.dumps({"code": code}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the interpreter ended")
        seen = {"result": None, "displays": [], "error": None, "stdout": "", "stderr": ""}
        for event in json.loads(line)["events"]:
            if event[0] in ("stdout", "stderr"):
                seen[event[0]] += event[1]
            elif event[0] == "display":
                data = {mime: _as_json(mime, value) for mime, value in event[1].items()}
                if event[2]:
                    seen["result"] = data
                else:
                    seen["displays"].append(data)
            elif event[0] == "raised":
                seen["error"] = event[2:4]
        return seen

    def close(self):
        self._process.stdin.close()
        self._process.wait(TIMEOUT)
        self._process.stdout.close()
        self._folder.cleanup()


def _as_json(mime, value):
    return json.loads(value) if mime == "application/json" or mime.endswith("+json") else value


def _read(request):
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        return response.read()


class Session:
    """A session of a running service."""

    def __init__(self, server):
        self._sessions = f"{server.rstrip('/')}/v1/sessions"
        self._url = f"{self._sessions}/{self._ask('POST', self._sessions, {})['id']}"

    @staticmethod
    def _ask(method, url, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        try:
            text = _read(request)
        except urllib.error.URLError as error:
            # Where the machine was held up, the service has given up a connection on which nothing had come.
            if not isinstance(error.reason, BrokenPipeError):
                raise
            text = _read(request)
        return json.loads(text) if text else None

    def run(self, code):
        answer = self._ask("POST", f"{self._url}/execute", {"code": code, "result": None})
        if answer["status"] not in ("ok", "error"):
            raise RuntimeError(f"a cell ended with {answer['status']}: {answer}")
        shown = answer["displays"]
        error = answer["error"]
        return {
            "result": next((each["data"] for each in reversed(shown) if each["is_main_result"]), None),
            "displays": [each["data"] for each in shown if not each["is_main_result"]],
            "error": error and [error["type"], error["message"]],
            "stdout": answer["stdout"], "stderr": answer["stderr"],
        }  # fmt: skip

    def close(self):
        self._ask("DELETE", self._url)


def comparable(seen, of_kernel=None):
    """Returns what is compared: of a result or display its text and data, but of lists and dicts not the JSON that E2B
    adds."""
    seen = normal(seen)
    seen["stderr"] = TRACEBACK.sub("", seen["stderr"])
    seen["stdout"] = DURATION.sub("…", seen["stdout"])
    if of_kernel:
        error = of_kernel["error"]
        if seen["error"] and error and seen["error"][1] == error[1][:MESSAGE_LIMIT] + "…":
            seen["error"][1] = error[1]
        for ours, theirs in zip([seen["result"], *seen["displays"]], [of_kernel["result"], *of_kernel["displays"]]):
            if ours and theirs and "application/json" not in theirs:
                ours.pop("application/json", None)
    return seen


def play(cells, opened):
    try:
        return [opened.run(cell) for cell in cells]
    finally:
        opened.close()


def differences(name, cells, open_ours, expected):
    """(cell's number, field, what the kernel said, what we say, whether that is explained)"""
    of_kernel, ours = play(cells, Kernel()), play(cells, open_ours())
    for number, (theirs, own) in enumerate(zip(of_kernel, ours), 1):
        if COMMANDS.search(cells[number - 1]):
            theirs["stdout"] = theirs["stdout"].replace("\r\n", "\n")
        theirs = comparable(theirs)
        own = comparable(own, theirs)
        for field in FIELDS:
            if theirs[field] != own[field]:
                explained = expected.pop((name, number, field), None)
                yield number, field, theirs[field], own[field], explained is not None and _is_as_said(explained, own[field])


def _is_as_said(explained, own):
    if "ours" in explained:
        return own == normal(explained["ours"])
    return re.search(explained["matches"], own if isinstance(own, str) else json.dumps(own), re.DOTALL) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server")
    parser.add_argument("--native", action="store_true")
    parser.add_argument("sequence", nargs="*", help="only these")
    arguments = parser.parse_args()
    if bool(arguments.server) == arguments.native:
        parser.error("either --server or --native")
    found = sequences(arguments.sequence)
    expected = {}
    for each in tomllib.loads((HERE / "differences.toml").read_text("utf-8"))["difference"]:
        assert each["reason"] and ("ours" in each) != ("matches" in each), each
        if each["sequence"] in found:
            expected[each["sequence"], each["cell"], each["field"]] = each
    explained, failed = len(expected), 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        open_ours = Native if arguments.native else lambda: Session(arguments.server)
        played = {name: pool.submit(lambda n, c: list(differences(n, c, open_ours, expected)), name, cells) for name, cells in found.items()}
        for name, future in played.items():
            for number, field, theirs, own, known in future.result():
                if not known:
                    failed += 1
                    print(f"{name}, cell {number}, {field}:\n    {found[name][number - 1]!r}\n    kernel:  {theirs!r}\n    session: {own!r}")
    # Natively some are none: they are the platform's.
    for name, number, field in expected if arguments.server else ():
        failed += 1
        print(f"{name}, cell {number}, {field}: there is no difference to explain")
    count = sum(map(len, found.values()))
    print(f"{count} cells in {len(found)} sequences: {failed} unexplained, {explained} explained differences")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
