"""Extensions of schemathesis: ask in earnest, read answers in lines, and report routes that were never reached."""

import json
import os

import jsonschema_rs
import schemathesis

# What is sent in earnest: strings made up at random are hardly ever Python, or the name of a file that is there.
EARNEST = {
    "POST /v1/execute": {"code": "print(1)", "tests": {"kind": "asserts", "asserts": ["assert 1"]}, "lint": True},
    "POST /v1/jobs": {"code": "print(1)"},
    "POST /v1/sessions": {"files": {"a.txt": "a"}, "idle_seconds": 600},
    "POST /v1/sessions/{id}/commands": {"command": "echo a; sleep 2", "background": True},
    "POST /v1/sessions/{id}/commands/{command_id}/input": {"data": "a"},
    "POST /v1/sessions/{id}/commands/{command_id}/signal": {"signal": "SIGTERM"},
    "POST /v1/sessions/{id}/execute": {"code": "import sys\nprint(1, file=sys.stderr)\n1 + 1"},
    "POST /v1/sessions/{id}/files": {"make_directory": "d"},
    "POST /v1/sessions/{id}/grade": {"path": "a.txt", "tests": {"kind": "asserts", "asserts": ["assert 1"]}},
    "POST /v1/suites": {"items": [{"id": "a", "code": "print(1)"}, {"id": "b", "code": "1 / 0"}], "k": [1]},
}
# Each wants a checkpoint, or a command of its session, that is there.
UNREACHED = {
    "DELETE /v1/checkpoints/{id}",
    "DELETE /v1/sessions/{id}/commands/{command_id}",
    "GET /v1/sessions/{id}/commands/{command_id}",
    "GET /v1/sessions/{id}/commands/{command_id}/output",
    "POST /v1/sessions/{id}/commands/{command_id}/input",
    "POST /v1/sessions/{id}/commands/{command_id}/signal",
    "POST /v1/sessions/{id}/restore",
}

_lines = {}


@schemathesis.hook
def before_call(ctx, case, kwargs):
    # Whoever watches a directory is told of changes until he goes.
    if case.query:
        case.query.pop("watch", None)
    if "IN_EARNEST" in os.environ:
        # One that is only cancelled is still there.
        if case.operation.label == "DELETE /v1/jobs/{id}":
            case.query = {"purge": "true"}
        if case.operation.label in EARNEST:
            case.body = EARNEST[case.operation.label]
        if "path" in (case.path_parameters or {}):
            case.path_parameters["path"] = "a.txt"


@schemathesis.check
def nothing_failed(ctx, response, case):
    """503 and 507 say what is not there, or no longer: they are in the contract."""
    assert response.status_code < 500 or response.status_code in (503, 507), f"answered {response.status_code}"


@schemathesis.check
def every_line_fits(ctx, response, case):
    """The schema of a body in lines is that of a line."""
    kind = "application/x-ndjson"
    if not response.headers.get("content-type", [""])[0].startswith(kind):
        return
    label = case.operation.label
    if label not in _lines:
        document = case.operation.schema.raw_schema
        responses = document["paths"][case.operation.path][case.method.lower()]["responses"]
        content = responses[str(response.status_code)]["content"]
        assert kind in content, f"{kind} is not documented"
        _lines[label] = jsonschema_rs.Draft202012Validator(content[kind]["schema"] | {"components": document["components"]})
    for line in response.content.splitlines():
        errors = [error.message for error in _lines[label].iter_errors(json.loads(line))]
        assert not errors, f"{line[:500]!r}: {errors[:3]}"


@schemathesis.check
class EveryRouteIsReached:
    """Check that each operation was answered 2xx at least once."""

    def __init__(self):
        self.asked, self.reached = set(), set()

    def after_response(self, ctx, response, case):
        self.asked.add(case.operation.label)
        if response.status_code < 300:
            self.reached.add(case.operation.label)

    def after_run(self, ctx):
        missed = self.asked - self.reached - UNREACHED
        assert not missed, f"never answered 2xx: {sorted(missed)}"
