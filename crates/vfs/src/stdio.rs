//! Standard input and output, which belong to the caller: the tree only passes bytes on.

use super::errno::Errno;
use serde::{Deserialize, Serialize};

/// Output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// Standard output, descriptor 1.
    Stdout,
    /// Standard error, descriptor 2.
    Stderr,
}

/// The caller's end of descriptors 0, 1 and 2.
pub trait Stdio {
    /// Reads into `buffer`, which is not empty; 0 is the end of input.
    ///
    /// # Errors
    ///
    /// Returns the error that the guest is to see.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Takes bytes the guest wrote; fewer than all makes the guest write the rest again.
    ///
    /// # Errors
    ///
    /// Returns the error that the guest is to see.
    fn write(&mut self, output: Output, bytes: &[u8]) -> Result<usize, Errno>;
}
