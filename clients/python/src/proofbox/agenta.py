"""Runs the custom evaluators of Agenta in proofbox: a runner beside its `local`, `restricted` and `daytona`.

>>> from proofbox.agenta import install
>>> install()
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .client import Client
from .errors import ProofboxError
from .options import Limits
from .types import Execution

try:
    from agenta.sdk.engines.running import sandbox
    from agenta.sdk.engines.running.runners.base import CodeRunner, get_code_sandbox_timeout, normalize_result
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("install agenta with it: pip install 'proofbox[agenta]'", name=error.name) from None

__all__ = ["ProofboxRunner", "install"]

_ARGUMENTS = "/tmp/arguments.json"
# Stands after the evaluator, so that the lines of its errors are right.
_CALL = f"""
def _proofbox_call():
    import json
    with open({_ARGUMENTS!r}) as file:
        arguments = json.load(file)
    return json.dumps(evaluate(*arguments))
_proofbox_call()
"""


class ProofboxRunner(CodeRunner):
    """A `CodeRunner` of Agenta: each evaluator runs in a fresh interpreter of the service.

    Its results are those of Agenta's own runners: a number of versions 1 and 2, any JSON of version 3.
    """

    def __init__(self, client: Client | None = None, *, policy: str = "default", limits: Limits | None = None) -> None:
        self._client = client or Client()
        self._policy = policy
        self._limits: Limits = limits or {}

    def run(
        self,
        code: str,
        app_params: dict[str, Any],
        inputs: dict[str, Any],
        output: dict[str, Any] | str,
        correct_answer: Any,
        runtime: str | None = None,
        templates: Mapping[str, str] | None = None,
        *,
        version: str = "1",
        trace: dict[str, Any] | None = None,
    ) -> Any:
        """Runs an evaluator. Raises as Agenta's runners do."""
        if runtime not in (None, "python"):
            raise ValueError(f"ProofboxRunner only supports 'python' runtime, got: {runtime}")
        arguments = [inputs, output, trace] if version in ("2", "3") else [app_params, inputs, output, correct_answer]
        done = self._client.execute(
            f"{code}\n{_CALL}",
            files={_ARGUMENTS: json.dumps(arguments)},
            result="last_expression",
            policy=self._policy,
            limits=self._limits,
            timeout=get_code_sandbox_timeout(),
        )
        if done.status != "ok":
            raise _error(done)
        if not isinstance(done.result, str):
            raise RuntimeError("Error during code execution: the evaluator ended before it returned a value")
        try:
            return normalize_result(json.loads(done.result), version)
        except (TypeError, ValueError) as error:
            raise RuntimeError(f"Error during code execution: {error}") from error


def _error(done: Execution) -> Exception:
    """The error of Agenta's runners for an evaluator that failed."""
    if done.status == "infrastructure_error":
        return ProofboxError(f"the service could not run the evaluator: request {done.id}")
    message = done.error.message if done.error is not None else done.stderr_class
    kind = done.error.type if done.error is not None else ""
    if done.stderr_class == "syntax_error" or kind == "SyntaxError":
        return SyntaxError(f"Syntax error in provided code: {message}")
    if kind == "KeyError" or message == "name 'evaluate' is not defined":
        return KeyError(f"Missing expected key in environment: {message if kind == 'KeyError' else repr('evaluate')}")
    return RuntimeError(f"Error during code execution: {message} ({done.stderr_class})")


def install(runner: ProofboxRunner | None = None) -> ProofboxRunner:
    """Makes it the runner of this process, whatever AGENTA_SERVICES_CODE_SANDBOX_RUNNER says, and returns it."""
    chosen = runner or ProofboxRunner()
    with sandbox._runner_lock:
        sandbox._runner = chosen
    return chosen
