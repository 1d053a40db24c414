"""Follows the spans of the Python client, of smolagents' agents and of the service to one collector, with OpenTelemetry's
SDK and exporter and traceAI's instrumentor unmodified.

  pip install --require-hashes --no-deps -r tests/adapters/traces.txt
  PROOFBOX_OTLP_ENDPOINT=http://127.0.0.1:4318 proofbox serve
  PROOFBOX_URL=http://127.0.0.1:8080 OTLP_ENDPOINT=http://127.0.0.1:4318 PYTHONPATH=clients/python/src \
    python3 tests/adapters/traces_suite.py [pytest option ...]
"""

import asyncio
import gzip
import http.server
import os
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from smolagents import CodeAgent
from smolagents.models import ChatMessage, Model
from traceai_smolagents import SmolagentsInstrumentor

import proofbox
from proofbox.smolagents import ProofboxAgent, ProofboxExecutor

ENDPOINT = os.environ["OTLP_ENDPOINT"]
# Stands in code, output and messages, and must be in no span.
MARK = "LOUDMARK"


class Collector(http.server.ThreadingHTTPServer):
    """A receiver of OTLP over HTTP, as protobuf, for the client's spans and the service's."""

    def __init__(self) -> None:
        address = urllib.parse.urlsplit(ENDPOINT)
        super().__init__((str(address.hostname), int(address.port or 4318)), Receiver)
        self.spans: list[Span] = []
        self.raw = b""

    def of_trace(self, trace_id: str) -> dict[str, Span]:
        """The spans of a trace by their ids, once no more come."""
        found: dict[str, Span] = {}
        for _ in range(60):
            known = len(found)
            time.sleep(0.5)
            found = {span.span_id.hex(): span for span in self.spans if span.trace_id.hex() == trace_id}
            if known == len(found) > 0:
                break
        return found


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        self.server.raw += body
        self.server.spans += [
            span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
        ]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keeps the server's log lines out of the output."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        yield collector
        collector.shutdown()


@pytest.fixture(scope="module")
def tracer(collector: Collector) -> trace.Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{ENDPOINT}/v1/traces")))
    trace.set_tracer_provider(provider)
    return trace.get_tracer("the caller")


def attributes(span: Span) -> dict[str, Any]:
    return {
        pair.key: [item.string_value for item in pair.value.array_value.values]
        if pair.value.WhichOneof("value") == "array_value"
        else getattr(pair.value, pair.value.WhichOneof("value"))
        for pair in span.attributes
    }


def line(spans: dict[str, Span], span: Span) -> list[Span]:
    """A span and those above it, innermost first."""
    found = [span]
    while (above := spans.get(found[-1].parent_span_id.hex())) is not None:
        found.append(above)
    return found


def path(spans: dict[str, Span], span: Span) -> list[str]:
    """The names of a span and of those above it, innermost first."""
    return [span.name for span in line(spans, span)]


def named(spans: dict[str, Span], name: str) -> list[Span]:
    return sorted((span for span in spans.values() if span.name == name), key=lambda span: span.start_time_unix_nano)


def trace_of(span: trace.Span) -> str:
    return format(span.get_span_context().trace_id, "032x")


def test_calls_are_in_the_trace_of_their_caller(collector: Collector, tracer: trace.Tracer) -> None:
    async def both() -> None:
        async with proofbox.AsyncClient() as client, client.session() as session:
            await session.run("1")

    with proofbox.Client() as client:
        with tracer.start_as_current_span("a task") as span:
            client.execute("print(1)")
            asyncio.run(both())
    spans = collector.of_trace(trace_of(span))
    run = [path(spans, span) for span in named(spans, "execute_tool python")]
    assert sorted(run) == [
        ["execute_tool python", "POST /v1/execute", "a task"],
        ["execute_tool python", "POST /v1/sessions/{id}/execute", "a task"],
    ]
    assert path(spans, named(spans, "DELETE /v1/sessions/{id}")[0])[1:] == ["a task"]


def test_a_traceparent_that_is_given_goes_before(collector: Collector, tracer: trace.Tracer) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with proofbox.Client(traceparent=given) as client, tracer.start_as_current_span("a task"):
        client.execute("print(1)")
    spans = collector.of_trace("0af7651916cd43dd8448eb211c80319c")
    assert named(spans, "POST /v1/execute")[0].parent_span_id.hex() == "b7ad6b7169203331"
    for wrong in ("", "00-0-0-01", given.upper(), given + "\r\nX: y", "00-" + "0" * 32 + "-b7ad6b7169203331-01"):
        with pytest.raises(ValueError, match="traceparent"):
            proofbox.Client(traceparent=wrong)


def test_without_a_span_the_service_begins_the_trace(collector: Collector, tracer: trace.Tracer) -> None:
    labels = {"marker": os.urandom(8).hex()}
    with proofbox.Client() as client:
        client.execute("print(1)", labels=labels)
    for _ in range(100):
        ours = [span for span in collector.spans if attributes(span).get("proofbox.label.marker") == labels["marker"]]
        if ours:
            break
        time.sleep(0.05)
    spans = collector.of_trace(ours[0].trace_id.hex())
    assert path(spans, ours[0]) == ["execute_tool python", "POST /v1/execute"]
    assert not named(spans, "POST /v1/execute")[0].parent_span_id


class Scripted(Model):
    def __init__(self, steps: list[str]) -> None:
        super().__init__(model_id="scripted")
        self.steps = iter(steps)

    def generate(self, messages: list[Any], **options: Any) -> ChatMessage:
        return ChatMessage(role="assistant", content=f"<code>\n{next(self.steps)}\n</code>")


STEPS = [
    f"x = 2\nprint('{MARK}')",
    f"raise ValueError('{MARK}')",
    f"import socket  # {MARK}",
    "import pandas_that_is_not_there",
    f"final_answer(['{MARK}', x])",
]


def check_steps(spans: dict[str, Span], above: str) -> None:
    """The spans of STEPS."""
    steps = named(spans, "execute_tool python_interpreter")
    shown = [attributes(step) for step in steps]
    assert [step["proofbox.code.length"] for step in shown] == [len(code) for code in STEPS]
    classes = ["none", "exception", "policy_blocked", "missing_dependency"]
    assert [step["proofbox.stderr_class"] for step in shown[:4]] == classes
    assert [step.get("error.type") for step in shown] == [None, *classes[1:], None]
    assert [step.status.code == Status.STATUS_CODE_ERROR for step in steps] == [False, True, True, True, False]
    assert [step["proofbox.final_answer"] for step in shown] == [False, False, False, False, True]
    assert shown[2]["proofbox.status"] == "blocked" and shown[2]["proofbox.policy"] == "eval"
    assert shown[2]["proofbox.blocked_rules"] and all("/" in rule for rule in shown[2]["proofbox.blocked_rules"])
    assert all("proofbox.blocked_rules" not in step for number, step in enumerate(shown) if number != 2)
    for step, fields in zip(steps, shown, strict=True):
        assert fields["gen_ai.operation.name"] == "execute_tool"
        assert fields["gen_ai.tool.name"] == "python_interpreter"
        assert len({step["proofbox.session.id"] for step in shown}) == 1
        assert len(fields["proofbox.image_hash"]) >= 16 and fields["proofbox.fuel_used"] >= 0
        assert above in path(spans, step)
        # The service's span of the same execution is below, over the request's.
        below = [span for span in named(spans, "execute_tool python") if step in line(spans, span)]
        assert len(below) == 1 and path(spans, below[0])[1] == "POST /v1/sessions/{id}/execute"
        assert attributes(below[0])["proofbox.execution.id"] == fields["gen_ai.tool.call.id"]


def test_each_step_of_an_agent_is_a_span(collector: Collector, tracer: trace.Tracer) -> None:
    executor = ProofboxExecutor(policy="eval")
    with tracer.start_as_current_span("a task") as span:
        with CodeAgent(tools=[], model=Scripted(STEPS), executor=executor, verbosity_level=-1) as agent:
            assert agent.run("go") == [MARK, 2]
    spans = collector.of_trace(trace_of(span))
    check_steps(spans, "a task")


def test_a_step_that_could_not_be_run_is_an_error(collector: Collector, tracer: trace.Tracer) -> None:
    with proofbox.Client() as client, client.session() as session, tracer.start_as_current_span("a task") as span:
        executor = ProofboxExecutor(client=client, session=session)
        session.close()
        with pytest.raises(proofbox.SessionNotFound):
            executor(MARK)
    spans = collector.of_trace(trace_of(span))
    [step] = named(spans, "execute_tool python_interpreter")
    assert attributes(step)["error.type"] == "SessionNotFound" and step.status.code == Status.STATUS_CODE_ERROR


def test_with_the_instrumentor_of_httpx_its_span_is_between(collector: Collector, tracer: trace.Tracer) -> None:
    HTTPXClientInstrumentor().instrument()
    try:
        with tracer.start_as_current_span("a task") as span, proofbox.Client() as client:
            client.execute("print(1)")
    finally:
        HTTPXClientInstrumentor().uninstrument()
    spans = collector.of_trace(trace_of(span))
    [run] = named(spans, "execute_tool python")
    assert path(spans, run) == ["execute_tool python", "POST /v1/execute", "POST", "a task"]


def test_nothing_that_ran_or_was_printed_is_in_a_span(collector: Collector, tracer: trace.Tracer) -> None:
    assert len(collector.spans) > 50
    assert MARK.encode() not in collector.raw


def test_traceais_run_of_an_agent_has_its_steps(collector: Collector, tracer: trace.Tracer) -> None:
    SmolagentsInstrumentor().instrument(tracer_provider=trace.get_tracer_provider())
    try:
        options = {"executor_kwargs": {"policy": "eval"}, "verbosity_level": -1}
        with tracer.start_as_current_span("a task") as span:
            with ProofboxAgent(tools=[], model=Scripted(STEPS), **options) as agent:
                assert agent.run("go") == [MARK, 2]
    finally:
        SmolagentsInstrumentor().uninstrument()
    spans = collector.of_trace(trace_of(span))
    check_steps(spans, "ProofboxAgent.run")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
