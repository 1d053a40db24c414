"""Scans code in the guardrails of FutureAGI's `ai-evaluation` with the gate of a proofbox policy.

>>> from fi.evals.guardrails.scanners import ScannerPipeline
>>> from proofbox.futureagi import ProofboxScanner
>>> ScannerPipeline([ProofboxScanner(policy="eval")]).scan("import os; os.system('id')").passed
False
"""

from __future__ import annotations

import asyncio
import time

from .client import Client
from .types import Finding, Scan

try:
    from fi.evals.guardrails.scanners.base import BaseScanner, ScanMatch, ScannerAction, ScanResult
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "install ai-evaluation with it: pip install 'proofbox[futureagi]'", name=error.name
    ) from None

__all__ = ["ProofboxScanner"]


class ProofboxScanner(BaseScanner):
    """A scanner of `ScannerPipeline` that does not pass what the policy blocks. It runs nothing.

    The pipeline passes content whose scanner raises. This one never raises: what could not be scanned does not pass,
    and `reason` says why. With `answers`, content is a model's answer, and the code in it is scanned.
    """

    name = "proofbox"
    category = "code_safety"
    description = "the gate of a proofbox policy"

    def __init__(
        self,
        client: Client | None = None,
        *,
        policy: str = "default",
        answers: bool = False,
        timeout: float = 10.0,
        action: ScannerAction | None = None,
        enabled: bool = True,
    ) -> None:
        super().__init__(action, enabled)
        self._client = client or Client(timeout=timeout)
        self._policy = policy
        self._answers = answers

    def scan(self, content: str, context: str | None = None) -> ScanResult:
        """Scans content; `context` has no meaning here."""
        began = time.perf_counter()
        try:
            scan = self._scan(content)
            found, passed, reason = scan.policy.findings, scan.policy.decision == "allow", _reason(scan)
        except Exception as error:
            found, passed, reason = [], False, f"it could not be scanned: {error}"
        return self._create_result(
            passed=passed,
            matches=[_match(finding) for finding in found],
            score=max((finding.confidence for finding in found), default=0.0 if passed else 1.0),
            reason=reason,
            latency_ms=(time.perf_counter() - began) * 1000,
            metadata={"policy": self._policy},
        )

    async def scan_async(self, content: str, context: str | None = None) -> ScanResult:
        """Scans content in a thread."""
        return await asyncio.to_thread(self.scan, content, context)

    def _scan(self, content: str) -> Scan:
        if self._answers:
            return self._client.scan(completion=content, policy=self._policy)
        return self._client.scan(content, policy=self._policy)


def _reason(scan: Scan) -> str | None:
    blocking = [f"{found.reason} (line {found.line})" for found in scan.policy.findings if found.action == "block"]
    return "; ".join(blocking) or None


def _match(finding: Finding) -> ScanMatch:
    """A finding as a match. `matched` has masked secrets."""
    metadata = {"scanner": finding.scanner, "action": finding.action, "line": finding.line, "file": finding.file}
    return ScanMatch(finding.rule, finding.matched, finding.start, finding.end, finding.confidence, metadata)
