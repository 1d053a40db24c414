//! Runs of one program in one fresh interpreter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use wasmtime::{Engine, InstancePre, Linker, Module, Store, Trap};
use wasmtime_wasi::I32Exit;

use super::bridge::{Dismissed, Seat, Side, Spent};
use super::clock::{Clock, REALTIME};
use super::engine::{self, PoolSize};
use super::entropy::Entropy;
use super::host_work::HostWork;
use super::image::Image;
use super::limiter::MemoryLimiter;
use super::metered::{Core, Stopwatch, Times, metered};
use super::packages;
use super::page_reset::Resident;
use super::preview1;
use super::refusals;
use super::report::Reporter;
use super::session::{Pristine, pagemap};
use super::state::{OutputFlood, State, Streams, wasi};
use super::uses::Uses;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Limit, LimitHit, Outcome, Usage};
use proofbox_types::program::{
    Call, Deterministic, File, Program, PythonTests, ResultWanted, TESTS_DIRECTORY, TestFiles,
};
use proofbox_types::value::Value;
use proofbox_vfs::{
    Attempts, Base, Descriptors, FilesError, FilesQuota, Output, Refusals, SharedTree, Stdio, View, lock,
};

/// Fuel between two looks at the clock and at other guests: about a millisecond.
pub(super) const YIELD_INTERVAL: u64 = 10_000_000;

/// The snippet's file in the working directory.
const SNIPPET_NAME: &str = "solution.py";

/// Interpreters that the commands of all sessions of a worker have at once, beside those of runs and of the sessions
/// themselves, which never find their places taken.
pub const COMMAND_SLOTS: u32 = 16;

/// Code that the guest's runner returns when the runner itself failed.
pub(super) const RUNNER_FAILED: i32 = -1;

/// Failure of proofbox itself, not of the program.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file of the request can't be put into the sandbox.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The program names an image that this process does not have.
    #[error("there is no image {hash}")]
    NoImage {
        /// Hash of the image.
        hash: String,
    },
    /// Failure reported by wasmtime.
    #[error("{what}: {reason}")]
    Engine {
        /// Operation that was attempted.
        what: &'static str,
        /// Error message of wasmtime.
        reason: String,
    },
}

pub(super) fn by_engine(what: &'static str) -> impl FnOnce(wasmtime::Error) -> RunError {
    move |error| RunError::Engine { what, reason: format!("{error:#}") }
}

/// Makes interpreters from an image.
pub struct Interpreters {
    engine: Engine,
    pre: InstancePre<State>,
    initial_memory_bytes: u64,
    /// Files that guests start from: the default image's packages.
    base: Base,
    /// Files that guests start from in the other images, by image hash.
    other_bases: HashMap<String, Base>,
    live: Arc<AtomicUsize>,
    /// Permits for persistent interpreters: all other slots are for runs, which must never find them taken.
    kept: Arc<Semaphore>,
    /// Scheduler of this process's core.
    pub(super) core: Core,
    /// Memory that checkpoints are compared with; made for the first checkpoint.
    pub(super) pristine: OnceCell<Pristine>,
    /// Pages that stay in memory between runs.
    resident: OnceCell<Resident>,
    /// Small runs since pages were last given back.
    small_runs: AtomicUsize,
}

/// Counts an interpreter as live until dropped.
pub(super) struct LiveCount(Arc<AtomicUsize>);

impl Drop for LiveCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Interpreters {
    /// Makes the pool of a worker: up to `slots` runs and `session_slots` interpreters of sessions at once, none larger
    /// than `memory_bytes`. The default image comes first; all have its interpreter.
    ///
    /// # Errors
    /// Returns an error when the compiled image can't be loaded, or the pool can't be had.
    pub fn pooled(images: &[Image], slots: u32, session_slots: u32, memory_bytes: u64) -> wasmtime::Result<Self> {
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        // One more is the pristine one.
        let slots = slots + session_slots + COMMAND_SLOTS + 1;
        let engine = engine::pooled(PoolSize { slots, memory_bytes })?;
        let (default, others) = images.split_first().ok_or_else(|| wasmtime::Error::msg("there is no image"))?;
        let mut interpreters = Self::load(engine, default, Arc::new(Semaphore::new(session_slots as usize)))?;
        for image in others {
            let base = packages::base(image.packages_file.as_deref())?;
            interpreters.other_bases.insert(image.image_hash.clone(), base);
        }
        Ok(interpreters)
    }

    /// Makes interpreters for trying an image that was just made.
    pub(super) fn for_building(image: &Image) -> wasmtime::Result<Self> {
        Self::load(engine::for_building()?, image, Arc::new(Semaphore::new(0)))
    }

    fn load(engine: Engine, image: &Image, kept: Arc<Semaphore>) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by `Image::build` in the user's own cache directory, and its hash was compared
        // with the one in the manifest when `image` was made (`an_altered_image_is_not_loaded` in tests/it/image.rs), and
        // again by the worker that loads it (`an_image_that_is_damaged_meanwhile` in tests/it/faults.rs).
        let module = unsafe { Module::deserialize_file(&engine, &image.compiled) }?;
        let pre = linker(&engine)?.instantiate_pre(&module)?;
        let memory = module.get_export("memory").and_then(|export| export.memory().map(wasmtime::MemoryType::minimum));
        let initial_memory_bytes = memory.unwrap_or(0) * 65_536;
        let base = packages::base(image.packages_file.as_deref())?;
        Ok(Self {
            engine,
            pre,
            initial_memory_bytes,
            base,
            other_bases: HashMap::new(),
            live: Arc::default(),
            kept,
            core: Core::default(),
            pristine: OnceCell::new(),
            resident: OnceCell::new(),
            small_runs: AtomicUsize::new(0),
        })
    }

    /// Returns the files that guests start from in an image, by its hash; in the default one, where none is given.
    ///
    /// # Errors
    /// Returns an error when there is no such image here.
    pub(super) fn base(&self, image: Option<&str>) -> Result<&Base, RunError> {
        let Some(hash) = image else { return Ok(&self.base) };
        self.other_bases.get(hash).ok_or_else(|| RunError::NoImage { hash: hash.to_owned() })
    }

    /// Size of the linear memory that every interpreter starts with.
    pub fn initial_memory_bytes(&self) -> u64 {
        self.initial_memory_bytes
    }

    /// Returns the number of interpreters alive now.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Counts one more live interpreter, until the result is dropped.
    pub(super) fn count_live(&self) -> LiveCount {
        self.live.fetch_add(1, Ordering::Relaxed);
        LiveCount(Arc::clone(&self.live))
    }

    /// Returns the permit for a persistent interpreter.
    ///
    /// # Errors
    /// Returns an error when there is none.
    pub(super) fn place_for_kept(&self) -> Result<OwnedSemaphorePermit, RunError> {
        let none = |_| RunError::Engine { what: "keeping an interpreter", reason: "all places are taken".to_owned() };
        Arc::clone(&self.kept).try_acquire_owned().map_err(none)
    }

    /// A fresh interpreter with the host's side of it, and fuel to start with.
    pub(super) async fn instantiate(
        &self,
        state: State,
        fuel: u64,
    ) -> Result<(Store<State>, wasmtime::Instance), RunError> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(fuel).map_err(by_engine("giving fuel"))?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL)).map_err(by_engine("setting the yield interval"))?;
        let instance = self.pre.instantiate_async(&mut store).await.map_err(by_engine("making an interpreter"))?;
        Ok((store, instance))
    }

    /// Learns which pages every run writes to. Where the kernel does not tell, nothing is filled.
    ///
    /// # Errors
    /// Returns an error when there is no interpreter to be had.
    pub(super) async fn learn_pages(&self) -> Result<(), RunError> {
        let learn = async || {
            let program = Program { code: "print(1 + 1)".to_owned(), ..Program::default() };
            let limits = generous();
            let tree = tree(self.base(None)?, &program, &limits)?;
            let mut request = Vec::new();
            request_of(&program, &Role::Alone).encode(&mut request);
            let state = state(&program, &limits, &tree, Role::Alone);
            let (mut store, instance) = self.instantiate(state, limits.fuel).await?;
            call(&mut store, instance, &request).await.map_err(by_engine("running a first program"))?;
            let Some(memory) = store.data().memory else { return Ok(Resident::default()) };
            let mapped = pagemap::mapped_pages(memory.data_ptr(&store), memory.data_size(&store));
            Ok::<_, RunError>(mapped.map(|mapped| Resident::of(&mapped)).unwrap_or_default())
        };
        self.resident.get_or_try_init(learn).await.map(drop)
    }

    /// Writes what is there to the pages that are to stay.
    fn pre_dirty(&self, store: &mut Store<State>, instance: wasmtime::Instance) {
        let (Some(resident), Some(memory)) = (self.resident.get(), instance.get_memory(&mut *store, "memory")) else {
            return;
        };
        let memory = memory.data_mut(store);
        for page in &resident.predirtied_pages {
            if let Some(byte) = memory.get_mut(page * pagemap::PAGE) {
                *byte = std::hint::black_box(*byte);
            }
        }
    }

    /// Gives back what this guest has written to and others do not, for it has ended. Small runs write to next to
    /// nothing else: only some of them are looked at.
    pub(super) fn give_back(&self, store: &mut Store<State>, fuel: u64) {
        const SMALL: u64 = 2_000_000;
        const SMALL_RUNS: usize = 32;
        let (Some(resident), Some(memory)) = (self.resident.get(), store.data().memory) else { return };
        if fuel > SMALL || self.small_runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(SMALL_RUNS) {
            resident.give_back(memory.data_mut(store));
        }
    }

    /// Runs a program to its end or to a limit. Dropping the future stops the guest.
    ///
    /// # Errors
    /// Returns an error when there is no interpreter to be had, or a file of the program does not fit the sandbox.
    pub async fn run(&self, program: Program, limits: &Limits) -> Result<Outcome, RunError> {
        let tree = tree(self.base(program.image.as_deref())?, &program, limits)?;
        let mut outcome = if program.isolated && program.tests.is_some() {
            super::graded::run(self, &program, limits, &tree).await?
        } else {
            self.guest(&program, limits, &tree, Role::Alone).await?
        };
        match lock(&tree).glob(&program.fetch_files, limits.files_bytes) {
            // The snippet itself is no output, however the patterns are written.
            Ok(files) => {
                let files = files.into_iter().filter(|(path, _)| path != SNIPPET_NAME);
                outcome.files = files.map(|(path, content)| File { path, content: content.to_vec() }).collect();
            }
            Err(error) => outcome.files_error = Some(error.to_string()),
        }
        Ok(outcome)
    }

    /// Runs an interpreter in its role, from its start to its end.
    pub(super) async fn guest(
        &self,
        program: &Program,
        limits: &Limits,
        tree: &SharedTree,
        role: Role,
    ) -> Result<Outcome, RunError> {
        let began = Instant::now();
        let live = self.count_live();
        let mut request = Vec::new();
        request_of(program, &role).encode(&mut request);
        // What it reports are the candidate's failures, too: they are judged when its attempts are known (`graded`).
        let grades = matches!(role, Role::Grader(_));
        let state = state(program, limits, tree, role);
        let stopwatch = Arc::clone(&state.stopwatch);
        let (mut store, instance) = self.instantiate(state, limits.fuel).await?;
        self.pre_dirty(&mut store, instance);
        let start = began.elapsed();

        let (returned, times) = metered(call(&mut store, instance, &request), stopwatch, limits.wall, &self.core).await;

        let fuel = limits.fuel - store.get_fuel().unwrap_or(0).min(limits.fuel);
        if !matches!(returned, Some(Ok(_))) {
            take_pending_output(&mut store, instance).await;
        }
        self.give_back(&mut store, fuel);
        let state = store.into_data();
        drop(live);
        let end = end(returned, &state, limits);
        let mut outcome = outcome(end, state, times, fuel, start);
        if !grades {
            let tree = lock(tree);
            let refusals = Refusals::new(&tree, &outcome.attempts, outcome.attempts_dropped);
            refusals::judge(&mut outcome.report, &refusals);
        }
        Ok(outcome)
    }
}

/// Role of an interpreter in a run.
pub(super) enum Role {
    /// Interpreter of the program, and of its tests where they run in process.
    Alone,
    /// Interpreter of the code under test, which serves the requests of the other.
    Candidate(Seat),
    /// Interpreter of the tests.
    Grader(Seat),
}

impl Role {
    fn seat(self) -> Option<Seat> {
        match self {
            Self::Alone => None,
            Self::Candidate(seat) | Self::Grader(seat) => Some(seat),
        }
    }
}

/// Writes the request into the guest and lets it run; the exit code.
pub(super) async fn call(
    store: &mut Store<State>,
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
pub(super) async fn take_pending_output(store: &mut Store<State>, instance: wasmtime::Instance) {
    const FUEL: u64 = 10_000;
    // CPython's buffers have 8 KiB; a guest may have others, or lie.
    const MAX_LENGTH: usize = 64 << 10;
    let (Ok(pending), Some(memory)) =
        (instance.get_typed_func::<u32, u64>(&mut *store, "proofbox_pending"), store.data().memory)
    else {
        return;
    };
    for (index, output) in [(0, Output::Stdout), (1, Output::Stderr)] {
        if store.set_fuel(FUEL).is_err() {
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

pub(super) fn end(returned: Option<wasmtime::Result<i32>>, state: &State, limits: &Limits) -> End {
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

fn outcome(end: End, state: State, times: Times, fuel: u64, start: Duration) -> Outcome {
    let usage = Usage {
        fuel,
        cpu: times.cpu,
        execution: times.execution(),
        waiting: times.waiting,
        start,
        peak_memory_bytes: state.limiter.peak() as u64,
        memory_refused: state.limiter.refused(),
    };
    let spent = match &state.seat {
        Some(seat) if seat.side() == Side::Grader => seat.spent(),
        _ => Spent { fuel, execution: usage.execution, peak_memory_bytes: usage.peak_memory_bytes },
    };
    let printed = || state.seat.as_ref().map(Seat::case_output).unwrap_or_default();
    Outcome {
        end,
        report: state.reporter.finish(spent, printed),
        stdout: state.streams.stdout.finish(),
        stderr: state.streams.stderr.finish(),
        usage,
        attempts: state.attempts.list().iter().cloned().chain(state.uses.attempts()).collect(),
        attempts_dropped: state.attempts.dropped_count(),
        grader: None,
        files: Vec::new(),
        files_error: None,
    }
}

/// Checks that the files of a program can be put into its sandbox, and that those it asks for can be looked for.
///
/// # Errors
/// Returns the first file that can't, with the field that it is in.
pub fn check_files(program: &Program, limits: &Limits) -> Result<(), (&'static str, FilesError)> {
    let tree = tree(packages::empty(), program, limits).map_err(|error| ("files", error))?;
    let found = lock(&tree).glob(&program.fetch_files, limits.files_bytes);
    found.map(drop).map_err(|error| ("fetch_files", error))
}

fn tree(base: &Base, program: &Program, limits: &Limits) -> Result<SharedTree, FilesError> {
    let now = program.deterministic.map_or_else(now, |wanted| wanted.start_time_nanoseconds);
    let mut tree = base.tree(quota(limits), now);
    for file in &program.files {
        tree.write_file(&file.path, &file.content, now)?;
    }
    tree.write_file(SNIPPET_NAME, program.code.as_bytes(), now)?;
    for file in &program.test_files {
        tree.write_file(&format!("/{TESTS_DIRECTORY}/{}", file.path), &file.content, now)?;
    }
    Ok(Arc::new(Mutex::new(tree)))
}

pub(super) fn quota(limits: &Limits) -> FilesQuota {
    FilesQuota { bytes: limits.files_bytes, count: limits.files_count }
}

/// Returns the wall clock, in nanoseconds since 1970.
pub fn now() -> u64 {
    Clock::real().now(REALTIME, 0)
}

fn state(program: &Program, limits: &Limits, tree: &SharedTree, role: Role) -> State {
    let deterministic = program.deterministic;
    // The tests see all files; to the candidate theirs do not exist. Input is for the candidate.
    let (view, stdin) = match role {
        Role::Candidate(_) => (View::WithoutTests, program.stdin.clone()),
        Role::Alone => (View::Whole, program.stdin.clone()),
        Role::Grader(_) => (View::Whole, Vec::new()),
    };
    let seat = role.seat();
    let mut streams = Streams::new(stdin, limits.output_bytes);
    streams.seat = seat.clone().filter(|seat| seat.side() == Side::Candidate);
    let clock = match deterministic {
        None => Clock::real(),
        Some(wanted) => Clock::Virtual { start_time: wanted.start_time_nanoseconds, slept: Duration::ZERO },
    };
    State {
        wasi: wasi(),
        memory: None,
        limiter: MemoryLimiter::new(limits.memory_bytes),
        clock,
        stopwatch: Arc::new(Stopwatch::default()),
        fuel: limits.fuel,
        streams,
        descriptors: Descriptors::with_view(Arc::clone(tree), view),
        attempts: Attempts::default(),
        reporter: Reporter::default(),
        uses: Uses::new(program.report_use),
        host_work: HostWork::default(),
        entropy: Entropy::new(deterministic.map(|wanted| wanted.seed)),
        seat,
        serving: None,
    }
}

/// The request as `runner.run` takes it.
fn request_of(program: &Program, role: &Role) -> Value {
    let strings = |items: &[String]| Value::List(items.iter().map(Value::str).collect());
    let dict = |fields: Vec<(&str, Value)>| {
        Value::Dict(fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect())
    };
    let word = match role {
        Role::Alone => Value::None,
        Role::Candidate(_) => Value::str("candidate"),
        Role::Grader(_) => Value::str("grader"),
    };
    let result = match &program.result {
        None => Value::None,
        Some(ResultWanted::LastExpression) => Value::str("last_expression"),
        Some(ResultWanted::Variable(name)) => dict(vec![("variable", Value::str(name))]),
    };
    let tests = match &program.tests {
        _ if matches!(role, Role::Candidate(_)) => Value::None,
        None => Value::None,
        Some(PythonTests::Asserts { setup, asserts }) => {
            dict(vec![("kind", Value::str("asserts")), ("setup", Value::str(setup)), ("asserts", strings(asserts))])
        }
        Some(PythonTests::CheckFunction { source, entry_point }) => dict(vec![
            ("kind", Value::str("check_function")),
            ("source", Value::str(source)),
            ("entry_point", Value::str(entry_point)),
        ]),
        Some(PythonTests::Script { source }) => {
            dict(vec![("kind", Value::str("script")), ("source", Value::str(source))])
        }
        Some(PythonTests::FunctionCases { entry_point, calls }) => dict(vec![
            ("kind", Value::str("function_cases")),
            ("entry_point", Value::str(entry_point)),
            ("calls", Value::List(calls.iter().map(call_of).collect())),
        ]),
        Some(PythonTests::Unittest(tests)) => dict(test_files_of("unittest", tests, program)),
        Some(PythonTests::Pytest(tests)) => dict(test_files_of("pytest", tests, program)),
        Some(PythonTests::Complexity { generator, entry_point, sizes }) => dict(vec![
            ("kind", Value::str("complexity")),
            ("generator", Value::str(generator)),
            ("entry_point", Value::str(entry_point)),
            ("sizes", Value::List(sizes.iter().map(|size| Value::Int(size.cast_signed())).collect())),
        ]),
        Some(PythonTests::Doctest) => dict(vec![("kind", Value::str("doctest"))]),
        Some(PythonTests::Evaluator(evaluator)) => {
            let mut fields = vec![
                ("kind", Value::str("evaluator")),
                ("source", Value::str(&evaluator.source)),
                ("interface", Value::str(&evaluator.interface)),
                ("threshold", evaluator.threshold.map_or(Value::None, Value::Float)),
            ];
            fields.extend(evaluator.arguments.iter().map(|(name, value)| (name.as_str(), value.clone())));
            dict(fields)
        }
    };
    let env = program.env.iter().map(|(name, value)| (Value::str(name), Value::str(value))).collect();
    let seed = program.deterministic.map_or(Value::None, |wanted| Value::Int(wanted.seed.cast_signed()));
    let mut fields = vec![
        // As bytes: the source is read as a file is, with its byte-order mark and coding line.
        ("code", Value::Bytes(program.code.as_bytes().to_vec())),
        ("args", strings(&program.args)),
        ("env", Value::Dict(env)),
        ("result", result),
        ("tests", tests),
        ("seed", seed),
        ("role", word),
        ("module", program.module.as_ref().map_or(Value::None, Value::str)),
        ("modules", strings(&modules(program))),
    ];
    if program.report_use.any() {
        fields.push(("report_use", Value::Bool(true)));
    }
    dict(fields)
}

fn call_of(call: &Call) -> Value {
    let text = |text: &Option<String>| text.as_ref().map_or(Value::None, Value::str);
    let kwargs = call.kwargs.iter().map(|(name, value)| (Value::str(name), value.clone())).collect();
    Value::Tuple(vec![Value::List(call.args.clone()), Value::Dict(kwargs), text(&call.raises), text(&call.name)])
}

fn test_files_of<'a>(kind: &str, tests: &TestFiles, program: &Program) -> Vec<(&'a str, Value)> {
    let text = |text: &Option<String>| text.as_ref().map_or(Value::None, Value::str);
    let files = program.test_files.iter();
    let files = files.map(|file| (Value::str(&file.path), Value::Bytes(file.content.clone()))).collect();
    vec![
        ("kind", Value::str(kind)),
        ("source", text(&tests.source)),
        ("files", Value::Dict(files)),
        ("test_module", text(&tests.test_module)),
        ("module", text(&program.module)),
        ("fresh_per_case", Value::Bool(tests.fresh_per_case)),
        ("shuffle", tests.shuffle.map_or(Value::None, |seed| Value::int(&seed.into()))),
    ]
}

/// Names of the top-level modules among the candidate's files.
fn modules(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = program
        .files
        .iter()
        .filter(|file| file.path.ends_with(".py"))
        .filter_map(|file| file.path.trim_end_matches(".py").split('/').next().map(str::to_owned))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Makes the linker with everything that the image imports.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    preview1::add_to_linker(&mut linker)?;
    Ok(linker)
}

/// Initialises the reactor and returns the image (see [`super::snapshot`]).
pub(super) fn snapshot(reactor: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let engine = engine::for_building()?;
    let limits = generous();
    let tree = Arc::new(Mutex::new(Base::bare().tree(quota(&limits), 0)));
    // Seeded, so that the same recipe gives the same image; what is random is reseeded at each start.
    let deterministic = Deterministic { seed: 0, start_time_nanoseconds: 0 };
    let program = Program { deterministic: Some(deterministic), ..Program::default() };
    let state = state(&program, &limits, &tree, Role::Alone);
    let linker = linker(&engine)?;
    block_on(super::snapshot::take(&engine, &linker, state, reactor))
}

/// Limits for code of our own.
pub(super) fn generous() -> Limits {
    Limits {
        fuel: u64::MAX / 4,
        wall: Duration::from_secs(600),
        memory_bytes: 1 << 30,
        output_bytes: 1 << 20,
        files_bytes: 1 << 20,
        files_count: 64,
    }
}

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime with a timer alone needs nothing of the system");
    runtime.block_on(future)
}
