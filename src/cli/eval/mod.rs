//! `proofbox eval SUITE`: grades a suite, and reports on it.
//!
//! `suite` reads the file, `server` has it graded (by a server, or by workers of this process), `changes` compares with
//! an earlier run, `require` decides the exit code; `summary` and the grader's `page` show the results.

mod benchmarks;
mod changes;
mod files;
mod require;
mod server;
mod suite;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value as Json, json};

use crate::config::Config;
use crate::http::sample_of;
use changes::{Baseline, Changes};
use proofbox_grading::page::{Page, page, row};
use proofbox_grading::report::{Report, Sample, report};
use require::Requirement;
use server::Server;
use suite::Suite;

/// Exit code when a requirement does not hold.
const UNMET: u8 = 1;

/// Items to grade, and what to make of their results.
#[derive(Args)]
pub(super) struct EvalArguments {
    /// The suite: a line of JSON for each item, as POST /v1/suites takes them; or problems of HumanEval, MBPP,
    /// EvalPlus, BigCodeBench, LiveCodeBench or APPS, as they are published
    #[arg(value_name = "SUITE.jsonl")]
    suite: PathBuf,
    /// Samples of a model, {"task_id", "solution" | "completion"} a line [default: the canonical solutions are graded]
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Address of a server [default: workers of this process]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Key to show the server
    #[arg(long, env = "PROOFBOX_API_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
    /// Write a report in HTML, one file
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    /// Write the report and every answer as JSON, which --baseline reads
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
    /// Compare with an earlier --json
    #[arg(long, value_name = "OLD.json")]
    baseline: Option<PathBuf>,
    /// Fail (exit code 1) unless this holds, as in "pass_rate>=95%"; --help lists the names
    #[arg(long, value_name = "REQUIREMENT", long_help = require::help())]
    require: Vec<Requirement>,
    /// The k of pass@k [default: those of the suite, else 1]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,
    /// Grading of every item [default: as the item says]
    #[arg(long, value_enum)]
    grading: Option<Grading>,
    /// Lint every item with Ruff's default rules
    #[arg(long)]
    lint: bool,
    /// Policy pack for every item
    #[arg(long)]
    policy: Option<String>,
    /// Name or hash of an image, for every item (see `proofbox runtime list`)
    #[arg(long, value_name = "NAME")]
    image_name: Option<String>,
    /// Limit in fuel units, for every item
    #[arg(long)]
    fuel: Option<u64>,
    /// Limit on CPU time and sleep in seconds, for every item
    #[arg(long)]
    wall_seconds: Option<f64>,
    /// Limit on memory in bytes, for every item
    #[arg(long)]
    memory_bytes: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Grading {
    /// Tests and verdict where the candidate is not
    Isolated,
    /// Tests in the candidate's own interpreter: it can forge them
    #[value(name = "in_process", alias = "in-process")]
    InProcess,
    /// Isolated, and in process where the tests want what can't be had so
    Auto,
}

/// Results to show or write.
struct Results<'a> {
    suite: &'a Suite,
    report: &'a Report,
    /// A line of the answer for each item, in the order of the suite.
    answers: &'a [Json],
    changes: Option<&'a Changes>,
    /// Requirements, each with the reason why it does not hold.
    required: Vec<(&'a Requirement, Option<String>)>,
}

impl Results<'_> {
    fn page(&self) -> Page<'_> {
        let required = self
            .required
            .iter()
            .map(|(requirement, breach)| (breach.clone().unwrap_or_else(|| requirement.to_string()), breach.is_none()));
        Page {
            title: &self.suite.title,
            runtime: self.answers.iter().find_map(|answer| answer.get("runtime")).cloned(),
            report: self.report,
            changes: json!(self.changes),
            warnings: &self.suite.warnings,
            required: required.collect(),
            items: self.suite.items.iter().zip(self.answers).map(|(item, answer)| row(&item.fields, answer)).collect(),
        }
    }
}

/// Grades the suite, and writes its report.
pub(super) fn eval(arguments: EvalArguments, config: &Config) -> anyhow::Result<ExitCode> {
    if let Some(requirement) = arguments.require.iter().find(|one| one.needs_baseline())
        && arguments.baseline.is_none()
    {
        bail!("--require {requirement} compares with a baseline: name one with --baseline");
    }
    let mut suite = suite::read(&arguments.suite, arguments.samples.as_deref())?;
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    // What can't be written is told before the work, not after it.
    for path in [&arguments.report, &arguments.json].into_iter().flatten() {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
        opened.with_context(|| format!("writing {}", path.display()))?;
    }
    for item in &mut suite.items {
        arguments.put_over(&suite.defaults, &mut item.fields);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let answers = runtime.block_on(async {
        let server = Server::find(arguments.server.as_deref(), arguments.api_key.as_deref(), config).await?;
        let bar = progress(suite.items.len());
        let failed = std::cell::Cell::new(0);
        let done = |answer: &Json| {
            if !matches!(answer["status"].as_str(), Some("passed" | "ok")) {
                failed.set(failed.get() + 1);
                bar.set_message(format!("{} not passed", failed.get()));
            }
            bar.inc(1);
        };
        let answers = server.grade(&suite, done).await;
        bar.finish_and_clear();
        answers
    })?;

    let samples: Vec<Sample> = answers.iter().filter_map(sample_of).collect();
    let report = report(&samples, &arguments.ks(&suite));
    let changes = baseline.map(|baseline| baseline.changes(&report, &answers));
    let breaches = arguments.require.iter().map(|one| (one, one.breach(&report, changes.as_ref())));
    let results = Results {
        suite: &suite,
        report: &report,
        answers: &answers,
        changes: changes.as_ref(),
        required: breaches.collect(),
    };
    if let Some(path) = &arguments.json {
        let whole = json!({
            "version": 1, "suite": suite.title, "report": report, "changes": changes, "results": answers,
        });
        write(path, &serde_json::to_vec(&whole)?)?;
    }
    if let Some(path) = &arguments.report {
        write(path, page(&results.page()).as_bytes())?;
    }
    summary::print(&results);
    let is_met = results.required.iter().all(|(_, breach)| breach.is_none());
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::from(UNMET) })
}

impl EvalArguments {
    fn ks(&self, suite: &Suite) -> Vec<u32> {
        let mut ks = if self.k.is_empty() { suite.ks.clone().unwrap_or_else(|| vec![1]) } else { self.k.clone() };
        ks.extend(self.require.iter().filter_map(Requirement::k));
        ks
    }

    /// Puts the choices of the command line over an item's own fields.
    fn put_over(&self, defaults: &Map<String, Json>, item: &mut Map<String, Json>) {
        let tests = item.get("tests").or_else(|| defaults.get("tests"));
        // Input and output are compared on the host, whatever is asked for.
        let has_choice = tests.is_some_and(|tests| tests["kind"].as_str().is_some_and(|kind| kind != "stdin_stdout"));
        if let Some(grading) = self.grading.filter(|_| has_choice) {
            let word = match grading {
                Grading::Isolated => "isolated",
                Grading::InProcess => "in_process",
                Grading::Auto => "auto",
            };
            item.insert("grading".to_owned(), json!(word));
        }
        if self.lint {
            item.insert("lint".to_owned(), json!(true));
        }
        for (name, value) in [("policy", &self.policy), ("image", &self.image_name)] {
            if let Some(value) = value {
                item.insert(name.to_owned(), json!(value));
            }
        }
        let limits = [
            ("fuel", self.fuel.map(Json::from)),
            ("wall_seconds", self.wall_seconds.map(Json::from)),
            ("memory_bytes", self.memory_bytes.map(Json::from)),
        ];
        for (name, value) in limits {
            let Some(value) = value else { continue };
            // A value that is no object is the server's to refuse.
            if let Json::Object(limits) = item.entry("limits").or_insert_with(|| json!({})) {
                limits.insert(name.to_owned(), value);
            }
        }
    }
}

fn progress(items: usize) -> ProgressBar {
    // Hidden by itself where nobody looks.
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}  {per_sec}  {eta} left  {msg}");
    ProgressBar::new(items as u64).with_style(style.expect("the template is a constant"))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}
