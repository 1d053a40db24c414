"""What schemathesis can't do by itself: read answers in lines, and say when a route was never asked in earnest."""

import json

import jsonschema_rs
import schemathesis

# Each needs something that requests made up at random don't have: a file or a checkpoint that is there.
UNREACHED = {
    "GET /v1/sessions/{id}/files/{path}",
    "DELETE /v1/checkpoints/{id}",
    "POST /v1/sessions/{id}/restore",
}

_lines = {}


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
    """Each operation was answered 2xx at least once."""

    def __init__(self):
        self.asked, self.reached = set(), set()

    def after_response(self, ctx, response, case):
        self.asked.add(case.operation.label)
        if response.status_code < 300:
            self.reached.add(case.operation.label)

    def after_run(self, ctx):
        missed = self.asked - self.reached - UNREACHED
        assert not missed, f"never answered 2xx: {sorted(missed)}"
