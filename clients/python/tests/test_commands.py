"""Commands of sessions, through both clients, against a live service."""

from __future__ import annotations

import time

import anyio
import pytest
from scripted_service import ScriptedService, lines

import proofbox


def test_a_command_is_a_script_or_a_program_with_arguments(session: proofbox.Session) -> None:
    done = session.commands.run("echo out; echo err >&2; exit 3", env={"K": "v"})
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert (done.state, done.stderr_class, done.ok, done.timed_out) == ("exited", "nonzero_exit", False, False)
    done = session.commands.run(["python3", "-c", "import sys; print(sys.argv[1:])", "$HOME", "it's"])
    assert done.stdout == "['$HOME', \"it's\"]\n"
    assert (done.fuel_used or 0) > 0
    session.files.make_dir("d")
    assert session.commands.run('cat; pwd; echo "$K"', stdin="in\n", cwd="d", env={"K": "v"}).stdout == (
        "in\n/home/user/d\nv\n"
    )


def test_an_exit_code_is_a_result_unless_it_is_checked(session: proofbox.Session) -> None:
    assert session.commands.run("no-such-program").exit_code == 127
    assert session.commands.run("true", check=True).ok
    with pytest.raises(proofbox.CommandFailed, match=r"exit code 127: .*command not found") as failed:
        session.commands.run("no-such-program", check=True)
    assert failed.value.result.exit_code == 127
    done = session.commands.run("sleep 60", timeout_seconds=0.5)
    assert (done.exit_code, done.timed_out, done.stderr_class) == (124, True, "timeout")
    with pytest.raises(proofbox.CommandFailed, match="at the end of its time"):
        done.check()


def test_callbacks_are_called_while_a_command_runs(session: proofbox.Session) -> None:
    seen: list[tuple[str, float]] = []
    begun = time.monotonic()
    done = session.commands.run(
        "echo one; sleep 1; echo two; echo bad >&2",
        on_stdout=lambda text: seen.append((text, time.monotonic() - begun)),
        on_stderr=lambda text: seen.append((text, time.monotonic() - begun)),
    )
    assert [text for text, _ in seen] == ["one\n", "two\n", "bad\n"]
    assert seen[0][1] < 0.8 < seen[-1][1]
    assert (done.stdout, done.stderr) == ("one\ntwo\n", "bad\n")


def test_a_command_in_the_background_takes_input_and_is_waited_for(session: proofbox.Session) -> None:
    command = session.commands.start("read name; echo hello $name; cat")
    assert command.info.state == "running"
    command.send_input("you\n")
    heard: list[str] = []
    command.send_input("more", close=True)
    done = command.wait(on_stdout=heard.append, check=True)
    assert done.stdout == "".join(heard) == "hello you\nmore"
    assert command.output().stdout == done.stdout
    assert [info.id for info in session.commands.list()] == [command.id]
    assert session.commands.get(command.id).info.has_ended
    with pytest.raises(proofbox.Conflict):
        command.send_input("late")
    command.kill()
    command.remove()
    assert session.commands.list() == []
    with pytest.raises(proofbox.NotFound):
        command.output()


def test_a_command_is_killed(session: proofbox.Session) -> None:
    command = session.commands.start("echo begun; sleep 60")
    with pytest.raises(proofbox.DeadlineExceeded):
        command.wait(timeout=0.1)
    command.kill("SIGTERM")
    done = command.wait()
    assert (done.state, done.exit_code, done.signal) == ("killed", 143, "SIGTERM")
    with pytest.raises(proofbox.CommandFailed, match="by SIGTERM with exit code 143"):
        done.check()


def test_a_command_ends_with_its_session(client: proofbox.Client) -> None:
    session = client.session()
    command = session.commands.start("echo begun; sleep 60")
    done = command.wait(on_stdout=lambda _: session.close())
    assert (done.state, done.exit_code, done.stdout) == ("session_ended", 137, "begun\n")


def test_what_is_wrong_with_a_command_is_said(session: proofbox.Session) -> None:
    with pytest.raises(proofbox.InvalidRequest) as wrong:
        session.commands.run("true", cwd="no/such")
    assert wrong.value.field == "cwd"
    with pytest.raises(proofbox.InvalidRequest) as wrong:
        session.commands.start("true", timeout_seconds=1e9)
    assert (wrong.value.code, wrong.value.field) == ("limit_above_ceiling", "timeout_seconds")


def test_a_stream_that_breaks_off_is_no_result() -> None:
    events = [{"type": "begin", "id": "1000"}, {"type": "stdout", "text": "a"}]
    with ScriptedService(lines(*events)) as service, proofbox.Client(service.url) as client:
        session = proofbox.Session(client._transport, proofbox.SessionInfo(id="s"))
        with pytest.raises(proofbox.ConnectionFailed) as broken:
            session.commands.run("true")
        assert broken.value.may_have_run


def test_the_same_commands_in_an_event_loop(url: str) -> None:
    async def once() -> None:
        async with proofbox.AsyncClient(url) as client, client.session() as session:
            out: list[str] = []
            done = await session.commands.run("cat; echo e >&2; exit 2", stdin="a\n", on_stdout=out.append)
            assert (done.exit_code, "".join(out), done.stderr) == (2, "a\n", "e\n")
            with pytest.raises(proofbox.CommandFailed):
                await session.commands.run(["false"], check=True)
            command = await session.commands.start("cat; sleep 60")
            await command.send_input("b", close=True)
            assert (await command.output()).state == "running"
            assert [info.id for info in await session.commands.list()] == [command.id]
            await (await session.commands.get(command.id)).kill()
            assert (await command.wait()).exit_code == 137
            await command.kill()
            await command.remove()
            with anyio.move_on_after(0.5):
                await session.commands.run("sleep 60")
            with anyio.fail_after(5):
                while await session.commands.list():
                    await anyio.sleep(0.05)

    anyio.run(once)
