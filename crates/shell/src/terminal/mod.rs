//! A terminal: what a client types becomes lines that programs read, with echo, and output gets the line ends of a screen.

mod session;

pub(crate) use session::interact;

use crate::streams::{Reader, Writer};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Longest line that can be typed, in bytes, as in Linux.
const MAX_LINE: usize = 4096;
/// Input that waits to be read, in bytes; what is typed beyond it is lost.
const MAX_QUEUED: usize = 64 << 10;
/// Longest parameters of an escape sequence.
const MAX_PARAMETERS: usize = 32;
/// Number of bytes of typed input read at a time.
const BLOCK: usize = 4096;
/// Sound of a terminal that takes no more.
const BELL: u8 = 7;

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

/// Terminal of a shell.
pub(crate) struct Terminal {
    state: Mutex<State>,
    /// Columns and rows.
    size: AtomicU32,
    interrupted: Notify,
    output: Writer,
}

#[derive(Default)]
struct State {
    /// Line that is being typed.
    line: Vec<u8>,
    /// Input that can be read; an empty piece is an end of input.
    ready: VecDeque<Vec<u8>>,
    /// Bytes and pieces that can be read.
    queued: usize,
    hung_up: bool,
    escape: Escape,
    waiting: Vec<Waker>,
}

/// Progress in an escape sequence.
#[derive(Default)]
enum Escape {
    #[default]
    None,
    Begun,
    /// One more byte belongs to it.
    Single,
    Parameters(Vec<u8>),
}

impl Terminal {
    pub(crate) fn new(size: TerminalSize, output: Writer) -> Arc<Self> {
        let terminal = Self { state: Mutex::default(), size: AtomicU32::new(0), interrupted: Notify::new(), output };
        terminal.resize(size);
        Arc::new(terminal)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn size(&self) -> TerminalSize {
        let [c1, c2, r1, r2] = self.size.load(Ordering::Relaxed).to_be_bytes();
        TerminalSize { columns: u16::from_be_bytes([c1, c2]), rows: u16::from_be_bytes([r1, r2]) }
    }

    fn resize(&self, size: TerminalSize) {
        self.size.store(u32::from(size.columns) << 16 | u32::from(size.rows), Ordering::Relaxed);
    }

    /// The client's screen.
    pub(crate) fn output(&self) -> &Writer {
        &self.output
    }

    /// Waits until the client interrupts what runs.
    async fn interrupted(&self) {
        self.interrupted.notified().await;
    }

    /// Takes up to `most` bytes of one line, through the first `stop` if one is given; none at an end of input.
    pub(crate) fn poll_read(
        &self,
        context: &Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
        stop: Option<u8>,
    ) -> Poll<usize> {
        let mut state = self.state();
        let Some(piece) = state.ready.front_mut() else {
            if state.hung_up {
                return Poll::Ready(0);
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            return Poll::Pending;
        };
        let most = most.min(piece.len());
        let found = stop.and_then(|stop| piece[..most].iter().position(|byte| *byte == stop));
        let taken = found.map_or(most, |at| at + 1);
        out.extend(piece.drain(..taken));
        let is_read = piece.is_empty();
        state.queued -= taken;
        if is_read {
            state.ready.pop_front();
            state.queued -= 1;
        }
        Poll::Ready(taken)
    }

    /// Takes what a client types until it hangs up.
    pub(crate) async fn listen(&self, mut keys: Reader) {
        let mut bytes = vec![0; BLOCK];
        loop {
            let count = keys.read(&mut bytes).await;
            let echo = self.type_keys(&bytes[..count]);
            if count == 0 || self.output.write_all(&echo).await.is_err() {
                break;
            }
            // Many keys must not keep others waiting.
            tokio::task::yield_now().await;
        }
        let mut state = self.state();
        state.hung_up = true;
        state.wake_all();
    }

    /// Takes keys; what is shown of them.
    fn type_keys(&self, keys: &[u8]) -> Vec<u8> {
        let mut echo = Vec::with_capacity(keys.len());
        let mut state = self.state();
        for key in keys {
            match state.type_key(*key, &mut echo) {
                Effect::None => {}
                Effect::Interrupt => self.interrupted.notify_one(),
                Effect::Resize(size) => self.resize(size),
            }
        }
        state.wake_all();
        echo
    }
}

/// Effect of a key beyond the line.
enum Effect {
    None,
    Interrupt,
    Resize(TerminalSize),
}

impl State {
    fn wake_all(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn type_key(&mut self, key: u8, echo: &mut Vec<u8>) -> Effect {
        match std::mem::take(&mut self.escape) {
            Escape::None => {}
            // A control character ends a sequence that is not complete, and an escape begins another one.
            _ if key.is_ascii_control() => {}
            Escape::Begun => {
                self.escape = match key {
                    b'[' => Escape::Parameters(Vec::new()),
                    b'O' => Escape::Single,
                    _ => Escape::None,
                };
                return Effect::None;
            }
            Escape::Single => return Effect::None,
            Escape::Parameters(mut parameters) => {
                return match key {
                    b't' => resize_of(&parameters).map_or(Effect::None, Effect::Resize),
                    0x20..=0x3f if parameters.len() < MAX_PARAMETERS => {
                        parameters.push(key);
                        self.escape = Escape::Parameters(parameters);
                        Effect::None
                    }
                    _ => Effect::None,
                };
            }
        }
        match key {
            0x1b => self.escape = Escape::Begun,
            // Control-C
            3 => {
                self.line.clear();
                self.ready.clear();
                self.queued = 0;
                echo.extend_from_slice(b"^C\r\n");
                return Effect::Interrupt;
            }
            // Control-D: what is typed so far, or an end of input.
            4 => self.finish_line(echo),
            b'\r' | b'\n' => {
                self.line.push(b'\n');
                echo.extend_from_slice(b"\r\n");
                self.finish_line(echo);
            }
            8 | 0x7f => {
                self.erase(echo);
            }
            // Control-U
            0x15 => while self.erase(echo).is_some() {},
            // Control-W: the blanks before the cursor, and the word before them.
            0x17 => {
                while self.line.last() == Some(&b' ') {
                    self.erase(echo);
                }
                while self.line.last().is_some_and(|byte| *byte != b' ') {
                    self.erase(echo);
                }
            }
            b'\t' | 0x20.. if self.line.len() < MAX_LINE => {
                self.line.push(key);
                echo.push(key);
            }
            b'\t' | 0x20.. => echo.push(BELL),
            _ => {}
        }
        Effect::None
    }

    fn finish_line(&mut self, echo: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        if self.queued + line.len() >= MAX_QUEUED {
            echo.push(BELL);
            return;
        }
        self.queued += line.len() + 1;
        self.ready.push_back(line);
    }

    /// Removes the last character of the line; none: there is none.
    fn erase(&mut self, echo: &mut Vec<u8>) -> Option<()> {
        while let Some(byte) = self.line.pop() {
            // The first byte of a character comes last.
            if byte & 0xc0 != 0x80 {
                echo.extend_from_slice(b"\x08 \x08");
                return Some(());
            }
        }
        None
    }
}

/// Parses `8;ROWS;COLUMNS`, with which xterm's sequence for sizes begins.
fn resize_of(parameters: &[u8]) -> Option<TerminalSize> {
    let mut numbers = std::str::from_utf8(parameters).ok()?.strip_prefix("8;")?.split(';');
    let mut next = || numbers.next()?.parse().ok();
    let (rows, columns) = (next()?, next()?);
    Some(TerminalSize { columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    fn terminal() -> Arc<Terminal> {
        Terminal::new(TerminalSize { columns: 80, rows: 24 }, Writer::null())
    }

    async fn read(terminal: &Terminal) -> Vec<u8> {
        let mut out = Vec::new();
        poll_fn(|context| terminal.poll_read(context, &mut out, 1000, None)).await;
        out
    }

    #[tokio::test]
    async fn keys_edit_a_line_that_is_then_read() {
        let terminal = terminal();
        assert_eq!(terminal.type_keys("aä\x7f\x7f\x7fecho  hi\x17ho\r".as_bytes()), {
            let erased = b"\x08 \x08".repeat(2);
            ["aä".as_bytes(), &erased, b"echo  hi", &erased, b"ho\r\n"].concat()
        });
        terminal.type_keys(b"no\x15ab\x04\x04\x1b[A\x1bOPx\n");
        assert_eq!(read(&terminal).await, b"echo  ho\n");
        assert_eq!(read(&terminal).await, b"ab");
        assert_eq!(read(&terminal).await, b"");
        assert_eq!(read(&terminal).await, b"x\n");
    }

    #[tokio::test]
    async fn an_interrupt_drops_what_was_typed() {
        let terminal = terminal();
        terminal.type_keys(b"one\ntwo\x03three\n");
        terminal.interrupted().await;
        assert_eq!(read(&terminal).await, b"three\n");
    }

    #[test]
    fn a_sequence_changes_the_size() {
        let terminal = terminal();
        let size = TerminalSize { columns: 100, rows: 30 };
        terminal.type_keys(b"\x1b[8;30;100t");
        assert_eq!(terminal.size(), size);
        terminal.type_keys(b"\x1b[8;99999;1t\x1b[9;1;1t");
        assert_eq!(terminal.size(), size);
    }

    #[tokio::test]
    async fn a_control_character_ends_a_sequence() {
        let terminal = terminal();
        for start in ["\x1b", "\x1b[", "\x1b[1;", "\x1bO"] {
            terminal.type_keys(b"ab");
            terminal.type_keys(start.as_bytes());
            assert_eq!(terminal.type_keys(b"\x03"), b"^C\r\n", "{start:?}");
            terminal.interrupted().await;
            assert_eq!(terminal.type_keys(format!("{start}\x1b[8;30;100t").as_bytes()), b"", "{start:?}");
            assert_eq!(terminal.size(), TerminalSize { columns: 100, rows: 30 });
            terminal.type_keys(format!("x{start}\r").as_bytes());
            assert_eq!(read(&terminal).await, b"x\n");
        }
    }

    #[test]
    fn what_is_typed_is_bounded() {
        let terminal = terminal();
        assert_eq!(terminal.type_keys(&[b'x'; MAX_LINE + 1])[MAX_LINE..], [BELL]);
        for _ in 0..2 * MAX_QUEUED {
            terminal.type_keys(b"\n\x04");
        }
        let state = terminal.state();
        assert!(state.queued <= MAX_QUEUED && state.ready.len() <= MAX_QUEUED);
        drop(state);
        terminal.type_keys(b"\x1b[");
        terminal.type_keys(&[b'1'; 1000]);
        assert!(matches!(terminal.state().escape, Escape::None));
    }
}
