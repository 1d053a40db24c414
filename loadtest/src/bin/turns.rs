//! How long guests keep a worker's thread: `cargo run --release -p loadtest --bin turns -- CASES.jsonl`.
//!
//! Guests give way by fuel, about once a millisecond, and by the clock in host calls; what no fuel is counted for (filling
//! and copying memory, page faults, making and clearing an interpreter) makes a turn longer, and all others in the worker
//! wait.
//! Each program runs alone, beside a task that does nothing but take its turn. CPU time of the thread is measured, so
//! that other work of the machine does not count.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use proofbox::config::{Config, RuntimeSettings, SandboxSettings, ServerSettings};
use proofbox_runtime::InterpreterPool;
use proofbox_runtime::image::Image;
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, PythonTests, TestFiles};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value as Json;

/// How long guests keep a worker's thread
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    runtime: RuntimeSettings,
    /// Files of cases, of kinds asserts and unittest
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// Only those whose name has this in it
    #[arg(long, default_value = "")]
    only: String,
    /// Runs of each
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Fuel of one run
    #[arg(long, default_value_t = 4_000_000_000)]
    fuel: u64,
    /// Exit with 1 when a turn was longer, in milliseconds
    #[arg(long)]
    longest: Option<f64>,
}

/// The turns of one run.
#[derive(Default)]
struct Turns {
    began: Duration,
    /// The longest, and when it began.
    longest: (Duration, Duration),
    /// In all turns longer than [`LONG`].
    long: Duration,
    ended: bool,
}

/// Twice what a turn should take.
const LONG: Duration = Duration::from_millis(3);
const SLOTS: u32 = 8;
const MEMORY: u64 = 1 << 30;

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let config = Config::new(cli.runtime, SandboxSettings::default(), ServerSettings::default(), None)?;
    let image = Image::ready(&config.image)?;
    // As a worker has it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().event_interval(1).build()?;
    let pool = InterpreterPool::new(&[image.pool_files()], None, SLOTS, 0, MEMORY)
        .map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let limits = Limits {
        fuel: cli.fuel,
        wall: Duration::from_secs(30),
        memory_bytes: 320 << 20,
        output_bytes: 1 << 20,
        files_bytes: 64 << 20,
        files_count: 4096,
    };
    println!("| program | ends | CPU ms | longest turn ms | it began at ms | in turns over 3 ms |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut longest = Duration::ZERO;
    for path in &cli.cases {
        let file = std::fs::File::open(path).with_context(|| format!("reading {}", path.display()))?;
        for line in BufReader::new(file).lines() {
            let case: Json = serde_json::from_str(&line?).context("a case")?;
            let Some((name, program)) = program_of(&case).filter(|(name, _)| name.contains(&cli.only)) else {
                continue;
            };
            // The worst of several: the first one fills caches.
            for run in 0..cli.runs {
                let (end, cpu, turns) = runtime.block_on(measured(&pool, program.clone(), &limits))?;
                if run + 1 < cli.runs {
                    continue;
                }
                let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
                println!(
                    "| {name} | {end} | {:.1} | {:.1} | {:.1} | {:.0} % |",
                    ms(cpu),
                    ms(turns.longest.0),
                    ms(turns.longest.1),
                    100.0 * turns.long.as_secs_f64() / cpu.as_secs_f64().max(1e-9)
                );
                longest = longest.max(turns.longest.0);
            }
        }
    }
    if let Some(most) = cli.longest {
        anyhow::ensure!(longest.as_secs_f64() * 1e3 <= most, "the longest turn took {longest:?}");
    }
    Ok(())
}

/// `None` for a kind that is not run here.
fn program_of(case: &Json) -> Option<(String, Program)> {
    let text = |field: &str| case[field].as_str().map(str::to_owned);
    let tests = match case["kind"].as_str()? {
        "asserts" => PythonTests::Asserts {
            setup: text("setup").unwrap_or_default(),
            asserts: case["tests"].as_array()?.iter().filter_map(|test| Some(test.as_str()?.to_owned())).collect(),
        },
        "unittest" => PythonTests::Unittest(TestFiles {
            source: text("tests"),
            test_module: None,
            fresh_per_case: false,
            shuffle: None,
        }),
        _ => return None,
    };
    let module = matches!(tests, PythonTests::Unittest(_)).then(|| "solution".to_owned());
    let program = Program { code: text("code")?, tests: Some(tests), isolated: true, module, ..Program::default() };
    Some((text("id")?, program))
}

async fn measured(
    pool: &InterpreterPool,
    program: Program,
    limits: &Limits,
) -> anyhow::Result<(String, Duration, Turns)> {
    let turns = Rc::new(RefCell::new(Turns { began: thread_cpu(), ..Turns::default() }));
    let others = async {
        let mut before = turns.borrow().began;
        loop {
            let now = thread_cpu();
            let turn = now - before;
            {
                let mut turns = turns.borrow_mut();
                if turn > turns.longest.0 {
                    turns.longest = (turn, before - turns.began);
                }
                if turn > LONG {
                    turns.long += turn;
                }
                if turns.ended {
                    return;
                }
            }
            before = now;
            tokio::task::yield_now().await;
        }
    };
    let run = async {
        let outcome = proofbox_runtime::run(pool, program, limits).await;
        turns.borrow_mut().ended = true;
        outcome
    };
    let (outcome, ()) = tokio::join!(run, others);
    let cpu = thread_cpu() - turns.borrow().began;
    let turns = std::mem::take(&mut *turns.borrow_mut());
    Ok((format!("{:?}", outcome?.end).chars().take(50).collect(), cpu, turns))
}

fn thread_cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
