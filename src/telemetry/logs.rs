//! The log: lines of text or of JSON on standard error.

use std::io::{BufWriter, IsTerminal, Stderr};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::EitherWriter;

use crate::config::LogFormat;

/// Lines that wait for who reads them. Beyond it lines are lost, and counted: requests do not wait for their log.
const LINES: usize = 16 << 10;
/// Lines that wait are written together.
const BUFFER: usize = 32 << 10;

/// Writer of the log's lines, once there is a thread for it. A process has one log.
static WRITER: OnceLock<NonBlocking> = OnceLock::new();

/// Begins the log; once in a process. Until [`write_apart`] each line is written by who has it.
///
/// # Errors
/// Returns an error when the filter can't be read.
pub fn begin(filter: &str, format: LogFormat) -> Result<(), ParseError> {
    let lines = tracing_subscriber::fmt().with_env_filter(filter_of(filter)?).with_writer(Lines);
    match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
    }
    std::panic::set_hook(Box::new(tell_of_panic));
    Ok(())
}

/// Reads the filter. Without a level of its own in it, rmcp says nothing: its lines have what clients send.
fn filter_of(filter: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("rmcp=off,{filter}"))
}

/// Starts a thread that writes the lines. Lines that wait are written when the result is dropped.
pub fn write_apart() -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LINES)
        .thread_name("log")
        // Flushed whenever no more lines wait.
        .finish(BufWriter::with_capacity(BUFFER, std::io::stderr()));
    let _ = WRITER.set(writer);
    guard
}

/// Lines that were lost because nobody read them.
pub fn lost() -> u64 {
    WRITER.get().map_or(0, |writer| writer.error_counter().dropped_lines() as u64)
}

struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = EitherWriter<NonBlocking, Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        WRITER.get().map_or_else(|| EitherWriter::B(std::io::stderr()), |writer| EitherWriter::A(writer.clone()))
    }
}

/// A line for a panic: where, and why as far as that is a constant. What is formatted may have a part of somebody's
/// program in it.
fn tell_of_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
    let why = panic.payload().downcast_ref::<&'static str>().copied();
    tracing::error!(place, why, "a panic");
}
