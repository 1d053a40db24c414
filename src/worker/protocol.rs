//! Frames between the front process and its workers: a 4-byte length, then postcard.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::bytes::Bytes;
use tokio_util::codec::LengthDelimitedCodec;

use super::ask::{Answer, Ask, AskError, AskEvent, SessionNumber};
use crate::domain::grant::Limits;
use crate::domain::hardening::{Hardened, Hardening};
use crate::domain::run::{Outcome, Program};
use crate::runtime::image::Image;

/// The longest frame: files and outputs of one run, at the largest limits that a policy may give.
const FRAME_BYTES: usize = 1 << 30;

/// Names a run among those of one worker.
pub type RunId = u64;

/// What the front process says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// First, and once.
    Start {
        /// What to run guests from: the default image, and others.
        images: Vec<Image>,
        /// Runs at once.
        slots: u32,
        /// Interpreters of sessions at once.
        session_slots: u32,
        /// The largest linear memory of any guest.
        memory_bytes: u64,
        /// What it is to give up before the first guest.
        hardening: Hardening,
    },
    /// Run this.
    Run {
        /// Its name in the answer.
        id: RunId,
        /// What to run.
        program: Arc<Program>,
        /// How far.
        limits: Limits,
    },
    /// Do something with a session.
    Ask {
        /// Its name in the answer.
        id: RunId,
        /// Which session.
        session: SessionNumber,
        /// What.
        ask: Ask,
    },
    /// Nobody waits for this run any more.
    Cancel {
        /// Which.
        id: RunId,
    },
    /// Answer if you can.
    Ping,
    /// Room for one more event of what was asked.
    More {
        /// Name of what was asked.
        id: RunId,
    },
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// Guests can be run.
    Ready {
        /// What it has given up.
        hardened: Hardened,
    },
    /// None can be run.
    Unfit {
        /// Why.
        reason: String,
    },
    /// A run has ended.
    Done {
        /// Which.
        id: RunId,
        /// How; `Err` when we failed.
        result: Result<Box<Outcome>, String>,
    },
    /// Something happens in what was asked.
    Event {
        /// Which.
        id: RunId,
        /// What.
        event: AskEvent,
    },
    /// What was asked is done.
    Answered {
        /// Which.
        id: RunId,
        /// How.
        result: Result<Answer, AskError>,
    },
    /// Alive.
    Pong {
        /// Interpreters alive in it.
        live: u32,
    },
}

/// The framing of both directions.
pub fn framing() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_BYTES).new_codec()
}

/// One frame's content.
pub fn encode<T: Serialize>(message: &T) -> Bytes {
    postcard::to_stdvec(message).expect("messages are plain data").into()
}

/// The message in one frame.
///
/// # Errors
/// When the bytes are no such message: the other side is not what we took it for.
pub fn decode<T: DeserializeOwned>(frame: &[u8]) -> std::io::Result<T> {
    postcard::from_bytes(frame).map_err(std::io::Error::other)
}
