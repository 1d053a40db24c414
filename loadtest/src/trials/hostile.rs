//! Half of the requests attack, the other half is honest work, which must be none the worse for it.

use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use hyper::header::HeaderValue;

use super::{Arc, Scenario, Table, TrialArguments, TrialFigure, TrialReport, bearer};
use crate::hostile_cases;
use crate::load;
use crate::plot::Plot;
use crate::processes::{Watch, cpu_between};
use crate::report::RuntimeOfService;
use crate::tally::{Tally, Window};

/// What must hold unless the caller says otherwise.
const DEMANDS: [&str; 5] = ["wrong<=0", "errors<=0", "refused<=0", "hostile_wrong<=0", "p99_ratio<=2"];
const HOSTILE: &str = "hostile.jsonl";
/// Not counted, at the beginning of each block.
const WARMUP: Duration = Duration::from_secs(1);

/// Honest work alone and beside attacks, in blocks, in turn
///
/// Honest clients and attackers each send their next request when the answer to the last one is there. Attacks are
/// the programs of hostile.jsonl, graded as a request is that says nothing. Each must end as its case says.
#[derive(Args)]
pub struct HostileArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Connections with honest work
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1024))]
    honest: u16,
    /// Connections with attacks
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1024))]
    hostile: u16,
    /// Seconds of sending in all, half of them with attacks
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = crate::seconds_up_to_an_hour)]
    duration: Duration,
    /// Blocks; those with an even number have attacks
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(2..=1000))]
    blocks: u32,
    /// Only the attacks whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// The attackers' key, where it is another one
    #[arg(long, env = "PROOFBOX_HOSTILE_KEY", hide_env_values = true, value_name = "KEY", value_parser = bearer)]
    hostile_key: Option<HeaderValue>,
}

/// Blocks of one kind.
struct Half {
    tally: Tally,
    seconds: f64,
    cpu_seconds: f64,
}

impl Half {
    fn new(begin: Instant) -> anyhow::Result<Self> {
        Ok(Self { tally: Tally::new(Window { begin, end: begin })?, seconds: 0.0, cpu_seconds: 0.0 })
    }

    fn percentile(&self, of: impl Fn(crate::latencies::Percentiles) -> f64) -> Option<f64> {
        self.tally.latency.percentiles().map(of)
    }
}

/// # Errors
/// When nothing could be measured.
pub async fn run(arguments: &HostileArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let HostileArguments { trial, honest, hostile, duration, blocks, only, .. } = arguments;
    let work = trial.work()?;
    let attacks = hostile_cases::read(&trial.cases.join(HOSTILE), only)?;
    let attacks = Arc::new(Scenario::of_attacks(attacks).with_context(|| format!("no attack is named {only:?}"))?);
    let watch = Watch::start(trial.url)?;
    let block = *duration / *blocks;
    let honest_plan = trial.closed_loop((*honest).into(), WARMUP, block);
    let mut hostile_plan = trial.closed_loop((*hostile).into(), Duration::ZERO, block + WARMUP);
    hostile_plan.key = arguments.hostile_key.clone().or(hostile_plan.key);

    let begin = Instant::now();
    let (mut alone, mut beside, mut attacked) = (Half::new(begin)?, Half::new(begin)?, Half::new(begin)?);
    let mut bands = Vec::new();
    for number in 0..*blocks {
        let block_begin = Instant::now() + WARMUP;
        let with_attacks = number % 2 == 1;
        let half = if with_attacks {
            let both = tokio::join!(
                load::run(honest_plan.clone(), work.clone()),
                load::run(hostile_plan.clone(), attacks.clone())
            );
            attacked.tally.absorb(both.1?);
            attacked.seconds += (block + WARMUP).as_secs_f64();
            beside.tally.absorb(both.0?);
            let since = (block_begin - begin).as_secs_f64();
            bands.push(since..since + block.as_secs_f64());
            &mut beside
        } else {
            alone.tally.absorb(load::run(honest_plan.clone(), work.clone()).await?);
            &mut alone
        };
        half.seconds += block.as_secs_f64();
        let cpu = cpu_between(&watch.samples(), block_begin, block_begin + block);
        half.cpu_seconds += cpu.unwrap_or(0.0) * block.as_secs_f64();
    }

    let title = format!("Hostile mix: {honest} honest clients, {hostile} attackers, {} s", duration.as_secs_f64());
    let mut report = TrialReport::new(&title, trial.url, runtime);
    report.fact("blocks", format!("{blocks} of {:.0} s, without and with attacks in turn", block.as_secs_f64()));
    report.fact("honest work", format!("{} requests, graded in isolation, round and round", work.len()));
    report.fact("attacks", format!("{} programs, round and round", attacks.len()));
    for (name, half) in [("without attacks", &alone), ("with attacks", &beside)] {
        report.fact(&format!("CPU of the service {name}"), format!("{:.2} cores", half.cpu_seconds / half.seconds));
    }
    let mut latencies = Table::of_latencies();
    let mut counts = Table::of_counts();
    for (name, half) in [("honest alone", &alone), ("honest beside attacks", &beside), ("attacks", &attacked)] {
        latencies.latency(name, half.tally.latency.percentiles());
        counts.counts(name, &half.tally, half.seconds);
    }
    report.tables = vec![latencies, counts];

    let ratio = alone.percentile(|all| all.p99).zip(beside.percentile(|all| all.p99)).map(|(a, b)| b / a);
    report.figure(TrialFigure::P99Ratio, ratio);
    report
        .figure(TrialFigure::HostileWrong, (attacked.tally.wrong + attacked.tally.errors.values().sum::<u64>()) as f64);
    report.latency(beside.tally.latency.percentiles());
    let seconds = begin.elapsed().as_secs();
    let mut latency = Plot::new("p99 of honest work; grey: with attacks", "ms");
    let mut rate = Plot::new("Right answers to honest work; grey: with attacks", "a second");
    for (name, half) in [("alone", &alone), ("beside attacks", &beside)] {
        latency = latency.with(name, half.tally.timeline.points(seconds, |second| second.quantile(0.99)));
        rate = rate.with(
            name,
            half.tally.timeline.points(seconds, |second| Some(second.right() as f64).filter(|right| *right > 0.0)),
        );
    }
    latency.bands = bands.clone();
    rate.bands = bands;
    report.plots = vec![latency, rate];
    beside.tally.absorb(alone.tally);
    report.faults(&beside.tally);
    report.examples.extend(attacked.tally.examples.iter().map(|example| format!("attack {example}")));
    report.judge(&trial.require, &DEMANDS)
}
