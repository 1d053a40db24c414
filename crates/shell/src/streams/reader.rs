//! Input of a command.

use super::channel::ReadEnd;
use crate::bounds::Use;
use crate::terminal::Terminal;
use bytes::Bytes;
use proofbox_vfs::OpenFile;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes to read. Clones share one place in them, as descriptors that were duplicated do.
#[derive(Clone)]
pub struct Reader(Source);

#[derive(Clone)]
enum Source {
    Closed,
    Bytes(Arc<Mutex<Bytes>>),
    Pipe(ReadEnd),
    Terminal(Arc<Terminal>),
    File(Arc<(OpenFile, Mutex<u64>)>),
    Endless(Endless, Arc<Use>),
}

/// Content of a device that has no end.
#[derive(Clone)]
pub(crate) enum Endless {
    /// Null bytes, as of `/dev/zero`.
    Zeros,
    /// Bytes of a generator, whose state it is: that of all shells of a script.
    Random(Arc<AtomicU64>),
}

impl Endless {
    fn append_to(&self, out: &mut Vec<u8>, count: usize) {
        let end = out.len() + count;
        match self {
            Self::Zeros => out.resize(end, 0),
            Self::Random(state) => {
                while out.len() < end {
                    let word = next_random(state).to_le_bytes();
                    out.extend_from_slice(&word[..word.len().min(end - out.len())]);
                }
            }
        }
    }
}

/// Returns the next number of the generator SplitMix64: well distributed, and no secret.
fn next_random(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Result of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line with what ends it.
    Whole,
    /// The rest, which nothing ended.
    Rest,
    /// End of the input; nothing is left.
    End,
    /// Line that is too long to be read.
    TooLong,
}

impl Reader {
    /// Makes a reader of nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self(Source::Closed)
    }

    /// Makes a reader of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self(Source::Bytes(Arc::new(Mutex::new(bytes.into()))))
    }

    /// A file of the tree, from its start.
    #[must_use]
    pub fn from_file(file: OpenFile) -> Self {
        Self(Source::File(Arc::new((file, Mutex::new(0)))))
    }

    /// Makes a reader of a device without an end. What is read counts as steps; when there are none left, it ends.
    pub(crate) fn endless(content: Endless, used: Arc<Use>) -> Self {
        Self(Source::Endless(content, used))
    }

    /// Returns whether the input is a file, whose size is known.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.0, Source::File(_))
    }

    /// Returns whether there may be input that was meant for the command: from a pipe, a file, or bytes.
    pub(crate) fn has_input(&self) -> bool {
        match &self.0 {
            Source::Pipe(_) | Source::File(_) => true,
            Source::Bytes(left) => !lock(left).is_empty(),
            Source::Closed | Source::Terminal(_) | Source::Endless(..) => false,
        }
    }

    /// Makes a reader of the lines that are typed at a terminal.
    pub(crate) fn terminal(terminal: Arc<Terminal>) -> Self {
        Self(Source::Terminal(terminal))
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.0, Source::Terminal(_))
    }

    pub(super) fn pipe(end: ReadEnd) -> Self {
        Self(Source::Pipe(end))
    }

    /// Waits for a writer of a named pipe, as opening it does.
    pub(crate) async fn opened(&self) {
        if let Source::Pipe(end) = &self.0 {
            poll_fn(|context| end.poll_opened(context)).await;
        }
    }

    /// Reads what is there, at most as much as `out` holds; waits for the first byte. 0: the end.
    pub async fn read(&mut self, out: &mut [u8]) -> usize {
        let mut bytes = Vec::new();
        let taken = self.read_into(&mut bytes, out.len(), None).await;
        out[..taken].copy_from_slice(&bytes);
        taken
    }

    /// Appends what is there to `out`, at most `most` bytes, through the first `stop` if one is given. 0: the end.
    pub(crate) async fn read_into(&mut self, out: &mut Vec<u8>, most: usize, stop: Option<u8>) -> usize {
        let through = |bytes: &[u8]| {
            let most = most.min(bytes.len());
            let found = stop.and_then(|stop| bytes[..most].iter().position(|byte| *byte == stop));
            found.map_or(most, |at| at + 1)
        };
        match &self.0 {
            Source::Closed => 0,
            Source::Bytes(left) => {
                let mut left = lock(left);
                let taken = through(&left);
                out.extend_from_slice(&left.split_to(taken));
                taken
            }
            Source::Pipe(end) => poll_fn(|context| end.poll_read(context, out, most, stop)).await,
            Source::Terminal(terminal) => poll_fn(|context| terminal.poll_read(context, out, most, stop)).await,
            Source::File(file) => {
                let (file, offset) = &**file;
                let mut offset = lock(offset);
                let before = out.len();
                out.resize(before + most.min(BLOCK), 0);
                let read = file.read_at(*offset, &mut out[before..]).unwrap_or(0);
                let taken = through(&out[before..before + read]);
                out.truncate(before + taken);
                *offset += taken as u64;
                taken
            }
            Source::Endless(content, used) => {
                let before = out.len();
                let made = most.min(if stop.is_some() { BLOCK_OF_LINE } else { BLOCK });
                content.append_to(out, made);
                let taken = through(&out[before..]);
                out.truncate(before + taken);
                match used.step(1 + made as u64 / BYTES_A_STEP).await {
                    true => taken,
                    false => {
                        out.truncate(before);
                        0
                    }
                }
            }
        }
    }

    /// Appends one line with its end to `line`.
    pub(crate) async fn read_line(&mut self, line: &mut Vec<u8>, end: u8, most: usize) -> Line {
        let start = line.len();
        loop {
            let read = self.read_into(line, BLOCK, Some(end)).await;
            match read {
                0 if line.len() == start => return Line::End,
                0 => return Line::Rest,
                _ if line.last() == Some(&end) => return Line::Whole,
                _ if line.len() - start > most => return Line::TooLong,
                _ => {}
            }
        }
    }
}

/// Number of bytes read at a time.
const BLOCK: usize = 16 << 10;
/// Number of bytes of an endless device made at a time where only a line is wanted.
const BLOCK_OF_LINE: usize = 512;
/// Bytes of an endless device that make a step: a script can read some 2 GiB of them.
const BYTES_A_STEP: u64 = 256;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Reader")
    }
}
