"""Runs the code of smolagents' agents in a proofbox session.

>>> from smolagents import CodeAgent, InferenceClientModel
>>> from proofbox.smolagents import ProofboxExecutor
>>> with CodeAgent(tools=[], model=InferenceClientModel(), executor=ProofboxExecutor()) as agent:
...     agent.run("How many primes are there below 10000?")
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _reports, _tracing, _variables, values
from .client import Client
from .errors import ProofboxError, SessionNotFound
from .options import Files, Limits, SessionOptions
from .session import Session
from .types import Display, Execution, Runtime

try:
    from smolagents.agents import CodeAgent
    from smolagents.local_python_executor import CodeOutput
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import RemotePythonExecutor
    from smolagents.tools import Tool, get_tools_definition_code
    from smolagents.utils import AgentError, truncate_content
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "install smolagents with it: pip install 'proofbox[smolagents]'", name=error.name
    ) from None

__all__ = ["MissingModules", "ProofboxAgent", "ProofboxExecutor", "ToolError"]

# Names of packages that are imported under another name.
_IMPORT_NAMES = {"pillow": "PIL", "beautifulsoup4": "bs4", "scikit-learn": "sklearn", "pyyaml": "yaml"}


class MissingModules(ProofboxError, ModuleNotFoundError):
    """Modules were asked for that the sandbox does not have. `modules` names them."""

    def __init__(self, message: str, modules: Sequence[str]) -> None:
        super().__init__(message)
        self.modules = list(modules)


class ToolError(ProofboxError, ValueError):
    """A tool that can't be sent into the sandbox. `tool` is its name."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(
            f"tool {tool!r} can't be sent into the sandbox: {why.rstrip('.')}. Its source runs there, so it must be a "
            "function with @tool or a subclass of Tool, defined in a file, that imports what it uses inside its "
            "methods and needs no arguments to be made"
        )
        self.tool = tool


class ProofboxExecutor(RemotePythonExecutor):  # type: ignore[misc]
    """An executor for `CodeAgent(executor=…)`: each step of the agent is a cell of one session.

    `client` is a `proofbox.Client`; without one it is made from `url` and `api_key`, which have the client's defaults.
    The session starts with the first call, and is made of `policy`, `image`, `limits`, `env`, `files`,
    `ttl_seconds`, `idle_seconds`, `labels`, `from_checkpoint`; a `session` that is given is used instead and left alone
    at the end.
    `additional_imports` are modules that must be there: what is missing is said at once (`MissingModules`).
    `step_limits` apply to each step, `max_print_outputs_length` to what the model sees of its output.
    No pickle is used in either direction.
    """

    def __init__(
        self,
        additional_imports: Iterable[str] = (),
        logger: Any = None,
        *,
        client: Client | None = None,
        url: str | None = None,
        api_key: str | None = None,
        session: Session | None = None,
        policy: str | None = None,
        image: str | None = None,
        limits: Limits | None = None,
        step_limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        files: Files | None = None,
        ttl_seconds: float | None = None,
        idle_seconds: float | None = None,
        labels: Mapping[str, str] | None = None,
        from_checkpoint: str | None = None,
        max_print_outputs_length: int = 50_000,
    ) -> None:
        wanted = [additional_imports] if isinstance(additional_imports, str) else list(additional_imports)
        super().__init__(wanted, logger or AgentLogger(level=LogLevel.OFF), allow_pickle=False)
        self._client_is_ours = client is None
        self.client = client or Client(url, api_key=api_key)
        self._session = session
        self._session_is_ours = session is None
        chosen: dict[str, Any] = {
            "policy": policy,
            "image": image,
            "limits": limits,
            "env": env,
            "ttl_seconds": ttl_seconds,
            "idle_seconds": idle_seconds,
            "labels": labels,
            "from_checkpoint": from_checkpoint,
        }
        self._options = {name: value for name, value in chosen.items() if value is not None}
        self._files = dict(files or {})
        self._step_limits = step_limits
        self._longest_logs = max_print_outputs_length
        self._runtime: Runtime | None = None
        # What was sent, for a session that has to be begun again.
        self._tools: dict[str, Any] = {}
        self._tools_hash = ""
        self._variables: dict[str, Any] = {}
        #: What smolagents looks at after a step that failed: the output of the step, under "_print_outputs".
        self.state: dict[str, Any] = {"_print_outputs": ""}
        try:
            self.installed_packages = self.install_packages(wanted)
        except BaseException:
            self.cleanup()
            raise

    # The session

    @property
    def session(self) -> Session:
        """The session; started now if it was not yet."""
        if self._session is None:
            options: SessionOptions = {**self._options, "files": {**_variables.modules(), **self._files}}  # type: ignore[typeddict-item]
            self._session = self.client.session(**options)
            self._session_is_ours = True
            self.logger.log(f"proofbox session {self._session.id} at {self.client.url}", level=LogLevel.INFO)
        return self._session

    def cleanup(self) -> None:
        """Deletes the session, and closes the connections. Can be called twice; a later call starts anew."""
        session, self._session = self._session, None
        self._tools_hash = ""
        try:
            if session is not None and self._session_is_ours:
                session.close()
        except ProofboxError as error:
            self.logger.log(f"the session could not be deleted, it will expire: {error}", level=LogLevel.ERROR)
        finally:
            if self._client_is_ours:
                self.client.close()
                self.client = Client(self.client.url, api_key=self.client.api_key)

    def __enter__(self) -> ProofboxExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    # Code

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Runs a step. Raises smolagents' `AgentError` with what the model should read."""
        with _tracing.step(code, self.FINAL_ANSWER_EXCEPTION) as record:
            try:
                done = self._run(code, "last_expression")
            except SessionNotFound as gone:
                raise AgentError(self._begin_again(gone), self.logger) from None
            record(done)
        logs = self._logs(done)
        self.state["_print_outputs"] = logs
        if done.error is not None and done.error.type == self.FINAL_ANSWER_EXCEPTION:
            return CodeOutput(output=self._final_answer(done.error.message), logs=logs, is_final_answer=True)
        if not done.ok:
            words = _reports.for_the_model(done, code, self._packages_for(done))
            if done.restarted:
                words += self._equip_again()
            raise AgentError(words, self.logger)
        return CodeOutput(output=_output(done), logs=logs, is_final_answer=False)

    def __call__(self, code_action: str) -> CodeOutput:
        """Runs a step of the agent as a cell of the session."""
        return self.run_code_raise_errors(code_action)

    def _run(self, code: str, result: Any) -> Execution:
        if self._step_limits is None:
            return self.session.run(code, result=result)
        return self.session.run(code, result=result, limits=self._step_limits)

    def _logs(self, done: Execution) -> str:
        gap = "\n" if done.stdout and done.stderr and not done.stdout.endswith("\n") else ""
        return str(truncate_content(done.stdout + gap + done.stderr, max_length=self._longest_logs))

    def _final_answer(self, text: str) -> Any:
        answer = _parsed(text)
        try:
            match answer:
                case {"$held": [token, length]} if len(answer) == 1:
                    return values.loads(self.session.take(_variables.Held("", token, length)))
            return values.decode(answer)
        except values.DecodeError as error:
            raise AgentError(f"the final answer can't be read: {error}", self.logger) from None

    def _begin_again(self, gone: SessionNotFound) -> str:
        """A new session in place of one that has ended. Says so to the model."""
        if not self._session_is_ours:
            raise gone
        self._session = None
        self._send_again()
        return (
            "The sandbox session has ended (it expired, or was deleted), and the code was not run. A new session has "
            "been started: tools are there, but variables, imports, functions and files of earlier steps are gone. "
            "Define again what you need."
        )

    def _equip_again(self) -> str:
        """Sends variables and tools again after the interpreter was lost, and returns what the model is told of
        that."""
        self._send_again()
        return (
            "\nThe interpreter had to be restarted: tools and files are there, but variables, imports and functions of "
            "earlier steps are gone. Define again what you need."
        )

    def _send_again(self) -> None:
        """Variables and tools, into a namespace that is new."""
        self._tools_hash = ""
        self.send_variables(self._variables)
        if self._tools:
            self.send_tools(self._tools)

    # Packages

    def install_packages(self, additional_imports: Iterable[str]) -> list[str]:
        """Nothing can be installed; says what is missing. Returns what is there."""
        wanted = [name for name in additional_imports if name != "*"]
        modules = {_top_level(name): name for name in wanted}
        missing = sorted(name for module, name in modules.items() if module not in self._available())
        if missing:
            raise MissingModules(self._words_for_missing(missing), missing)
        if wanted:
            self.logger.log(f"Available in the sandbox: {', '.join(wanted)}", level=LogLevel.INFO)
        return wanted

    def _available(self) -> set[str]:
        runtime = self._runtime = self._runtime or self.client.runtime()
        return {*runtime.modules, *(_top_level(name) for name in self._packages(runtime)), "smolagents"}

    def _packages(self, runtime: Runtime) -> Mapping[str, Any]:
        """Returns the packages of the image that sessions are made in."""
        image = runtime.image(self._options.get("image", "default"))
        return runtime.packages if image is None else image.packages

    def _packages_for(self, done: Execution) -> Iterable[str] | None:
        """Returns the packages that a step could have imported, where a module was missing; the session's image may be
        any."""
        if done.stderr_class != "missing_dependency":
            return None
        runtime = self._runtime = self._runtime or self.client.runtime()
        image = runtime.image(done.runtime.get("image_hash", ""))
        return None if image is None else image.packages

    def _words_for_missing(self, missing: Sequence[str]) -> str:
        assert self._runtime is not None
        packages = ", ".join(f"{name} {version}" for name, version in self._packages(self._runtime).items()) or "none"
        what = "is not" if len(missing) == 1 else "are not"
        return (
            f"{', '.join(missing)} {what} in the sandbox, and nothing can be installed there. It has the standard "
            f"library of CPython {self._runtime.python}; packages beyond it: {packages}"
        )

    # Tools

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Defines the tools in the sandbox, from their source. Tools that are there already keep their state."""
        for name, tool in tools.items():
            if not isinstance(tool, Tool):
                raise ToolError(name, f"it is a {type(tool).__name__} that works on this machine, not a Tool")
            if hasattr(type(tool), "_forward") and type(tool).__name__ == "_FinalAnswerTool":
                raise ToolError(name, "another remote executor has changed it; give each executor an agent of its own")
        sources = {name: self._source_of(name, tool) for name, tool in tools.items()}
        fingerprint = hashlib.sha256(json.dumps(sources).encode()).hexdigest()
        self._tools = dict(tools)
        names = list(tools)
        if fingerprint == self._tools_hash:
            self._define(f"{_variables.PRELUDE}_proofbox.offer_tools({names!r})\n")
            return
        for name, source in sources.items():
            self._define(_variables.PRELUDE + source, name)
        self._define(f"{_variables.PRELUDE}_proofbox.keep_tools({names!r})\n")
        self._tools_hash = fingerprint

    def _source_of(self, name: str, tool: Any) -> str:
        """The code that defines the tool; raises `ToolError` or `MissingModules`."""
        try:
            with _as_written(type(tool)):
                requirements = tool.to_dict()["requirements"]
                code = str(get_tools_definition_code({name: tool}))
        except Exception as error:
            raise ToolError(name, f"its source can't be had: {error}") from error
        missing = [module for module in requirements if not self._is_there(module)]
        if missing:
            raise MissingModules(f"tool {name!r} can't be sent: {self._words_for_missing(missing)}", missing)
        return code

    def _is_there(self, module: str) -> bool:
        top = _top_level(module)
        return top == "smolagents" or top in sys.stdlib_module_names or top in self._available()

    def _define(self, code: str, tool: str | None = None) -> None:
        done = self.session.run_with_modules(code)
        if done.stderr_class == "policy_blocked":
            done = self.session.run_with_modules(_without_unused_imports(code))
        if done.ok:
            return
        words = _reports.for_the_model(done, code)
        if tool is None:
            raise AgentError(words, self.logger)
        raise ToolError(tool, f"its source does not run there: {words}")

    # Variables

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Sets variables in the sandbox. Raises `VariableError`, which names the one that can't be sent."""
        if not variables:
            return
        self._variables = dict(variables)
        self.session.set(**variables)

    def get_variable(self, name: str) -> Any:
        """The value of a variable in the sandbox."""
        return self.session.get(name)


class ProofboxAgent(CodeAgent):  # type: ignore[misc]
    """A `CodeAgent` with an executor of its own: `executor_kwargs` are the arguments of `ProofboxExecutor`.

    `additional_authorized_imports` must be in the sandbox (`MissingModules`): the model is told that they are. An agent
    that is given `executor=` does not tell it of them.
    """

    def create_python_executor(self) -> ProofboxExecutor:
        """Returns an executor made with `executor_kwargs`."""
        options = dict(self.executor_kwargs)
        if self.max_print_outputs_length is not None:
            options.setdefault("max_print_outputs_length", self.max_print_outputs_length)
        return ProofboxExecutor(self.additional_authorized_imports, self.logger, **options)


@contextlib.contextmanager
def _as_written(kind: type) -> Iterator[None]:
    """Undoes, for now, what smolagents' own remote executors do to `forward` of an agent's final_answer.

    They leave the source of another method on it, for the rest of the process.
    """
    changed = []
    for owner in kind.__mro__:
        function = vars(owner).get("forward")
        source = getattr(function, "__source__", None)
        if isinstance(source, str) and "def _forward(" in source.split("\n", 1)[0]:
            changed.append((function, source))
            del function.__source__  # type: ignore[union-attr]
    try:
        yield
    finally:
        for function, source in changed:
            function.__source__ = source  # type: ignore[union-attr]


def _without_unused_imports(code: str) -> str:
    """Leaves out the imports that smolagents puts before each tool, where the tool has no use for them.

    A policy may allow fewer of them.
    """
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    lines = code.split("\n")
    imports = {line: line.removeprefix("import ") for line in lines if re.fullmatch(r"import \w+", line)}
    return "\n".join(line for line in lines if imports.get(line) is None or imports[line] in names)


def _top_level(requirement: str) -> str:
    """The module that a requirement such as `Pillow>=10` or `os.path` stands for."""
    name = re.split(r"[\s\[<>=!~;@.]", requirement.strip(), maxsplit=1)[0]
    return _IMPORT_NAMES.get(name.lower(), name.replace("-", "_"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # A program's own exception of this name.
        return text


def _output(done: Execution) -> Any:
    """Returns the value of the step's last expression, as an image where there is one."""
    main = next((display for display in done.displays if display.is_main_result), None)
    image = _image(main) if main is not None else None
    return done.result if image is None else image


def _image(display: Display) -> Any:
    for media_type in ("image/png", "image/jpeg"):
        data = display.bytes_of(media_type)
        if data is not None:
            import io

            import PIL.Image

            return PIL.Image.open(io.BytesIO(data))
    return None
