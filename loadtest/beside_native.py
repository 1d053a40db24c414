"""Programs that time pieces of work, run in the sandbox and by a native Python, in turns."""

import json
import os
import subprocess
import urllib.request

ROUNDS = 2


def execute(server, body, timeout=900):
    """Answer of `POST /v1/execute` to `body`, which must have run well."""
    request = urllib.request.Request(f"{server}/v1/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        told = json.load(answer)
    if told["status"] != "ok":
        raise SystemExit(f"the sandbox said {told['error']}")
    return told


def compare(server, python, program, **more):
    """Milliseconds of each piece, natively and in the sandbox, by its name: the least of all rounds, since the machine may have
    been busy. `program` prints them as JSON; `more` are fields of the request. Natively one thread calculates, as here. A
    piece that told no number is left out, and named."""
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    here, native = [], []
    for _ in range(ROUNDS):
        here.append(json.loads(execute(server, {"code": program, **more})["stdout"]))
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=one_thread)
        native.append(json.loads(done.stdout))
    pieces = {}
    for name in here[0]:
        told = [each[name] for each in native + here]
        if failed := [each for each in told if isinstance(each, str)]:
            print(f"left out: {name}: {failed[0]}")
        else:
            pieces[name] = min(told[:ROUNDS]), min(told[ROUNDS:])
    return pieces


def print_table(pieces, digits):
    """Prints the pieces as a table, ratios with so many digits; returns the ratios."""
    print("| | native ms | sandbox ms | times |\n| --- | ---: | ---: | ---: |")
    for name, (native, here) in pieces.items():
        print(f"| {name} | {native:.2f} | {here:.2f} | {here / native:.{digits}f} |")
    return [here / native for native, here in pieces.values()]
