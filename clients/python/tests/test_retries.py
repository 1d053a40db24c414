"""Repetition of calls: which are repeated, which must not be, and how errors are told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from scripted_service import Act, ScriptedService, answer, hang_up, lines, refusal, silence

import proofbox

FAST = proofbox.Retries(attempts=4, first_wait=0.01, longest_wait=0.05)

OK = answer(200, {"id": "x", "status": "ok", "stdout": "1\n"})
CREATED = answer(201, {"id": "s", "state": "idle"})


class Sync:
    """Calls through the plain client."""

    def __init__(self, url: str, **options: Any) -> None:
        self.client = proofbox.Client(url, retries=options.pop("retries", FAST), **options)

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self.client, name)(*arguments, **options)


class Async:
    """The same through the one for event loops."""

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        self.options = {"retries": FAST, **options}

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        async def once() -> Any:
            async with proofbox.AsyncClient(self.url, **self.options) as client:
                return await getattr(client, name)(*arguments, **options)

        return anyio.run(once)


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Callable[..., Any]:
    chosen: Callable[..., Any] = request.param
    return chosen


@pytest.mark.parametrize(
    "refused",
    [refusal(429, "busy", retry_after="0.3"), refusal(503, "draining", retry_after="0.3")],
    ids=["busy", "draining"],
)
@pytest.mark.parametrize("name", ["execute", "session"])
def test_a_call_that_was_refused_for_now_is_sent_again_when_the_service_says(
    kind: Any, refused: Act, name: str
) -> None:
    with ScriptedService(refused, refused, CREATED if name == "session" else OK) as service:
        begun = time.monotonic()
        kind(service.url).call(name, *(["1"] if name == "execute" else []))
        assert time.monotonic() - begun >= 0.6
    assert len(service.requests) == 3
    assert service.requests[0][1] == service.requests[2][1]


def test_retry_after_may_be_a_date(kind: Any) -> None:
    with ScriptedService(refusal(429, "busy", retry_after="Sat, 01 Jan 2000 00:00:00 GMT"), OK) as service:
        kind(service.url).call("execute", "1")
    assert len(service.requests) == 2


def test_it_gives_up_after_some_tries(kind: Any) -> None:
    with ScriptedService(*[refusal(429, "busy", retry_after="0")] * 9) as service:
        with pytest.raises(proofbox.Busy) as refused:
            kind(service.url).call("execute", "1")
    assert len(service.requests) == FAST.attempts
    assert (refused.value.code, refused.value.field, refused.value.retry_after) == ("busy", "limits", 0.0)


def test_it_does_not_wait_beyond_its_deadline(kind: Any) -> None:
    with ScriptedService(refusal(429, "busy", retry_after="60")) as service:
        begun = time.monotonic()
        with pytest.raises(proofbox.Busy) as refused:
            kind(service.url, timeout=2).call("health")
        assert time.monotonic() - begun < 1
    assert refused.value.retry_after == 60


@pytest.mark.parametrize("name", ["health", "execute"])
def test_a_broken_connection_is_no_matter_where_nothing_is_changed(kind: Any, name: str) -> None:
    ok = OK if name == "execute" else answer(200, {"status": "ok"})
    with ScriptedService(hang_up, ok) as service:
        kind(service.url).call(name, *(["1"] if name == "execute" else []))
    assert len(service.requests) == 2


@pytest.mark.parametrize("act", [hang_up, refusal(500, "internal_error"), refusal(502, "x"), refusal(503, "not_ready")])
def test_what_changes_something_is_never_repeated_when_it_may_have_been_carried_out(kind: Any, act: Act) -> None:
    with ScriptedService(act, CREATED) as service:
        with pytest.raises(proofbox.ProofboxError) as failed:
            kind(service.url).call("session")
    assert len(service.requests) == 1
    if act is hang_up:
        assert isinstance(failed.value, proofbox.ConnectionFailed)
        assert failed.value.may_have_run


def test_a_service_that_is_not_there(kind: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(proofbox.ConnectionFailed, match=f"at {url}/ can't be reached") as failed:
        kind(url).call("session")
    assert not failed.value.may_have_run


def test_a_service_that_comes_up_late_is_found(kind: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    late = ScriptedService(CREATED)
    late._socket.close()

    def come_up() -> None:
        time.sleep(0.4)
        late._socket = socket.create_server(("127.0.0.1", port))
        late.__enter__()

    waiting = threading.Thread(target=come_up)
    waiting.start()
    try:
        patient = proofbox.Retries(attempts=50, first_wait=0.05, longest_wait=0.1)
        kind(f"http://127.0.0.1:{port}", retries=patient).call("session")
    finally:
        waiting.join()
        late.__exit__()


def test_503_for_good_is_not_repeated(kind: Any) -> None:
    with ScriptedService(refusal(503, "no_receipt_key", retry_after="0")) as service:
        with pytest.raises(proofbox.Unavailable):
            kind(service.url).call("execute", "1", receipt=True)
    assert len(service.requests) == 1


def test_a_silent_service_is_left_at_the_deadline(kind: Any) -> None:
    over = threading.Event()
    with ScriptedService(silence(over)) as service:
        begun = time.monotonic()
        with pytest.raises(proofbox.DeadlineExceeded, match=r"not done within 0\.5 seconds"):
            kind(service.url).call("execute", "1", timeout=0.5)
        assert time.monotonic() - begun < 3
        over.set()


def test_a_service_that_drips_is_left_at_the_deadline(kind: Any) -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        try:
            for _ in range(40):
                connection.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            pass

    with ScriptedService(drip) as service:
        begun = time.monotonic()
        with pytest.raises(proofbox.DeadlineExceeded):
            kind(service.url).call("execute", "1", timeout=0.6)
        assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, proofbox.InvalidRequest),
        (401, proofbox.Unauthenticated),
        (403, proofbox.NotAllowed),
        (404, proofbox.NotFound),
        (409, proofbox.Conflict),
        (413, proofbox.TooLarge),
        (422, proofbox.InvalidRequest),
        (500, proofbox.InternalError),
        (302, proofbox.InvalidRequest),
    ],
)
def test_each_status_has_its_exception(kind: Any, status: int, error: type[Exception]) -> None:
    body = {"error": {"code": "c", "message": "m", "field": "f", "asked": 2, "allowed": 1, "new": True}}
    with ScriptedService(answer(status, body)) as service:
        with pytest.raises(error) as refused:
            kind(service.url).call("session")
    it = refused.value
    assert isinstance(it, proofbox.ServiceError)
    assert (it.status, it.code, it.message, it.field, it.asked, it.allowed) == (status, "c", "m", "f", 2, 1)
    assert it.raw["new"] is True


def test_a_session_that_is_gone_has_its_own_exception(kind: Any) -> None:
    with ScriptedService(refusal(404, "session_not_found")) as service:
        with pytest.raises(proofbox.SessionNotFound):
            kind(service.url).call("get_session", "x")


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"error": 3}', b'{"error": {"message": null}}'])
def test_an_error_that_is_not_the_service_s_own(kind: Any, body: bytes) -> None:
    with ScriptedService(answer(404, body)) as service:
        with pytest.raises(proofbox.NotFound, match="404"):
            kind(service.url).call("runtime")


@pytest.mark.parametrize("body", [b"<html>", b"3", b"[1]", b"[" * 100_000])
def test_an_answer_that_is_not_the_contract_s(kind: Any, body: bytes) -> None:
    with ScriptedService(answer(200, body)) as service:
        with pytest.raises(proofbox.ProtocolError):
            kind(service.url).call("execute", "1")


def test_the_key_is_sent(kind: Any) -> None:
    with ScriptedService(answer(200, {"status": "ok"})) as service:
        kind(service.url, api_key="secret").call("health")
    assert "authorization: bearer secret" in service.requests[0][0].lower()


def test_fields_that_are_not_known_are_kept(kind: Any) -> None:
    with ScriptedService(answer(200, {"id": "x", "status": "ok", "novelty": [1]})) as service:
        done = kind(service.url).call("execute", "1")
    assert (done.id, done.raw["novelty"]) == ("x", [1])


def suite_of(kind: Any, url: str, items: Any) -> Any:
    if kind is Sync:
        return proofbox.Client(url, retries=FAST).suite(items, k=[1]).collect()

    async def once() -> Any:
        async with proofbox.AsyncClient(url, retries=FAST) as client, client.suite(items, k=[1]) as run:
            return await run.collect()

    return anyio.run(once)


def test_lines_end_at_a_line_feed_alone(kind: Any) -> None:
    odd = "a\u2028b\x85c\x1d\r d"
    whole = json.dumps({"id": "1", "stdout": odd}, ensure_ascii=False).encode() + b"\n"
    # A character may be cut in two, and the last line may have no end.
    with ScriptedService(lines(whole[:22], whole[22:], b'{"report": {"items": 1}}')) as service:
        answers, report = suite_of(kind, service.url, [{"id": "1"}])
    assert (answers[0].stdout, report.items) == (odd, 1)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"code": "session_not_found", "message": "gone"}, proofbox.SessionNotFound),
        ({"code": "busy", "message": "full"}, proofbox.Busy),
        ({"code": "limit_above_ceiling", "message": "m", "field": "limits.fuel"}, proofbox.InvalidRequest),
        ({"code": "internal_error", "message": "m"}, proofbox.InternalError),
        (None, proofbox.ServiceError),
    ],
)
def test_an_error_of_the_service_within_a_stream(kind: Any, fields: Any, error: type[Exception]) -> None:
    said = lines({"type": "begin"}, {"type": "stdout", "text": "x"}, {"type": "failed", "error": fields})
    info = answer(200, {"id": "s", "state": "idle"})
    with ScriptedService(info, said) as service, pytest.raises(error):
        if kind is Sync:
            proofbox.Client(service.url).get_session("s").run("1", on_stdout=lambda text: None)
        else:

            async def once() -> None:
                async with proofbox.AsyncClient(service.url) as client:
                    session = await client.get_session("s")
                    await session.run("1", on_stdout=lambda text: None)

            anyio.run(once)


def test_a_suite_that_is_cut_is_an_error(kind: Any) -> None:
    for cut in (True, False):
        with ScriptedService(lines({"id": "1", "status": "ok"}, cut=cut)) as service:
            with pytest.raises(proofbox.ConnectionFailed):
                suite_of(kind, service.url, [{"id": "1"}])


def test_a_list_of_items_is_sent_again_and_an_iterator_is_not(kind: Any) -> None:
    busy = refusal(429, "busy", retry_after="0")
    report = lines({"report": {"items": 1}})
    with ScriptedService(busy, report) as service:
        suite_of(kind, service.url, [{"id": "1", "code": "1"}])
    assert b'{"id": "1", "code": "1"}' in service.requests[1][1]
    with ScriptedService(busy, report) as service, pytest.raises(proofbox.Busy):
        suite_of(kind, service.url, iter([{"id": "1", "code": "1"}]))


def test_the_callers_trace_goes_with_every_call_and_every_try(kind: Any) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with ScriptedService(refusal(429, "busy", retry_after="0"), OK, CREATED) as service:
        calls = kind(service.url, traceparent=parent)
        calls.call("execute", "1")
        calls.call("session")
    assert [f"traceparent: {parent}\r\n" in head for head, _ in service.requests] == [True] * 3
    with ScriptedService(OK) as service:
        kind(service.url).call("execute", "1")
    assert "traceparent" not in service.requests[0][0]
