//! A small shell of our own over a sandbox's files: bash's grammar, its common builtins, and the programs that people
//! call from it, all within this process. Nothing of the host is reached: files are the sandbox's tree, and `python3`
//! is what the [`Host`] makes of it.
//!
//! [`run`] carries out one script. All that it starts, pipelines and background jobs included, are futures within that
//! one: dropping it ends them all. What a script may use is bounded in `bounds` and `syntax`.

mod bounds;
mod builtins;
mod escapes;
mod execute;
mod expand;
mod programs;
mod regular;
mod state;
mod streams;
mod syntax;
mod terminal;
#[cfg(test)]
mod tests;

pub use streams::{Broken, Reader, Writer, pipe};
pub use terminal::TerminalSize;

use futures_util::future::BoxFuture;
use proofbox_vfs::{Credentials, SharedTree};

/// Bytes that a pipe between two commands holds.
pub const PIPE_BYTES: usize = 64 << 10;

/// Environment that the shell runs in.
pub trait Host: Send + Sync {
    /// The files it works on.
    fn tree(&self) -> &SharedTree;

    /// The time, nanoseconds since 1970.
    fn now(&self) -> u64;

    /// Runs `python3 args…` in an interpreter of its own; its exit code. Dropping the future ends it.
    fn python<'a>(&'a self, start: PythonStart) -> BoxFuture<'a, i32>;
}

/// Start of a `python3` interpreter.
#[derive(Debug)]
pub struct PythonStart {
    /// The arguments after `python3`.
    pub args: Vec<String>,
    /// Environment variables of the interpreter, complete.
    pub env: Vec<(String, String)>,
    /// Working directory, absolute.
    pub cwd: String,
    /// User and creation mask of the interpreter.
    pub credentials: Credentials,
    /// Standard input of the interpreter.
    pub stdin: Reader,
    /// Standard output of the interpreter.
    pub stdout: Writer,
    /// Standard error of the interpreter.
    pub stderr: Writer,
}

/// A script to run: what `bash -c text args…` is given.
#[derive(Debug)]
pub struct Script {
    /// Commands, in the language of the shell.
    pub text: String,
    /// `$0` and the positional parameters.
    pub args: Vec<String>,
    /// Working directory, absolute; the home directory of the user when it is empty.
    pub cwd: String,
    /// User and creation mask of the script.
    pub credentials: Credentials,
    /// Environment variables. `HOME`, `USER`, `PATH`, `SHELL` and `PWD` have values unless they are given here.
    pub env: Vec<(String, String)>,
    /// Standard input of the script.
    pub stdin: Reader,
    /// Standard output of the script.
    pub stdout: Writer,
    /// Standard error of the script.
    pub stderr: Writer,
}

/// Runs a script to its end, and to that of the jobs it leaves in the background; its exit code. Dropping the future
/// ends everything that it started.
pub async fn run<H: Host>(host: &H, script: Script) -> i32 {
    execute::run(host, script, None).await
}

/// Runs the shell of a terminal, whose client types what `stdin` of the script gives and sees what `stdout` takes; the
/// text and `stderr` of the script are not used. Returns its exit code.
pub async fn run_terminal<H: Host>(host: &H, script: Script, size: TerminalSize) -> i32 {
    execute::run(host, script, Some(size)).await
}
