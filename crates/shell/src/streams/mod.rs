//! Inputs and outputs of commands: pipes, files, bytes, and the caller's own streams.

mod channel;
mod pipe;
mod reader;
mod writer;

pub use channel::Broken;
pub use pipe::pipe;
pub use reader::Reader;
pub use writer::Writer;

pub(super) use pipe::{Fifo, FifoPlace};
pub(super) use reader::{Endless, Line};
pub(super) use writer::{NotWritten, WriterObserver};
