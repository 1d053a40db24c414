//! Streams of a program that lead elsewhere.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use proofbox_vfs::Output;

/// Source of bytes for a program.
pub trait Input: Send + Sync {
    /// Reads what is there, and waits for the first byte; 0 is the end.
    fn read<'a>(&'a mut self, out: &'a mut [u8]) -> BoxFuture<'a, usize>;
}

/// Destination of a program's bytes.
pub trait OutputSink: Send + Sync {
    /// Writes all; false when nobody reads any more.
    fn write<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, bool>;
}

/// Streams of a program that lead elsewhere.
pub struct Pipes {
    /// Standard input of the program.
    pub stdin: Box<dyn Input>,
    /// Standard output of the program.
    pub stdout: Arc<dyn OutputSink>,
    /// Standard error of the program.
    pub stderr: Arc<dyn OutputSink>,
}

/// Bytes of a piped stream that are on their way.
#[derive(Default)]
pub(crate) struct PendingIo {
    /// Read and not yet taken by the guest.
    pub read: Vec<u8>,
    /// True when no more bytes will be read.
    pub ended: bool,
    /// Written and not yet passed on.
    pub written: Vec<(Output, Vec<u8>)>,
    /// True for each output that nobody reads any more.
    pub broken: [bool; 2],
}
