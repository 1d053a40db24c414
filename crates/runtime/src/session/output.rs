//! Events of a call, reported while it runs: output in pieces that are worth sending.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proofbox_types::session::CellEvent;
use proofbox_vfs::Output;

/// Receiver of a call's events.
pub type Sink = Arc<dyn Fn(CellEvent) + Send + Sync>;

/// Time that output waits for more to come with it.
const MAX_DELAY: Duration = Duration::from_millis(10);
/// And no longer than until there is so much of it.
const ENOUGH: usize = 64 << 10;

/// Output on its way to who listens.
pub(crate) struct OutputStream(Mutex<Waiting>);

struct Waiting {
    sink: Sink,
    output: Output,
    bytes: Vec<u8>,
    since: Instant,
    /// Bytes that may still be reported, of standard output and error.
    left: [u64; 2],
}

impl OutputStream {
    /// Tells `sink` of at most `most` bytes of each output.
    pub(crate) fn new(sink: Sink, most: u64) -> Self {
        let waiting =
            Waiting { sink, output: Output::Stdout, bytes: Vec::new(), since: Instant::now(), left: [most; 2] };
        Self(Mutex::new(waiting))
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes of an output stream.
    pub(crate) fn write(&self, output: Output, bytes: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.output != output {
            waiting.flush_all();
            waiting.output = output;
        }
        let left = &mut waiting.left[usize::from(output == Output::Stderr)];
        let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= taken as u64;
        if waiting.bytes.is_empty() {
            waiting.since = Instant::now();
        }
        waiting.bytes.extend_from_slice(&bytes[..taken]);
        if waiting.bytes.len() >= ENOUGH {
            waiting.flush_characters();
        }
    }

    /// Reports another event, after the output before it.
    pub(crate) fn send(&self, event: CellEvent) {
        let mut waiting = self.waiting();
        waiting.flush_all();
        (waiting.sink)(event);
    }

    /// Reports output that has waited long enough.
    pub(crate) fn flush_if_due(&self) {
        let mut waiting = self.waiting();
        if !waiting.bytes.is_empty() && waiting.since.elapsed() >= MAX_DELAY {
            waiting.flush_characters();
        }
    }

    /// Reports all output, but for a character that is not complete: the guest is idle.
    pub(crate) fn flush(&self) {
        let mut waiting = self.waiting();
        if !waiting.bytes.is_empty() {
            waiting.flush_characters();
        }
    }

    /// Reports all remaining output.
    pub(crate) fn finish(&self) {
        self.waiting().flush_all();
    }
}

impl Waiting {
    /// Reports all bytes.
    fn flush_all(&mut self) {
        self.flush_but(0);
    }

    /// Reports all complete characters.
    fn flush_characters(&mut self) {
        self.flush_but(unfinished(&self.bytes));
    }

    /// Reports all but the last bytes.
    fn flush_but(&mut self, kept: usize) {
        let text = String::from_utf8_lossy(&self.bytes[..self.bytes.len() - kept]).into_owned();
        self.bytes.drain(..self.bytes.len() - kept);
        if text.is_empty() {
            return;
        }
        self.since = Instant::now();
        (self.sink)(match self.output {
            Output::Stdout => CellEvent::Stdout(text),
            Output::Stderr => CellEvent::Stderr(text),
        });
    }
}

/// Bytes at the end that begin a character and do not end it.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(3)..]) {
        Err(_) => (1..=bytes.len().min(3))
            .find(|back| {
                let first = bytes[bytes.len() - back];
                let length = match first {
                    0xC2..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF4 => 4,
                    _ => 0,
                };
                length > *back
            })
            .unwrap_or(0),
        Ok(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(steps: impl FnOnce(&OutputStream)) -> Vec<CellEvent> {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink: Sink = {
            let events = Arc::clone(&events);
            Arc::new(move |event| events.lock().expect("no panic").push(event))
        };
        let output_stream = OutputStream::new(sink, 100);
        steps(&output_stream);
        output_stream.finish();
        drop(output_stream);
        Arc::into_inner(events).expect("nobody else has it").into_inner().expect("no panic")
    }

    #[test]
    fn a_line_in_pieces_is_one_piece_and_outputs_keep_their_order() {
        let events = collected(|output_stream| {
            output_stream.write(Output::Stdout, b"hello");
            output_stream.write(Output::Stdout, b"\n");
            output_stream.write(Output::Stderr, b"e");
            output_stream.write(Output::Stdout, b"o");
        });
        let stdout = |text: &str| CellEvent::Stdout(text.to_owned());
        assert_eq!(events, [stdout("hello\n"), CellEvent::Stderr("e".to_owned()), stdout("o")]);
    }

    #[test]
    fn a_character_is_never_cut_by_waiting() {
        let snake = "🐍é".as_bytes();
        let events = collected(|output_stream| {
            for byte in snake {
                output_stream.write(Output::Stdout, &[*byte]);
                output_stream.flush();
            }
        });
        let text: String =
            events.iter().map(|event| if let CellEvent::Stdout(text) = event { text.as_str() } else { "?" }).collect();
        assert_eq!(text, "🐍é");
    }

    #[test]
    fn no_more_is_told_than_is_kept() {
        let events = collected(|output_stream| output_stream.write(Output::Stdout, &[b'x'; 1000]));
        assert_eq!(events, [CellEvent::Stdout("x".repeat(100))]);
    }
}
