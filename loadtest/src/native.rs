//! Python without the service: a subprocess a run, or a fork a run.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Take};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::snippets::{NativeProgram, Snippet};

/// For one run, and for the start of the fork server.
const RUN_TIMEOUT: Duration = Duration::from_secs(30);
/// Of the fork server.
const MAX_LINE_BYTES: u64 = 1 << 20;
const FORK_SERVER: &str = include_str!("fork_server.py");
/// Imports of the native interpreter: what the service's interpreters have imported.
const WARMUP: &str = include_str!("../../runtimes/python-3.13/guest/stubs/_proofbox_warmup.py");

/// Flags of a native interpreter, so that it leaves out the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// `-I -S`: also without `site`. The fastest start there is.
    WithoutSite,
    /// `-I`
    Isolated,
}

impl Isolation {
    /// Options of the command line.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Self::WithoutSite => &["-I", "-S"],
            Self::Isolated => &["-I"],
        }
    }
}

/// A fresh process a run: `PYTHON -I -c PROGRAM`.
pub(crate) struct Subprocess {
    python: PathBuf,
    isolation: Isolation,
    program: NativeProgram,
}

impl Subprocess {
    pub(crate) fn new(python: &Path, isolation: Isolation, snippet: Snippet) -> Self {
        Self { python: python.to_owned(), isolation, program: snippet.native_program() }
    }

    /// From before the process is there to after it has been waited for.
    ///
    /// # Errors
    /// When it cannot be started, does not end in time, or writes anything but what it must.
    pub(crate) async fn run(&self) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let output = output_of(&self.python, self.isolation, &self.program.code).await?;
        let elapsed = begin.elapsed();
        ensure!(
            output.status.success(),
            "{} ended with {}: {}",
            self.python.display(),
            output.status,
            told(&output.stderr)
        );
        ensure!(
            output.stdout == self.program.output.as_bytes(),
            "{} wrote {}",
            self.python.display(),
            told(&output.stdout)
        );
        Ok(elapsed)
    }
}

/// `sys.version` of an interpreter.
///
/// # Errors
/// When it cannot be run.
pub(crate) async fn version_of(python: &Path) -> anyhow::Result<String> {
    let output = output_of(python, Isolation::WithoutSite, "import sys; print(sys.version)").await?;
    ensure!(output.status.success(), "{} ended with {}: {}", python.display(), output.status, told(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().escape_debug().to_string())
}

async fn output_of(python: &Path, isolation: Isolation, code: &str) -> anyhow::Result<Output> {
    let mut command = Command::new(python);
    command.args(isolation.options()).args(["-c", code]).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(RUN_TIMEOUT, command.output()).await;
    output
        .with_context(|| format!("{} did not end within {} s", python.display(), RUN_TIMEOUT.as_secs()))?
        .with_context(|| format!("running {}", python.display()))
}

/// A Python process that forks a run.
pub(crate) struct ForkServer {
    // Killed on drop.
    _process: Child,
    commands: ChildStdin,
    answers: BufReader<Take<ChildStdout>>,
    expected_output: String,
}

#[derive(Deserialize)]
struct ForkServerReady {
    modules: usize,
}

#[derive(Deserialize)]
struct ForkedRun {
    nanoseconds: u64,
    exit_code: i32,
    output: String,
}

impl ForkServer {
    /// Starts one that runs the snippet.
    ///
    /// # Errors
    /// When it does not come up: the interpreter is missing, or one of the modules.
    pub(crate) async fn start(python: &Path, snippet: Snippet) -> anyhow::Result<Self> {
        let program = snippet.native_program();
        let imports: Vec<&str> = WARMUP.lines().filter(|line| line.starts_with("import ")).collect();
        let mut command = Command::new(python);
        command.args(Isolation::WithoutSite.options()).args(["-c", FORK_SERVER, &imports.join("\n"), &program.code]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().with_context(|| format!("running {}", python.display()))?;
        let commands = process.stdin.take().context("the fork server has no input")?;
        let answers = process.stdout.take().context("the fork server has no output")?;
        let answers = BufReader::new(answers.take(MAX_LINE_BYTES));
        let mut server = Self { _process: process, commands, answers, expected_output: program.output };
        let ForkServerReady { modules } = server.line().await.context("starting the fork server")?;
        ensure!(modules > imports.len(), "the fork server has only {modules} modules");
        Ok(server)
    }

    /// From before the fork to after the wait, as the server measures it.
    ///
    /// # Errors
    /// When the server is gone, or the program writes anything but what it must.
    pub(crate) async fn run(&mut self) -> anyhow::Result<Duration> {
        self.commands.write_all(b"\n").await.context("the fork server is gone")?;
        let ForkedRun { nanoseconds, exit_code, output } = self.line().await.context("waiting for a fork")?;
        ensure!(
            exit_code == 0 && output == self.expected_output,
            "a fork ended with {exit_code} and wrote {}",
            told(output.as_bytes())
        );
        Ok(Duration::from_nanos(nanoseconds))
    }

    async fn line<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        self.answers.get_mut().set_limit(MAX_LINE_BYTES);
        let mut line = Vec::new();
        let read = timeout(RUN_TIMEOUT, self.answers.read_until(b'\n', &mut line)).await;
        match read.with_context(|| format!("no line within {} s", RUN_TIMEOUT.as_secs()))?? {
            0 => bail!("it has ended"),
            _ => serde_json::from_slice(&line).with_context(|| format!("it wrote {}", told(&line))),
        }
    }
}

/// The beginning of what a process wrote, for people.
fn told(bytes: &[u8]) -> String {
    const MAX_BYTES: usize = 300;
    format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]))
}
