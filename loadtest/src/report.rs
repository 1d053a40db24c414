//! Results, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::latencies::Percentiles;
use crate::load::{Pace, Plan};
use crate::requirement::{CheckedRequirement, Figure, Unit};
use crate::side_by_side::{Rounds, Times};
use crate::tally::Tally;

/// Findings of a load run.
#[derive(Serialize)]
pub(crate) struct LoadReport {
    pub scenario: String,
    url: String,
    runtime: RuntimeOfService,
    pace: &'static str,
    /// Of the open loop.
    requests_per_second_asked: Option<f64>,
    connections: usize,
    warmup_seconds: f64,
    duration_seconds: f64,
    /// Right answers only.
    requests_per_second: f64,
    sent: u64,
    right: u64,
    wrong: u64,
    refused: u64,
    unsent: u64,
    errors: BTreeMap<&'static str, u64>,
    statuses: BTreeMap<u16, u64>,
    stderr_class: BTreeMap<String, u64>,
    latency_measured_from: &'static str,
    latency_ms: Option<Percentiles>,
    /// From sending to answer; in the open loop not the same as the latency.
    service_time_ms: Option<Percentiles>,
    /// From due to sent.
    start_delay_ms: Option<Percentiles>,
    /// Time as the service reports it.
    execution_ms: Option<Percentiles>,
    /// Time as the service reports it.
    queue_ms: Option<Percentiles>,
    generator_cpu_seconds: f64,
    examples: Vec<String>,
    pub requirements: Vec<CheckedRequirement>,
}

/// Answer of `GET /v1/runtime`: what it says of the service's Python.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RuntimeOfService {
    pub python: Option<String>,
    pub image_hash: Option<String>,
}

impl fmt::Display for RuntimeOfService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS_SHOWN: usize = 19;
        let shown = |text: &Option<String>| {
            text.as_deref().unwrap_or("unknown").escape_debug().take(DIGITS_SHOWN).collect::<String>()
        };
        write!(formatter, "Python {}, image {}", shown(&self.python), shown(&self.image_hash))
    }
}

/// Figures that a threshold can be set for in `loadtest http`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadFigure {
    RequestsPerSecond,
    P50,
    P90,
    P99,
    P999,
    Max,
    Refused,
    Unsent,
}

impl Figure for LoadFigure {
    const NAMES: &[(&str, Self)] = &[
        ("rps", Self::RequestsPerSecond),
        ("p50", Self::P50),
        ("p90", Self::P90),
        ("p99", Self::P99),
        ("p99.9", Self::P999),
        ("max", Self::Max),
        ("refused", Self::Refused),
        ("unsent", Self::Unsent),
    ];

    fn unit(self) -> Unit {
        match self {
            Self::P50 | Self::P90 | Self::P99 | Self::P999 | Self::Max => Unit::Milliseconds,
            Self::RequestsPerSecond | Self::Refused | Self::Unsent => Unit::Number,
        }
    }
}

impl LoadReport {
    pub(crate) fn new(
        scenario: String,
        plan: &Plan,
        runtime: RuntimeOfService,
        tally: Tally,
        generator_cpu: Duration,
    ) -> Self {
        let (pace, requests_per_second_asked, latency_measured_from) = match plan.pace {
            Pace::ClosedLoop => ("closed loop", None, "the moment of sending"),
            Pace::OpenLoop { requests_per_second } => {
                ("open loop", Some(requests_per_second), "the scheduled time (corrected for coordinated omission)")
            }
        };
        Self {
            scenario,
            url: plan.target.to_string(),
            runtime,
            pace,
            requests_per_second_asked,
            connections: plan.connections,
            warmup_seconds: plan.warmup.as_secs_f64(),
            duration_seconds: plan.duration.as_secs_f64(),
            requests_per_second: tally.right_per_second(plan.most_requests),
            sent: tally.sent,
            right: tally.right,
            wrong: tally.wrong,
            refused: tally.refused,
            unsent: tally.unsent,
            errors: tally.errors,
            statuses: tally.statuses,
            stderr_class: tally.classes,
            latency_measured_from,
            latency_ms: tally.latency.percentiles(),
            service_time_ms: tally.service_time.percentiles(),
            start_delay_ms: tally.start_delay.percentiles(),
            execution_ms: tally.execution.percentiles(),
            queue_ms: tally.queue.percentiles(),
            generator_cpu_seconds: generator_cpu.as_secs_f64(),
            examples: tally.examples,
            requirements: Vec::new(),
        }
    }

    /// The figure that a requirement is about.
    pub(crate) fn figure(&self, figure: LoadFigure) -> Option<f64> {
        match figure {
            LoadFigure::RequestsPerSecond => Some(self.requests_per_second),
            LoadFigure::P50 => self.latency_ms.map(|latency| latency.p50),
            LoadFigure::P90 => self.latency_ms.map(|latency| latency.p90),
            LoadFigure::P99 => self.latency_ms.map(|latency| latency.p99),
            LoadFigure::P999 => self.latency_ms.map(|latency| latency.p999),
            LoadFigure::Max => self.latency_ms.map(|latency| latency.max),
            LoadFigure::Refused => Some(self.refused as f64),
            LoadFigure::Unsent => Some(self.unsent as f64),
        }
    }

    /// Returns whether there were answers, none of them wrong, none missing, and every requirement holds.
    pub(crate) fn is_good(&self) -> bool {
        self.right > 0
            && self.wrong == 0
            && self.errors.is_empty()
            && self.requirements.iter().all(CheckedRequirement::holds)
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, url, runtime, pace, connections, warmup_seconds, duration_seconds, .. } = self;
        writeln!(formatter, "{scenario} at {url} ({runtime})")?;
        write!(
            formatter,
            "{pace}, {connections} connections, at most {duration_seconds} s after {warmup_seconds} s of warm-up"
        )?;
        match self.requests_per_second_asked {
            Some(asked) => writeln!(formatter, ", {asked} requests a second on schedule\n")?,
            None => writeln!(formatter, "\n")?,
        }
        writeln!(formatter, "{:<22}{:>10}   {:.1} a second", "right answers", self.right, self.requests_per_second)?;
        writeln!(formatter, "{:<22}{:>10}", "wrong answers", self.wrong)?;
        writeln!(formatter, "{:<22}{:>10}", "refused (429, 503)", self.refused)?;
        writeln!(formatter, "{:<22}{:>10}{}", "errors", self.errors.values().sum::<u64>(), counts(&self.errors))?;
        if self.requests_per_second_asked.is_some() {
            writeln!(formatter, "{:<22}{:>10}", "due but never sent", self.unsent)?;
        }
        writeln!(formatter, "{:<22}{:>10}", "status", counts(&self.statuses).trim())?;
        writeln!(formatter, "{:<22}{:>10}\n", "stderr_class", counts(&self.stderr_class).trim())?;
        percentile_head(formatter)?;
        percentile_row(formatter, "latency", self.latency_ms)?;
        if self.requests_per_second_asked.is_some() {
            percentile_row(formatter, "from sending", self.service_time_ms)?;
            percentile_row(formatter, "start delay", self.start_delay_ms)?;
        }
        percentile_row(formatter, "reported execution", self.execution_ms)?;
        percentile_row(formatter, "reported queue", self.queue_ms)?;
        writeln!(formatter, "\nlatency is measured from {}", self.latency_measured_from)?;
        writeln!(formatter, "the generator used {:.2} s of CPU time of this machine", self.generator_cpu_seconds)?;
        for example in &self.examples {
            writeln!(formatter, "not right: {example}")?;
        }
        for requirement in &self.requirements {
            writeln!(formatter, "{requirement}")?;
        }
        Ok(())
    }
}

fn counts<K: fmt::Display, V: fmt::Display>(counts: &BTreeMap<K, V>) -> String {
    counts.iter().map(|(name, count)| format!("  {} {count}", name.to_string().escape_debug())).collect()
}

fn percentile_head(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        formatter,
        "{:<26}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "milliseconds", "min", "p50", "p90", "p99", "p99.9", "max", "mean"
    )
}

fn percentile_row(formatter: &mut fmt::Formatter<'_>, name: &str, percentiles: Option<Percentiles>) -> fmt::Result {
    let Some(Percentiles { min, p50, p90, p99, p999, max, mean }) = percentiles else {
        return writeln!(formatter, "{name:<26}{:>9}", "-");
    };
    writeln!(formatter, "{name:<26}{min:>9.3}{p50:>9.3}{p90:>9.3}{p99:>9.3}{p999:>9.3}{max:>9.3}{mean:>9.3}")
}

/// Findings of a side-by-side run.
#[derive(Serialize)]
pub(crate) struct ComparisonReport {
    snippet: String,
    /// Absent when it was not compared.
    pub service: Option<RuntimeOfService>,
    /// `sys.version` of the native interpreter.
    python: String,
    rounds: u64,
    runs_in_a_row: u64,
    contenders: Vec<ContenderReport>,
    pub requirements: Vec<CheckedRequirement>,
}

#[derive(Serialize)]
struct ContenderReport {
    name: String,
    milliseconds: Option<Percentiles>,
    /// Ratio of the median to that of the yardstick.
    ratio: Option<f64>,
}

/// Figures that a threshold can be set for in `loadtest compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonFigure {
    /// Of the first contender to the yardstick.
    Ratio,
}

impl Figure for ComparisonFigure {
    const NAMES: &[(&str, Self)] = &[("ratio", Self::Ratio)];

    fn unit(self) -> Unit {
        match self {
            Self::Ratio => Unit::Number,
        }
    }
}

impl ComparisonReport {
    /// `yardstick` is the name of the contender that the others are compared with.
    pub(crate) fn new(snippet: String, python: String, rounds: Rounds, times: &[Times], yardstick: &str) -> Self {
        let median = |times: &Times| times.latencies.percentiles().map(|percentiles| percentiles.p50);
        let yardstick = times.iter().find(|times| times.name == yardstick).and_then(median);
        let contenders = times.iter().map(|times| ContenderReport {
            name: times.name.clone(),
            milliseconds: times.latencies.percentiles(),
            ratio: median(times).zip(yardstick).map(|(own, yardstick)| own / yardstick),
        });
        let Rounds { rounds, runs_in_a_row } = rounds;
        Self {
            snippet,
            service: None,
            python,
            rounds,
            runs_in_a_row,
            contenders: contenders.collect(),
            requirements: Vec::new(),
        }
    }

    /// The figure that a requirement is about.
    pub(crate) fn figure(&self, figure: ComparisonFigure) -> Option<f64> {
        match figure {
            ComparisonFigure::Ratio => self.contenders.first().and_then(|contender| contender.ratio),
        }
    }

    /// Returns whether every requirement holds.
    pub(crate) fn is_good(&self) -> bool {
        self.requirements.iter().all(CheckedRequirement::holds)
    }
}

impl fmt::Display for ComparisonReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { snippet, service, python, rounds, runs_in_a_row, contenders, requirements } = self;
        writeln!(formatter, "{snippet}, {rounds} rounds with {runs_in_a_row} of each; native Python {python}")?;
        match service {
            Some(runtime) => writeln!(formatter, "the service has {runtime}\n")?,
            None => writeln!(formatter)?,
        }
        percentile_head(formatter)?;
        for contender in contenders {
            percentile_row(formatter, &contender.name, contender.milliseconds)?;
        }
        writeln!(formatter)?;
        for contender in contenders {
            if let Some(ratio) = contender.ratio {
                writeln!(formatter, "{:<26}{ratio:>9.4} times the median of python3 -I -S -c", contender.name)?;
            }
        }
        for requirement in requirements {
            writeln!(formatter, "{requirement}")?;
        }
        Ok(())
    }
}
