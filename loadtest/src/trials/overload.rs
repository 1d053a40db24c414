//! Several times as much as the service can do, for minutes: it must go on doing what it can, and refuse the rest.

use std::time::{Duration, Instant};

use clap::Args;

use super::{Table, TrialArguments, TrialFigure, TrialReport};
use crate::load::{self, Pace, Plan};
use crate::plot::Plot;
use crate::processes::{Watch, cpu_between, memory_at_both_ends};
use crate::report::RuntimeOfService;
use crate::tally::Tally;

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 7] = [
    "throughput>=0.9",
    "p99<=6s",
    "other_statuses<=0",
    "without_retry_after<=0",
    "errors<=0",
    "wrong<=0",
    "memory_growth<=0.05",
];
const MIB: f64 = (1 << 20) as f64;
/// Between two parts: what waits is done, and memory is given back.
const PAUSE: Duration = Duration::from_secs(3);

/// Send several times what the service can do, on a schedule that waits for nothing
///
/// First the capacity is measured: a closed loop with the same work, before and after. Work is graded in isolation: a
/// small function with 10 asserts, and real cases, in turn.
#[derive(Args)]
pub(crate) struct OverloadArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// So many times the measured capacity
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = times)]
    times: f64,
    /// Seconds of overload
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = crate::seconds_up_to_an_hour)]
    duration: Duration,
    /// Seconds of overload before anything is counted: the queue fills
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = crate::seconds_up_to_an_hour)]
    warmup: Duration,
    /// Seconds of each of the two measurements of the capacity
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = crate::seconds_up_to_an_hour)]
    measure: Duration,
    /// Connections of the closed loop
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=4096))]
    clients: u16,
    /// Connections of the overload: more than the service holds at once, running and waiting
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u16).range(1..=16_384))]
    connections: u16,
}

fn times(text: &str) -> anyhow::Result<f64> {
    let times: f64 = text.parse()?;
    anyhow::ensure!((0.1..=100.0).contains(&times), "not between 0.1 and 100");
    Ok(times)
}

/// Part of the trial.
struct Part {
    begin: Instant,
    end: Instant,
    tally: Tally,
    generator_cpu: Duration,
}

impl Part {
    async fn run(plan: Plan, work: &super::Arc<super::Scenario>) -> anyhow::Result<Self> {
        let begin = Instant::now() + plan.warmup;
        let end = begin + plan.duration;
        let before = crate::cpu_time_of_this_process()?;
        let elapsed = Instant::now();
        let tally = load::run(plan, super::Arc::clone(work)).await?;
        // As a share of the time that is counted, warm-up and last answers are like the rest.
        let share = (end - begin).as_secs_f64() / elapsed.elapsed().as_secs_f64().max(1e-9);
        let generator_cpu = (crate::cpu_time_of_this_process()? - before).mul_f64(share.min(1.0));
        Ok(Self { begin, end, tally, generator_cpu })
    }

    fn seconds(&self) -> f64 {
        (self.end - self.begin).as_secs_f64()
    }

    fn rate(&self) -> f64 {
        self.tally.right_within() as f64 / self.seconds()
    }
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &OverloadArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let OverloadArguments { trial, times, duration, warmup, measure, .. } = arguments;
    let work = trial.work()?;
    let watch = Watch::start(trial.url)?;
    let closed = || trial.closed_loop(arguments.clients.into(), Duration::from_secs(3), *measure);

    let before = Part::run(closed(), &work).await?;
    anyhow::ensure!(before.rate() > 0.0, "the service gave no right answer: {:?}", before.tally.examples);
    tokio::time::sleep(PAUSE).await;
    let requests_per_second = before.rate() * times;
    let open = Plan {
        connections: arguments.connections.into(),
        pace: Pace::OpenLoop { requests_per_second },
        warmup: *warmup,
        duration: *duration,
        ..closed()
    };
    let overload = Part::run(open, &work).await?;
    tokio::time::sleep(PAUSE).await;
    let after = Part::run(closed(), &work).await?;

    let samples = watch.samples();
    let peak = before.rate().max(after.rate());
    let title = format!("Overload: {times} times the capacity for {} s", duration.as_secs_f64());
    let mut report = TrialReport::new(&title, trial.url, runtime);
    report.fact("work", format!("{} requests, graded in isolation, round and round", work.len()));
    let sent =
        format!("{requests_per_second:.0} a second, {:.1} times the better capacity", requests_per_second / peak);
    report.fact("sent on schedule", sent);
    report.fact("due but never sent", overload.tally.unsent);
    report.fact("Retry-After", format!("up to {} s", overload.tally.longest_retry_after));

    let mut rates = Table::new(
        "Throughput",
        &[
            "",
            "right a second",
            "share of the peak",
            "CPU of the service",
            "CPU of the generator",
            "right a CPU second",
        ],
    );
    for (name, part) in [("closed loop before", &before), ("overload", &overload), ("closed loop after", &after)] {
        let service = cpu_between(&samples, part.begin, part.end);
        rates.row([
            name.to_owned(),
            format!("{:.1}", part.rate()),
            format!("{:.3}", part.rate() / peak),
            service.map_or("unknown".to_owned(), |cpu| format!("{cpu:.2} cores")),
            format!("{:.2} cores", part.generator_cpu.as_secs_f64() / part.seconds()),
            service.map_or("unknown".to_owned(), |cpu| format!("{:.0}", part.rate() / cpu)),
        ]);
    }
    let mut latencies = Table::of_latencies();
    latencies.latency("closed loop before", before.tally.latency.percentiles());
    latencies.latency("overload, accepted", overload.tally.latency.percentiles());
    latencies.latency("of this from sending", overload.tally.service_time.percentiles());
    latencies.latency("start delay", overload.tally.start_delay.percentiles());
    latencies.latency("reported queue", overload.tally.queue.percentiles());
    latencies.latency("reported execution", overload.tally.execution.percentiles());
    latencies.latency("closed loop after", after.tally.latency.percentiles());
    let mut counts = Table::of_counts();
    counts.counts("closed loop before", &before.tally, before.seconds());
    counts.counts("overload", &overload.tally, overload.seconds());
    counts.counts("closed loop after", &after.tally, after.seconds());

    let memory = memory_at_both_ends(&samples, overload.begin, overload.end);
    if let Some((first, last)) = memory {
        report.fact("memory of the service", format!("{:.0} MiB, then {:.0} MiB (PSS)", first / MIB, last / MIB));
    }
    let within = || samples.iter().filter(|sample| overload.begin <= sample.at && sample.at < overload.end);
    if let Some(last) = within().next_back() {
        report.fact("of this in the end the front process", format!("{:.0} MiB", last.front as f64 / MIB));
    }
    let told = within().map(|sample| sample.told_after).max();
    report.fact("/metrics answered after at most", format!("{:.0} ms", told.unwrap_or_default().as_secs_f64() * 1e3));

    let tally = &overload.tally;
    report.figure(TrialFigure::RequestsPerSecond, overload.rate());
    report.figure(TrialFigure::Throughput, overload.rate() / peak);
    report.latency(tally.accepted.percentiles());
    report.faults(tally);
    let other = tally.statuses.iter().filter(|(status, _)| !matches!(status, 200 | 429)).map(|(_, count)| *count);
    report.figure(TrialFigure::OtherStatuses, other.sum::<u64>() as f64);
    report.figure(TrialFigure::WithoutRetryAfter, tally.without_retry_after as f64);
    report.figure(TrialFigure::Unsent, tally.unsent as f64);
    report.figure(TrialFigure::MemoryGrowth, memory.map(|(first, last)| last / first - 1.0));

    let count = duration.as_secs();
    let line = |value: &dyn Fn(&crate::timeline::Second) -> Option<f64>| tally.timeline.points(count, value);
    report.plots.push(
        Plot::new("Answers", "a second")
            .with("right", line(&|second| Some(second.right() as f64)))
            .with("refused", line(&|second| Some(second.refused as f64)))
            .with("peak", vec![(0.0, peak), (count as f64, peak)]),
    );
    report.plots.push(
        Plot::new("Latency of accepted requests", "ms")
            .with("p50", line(&|second| second.quantile(0.5)))
            .with("p99", line(&|second| second.quantile(0.99))),
    );
    let by_time = |value: &dyn Fn(&crate::processes::Sample) -> Option<f64>| {
        let points = samples.iter().filter_map(|sample| {
            let time = sample.at.checked_duration_since(overload.begin)?.as_secs_f64();
            (sample.at < overload.end).then(|| Some((time, value(sample)?))).flatten()
        });
        points.collect::<Vec<_>>()
    };
    report.plots.push(
        Plot::new("Memory of the service's processes", "MiB")
            .with("PSS", by_time(&|sample| Some(sample.proportional as f64 / MIB)))
            .with("PSS of the front process", by_time(&|sample| Some(sample.front as f64 / MIB)))
            .with("RSS", by_time(&|sample| Some(sample.resident as f64 / MIB))),
    );
    report.plots.push(Plot::new("Queue", "submissions").with("waiting", by_time(&|sample| sample.queued)));
    report.tables = vec![rates, latencies, counts];
    report.judge(&trial.require, &DEMANDS)
}
