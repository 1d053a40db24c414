//! What is asked of a session in a worker, and what comes back.

use serde::{Deserialize, Serialize};

use crate::domain::grant::Limits;
use crate::domain::session::{
    Cell, CellEvent, CellLimits, CellOutcome, Change, Command, ContextNumber, FileAnswer, FileAsk, FileRefused,
    Footprint, Opening,
};
use crate::memory::Piece;

/// Names a session among those of one service.
pub type SessionNumber = u64;
/// Names a command among those of one session.
pub type CommandNumber = u32;

/// Something to do with a session.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Make it.
    Open(Box<Opening>),
    /// Make it from a checkpoint; if there is one of this number already, that one is replaced.
    Load {
        /// The checkpoint.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        /// Hash of the image that it was made in; without one, the default image.
        image: Option<String>,
        /// Of the session.
        limits: Limits,
    },
    /// End it.
    Close,
    /// Carry out a call; cancelling interrupts it.
    Call {
        /// Where.
        context: ContextNumber,
        /// What.
        cell: Box<Cell>,
        /// How far.
        limits: CellLimits,
    },
    /// Interrupt the call that a context serves.
    Interrupt {
        /// Which.
        context: ContextNumber,
    },
    /// One more context.
    AddContext {
        /// Its name.
        context: ContextNumber,
        /// Where it starts.
        cwd: Option<String>,
    },
    /// One context less.
    RemoveContext {
        /// Which.
        context: ContextNumber,
    },
    /// Which contexts it has.
    Contexts,
    /// Give a context a fresh interpreter.
    Restart {
        /// Which.
        context: ContextNumber,
    },
    /// Do something with its files.
    Files(FileAsk),
    /// The session as bytes, when its calls have ended.
    Save,
    /// As many sessions in the same state as there are numbers here.
    Fork {
        /// Their names.
        into: Vec<SessionNumber>,
    },
    /// What it takes.
    Footprint,
    /// Run a command; cancelling kills it.
    Run {
        /// Its name.
        number: CommandNumber,
        /// What.
        command: Box<Command>,
        /// How far: the time is that of the command as a whole, the output that of each stream.
        limits: CellLimits,
    },
    /// Input for a command.
    Input {
        /// Which.
        number: CommandNumber,
        /// The bytes; none is the end.
        #[serde(with = "serde_bytes")]
        bytes: Option<Vec<u8>>,
    },
    /// Tell of changes below a directory, until cancelled.
    Watch {
        /// Which.
        path: String,
        /// Of those below it, too.
        recursive: bool,
    },
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Done.
    Done,
    /// A call has ended; what the session takes now.
    Called(Box<CellOutcome>, Footprint),
    /// Whether there was something to interrupt.
    Interrupted(bool),
    /// Its contexts, and where each starts that does not start where all do.
    Contexts(Vec<(ContextNumber, Option<String>)>),
    /// Of its files.
    File(FileAnswer),
    /// The session as bytes.
    Saved(#[serde(with = "serde_bytes")] Vec<u8>),
    /// What it takes.
    Footprint(Footprint),
    /// A command has ended.
    Exited {
        /// The code that a shell would see.
        code: i32,
        /// Fuel of interpreters of the session's commands since it was last told.
        fuel: u64,
    },
}

/// What happens meanwhile.
#[derive(Debug, Serialize, Deserialize)]
pub enum AskEvent {
    /// In a call.
    Cell(CellEvent),
    /// A command wrote to standard output.
    Stdout(#[serde(with = "serde_bytes")] Vec<u8>),
    /// A command wrote to standard error.
    Stderr(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The watch has begun.
    Watching,
    /// Files changed. Told only when the front process has room for it: see `ToWorker::More`.
    Changes(Vec<Change>),
    /// Changes that are left out here: there were more than could be kept.
    ChangesMissed,
}

/// Longest piece of output that more is appended to.
const JOINED_BYTES: usize = 64 << 10;

impl Piece for AskEvent {
    fn size(&self) -> usize {
        match self {
            Self::Cell(event) => event.size(),
            Self::Stdout(bytes) | Self::Stderr(bytes) => bytes.len(),
            Self::Changes(changes) => changes.iter().map(|change| change.path.len() + size_of::<Change>()).sum(),
            Self::Watching | Self::ChangesMissed => 0,
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

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AskError {
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
    /// The worker has no room for one more interpreter.
    #[error("the worker has no room for one more interpreter: {0}")]
    NoRoom(String),
    /// The worker's own code panicked.
    #[error("the worker failed: {0}")]
    Failed(String),
    /// Nobody waits for it.
    #[error("nobody waits for this any more")]
    Cancelled,
}
