"""Answers of the service, as dataclasses. Each keeps the whole JSON in `raw`, with fields that are not known here."""

from __future__ import annotations

import base64
import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from . import values
from .errors import CodeFailed, CommandFailed, ProtocolError

R = TypeVar("R", bound="Record")

Parts = Mapping[str, "type[Record]"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """An object of an answer. Fields that it lacks have their defaults."""

    raw: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    # Fields whose JSON is an object or a list of objects of another type.
    PARTS: ClassVar[Parts] = {}

    @classmethod
    def of(cls: type[R], json: Any) -> R:
        """The record that this JSON object stands for."""
        if not isinstance(json, dict):
            raise ProtocolError(f"the service should have answered an object for {cls.__name__}")
        fields: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            if field.name != "raw" and field.name in json:
                fields[field.name] = _part(cls.PARTS.get(field.name), json[field.name])
        return cls(raw=json, **fields)


def _part(kind: type[Record] | None, json: Any) -> Any:
    if kind is None or json is None:
        return json
    if isinstance(json, list):
        return [kind.of(item) for item in json]
    return kind.of(json)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report(Record):
    """A part of an answer that can be read like the JSON object, too: `part.level`, `part["level"]`, `dict(part)`."""

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def __contains__(self, name: object) -> bool:
        return name in self.raw

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def keys(self) -> list[str]:
        """The names of its members."""
        return list(self.raw)

    def get(self, name: str, default: Any = None) -> Any:
        """A member, or the default where the answer has none of this name."""
        return self.raw.get(name, default)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frame(Record):
    """A line of a traceback."""

    file: str = ""
    line: int = 0
    function: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SnippetError(Record):
    """Error that ended a snippet, with its class, line and traceback."""

    class_: str = ""
    type: str = ""
    message: str = ""
    line: int | None = None
    traceback: list[Frame] = dataclasses.field(default_factory=list)
    fingerprint: str | None = None
    # Of a session's cell: as Python prints it.
    traceback_text: str | None = None

    PARTS: ClassVar[Parts] = {"traceback": Frame}

    @classmethod
    def of(cls, json: Any) -> SnippetError:
        error = super().of(json)
        return dataclasses.replace(error, class_=str(json.get("class", "")))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case(Record):
    """Planned test with its outcome."""

    name: str = ""
    status: str = ""
    execution_seconds: float = 0.0
    fuel_used: int = 0
    stderr_class: str = "none"
    message: str | None = None
    peak_memory_bytes: int = 0
    stdout: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding(Record):
    """Finding of a scanner of the policy's gate."""

    scanner: str = ""
    category: str = ""
    rule: str = ""
    capability: str | None = None
    action: str = ""
    confidence: float = 0.0
    file: str | None = None
    line: int = 0
    column: int = 0
    # Characters of the source, from 0.
    start: int = 0
    end: int = 0
    excerpt: str = ""
    matched: str = ""
    reason: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScannerReport(Report):
    """Result of one scanner of the policy's gate."""

    scanner: str = ""
    matched: bool = False
    score: float = 0.0
    action: str = ""
    findings: int = 0
    latency_seconds: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyVerdict(Record):
    """Decision of the policy's gate on a snippet."""

    name: str = ""
    decision: str = "allow"
    blocked_by: list[str] = dataclasses.field(default_factory=list)
    capabilities: list[str] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    findings_dropped: int = 0
    scanners: list[ScannerReport] = dataclasses.field(default_factory=list)
    syntax_ok: bool = True
    scan_seconds: float = 0.0

    PARTS: ClassVar[Parts] = {"findings": Finding, "scanners": ScannerReport}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Display(Record):
    """A rich result: by media type text, base64 (images, PDF) or JSON."""

    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    is_main_result: bool = False

    def bytes_of(self, media_type: str) -> bytes | None:
        """The bytes of an image or a PDF; `None` where there is none of this type."""
        text = self.data.get(media_type)
        return base64.b64decode(text) if isinstance(text, str) else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Basis(Report):
    """Counts of what a verdict rests on."""

    values_compared: int = 0
    handles_asked: int = 0
    notes: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Integrity(Report):
    """Report on how far a verdict can be trusted. `level`: isolated, in_process, none."""

    level: str = ""
    planned: int = 0
    reported: int = 0
    signals: list[str] = dataclasses.field(default_factory=list)
    basis: Basis = dataclasses.field(default_factory=Basis)

    PARTS: ClassVar[Parts] = {"basis": Basis}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attempt(Report):
    """Something that the snippet tried. `kind`: file, network, environment, process, thread, time, entropy."""

    kind: str = ""
    operation: str = ""
    target: str = ""
    allowed: bool = False
    count: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CanaryPlace(Report):
    """Output in which a canary was found, and its encoding there."""

    where: str = ""
    encoding: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CanaryFound(Report):
    """A canary that was found. `index`: which of those that the request has."""

    index: int = 0
    found: list[CanaryPlace] = dataclasses.field(default_factory=list)

    PARTS: ClassVar[Parts] = {"found": CanaryPlace}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Boundary(Report):
    """Attempts of the snippet to reach beyond its own memory."""

    attempts: list[Attempt] = dataclasses.field(default_factory=list)
    dropped: int = 0
    canaries: list[CanaryFound] = dataclasses.field(default_factory=list)

    PARTS: ClassVar[Parts] = {"attempts": Attempt, "canaries": CanaryFound}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LintDiagnostic(Report):
    """A finding of the linter. Lines and columns count from 1."""

    code: str = ""
    message: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    fixable: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lint(Report):
    """The linter's report. `clean` is None where the snippet was not linted; `error` says why."""

    clean: bool | None = None
    diagnostics: list[LintDiagnostic] = dataclasses.field(default_factory=list)
    dropped: int = 0
    error: str | None = None

    PARTS: ClassVar[Parts] = {"diagnostics": LintDiagnostic}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Receipt(Report):
    """A signed verdict. `raw` is what `proofbox verify` reads."""

    version: int = 0
    payload: dict[str, Any] = dataclasses.field(default_factory=dict)
    algorithm: str = ""
    public_key: str = ""
    signature: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComplexityPoint(Report):
    """The cost of one call."""

    n: int = 0
    fuel: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Complexity(Report):
    """Growth of fuel with the input's size."""

    points: list[ComplexityPoint] = dataclasses.field(default_factory=list)
    exponent: float | None = None
    error: str | None = None

    PARTS: ClassVar[Parts] = {"points": ComplexityPoint}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation(Report):
    """Result of an evaluator. `score` and `passed` are None where it returned no number and no verdict."""

    interface: str = ""
    score: float | None = None
    passed: bool | None = None
    reason: str | None = None
    named_scores: dict[str, float] = dataclasses.field(default_factory=dict)
    component_results: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grader(Report):
    """Cost and output of the tests, where they had an interpreter of their own."""

    fuel_used: int = 0
    execution_seconds: float = 0.0
    peak_memory_bytes: int = 0
    stdout: str = ""
    stderr: str = ""
    candidates: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block(Report):
    """A block of a model's answer."""

    form: str = ""
    content: str = ""
    language: str | None = None
    declared: str | None = None
    first_line: int = 0
    last_line: int = 0
    complete: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Completion(Report):
    """Code found in a model's answer. `chosen` is the index of the block that is the program."""

    contains_code: bool = False
    blocks: list[Block] = dataclasses.field(default_factory=list)
    blocks_dropped: int = 0
    chosen: int | None = None
    reason: str = ""

    PARTS: ClassVar[Parts] = {"blocks": Block}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Execution(Record):
    """The answer of an execution. docs/reference/execute.md says what the fields mean."""

    id: str = ""
    status: str = ""
    exit_code: int = 0
    stderr_class: str = "none"
    tests_passed: int = 0
    tests_total: int = 0
    execution_seconds: float = 0.0
    cpu_seconds: float = 0.0
    queue_seconds: float = 0.0
    fuel_used: int = 0
    peak_memory_bytes: int = 0
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    error: SnippetError | None = None
    compiled: bool = True
    cases: list[Case] = dataclasses.field(default_factory=list)
    completion: Completion | None = None
    policy: PolicyVerdict | None = None
    boundary: Boundary = dataclasses.field(default_factory=Boundary)
    integrity: Integrity = dataclasses.field(default_factory=Integrity)
    limits: dict[str, Any] = dataclasses.field(default_factory=dict)
    runtime: dict[str, Any] = dataclasses.field(default_factory=dict)
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    files_error: str | None = None
    flaky: list[str] = dataclasses.field(default_factory=list)
    lint: Lint | None = None
    receipt: Receipt | None = None
    complexity: Complexity | None = None
    evaluation: Evaluation | None = None
    grader: Grader | None = None
    # Of a session's cell:
    session_id: str | None = None
    execution_count: int | None = None
    displays: list[Display] = dataclasses.field(default_factory=list)
    interrupted: bool = False
    restarted: bool = False
    # Of a suite's item:
    task: str | None = None
    execution_id: str | None = None

    PARTS: ClassVar[Parts] = {
        "error": SnippetError,
        "cases": Case,
        "completion": Completion,
        "policy": PolicyVerdict,
        "boundary": Boundary,
        "integrity": Integrity,
        "lint": Lint,
        "receipt": Receipt,
        "complexity": Complexity,
        "evaluation": Evaluation,
        "grader": Grader,
        "displays": Display,
    }

    @property
    def ok(self) -> bool:
        """Returns whether the snippet ran to its end, and all tests passed."""
        return self.status in ("ok", "passed")

    @property
    def result(self) -> Any:
        """The value that was asked for; `values.Opaque` stands for what could not leave the sandbox."""
        try:
            return values.decode(self.raw.get("result"))
        except values.DecodeError as error:
            raise ProtocolError(f"the result can't be read: {error}") from None

    @property
    def files(self) -> dict[str, bytes]:
        """The files that were fetched."""
        return {path: base64.b64decode(file["base64"]) for path, file in (self.raw.get("files") or {}).items()}

    def check(self) -> Execution:
        """Itself when it is `ok`; raises `CodeFailed` otherwise."""
        if self.ok:
            return self
        if self.error is not None and (self.error.type or self.error.message):
            where = f" (line {self.error.line})" if self.error.line else ""
            what = ": ".join(part for part in (self.error.type or self.error.class_, self.error.message) if part)
            raise CodeFailed(f"{what}{where}", self)
        if self.tests_total:
            raise CodeFailed(f"{self.tests_passed} of {self.tests_total} tests passed", self)
        raise CodeFailed(f"the snippet ended with status {self.status} ({self.stderr_class})", self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scan(Record):
    """The answer of `scan`."""

    policy: PolicyVerdict = dataclasses.field(default_factory=PolicyVerdict)
    contains_code: bool = False
    completion: Completion | None = None
    syntax_ok: bool = True
    redacted: str | None = None

    PARTS: ClassVar[Parts] = {"policy": PolicyVerdict, "completion": Completion}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuiteReport(Record):
    """The report at the end of a suite."""

    items: int = 0
    passed: int = 0
    failed: int = 0
    ok: int = 0
    errors: int = 0
    blocked: int = 0
    refused: int = 0
    infrastructure_errors: int = 0
    graded: int = 0
    pass_rate: float | None = None
    tests_passed: int = 0
    tests_total: int = 0
    pass_at_k: dict[str, float | None] = dataclasses.field(default_factory=dict)
    no_code: int = 0
    no_code_rate: float | None = None
    by_label: dict[str, Any] = dataclasses.field(default_factory=dict)
    by_class: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Image(Record):
    """An image, which differs from the others in its packages."""

    names: list[str] = dataclasses.field(default_factory=list)
    image_hash: str = ""
    packages_hash: str = ""
    packages: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtime(Record):
    """Interpreter that runs snippets: image, version of Python, packages."""

    image_hash: str = ""
    python: str = ""
    packages_hash: str = ""
    packages: dict[str, Any] = dataclasses.field(default_factory=dict)
    modules: list[str] = dataclasses.field(default_factory=list)
    images: list[Image] = dataclasses.field(default_factory=list)
    image_bytes: int = 0
    initial_memory_bytes: int = 0

    PARTS: ClassVar[Parts] = {"images": Image}

    def image(self, name: str) -> Image | None:
        """The image of that name or hash."""
        return next((image for image in self.images if name in image.names or name == image.image_hash), None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy(Record):
    """A policy pack: limits that may be asked for, what its gate does."""

    name: str = ""
    description: str = ""
    default: dict[str, float] = dataclasses.field(default_factory=dict)
    least: dict[str, float] = dataclasses.field(default_factory=dict)
    most: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReceiptsKey(Record):
    """The key that receipts are verified with."""

    algorithm: str = ""
    public_key: str = ""
    pem: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluatorPreset(Record):
    """An evaluator that a request can name."""

    name: str = ""
    description: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobInfo(Record):
    """A job as the service describes it."""

    id: str = ""
    kind: str = ""
    state: str = ""
    reason: str | None = None
    created_at: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    expires_at: str | None = None
    items: int = 0
    done: int = 0
    by_status: dict[str, int] = dataclasses.field(default_factory=dict)
    bytes: int = 0
    callback: dict[str, Any] | None = None

    @property
    def has_ended(self) -> bool:
        """Returns whether the job has come to its end: nothing more of it will run."""
        return self.state in ("finished", "cancelled")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StatsGroup(Record):
    """Statistics of one group of submissions."""

    start: str | None = None
    labels: dict[str, str | None] = dataclasses.field(default_factory=dict)
    submissions: int = 0
    graded: int = 0
    passed: int = 0
    pass_rate: float | None = None
    by_status: dict[str, int] = dataclasses.field(default_factory=dict)
    by_class: dict[str, int] = dataclasses.field(default_factory=dict)
    tests_passed: int = 0
    tests_total: int = 0
    tests_pass_rate: float | None = None
    fuel_used: dict[str, float] | None = None
    execution_seconds: dict[str, float] | None = None
    queue_seconds: dict[str, float] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stats(Record):
    """Statistics of submissions, by label and time."""

    since: str = ""
    until: str = ""
    interval: str | None = None
    groups: list[StatsGroup] = dataclasses.field(default_factory=list)
    with_other_labels: int = 0

    PARTS: ClassVar[Parts] = {"groups": StatsGroup}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SessionInfo(Record):
    """A session as the service describes it."""

    id: str = ""
    state: str = ""
    created_at: str = ""
    expires_at: str | None = None
    last_used_at: str | None = None
    ttl_seconds: float | None = None
    idle_seconds: float | None = None
    policy: str = ""
    limits: dict[str, Any] = dataclasses.field(default_factory=dict)
    execution_count: int = 0
    memory_bytes: int = 0
    files_bytes: int = 0
    runtime: dict[str, Any] = dataclasses.field(default_factory=dict)
    labels: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def expires(self) -> datetime.datetime | None:
        """Time at which the session ends, None without one."""
        # Python 3.10 reads no "Z".
        return datetime.datetime.fromisoformat(self.expires_at.replace("Z", "+00:00")) if self.expires_at else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandInfo(Record):
    """A command of a session. `state`: running, exited, killed, session_ended, failed."""

    id: str = ""
    session_id: str = ""
    command: str = ""
    state: str = ""
    started_at: str = ""
    ended_at: str | None = None
    duration_seconds: float = 0.0
    # As a shell sees it: 128 + n for the signal n. None while it runs, and where the service failed.
    exit_code: int | None = None
    stderr_class: str = "none"
    timed_out: bool = False
    signal: str | None = None
    fuel_used: int | None = None
    error: str | None = None

    @property
    def has_ended(self) -> bool:
        """Returns whether the command runs no more."""
        return self.state != "running"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandResult(CommandInfo):
    """A command with its output."""

    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    stdout_truncated: bool = False
    stderr_truncated: bool = False

    @property
    def ok(self) -> bool:
        """Returns whether the exit code is 0."""
        return self.exit_code == 0

    def check(self) -> CommandResult:
        """Itself when it is `ok`; raises `CommandFailed` otherwise."""
        if self.ok:
            return self
        if self.error is not None:
            raise CommandFailed(f"the command failed: {self.error}", self)
        if self.exit_code is None:
            raise CommandFailed("the command has not ended", self)
        why = " at the end of its time" if self.timed_out else f" by {self.signal}" if self.signal else ""
        last = self.stderr.strip().rpartition("\n")[2]
        raise CommandFailed(f"the command ended{why} with exit code {self.exit_code}{': ' if last else ''}{last}", self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint(Record):
    """A saved state of a session."""

    id: str = ""
    session_id: str = ""
    name: str | None = None
    created_at: str = ""
    bytes: int = 0
    image_hash: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry(Record):
    """A file, directory or link."""

    path: str = ""
    name: str = ""
    kind: str = "file"
    size: int = 0
    modified_at: str | None = None
    link_target: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileEvent(Record):
    """A change below a watched directory. `type`: create, write, remove, rename, chmod; or overflow, where changes were
    missed."""

    type: str = ""
    path: str = ""
    entry: Entry | None = None

    PARTS: ClassVar[Parts] = {"entry": Entry}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event(Record):
    """Something that a running cell did. `type`: begin, stdout, stderr, display, error, end; or overflow, where output
    was left out that was read too slowly: the answer has it."""

    type: str = ""
    text: str = ""
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    is_main_result: bool = False
    error: SnippetError | None = None
    answer: Execution | None = None
    execution_count: int | None = None

    PARTS: ClassVar[Parts] = {"error": SnippetError, "answer": Execution}

    @property
    def display(self) -> Display:
        """Content of a `display` event."""
        return Display(raw=self.raw, data=self.data, is_main_result=self.is_main_result)
