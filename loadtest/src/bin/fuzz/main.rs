//! The parsers of hostile bytes, tried with what mutation makes of honest ones:
//! `cargo run --release -p loadtest --bin fuzz -- --help`.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

#[cfg(feature = "guided")]
mod guided;
mod mutation;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use clap::builder::PossibleValuesParser;

use mutation::Mutator;
use targets::{TARGETS, Target};

/// Tries parsers of hostile bytes with nonsense; ends at the first input that makes one panic, or take too long or too
/// much memory, and keeps that input
#[derive(Parser)]
struct Cli {
    /// One of the targets, or all
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    target: String,
    /// For each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where to begin; the same seed makes the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Guided by coverage (libFuzzer); the inputs that it has found are kept, and taken up again
    #[cfg(feature = "guided")]
    #[arg(long, conflicts_with = "input")]
    guided: bool,
    /// Tries this input only: one that was kept
    #[arg(long)]
    input: Option<PathBuf>,
    /// Inputs are kept here; the one that is being tried, too, for the case that the process dies of it
    #[arg(long, default_value = "fuzz-inputs")]
    keep: PathBuf,
}

fn names() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).chain(["all"]).collect()
}

/// No input may take longer: they are short. Other work on the machine is allowed for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nor make the process grow by more, all inputs together.
const MEMORY: u64 = 2 << 30;

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // What is caught is told with its input.
    std::fs::create_dir_all(&cli.keep).with_context(|| format!("making {}", cli.keep.display()))?;
    let chosen = TARGETS.iter().filter(|target| cli.target == "all" || cli.target == target.name);
    for target in chosen {
        // The stack of a thread of tokio's, as parsers have it in the service.
        let work = std::thread::Builder::new().stack_size(2 << 20);
        let (cli_seconds, seed, keep, input) = (cli.seconds, cli.seed, cli.keep.clone(), cli.input.clone());
        let work = work.spawn(move || match input {
            Some(path) => once(target, &path),
            #[cfg(feature = "guided")]
            None if cli.guided => guided::fuzz(target, Duration::from_secs(cli_seconds), seed, &keep),
            None => fuzz(target, Duration::from_secs(cli_seconds), seed, &keep),
        })?;
        work.join().unwrap_or_else(|_| bail!("{}: the target can't be set up", target.name))?;
    }
    Ok(())
}

fn once(target: &Target, path: &Path) -> anyhow::Result<()> {
    let mut attempt = (target.set_up)()?.attempt;
    let input = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let begun = Instant::now();
    println!("{}: accepted: {}, {:?}", target.name, attempt(&input), begun.elapsed());
    Ok(())
}

fn fuzz(target: &Target, time: Duration, seed: u64, keep: &Path) -> anyhow::Result<()> {
    let targets::Set { seeds, words, mut attempt } = (target.set_up)()?;
    ensure!(!seeds.is_empty(), "{}: there is nothing to begin with", target.name);
    for seed in &seeds {
        ensure!(attempt(seed), "{}: an honest input is refused: {:?}", target.name, String::from_utf8_lossy(seed));
    }
    let mut mutator = Mutator::new(seed, seeds, words);
    let last = keep.join(format!("{}-last", target.name));
    let at_first = resident();
    let (begun, mut tried, mut accepted, mut slowest) = (Instant::now(), 0_u64, 0_u64, Duration::ZERO);
    while begun.elapsed() < time {
        let input = mutator.next();
        std::fs::write(&last, &input)?;
        let started = Instant::now();
        let taken = catch_unwind(AssertUnwindSafe(|| attempt(&input)));
        let took = started.elapsed();
        slowest = slowest.max(took);
        let fault = match &taken {
            Err(_) => Some("it panicked".to_owned()),
            Ok(_) if took > PATIENCE => Some(format!("it took {took:?}")),
            Ok(_) if tried.is_multiple_of(256) && resident() > at_first + MEMORY => {
                Some("it took too much memory".to_owned())
            }
            Ok(_) => None,
        };
        if let Some(fault) = fault {
            let kept = keep.join(format!("{}-{seed}-{tried}", target.name));
            std::fs::rename(&last, &kept)?;
            bail!("{}: {fault}; the input stands in {}", target.name, kept.display());
        }
        tried += 1;
        if taken.is_ok_and(|accepted| accepted) {
            accepted += 1;
            mutator.learn(input);
        }
    }
    std::fs::remove_file(&last)?;
    println!(
        "{}: {tried} inputs in {} s, {accepted} accepted, seed {seed}: no panic; the slowest took {:.1} ms",
        target.name,
        begun.elapsed().as_secs(),
        slowest.as_secs_f64() * 1e3
    );
    Ok(())
}

/// Memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}
