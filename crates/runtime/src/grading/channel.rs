//! Two guests, one conversation: the candidate in one, the tests in the other (`grading: isolated`).
//!
//! One of them speaks at a time. A request is answered by a reply, and until then the one who is asked may ask in turn
//! (`runtimes/*/guest/bridge.py`). The host carries the messages without looking into them, and holds both to the
//! order: a guest that speaks out of turn is stopped. What the candidate has cost and printed is kept here, so that it
//! can be told case by case while both are alive.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use proofbox_types::failure;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Outcome};
use proofbox_types::value::Value;
use proofbox_vfs::Output;

/// Calls within calls, from one guest to the other and back. Python's own recursion limits come before, in honest code.
const DEPTH: usize = 200;
/// The longest message: what the guest's codec makes at most.
const MESSAGE_BYTES: usize = 16 << 20;
/// Bytes kept of what a candidate prints while it is asked something, for tests that look at it.
const PRINTED_BYTES: usize = 1 << 20;
/// Bytes kept of what a candidate prints in a case.
const CASE_BYTES: usize = 4 << 10;

/// Limits that one submission may meet before the rest of its cases is not run: each costs as much as a whole run.
const LIMITED: usize = 3;

/// Kinds of messages, as bridge.py has them.
const READY: i32 = 0;
const REQUEST: i32 = 1;
const REPLY: i32 = 2;
const GONE: i32 = 3;

/// Party to a conversation between two guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The code under test.
    Candidate,
    /// Interpreter of the tests.
    Grader,
}

/// Protocol violation: the guest sent a message out of turn, so it is not the program that was started.
#[derive(Debug, thiserror::Error)]
#[error("the guest spoke out of turn")]
pub(crate) struct OutOfTurn;

/// The host ends this interpreter: it is no longer needed.
#[derive(Debug, thiserror::Error)]
#[error("no longer needed")]
pub(crate) struct Dismissed;

/// Cost of a candidate so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Fuel: instructions executed, in units of wasmtime.
    pub fuel: u64,
    /// CPU time and sleep.
    pub execution: Duration,
    /// The largest linear memory, in bytes.
    pub peak_memory_bytes: u64,
}

impl Spent {
    fn and(self, more: Self) -> Self {
        Self {
            fuel: self.fuel + more.fuel,
            execution: self.execution + more.execution,
            peak_memory_bytes: self.peak_memory_bytes.max(more.peak_memory_bytes),
        }
    }
}

/// Endpoint of one guest in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    side: Side,
    channel: Arc<Mutex<Channel>>,
}

#[derive(Debug)]
struct Channel {
    turn: Side,
    /// Message for the side whose turn it is.
    message: Option<(i32, Vec<u8>)>,
    /// Guests that wait for a reply, the innermost last.
    asking: Vec<Side>,
    /// True when the candidate has said that it is ready.
    ready: bool,
    candidate: Presence,
    /// Cost of interpreters of the candidate that are gone, and of the present one up to its last message.
    before: Spent,
    present: Spent,
    printed: [Vec<u8>; 2],
    case_printed: Vec<u8>,
    /// The present interpreter of the candidate is to end.
    dismissed: bool,
    /// Interpreters of the candidate that a limit has ended.
    limited: usize,
    /// The candidate could not be imported: another try would end the same.
    import_failed: bool,
    /// Fuel and execution time that all interpreters of the candidate together may use.
    budget: (u64, Duration),
}

/// Presence of the candidate in a conversation.
#[derive(Debug)]
enum Presence {
    /// The candidate can be asked.
    Here,
    /// The candidate has ended; requests to it get this message.
    Gone(Vec<u8>),
    /// A fresh interpreter is to be started when it is next asked.
    Wanted,
}

/// Returns both endpoints of a new conversation; the candidate begins. The limits apply to all its interpreters
/// together.
pub(crate) fn channel(limits: &Limits) -> (Endpoint, Endpoint) {
    let channel = Arc::new(Mutex::new(Channel {
        turn: Side::Candidate,
        message: None,
        asking: Vec::new(),
        ready: false,
        candidate: Presence::Here,
        before: Spent::default(),
        present: Spent::default(),
        printed: [Vec::new(), Vec::new()],
        case_printed: Vec::new(),
        dismissed: false,
        limited: 0,
        import_failed: false,
        budget: (limits.fuel, limits.wall),
    }));
    (Endpoint { side: Side::Candidate, channel: Arc::clone(&channel) }, Endpoint { side: Side::Grader, channel })
}

impl Endpoint {
    fn lock(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock().expect("no holder panics")
    }

    /// Returns the side whose turn it is.
    pub(crate) fn turn(&self) -> Side {
        self.lock().turn
    }

    /// Returns the side that this endpoint belongs to.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// Sends a message. `spent` is the cost of this guest so far.
    ///
    /// # Errors
    /// Returns an error when it is not this guest's turn to say that.
    pub(crate) fn send(&self, kind: i32, message: &[u8], spent: Spent) -> Result<(), OutOfTurn> {
        let mut channel = self.lock();
        if channel.turn != self.side || message.len() > MESSAGE_BYTES {
            return Err(OutOfTurn);
        }
        if self.side == Side::Candidate {
            channel.present = spent;
        }
        match (kind, self.side) {
            (READY, Side::Candidate) if !channel.ready => {
                channel.ready = true;
                // A fresh interpreter that was wanted for a request takes it up now.
                if channel.message.is_none() {
                    channel.turn = Side::Grader;
                }
                return Ok(());
            }
            (REQUEST, side) if channel.asking.len() < DEPTH => {
                if side == Side::Grader {
                    if channel.asking.is_empty() {
                        channel.printed.iter_mut().for_each(Vec::clear);
                    }
                    if let Presence::Gone(how) = &channel.candidate {
                        channel.message = Some((GONE, how.clone()));
                        return Ok(());
                    }
                }
                channel.asking.push(side);
            }
            (REPLY, side) if channel.asking.last().is_some_and(|asking| *asking != side) => {
                channel.asking.pop();
            }
            _ => return Err(OutOfTurn),
        }
        channel.message = Some((kind, message.to_vec()));
        channel.turn = if self.side == Side::Grader { Side::Candidate } else { Side::Grader };
        Ok(())
    }

    /// Waits for what is said to this guest: its kind and length.
    ///
    /// # Errors
    /// Returns [`Dismissed`] when this guest is to end.
    pub(crate) fn recv(&self) -> impl Future<Output = Result<(i32, usize), Dismissed>> + Send + use<> {
        let endpoint = self.clone();
        // The driver polls whose turn it is, so there is nobody to be woken.
        std::future::poll_fn(move |_| {
            let channel = endpoint.lock();
            if endpoint.side == Side::Candidate && channel.dismissed {
                return Poll::Ready(Err(Dismissed));
            }
            match &channel.message {
                Some((kind, message)) if channel.turn == endpoint.side => Poll::Ready(Ok((*kind, message.len()))),
                _ => Poll::Pending,
            }
        })
    }

    /// Takes what was heard, if it has that length.
    pub(crate) fn take(&self, length: usize) -> Option<Vec<u8>> {
        let mut channel = self.lock();
        if channel.turn != self.side || channel.message.as_ref().is_none_or(|(_, message)| message.len() != length) {
            return None;
        }
        channel.message.take().map(|(_, message)| message)
    }

    /// The tests ask for a fresh interpreter for the candidate. There is none when it could not be imported, when its
    /// fuel or time is used up, or when limits have ended so many that more would only cost.
    pub(crate) fn renew(&self) -> bool {
        let mut channel = self.lock();
        let (fuel, time) = channel.budget;
        let spent = channel.before.and(channel.present);
        let used_up = spent.fuel >= fuel || spent.execution >= time;
        if self.side != Side::Grader
            || channel.turn != Side::Grader
            || channel.import_failed
            || used_up
            || channel.limited >= LIMITED
        {
            return false;
        }
        channel.asking.clear();
        channel.message = None;
        channel.candidate = Presence::Wanted;
        true
    }

    /// Returns whether a fresh interpreter is wanted.
    pub(crate) fn wants_fresh(&self) -> bool {
        matches!(self.lock().candidate, Presence::Wanted)
    }

    /// A fresh interpreter has been started.
    pub(crate) fn started(&self) {
        let mut channel = self.lock();
        channel.ready = false;
        channel.dismissed = false;
        channel.candidate = Presence::Here;
    }

    /// The present interpreter of the candidate is to end: it hears so when it is next polled.
    pub(crate) fn dismiss(&self) {
        self.lock().dismissed = true;
    }

    /// An interpreter of the candidate has ended: whoever asks it hears how.
    pub(crate) fn ended(&self, outcome: &Outcome) {
        let mut channel = self.lock();
        let usage = &outcome.usage;
        let spent = Spent { fuel: usage.fuel, execution: usage.execution, peak_memory_bytes: usage.peak_memory_bytes };
        channel.before = channel.before.and(spent);
        channel.present = Spent::default();
        if channel.dismissed {
            return;
        }
        let error = failure::early_end_error(outcome);
        let mut how = Vec::new();
        let text = |text: &str| Value::str(text);
        Value::Tuple(vec![text(error.class.as_str()), text(&error.type_name), text(&error.message)]).encode(&mut how);
        channel.limited += usize::from(matches!(outcome.end, End::Limited(_)));
        channel.import_failed |= !channel.ready;
        channel.message = (!channel.asking.is_empty()).then(|| (GONE, how.clone()));
        channel.asking.clear();
        channel.candidate = Presence::Gone(how);
        channel.turn = Side::Grader;
    }

    /// The limits of a further interpreter of the candidate: what the others have left.
    pub(crate) fn left(&self, limits: &Limits) -> Limits {
        let spent = self.spent();
        Limits {
            fuel: limits.fuel.saturating_sub(spent.fuel),
            wall: limits.wall.saturating_sub(spent.execution),
            ..*limits
        }
    }

    /// Returns the cost of the candidate, over all its interpreters.
    pub(crate) fn spent(&self) -> Spent {
        let channel = self.lock();
        channel.before.and(channel.present)
    }

    /// The candidate has written something.
    pub(crate) fn printed(&self, output: Output, bytes: &[u8]) {
        if self.side != Side::Candidate {
            return;
        }
        let mut channel = self.lock();
        let keep = |kept: &mut Vec<u8>, most: usize| {
            let room = most - kept.len().min(most);
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        };
        match output {
            Output::Stdout => {
                keep(&mut channel.printed[0], PRINTED_BYTES);
                keep(&mut channel.case_printed, CASE_BYTES);
            }
            Output::Stderr => keep(&mut channel.printed[1], PRINTED_BYTES),
        }
    }

    /// Returns the bytes that the candidate wrote to stream 1 or 2 since it was last asked something.
    pub(crate) fn written(&self, stream: i32) -> Vec<u8> {
        match self.side {
            Side::Grader => self.lock().printed[usize::from(stream == 2)].clone(),
            Side::Candidate => Vec::new(),
        }
    }

    /// Takes these bytes: they are written no longer.
    pub(crate) fn take_written(&self, stream: i32) -> Vec<u8> {
        match self.side {
            Side::Grader => std::mem::take(&mut self.lock().printed[usize::from(stream == 2)]),
            Side::Candidate => Vec::new(),
        }
    }

    /// Takes the output that the candidate printed since the last call: of a case, its beginning.
    pub(crate) fn case_output(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.lock().case_printed)).into_owned()
    }
}
