//! The command line: a thin face over the same service that HTTP has.

mod eval;
mod keys;
mod mcp;
mod policy;
mod run;
mod runtime;
mod scan;
mod serve;
mod verify;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{Config, ConfigError, RuntimeSettings, SandboxSettings, ServerSettings};

/// Exit code for errors of our own, apart from those of snippets (as `timeout` and `env` have it).
const OWN_ERROR: u8 = 125;

/// Runs untrusted Python in WebAssembly, and grades it so that it cannot cheat.
#[derive(Parser)]
#[command(name = "proofbox", version, arg_required_else_help = true)]
struct Cli {
    /// Settings file (TOML), with sections `runtime`, `sandbox` and `server` that hold the flags' names
    #[arg(long, env = "PROOFBOX_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeSettings,
    #[command(flatten)]
    sandbox: SandboxSettings,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the HTTP API; builds the Python runtime on first use
    Serve(ServerSettings),
    /// Run a file, and grade it when there are tests; needs no server
    Run(run::RunArguments),
    /// Grade a suite, and report on it; needs no server
    Eval(eval::EvalArguments),
    /// Serve the Model Context Protocol on standard input and output, for one agent; needs no server
    Mcp(mcp::McpArguments),
    /// Look at Python files with a policy's gate, and run nothing: exit code 0 when all may run, 1 when one may not
    Scan(scan::ScanArguments),
    /// Keys: make one, show them, revoke one
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Policy packs: check those of a directory
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Check a receipt: exit code 0 when it is valid, 1 when it is not
    Verify(verify::VerifyArguments),
    /// The Python runtime: build it, or tell what is there
    #[command(subcommand)]
    Runtime(runtime::RuntimeCommand),
    /// Run guests for the process that started this one
    #[command(hide = true)]
    Worker,
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Asking for help is no error; clap tells where each belongs.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { OWN_ERROR } else { 0 });
        }
    };
    match dispatch(cli) {
        Ok(code) => code,
        Err(error) => {
            // Causes that the message has in it already are not said twice.
            let mut said = error.to_string();
            for cause in error.chain().skip(1).map(ToString::to_string).collect::<Vec<_>>() {
                if !said.contains(&cause) {
                    said = format!("{said}: {cause}");
                }
            }
            eprintln!("proofbox: {said}");
            ExitCode::from(OWN_ERROR)
        }
    }
}

/// Writes to standard output. Failures are ignored: a reader who has closed the pipe wants no more.
fn out(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    let Cli { config, runtime, sandbox, command } = cli;
    let settings = |server: ServerSettings| -> Result<Config, ConfigError> {
        Config::new(runtime, sandbox, server, config.as_deref())
    };
    match command {
        Command::Serve(server) => serve::serve(&settings(server)?),
        Command::Run(arguments) => run::run(arguments, settings(ServerSettings::default())?),
        Command::Eval(arguments) => eval::eval(arguments, &settings(ServerSettings::default())?),
        Command::Mcp(arguments) => mcp::mcp(settings(arguments.into())?),
        Command::Scan(arguments) => scan::scan(&arguments, &settings(ServerSettings::default())?),
        Command::Keys(command) => keys::keys(command, &settings(ServerSettings::default())?),
        Command::Policy(command) => policy::policy(&command),
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Runtime(command) => runtime::runtime(&command, &settings(ServerSettings::default())?),
        Command::Worker => proofbox_worker::process::main().map(|()| ExitCode::SUCCESS),
    }
}
