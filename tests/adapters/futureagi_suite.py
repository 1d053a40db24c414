"""Puts proofbox's scanner into the unmodified pipeline of FutureAGI's `ai-evaluation`.

  pip install --require-hashes --no-deps -r tests/adapters/futureagi.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/futureagi_suite.py [pytest option ...]
"""

import asyncio
import sys
from pathlib import Path

import pytest
from fi.evals.guardrails.scanners import CodeInjectionScanner, ScannerAction, ScannerPipeline, SecretsScanner
from pages import follow

import proofbox
from proofbox.futureagi import ProofboxScanner

DANGEROUS = {
    "a process": "import os\nos.system('id')\n",
    "a process by subprocess": "import subprocess\nsubprocess.run(['id'])\n",
    "a process by getattr": "getattr(__import__('o' + 's'), 'sys' + 'tem')('id')\n",
    "the network": "import socket\nsocket.create_connection(('198.51.100.7', 80))\n",
    "the language's inside": "().__class__.__base__.__subclasses__()\n",
}
HARMLESS = {
    "a sum": "def add(a, b):\n    return a + b\n",
    "a query": "query = 'SELECT * FROM users WHERE id = 1 OR name = ?'\nprint(query)\n",
    "numbers": "import math\nprint([math.sqrt(n) for n in range(9)])\n",
}


def pipelines(scanner: ProofboxScanner) -> list[ScannerPipeline]:
    return [ScannerPipeline([scanner], parallel=parallel) for parallel in (True, False)]


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_the_policy_blocks_does_not_pass(name: str) -> None:
    for pipeline in pipelines(ProofboxScanner(policy="strict")):
        for result in (pipeline.scan(DANGEROUS[name]), asyncio.run(pipeline.scan_async(DANGEROUS[name]))):
            assert not result.passed and result.blocked_by == ["proofbox"]
            [scanned] = result.results
            assert scanned.reason and scanned.matches and 0 < scanned.score <= 1 and scanned.latency_ms > 0
            # Where a rule recognised a name as it stands, that is there in the content.
            for match in scanned.matches:
                assert 0 <= match.start < match.end <= len(DANGEROUS[name]), match


@pytest.mark.parametrize("name", HARMLESS)
def test_what_it_allows_passes(name: str) -> None:
    for pipeline in pipelines(ProofboxScanner(policy="strict")):
        result = pipeline.scan(HARMLESS[name])
        assert result.passed and not result.blocked_by and not result.flagged_by, result


def test_it_sees_what_the_librarys_own_scanners_do_not() -> None:
    own = ScannerPipeline([CodeInjectionScanner(), SecretsScanner()])
    both = ScannerPipeline([CodeInjectionScanner(), SecretsScanner(), ProofboxScanner(policy="eval")])
    code = DANGEROUS["a process by subprocess"]
    assert own.scan(code).passed and not both.scan(code).passed
    assert not own.scan(HARMLESS["a query"]).passed or ProofboxScanner(policy="eval").scan(HARMLESS["a query"]).passed


def test_code_in_an_answer_is_scanned() -> None:
    scanner = ProofboxScanner(policy="strict", answers=True)
    assert scanner.scan("I can't do that, but `os.system` would run it.").passed
    assert not scanner.scan(f"Sure!\n```python\n{DANGEROUS['a process']}```\nDone.").passed
    assert scanner.scan(f"Sure!\n```python\n{HARMLESS['a sum']}```\nDone.").passed


def test_an_action_of_ones_own_is_the_pipelines() -> None:
    result = ScannerPipeline([ProofboxScanner(policy="strict", action=ScannerAction.FLAG)]).scan(DANGEROUS["a process"])
    assert result.passed and result.flagged_by == ["proofbox"]


@pytest.mark.parametrize(
    "scanner",
    [
        ProofboxScanner(proofbox.Client("http://127.0.0.1:9", retries=proofbox.Retries(attempts=1))),
        ProofboxScanner(policy="there is none of this name"),
        ProofboxScanner(proofbox.Client(timeout=1e-6)),
    ],
    ids=["unreachable", "unknown policy", "late"],
)
def test_what_could_not_be_scanned_does_not_pass(scanner: ProofboxScanner) -> None:
    for pipeline in pipelines(scanner):
        for result in (pipeline.scan("1 + 1"), asyncio.run(pipeline.scan_async("1 + 1"))):
            assert not result.passed and result.blocked_by == ["proofbox"]
            assert result.results[0].reason.startswith("it could not be scanned: ")


def test_a_content_that_is_too_large_does_not_pass() -> None:
    assert not ProofboxScanner().scan("#" * (64 << 20)).passed


def test_the_guide_shows_what_its_programs_print(tmp_path: Path) -> None:
    assert follow("how-to/grade-in-evaluation-tools.md", tmp_path) == 2


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
