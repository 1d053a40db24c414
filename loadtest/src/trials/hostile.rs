//! Honest work, a neighbour's function and idle sessions beside attacks: they must be none the worse for it.

use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use hyper::header::HeaderValue;

use super::{Arc, Scenario, Table, TrialArguments, TrialFigure, TrialReport, bearer, words};
use crate::attackers::{AttackTally, Attackers};
use crate::attacks::{self, Attack};
use crate::cases::{Grading, mix};
use crate::hostile_cases;
use crate::idle::IdleSessions;
use crate::load;
use crate::plot::Plot;
use crate::processes::{Sample, Watch, cpu_between, metric};
use crate::report::RuntimeOfService;
use crate::snippets::Snippet;
use crate::tally::{Tally, Window};
use crate::timeline::Second;

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 8] = [
    "wrong<=0",
    "errors<=0",
    "refused<=0",
    "hostile_wrong<=0",
    "sessions_lost<=0",
    "worker_restarts<=0",
    "p99_ratio<=2",
    "neighbour_p99<=50ms",
];
const HOSTILE: &str = "hostile.jsonl";
/// Not counted, at the beginning of each block.
const WARMUP: Duration = Duration::from_secs(1);

/// Honest work alone and beside attacks, in blocks, in turn
///
/// Honest clients and attackers each send their next request when the answer to the last one is there. Beside the honest
/// work a neighbour grades a function of 2 ms in a loop, and has sessions that nobody uses; in the end their variables
/// must be there.
///
/// Attacks are the programs of hostile.jsonl (hostile/…), graded as a request is that says nothing, and those of
/// src/attacks.rs: loops of host calls (host-calls/…), calls and commands of sessions (sessions/…), streams that nobody
/// reads (streams/…), large bodies (bodies/…), and what fills disk and memory (storage/…). Each must end in one of the
/// ways that it may: a result, or a refusal. They go on in each block where they were in the last.
///
/// Give the attackers a key of their own (PROOFBOX_HOSTILE_KEY): without one they are the honest clients' own, and what is
/// shared fairly among keys is not shared among them. Their checkpoints and jobs stay in the store.
#[derive(Args)]
pub(crate) struct HostileArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Connections with honest work
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1024))]
    honest: u16,
    /// Attackers, each with one attack after another
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=1024))]
    hostile: u16,
    /// Seconds of sending in all, half of them with attacks; what is under way at the end of a block with attacks is
    /// waited for, which takes up to a minute more each time
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = crate::seconds_up_to_an_hour)]
    duration: Duration,
    /// Blocks; those with an even number have attacks
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(2..=1000))]
    blocks: u32,
    /// Only the attacks whose name has this in it, such as host-calls/ or hostile/time; where there is none, all names
    /// are listed
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// The attackers' key, where it is another one
    #[arg(long, env = "PROOFBOX_HOSTILE_KEY", hide_env_values = true, value_name = "KEY", value_parser = bearer)]
    hostile_key: Option<HeaderValue>,
}

/// Blocks of one kind.
struct Half {
    honest: Tally,
    neighbour: Tally,
    seconds: f64,
    cpu_seconds: f64,
    /// Most memory of all processes of the service, in bytes.
    peak_memory: u64,
    /// Most memory of its front process.
    peak_front_memory: u64,
}

impl Half {
    fn new(begin: Instant) -> anyhow::Result<Self> {
        let tally = || Tally::new(Window { begin, end: begin });
        Ok(Self {
            honest: tally()?,
            neighbour: tally()?,
            seconds: 0.0,
            cpu_seconds: 0.0,
            peak_memory: 0,
            peak_front_memory: 0,
        })
    }

    /// Adds a block of so many seconds.
    fn absorb(&mut self, honest: Tally, neighbour: Tally, samples: &[Sample], begin: Instant, block: Duration) {
        self.honest.absorb(honest);
        self.neighbour.absorb(neighbour);
        self.seconds += block.as_secs_f64();
        self.cpu_seconds += cpu_between(samples, begin, begin + block).unwrap_or(0.0) * block.as_secs_f64();
        for sample in samples.iter().filter(|sample| begin <= sample.at) {
            self.peak_memory = self.peak_memory.max(sample.proportional);
            self.peak_front_memory = self.peak_front_memory.max(sample.front);
        }
    }
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &HostileArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let HostileArguments { trial, honest, hostile, duration, blocks, only, hostile_key } = arguments;
    let work = trial.work()?;
    let function = Arc::new(Scenario::of_snippet(Snippet::Function, Grading::Isolated)?);
    let attackers = Attackers {
        target: trial.url,
        count: (*hostile).into(),
        timeout: trial.timeout,
        key: hostile_key.clone().or(trial.key.clone()),
        attacks: chosen_attacks(trial, only)?,
        next: Cell::new(0),
    };
    let watch = Watch::start(trial.url)?;
    let restarts_before = worker_restarts(trial).await;
    let idle = IdleSessions::open(trial.connection()).await?;
    let block = *duration / *blocks;
    let honest_plan = trial.closed_loop((*honest).into(), WARMUP, block);
    let neighbour_plan = trial.closed_loop(1, WARMUP, block);

    let begin = Instant::now();
    let (mut alone, mut beside, mut attacked) = (Half::new(begin)?, Half::new(begin)?, AttackTally::new()?);
    let mut bands = Vec::new();
    for number in 0..*blocks {
        let has_attacks = number % 2 == 1;
        let with = if has_attacks { "with" } else { "without" };
        eprintln!("block {} of {blocks}, {with} attacks: {:.0} s", number + 1, block.as_secs_f64());
        let block_begin = Instant::now() + WARMUP;
        let clients = async {
            let honest = load::run(honest_plan.clone(), Arc::clone(&work));
            tokio::try_join!(honest, load::run(neighbour_plan.clone(), Arc::clone(&function)))
        };
        let (half, (honest, neighbour)) = if has_attacks {
            let (clients, attacks) = tokio::try_join!(clients, attackers.run(WARMUP + block))?;
            attacked.absorb(attacks);
            let since = (block_begin - begin).as_secs_f64();
            bands.push(since..since + block.as_secs_f64());
            (&mut beside, clients)
        } else {
            (&mut alone, clients.await?)
        };
        half.absorb(honest, neighbour, &watch.samples(), block_begin, block);
    }
    let seconds = begin.elapsed().as_secs();
    let lost = idle.lost().await;
    let restarts = worker_restarts(trial).await.zip(restarts_before).map(|(after, before)| after - before);

    let title = format!("Hostile mix: {honest} honest clients, {hostile} attackers, {} s", duration.as_secs_f64());
    let mut report = TrialReport::new(&title, trial.url, runtime);
    report.fact("blocks", format!("{blocks} of {:.0} s, without and with attacks in turn", block.as_secs_f64()));
    report.fact("honest work", format!("{} requests, graded in isolation, round and round", work.len()));
    report.fact("neighbour", "the small function with 10 asserts, graded in isolation, one at a time");
    report.fact("attacks", format!("{}, round and round", attackers.attacks.len()));
    report.fact("attacks that were never made", names_of_untried(&attackers.attacks, &attacked));
    report.fact("attackers' key", if hostile_key.is_some() { "their own" } else { "that of the honest clients" });
    for (name, half) in [("without attacks", &alone), ("with attacks", &beside)] {
        report.fact(&format!("CPU of the service {name}"), format!("{:.2} cores", half.cpu_seconds / half.seconds));
        let (all, front) = (half.peak_memory >> 20, half.peak_front_memory >> 20);
        report.fact(&format!("most memory {name}"), format!("{all} MiB, {front} MiB of it of the front process"));
    }
    let mut latencies = Table::of_latencies();
    let mut counts = Table::of_counts();
    for (name, tally, seconds) in [
        ("honest alone", &alone.honest, alone.seconds),
        ("honest beside attacks", &beside.honest, beside.seconds),
        ("neighbour alone", &alone.neighbour, alone.seconds),
        ("neighbour beside attacks", &beside.neighbour, beside.seconds),
    ] {
        latencies.latency(name, tally.latency.percentiles());
        counts.counts(name, tally, seconds);
    }
    latencies.latency("attacks", attacked.latency.percentiles());
    report.tables = vec![latencies, counts, table_of_attacks(&attacked)];

    let p99 = |tally: &Tally| tally.latency.percentiles().map(|all| all.p99);
    let ratio = p99(&alone.honest).zip(p99(&beside.honest)).map(|(alone, beside)| beside / alone);
    report.figure(TrialFigure::P99Ratio, ratio);
    report.figure(TrialFigure::NeighbourP99, p99(&beside.neighbour));
    report.figure(TrialFigure::HostileWrong, attacked.wrong() as f64);
    report.figure(TrialFigure::SessionsLost, lost.len() as f64);
    report.figure(TrialFigure::WorkerRestarts, restarts);
    report.figure(TrialFigure::FrontMemory, (beside.peak_front_memory >> 20) as f64);
    report.latency(beside.honest.latency.percentiles());
    report.plots = plots(&alone, &beside, seconds, &bands);
    for tally in [alone.honest, alone.neighbour, beside.neighbour] {
        beside.honest.absorb(tally);
    }
    report.faults(&beside.honest);
    report.examples.extend(lost);
    let attacks = attacked.examples.iter();
    report.examples.extend(attacks.map(|(name, why)| format!("attack {}: {why}", name.escape_debug())));
    report.judge(&trial.require, &DEMANDS)
}

/// The attacks whose name has `only` in it, in a fixed pseudo-random order.
fn chosen_attacks(trial: &TrialArguments, only: &str) -> anyhow::Result<Vec<Attack>> {
    let mut all = hostile_cases::read(&trial.cases.join(HOSTILE))?;
    all.extend(attacks::all());
    let names: Vec<String> = all.iter().map(|attack| attack.name.clone()).collect();
    all.retain(|attack| attack.name.contains(only));
    ensure!(!all.is_empty(), "no attack has {only:?} in its name; there are:\n{}", names.join("\n"));
    mix(&mut all);
    Ok(all)
}

/// Names of the attacks that did not come to an end, right or wrong: of them nothing is known.
fn names_of_untried(attacks: &[Attack], tally: &AttackTally) -> String {
    let names: Vec<&str> =
        attacks.iter().map(|attack| attack.name.as_str()).filter(|name| !tally.made.contains(*name)).collect();
    if names.is_empty() { "none".to_owned() } else { format!("{}: {}", names.len(), names.join(", ")) }
}

async fn worker_restarts(trial: &TrialArguments) -> Option<f64> {
    metric(&mut trial.connection(), "proofbox_worker_restarts_total").await
}

fn table_of_attacks(tally: &AttackTally) -> Table {
    let mut table = Table::new("Attacks", &["", "right", "wrong", "refused", "without an answer", "ends"]);
    for (kind, counts) in &tally.by_kind {
        let numbers = [counts.right, counts.wrong, counts.refused, counts.unanswered].map(|count| count.to_string());
        table.row([kind.as_str().to_owned()].into_iter().chain(numbers).chain([words(&counts.ends)]));
    }
    table
}

fn plots(alone: &Half, beside: &Half, seconds: u64, bands: &[Range<f64>]) -> Vec<Plot> {
    let mut latency = Plot::new("p99 of honest work; grey: with attacks", "ms");
    let mut neighbour = Plot::new("p99 of the neighbour's function; grey: with attacks", "ms");
    let mut rate = Plot::new("Right answers to honest work; grey: with attacks", "a second");
    for (name, half) in [("alone", alone), ("beside attacks", beside)] {
        let p99 = |tally: &Tally| tally.timeline.points(seconds, |second| second.quantile(0.99));
        let right = |second: &Second| Some(second.right() as f64).filter(|right| *right > 0.0);
        latency = latency.with(name, p99(&half.honest));
        neighbour = neighbour.with(name, p99(&half.neighbour));
        rate = rate.with(name, half.honest.timeline.points(seconds, right));
    }
    let mut plots = vec![latency, neighbour, rate];
    for plot in &mut plots {
        plot.bands = bands.to_vec();
    }
    plots
}
