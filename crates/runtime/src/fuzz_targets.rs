//! Entry points for bytes that guests send, one function each, for fuzzing (loadtest's `fuzz`). Bytes from a store are
//! taken by [`Session::load`](super::session::Session::load).

use std::time::Duration;

use super::grading::channel::{self, Spent};
use super::report::Reporter;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::Report;

/// Messages of one guest, in order.
pub fn report<'a>(messages: impl IntoIterator<Item = &'a [u8]>) -> Report {
    let mut reporter = Reporter::default();
    let mut spent = Spent::default();
    for message in messages {
        spent.fuel += 1;
        // A refusal is for the guest, which goes on.
        let _ = reporter.take(message, spent, String::new);
    }
    reporter.finish(spent, String::new)
}

/// A conversation of two guests: each message with whose it is and of which kind.
pub fn channel_messages<'a>(messages: impl IntoIterator<Item = (bool, i32, &'a [u8])>, limits: &Limits) {
    let (candidate, grader) = channel::channel(limits);
    let mut spent = Spent::default();
    for (graders, kind, message) in messages {
        let (endpoint, other) = if graders { (&grader, &candidate) } else { (&candidate, &grader) };
        spent.fuel += 1;
        spent.execution += Duration::from_micros(1);
        match kind {
            // Beyond what is said: what the host is asked for.
            100 => drop(endpoint.take(message.len())),
            101 => _ = endpoint.renew(),
            102 => endpoint.started(),
            103 => drop(endpoint.take_written(i32::from(message.first().copied().unwrap_or(0)))),
            _ => {
                if endpoint.send(kind, message, spent).is_ok() {
                    drop(other.take(message.len()));
                }
            }
        }
    }
}
