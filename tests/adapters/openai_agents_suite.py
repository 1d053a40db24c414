"""Does with openai-agents' unmodified E2BSandboxClient what its runner does with a sandbox; a scripted model drives
agents, with its sandboxes and with our own tools.

  pip install --require-hashes --no-deps -r tests/adapters/openai_agents.txt
  export PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/openai_agents_suite.py [pytest option ...]
"""

import io
import json
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, UserError, set_tracing_disabled
from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions, E2BSandboxSessionState
from agents.sandbox import ExecTimeoutError, LocalSnapshotSpec, Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox import WorkspaceReadNotFoundError
from agents.sandbox.entries import Dir, File
from agents.sandbox.errors import ExecNonZeroError
from agents.sandbox.session import SandboxSession
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import proofbox
from proofbox.openai_agents import session_tools

pytestmark = pytest.mark.anyio
set_tracing_disabled(True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def client() -> E2BSandboxClient:
    return E2BSandboxClient()


def options(**more: object) -> E2BSandboxClientOptions:
    return E2BSandboxClientOptions(sandbox_type="e2b", timeout=600, **more)


def manifest() -> Manifest:
    tree = Dir(children={"inner.txt": File(content=b"inner\n"), "run.py": File(content=b"print(6 * 7)\n")})
    return Manifest(
        entries={"top.txt": File(content=b"top\n"), "tree": tree, "empty": Dir()},
        environment={"value": {"GREETING": "hello world"}},
    )


@pytest.fixture
async def session(client: E2BSandboxClient) -> AsyncIterator[SandboxSession]:
    session = await client.create(manifest=manifest(), options=options())
    async with session:
        yield session


async def text(session: SandboxSession, path: str) -> str:
    return (await session.read(Path(path))).read().decode()


# ------------------------------------------------------------------ create and exec
async def test_a_manifest_becomes_files(session: SandboxSession) -> None:
    assert await session.running()
    assert await text(session, "top.txt") == "top\n"
    assert await text(session, "tree/inner.txt") == "inner\n"
    assert (await session.exec("test", "-d", "empty", shell=False)).ok()


async def test_commands_run_in_the_workspace_with_its_environment(session: SandboxSession) -> None:
    result = await session.exec('pwd; printf "%s" "$GREETING"; echo oops >&2; exit 3')
    assert (result.exit_code, result.stderr) == (3, b"oops\n")
    assert result.stdout == b"/workspace\nhello world"


async def test_words_are_literal_without_a_shell(session: SandboxSession) -> None:
    result = await session.exec("printf", "%s|", "a b", "$HOME", "*", "it's", shell=False)
    assert result.stdout == b"a b|$HOME|*|it's|"


async def test_python_runs(session: SandboxSession) -> None:
    assert (await session.exec("python3 tree/run.py")).stdout == b"42\n"


async def test_a_shell_of_ones_own(session: SandboxSession) -> None:
    assert (await session.exec("echo $((1 + 1)) {a,b}", shell=["bash", "-c"])).stdout == b"2 a b\n"


async def test_a_command_that_takes_too_long_is_a_timeout(session: SandboxSession) -> None:
    with pytest.raises(ExecTimeoutError):
        await session.exec("sleep 30", timeout=1)
    assert (await session.exec("echo on")).stdout == b"on\n"


# ------------------------------------------------------------------ files
async def test_files_are_written_and_read(session: SandboxSession) -> None:
    data = bytes(range(256)) * 4096
    await session.write(Path("deep/er/data.bin"), io.BytesIO(data))
    assert (await session.read(Path("deep/er/data.bin"))).read() == data
    assert await session.read_bounded(Path("top.txt"), max_bytes=100) == b"top\n"
    with pytest.raises(WorkspaceReadNotFoundError):
        await session.read(Path("missing.txt"))


async def test_directories_are_listed(session: SandboxSession) -> None:
    entries = {Path(entry.path).name: entry for entry in await session.ls(".")}
    assert {name for name in entries if not name.startswith(".")} == {"top.txt", "tree", "empty"}
    assert (entries["tree"].is_dir(), entries["top.txt"].is_dir(), entries["top.txt"].size) == (True, False, 4)


async def test_directories_are_made_and_removed(session: SandboxSession) -> None:
    with pytest.raises(ExecNonZeroError):
        await session.mkdir("a/b")
    await session.mkdir("a/b", parents=True)
    await session.rm("a", recursive=True)
    assert not (await session.exec("test", "-e", "a", shell=False)).ok()
    with pytest.raises(ExecNonZeroError):
        await session.rm("a")


async def test_files_are_moved_and_compared(session: SandboxSession) -> None:
    await session.mv("top.txt", "moved.txt")
    assert await text(session, "moved.txt") == "top\n"
    await session.exec("ln -s moved.txt link; ln moved.txt other")
    assert await session.same_file("moved.txt", "link")
    assert await session.same_file("moved.txt", "other", follow_symlinks=False)
    assert not await session.same_file("moved.txt", "link", follow_symlinks=False)
    with pytest.raises(ExecNonZeroError):
        await session.mv("moved.txt", "tree")
    with pytest.raises(ExecNonZeroError):
        await session.mv("tree", "elsewhere")


async def test_links_do_not_lead_out_of_the_workspace(session: SandboxSession) -> None:
    await session.exec("ln -s /etc outside; ln -s tree inside; ln -s one two; ln -s two one")
    assert await text(session, "inside/inner.txt") == "inner\n"
    for path in ("outside/passwd", "../home/user/.bashrc", "one/x"):
        with pytest.raises(Exception, match="(?i)escape|outside|workspace|depth|root"):
            await session.read(Path(path))


async def test_archives_are_extracted(session: SandboxSession) -> None:
    packed, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("d/f.txt")
        entry.size = 6
        archive.addfile(entry, io.BytesIO(b"packed"))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("d/f.txt", "zipped")
    packed.seek(0)
    zipped.seek(0)
    await session.extract("packed/a.tar.gz", packed, compression_scheme="tar")
    await session.extract("zipped/a.zip", zipped, compression_scheme="zip")
    assert [await text(session, f"{name}/d/f.txt") for name in ("packed", "zipped")] == ["packed", "zipped"]


async def test_patches_are_applied(session: SandboxSession) -> None:
    operations = [
        {"type": "create_file", "path": "new.txt", "diff": "+one\n+two\n"},
        {"type": "update_file", "path": "top.txt", "diff": "@@\n-top\n+bottom\n", "move_to": "bottom.txt"},
        {"type": "delete_file", "path": "tree/inner.txt"},
    ]
    await session.apply_patch(operations)
    assert await text(session, "bottom.txt") == "bottom\n"
    assert (await text(session, "new.txt")).split() == ["one", "two"]
    assert (await session.exec("ls top.txt tree/inner.txt")).stdout == b""


# ------------------------------------------------------------------ processes
async def test_a_process_tells_what_it_prints_while_it_runs(session: SandboxSession) -> None:
    update = await session.pty_exec_start("echo first; sleep 2; echo last", yield_time_s=0.5)
    assert (update.output, update.exit_code) == (b"first\n", None)
    assert update.process_id is not None
    update = await session.pty_write_stdin(session_id=update.process_id, chars="", yield_time_s=5)
    assert (update.output, update.exit_code) == (b"last\n", 0)


async def test_processes_end_with_the_session(session: SandboxSession) -> None:
    await session.pty_exec_start("sleep 60; touch late", yield_time_s=0.25)
    await session.pty_terminate_all()
    assert (await session.exec("ls late")).exit_code == 2


async def test_a_terminal_echoes(session: SandboxSession) -> None:
    update = await session.pty_exec_start("cat", tty=True, yield_time_s=0.5)
    assert update.process_id is not None


# ------------------------------------------------------------------ persist, hydrate, resume
@pytest.mark.parametrize("persistence", ["tar", "snapshot"])
async def test_a_workspace_is_persisted_and_hydrated(client: E2BSandboxClient, persistence: str) -> None:
    first = await client.create(manifest=manifest(), options=options(workspace_persistence=persistence))
    async with first:
        await first.exec("head -c 300000 /dev/urandom > 'a b.bin'; ln -s top.txt link; mkdir .h")
        digest = (await first.exec("sha256sum < 'a b.bin'")).stdout
        workspace = (await first.persist_workspace()).read()
    second = await client.create(manifest=Manifest(), options=options(workspace_persistence=persistence))
    async with second:
        await second.hydrate_workspace(io.BytesIO(workspace))
        assert (await second.exec("sha256sum < 'a b.bin'")).stdout == digest
        assert (await second.exec("readlink link; cat link; ls -d .h empty")).stdout == (
            b"top.txt\ntop\n.h\nempty\n"
        )


async def test_permission_bits_are_persisted(session: SandboxSession) -> None:
    await session.exec("chmod 755 tree/run.py; chmod 600 top.txt")
    with tarfile.open(fileobj=io.BytesIO((await session.persist_workspace()).read())) as archive:
        assert [archive.getmember(name).mode & 0o777 for name in ("./tree/run.py", "./top.txt")] == [0o755, 0o600]


async def test_excluded_paths_are_not_persisted(session: SandboxSession) -> None:
    await session.exec("mkdir -p cache; echo x > cache/x; echo y > 'cache file'")
    session.register_persist_workspace_skip_path("cache")
    with tarfile.open(fileobj=io.BytesIO((await session.persist_workspace()).read())) as archive:
        names = {name.removeprefix("./") for name in archive.getnames()}
    assert {"top.txt", "tree/inner.txt", "cache file"} <= names
    assert not {"cache", "cache/x"} & names


async def test_a_session_is_resumed_from_its_snapshot(client: E2BSandboxClient, tmp_path: Path) -> None:
    snapshot = LocalSnapshotSpec(base_path=tmp_path)
    first = await client.create(manifest=manifest(), snapshot=snapshot, options=options())
    async with first:
        await first.exec("echo kept > kept.txt; rm top.txt")
        payload = first.state.model_dump(mode="json")
    # The sandbox has ended; what is left is the archive.
    assert not await first.running()
    payload = first.state.model_dump(mode="json")
    state = client.deserialize_session_state(json.loads(json.dumps(payload)))
    assert isinstance(state, E2BSandboxSessionState)
    second = await client.resume(state)
    async with second:
        assert second.state.sandbox_id != payload["sandbox_id"]
        assert await text(second, "kept.txt") == "kept\n"
        assert (await second.exec("ls top.txt; echo $GREETING")).stdout == b"hello world\n"


async def test_a_paused_session_is_resumed_as_it_was(client: E2BSandboxClient, tmp_path: Path) -> None:
    snapshot = LocalSnapshotSpec(base_path=tmp_path)
    first = await client.create(manifest=manifest(), snapshot=snapshot, options=options(pause_on_exit=True))
    async with first:
        await first.exec("echo kept > kept.txt; echo outside > /tmp/outside")
    state = client.deserialize_session_state(first.state.model_dump(mode="json"))
    second = await client.resume(state)
    async with second:
        assert second.state.sandbox_id == first.state.sandbox_id
        assert await text(second, "kept.txt") == "kept\n"
        assert (await second.exec("cat /tmp/outside")).stdout == b"outside\n"
        # Its fingerprint shows that nothing has to be restored.
        assert await second._inner._can_skip_snapshot_restore_on_resume(is_running=True)
        second._inner.state.pause_on_exit = False


# ------------------------------------------------------------------ an agent
class ScriptedModel(Model):
    """Calls tools in turn, and then answers with the outputs that it was given."""

    def __init__(self, calls: list[tuple[str, dict[str, object]]]) -> None:
        self.calls = calls
        self.turn = 0
        self.tools: set[str] = set()

    async def get_response(self, system_instructions, input, model_settings, tools, *_, **__) -> ModelResponse:
        self.tools |= {tool.name for tool in tools}
        number, self.turn = self.turn, self.turn + 1
        if number < len(self.calls):
            name, arguments = self.calls[number]
            call = ResponseFunctionToolCall(
                type="function_call", name=name, call_id=f"call{number}", arguments=json.dumps(arguments)
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        outputs = [item["output"] for item in input if item.get("type") == "function_call_output"]
        answer = ResponseOutputText(type="output_text", text=json.dumps(outputs), annotations=[])
        message = ResponseOutputMessage(
            id="message", type="message", role="assistant", status="completed", content=[answer]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def test_an_agent_uses_its_tools(client: E2BSandboxClient) -> None:
    model = ScriptedModel(
        [
            ("exec_command", {"cmd": "ls && python3 tree/run.py && echo $GREETING"}),
            ("exec_command", {"cmd": "grep -rn inner . | sort; false", "workdir": "tree", "login": False}),
        ]
    )
    agent: Agent = SandboxAgent(name="agent", model=model, default_manifest=manifest())
    run = RunConfig(sandbox=SandboxRunConfig(client=client, options=options()), tracing_disabled=True)
    result = await Runner.run(agent, "go", run_config=run)
    listed, searched = json.loads(result.final_output)
    assert "exit code 0" in listed.lower() or "exited with code 0" in listed.lower()
    assert "top.txt" in listed and "42\nhello world" in listed
    assert "inner.txt:1:inner" in searched and "code 1" in searched.lower()


TESTS = b"from calc import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"
HIDDEN = {"kind": "asserts", "asserts": ["assert add(2, 3) == 5", "assert add(-1, 1) == 0"]}


async def test_an_agent_mends_a_file_and_its_sandbox_is_graded(client: E2BSandboxClient) -> None:
    model = ScriptedModel(
        [
            ("exec_command", {"cmd": "cat test_calc.py"}),
            ("exec_command", {"cmd": "printf 'def add(a, b):\\n    return a * b\\n' > calc.py"}),
            ("exec_command", {"cmd": "python3 -m pytest -q"}),
            ("exec_command", {"cmd": "sed -i 's/a [*] b/a + b/' calc.py"}),
            ("exec_command", {"cmd": "python3 -m pytest -q"}),
        ]
    )
    # Grading looks at files of the home directory.
    workspace = Manifest(root="/home/user", entries={"test_calc.py": File(content=TESTS)})
    async with await client.create(manifest=workspace, options=options()) as session:
        agent: Agent = SandboxAgent(name="agent", model=model)
        run = RunConfig(sandbox=SandboxRunConfig(session=session), tracing_disabled=True)
        outputs = json.loads((await Runner.run(agent, "go", run_config=run)).final_output)
        assert "assert add(2, 3) == 5" in outputs[0]
        assert "assert 6 == 5" in outputs[2] and "1 failed" in outputs[2]
        assert "1 passed" in outputs[4]
        # A sandbox is a session, with the same id.
        async with proofbox.AsyncClient() as service:
            graded = await service.get_session(session.state.sandbox_id)
            verdict = await graded.grade(HIDDEN, path="calc.py", visibility="hidden")
        assert (verdict.status, verdict.tests_total, verdict.integrity["level"]) == ("passed", 2, "isolated")


# ------------------------------------------------------------------ tools over a session
async def test_an_agent_mends_a_file_with_the_tools_of_a_session_and_is_graded() -> None:
    model = ScriptedModel(
        [
            ("read_file", {"path": "test_calc.py"}),
            ("write_file", {"path": "calc.py", "content": "def add(a, b):\n    return a * b\n"}),
            ("run_command", {"command": "python -m pytest -q"}),
            ("run_python", {"code": "from calc import add\nprint('out')\nadd(2, 3)"}),
            ("write_file", {"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"}),
            ("run_command", {"command": "python -m pytest -q", "timeout_seconds": 20}),
            ("run_python", {"code": "1 / 0"}),
            ("read_file", {"path": "missing.py"}),
        ]
    )
    with proofbox.Client() as service, service.session(files={"test_calc.py": TESTS}) as session:
        agent: Agent = Agent(name="agent", model=model, tools=session_tools(session))
        outputs = json.loads((await Runner.run(agent, "go")).final_output)
        assert model.tools == {"read_file", "write_file", "run_command", "run_python"}
        assert outputs[0] == TESTS.decode() and outputs[1] == "calc.py is written"
        assert outputs[2].startswith("exit code 1\n") and "assert 6 == 5" in outputs[2]
        assert outputs[3] == "out\n6\n"
        assert outputs[5].startswith("exit code 0\n") and "1 passed" in outputs[5]
        assert "ZeroDivisionError: division by zero" in outputs[6] and outputs[7].startswith("missing.py: ")
        verdict = session.grade(HIDDEN, path="calc.py", visibility="hidden")
        assert (verdict.status, verdict.tests_total, verdict.integrity.level) == ("passed", 2, "isolated")
        session.close()
        with pytest.raises(UserError) as failed:
            await Runner.run(Agent(name="agent", model=ScriptedModel(model.calls), tools=session_tools(session)), "go")
        assert isinstance(failed.value.__cause__, proofbox.SessionNotFound)


async def test_calls_of_one_message_are_carried_out_in_its_order() -> None:
    class AllAtOnce(ScriptedModel):
        async def get_response(self, system_instructions, input, *arguments, **options) -> ModelResponse:
            answers = []
            while len(answers) < len(self.calls) and self.turn < len(self.calls):
                answers += (await super().get_response(system_instructions, input, *arguments, **options)).output
            if answers:
                return ModelResponse(output=answers, usage=Usage(), response_id=None)
            return await super().get_response(system_instructions, input, *arguments, **options)

    # Each takes less time than the one before.
    codes = [f"sum(range({3 * 10**5 * (8 - n)})); print({n}, file=open('order', 'a'))" for n in range(8)]
    with proofbox.Client() as service, service.session() as session:
        model = AllAtOnce([("run_python", {"code": code}) for code in codes])
        await Runner.run(Agent(name="agent", model=model, tools=session_tools(session)), "go")
        assert session.files.read_text("order").split() == [str(number) for number in range(8)]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
