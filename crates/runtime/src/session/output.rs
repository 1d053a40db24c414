//! Events of a call, reported while it runs: output in pieces that are worth sending.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proofbox_types::session::CellEvent;
use proofbox_vfs::Output;

/// Receiver of a call's events.
pub type Sink = Arc<dyn Fn(CellEvent) + Send + Sync>;

/// Time that output waits for more to come with it.
const PATIENCE: Duration = Duration::from_millis(10);
/// And no longer than until there is so much of it.
const ENOUGH: usize = 64 << 10;

/// Output on its way to who listens.
pub struct Told(Mutex<Waiting>);

struct Waiting {
    sink: Sink,
    output: Output,
    bytes: Vec<u8>,
    since: Instant,
    /// Bytes that may still be reported, of standard output and error.
    left: [u64; 2],
}

impl Told {
    /// Tells `sink` of at most `most` bytes of each output.
    pub fn new(sink: Sink, most: u64) -> Self {
        let waiting =
            Waiting { sink, output: Output::Stdout, bytes: Vec::new(), since: Instant::now(), left: [most; 2] };
        Self(Mutex::new(waiting))
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes of an output stream.
    pub fn write(&self, output: Output, bytes: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.output != output {
            waiting.flush(true);
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
            waiting.flush(false);
        }
    }

    /// Reports another event, after the output before it.
    pub fn tell(&self, event: CellEvent) {
        let mut waiting = self.waiting();
        waiting.flush(true);
        (waiting.sink)(event);
    }

    /// Reports output that has waited long enough; all of it, when the guest `rests`.
    pub fn flush_if_due(&self, rests: bool) {
        let mut waiting = self.waiting();
        if !waiting.bytes.is_empty() && (rests || waiting.since.elapsed() >= PATIENCE) {
            waiting.flush(false);
        }
    }

    /// Reports all remaining output.
    pub fn finish(&self) {
        self.waiting().flush(true);
    }
}

impl Waiting {
    /// Half a character stays, unless this is `whole`.
    fn flush(&mut self, whole: bool) {
        let kept = if whole { 0 } else { unfinished(&self.bytes) };
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

    fn collected(steps: impl FnOnce(&Told)) -> Vec<CellEvent> {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink: Sink = {
            let events = Arc::clone(&events);
            Arc::new(move |event| events.lock().expect("no panic").push(event))
        };
        let told = Told::new(sink, 100);
        steps(&told);
        told.finish();
        drop(told);
        Arc::into_inner(events).expect("nobody else has it").into_inner().expect("no panic")
    }

    #[test]
    fn a_line_in_pieces_is_one_piece_and_outputs_keep_their_order() {
        let events = collected(|told| {
            told.write(Output::Stdout, b"hello");
            told.write(Output::Stdout, b"\n");
            told.write(Output::Stderr, b"e");
            told.write(Output::Stdout, b"o");
        });
        let stdout = |text: &str| CellEvent::Stdout(text.to_owned());
        assert_eq!(events, [stdout("hello\n"), CellEvent::Stderr("e".to_owned()), stdout("o")]);
    }

    #[test]
    fn a_character_is_never_cut_by_waiting() {
        let snake = "🐍é".as_bytes();
        let events = collected(|told| {
            for byte in snake {
                told.write(Output::Stdout, &[*byte]);
                told.flush_if_due(true);
            }
        });
        let text: String =
            events.iter().map(|event| if let CellEvent::Stdout(text) = event { text.as_str() } else { "?" }).collect();
        assert_eq!(text, "🐍é");
    }

    #[test]
    fn no_more_is_told_than_is_kept() {
        let events = collected(|told| told.write(Output::Stdout, &[b'x'; 1000]));
        assert_eq!(events, [CellEvent::Stdout("x".repeat(100))]);
    }
}
