//! `proofbox run FILE`: the service without its HTTP.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::out;
use crate::app::App;
use crate::config::{self, Config};
use crate::http::answer_of;
use crate::service::Execution;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::grant::AskedLimits;
use proofbox_types::program::{Program, PythonTests, TestFiles};
use proofbox_types::sanitize::sanitize;
use proofbox_types::status::{CaseStatus, Status};
use proofbox_types::submission::{Grading, Submission, Tests};

/// Snippet to run, with its tests and limits.
#[derive(Args)]
pub(super) struct RunArguments {
    /// Python source; `-` reads it from standard input
    file: PathBuf,
    /// Arguments of the snippet
    #[arg(trailing_var_arg = true)]
    args: Vec<String>,
    /// Tests
    #[arg(long, value_name = "FILE")]
    tests: Option<PathBuf>,
    /// Kind of the tests [default: check-function when they define check(candidate), else script]
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// The name under which unittest and pytest tests import the snippet
    #[arg(long, value_name = "NAME", default_value = "solution")]
    module: String,
    /// The function that check(candidate) is given [default: the last one of the snippet]
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// Interpreter that the tests run in
    #[arg(long, value_enum, default_value = "isolated")]
    grading: GradingArgument,
    /// Policy pack
    #[arg(long, default_value = "default")]
    policy: String,
    /// Name or hash of an image (see `proofbox runtime list`) [default: the smallest that has what is imported]
    #[arg(long, value_name = "NAME")]
    image_name: Option<String>,
    /// Limit in fuel units
    #[arg(long)]
    fuel: Option<u64>,
    /// Limit on CPU time and sleep, in seconds
    #[arg(long)]
    wall_seconds: Option<f64>,
    /// Limit on memory, in bytes
    #[arg(long)]
    memory_bytes: Option<u64>,
    /// Print the whole answer as JSON, as POST /v1/execute gives it
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Statements, one a line, each a case
    Asserts,
    /// check(candidate), each of its asserts a case
    CheckFunction,
    /// Script with one case: running to the end
    Script,
    /// Test methods, each a case
    Unittest,
    /// Items that pytest collects, each a case
    Pytest,
    /// Examples of the snippet's docstrings, each a case; needs no file of tests
    Doctest,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GradingArgument {
    /// In an interpreter of their own, which the snippet can't reach
    Isolated,
    /// In the snippet's own interpreter: compatible with everything, and forgeable
    InProcess,
    /// Isolated, and in process where the tests want what can't be had so
    Auto,
}

/// Runs the file in a worker of its own.
pub(super) fn run(arguments: RunArguments, config: Config) -> anyhow::Result<ExitCode> {
    let code = read(&arguments.file)?;
    let tests = match &arguments.tests {
        Some(path) => {
            Some(tests_of(read(path)?, arguments.kind, arguments.entry_point.as_deref(), &arguments.module, &code)?)
        }
        None if arguments.kind == Some(Kind::Doctest) => {
            Some(tests_of(String::new(), arguments.kind, None, &arguments.module, &code)?)
        }
        None => None,
    };
    let mut stdin = Vec::new();
    if arguments.file != Path::new("-") && !std::io::stdin().is_terminal() {
        std::io::stdin().read_to_end(&mut stdin).context("reading standard input")?;
    }
    let submission = Submission {
        code_field: "code",
        completion: None,
        program: Program { code, args: arguments.args, stdin, ..Program::default() },
        tests,
        grading: Some(match arguments.grading {
            GradingArgument::Isolated => Grading::Isolated,
            GradingArgument::InProcess => Grading::InProcess,
            GradingArgument::Auto => Grading::Auto,
        }),
        hidden: None,
        repeat: 1,
        complexity: None,
        policy: arguments.policy,
        image: arguments.image_name,
        limits: AskedLimits {
            fuel: arguments.fuel,
            wall_seconds: arguments.wall_seconds,
            memory_bytes: arguments.memory_bytes,
            ..AskedLimits::default()
        },
        labels: BTreeMap::new(),
        lint: false,
        receipt: None,
        canaries: Vec::new(),
    };
    // Who serves nobody keeps nothing, and asks for no key.
    let config = Config { workers: 1, slots: 2, session_slots: 0, data_dir: None, ..config };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let execution = runtime.block_on(async {
        let app = App::new(&config).await?;
        anyhow::Ok(app.service().executor.submit(&Caller::keyless(), Urgency::Interactive, submission).await?)
    })?;
    let exit_code = u8::try_from(execution.verdict.exit_code).unwrap_or(1);
    if execution.verdict.status == Status::InfrastructureError {
        anyhow::bail!("the sandbox failed; try again");
    }
    if arguments.json {
        out(&format!("{}\n", serde_json::to_string_pretty(&answer_of(execution, BTreeMap::new()))?));
    } else {
        print(&execution);
    }
    Ok(ExitCode::from(exit_code))
}

/// A source file; - is standard input.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("reading standard input")?;
    } else {
        bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

fn tests_of(
    source: String,
    kind: Option<Kind>,
    entry_point: Option<&str>,
    module: &str,
    code: &str,
) -> anyhow::Result<Tests> {
    let kind = kind.unwrap_or(if source.lines().any(|line| line.starts_with("def check(")) {
        Kind::CheckFunction
    } else {
        Kind::Script
    });
    let in_files =
        || TestFiles { source: Some(source.clone()), test_module: None, fresh_per_case: false, shuffle: None };
    let mut module = Some(module.to_owned());
    let tests = match kind {
        Kind::Unittest => PythonTests::Unittest(in_files()),
        Kind::Pytest => PythonTests::Pytest(in_files()),
        Kind::Doctest => PythonTests::Doctest,
        Kind::Script | Kind::Asserts | Kind::CheckFunction => {
            module = None;
            script_of(source, kind, entry_point, code)?
        }
    };
    Ok(Tests::Python { tests, module, files: Vec::new(), expected: Vec::new() })
}

/// Tests that use the snippet's names as their own.
fn script_of(source: String, kind: Kind, entry_point: Option<&str>, code: &str) -> anyhow::Result<PythonTests> {
    Ok(match kind {
        Kind::Asserts => PythonTests::Asserts {
            setup: String::new(),
            asserts: source.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        },
        Kind::CheckFunction => {
            let last =
                || code.lines().rev().find_map(|line| line.strip_prefix("def ")?.split('(').next().map(str::trim));
            let entry_point = entry_point
                .or_else(last)
                .context("the snippet defines no function: name one with --entry-point")?
                .to_owned();
            PythonTests::CheckFunction { source, entry_point }
        }
        Kind::Script | Kind::Unittest | Kind::Pytest | Kind::Doctest => PythonTests::Script { source },
    })
}

/// Output as the snippet wrote it, then what became of it. Control characters are shown, not obeyed.
fn print(execution: &Execution) {
    let colours = config::colours();
    let paint = |text: &str, colour: u8| if colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() };
    out(&sanitize(&execution.stdout.text()));
    note(&sanitize(&execution.stderr.text()));
    let verdict = &execution.verdict;
    for case in &verdict.cases {
        let colour = if case.status == CaseStatus::Passed { 32 } else { 31 };
        let message = case.message.as_deref().map(|message| format!("  {}", sanitize(message))).unwrap_or_default();
        eprintln!("{} {}{message}", paint(case.status.as_str(), colour), sanitize(&case.name));
    }
    if verdict.cases.is_empty() && verdict.status == Status::Ok {
        return;
    }
    let colour = if matches!(verdict.status, Status::Passed | Status::Ok) { 32 } else { 31 };
    let tests = if verdict.cases.is_empty() {
        String::new()
    } else {
        format!(", {} of {} passed", verdict.count_passed(), verdict.cases.len())
    };
    let class = if verdict.class.as_str() == "none" { String::new() } else { format!(", {}", verdict.class.as_str()) };
    eprintln!(
        "{}{tests}{class}, fuel {}, {:.1} ms",
        paint(verdict.status.as_str(), colour),
        execution.cost.fuel,
        execution.cost.execution.as_secs_f64() * 1e3
    );
    // A Python exception is in stderr already; a limit is told by nobody else.
    if let Some(error) = &verdict.error
        && (error.type_name.is_empty() || execution.stderr.total_bytes == 0)
        && !error.message.is_empty()
    {
        eprintln!("{}", sanitize(&error.message));
    }
}

/// Writes to standard error. Failures are ignored: a reader (`| head`) may have seen enough.
fn note(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
