//! One guest: an interpreter with its request, from its start to its end.

mod files;
mod request;
mod role;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

use super::clock::Clock;
use super::denials;
use super::entropy::Entropy;
use super::error::RunError;
use super::fuel;
use super::fuel_meter::FuelMeter;
use super::fuel_spent::{FuelSpent, FuelledStore};
use super::grading::channel::{Dismissed, Endpoint, Side, Spent};
use super::host_work::HostWork;
use super::idle::RunKind;
use super::limiter::MemoryLimiter;
use super::pagemap;
use super::pool::{InterpreterPool, LoadedImage};
use super::report::Reporter;
use super::run::run;
use super::scheduler::{Stopwatch, Times, run_metered};
use super::shell::Shell;
use super::state::{HostState, OutputFlood, Streams, wasi};
use super::trusted::trusted_limits;
use super::usage_events::UsageEvents;
pub use files::check_files;
pub(super) use files::{SNIPPET_NAME, brings_snippet_file, quota, tree};
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Limit, LimitHit, Outcome, Usage};
use proofbox_types::program::{Program, PythonTests};
use proofbox_vfs::{Attempts, Credentials, Descriptors, Output, Refusals, SharedTree, Stdio, User, View, lock};
use request::request_of;
pub(super) use role::Role;

/// Code that the guest's runner returns when the runner itself failed.
pub(super) const RUNNER_FAILED: i32 = -1;

/// Does what needs files, so that nothing will need them later: a worker gives them up.
///
/// # Errors
/// Returns an error when the image can't be started from.
pub async fn open_all(pool: &InterpreterPool) -> Result<(), RunError> {
    let image = pool.image(None)?;
    learn_pages(pool, image, None).await?;
    // Without /proc there are no checkpoints; runs need none.
    let _ = pagemap::pagemap();
    // Nor is a worker told later whether faults are counted.
    let _ = pagemap::faults();
    Ok(())
}

/// Learns which pages every run in an image writes to, where nobody has yet. Where the kernel does not tell, no
/// interpreter is kept.
///
/// # Errors
/// Returns an error when there is no interpreter to be had.
async fn learn_pages(pool: &InterpreterPool, image: &LoadedImage, hash: Option<&str>) -> Result<(), RunError> {
    // The first programs are runs themselves, and find that the lesson has begun.
    let Some(lesson) = image.module.begin_lesson() else { return Ok(()) };
    let limits = trusted_limits();
    let program = |tests, isolated| {
        let code = "def add(a, b):\n    return a + b\nprint(add(1, 1))\n".to_owned();
        Program { code, tests, isolated, image: hash.map(str::to_owned), ..Program::default() }
    };
    let asserts = || {
        let asserts = (0..4).map(|number| format!("assert add({number}, {number}) == {}", 2 * number)).collect();
        Some(PythonTests::Asserts { setup: String::new(), asserts })
    };
    let observe = |tests, isolated| lesson.observe(Box::pin(run(pool, program(tests, isolated), &limits)));
    pool.pristine(image).await?;
    observe(None, false).await?;
    observe(asserts(), false).await?;
    observe(asserts(), true).await?;
    lesson.end();
    Ok(())
}

/// Runs an interpreter in its role, from its start to its end.
pub(super) async fn run_guest(
    pool: &InterpreterPool,
    program: &Program,
    limits: &Limits,
    spent: &FuelSpent,
    tree: &SharedTree,
    role: Role,
) -> Result<Outcome, RunError> {
    let image = pool.image(program.image.as_deref())?;
    // The first run in an image that is not the default one finds out.
    learn_pages(pool, image, program.image.as_deref()).await?;
    let began = Instant::now();
    let live = pool.count_live();
    let request = encoded_request(program, &role);
    // What it reports are the candidate's failures, too: they are judged when its attempts are known (`graded`).
    let grades = matches!(role, Role::Grader(..));
    let kind = match role {
        Role::Candidate(..) => RunKind::Candidate,
        Role::Grader(..) => RunKind::Grader,
        Role::Alone(..) if program.tests.is_some() => RunKind::InProcess,
        Role::Alone(..) => RunKind::Plain,
    };
    let state = state(program, limits, tree, role);
    let stopwatch = Arc::clone(&state.stopwatch);
    let (store, instance) = pool.interpreter(&image.module, kind, state, limits.fuel).await?;
    let mut fuelled = FuelledStore::new(store, limits.fuel, [&spent.guests]);
    let start = began.elapsed();

    let (returned, times) =
        run_metered(call(fuelled.store(), instance, &request), stopwatch, limits.wall, pool.core()).await;

    let fuel = fuelled.count();
    if !matches!(returned, Some(Ok(_))) {
        take_pending_output(fuelled.store(), instance).await;
    }
    let state = pool.end_run(&image.module, kind, (fuelled.into_store(), instance), returned.as_ref());
    // Background jobs have used some since the last command.
    let by_commands = state.shell.as_ref().map_or(0, Shell::take_fuel);
    spent.guests.fetch_add(by_commands, Ordering::Relaxed);
    let fuel = fuel.saturating_add(by_commands).min(limits.fuel);
    drop(live);
    let end = end(returned, &state, limits);
    let mut outcome = outcome(end, state, times, fuel, start);
    if !grades {
        let tree = lock(tree);
        let refusals = Refusals::new(&tree, &outcome.attempts, outcome.attempts_dropped);
        denials::classify_denied(&mut outcome.report, &refusals);
    }
    Ok(outcome)
}

/// The request of a guest in its role, as it is written into its memory.
pub(super) fn encoded_request(program: &Program, role: &Role) -> Vec<u8> {
    let mut request = Vec::new();
    request_of(program, role).encode(&mut request);
    request
}

/// Writes the request into the guest and lets it run; the exit code.
pub(super) async fn call(
    store: &mut Store<HostState>,
    instance: wasmtime::Instance,
    request: &[u8],
) -> wasmtime::Result<i32> {
    let memory =
        instance.get_memory(&mut *store, "memory").ok_or_else(|| wasmtime::Error::msg("the image has no memory"))?;
    store.data_mut().memory = Some(memory);
    let size = memory.data_size(&*store);
    store.data_mut().limiter.started_with(size);
    let buffer = instance.get_typed_func::<u32, u32>(&mut *store, "proofbox_buffer")?;
    let run = instance.get_typed_func::<u32, i32>(&mut *store, "proofbox_run")?;
    let length = u32::try_from(request.len())?;
    let address = buffer.call_async(&mut *store, length).await?;
    if address == 0 {
        return Ok(RUNNER_FAILED);
    }
    memory.write(&mut *store, address as usize, request)?;
    run.call_async(&mut *store, length).await
}

/// Takes what Python had buffered when the guest was stopped (`pending.c`). A guest in such a state that it can't tell
/// keeps its buffers: nothing depends on them.
pub(super) async fn take_pending_output(store: &mut Store<HostState>, instance: wasmtime::Instance) {
    const FUEL: u64 = 10_000;
    // CPython's buffers have 8 KiB; a guest may have others, or lie.
    const MAX_LENGTH: usize = 64 << 10;
    let (Ok(pending), Some(memory)) =
        (instance.get_typed_func::<u32, u64>(&mut *store, "proofbox_pending"), store.data().memory)
    else {
        return;
    };
    for (index, output) in [(0, Output::Stdout), (1, Output::Stderr)] {
        if fuel::grant(&mut *store, FUEL).is_err() {
            return;
        }
        let Ok(place) = pending.call_async(&mut *store, index).await else { return };
        let (start, length) = ((place >> 32) as usize, (place & 0xFFFF_FFFF) as usize);
        let (memory, state) = memory.data_and_store_mut(&mut *store);
        let Some(bytes) = memory.get(start..start.saturating_add(length.min(MAX_LENGTH))) else { return };
        // Capturing never fails: what is beyond its bounds is only counted.
        let _ = state.streams.write(output, bytes);
    }
}

pub(super) fn end(returned: Option<wasmtime::Result<i32>>, state: &HostState, limits: &Limits) -> End {
    let limited = |limit, allowed| End::Limited(LimitHit { limit, allowed });
    let out_of_memory = || limited(Limit::Memory, limits.memory_bytes);
    let error = match returned {
        None => return limited(Limit::Wall, u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX)),
        Some(Ok(RUNNER_FAILED)) if state.limiter.refused() => return out_of_memory(),
        Some(Ok(RUNNER_FAILED)) => return End::Trapped("the guest's runner failed".to_owned()),
        Some(Ok(code)) => return End::Exited(code & 0xFF),
        Some(Err(error)) => error,
    };
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return End::Exited(code & 0xFF);
    }
    if error.downcast_ref::<Dismissed>().is_some() {
        return End::Exited(0);
    }
    if let Some(OutputFlood(allowed)) = error.downcast_ref::<OutputFlood>() {
        return limited(Limit::Output, *allowed);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => limited(Limit::Fuel, limits.fuel),
        Some(Trap::StackOverflow) => limited(Limit::Stack, 0),
        // C code that can't go on without memory ends in a trap.
        _ if state.limiter.refused() => out_of_memory(),
        Some(trap) => End::Trapped(trap.to_string()),
        None => End::Trapped(error.root_cause().to_string()),
    }
}

fn outcome(end: End, state: HostState, times: Times, fuel: u64, start: Duration) -> Outcome {
    let usage = Usage {
        fuel,
        cpu: times.cpu,
        execution: times.execution(),
        waiting: times.waiting,
        start,
        peak_memory_bytes: state.limiter.peak() as u64,
        memory_refused: state.limiter.refused(),
    };
    let spent = match &state.endpoint {
        Some(endpoint) if endpoint.side() == Side::Grader => endpoint.spent(),
        _ => Spent { fuel, execution: usage.execution, peak_memory_bytes: usage.peak_memory_bytes },
    };
    let printed = || state.endpoint.as_ref().map(Endpoint::case_output).unwrap_or_default();
    Outcome {
        end,
        report: state.reporter.finish(spent, printed),
        stdout: state.streams.stdout.finish(),
        stderr: state.streams.stderr.finish(),
        usage,
        attempts: state.attempts.list().iter().cloned().chain(state.usage_events.attempts()).collect(),
        attempts_dropped: state.attempts.dropped_count(),
        grader: None,
        files: Vec::new(),
        files_error: None,
    }
}

pub(super) fn state(program: &Program, limits: &Limits, tree: &SharedTree, role: Role) -> HostState {
    let deterministic = program.deterministic;
    // The tests see all files; to the candidate theirs do not exist. Input is for the candidate.
    let (view, stdin, endpoint, shell) = match role {
        Role::Candidate(endpoint, shell) => (View::WithoutTests, program.stdin.clone(), Some(endpoint), shell),
        Role::Alone(shell) => (View::Whole, program.stdin.clone(), None, shell),
        Role::Grader(endpoint, shell) => (View::Whole, Vec::new(), Some(endpoint), shell),
    };
    let mut streams = Streams::new(stdin, limits.output_bytes);
    streams.endpoint = endpoint.clone().filter(|endpoint| endpoint.side() == Side::Candidate);
    let clock = match deterministic {
        None => Clock::real(),
        Some(wanted) => Clock::Virtual { start_time: wanted.start_time_nanoseconds, slept: Duration::ZERO },
    };
    HostState {
        wasi: wasi(),
        memory: None,
        release_stack: None,
        kept_pages: None,
        limiter: MemoryLimiter::new(limits.memory_bytes),
        clock,
        stopwatch: Arc::new(Stopwatch::default()),
        fuel: FuelMeter::new(limits.fuel),
        streams,
        descriptors: Descriptors::new(&tree.with_view(view), Credentials::of(User::User)),
        attempts: Attempts::default(),
        reporter: Reporter::default(),
        usage_events: UsageEvents::new(program.report_use),
        host_work: HostWork::default(),
        entropy: Entropy::new(deterministic.map(|wanted| wanted.seed)),
        endpoint,
        call: None,
        shell,
        command_reply: None,
    }
}
