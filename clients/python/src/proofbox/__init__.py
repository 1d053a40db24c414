"""Client of proofbox: runs Python snippets in a sandbox, grades them, keeps sessions.

>>> import proofbox
>>> client = proofbox.Client("http://127.0.0.1:8080")
>>> client.execute("1 + 1", result="last_expression").result
2
"""

from ._retries import Retries
from .async_client import AsyncClient, AsyncSuiteRun
from .async_commands import AsyncCommand, AsyncSessionCommands
from .async_jobs import AsyncJob, AsyncJobs
from .async_session import AsyncCellStream, AsyncFileWatch, AsyncSession, AsyncSessionFiles
from .client import Client, SuiteRun
from .commands import Command, SessionCommands
from .errors import (
    Busy,
    CodeFailed,
    CommandFailed,
    Conflict,
    ConnectionFailed,
    DeadlineExceeded,
    InternalError,
    InvalidRequest,
    NotAllowed,
    NotFound,
    ProofboxError,
    ProtocolError,
    ServiceError,
    SessionNotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    VariableError,
)
from .jobs import Job, Jobs
from .session import CellStream, FileWatch, Session, SessionFiles
from .types import (
    Case,
    Checkpoint,
    CommandInfo,
    CommandResult,
    Display,
    Entry,
    EvaluatorPreset,
    Event,
    Execution,
    FileEvent,
    Finding,
    Frame,
    Image,
    JobInfo,
    Policy,
    PolicyVerdict,
    ReceiptsKey,
    Runtime,
    Scan,
    SessionInfo,
    SnippetError,
    Stats,
    StatsGroup,
    SuiteReport,
)
from .values import DecodeError, EncodeError, Opaque, decode, encode

__all__ = [
    "AsyncCellStream",
    "AsyncClient",
    "AsyncCommand",
    "AsyncFileWatch",
    "AsyncJob",
    "AsyncJobs",
    "AsyncSession",
    "AsyncSessionCommands",
    "AsyncSessionFiles",
    "AsyncSuiteRun",
    "Busy",
    "Case",
    "CellStream",
    "Checkpoint",
    "Client",
    "CodeFailed",
    "Command",
    "CommandFailed",
    "CommandInfo",
    "CommandResult",
    "Conflict",
    "ConnectionFailed",
    "DeadlineExceeded",
    "DecodeError",
    "Display",
    "EncodeError",
    "Entry",
    "EvaluatorPreset",
    "Event",
    "Execution",
    "FileEvent",
    "FileWatch",
    "Finding",
    "Frame",
    "Image",
    "InternalError",
    "InvalidRequest",
    "Job",
    "JobInfo",
    "Jobs",
    "NotAllowed",
    "NotFound",
    "Opaque",
    "Policy",
    "PolicyVerdict",
    "ProofboxError",
    "ProtocolError",
    "ReceiptsKey",
    "Retries",
    "Runtime",
    "Scan",
    "ServiceError",
    "Session",
    "SessionCommands",
    "SessionFiles",
    "SessionInfo",
    "SessionNotFound",
    "SnippetError",
    "Stats",
    "StatsGroup",
    "SuiteReport",
    "SuiteRun",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "VariableError",
    "decode",
    "encode",
]

__version__ = "0.1.0"
