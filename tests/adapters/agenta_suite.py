"""Runs custom evaluators of Agenta's SDK, unmodified, by its own local runner and by proofbox's, and compares.

  pip install --require-hashes --no-deps -r tests/adapters/agenta.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/agenta_suite.py [pytest option ...]
"""

import asyncio
import os
import sys
from typing import Any

import pytest

# LiteLLM would ask the network for its list of models.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from agenta.sdk.engines.running import sandbox  # noqa: E402
from agenta.sdk.engines.running.runners.base import CodeRunner  # noqa: E402
from agenta.sdk.engines.running.runners.local import LocalRunner  # noqa: E402

import proofbox  # noqa: E402
from proofbox.agenta import ProofboxRunner, install  # noqa: E402

V1 = "def evaluate(app_params, inputs, output, correct_answer):\n"
V2 = "def evaluate(inputs, outputs, trace):\n"
TRACE = {"spans": [{"name": "a", "metrics": {"duration": 1.5}}]}

# Version of the interface, evaluator.
EVALUATORS = {
    "v1 compares": ("1", V1 + "    return 1.0 if output == correct_answer else 0.0\n"),
    "v1 uses its arguments": ("1", V1 + "    return len(inputs['question']) / app_params['scale'] / 10\n"),
    "v1 a number as text": ("1", V1 + "    return '0.25'\n"),
    "v1 a bool": ("1", V1 + "    return True\n"),
    "v1 a text that is no number": ("1", V1 + "    return 'good'\n"),
    "v1 a dict": ("1", V1 + "    return {'score': 1}\n"),
    "v1 nothing": ("1", V1 + "    pass\n"),
    "v2 a number": ("2", V2 + "    return trace['spans'][0]['metrics']['duration'] / 3\n"),
    "v2 a dict": ("2", V2 + "    return {'score': 1}\n"),
    "v3 a dict of metrics": (
        "3",
        V2 + "    return {'accuracy': 0.9, 'length': len(outputs), 'label': 'good', 'all': (1, None)}\n",
    ),
    "v3 a list": ("3", V2 + "    return [1, 2.5, 'x', None, True]\n"),
    "v3 a tuple": ("3", V2 + "    return (1, 2)\n"),
    "v3 a text": ("3", V2 + "    return 'good'\n"),
    "v3 a bool": ("3", V2 + "    return outputs == 'Paris'\n"),
    "v3 a whole number": ("3", V2 + "    return 7\n"),
    "v3 keys that are numbers": ("3", V2 + "    return {1: 'a', None: 'b'}\n"),
    "v3 nested": ("3", V2 + "    return {'a': {'b': [{'c': 'é\\u2028'}]}}\n"),
    "v3 nothing": ("3", V2 + "    pass\n"),
    "v3 not a number": ("3", V2 + "    return float('nan')\n"),
    "v3 not a number within": ("3", V2 + "    return {'a': float('inf')}\n"),
    "v3 a set": ("3", V2 + "    return {1, 2}\n"),
    "v3 an object": ("3", V2 + "    return object()\n"),
    "imports and helpers": (
        "3",
        "from __future__ import annotations\nimport re\nimport json\n\n"
        "def words(text):\n    return re.findall('[a-z]+', text.lower())\n\n"
        + V2
        + "    return {'words': words(outputs), 'json': json.dumps(inputs)}\n",
    ),
    "a class": (
        "2",
        "class Judge:\n    def __call__(self, inputs, outputs, trace):\n        return 0.5\n\nevaluate = Judge()\n",
    ),
    "no evaluate": ("2", "def score():\n    return 1\n"),
    "broken": ("2", "def evaluate(inputs, outputs, trace:\n    return 1\n"),
    "raises": ("2", V2 + "    return inputs['missing']\n"),
    "raises at once": ("2", "1 / 0\n" + V2 + "    return 1\n"),
    "too few parameters": ("2", "def evaluate(inputs):\n    return 1\n"),
    "prints": ("2", V2 + "    print('noise')\n    return 1\n"),
    "its own names": ("3", "json = None\nfile = 3\narguments = 4\n" + V2 + "    return [json, file, arguments]\n"),
}
ARGUMENTS = ({"scale": 5}, {"question": "capital of France?", "correct_answer": "Paris"}, "Paris", "Paris")


def outcome(runner: CodeRunner, version: str, code: str) -> Any:
    try:
        value = runner.run(code, *ARGUMENTS, version=version, trace=TRACE)
        return type(value), value
    except Exception as error:
        return type(error)


@pytest.fixture(scope="module")
def runner() -> ProofboxRunner:
    return ProofboxRunner()


@pytest.mark.parametrize("name", EVALUATORS)
def test_it_is_as_agentas_local_runner(runner: ProofboxRunner, name: str) -> None:
    version, code = EVALUATORS[name]
    assert outcome(runner, version, code) == outcome(LocalRunner(), version, code)


def test_a_number_of_numpy_is_a_number(runner: ProofboxRunner) -> None:
    code = "import numpy as np\n" + V2 + "    return {'mean': np.float64(0.8)} if trace else np.float64(0.8)\n"
    assert runner.run(code, *ARGUMENTS, version="3", trace=TRACE) == {"mean": 0.8}
    assert runner.run(code, *ARGUMENTS, version="2", trace=None) == 0.8


def test_what_an_evaluator_must_not_do_ends_it_alone(runner: ProofboxRunner) -> None:
    for code, words in {
        V2 + "    return open('/etc/passwd').read()\n": "/etc/passwd",
        V2 + "    import os; os._exit(0)\n": "ended before it returned",
        V2 + "    import os; os.kill(os.getppid(), 9)\n": "",
        V2 + "    while True: pass\n": "timeout|fuel_exhausted",
        V2 + "    return 'x' * 10**10\n": "memory",
        "import json\njson.dumps = lambda value: 7\n" + V2 + "    return 1\n": "",
    }.items():
        with pytest.raises(RuntimeError, match=words):
            runner.run(code, *ARGUMENTS, version="3", trace=TRACE)
    assert runner.run(V2 + "    return 1\n", *ARGUMENTS, version="2", trace=TRACE) == 1.0


def test_other_languages_are_refused(runner: ProofboxRunner) -> None:
    for language in ("javascript", "typescript"):
        with pytest.raises(ValueError, match=f"only supports 'python' runtime, got: {language}"):
            runner.run("", *ARGUMENTS, language)


def test_agentas_own_entry_uses_it() -> None:
    installed = install()
    assert sandbox._runner is installed
    code = V2 + "    import sys\n    return {'platform': sys.platform, 'right': outputs == inputs['correct_answer']}\n"
    expected = {"platform": "wasi", "right": True}
    assert sandbox.execute_code_safely(*ARGUMENTS, code, version="3", trace=TRACE) == expected
    assert asyncio.run(sandbox.run_code_safely(*ARGUMENTS, code, version="3", trace=TRACE)) == expected


def test_a_service_that_is_gone_is_no_score() -> None:
    gone = ProofboxRunner(proofbox.Client("http://127.0.0.1:9", retries=proofbox.Retries(attempts=1)))
    with pytest.raises(proofbox.ConnectionFailed):
        gone.run(V2 + "    return 1\n", *ARGUMENTS, version="2", trace=TRACE)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
