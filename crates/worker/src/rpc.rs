//! Requests to a session in a worker, and its responses.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use proofbox_memory::Piece;
use proofbox_types::grant::Limits;
use proofbox_types::session::{
    Cell, CellEvent, CellLimits, CellOutcome, Change, Command, CommandOutcome, ContextNumber, FileAnswer, FileAsk,
    FileRefused, Footprint, Opening,
};

/// Names a session among those of one service.
pub type SessionNumber = u64;
/// Names a command among those of one session.
pub type CommandNumber = u32;

/// Request to a session.
#[derive(Debug, Serialize, Deserialize)]
pub enum SessionRequest {
    /// Makes a new session.
    Open(Box<Opening>),
    /// Makes the session from a checkpoint; a session of this number is replaced.
    Load {
        /// Bytes of the checkpoint.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        /// Hash of the image that it was made in; without one, the default image.
        image: Option<String>,
        /// Limits of the session.
        limits: Limits,
        /// Variables that are added to its environment.
        new_env: Vec<(String, String)>,
    },
    /// Ends the session and drops it.
    Close,
    /// Executes a call; cancelling interrupts it.
    Call {
        /// Context that executes it.
        context: ContextNumber,
        /// Cell that is executed.
        cell: Box<Cell>,
        /// Limits of the call.
        limits: CellLimits,
    },
    /// Interrupts the call that a context serves.
    Interrupt {
        /// Number of the context.
        context: ContextNumber,
    },
    /// Adds a context to the session.
    AddContext {
        /// Number of the new context.
        context: ContextNumber,
        /// Directory in which the context starts; none: the default.
        cwd: Option<String>,
    },
    /// Removes a context from the session.
    RemoveContext {
        /// Number of the context.
        context: ContextNumber,
    },
    /// Asks for the session's contexts.
    Contexts,
    /// Gives a context a fresh interpreter.
    Restart {
        /// Number of the context.
        context: ContextNumber,
    },
    /// Gives all contexts fresh interpreters, and the sandbox another boot.
    Reboot,
    /// Operates on the session's files.
    Files(FileAsk),
    /// Asks for the session as bytes, when its calls have ended.
    Save {
        /// Treatment of background jobs that go on, which are in no bytes.
        jobs: JobsAtSave,
    },
    /// Makes as many copies of the session as there are numbers here.
    Fork {
        /// Numbers of the copies.
        into: Vec<SessionNumber>,
    },
    /// Asks for the session's footprint.
    Footprint,
    /// Asks for the time that the session has had the core in this worker.
    CpuTime,
    /// Runs a command; cancelling kills it.
    Run {
        /// Number of the command.
        number: CommandNumber,
        /// Command that is run.
        command: Box<Command>,
        /// Limits: the time is that of the command as a whole, the output that of each stream.
        limits: CellLimits,
    },
    /// Writes to the standard input of a command.
    Input {
        /// Number of the command.
        number: CommandNumber,
        /// Bytes of input; none is the end.
        #[serde(with = "serde_bytes")]
        bytes: Option<Vec<u8>>,
    },
    /// Reports changes below a directory, until cancelled.
    Watch {
        /// Path of the directory.
        path: String,
        /// True to include all directories below it.
        recursive: bool,
    },
}

/// Treatment of background jobs that scripts of calls have left, when a session is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobsAtSave {
    /// Saves the session without them: it goes on, and they with it.
    LeaveOut,
    /// Refuses to save the session: it would not go on, nor would they.
    Refuse,
}

/// Response of a session.
#[derive(Debug, Serialize, Deserialize)]
pub enum SessionResponse {
    /// The request has been carried out.
    Done,
    /// A call has ended; with the session's footprint after it.
    Called(Box<CellOutcome>, Footprint),
    /// True when there was a call to interrupt.
    Interrupted(bool),
    /// Contexts, each with its start directory where that is not the default.
    Contexts(Vec<(ContextNumber, Option<String>)>),
    /// Result of an operation on files.
    File(FileAnswer),
    /// The session as bytes.
    Saved(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Footprint of the session.
    Footprint(Footprint),
    /// Time that the session has had the core.
    CpuTime(Duration),
    /// A command has ended, and so have the jobs that it left in the background.
    Exited {
        /// Outcome of the command itself.
        outcome: CommandOutcome,
        /// Fuel of interpreters of the session's commands since the last report.
        fuel: u64,
    },
    /// A command that was cancelled has been stopped, or a session closed with all that ran in it.
    Stopped {
        /// Fuel of interpreters of the session's commands since the last report.
        fuel: u64,
    },
}

impl SessionResponse {
    /// Returns the fuel that it reports.
    pub fn fuel(&self) -> u64 {
        match self {
            Self::Called(called, _) => called.outcome.usage.fuel,
            Self::Exited { fuel, .. } | Self::Stopped { fuel } => *fuel,
            _ => 0,
        }
    }
}

/// Receiver of what happens during a request.
pub(crate) type Events = Arc<dyn Fn(SessionEvent) + Send + Sync>;

/// Event during a request.
#[derive(Debug, Serialize, Deserialize)]
pub enum SessionEvent {
    /// Event of a call.
    Cell(CellEvent),
    /// A command wrote to standard output.
    Stdout(#[serde(with = "serde_bytes")] Vec<u8>),
    /// A command wrote to standard error.
    Stderr(#[serde(with = "serde_bytes")] Vec<u8>),
    /// A command has ended. Jobs that it left in the background may go on until the answer.
    Exited(CommandOutcome),
    /// The watch has begun.
    Watching,
    /// Changed files. Sent only when the front process has room for them: see `ToWorker::More`.
    Changes(Vec<Change>),
    /// Changes that are left out here: there were more than could be kept.
    ChangesMissed,
}

/// Longest piece of output that more is appended to.
const JOINED_BYTES: usize = 64 << 10;

impl Piece for SessionEvent {
    fn size(&self) -> usize {
        match self {
            Self::Cell(event) => event.size(),
            Self::Stdout(bytes) | Self::Stderr(bytes) => bytes.len(),
            Self::Changes(changes) => changes.iter().map(|change| change.path.len() + size_of::<Change>()).sum(),
            Self::Exited(_) | Self::Watching | Self::ChangesMissed => 0,
        }
    }

    fn join(&mut self, next: Self) -> Option<Self> {
        if self.size() + next.size() > JOINED_BYTES {
            return Some(next);
        }
        match (self, next) {
            (Self::Stdout(bytes), Self::Stdout(more)) | (Self::Stderr(bytes), Self::Stderr(more)) => {
                bytes.extend_from_slice(&more);
            }
            (Self::Cell(CellEvent::Stdout(text)), Self::Cell(CellEvent::Stdout(more)))
            | (Self::Cell(CellEvent::Stderr(text)), Self::Cell(CellEvent::Stderr(more))) => text.push_str(&more),
            (_, next) => return Some(next),
        }
        None
    }

    /// Leaves out any of them: they come from a worker, which may be in a guest's hands. The answer says again what
    /// matters.
    fn is_optional(&self) -> bool {
        true
    }
}

/// Error of a request to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RequestError {
    /// The worker has no such session.
    #[error("the session is not in this worker")]
    NoSession,
    /// The session has no such context.
    #[error("there is no context {0}")]
    NoContext(ContextNumber),
    /// The session has no such command.
    #[error("there is no command {0}")]
    NoCommand(CommandNumber),
    /// The session has too many of something.
    #[error("{0}")]
    TooMany(String),
    /// A file can't be had.
    #[error(transparent)]
    File(#[from] FileRefused),
    /// The checkpoint can't be loaded.
    #[error("{0}")]
    Checkpoint(String),
    /// Background jobs of the session go on.
    #[error("commands run in the session: they would be lost")]
    CommandsRun,
    /// The worker has no room for one more interpreter.
    #[error("the worker has no room for one more interpreter: {0}")]
    NoRoom(String),
    /// The worker's own code panicked.
    #[error("the worker failed: {0}")]
    Failed(String),
    /// Cancelled: nobody waits for the request.
    #[error("nobody waits for this any more")]
    Cancelled,
}
