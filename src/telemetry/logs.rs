//! The log: lines of text or of JSON on standard error.

use std::io::{BufWriter, IsTerminal};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::config::LogFormat;

/// Lines that wait for who reads them. Beyond it lines are lost, and counted: requests do not wait for their log.
const LINES: usize = 16 << 10;

/// Lines that wait are written together.
const BUFFER: usize = 32 << 10;

/// The log, for as long as this is kept. What waits is written when it is dropped.
pub struct Log {
    _writer: WorkerGuard,
}

/// There is one log in a process.
static LOST: OnceLock<ErrorCounter> = OnceLock::new();

/// Lines that were lost because nobody read them.
pub fn lost() -> u64 {
    LOST.get().map_or(0, |counter| counter.dropped_lines() as u64)
}

/// Whether a filter can be read: told before anything is begun.
///
/// # Errors
/// When it can't.
pub fn check(filter: &str) -> Result<(), ParseError> {
    EnvFilter::try_new(filter).map(drop)
}

impl Log {
    /// Begins it; once in a process.
    ///
    /// # Errors
    /// When the filter can't be read.
    pub fn begin(filter: &str, format: LogFormat) -> Result<Self, ParseError> {
        let filter = EnvFilter::try_new(filter)?;
        let (writer, guard) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(LINES)
            .thread_name("log")
            // Flushed whenever no more lines wait.
            .finish(BufWriter::with_capacity(BUFFER, std::io::stderr()));
        let _ = LOST.set(writer.error_counter());
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
        match format {
            LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
            LogFormat::Json => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
        }
        std::panic::set_hook(Box::new(tell_of_panic));
        Ok(Self { _writer: guard })
    }
}

/// A line for a panic: where, and why as far as that is a constant. What is formatted may have a part of somebody's
/// program in it.
fn tell_of_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
    let why = panic.payload().downcast_ref::<&'static str>().copied();
    tracing::error!(place, why, "a panic");
}
