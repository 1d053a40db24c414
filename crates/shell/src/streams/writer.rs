//! Output of a command.

use super::channel::{Broken, PipeObserver, WriteEnd};
use crate::terminal::Terminal;
use futures_util::future::BoxFuture;
use proofbox_vfs::{Fault, OpenFile};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Reason why bytes were not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// Pipe that nobody reads any more.
    Broken,
    /// Descriptor that was closed by `>&-`.
    Closed,
    /// Refusal of the tree, with its reason.
    Refused(Fault),
}

/// A function that takes bytes.
type TakeBytes = dyn Fn(&[u8]) + Send + Sync;
type Sink = Arc<TakeBytes>;

/// Destination of bytes. Clones write to the same place; it is closed when the last is dropped.
#[derive(Clone)]
pub struct Writer(Goal);

#[derive(Clone)]
enum Goal {
    Null,
    Closed,
    Pipe(WriteEnd),
    Sink(Sink),
    Terminal(Arc<Terminal>),
    File(Arc<FileGoal>),
}

/// Observer of a writer, which does not keep it open.
pub(crate) enum WriterObserver {
    Closed,
    Pipe(PipeObserver),
    Sink(Weak<TakeBytes>),
    File(Weak<FileGoal>),
}

impl WriterObserver {
    /// Returns whether any clone of the writer is left.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Closed => false,
            Self::Pipe(pipe) => pipe.has_writers(),
            Self::Sink(sink) => sink.strong_count() > 0,
            Self::File(file) => file.strong_count() > 0,
        }
    }
}

pub(crate) struct FileGoal {
    file: OpenFile,
    /// Offset of the next bytes; `None` for the end of the file.
    offset: Mutex<Option<u64>>,
    /// The time, ns since 1970, as the shell last looked at it.
    time: Arc<AtomicU64>,
}

impl Writer {
    /// Takes all and keeps nothing.
    #[must_use]
    pub fn null() -> Self {
        Self(Goal::Null)
    }

    /// Gives all to a function, which must not wait.
    #[must_use]
    pub fn sink(sink: Sink) -> Self {
        Self(Goal::Sink(sink))
    }

    /// A file of the tree: from `offset` on, or always at its end. `time`: ns since 1970, kept by who gives it.
    #[must_use]
    pub fn to_file(file: OpenFile, offset: Option<u64>, time: Arc<AtomicU64>) -> Self {
        Self(Goal::File(Arc::new(FileGoal { file, offset: Mutex::new(offset), time })))
    }

    pub(crate) fn closed() -> Self {
        Self(Goal::Closed)
    }

    /// Makes a writer to a terminal's screen.
    pub(crate) fn terminal(terminal: Arc<Terminal>) -> Self {
        Self(Goal::Terminal(terminal))
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.0, Goal::Terminal(_))
    }

    pub(super) fn pipe(end: WriteEnd) -> Self {
        Self(Goal::Pipe(end))
    }

    /// Waits for a reader of a named pipe, as opening it does.
    pub(crate) async fn opened(&self) {
        if let Goal::Pipe(end) = &self.0 {
            poll_fn(|context| end.poll_opened(context)).await;
        }
    }

    /// Returns an observer of this writer and its clones.
    pub(crate) fn observe(&self) -> WriterObserver {
        match &self.0 {
            Goal::Null | Goal::Closed | Goal::Terminal(_) => WriterObserver::Closed,
            Goal::Pipe(end) => WriterObserver::Pipe(end.observe()),
            Goal::Sink(sink) => WriterObserver::Sink(Arc::downgrade(sink)),
            Goal::File(file) => WriterObserver::File(Arc::downgrade(file)),
        }
    }

    /// Writes all of it.
    ///
    /// # Errors
    ///
    /// Returns an error when nobody reads any more, or the file takes no more.
    pub async fn write_all(&self, bytes: &[u8]) -> Result<(), Broken> {
        self.write(bytes).await.map_err(|_| Broken)
    }

    /// Writes all of it, and says why it could not.
    pub(crate) async fn write(&self, mut bytes: &[u8]) -> Result<(), NotWritten> {
        match &self.0 {
            Goal::Null => Ok(()),
            Goal::Closed => Err(NotWritten::Closed),
            Goal::Sink(sink) => {
                if !bytes.is_empty() {
                    sink(bytes);
                }
                Ok(())
            }
            Goal::Terminal(terminal) => show(terminal, bytes).await,
            Goal::Pipe(end) => {
                while !bytes.is_empty() {
                    let written = poll_fn(|context| end.poll_write(context, bytes)).await;
                    bytes = &bytes[written.map_err(|_| NotWritten::Broken)?..];
                }
                Ok(())
            }
            Goal::File(goal) => goal.write(bytes).map_err(NotWritten::Refused),
        }
    }
}

/// Number of bytes written to a screen at a time.
const SCREEN_BLOCK: usize = 16 << 10;

/// Shows bytes on a terminal's screen, which is a writer, too.
fn show<'a>(terminal: &'a Terminal, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), NotWritten>> {
    Box::pin(async move {
        for piece in bytes.chunks(SCREEN_BLOCK) {
            terminal.output().write(&with_returns(piece)).await?;
        }
        Ok(())
    })
}

/// Puts a carriage return before each newline, as screens need it.
fn with_returns(bytes: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len() + bytes.len() / 16);
    for byte in bytes {
        if *byte == b'\n' {
            shown.push(b'\r');
        }
        shown.push(*byte);
    }
    shown
}

impl FileGoal {
    fn write(&self, mut bytes: &[u8]) -> Result<(), Fault> {
        let mut offset = self.offset.lock().unwrap_or_else(PoisonError::into_inner);
        while !bytes.is_empty() {
            let now = self.time.load(Ordering::Relaxed);
            let written = match offset.as_mut() {
                Some(offset) => {
                    let written = self.file.write_at(*offset, bytes, now)?;
                    *offset += written as u64;
                    written
                }
                None => self.file.append(bytes, now)?,
            };
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Writer")
    }
}
