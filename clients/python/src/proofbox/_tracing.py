"""The caller's trace context (W3C), which goes with every call."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from .types import Execution

# Version, trace, span, flags; a later version may have more after them.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?")


def checked(traceparent: str | None) -> str | None:
    """The given header, if it is one; raises `ValueError` otherwise."""
    if traceparent is not None and not _TRACEPARENT.fullmatch(traceparent):
        raise ValueError(f"traceparent must be VERSION-TRACE-SPAN-FLAGS in lower-case hexadecimal, not {traceparent!r}")
    return traceparent


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_trace = _optional("opentelemetry.trace")
_propagation = _optional("opentelemetry.trace.propagation.tracecontext")


def headers(traceparent: str | None) -> dict[str, str]:
    """`traceparent` as it was given, else OpenTelemetry's current context, where there is one."""
    if traceparent is not None:
        return {"traceparent": traceparent}
    carrier: dict[str, str] = {}
    if _propagation is not None:
        _propagation.TraceContextTextMapPropagator().inject(carrier)
    return carrier


# What smolagents calls the execution of a step. The service's own span below it has the tool's name `python`.
_STEP = "python_interpreter"


@contextlib.contextmanager
def step(code: str, final_answer: str) -> Iterator[Callable[[Execution], None]]:
    """A span around a step of an agent, by the GenAI conventions, and what records the step's answer in it.

    `final_answer` is the exception that ends the agent's run, and is no failure. Neither code nor output nor messages
    are in the span. Without `opentelemetry-api` nothing is recorded.
    """
    if _trace is None:
        yield lambda done: None
        return
    tracer = _trace.get_tracer("proofbox")
    with tracer.start_as_current_span(
        f"execute_tool {_STEP}",
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": _STEP,
            "gen_ai.tool.type": "function",
            "proofbox.code.length": len(code),
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def fail(kind: str) -> None:
            span.set_attribute("error.type", kind)
            span.set_status(_trace.StatusCode.ERROR)

        recorded = False

        def record(done: Execution) -> None:
            nonlocal recorded
            recorded = True
            answered = done.error is not None and done.error.type == final_answer
            span.set_attributes({**_attributes(done), "proofbox.final_answer": answered})
            if not answered and not done.ok:
                fail(done.stderr_class)

        try:
            yield record
        except BaseException as error:
            if not recorded:
                fail(type(error).__qualname__)
            raise


def _attributes(done: Execution) -> dict[str, Any]:
    """Returns the attributes that a step's answer gives its span."""
    blocking = [] if done.policy is None else [found for found in done.policy.findings if found.action == "block"]
    found = {
        "gen_ai.tool.call.id": done.id,
        "proofbox.session.id": done.session_id,
        "proofbox.image_hash": done.runtime.get("image_hash"),
        "proofbox.status": done.status,
        "proofbox.stderr_class": done.stderr_class,
        "proofbox.fuel_used": done.fuel_used,
        "proofbox.policy": None if done.policy is None else done.policy.name,
        "proofbox.blocked_rules": [f"{found.scanner}/{found.rule}" for found in blocking] or None,
    }
    return {name: value for name, value in found.items() if value is not None}
