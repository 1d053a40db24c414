//! Sends load to a proofbox service on this machine, and compares it with plain Python, side by side.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

mod answer;
mod attackers;
mod attacks;
mod cases;
mod connection;
mod hostile_cases;
mod idle;
mod latencies;
mod load;
mod native;
mod page;
mod plot;
mod processes;
mod report;
mod request;
mod requirement;
mod scenario;
mod side_by_side;
mod snippets;
mod tally;
mod target;
mod timeline;
mod trials;
mod want;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::cases::{Cases, Choice, Grading};
use crate::connection::{Connection, ConnectionError};
use crate::load::{Pace, Plan};
use crate::native::{ForkServer, Isolation, Subprocess, version_of};
use crate::report::{ComparisonFigure, ComparisonReport, LoadFigure, LoadReport, RuntimeOfService};
use crate::requirement::Requirement;
use crate::scenario::{Scenario, request_of_snippet};
use crate::side_by_side::{Contender, HttpClient, Rounds};
use crate::snippets::Snippet;
use crate::target::Target;
use crate::trials::burst::BurstArguments;
use crate::trials::churn::ChurnArguments;
use crate::trials::hostile::HostileArguments;
use crate::trials::overload::OverloadArguments;
use crate::trials::steady::SteadyArguments;
use crate::trials::suite::SuiteArguments;
use crate::trials::{TrialArguments, TrialReport};

/// A wrong answer, a missing answer, or a requirement that does not hold.
const NOT_GOOD: u8 = 1;
/// Nothing could be measured.
const OWN_ERROR: u8 = 2;
const DEFAULT_CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/cases");
/// Yardstick of the others: the fastest start of a plain interpreter.
const YARDSTICK: &str = "python3 -I -S -c";

/// Sends load to a proofbox service on this machine, and compares it with plain Python.
///
/// Every answer is checked. The exit code is 0 when all were right and every --require holds, 1 when not, 2 when
/// nothing could be measured. Service, load generator and baselines share this machine's cores: figures are of all
/// of them together.
#[derive(Parser)]
#[command(name = "loadtest", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Http(HttpArguments),
    Native(NativeArguments),
    Compare(CompareArguments),
    Steady(SteadyArguments),
    Burst(BurstArguments),
    Overload(OverloadArguments),
    Hostile(HostileArguments),
    Churn(ChurnArguments),
    Suite(SuiteArguments),
}

/// Send POST /v1/execute over keep-alive connections
///
/// Without --rate the loop is closed: each connection sends its next request when the answer to the last one is
/// there. That shows what the service can do; its percentiles flatter, because a slow answer delays the requests
/// that would have met the same slowness.
///
/// With --rate the loop is open: requests are due on a fixed schedule, whether or not answers come, and latency is
/// measured from the moment a request was due, not from the moment a connection was free to send it (corrected for
/// coordinated omission). Requests that were never sent, and those that timed out, count with the time they waited.
#[derive(Args)]
struct HttpArguments {
    /// The service; only loopback addresses are possible
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: Target,
    /// What is sent
    #[arg(long, value_enum, default_value_t = ScenarioName::Print)]
    scenario: ScenarioName,
    /// Connections, each with one request under way at a time
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=4096))]
    connections: u16,
    /// Seconds of sending, after the warm-up
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_up_to_an_hour)]
    duration: Duration,
    /// Open loop: requests a second, on a fixed schedule; latency is measured from the scheduled time
    #[arg(long, value_name = "R", value_parser = rate)]
    rate: Option<f64>,
    /// Requests after the warm-up, at most
    #[arg(long, value_name = "N", default_value = "10000000", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    requests: u64,
    /// Seconds of sending before anything is counted
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds_up_to_an_hour)]
    warmup: Duration,
    /// Seconds that one request may take; then its connection is closed and it is an error
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds_up_to_an_hour)]
    timeout: Duration,
    /// Scenario `cases`: directory with the case files [default: ../shared/data/cases, beside the repository]
    #[arg(long, value_name = "DIR", default_value = DEFAULT_CASES, hide_default_value = true)]
    cases: PathBuf,
    /// Scenario `cases`: which files of the directory, without .jsonl; of their cases, those of kind asserts,
    /// check_function and stdin_stdout are sent, mixed in a fixed pseudo-random order
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "humaneval,mbpp,mbpp_sanitized")]
    sets: Vec<String>,
    /// Exit with 1 unless it holds, such as p99<=5ms or rps>=1200; of rps (right answers a second), p50, p90, p99,
    /// p99.9, max, refused, unsent; can be given several times
    #[arg(long, value_name = "FIGURE")]
    require: Vec<Requirement<LoadFigure>>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScenarioName {
    /// print(1+1)
    Print,
    /// A small function and 10 asserts, graded in process
    Function,
    /// Real cases with known outcomes
    Cases,
}

/// Time plain Python without the service: a subprocess a run, and a fork a run
///
/// Each round has a run of each: `python3 -I -S -c`, `python3 -I -c`, and a fork of an interpreter that has
/// imported the same modules as the service's.
#[derive(Args)]
struct NativeArguments {
    #[command(flatten)]
    baseline: Baseline,
}

/// Run the same snippet over HTTP, as a subprocess and forked, in turn
///
/// Each round has a run of each: a request over HTTP with one client, `python3 -I -S -c`, `python3 -I -c`, and a
/// fork of an interpreter that has imported the same modules as the service's. Ratios are of medians.
#[derive(Args)]
struct CompareArguments {
    /// The service; only loopback addresses are possible
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: Target,
    #[command(flatten)]
    baseline: Baseline,
    /// Exit with 1 unless it holds, such as ratio<=0.12: the median over HTTP, in medians of `python3 -I -S -c`
    #[arg(long, value_name = "FIGURE")]
    require: Vec<Requirement<ComparisonFigure>>,
}

#[derive(Args)]
struct Baseline {
    /// What is run
    #[arg(long, value_enum, default_value_t = Snippet::Print)]
    what: Snippet,
    /// The native interpreter; compare like with like, so best one of the service's version
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// Rounds that are counted; five more come before them
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: u64,
    /// Runs of each in a round, one after another. With 1 each run finds the processor's caches full of the others'
    /// data; with more, most runs find their own
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000))]
    in_a_row: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    /// Write the result as JSON
    #[arg(long)]
    json: bool,
}

impl Output {
    fn write<R: Serialize + fmt::Display>(&self, report: &R) -> anyhow::Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(report).context("writing the result")?);
        } else {
            print!("{report}");
        }
        Ok(())
    }
}

fn seconds_up_to_an_hour(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse().context("not a number of seconds")?;
    ensure!((0.0..=3600.0).contains(&seconds), "not between 0 and 3600 seconds");
    Ok(Duration::from_secs_f64(seconds))
}

fn rate(text: &str) -> anyhow::Result<f64> {
    let rate: f64 = text.parse().context("not a number of requests a second")?;
    ensure!((0.01..=100_000.0).contains(&rate), "not between 0.01 and 100000 requests a second");
    Ok(rate)
}

/// Carries out a trial: each has its own arguments, with those of all in `trial`.
macro_rules! judged {
    ($trial:ident, $arguments:expr) => {{
        let arguments = $arguments;
        let runtime = begin(&arguments.trial).await?;
        finish(trials::$trial::run(&arguments, runtime).await?, &arguments.trial)
    }};
}

/// Shows that the service is there.
async fn begin(trial: &TrialArguments) -> anyhow::Result<RuntimeOfService> {
    runtime_of_service(&mut trial.connection()).await
}

fn finish(report: TrialReport, trial: &TrialArguments) -> anyhow::Result<ExitCode> {
    if let Some(file) = &trial.report {
        page::write(&report, file)?;
    }
    trial.output.write(&report)?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(NOT_GOOD) })
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // One thread: the cores are the service's.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime");
    let outcome = runtime.and_then(|runtime| {
        runtime.block_on(async {
            match command {
                Command::Http(arguments) => http(arguments).await,
                Command::Native(arguments) => native(arguments).await,
                Command::Compare(arguments) => compare(arguments).await,
                Command::Steady(arguments) => judged!(steady, arguments),
                Command::Burst(arguments) => judged!(burst, arguments),
                Command::Overload(arguments) => judged!(overload, arguments),
                Command::Hostile(arguments) => judged!(hostile, arguments),
                Command::Churn(arguments) => judged!(churn, arguments),
                Command::Suite(arguments) => judged!(suite, arguments),
            }
        })
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("loadtest: {error:#}");
        ExitCode::from(OWN_ERROR)
    })
}

async fn http(arguments: HttpArguments) -> anyhow::Result<ExitCode> {
    let (name, scenario) = scenario_of(&arguments)?;
    let plan = Plan {
        target: arguments.url,
        connections: arguments.connections.into(),
        pace: arguments.rate.map_or(Pace::ClosedLoop, |requests_per_second| Pace::OpenLoop { requests_per_second }),
        warmup: arguments.warmup,
        duration: arguments.duration,
        most_requests: arguments.requests,
        timeout: arguments.timeout,
        key: None,
    };
    let runtime = runtime_of_service(&mut Connection::new(plan.target, plan.timeout)).await?;
    let before = cpu_time_of_this_process()?;
    let tally = load::run(plan.clone(), Arc::new(scenario)).await?;
    let generator_cpu = cpu_time_of_this_process()?.saturating_sub(before);
    let mut report = LoadReport::new(name, &plan, runtime, tally, generator_cpu);
    report.requirements =
        arguments.require.iter().map(|requirement| requirement.check(|figure| report.figure(figure))).collect();
    arguments.output.write(&report)?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(NOT_GOOD) })
}

fn scenario_of(arguments: &HttpArguments) -> anyhow::Result<(String, Scenario)> {
    match arguments.scenario {
        ScenarioName::Print => Ok(("print".to_owned(), Scenario::of_snippet(Snippet::Print, Grading::InProcess)?)),
        ScenarioName::Function => {
            Ok(("function".to_owned(), Scenario::of_snippet(Snippet::Function, Grading::InProcess)?))
        }
        ScenarioName::Cases => {
            let sets = arguments.sets.join(", ");
            let choice = Choice { grading: Grading::InProcess, most_native: Duration::MAX };
            let cases = Cases::read(&arguments.cases, &arguments.sets, choice)?;
            let skipped = cases.skipped;
            let scenario = Scenario::of_cases(cases).with_context(|| format!("there is no case to send in {sets}"))?;
            Ok((format!("{} cases of {sets} ({skipped} of other kinds left out)", scenario.len()), scenario))
        }
    }
}

/// Also shows that the service is there, before anything is measured.
async fn runtime_of_service(connection: &mut Connection) -> anyhow::Result<RuntimeOfService> {
    match connection.get("/v1/runtime").await {
        Ok(reply) => Ok(serde_json::from_slice(&reply.body).unwrap_or_default()),
        Err(ConnectionError::Connect(cause)) => {
            bail!("no service there; start it with `proofbox serve`, or say where it is with --url: {cause}")
        }
        Err(error) => Err(error.into()),
    }
}

async fn native(arguments: NativeArguments) -> anyhow::Result<ExitCode> {
    let baseline = arguments.baseline;
    let report = side_by_side(native_contenders(&baseline).await?, &baseline).await?;
    baseline.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

async fn compare(arguments: CompareArguments) -> anyhow::Result<ExitCode> {
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
    let CompareArguments { url, baseline, require } = arguments;
    let mut connection = Connection::new(url, REQUEST_TIMEOUT);
    let runtime = runtime_of_service(&mut connection).await?;
    let client = HttpClient { connection, request: request_of_snippet(baseline.what, Grading::InProcess)? };
    let mut contenders = vec![("HTTP, one client".to_owned(), Contender::Http(Box::new(client)))];
    contenders.extend(native_contenders(&baseline).await?);
    let mut report = side_by_side(contenders, &baseline).await?;
    report.service = Some(runtime);
    report.requirements = require.iter().map(|requirement| requirement.check(|figure| report.figure(figure))).collect();
    baseline.output.write(&report)?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(NOT_GOOD) })
}

async fn native_contenders(baseline: &Baseline) -> anyhow::Result<Vec<(String, Contender)>> {
    let Baseline { what, python, .. } = baseline;
    let subprocess = |isolation| Contender::Subprocess(Subprocess::new(python, isolation, *what));
    Ok(vec![
        (YARDSTICK.to_owned(), subprocess(Isolation::WithoutSite)),
        ("python3 -I -c".to_owned(), subprocess(Isolation::Isolated)),
        ("fork".to_owned(), Contender::Fork(Box::new(ForkServer::start(python, *what).await?))),
    ])
}

async fn side_by_side(contenders: Vec<(String, Contender)>, baseline: &Baseline) -> anyhow::Result<ComparisonReport> {
    let python = version_of(Path::new(&baseline.python)).await?;
    let rounds = Rounds { rounds: baseline.runs, runs_in_a_row: baseline.in_a_row };
    let times = side_by_side::run(contenders, rounds).await?;
    let snippet = baseline.what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    Ok(ComparisonReport::new(snippet, python, rounds, &times, YARDSTICK))
}

/// User and system time of all threads.
fn cpu_time_of_this_process() -> anyhow::Result<Duration> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing one `rusage`.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    ensure!(status == 0, "getrusage: {}", std::io::Error::last_os_error());
    // SAFETY: it was zeroed, which is a valid `rusage`, and then filled in.
    let usage = unsafe { usage.assume_init() };
    let duration =
        |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs() as u32 * 1000);
    Ok(duration(usage.ru_utime) + duration(usage.ru_stime))
}
