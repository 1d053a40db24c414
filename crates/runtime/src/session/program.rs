//! `python3` in a session: an interpreter of its own over the session's files, for as long as its program runs, whose
//! streams are somebody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::pipes::Pipes;
use super::script::{RunScript, ScriptOutput, ShellScript};
use crate::clock::Clock;
use crate::error::RunError;
use crate::fuel_spent::FuelledStore;
use crate::guest::{self, take_pending_output};
use crate::pool::{InterpreterPool, LoadedImage};
use crate::scheduler::run_metered;
use crate::shell::Shell;
use crate::state::HostState;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Limit, LimitHit};
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::{Credentials, Descriptors, SharedTree};

/// A session or run as its commands see it: the files, and what may be used.
#[derive(Clone)]
pub struct SessionContext {
    pub(super) pool: Arc<InterpreterPool>,
    /// Image of its interpreters.
    pub(super) image: Arc<LoadedImage>,
    /// Runner of its scripts.
    runner: Arc<dyn CommandRunner>,
    pub(super) tree: SharedTree,
    pub(super) limits: Limits,
    pub(super) env: Arc<[(String, String)]>,
    /// Fuel of its commands' interpreters that has not been reported.
    pub(super) command_fuel: Arc<AtomicU64>,
    /// Permits for the interpreters that its commands have at once.
    pub(super) command_permits: Arc<Semaphore>,
}

/// A program to run.
pub struct Program {
    /// Arguments that follow `python3`.
    pub args: Vec<String>,
    /// Environment variables of the program, complete.
    pub env: Vec<(String, String)>,
    /// Working directory, an absolute path.
    pub cwd: String,
    /// User and creation mask of the program.
    pub credentials: Credentials,
    /// Streams of the program.
    pub pipes: Pipes,
}

impl SessionContext {
    /// Interpreters that the commands of one session have at once: a pipeline of some programs.
    pub const MAX_COMMAND_INTERPRETERS: usize = 4;

    pub(crate) fn new(
        pool: Arc<InterpreterPool>,
        image: Arc<LoadedImage>,
        runner: Arc<dyn CommandRunner>,
        tree: SharedTree,
        limits: Limits,
        env: Arc<[(String, String)]>,
    ) -> Self {
        let command_permits = Arc::new(Semaphore::new(Self::MAX_COMMAND_INTERPRETERS));
        Self { pool, image, runner, tree, limits, env, command_fuel: Arc::default(), command_permits }
    }

    /// The same, whose commands add the fuel of their interpreters to `fuel`.
    pub(crate) fn with_command_fuel(self, fuel: &Arc<AtomicU64>) -> Self {
        Self { command_fuel: Arc::clone(fuel), ..self }
    }

    /// Makes the context of another session over another tree.
    pub(super) fn for_fork(&self, runner: Arc<dyn CommandRunner>, tree: SharedTree) -> Self {
        let (pool, image, env) = (Arc::clone(&self.pool), Arc::clone(&self.image), Arc::clone(&self.env));
        Self::new(pool, image, runner, tree, self.limits, env)
    }

    /// Makes the context of a program that a command runs: the same, but for the fuel, which is the program's own.
    fn for_program(&self) -> Self {
        Self { command_fuel: Arc::default(), ..self.clone() }
    }

    /// Returns the runner of scripts of a call.
    pub(crate) fn run_script(&self) -> RunScript {
        let context = self.clone();
        Arc::new(move |script, limits, out| {
            let context = context.clone();
            Box::pin(async move { Arc::clone(&context.runner).run(context, script, limits, out).await })
        })
    }

    /// Makes a shell for a guest with these limits.
    pub(crate) fn shell(&self, limits: &CellLimits) -> Shell {
        Shell::new(self.run_script(), Arc::clone(&self.command_fuel), limits.wall, limits.output_bytes)
    }

    /// Permits for the interpreters of its commands.
    pub fn command_permits(&self) -> &Arc<Semaphore> {
        &self.command_permits
    }

    /// Returns the tree of files.
    pub fn tree(&self) -> &SharedTree {
        &self.tree
    }

    /// Returns the session's environment.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Takes the fuel that interpreters of commands have used since this was last called, those that were dropped among
    /// them.
    pub fn take_command_fuel(&self) -> u64 {
        self.command_fuel.swap(0, Ordering::Relaxed)
    }

    /// Runs a program to its end; the code that a shell would see. Dropping the future ends it. Fuel is added to
    /// `spent`, which is that of the whole script and counts against its limit.
    ///
    /// # Errors
    /// Returns an error when there is no interpreter to be had.
    pub async fn python(&self, program: Program, limits: &CellLimits, spent: &AtomicU64) -> Result<i32, RunError> {
        let Program { args, env, cwd, credentials, pipes } = program;
        let granted = limits.fuel.saturating_sub(spent.load(Ordering::Relaxed));
        let _live = self.pool.count_live();
        let stderr = Arc::clone(&pipes.stderr);
        let descriptors = Descriptors::new(&self.tree, credentials);
        let mut state = HostState::for_session(self.limits.memory_bytes, descriptors, Clock::real());
        state.streams.pipes = Some(pipes);
        state.shell = Some(self.for_program().shell(limits));
        let stopwatch = Arc::clone(&state.stopwatch);
        let (store, instance) = self.pool.instantiate(&self.image.module, state, granted).await?;
        let mut fuelled = FuelledStore::new(store, granted, [spent, &self.command_fuel]);
        let store = fuelled.store();
        let mut request = Vec::new();
        request_of(args, env, cwd).encode(&mut request);
        let (returned, _) =
            run_metered(guest::call(store, instance, &request), stopwatch, limits.wall, self.pool.core()).await;
        fuelled.count();
        if !matches!(returned, Some(Ok(_))) {
            take_pending_output(fuelled.store(), instance).await;
        }
        let mut state = fuelled.into_state();
        state.streams.drain().await;
        let limits = Limits { fuel: limits.fuel, wall: limits.wall, ..self.limits };
        Ok(match guest::end(returned, &state, &limits) {
            End::Exited(code) => code,
            End::Limited(hit) => {
                stderr.write(said_of(hit).as_bytes()).await;
                if hit.limit == Limit::Memory { 137 } else { 124 }
            }
            End::Trapped(_) => 134,
        })
    }
}

fn said_of(LimitHit { limit, allowed }: LimitHit) -> String {
    match limit {
        Limit::Fuel => format!("python3: stopped: all {allowed} units of fuel are used up\n"),
        Limit::Wall => {
            format!("python3: stopped: it ran for more than {} s\n", Duration::from_millis(allowed).as_secs_f64())
        }
        Limit::Memory => format!("python3: stopped: it needs more than {allowed} bytes of memory\n"),
        Limit::Stack => "python3: stopped: the stack is used up\n".to_owned(),
        Limit::Output => "python3: stopped: it writes too much\n".to_owned(),
    }
}

/// The request as `program.run` takes it.
fn request_of(args: Vec<String>, env: Vec<(String, String)>, cwd: String) -> Value {
    let env = env.into_iter().map(|(name, value)| (Value::Str(name), Value::Str(value))).collect();
    let fields = [
        ("program", Value::List(args.into_iter().map(Value::Str).collect())),
        ("env", Value::Dict(env)),
        ("cwd", Value::Str(cwd)),
        ("seed", Value::None),
    ];
    Value::Dict(fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect())
}

/// Commands of one session or run, from within a call or run: `!ls`.
pub trait CommandRunner: Send + Sync {
    /// Runs a script for the shell; what it writes goes to `out`. Its exit code, as soon as nothing holds its output any
    /// more: background jobs go on until the time of the script, its session or its run is over. Dropping the future
    /// before that ends all.
    fn run(
        &self,
        session_context: SessionContext,
        script: ShellScript,
        limits: CellLimits,
        out: ScriptOutput,
    ) -> BoxFuture<'_, i32>;

    /// Kills the background jobs that scripts have left, and waits until they are gone.
    fn end_jobs(&self) -> BoxFuture<'_, ()>;
}

/// Runner where there is no shell: every script ends with 127, as one whose command is not found.
pub struct NoCommands;

impl CommandRunner for NoCommands {
    fn run(&self, _: SessionContext, _: ShellScript, _: CellLimits, _: ScriptOutput) -> BoxFuture<'_, i32> {
        Box::pin(async { 127 })
    }

    fn end_jobs(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
