"""Runs inspect-ai's checks of sandboxes (`self_check`) over `proofbox.inspect`, calls its tools in it, evaluates agents
whose model is scripted, and follows the guide, with the package installed as users install it.

  pip install --require-hashes --no-deps -r tests/adapters/inspect_ai.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/inspect_ai_suite.py [pytest option ...]
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolError, bash, grep, list_files, python, read_file
from inspect_ai.util import SandboxEnvironmentSpec, SandboxUnavailableError
from inspect_ai.util._sandbox.context import sandbox_default_context_var, sandbox_environments_context_var
from inspect_ai.util._sandbox.self_check import *  # noqa: F403
from pages import DOCS, follow, run, shows

from proofbox import AsyncClient
from proofbox.inspect import ProofboxSandboxConfig, ProofboxSandboxEnvironment, hidden_tests

pytestmark = pytest.mark.anyio

# Checks that can't hold yet, and why.
KNOWN = {"test_exec_as_user": "there is one user for commands, and no program that makes others"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest) -> AsyncIterator[ProofboxSandboxEnvironment]:
    if reason := KNOWN.get(request.node.originalname):
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    environment = await ProofboxSandboxEnvironment.open()
    yield environment
    await environment.close()


async def test_tools_work(sandbox_env: ProofboxSandboxEnvironment) -> None:
    sandbox_environments_context_var.set({"default": sandbox_env})
    sandbox_default_context_var.set("default")
    assert await bash()(command="mkdir -p a/b; seq 30 > a/n.txt; echo hi > a/b/x.py; echo done") == "done\n"
    assert await python()(code="print(sum(map(int, open('a/n.txt'))))") == "465\n"
    assert await read_file()(file_path="a/n.txt", offset=5, limit=2) == "6\t6\n7\t7"
    assert await grep()(pattern="^1[0-1]", path="a") == "a/n.txt:10:10\na/n.txt:11:11"
    assert sorted((await list_files()(path="a", depth=2)).split()) == ["a/b", "a/b/x.py", "a/n.txt"]
    with pytest.raises(ToolError):
        await read_file()(file_path="missing")


# ------------------------------------------------------------------ the provider's own promises
async def test_a_command_ends_at_the_limit_of_its_session() -> None:
    environment = await ProofboxSandboxEnvironment.open(ProofboxSandboxConfig(limits={"wall_seconds": 1}))
    try:
        for timeout in (None, 9999):
            with pytest.raises(TimeoutError, match="longer than 1 seconds"):
                await environment.exec(["sleep", "30"], timeout=timeout)
    finally:
        await environment.close()


async def test_a_command_that_is_refused_has_failed(sandbox_env: ProofboxSandboxEnvironment) -> None:
    for command in (["echo", "\0"], ["echo", "x" * (8 << 20)], []):
        done = await sandbox_env.exec(command)
        assert not done.success and done.returncode == 126 and done.stderr, command


async def test_a_sandbox_that_is_gone_is_unavailable(sandbox_env: ProofboxSandboxEnvironment) -> None:
    await sandbox_env.session.close()
    for call in (sandbox_env.exec(["true"]), sandbox_env.read_file("x"), sandbox_env.write_file("x", "")):
        with pytest.raises(SandboxUnavailableError):
            await call


async def test_sessions_that_evaluations_have_left_are_cleaned_up() -> None:
    left = await ProofboxSandboxEnvironment.open(task_name="t" * 1000)
    async with AsyncClient() as client, client.session() as other:
        await ProofboxSandboxEnvironment.cli_cleanup(None)
        there = [info.id async for info in client.sessions()]
        assert other.id in there and left.session.id not in there
        again = await ProofboxSandboxEnvironment.open()
        await ProofboxSandboxEnvironment.cli_cleanup(again.session.id)
        assert again.session.id not in [info.id async for info in client.sessions()]
    await left.close()
    await again.close()


async def test_a_configuration_is_kept_in_logs_and_sets() -> None:
    config = ProofboxSandboxConfig(env={"A": "b"}, limits={"fuel": 10**9})
    assert ProofboxSandboxEnvironment.config_deserialize(config.model_dump()) == config
    assert len({SandboxEnvironmentSpec("proofbox", config), SandboxEnvironmentSpec("proofbox", config)}) == 1
    with pytest.raises(ValueError):
        ProofboxSandboxConfig(imgae="typo")
    for other in ("compose.yaml", SandboxEnvironmentSpec("docker")):
        with pytest.raises(ValueError, match="ProofboxSandboxConfig"):
            await ProofboxSandboxEnvironment.open(other)


# ------------------------------------------------------------------ evaluations
TESTS = """
from solution import double

def test_four():
    assert double(4) == 8

def test_five():
    assert double(5) == 10
"""
WRONG = "def double(x): return x * x // 2"


def evaluate(commands: Sequence[str], folder: Path, tests: object = TESTS) -> EvalSample:
    """Evaluates an agent that runs these commands one after the other, and then answers with their outputs."""

    def output(messages: list[ChatMessage], *_: object) -> ModelOutput:
        outputs = [message.text for message in messages if message.role == "tool"]
        if len(outputs) < len(commands):
            made = ModelOutput.for_tool_call("mockllm", "bash", {"command": commands[len(outputs)]})
        else:
            made = ModelOutput.from_content("mockllm", "".join(outputs))
        # Otherwise it is counted with a file from the network.
        made.usage = ModelUsage()
        return made

    task = Task(
        dataset=[
            Sample(input="Write double(x).", files={"notes.txt": "twice"}, metadata={"tests": tests} if tests else {})
        ],
        solver=[use_tools(bash(timeout=60)), generate()],
        scorer=hidden_tests(),
        sandbox="proofbox",
    )
    model = get_model("mockllm/model", custom_outputs=output)
    [log] = inspect_eval(task, model=model, display="none", log_dir=str(folder))
    assert log.status == ("success" if tests else "error"), log.error
    assert log.samples
    return log.samples[0]


def test_an_agent_is_graded_by_tests_that_it_can_not_see(tmp_path: Path) -> None:
    sample = evaluate(
        [
            f"cat notes.txt; echo '{WRONG}' > solution.py; python3 -c 'import solution; print(solution.double(4))'",
            "sed -i 's|x // 2|2|' solution.py; python3 -c 'import solution; print(solution.double(5))'; ls -a . /tmp",
        ],
        tmp_path,
    )
    assert sample.output.completion.startswith("twice8\n10\n") and "test" not in sample.output.completion
    score = (sample.scores or {})["hidden_tests"]
    assert (score.value, score.answer) == ("C", "def double(x): return x * 2\n")
    assert score.explanation == "2 of 2 hidden tests passed (none)"
    assert score.metadata and score.metadata["integrity"]["level"] == "isolated"


@pytest.mark.parametrize(
    "command, explanation",
    [
        ("echo 'def double(x): return x + x' > solution.py", "2 of 2 hidden tests passed (none)"),
        (f"echo '{WRONG}' > solution.py", "1 of 2 hidden tests passed (assertion_failure)"),
        ("true", "solution.py"),
        ("printf '\\377' > solution.py", "UTF-8"),
    ],
)
def test_what_an_agent_leaves_is_scored(tmp_path: Path, command: str, explanation: str) -> None:
    score = (evaluate([command], tmp_path).scores or {})["hidden_tests"]
    assert explanation in (score.explanation or "")
    assert score.value == ("C" if explanation.startswith("2") else "I")


def test_a_sample_without_tests_is_an_error(tmp_path: Path) -> None:
    sample = evaluate(["true"], tmp_path, tests=None)
    assert sample.error and "has no metadata['tests']" in sample.error.message


# ------------------------------------------------------------------ the package and the guide
@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a search path with the client as users install it: Inspect finds the provider by its entry point."""
    site, client = tmp_path_factory.mktemp("site"), DOCS.parent / "clients/python"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", site, client], check=True, timeout=120)
    return os.pathsep.join([str(site), *(path for path in sys.path if Path(path) != client / "src")])


def test_the_guide_shows_what_inspect_prints(installed: str, tmp_path: Path) -> None:
    assert follow("how-to/run-inspect-evaluations.md", tmp_path, PYTHONPATH=installed) == 1


PLAIN = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

@solver
def platform():
    async def solve(state, generate):
        state.output.completion = (await sandbox().exec(["python3", "-c", "import sys; print(sys.platform)"])).stdout
        return state
    return solve

@task
def plain():
    return Task(dataset=[Sample(input="Where?", target="wasi")], solver=platform(), scorer=includes())
"""


def test_inspect_finds_the_sandbox_by_its_name(installed: str, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    environment = {"PYTHONPATH": installed}
    printed = run(
        "inspect eval plain.py --sandbox proofbox --model mockllm/model --display plain", tmp_path, environment
    )
    assert shows(printed, "includes\naccuracy 1.000\n", shortened=True), printed
    run("inspect sandbox cleanup proofbox", tmp_path, environment)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
