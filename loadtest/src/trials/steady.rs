//! A steady stream of requests on a schedule, well below what the service can do.

use std::time::{Duration, Instant};

use clap::Args;

use super::{Table, TrialArguments, TrialFigure, TrialReport};
use crate::load::{self, Pace, Plan};
use crate::plot::Plot;
use crate::processes::{Watch, cpu_between, memory_at_both_ends};
use crate::report::RuntimeOfService;

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 6] =
    ["p99<=250ms", "wrong<=0", "errors<=0", "refused<=0", "unsent<=0", "memory_growth<=0.05"];

/// Send so many requests a second, on a schedule that waits for nothing
#[derive(Args)]
pub(crate) struct SteadyArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Requests a second
    #[arg(long, value_name = "R", default_value = "100", value_parser = crate::rate)]
    rate: f64,
    /// Seconds of sending, after the warm-up
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = crate::seconds_up_to_an_hour)]
    duration: Duration,
    /// Connections
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u16).range(1..=4096))]
    connections: u16,
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &SteadyArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let SteadyArguments { trial, rate, duration, connections } = arguments;
    let work = trial.work()?;
    let watch = Watch::start(trial.url)?;
    let warmup = Duration::from_secs(2);
    let plan = Plan {
        pace: Pace::OpenLoop { requests_per_second: *rate },
        ..trial.closed_loop((*connections).into(), warmup, *duration)
    };
    let begin = Instant::now() + warmup;
    let end = begin + *duration;
    let tally = load::run(plan, super::Arc::clone(&work)).await?;
    let samples = watch.samples();

    let title = format!("Steady: {rate} requests a second for {} s", duration.as_secs_f64());
    let mut report = TrialReport::new(&title, trial.url, runtime);
    report.fact("work", format!("{} requests, graded in isolation, round and round", work.len()));
    if let Some(cpu) = cpu_between(&samples, begin, end) {
        report.fact("CPU of the service", format!("{cpu:.2} cores"));
    }
    let mut latencies = Table::of_latencies();
    latencies.latency("latency", tally.latency.percentiles());
    latencies.latency("from sending", tally.service_time.percentiles());
    latencies.latency("reported execution", tally.execution.percentiles());
    latencies.latency("reported queue", tally.queue.percentiles());
    let mut counts = Table::of_counts();
    counts.counts("all", &tally, duration.as_secs_f64());
    report.tables = vec![latencies, counts];
    report.latency(tally.latency.percentiles());
    report.faults(&tally);
    report.figure(TrialFigure::RequestsPerSecond, tally.right_within() as f64 / duration.as_secs_f64());
    report.figure(TrialFigure::Unsent, tally.unsent as f64);
    let memory = memory_at_both_ends(&samples, begin, end);
    report.figure(TrialFigure::MemoryGrowth, memory.map(|(first, last)| last / first - 1.0));
    let line = |quantile: f64| tally.timeline.points(duration.as_secs(), |second| second.quantile(quantile));
    report.plots.push(Plot::new("Latency", "ms").with("p50", line(0.5)).with("p99", line(0.99)));
    report.judge(&trial.require, &DEMANDS)
}
