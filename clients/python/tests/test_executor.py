"""The executor by itself: packages, tools, variables, errors, images, cleanup."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import PIL.Image
import pytest
from scripted_agent import ScriptedModel, Till, agent_with, area, steps_of
from smolagents import ActionStep, AgentLogger, CodeAgent, LogLevel, Tool
from smolagents.default_tools import FinalAnswerTool
from smolagents.local_python_executor import CodeOutput
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

import proofbox
from proofbox.smolagents import MissingModules, ProofboxAgent, ProofboxExecutor, ToolError, _without_unused_imports


@pytest.fixture
def executor(url: str) -> Iterator[ProofboxExecutor]:
    with ProofboxExecutor(url=url) as executor:
        yield executor


def failing(executor: ProofboxExecutor, code: str) -> str:
    """The message that the model would read."""
    with pytest.raises(AgentError) as failed:
        executor(code)
    return str(failed.value)


def test_it_is_a_remote_executor_as_smolagents_expects_one(url: str) -> None:
    # As smolagents makes its own: imports and logger by place.
    executor = ProofboxExecutor(["math"], AgentLogger(level=LogLevel.OFF), url=url)
    assert isinstance(executor, RemotePythonExecutor)
    assert executor.installed_packages == ["math"]
    assert executor("print('hi')\n1 + 1") == CodeOutput(output=2, logs="hi\n", is_final_answer=False)
    assert executor.run_code_raise_errors("x = 1").output is None
    executor.cleanup()


def test_the_session_starts_with_the_first_call(client: proofbox.Client) -> None:
    before = {info.id for info in client.sessions()}
    executor = ProofboxExecutor(client=client)
    assert {info.id for info in client.sessions()} <= before
    executor("1")
    assert executor.session.id in {info.id for info in client.sessions()}
    executor.cleanup()
    executor.cleanup()
    assert executor("1 + 1").output == 2
    executor.cleanup()


def test_a_session_that_is_given_is_left_alone(session: proofbox.Session) -> None:
    session.run("x = 5")
    with ProofboxExecutor(client=None, session=session) as executor:
        executor.send_tools({"area": area})
        assert executor("x + area(2.0, 3.0)").output == 11.0
    assert session.run("x").check().result == 5


def test_a_session_is_made_of_the_executor_s_options(url: str) -> None:
    options: Any = {"env": {"K": "v"}, "files": {"in.txt": "text"}, "labels": {"agent": "a"}, "ttl_seconds": 60}
    with ProofboxExecutor(url=url, policy="agent", limits={"wall_seconds": 7}, **options) as executor:
        assert executor("import os\n[os.environ['K'], open('in.txt').read(), os.listdir()]").output == [
            "v",
            "text",
            ["in.txt"],
        ]
        info = executor.session.info
        assert (info.policy, info.limits["wall_seconds"], info.labels) == ("agent", 7, {"agent": "a"})


# Packages


def test_what_is_missing_is_named_at_once(url: str) -> None:
    with pytest.raises(MissingModules) as missing:
        ProofboxExecutor(["math", "nonesuch>=1.2", "os.path", "Another-One[x]"], url=url)
    assert missing.value.modules == ["Another-One[x]", "nonesuch>=1.2"]
    assert "nothing can be installed" in str(missing.value)
    assert "CPython 3." in str(missing.value)
    assert isinstance(missing.value, ModuleNotFoundError)


def test_all_imports_may_be_allowed(url: str) -> None:
    executor = ProofboxExecutor(["*", "json"], url=url)
    assert executor.installed_packages == ["json"]


def test_a_missing_module_in_a_step_is_explained(executor: ProofboxExecutor) -> None:
    said = failing(executor, "x = 1\nimport nonesuch.part")
    assert "line 2, `import nonesuch.part`" in said
    assert "ModuleNotFoundError" in said
    assert "Hint: module 'nonesuch' is not in the sandbox" in said


# Tools


class NeedsPackage(Tool):  # type: ignore[misc]
    name = "needs_package"
    description = "Uses a package."
    inputs: dict[str, Any] = {}  # noqa: RUF012
    output_type = "string"

    def forward(self) -> str:
        import nonesuch

        return str(nonesuch.thing)


class ImportsSmolagents(Tool):  # type: ignore[misc]
    name = "imports_smolagents"
    description = "Uses smolagents itself."
    inputs: dict[str, Any] = {}  # noqa: RUF012
    output_type = "string"

    def forward(self) -> str:
        import smolagents
        from smolagents import Tool
        from smolagents.tools import tool

        return f"{Tool.__name__} {tool.__name__} {smolagents.Tool is Tool}"


class NeedsArguments(Tool):  # type: ignore[misc]
    name = "needs_arguments"
    description = "Can't be made again from its source."
    inputs: dict[str, Any] = {}  # noqa: RUF012
    output_type = "string"

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    def forward(self) -> str:
        return self.word


def test_tools_are_defined_from_their_source(executor: ProofboxExecutor) -> None:
    executor.send_tools({"area": area, "till": Till()})
    assert executor("area(3.0) + till(2)").output == 8.0


def test_tools_that_import_smolagents_find_what_they_need(executor: ProofboxExecutor) -> None:
    executor.send_tools({"imports_smolagents": ImportsSmolagents()})
    assert executor("imports_smolagents()").output == "Tool tool True"
    assert "not available in the sandbox" in failing(executor, "from smolagents import CodeAgent")


def test_a_tool_that_needs_a_missing_package_is_named(executor: ProofboxExecutor) -> None:
    with pytest.raises(
        MissingModules, match=r"'needs_package' can't be sent: nonesuch is not in the sandbox"
    ) as missing:
        executor.send_tools({"area": area, "needs_package": NeedsPackage()})
    assert missing.value.modules == ["nonesuch"]


def test_tools_whose_source_can_t_be_had_are_named(executor: ProofboxExecutor) -> None:
    # As one that was typed into a plain interpreter.
    unseen = type("Unseen", (ImportsSmolagents,), {"name": "unseen", "forward": eval("lambda self: 'x'")})
    with pytest.raises(ToolError, match=r"'unseen'.*source") as refused:
        executor.send_tools({"unseen": unseen()})
    assert refused.value.tool == "unseen"
    with pytest.raises(ToolError, match=r"(?s)'needs_arguments'.*word"):
        executor.send_tools({"needs_arguments": NeedsArguments("w")})


def test_a_managed_agent_is_refused_by_name(executor: ProofboxExecutor, url: str) -> None:
    helper = agent_with(ProofboxExecutor(url=url), ["final_answer(1)"], name="helper", description="Helps.")
    boss = agent_with(executor, ["final_answer(2)"], managed_agents=[helper])
    with pytest.raises(ToolError, match=r"'helper'.*CodeAgent"):
        boss.run("task")


def test_tools_keep_their_state_over_runs_and_come_back_when_overwritten(executor: ProofboxExecutor) -> None:
    tools = {"till": Till()}
    executor.send_tools(tools)
    executor("till(3)\ntill = None")
    executor.send_tools(tools)
    assert executor("till(4)").output == 7


def test_the_agent_s_own_tools_stay_as_they_are(executor: ProofboxExecutor) -> None:
    agent = agent_with(executor, ["final_answer(1)"])
    before = type(agent.tools["final_answer"])
    agent.run("task")
    assert type(agent.tools["final_answer"]) is before
    assert agent.tools["final_answer"]("still works") == "still works"


def test_other_remote_executors_of_the_process_do_no_harm(executor: ProofboxExecutor) -> None:
    # What smolagents' E2BExecutor and the like do at the beginning of each run.
    patched = FinalAnswerTool()
    RemotePythonExecutor([], AgentLogger(level=LogLevel.OFF))._patch_final_answer_with_exception(patched)
    assert agent_with(executor, ["final_answer(3)"]).run("task") == 3
    with pytest.raises(ToolError, match=r"another remote executor"):
        executor.send_tools({"final_answer": patched})


def test_a_final_answer_tool_of_one_s_own(executor: ProofboxExecutor) -> None:
    class Signed(Tool):  # type: ignore[misc]
        name = "final_answer"
        description = "Signs the answer."
        inputs = {"answer": {"type": "any", "description": "the answer"}}  # noqa: RUF012
        output_type = "any"

        def forward(self, answer: Any) -> Any:
            return {"signed": answer}

    executor.send_tools({"final_answer": Signed()})
    done = executor("final_answer([1])")
    assert (done.output, done.is_final_answer) == ({"signed": [1]}, True)


# Variables


def test_variables_both_ways(executor: ProofboxExecutor) -> None:
    executor.send_variables({})
    executor.send_variables({"a": {(1, 2): {3}}, "b": b"\x00" * (3 << 20), "n": None})
    assert executor("a[(1, 2)].add(4)\nlen(b), n").output == (3 << 20, None)
    assert executor.get_variable("a") == {(1, 2): {3, 4}}


def test_a_variable_that_can_t_be_sent_is_named(executor: ProofboxExecutor) -> None:
    with pytest.raises(proofbox.VariableError, match=r"'callback'.*\['deep'\]\[0\].*function"):
        executor.send_variables({"fine": 1, "callback": {"deep": [print, lambda: 1]}})
    assert executor("'fine' in globals()").output is False


def test_an_image_needs_pillow_in_the_sandbox(executor: ProofboxExecutor, client: proofbox.Client) -> None:
    image = PIL.Image.new("RGB", (2, 2), (1, 2, 3))
    if "PIL" in client.runtime().modules or "pillow" in client.runtime().packages:
        executor.send_variables({"image": image})
        assert executor("image.size").output == (2, 2)
        returned = executor("image").output
        assert returned.getpixel((0, 0)) == (1, 2, 3)
    else:
        with pytest.raises(proofbox.VariableError, match=r"'image'.*Pillow"):
            executor.send_variables({"image": image})


def test_a_displayed_image_is_the_output(executor: ProofboxExecutor) -> None:
    code = (
        "import base64\nclass Picture:\n    def _repr_png_(self):\n"
        "        return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
        "awAAAABJRU5ErkJggg==')\nPicture()"
    )
    output = executor(code).output
    assert isinstance(output, PIL.Image.Image)
    assert output.size == (1, 1)


def test_pickle_is_never_loaded(executor: ProofboxExecutor) -> None:
    with pytest.raises(TypeError):
        ProofboxExecutor(allow_pickle=True)  # type: ignore[call-arg]
    code = "class FinalAnswerException(BaseException): pass\nraise FinalAnswerException({text!r})"
    for text in ("pickle:gASVJQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjApleGl0IDEgIyB4lIWUUpQu", "safe:1", "plain words"):
        done = executor(code.format(text=text))
        assert (done.output, done.is_final_answer) == (text, True)


@pytest.mark.parametrize(
    "text",
    [
        '{"$held": ["0123", 5]}',
        '{"$held": ["0123", 1e400]}',
        '{"$held": ["0123", 99999999999]}',
        '{"$held": ["\\"); import os; x = (\\"", 5]}',
        '{"$held": [{}, {}]}',
        '{"$type": "nonsense"}',
    ],
)
def test_a_forged_answer_reaches_nothing(executor: ProofboxExecutor, text: str) -> None:
    code = f"class FinalAnswerException(BaseException): pass\nraise FinalAnswerException({text!r})"
    with pytest.raises((proofbox.ProofboxError, AgentError, ValueError)):
        executor(code)
    assert executor("1 + 1").output == 2


@pytest.mark.parametrize("held", [5, None, "ab", ["0123"], {"a": 1, "b": 2}])
def test_what_only_looks_like_a_long_answer_is_a_value(executor: ProofboxExecutor, held: object) -> None:
    text = json.dumps({"$held": held})
    code = f"class FinalAnswerException(BaseException): pass\nraise FinalAnswerException({text!r})"
    assert executor(code).output == {"$held": held}


# What the model reads


def test_an_error_has_class_line_and_message(executor: ProofboxExecutor) -> None:
    assert failing(executor, "a = 1\nb = a / 0\n") == (
        "Code execution failed at line 2, `b = a / 0`:\nZeroDivisionError: division by zero"
    )
    said = failing(executor, "def f(n):\n    return [][n]\ndef g():\n    return f(1)\nprint('here')\ng()")
    assert "at line 2, `return [][n]`" in said
    assert "IndexError: list index out of range" in said
    assert "in f" in said
    assert "in g" in said
    assert "at line 3, `h = f(5)`" in failing(executor, "h = 0\n\nh = f(5)\n")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(:\n    pass", "SyntaxError"),
        ("open('/etc/shadow')", "Hint: the sandbox has files of its own only"),
        ("import socket\nsocket.create_connection(('example.com', 80))", "Hint: the sandbox has no network"),
        ("import os\nos.fork()", "Hint: "),
        ("def f(): f()\nf()", "Hint: it nested too deeply"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class Odd(BaseException): pass\nraise Odd('odd')", "Odd: odd"),
    ],
    ids=lambda value: value[:20],
)
def test_failures_come_with_a_hint_and_leave_the_session_alive(
    executor: ProofboxExecutor, code: str, words: str
) -> None:
    executor("kept = 1")
    assert words in failing(executor, code)
    assert executor("kept").output == 1


def test_limits_of_a_step(url: str) -> None:
    with ProofboxExecutor(url=url, step_limits={"fuel": 2 * 10**9}) as executor:
        executor("kept = 1")
        said = failing(executor, "while True: pass")
        assert "Hint: " in said
        assert executor("kept").output == 1


@pytest.mark.parametrize("policy", ["default", "agent", "eval", "permissive"])
def test_all_of_it_works_under_a_policy_that_allows_imports(url: str, policy: str) -> None:
    with ProofboxExecutor(url=url, policy=policy) as executor:
        executor.send_variables({"given": {1: b"x" * 100_000}})
        agent = agent_with(executor, ["n = till(3)", "final_answer([n, given, 'y' * 3_000_000])"], [Till()])
        assert agent.run("task") == [3, {1: b"x" * 100_000}, "y" * 3_000_000]
        assert executor.get_variable("given") == {1: b"x" * 100_000}


def test_a_policy_that_refuses_is_told(url: str) -> None:
    with ProofboxExecutor(url=url, policy="strict") as executor:
        assert executor("1 + 1").output == 2
        said = failing(executor, "import socket")
        assert "network" in said
        assert "Hint: nothing of the code was run" in said
        with pytest.raises(ToolError, match="policy `strict`"):
            executor.send_tools({"till": Till()})


def test_a_missing_module_is_told_with_what_is_there(executor: ProofboxExecutor, client: proofbox.Client) -> None:
    said = failing(executor, "import nonesuch")
    image = client.runtime().image(executor.session.info.runtime["image_hash"])
    assert image is not None
    assert "Hint: module 'nonesuch' is not in the sandbox and can't be installed; use the standard library" in said
    for package in list(image.packages)[:10]:
        assert package in said
    assert ("packages: " in said) == bool(image.packages)


def test_an_agent_of_ours_has_the_imports_that_its_model_is_told_of(url: str) -> None:
    options: dict[str, Any] = {"tools": [], "executor_kwargs": {"url": url, "ttl_seconds": 60}, "verbosity_level": 0}
    with pytest.raises(MissingModules) as missing:
        ProofboxAgent(model=ScriptedModel([]), additional_authorized_imports=["math", "nonesuch"], **options)
    assert missing.value.modules == ["nonesuch"]
    model = ScriptedModel(["import array\nfinal_answer(list(array.array('b', [1])))"])
    with ProofboxAgent(model=model, additional_authorized_imports=["array"], **options) as agent:
        assert agent.run("task") == [1]
        assert agent.python_executor.session.info.ttl_seconds == 60
    assert "'array'" in agent.system_prompt


def test_the_module_that_a_policy_must_allow_gives_no_other_away(executor: ProofboxExecutor) -> None:
    executor.send_tools({"till": Till()})
    members = executor("import proofbox_session\nsorted(vars(proofbox_session))").output
    assert {"os", "sys", "json", "proofbox_values"}.isdisjoint(members)
    assert {"receive", "give", "take"} <= set(members)


def test_a_tool_that_a_policy_refuses_is_sent_without_the_imports_that_it_has_no_use_for() -> None:
    code = "import stat\nimport math\nfrom typing import Any\n\nclass A:\n    def f(self):\n        return math.pi"
    assert _without_unused_imports(code) == code.removeprefix("import stat\n")


def test_logs_of_a_step_that_fails_are_seen(executor: ProofboxExecutor) -> None:
    agent = agent_with(executor, ["print('so far')\n1 / 0", "final_answer(1)"])
    agent.run("task")
    first = steps_of(agent)[0]
    assert first.observations == "Execution logs:\nso far\n"
    assert "ZeroDivisionError" in first.error.message
    assert "so far" in str(agent.model.asked[1])
    assert "ZeroDivisionError" in str(agent.model.asked[1])


def test_long_logs_are_cut_for_the_model(url: str) -> None:
    with ProofboxExecutor(url=url, max_print_outputs_length=1000) as executor:
        logs = executor("import sys\nprint('x' * 5000)\nprint('warned', file=sys.stderr)").logs
        assert len(logs) < 1300
        assert "truncated" in logs
        assert "warned" in logs


# Sessions that end


def test_a_session_that_has_ended_is_told_and_begun_again(client: proofbox.Client) -> None:
    with ProofboxExecutor(client=client) as executor:
        executor.send_variables({"given": 3})
        executor.send_tools({"till": Till()})
        executor("mine = till(1)")
        client.delete_session(executor.session.id)
        said = failing(executor, "mine")
        assert "variables, imports, functions and files of earlier steps are gone" in said
        assert executor("(till(2), given, 'mine' in globals())").output == (2, 3, False)


def test_an_agent_goes_on_after_its_session_has_expired(url: str) -> None:
    with ProofboxExecutor(url=url, ttl_seconds=2) as executor:
        agent = agent_with(executor, ["x = 1", "final_answer(x)", "x = 2\nfinal_answer(x)"])

        def slow_after_the_first(step: ActionStep) -> None:
            if step.step_number == 1:
                time.sleep(4)

        agent.step_callbacks.register(ActionStep, slow_after_the_first)
        assert agent.run("task") == 2
        assert "session has ended" in steps_of(agent)[1].error.message


def test_a_given_session_that_has_ended_is_an_error(client: proofbox.Client) -> None:
    session = client.session()
    with ProofboxExecutor(client=client, session=session) as executor:
        executor("1")
        session.close()
        with pytest.raises(proofbox.SessionNotFound):
            executor("1")


def test_a_service_that_is_not_there_is_told() -> None:
    quick = proofbox.Client("http://127.0.0.1:9", retries=proofbox.Retries(attempts=1))
    with pytest.raises(proofbox.ConnectionFailed, match="can't be reached"):
        ProofboxExecutor(["math"], client=quick)


def test_an_agent_can_be_given_to_another_session(client: proofbox.Client) -> None:
    with ProofboxExecutor(client=client) as executor:
        agent = agent_with(executor, ["x = till(3)\nfinal_answer(x)"], [Till()])
        agent.run("task")
        (fork,) = executor.session.fork()
        with fork:
            branch: CodeAgent = agent_with(
                ProofboxExecutor(client=client, session=fork), ["x += 10\nfinal_answer(x)"], [Till()]
            )
            assert branch.run("go on") == 13
        assert executor("x").output == 3


def test_an_interpreter_that_had_to_be_restarted_is_told(url: str) -> None:
    stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    with ProofboxExecutor(url=url, step_limits={"wall_seconds": 1}) as executor:
        executor.send_tools({"till": Till()})
        executor("mine = till(1)\nopen('kept.txt', 'w').write('kept')")
        said = failing(executor, stubborn)
        assert "variables, imports and functions of earlier steps are gone" in said
        assert "Hint: it took too long" in said
        assert executor("(till(2), 'mine' in globals(), open('kept.txt').read())").output == (2, False, "kept")
