//! Benchmarks of sessions without HTTP: `cargo run --release -p loadtest --bin sessions`.
//!
//! Everything is done in this process as a worker does it: opening, calls, forks, checkpoints; medians.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Parser;
use proofbox::config::{Config, RuntimeSettings, SandboxSettings, ServerSettings};
use proofbox_runtime::InterpreterPool;
use proofbox_runtime::image::Image;
use proofbox_runtime::session::{CommandRunner, NoCommands, Session};
use proofbox_types::grant::Limits;
use proofbox_types::program::ResultWanted;
use proofbox_types::session::{Cell, CellLimits, DEFAULT_CONTEXT, Opening};
use tokio_util::sync::CancellationToken;

/// Benchmarks of sessions without HTTP
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    runtime: RuntimeSettings,
    /// How often each is done
    #[arg(long, default_value_t = 200)]
    rounds: usize,
}

/// Interpreters of sessions that live at once.
const SLOTS: u32 = 128;

/// Code that a small session has run.
const SMALL: &str = "import json\nx = {'a': [1, 2, 3]}\ndef f(n):\n    return n + 1\nf(2), json.dumps(x)";

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // As a worker does.
    proofbox_runtime::map_small_pages_only();
    let config = Config::new(cli.runtime, SandboxSettings::default(), ServerSettings::default(), None)?;
    let image = Image::ready(&config.image)?;
    println!("image {}", image.image_hash);
    let pool = InterpreterPool::new(&[image.pool_files()], None, 64, SLOTS, 1 << 30)
        .map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        proofbox_runtime::open_all(&pool).await?;
        measured(&Arc::new(pool), cli.rounds).await
    })
}

fn limits() -> Limits {
    Limits {
        fuel: 1 << 40,
        wall: Duration::from_secs(60),
        memory_bytes: 320 << 20,
        output_bytes: 1 << 20,
        files_bytes: 1 << 20,
        files_count: 64,
    }
}

async fn call(session: &Session, source: &str) -> anyhow::Result<()> {
    let cell = Cell { source: source.to_owned(), value: Some(ResultWanted::LastExpression), ..Cell::default() };
    let gone = CancellationToken::new();
    let called = session.call(DEFAULT_CONTEXT, &cell, &CellLimits::from(&limits()), None, &gone).await?;
    ensure!(called.raised.is_none() && !called.lost, "{source}: {:?}", called.raised);
    Ok(())
}

/// Times forks, none of which finds an interpreter that another session has left: all of them stay. They are as many as there is
/// room for, and `rounds` at most.
async fn forks_that_stay(
    pool: &Arc<InterpreterPool>,
    command_runner: &Arc<dyn CommandRunner>,
    rounds: usize,
) -> anyhow::Result<Vec<Duration>> {
    let opening = Opening { limits: limits(), env: Vec::new(), files: Vec::new(), image: None };
    let session = Session::open(Arc::clone(pool), Arc::clone(command_runner), opening)?;
    call(&session, SMALL).await?;
    // Those that wait are taken first.
    let (waiting, room) = (pool.altered_bytes_of_idle().1, SLOTS as usize - 1);
    let (mut forks, mut times) = (Vec::new(), Vec::new());
    while forks.len() < room.min(waiting + rounds) {
        let began = Instant::now();
        forks.push(session.fork(Arc::clone(command_runner)).await?);
        times.push(began.elapsed());
    }
    Ok(times.split_off(waiting))
}

async fn measured(pool: &Arc<InterpreterPool>, rounds: usize) -> anyhow::Result<()> {
    let command_runner: Arc<dyn CommandRunner> = Arc::new(NoCommands);
    let mut times: Vec<(&str, Vec<Duration>)> =
        ["open and first call", "next call", "fork", "call in a fork", "checkpoint", "restore", "call after restore"]
            .map(|what| (what, Vec::new()))
            .into();
    let mut bytes = 0;
    let mut own = 0;
    for _ in 0..rounds {
        // As a worker does when it has answered.
        while pool.reset_used() {}
        let mut step = times.iter_mut().map(|(_, times)| times);
        let mut noted = |began: Instant| step.next().expect("one for each step").push(began.elapsed());
        let began = Instant::now();
        let opening = Opening { limits: limits(), env: Vec::new(), files: Vec::new(), image: None };
        let session = Session::open(Arc::clone(pool), Arc::clone(&command_runner), opening)?;
        call(&session, SMALL).await?;
        noted(began);
        let began = Instant::now();
        call(&session, "f(3)").await?;
        noted(began);
        let began = Instant::now();
        let fork = session.fork(Arc::clone(&command_runner)).await?;
        noted(began);
        let began = Instant::now();
        call(&fork, "f(3)").await?;
        noted(began);
        let began = Instant::now();
        let saved = session.save().await?;
        noted(began);
        bytes = saved.len();
        own = session.footprint().memory_bytes;
        let began = Instant::now();
        let restored =
            Session::load(Arc::clone(pool), Arc::clone(&command_runner), saved, None, limits(), Vec::new()).await?;
        noted(began);
        let began = Instant::now();
        call(&restored, "f(3), x['a']").await?;
        noted(began);
    }
    times.push(("fork, where none ended", forks_that_stay(pool, &command_runner, rounds).await?));
    for (what, mut times) in times {
        times.sort_unstable();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        println!("{what:<22} p50 {:.3} ms   p90 {:.3} ms", at(0.5), at(0.9));
    }
    println!("checkpoint of a small session: {bytes} bytes; it has {own} bytes for itself");
    Ok(())
}
