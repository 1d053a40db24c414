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
mod processes;
mod programs;
mod regular;
mod state;
mod streams;
mod syntax;
mod terminal;
#[cfg(test)]
mod tests;

pub use processes::Processes;
pub use streams::{Broken, Reader, Writer, pipe};
pub use terminal::TerminalSize;

use futures_util::future::BoxFuture;
use proofbox_vfs::{Credentials, SharedTree};
use std::sync::Arc;

/// Bytes that a pipe between two commands holds.
pub const PIPE_BYTES: usize = 64 << 10;

/// Environment that the shell runs in.
pub trait Host: Send + Sync {
    /// The files it works on.
    fn tree(&self) -> &SharedTree;

    /// The processes of the session that the script belongs to.
    fn processes(&self) -> &Arc<Processes>;

    /// The time, nanoseconds since 1970.
    fn now(&self) -> u64;

    /// Runs `python3 args…` in an interpreter of its own; its exit code. Dropping the future ends it.
    fn python(&self, start: PythonStart) -> BoxFuture<'_, i32>;
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
    /// Number of the script as a process; without one, or where it is taken, the next one.
    pub number: Option<u32>,
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
    execute::run(host, script, None, |_| ()).await
}

/// Runs a script like [`run`], and calls `on_exit` with its exit code as soon as the script itself has ended and nothing
/// holds its standard output and error any more: as with a process whose output is read through pipes. Jobs that it
/// left in the background go on within the future.
///
/// With a `terminal` of that size it is the shell of a terminal, whose client types what `stdin` of the script gives and
/// sees what `stdout` takes; the text and `stderr` of the script are not used.
pub async fn run_with_jobs<H: Host>(
    host: &H,
    script: Script,
    terminal: Option<TerminalSize>,
    on_exit: impl FnOnce(i32) + Send,
) {
    execute::run(host, script, terminal, on_exit).await;
}
