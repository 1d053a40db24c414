//! Trials: what is to hold under load, measured and judged. Each makes a [`TrialReport`].

pub(crate) mod burst;
pub(crate) mod churn;
pub(crate) mod hostile;
pub(crate) mod overload;
pub(crate) mod steady;
pub(crate) mod suite;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use hyper::header::HeaderValue;
use serde::Serialize;

use crate::cases::{Cases, Choice, Grading};
use crate::connection::Connection;
use crate::latencies::Percentiles;
use crate::load::{Pace, Plan};
use crate::plot::Plot;
use crate::report::RuntimeOfService;
use crate::requirement::{CheckedRequirement, Figure, Requirement, Unit};
use crate::scenario::Scenario;
use crate::tally::Tally;
use crate::target::Target;

/// Cases that take longer in a plain interpreter say more about themselves than about the service.
const MAX_NATIVE: Duration = Duration::from_secs(1);

/// Arguments of every trial.
#[derive(Args)]
pub(crate) struct TrialArguments {
    /// The service; only loopback addresses are possible
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub url: Target,
    /// Directory with the case files [default: ../shared/data/cases, beside the repository]
    #[arg(long, value_name = "DIR", default_value = crate::DEFAULT_CASES, hide_default_value = true)]
    pub cases: PathBuf,
    /// Files of the directory whose cases are the honest work, without .jsonl
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "humaneval,mbpp,mbpp_sanitized")]
    pub sets: Vec<String>,
    /// Seconds that one request may take; then its connection is closed and it is an error
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = crate::seconds_up_to_an_hour)]
    pub timeout: Duration,
    /// Key of the service, where it wants one
    #[arg(long, env = "PROOFBOX_API_KEY", hide_env_values = true, value_name = "KEY", value_parser = bearer)]
    pub key: Option<HeaderValue>,
    /// Exit with 1 unless it holds, such as p99<=5s; instead of what the trial itself demands; can be given several
    /// times
    #[arg(long, value_name = "FIGURE")]
    pub require: Vec<Requirement<TrialFigure>>,
    /// Also write the report there, as HTML with plots
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub output: crate::Output,
}

/// The value of an `Authorization` header.
pub(crate) fn bearer(key: &str) -> anyhow::Result<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {key}")).context("the key has characters that no key has")?;
    value.set_sensitive(true);
    Ok(value)
}

impl TrialArguments {
    /// The honest work.
    pub(crate) fn work(&self) -> anyhow::Result<Arc<Scenario>> {
        let choice = Choice { grading: Grading::Isolated, most_native: MAX_NATIVE };
        let cases = Cases::read(&self.cases, &self.sets, choice)?;
        ensure!(!cases.requests.is_empty(), "there is no case to send in {}", self.sets.join(", "));
        Ok(Arc::new(Scenario::of_work(cases)?))
    }

    /// A connection of its own.
    pub(crate) fn connection(&self) -> Connection {
        Connection::new(self.url, self.timeout).with_key(self.key.clone())
    }

    /// Clients that wait for their answers.
    pub(crate) fn closed_loop(&self, connections: usize, warmup: Duration, duration: Duration) -> Plan {
        Plan {
            target: self.url,
            connections,
            pace: Pace::ClosedLoop,
            warmup,
            duration,
            most_requests: u64::MAX,
            timeout: self.timeout,
            key: self.key.clone(),
        }
    }
}

/// Figures that a threshold can be set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialFigure {
    /// Right answers a second.
    RequestsPerSecond,
    /// Right answers a second as a share of the peak.
    Throughput,
    P50,
    P90,
    P99,
    P999,
    Max,
    /// The p99 of honest work beside something else, in p99s of honest work alone.
    P99Ratio,
    Refused,
    Unsent,
    /// Wrong answers to honest work.
    Wrong,
    /// The p99 of a neighbour's function beside attacks.
    NeighbourP99,
    /// Attacks that ended in a way in which they must not.
    HostileWrong,
    /// Idle sessions and checkpoints of a neighbour that are gone, or have other values.
    SessionsLost,
    /// Worker processes that were replaced.
    WorkerRestarts,
    /// Most memory of the front process beside attacks, in MiB.
    FrontMemory,
    /// Requests without an answer.
    Errors,
    /// Answers that are neither 200 nor 429.
    OtherStatuses,
    /// 429 that do not say when to try again.
    WithoutRetryAfter,
    /// Of the service's memory, from the first fifth of the time to the last, as a share.
    MemoryGrowth,
    /// Until all was done.
    Seconds,
}

impl Figure for TrialFigure {
    const NAMES: &[(&str, Self)] = &[
        ("rps", Self::RequestsPerSecond),
        ("throughput", Self::Throughput),
        ("p50", Self::P50),
        ("p90", Self::P90),
        ("p99", Self::P99),
        ("p99.9", Self::P999),
        ("max", Self::Max),
        ("p99_ratio", Self::P99Ratio),
        ("refused", Self::Refused),
        ("unsent", Self::Unsent),
        ("wrong", Self::Wrong),
        ("neighbour_p99", Self::NeighbourP99),
        ("hostile_wrong", Self::HostileWrong),
        ("sessions_lost", Self::SessionsLost),
        ("worker_restarts", Self::WorkerRestarts),
        ("front_memory", Self::FrontMemory),
        ("errors", Self::Errors),
        ("other_statuses", Self::OtherStatuses),
        ("without_retry_after", Self::WithoutRetryAfter),
        ("memory_growth", Self::MemoryGrowth),
        ("seconds", Self::Seconds),
    ];

    fn unit(self) -> Unit {
        match self {
            Self::P50 | Self::P90 | Self::P99 | Self::P999 | Self::Max | Self::NeighbourP99 => Unit::Milliseconds,
            Self::RequestsPerSecond
            | Self::Throughput
            | Self::P99Ratio
            | Self::Refused
            | Self::Unsent
            | Self::Wrong
            | Self::HostileWrong
            | Self::SessionsLost
            | Self::WorkerRestarts
            | Self::FrontMemory
            | Self::Errors
            | Self::OtherStatuses
            | Self::WithoutRetryAfter
            | Self::MemoryGrowth
            | Self::Seconds => Unit::Number,
        }
    }
}

/// Rows under headings.
#[derive(Serialize)]
pub(crate) struct Table {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: &str, head: &[&str]) -> Self {
        let head = head.iter().map(|text| (*text).to_owned()).collect();
        Self { title: title.to_owned(), head, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// For rows by [`Table::latency`].
    pub(crate) fn of_latencies() -> Self {
        Self::new("Latency, in milliseconds", &["", "p50", "p90", "p99", "p99.9", "max", "mean"])
    }

    pub(crate) fn latency(&mut self, name: &str, percentiles: Option<Percentiles>) {
        let Some(Percentiles { p50, p90, p99, p999, max, mean, .. }) = percentiles else { return };
        let figures = [p50, p90, p99, p999, max, mean].map(|figure| format!("{figure:.1}"));
        self.row([name.to_owned()].into_iter().chain(figures));
    }

    /// For rows by [`Table::counts`].
    pub(crate) fn of_counts() -> Self {
        let head = ["", "right", "wrong", "refused", "without an answer", "right a second", "status", "stderr_class"];
        Self::new("Answers", &head)
    }

    pub(crate) fn counts(&mut self, name: &str, tally: &Tally, seconds: f64) {
        self.row([
            name.to_owned(),
            tally.right.to_string(),
            tally.wrong.to_string(),
            tally.refused.to_string(),
            tally.errors.values().sum::<u64>().to_string(),
            format!("{:.1}", tally.right_within() as f64 / seconds),
            words(&tally.statuses),
            words(&tally.classes),
        ]);
    }
}

fn words<K: fmt::Display, V: fmt::Display>(counts: &std::collections::BTreeMap<K, V>) -> String {
    let words = counts.iter().map(|(name, count)| format!("{}: {count}", name.to_string().escape_debug()));
    words.collect::<Vec<_>>().join(", ")
}

/// Findings of a trial.
#[derive(Serialize)]
pub(crate) struct TrialReport {
    pub title: String,
    pub url: String,
    pub runtime: RuntimeOfService,
    pub facts: Vec<(String, String)>,
    pub tables: Vec<Table>,
    #[serde(skip)]
    pub plots: Vec<Plot>,
    figures: Vec<(&'static str, f64)>,
    pub requirements: Vec<CheckedRequirement>,
    pub examples: Vec<String>,
}

impl TrialReport {
    pub(crate) fn new(title: &str, url: Target, runtime: RuntimeOfService) -> Self {
        Self {
            title: title.to_owned(),
            url: url.to_string(),
            runtime,
            facts: Vec::new(),
            tables: Vec::new(),
            plots: Vec::new(),
            figures: Vec::new(),
            requirements: Vec::new(),
            examples: Vec::new(),
        }
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl fmt::Display) {
        self.facts.push((name.to_owned(), value.to_string()));
    }

    /// Notes a figure; one that could not be measured is left out, and no requirement of it holds.
    pub(crate) fn figure(&mut self, figure: TrialFigure, value: impl Into<Option<f64>>) {
        let name = TrialFigure::NAMES.iter().find(|(_, known)| *known == figure).map(|(name, _)| *name);
        self.figures.extend(name.zip(value.into()));
    }

    /// The latency figures.
    pub(crate) fn latency(&mut self, percentiles: Option<Percentiles>) {
        let Some(Percentiles { p50, p90, p99, p999, max, .. }) = percentiles else { return };
        for (figure, value) in [
            (TrialFigure::P50, p50),
            (TrialFigure::P90, p90),
            (TrialFigure::P99, p99),
            (TrialFigure::P999, p999),
            (TrialFigure::Max, max),
        ] {
            self.figure(figure, value);
        }
    }

    /// Wrong and missing answers of honest work.
    pub(crate) fn faults(&mut self, tally: &Tally) {
        self.figure(TrialFigure::Wrong, tally.wrong as f64);
        self.figure(TrialFigure::Errors, tally.errors.values().sum::<u64>() as f64);
        self.figure(TrialFigure::Refused, tally.refused as f64);
        self.examples.extend(tally.examples.iter().cloned());
    }

    /// Holds the figures against what is demanded: by the caller, or else by the trial itself.
    ///
    /// # Errors
    /// Never with demands of ours.
    pub(crate) fn judge(mut self, given: &[Requirement<TrialFigure>], own: &[&str]) -> anyhow::Result<Self> {
        let own = own.iter().map(|text| text.parse()).collect::<anyhow::Result<Vec<_>>>()?;
        let demands = if given.is_empty() { &own } else { given };
        let value = |figure: TrialFigure| {
            let name = TrialFigure::NAMES.iter().find(|(_, known)| *known == figure)?.0;
            self.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        };
        self.requirements = demands.iter().map(|requirement| requirement.check(value)).collect();
        Ok(self)
    }

    pub(crate) fn is_good(&self) -> bool {
        self.requirements.iter().all(CheckedRequirement::holds)
    }
}

impl fmt::Display for TrialReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "# {}\n\n{} ({})\n", self.title, self.url, self.runtime)?;
        for (name, value) in &self.facts {
            writeln!(formatter, "- {name}: {value}")?;
        }
        for table in &self.tables {
            writeln!(formatter, "\n{}:\n\n| {} |", table.title, table.head.join(" | "))?;
            writeln!(formatter, "|{}", " --- |".repeat(table.head.len()))?;
            for row in &table.rows {
                writeln!(formatter, "| {} |", row.join(" | "))?;
            }
        }
        writeln!(formatter)?;
        for example in &self.examples {
            writeln!(formatter, "not right: {example}")?;
        }
        for requirement in &self.requirements {
            writeln!(formatter, "{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_trials_demand_themselves_can_be_read() {
        let demands: [&[&str]; 6] = [
            &burst::DEMANDS,
            &churn::DEMANDS,
            &hostile::DEMANDS,
            &overload::DEMANDS,
            &steady::DEMANDS,
            &suite::DEMANDS,
        ];
        for text in demands.into_iter().flatten() {
            text.parse::<Requirement<TrialFigure>>().expect(text);
        }
    }
}
