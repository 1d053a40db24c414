//! Benchmarks of the runtime without HTTP: `cargo run --release -p loadtest --bin bench -- --help`.
//!
//! Everything is measured in this process with the engine that workers use; medians, and where there is a native
//! counterpart, interleaved with it.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand};
use proofbox::config::{Config, RuntimeSettings, SandboxSettings, ServerSettings};
use proofbox_runtime::InterpreterPool;
use proofbox_runtime::image::Image;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Outcome};
use proofbox_types::program::{Program, PythonTests};
use rustix::time::{ClockId, clock_gettime};

/// Benchmarks of the runtime without HTTP
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    runtime: RuntimeSettings,
    #[command(subcommand)]
    command: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// CPU time of a fresh run: print(1 + 1), and a function with ten asserts
    Run {
        #[arg(long, default_value_t = 500)]
        runs: usize,
        /// Only the programs whose name has this in it
        #[arg(long, default_value = "")]
        only: String,
    },
    /// CPU-bound programs of `loadtest/programs` against a native Python, interleaved
    Cpu {
        /// Native interpreter of the same version
        #[arg(long, default_value = "python3")]
        python: PathBuf,
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Directory with the programs
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/programs"))]
        programs: PathBuf,
    },
    /// Memory that an interpreter holds while it is alive and has run
    Memory {
        #[arg(long, default_value_t = 200)]
        interpreters: usize,
    },
    /// Time from nothing to a worker that can run: engine, image, pool
    Load {
        #[arg(long, default_value_t = 20)]
        rounds: usize,
    },
}

const SLOTS: u32 = 256;
const MEMORY: u64 = 1 << 30;

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // As a worker does.
    proofbox_runtime::map_small_pages_only();
    let config = Config::new(cli.runtime, SandboxSettings::default(), ServerSettings::default(), None)?;
    let image = Image::ready(&config.image)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let load = || {
        InterpreterPool::new(&[image.pool_files()], None, SLOTS, 0, MEMORY)
            .map_err(|error| anyhow::anyhow!("{error:#}"))
    };
    println!("image {}", image.image_hash);
    match cli.command {
        Bench::Run { runs, only } => runtime.block_on(async {
            let pool = load()?;
            // As a worker does.
            proofbox_runtime::open_all(&pool).await?;
            run(&pool, runs, &only).await
        }),
        Bench::Cpu { python, rounds, programs } => runtime.block_on(cpu(&load()?, &python, rounds, &programs)),
        Bench::Memory { interpreters } => runtime.block_on(memory(&load()?, interpreters)),
        Bench::Load { rounds } => {
            let mut times = Vec::new();
            for _ in 0..rounds {
                let began = Instant::now();
                drop(load()?);
                times.push(began.elapsed());
            }
            report("load", &mut times);
            Ok(())
        }
    }
}

fn limits() -> Limits {
    Limits {
        fuel: 1 << 50,
        wall: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_bytes: 1 << 20,
        files_bytes: 1 << 20,
        files_count: 64,
    }
}

fn print_program() -> Program {
    Program { code: "print(1+1)".to_owned(), ..Program::default() }
}

fn function_program() -> Program {
    let code = "def is_prime(n):\n    if n < 2:\n        return False\n    for i in range(2, int(n ** 0.5) + 1):\n        if n % i == 0:\n            return False\n    return True\n";
    let cases = [
        (1, false),
        (2, true),
        (3, true),
        (4, false),
        (17, true),
        (18, false),
        (97, true),
        (100, false),
        (7919, true),
        (7920, false),
    ];
    let asserts = cases
        .iter()
        .map(|(n, prime)| format!("assert is_prime({n}) == {}", if *prime { "True" } else { "False" }))
        .collect();
    Program {
        code: code.to_owned(),
        tests: Some(PythonTests::Asserts { setup: String::new(), asserts }),
        ..Program::default()
    }
}

/// Makes a test of so many calls of an empty function: two of these differ by the cost of the calls.
fn calls_program(calls: usize) -> Program {
    let source = format!("for i in range({calls}):\n    f(i)\n");
    Program {
        code: "def f(x):\n    return x\n".to_owned(),
        tests: Some(PythonTests::Script { source }),
        ..Program::default()
    }
}

async fn once(pool: &InterpreterPool, program: Program) -> anyhow::Result<Outcome> {
    let outcome = proofbox_runtime::run(pool, program, &limits()).await?;
    ensure!(outcome.end == End::Exited(0), "it ended with {:?}: {}", outcome.end, outcome.stderr.text());
    Ok(outcome)
}

async fn run(pool: &InterpreterPool, runs: usize, only: &str) -> anyhow::Result<()> {
    let isolated = |program| Program { isolated: true, ..program };
    let programs = [
        ("print(1+1)", print_program()),
        ("function + 10 asserts", function_program()),
        ("function + 10 asserts, isolated", isolated(function_program())),
        ("1000 calls over the bridge, isolated", isolated(calls_program(1000))),
        ("2000 calls over the bridge, isolated", isolated(calls_program(2000))),
    ];
    for (name, program) in programs.into_iter().filter(|(name, _)| name.contains(only)) {
        let (mut cpu, mut wall, mut fuel) = (Vec::new(), Vec::new(), 0);
        for round in 0..runs + 50 {
            let (began, cpu_began) = (Instant::now(), thread_cpu());
            let outcome = once(pool, program.clone()).await?;
            if round >= 50 {
                cpu.push(thread_cpu() - cpu_began);
                wall.push(began.elapsed());
            }
            fuel = outcome.usage.fuel;
        }
        report(&format!("{name}: CPU"), &mut cpu);
        report(&format!("{name}: wall"), &mut wall);
        println!("{name}: fuel {fuel}");
    }
    Ok(())
}

async fn cpu(pool: &InterpreterPool, python: &PathBuf, rounds: usize, programs: &PathBuf) -> anyhow::Result<()> {
    let mut files: Vec<_> = std::fs::read_dir(programs)
        .with_context(|| format!("reading {}", programs.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    ensure!(!files.is_empty(), "there are no programs in {}", programs.display());
    let mut logs = 0.0;
    for path in &files {
        let code = std::fs::read_to_string(path)?;
        let (mut ours, mut native) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let outcome = once(pool, Program { code: code.clone(), ..Program::default() }).await?;
            ours.push(seconds(&outcome.stdout.text())?);
            let output = Command::new(python)
                .args(["-I", "-c", &code])
                .output()
                .with_context(|| format!("starting {}", python.display()))?;
            native.push(seconds(&String::from_utf8_lossy(&output.stdout))?);
        }
        let (ours, native) = (median(&mut ours), median(&mut native));
        logs += (ours / native).ln();
        println!(
            "{:12} {:8.1} ms, native {:8.1} ms, ratio {:.2}",
            path.file_stem().unwrap_or_default().to_string_lossy(),
            ours * 1e3,
            native * 1e3,
            ours / native
        );
    }
    println!("geometric mean of the ratios: {:.2}", (logs / files.len() as f64).exp());
    Ok(())
}

/// Programs, each of which prints the seconds that its work took, as its last line.
fn seconds(output: &str) -> anyhow::Result<f64> {
    match output.trim().lines().last().and_then(|line| line.parse().ok()) {
        Some(seconds) => Ok(seconds),
        None => bail!("a program's last line must be the seconds it took, not {output:?}"),
    }
}

async fn memory(pool: &InterpreterPool, count: usize) -> anyhow::Result<()> {
    // The guests wait in a sleep, so that all are alive when memory is looked at.
    let program = |code: &str| Program { code: code.to_owned(), ..Program::default() };
    for (name, code) in [
        ("print(1+1)", "print(1+1)\nimport time\ntime.sleep(3)"),
        (
            "function",
            "def f(n):\n    return [i * i for i in range(n)]\nassert sum(f(1000)) == 332833500\nimport time\ntime.sleep(3)",
        ),
    ] {
        once(pool, program("pass")).await?;
        let before = anonymous_bytes()?;
        let mut running: Vec<_> = (0..count).map(|_| Box::pin(once(pool, program(code)))).collect();
        let all = futures_join(&mut running);
        let look = async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            ensure!(pool.live() == count, "{} of {count} are alive", pool.live());
            anonymous_bytes()
        };
        let (done, during) = tokio::join!(all, look);
        done?;
        println!("{name}: {:.0} KiB an interpreter", during?.saturating_sub(before) as f64 / count as f64 / 1024.0);
    }
    Ok(())
}

async fn futures_join<F: Future<Output = anyhow::Result<Outcome>> + Unpin>(running: &mut [F]) -> anyhow::Result<()> {
    let mut left: Vec<&mut F> = running.iter_mut().collect();
    std::future::poll_fn(|context| {
        let mut failed = None;
        left.retain_mut(|future| match std::pin::Pin::new(future).poll(context) {
            std::task::Poll::Pending => true,
            std::task::Poll::Ready(Ok(_)) => false,
            std::task::Poll::Ready(Err(error)) => {
                failed = Some(error);
                false
            }
        });
        match failed {
            Some(error) => std::task::Poll::Ready(Err(error)),
            None if left.is_empty() => std::task::Poll::Ready(Ok(())),
            None => std::task::Poll::Pending,
        }
    })
    .await
}

/// Memory of this process that is its own (not of the mapped image), in bytes.
fn anonymous_bytes() -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").context("reading /proc/self/smaps_rollup")?;
    let line = text.lines().find(|line| line.starts_with("Anonymous:")).context("there is no Anonymous line")?;
    let kib: u64 = line.split_whitespace().nth(1).context("it has no number")?.parse()?;
    Ok(kib * 1024)
}

fn thread_cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{name}: median {:.3} ms, p90 {:.3}, p99 {:.3} ({} runs)", at(0.5), at(0.9), at(0.99), times.len());
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
