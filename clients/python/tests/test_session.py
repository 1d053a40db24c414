"""Sessions, through both clients, against a live service."""

from __future__ import annotations

import datetime
import threading
import time
from typing import Any

import anyio
import pytest

import proofbox


def test_state_lives_between_calls(session: proofbox.Session) -> None:
    session.run("x = 1\ndef f(n): return n + x")
    done = session.run("f(41)")
    assert (done.result, done.session_id) == (42, session.id)
    assert done.execution_count == 2


def test_a_session_is_deleted_at_the_end(client: proofbox.Client) -> None:
    with client.session(labels={"for": "test"}) as session:
        assert session.info.labels == {"for": "test"}
        assert client.get_session(session.id).id == session.id
    with pytest.raises(proofbox.SessionNotFound):
        session.run("1")
    session.close()


def test_a_session_is_made_of_what_it_is_given(client: proofbox.Client) -> None:
    options: Any = {"env": {"K": "v"}, "files": {"a.txt": "é", "b.bin": b"\x00"}, "ttl_seconds": 60}
    with client.session(policy="agent", limits={"wall_seconds": 5}, **options) as session:
        code = "import os\n[os.environ['K'], open('a.txt').read(), open('b.bin', 'rb').read()]"
        assert session.run(code).check().result == ["v", "é", b"\x00"]
        assert session.info.policy == "agent"
        assert session.info.limits["wall_seconds"] == 5
        assert session.info.expires is not None
        left = session.info.expires - datetime.datetime.now(datetime.timezone.utc)
        assert 30 < left.total_seconds() <= 61
        session.set_ttl(600)
        assert session.refresh().expires is not None
        left = session.info.expires - datetime.datetime.now(datetime.timezone.utc)
        assert 500 < left.total_seconds() <= 601


def test_a_session_expires(client: proofbox.Client) -> None:
    session = client.session(ttl_seconds=1)
    time.sleep(2.5)
    with pytest.raises(proofbox.SessionNotFound):
        session.run("1")


def test_an_error_leaves_the_session_alive(session: proofbox.Session) -> None:
    session.run("x = 5")
    done = session.run("y = 1\nz = x / 0\ny = 2")
    assert (done.status, done.stderr_class) == ("error", "exception")
    assert done.error is not None
    assert (done.error.type, done.error.line) == ("ZeroDivisionError", 2)
    assert "ZeroDivisionError" in (done.error.traceback_text or "")
    assert session.run("(x, y)").check().result == (5, 1)


def test_cells_have_environment_and_limits_of_their_own(session: proofbox.Session) -> None:
    assert session.run("import os\nos.environ.get('K')", env={"K": "v"}).result == "v"
    assert session.run("os.environ.get('K')").result is None
    done = session.run("while True: pass", limits={"fuel": 10**9})
    assert done.stderr_class in ("fuel_exhausted", "timeout")


def test_results_are_asked_for(session: proofbox.Session) -> None:
    assert session.run("3", result=None).result is None
    assert session.run("3", result="last_expression").result == 3
    assert session.run(completion="Here:\n```python\n4 + 4\n```").result == 8


def test_variables_in_and_out(session: proofbox.Session) -> None:
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    session.set(data={"b": 1, "a": (2, {3})}, when=when, big="x" * (3 << 20))
    assert session.run("(data['a'][1], when.year, len(big))").check().result == ({3}, 2026, 3 << 20)
    session.run("data['c'] = b'\\x00'")
    assert list(session.get("data").items()) == [("b", 1), ("a", (2, {3})), ("c", b"\x00")]
    with pytest.raises(proofbox.CodeFailed):
        session.get("missing")


def test_variables_that_can_t_be_sent(session: proofbox.Session) -> None:
    with pytest.raises(proofbox.VariableError, match=r"'handler'.*\['f'\].*function") as refused:
        session.set(fine=1, handler={"f": lambda: 1})
    assert refused.value.name == "handler"
    assert session.run("'fine' in globals()").result is False
    for name in ("import", "a b", "x; import os"):
        with pytest.raises(proofbox.VariableError):
            session.set(**{name: 1})
        with pytest.raises(proofbox.VariableError):
            session.get(name)


def test_variables_can_be_set_after_a_restart(session: proofbox.Session) -> None:
    session.set(a=1)
    session.files.write("kept.txt", "kept")
    session.restart()
    assert session.run("'a' in globals()").check().result is False
    assert session.files.read("kept.txt") == b"kept"
    session.set(a=2)
    assert session.get("a") == 2


def test_callbacks_are_called_while_it_runs(session: proofbox.Session) -> None:
    seen: list[tuple[str, str, float]] = []
    begun = time.monotonic()

    def noted(kind: str) -> Any:
        return lambda text: seen.append((kind, text, time.monotonic() - begun))

    done = session.run(
        "import sys, time\nprint('one', flush=True)\ntime.sleep(1)\nprint('two')\nprint('bad', file=sys.stderr)\n3",
        on_stdout=noted("out"),
        on_stderr=noted("err"),
    )
    assert "".join(text for kind, text, _ in seen if kind == "out") == done.stdout == "one\ntwo\n"
    assert "".join(text for kind, text, _ in seen if kind == "err") == done.stderr == "bad\n"
    assert seen[0][2] < 0.8 < seen[-1][2]
    assert done.result == 3


def test_displays(session: proofbox.Session) -> None:
    code = "class Rich:\n    def _repr_html_(self): return '<b>1</b>'\n    def __repr__(self): return 'rich'\nRich()"
    shown: list[proofbox.Display] = []
    done = session.run(code, on_display=shown.append)
    assert [display.data["text/html"] for display in done.displays if display.is_main_result] == ["<b>1</b>"]
    assert [display.data for display in shown] == [display.data for display in done.displays]
    assert repr(done.result) == "rich"


def test_events(session: proofbox.Session) -> None:
    with session.stream("print('é')\n1 / 0") as events:
        with pytest.raises(RuntimeError, match="has not ended"):
            _ = events.answer
        kinds = [event.type for event in events]
    assert [kind for kind in kinds if kind != "begin"] == ["stdout", "error", "end"]
    assert events.answer.error is not None
    assert events.answer.error.type == "ZeroDivisionError"
    assert session.stream("1 + 1").finish().result == 2


def test_a_long_silence_is_bridged(session: proofbox.Session) -> None:
    # The connection counts as broken after `silence` seconds; the service says something before.
    with session.stream("import time\ntime.sleep(20)\n'woken'", limits={"wall_seconds": 40}, silence=16) as events:
        assert events.finish().result == "woken"


def test_leaving_a_stream_interrupts_the_code(session: proofbox.Session) -> None:
    session.run("n = 0")
    with session.stream("while True:\n    n += 1\n    if n == 1: print('begun', flush=True)") as events:
        assert next(event for event in events if event.type == "stdout").text == "begun\n"
    begun = time.monotonic()
    assert session.run("n > 0").check().result is True
    assert time.monotonic() - begun < 10


def test_a_stream_has_a_deadline(session: proofbox.Session) -> None:
    with pytest.raises(proofbox.DeadlineExceeded):
        session.run("while True: print('x')", on_stdout=lambda text: None, timeout=1)
    assert session.run("1 + 1").result == 2


def test_interrupt(session: proofbox.Session) -> None:
    assert session.interrupt() is False
    session.run("x = 1")
    interrupted: list[bool] = []

    def later() -> None:
        time.sleep(1)
        interrupted.append(session.interrupt())

    thread = threading.Thread(target=later)
    thread.start()
    done = session.run("x = 2\nwhile True: pass", limits={"wall_seconds": 20})
    thread.join()
    assert interrupted == [True]
    assert done.error is not None
    assert done.error.type == "KeyboardInterrupt"
    assert session.run("x").check().result == 2


def test_calls_to_one_session_are_served_one_after_the_other(url: str) -> None:
    async def once() -> Any:
        async with proofbox.AsyncClient(url) as client, client.session() as session:
            await session.run("n = 0")
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(session.run, "m = n\nimport time; time.sleep(0.01)\nn = m + 1")
            return await session.get("n")

    assert anyio.run(once) == 10


def test_forks_go_ways_of_their_own(session: proofbox.Session) -> None:
    session.run("x = [1]\ng = (n for n in range(9))\nnext(g)\nopen('f.txt', 'w').write('root')")
    first, second = session.fork(2)
    with first, second:
        assert first.run("x.append(2)\nopen('f.txt', 'w').write('first')\n(x, next(g))").check().result == ([1, 2], 1)
        assert second.run("(x, next(g), open('f.txt').read())").check().result == ([1], 1, "root")
        assert session.run("x").check().result == [1]
        assert len({session.id, first.id, second.id}) == 3
        first.set(y=1)
        assert first.get("y") == 1


def test_checkpoints(client: proofbox.Client, session: proofbox.Session) -> None:
    session.run("x = {'a': 1}\nopen('f.txt', 'w').write('then')")
    checkpoint = session.checkpoint("before")
    try:
        assert (checkpoint.name, checkpoint.session_id) == ("before", session.id)
        assert checkpoint.bytes > 0
        session.run("x = None\nopen('f.txt', 'w').write('now')")
        with client.session(from_checkpoint=checkpoint.id) as other:
            assert other.run("(x, open('f.txt').read())").check().result == ({"a": 1}, "then")
        session.restore(checkpoint)
        assert session.run("(x, open('f.txt').read())").check().result == ({"a": 1}, "then")
        assert checkpoint.id in {known.id for known in client.checkpoints()}
    finally:
        client.delete_checkpoint(checkpoint.id)
    with pytest.raises(proofbox.NotFound):
        session.restore(checkpoint)


def test_all_sessions_are_listed_page_by_page(client: proofbox.Client) -> None:
    made = [client.session() for _ in range(5)]
    try:
        found = [info.id for info in client.sessions(page=2)]
        assert {session.id for session in made} <= set(found)
        assert len(found) == len(set(found))
    finally:
        for session in made:
            client.delete_session(session.id)


def test_files(session: proofbox.Session) -> None:
    files = session.files
    entry = files.write("data/in put%é.txt", "one\ntwo")
    assert (entry.name, entry.kind, entry.size) == ("in put%é.txt", "file", 7)
    assert files.read_text("data/in put%é.txt") == "one\ntwo"
    assert session.run("open('data/in put%é.txt').read()").check().result == "one\ntwo"
    files.write("/tmp/x.bin", bytes(range(256)) * 5000)
    assert files.read("/tmp/x.bin") == bytes(range(256)) * 5000
    assert files.read("/tmp/x.bin", start=254, length=4) == b"\xfe\xff\x00\x01"
    assert files.read("/tmp/x.bin", start=256 * 5000 - 2) == b"\xfe\xff"
    assert files.write("empty", b"").size == 0
    assert files.read("empty") == b""
    session.run("import os; os.symlink('empty', 'link')")
    assert files.stat("link").link_target == "empty"
    assert files.stat("data").kind == "directory"


def test_directories(session: proofbox.Session) -> None:
    files = session.files
    assert files.make_dir("a/b").kind == "directory"
    files.write("a/b/c.txt", "c")
    files.write("a/d.txt", "d")
    assert {entry.name: entry.kind for entry in files.list("a")} == {"b": "directory", "d.txt": "file"}
    assert {entry.path for entry in files.list("a", depth=2)} >= {"/home/user/a/b/c.txt", "/home/user/a/d.txt"}
    assert files.move("a/d.txt", "a/b/e.txt").name == "e.txt"
    assert not files.exists("a/d.txt")
    assert files.exists("a/b/e.txt")
    with pytest.raises(proofbox.ServiceError):
        files.remove("a")
    files.remove("a", recursive=True)
    assert not files.exists("a")
    assert not [entry for entry in files.list() if entry.name == "a"]


def test_files_that_are_not_there(session: proofbox.Session) -> None:
    for act in (session.files.read, session.files.stat, session.files.list, session.files.remove):
        with pytest.raises(proofbox.NotFound) as missing:
            act("no/such/file")
        assert not isinstance(missing.value, proofbox.SessionNotFound)
    with pytest.raises(ValueError, match="empty"):
        session.files.read("")


def test_a_path_names_no_other_resource(client: proofbox.Client, session: proofbox.Session) -> None:
    with client.session() as other:
        for path in ("../" * 9, f"../../{other.id}", f"x/../../../../../sessions/{other.id}", f"//../../{other.id}"):
            with pytest.raises(proofbox.ServiceError):
                session.files.remove(path, recursive=True)
        assert other.run("1").check().result == 1
        session.files.write("a/../b?x#y", "odd")
        assert session.run("open('b?x#y').read()").check().result == "odd"


def test_changes_of_files_are_watched(session: proofbox.Session) -> None:
    session.files.make_dir("seen")
    with session.files.watch("seen", recursive=True) as watch:
        session.run("open('seen/new.txt', 'w').write('x')\nimport os; os.remove('seen/new.txt')")
        kinds = []
        for event in watch:
            assert event.path.endswith("new.txt")
            kinds.append(event.type)
            if event.type == "remove":
                break
    assert kinds[0] == "create"
    assert "write" in kinds


def test_the_same_in_an_event_loop(url: str) -> None:
    async def once() -> None:
        async with proofbox.AsyncClient(url) as client:
            async with client.session() as session:
                await session.run("x = 1")
                assert (await session.run("x + 1")).check().result == 2
                out: list[str] = []
                done = await session.run("print('a')\n7", on_stdout=out.append)
                assert ("".join(out), done.result) == ("a\n", 7)
                async with session.stream("print('b')") as events:
                    kinds = [event.type async for event in events]
                    assert [kind for kind in kinds if kind != "begin"] == ["stdout", "end"]
                    assert events.answer.ok
                await session.set(y=(1, b"2"))
                assert await session.get("y") == (1, b"2")
                await session.files.write("f", b"x")
                assert await session.files.read_text("f") == "x"
                assert await session.files.exists("f")
                assert [entry.name for entry in await session.files.list()] == ["f"]
                await session.files.move("f", "g")
                await session.files.remove("g")
                assert not await session.files.exists("g")
                assert not await session.interrupt()
                (fork,) = await session.fork()
                assert await fork.get("x") == 1
                await fork.close()
                checkpoint = await session.checkpoint()
                await session.run("x = 9")
                await session.restore(checkpoint)
                assert await session.get("x") == 1
                await client.delete_checkpoint(checkpoint.id)
                assert (await session.refresh()).id == session.id
                assert session.id in [info.id async for info in client.sessions()]
                assert (await client.get_session(session.id)).id == session.id
                await session.restart()
            with pytest.raises(proofbox.SessionNotFound):
                await session.run("1")
            lasting = await client.session()
            await client.delete_session(lasting.id)

    anyio.run(once)


def test_a_task_that_is_cancelled_interrupts_the_code(url: str) -> None:
    async def once() -> None:
        async with proofbox.AsyncClient(url) as client, client.session() as session:
            await session.run("n = 1")
            with anyio.move_on_after(1):
                await session.run("while True: pass", limits={"wall_seconds": 60})
            with anyio.fail_after(10):
                assert (await session.run("n")).check().result == 1

    anyio.run(once)
