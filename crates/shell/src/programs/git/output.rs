//! Output of subcommands, which is written in blocks, and texts that are made by a format.

use super::{Outcome, fatal, grow};
use crate::bounds::{Held, MAX_TEXT};
use crate::state::Shell;

/// Number of bytes that are written at a time.
const BLOCK: usize = 16 << 10;
/// Number of bytes of a text that cost a step to make.
const BYTES_A_STEP: u64 = 512;

/// Output that is written whenever it has become a block.
pub(super) struct Output<'s> {
    shell: &'s Shell,
    text: String,
}

impl<'s> Output<'s> {
    pub(super) fn new(shell: &'s Shell) -> Self {
        Self { shell, text: String::new() }
    }

    pub(super) async fn push(&mut self, text: &str) -> Outcome<()> {
        self.text.push_str(text);
        self.shell.step(1).await?;
        if self.text.len() >= BLOCK {
            self.shell.out("git", self.text.as_bytes()).await?;
            self.text.clear();
        }
        Ok(())
    }

    /// Writes the rest.
    pub(super) async fn finish(self) -> Outcome<i32> {
        self.shell.out("git", self.text.as_bytes()).await?;
        Ok(0)
    }
}

/// Text that is made by a format, which may have any value in it many times.
pub(super) struct Rendered<'s> {
    shell: &'s Shell,
    held: Held,
    pub(super) text: String,
}

impl<'s> Rendered<'s> {
    /// Begins a text, for which this memory grows.
    pub(super) fn new(shell: &'s Shell, held: Held) -> Self {
        Self { shell, held, text: String::new() }
    }

    pub(super) async fn push(&mut self, text: &str) -> Outcome<()> {
        self.shell.step(1 + text.len() as u64 / BYTES_A_STEP).await?;
        if self.text.len() + text.len() > MAX_TEXT {
            return fatal("the output of the format is too large");
        }
        // A text that grows has twice its length.
        grow(&mut self.held, 2 * text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}
