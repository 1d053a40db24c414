//! Frames between the front process and its workers: a 4-byte length, then postcard.

use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::bytes::Bytes;
use tokio_util::codec::LengthDelimitedCodec;

use super::rpc::{RequestError, SessionEvent, SessionNumber, SessionRequest, SessionResponse};
use proofbox_runtime::image::Image;
use proofbox_types::grant::Limits;
use proofbox_types::hardening::{Hardened, Hardening};
use proofbox_types::outcome::Outcome;
use proofbox_types::program::Program;

/// The longest frame: files and outputs of one run, at the largest limits that a policy may give.
const FRAME_BYTES: usize = 1 << 30;

/// Bytes of a piece of a large answer.
pub(crate) const PART_BYTES: usize = 256 << 10;

/// Names a run among those of one worker.
pub(crate) type RunId = u64;
/// Names an interpreter of a command among those of one worker process.
pub(crate) type Ticket = u64;

/// Session or run that a command belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CommandSource {
    /// Session of this number.
    Session(SessionNumber),
    /// Run of this id.
    Run(RunId),
}

/// Message from the front process to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Starts the worker: the first message, sent once.
    Start {
        /// Images to run guests from, the default one first.
        images: Vec<Image>,
        /// Packed file of the wheels that sessions may install.
        wheels: Option<PathBuf>,
        /// Maximum number of runs at once.
        slots: u32,
        /// Interpreters of sessions at once.
        session_slots: u32,
        /// The largest linear memory of any guest.
        memory_bytes: u64,
        /// Hardening of the worker, applied before the first guest.
        hardening: Hardening,
    },
    /// Runs a program in a fresh interpreter.
    Run {
        /// Id of the run in the answer.
        id: RunId,
        /// Program of the run, with its files.
        program: Arc<Program>,
        /// Limits of the run.
        limits: Limits,
    },
    /// Sends a request to a session.
    Request {
        /// Id of the request in the answer.
        id: RunId,
        /// Number of the session.
        session: SessionNumber,
        /// Request to the session.
        request: SessionRequest,
    },
    /// Cancels a run or request that nobody waits for any more.
    Cancel {
        /// Id of the run or request.
        id: RunId,
    },
    /// Asks for a `Pong` in answer.
    Ping,
    /// Allows one more event of a request.
    More {
        /// Id of the request.
        id: RunId,
    },
    /// Answers an `InterpreterWanted`.
    InterpreterAdmitted {
        /// Ticket of the interpreter.
        ticket: Ticket,
        /// True when it has a permit, false when there is none to be had.
        admitted: bool,
    },
}

/// Message from a worker to the front process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// Guests can be run.
    Ready {
        /// Layers that are in force in the worker.
        hardened: Hardened,
    },
    /// No guest can be run.
    Unfit {
        /// Reason for which no guest can be run.
        reason: String,
    },
    /// A run has ended.
    Done {
        /// Id of the run.
        id: RunId,
        /// Outcome of the run; `Err` when the worker failed.
        result: Result<Box<Outcome>, String>,
    },
    /// Event of a request to a session.
    Event {
        /// Id of the request.
        id: RunId,
        /// Event to pass on.
        event: SessionEvent,
    },
    /// A request has been answered.
    Answered {
        /// Id of the request.
        id: RunId,
        /// Response of the session, or its error.
        result: Result<SessionResponse, RequestError>,
    },
    /// Answer to a ping.
    Pong {
        /// Interpreters alive in it.
        live: u32,
    },
    /// Asks for a permit for an interpreter of a command.
    InterpreterWanted {
        /// Ticket of the interpreter.
        ticket: Ticket,
        /// Session or run of the command.
        source: CommandSource,
    },
    /// Gives a permit back, or tells that it is not wanted any more.
    InterpreterEnded {
        /// Ticket of the interpreter.
        ticket: Ticket,
    },
    /// A run that nobody waits for any more has been stopped.
    Cancelled {
        /// Id of the run.
        id: RunId,
        /// Fuel that it has used.
        fuel: u64,
    },
    /// Piece of a large answer: all of them, in their order, are the encoded message.
    Part {
        /// Id of the run or request.
        id: RunId,
        /// Bytes of the piece.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        /// Bytes that come after it.
        left: usize,
    },
}

impl FromWorker {
    /// Returns the id of the run or request that this answers, if it is so large that it is sent in pieces. Nothing of the
    /// same id follows.
    pub(crate) fn large_answer(&self) -> Option<RunId> {
        let (id, bytes) = match self {
            Self::Done { id, result: Ok(outcome) } => (id, outcome.content_bytes()),
            Self::Answered { id, result: Ok(SessionResponse::Called(called, _)) } => (id, called.content_bytes()),
            Self::Answered { id, result: Ok(SessionResponse::Saved(bytes)) } => (id, bytes.len()),
            _ => return None,
        };
        (bytes > PART_BYTES).then_some(*id)
    }
}

/// Pieces of a large answer that have come: of one at a time.
#[derive(Default)]
pub(crate) struct Parts {
    of: Option<RunId>,
    bytes: Vec<u8>,
}

impl Parts {
    /// Takes the next piece; returns the message, still encoded, with the last one.
    ///
    /// # Errors
    /// Returns an error when it belongs to another answer than the pieces before, or they are more than a frame may have.
    pub(crate) fn take(&mut self, id: RunId, piece: &[u8], left: usize) -> std::io::Result<Option<Vec<u8>>> {
        let length = self.bytes.len().saturating_add(piece.len()).saturating_add(left);
        if *self.of.get_or_insert(id) != id || length > FRAME_BYTES {
            return Err(std::io::Error::other("pieces that are no answer"));
        }
        self.bytes.extend_from_slice(piece);
        Ok((left == 0).then(|| std::mem::take(self).bytes))
    }
}

/// The framing of both directions.
pub(crate) fn framing() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_BYTES).new_codec()
}

/// Encodes a message as the content of a frame.
pub(crate) fn encode<T: Serialize>(message: &T) -> Bytes {
    postcard::to_stdvec(message).expect("messages are plain data").into()
}

/// Decodes the message in one frame.
///
/// # Errors
/// Returns an error when the bytes are no such message: the other side is not what we took it for.
pub(crate) fn decode<T: DeserializeOwned>(frame: &[u8]) -> std::io::Result<T> {
    postcard::from_bytes(frame).map_err(std::io::Error::other)
}
