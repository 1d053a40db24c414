//! `python3` in a session: an interpreter of its own over the session's files, for as long as its program runs, whose
//! streams are somebody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use wasmtime::Store;

use crate::clock::Clock;
use crate::guest::{self, Interpreters, RunError, take_pending_output};
use crate::metered::metered;
use crate::state::State;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{End, Limit, LimitHit};
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::{Descriptors, Output, SharedTree};

/// Source of bytes for a program.
pub trait Input: Send + Sync {
    /// Reads what is there, and waits for the first byte; 0 is the end.
    fn read<'a>(&'a mut self, out: &'a mut [u8]) -> BoxFuture<'a, usize>;
}

/// Destination of a program's bytes.
pub trait Outlet: Send + Sync {
    /// Writes all; false when nobody reads any more.
    fn write<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, bool>;
}

/// Streams of a program that lead elsewhere.
pub struct Pipes {
    /// Standard input of the program.
    pub stdin: Box<dyn Input>,
    /// Standard output of the program.
    pub stdout: Arc<dyn Outlet>,
    /// Standard error of the program.
    pub stderr: Arc<dyn Outlet>,
}

/// A session as its commands see it: the files, and what may be used.
#[derive(Clone)]
pub struct Premises {
    pub(super) interpreters: Arc<Interpreters>,
    pub(super) tree: SharedTree,
    pub(super) limits: Limits,
    pub(super) env: Arc<[(String, String)]>,
    /// Fuel of its commands' interpreters that has not been reported.
    pub(super) command_fuel: Arc<AtomicU64>,
    /// Interpreters that its commands may have at once.
    pub(super) command_places: Arc<Semaphore>,
}

/// A program to run.
pub struct Program {
    /// Arguments that follow `python3`.
    pub args: Vec<String>,
    /// Environment variables of the program, complete.
    pub env: Vec<(String, String)>,
    /// Working directory, an absolute path.
    pub cwd: String,
    /// Streams of the program.
    pub pipes: Pipes,
}

impl Premises {
    /// Interpreters that the commands of one session have at once: a pipeline of some programs.
    const COMMAND_PLACES: usize = 4;

    pub(super) fn new(
        interpreters: Arc<Interpreters>,
        tree: SharedTree,
        limits: Limits,
        env: Arc<[(String, String)]>,
    ) -> Self {
        let command_places = Arc::new(Semaphore::new(Self::COMMAND_PLACES));
        Self { interpreters, tree, limits, env, command_fuel: Arc::default(), command_places }
    }

    /// Makes the premises of another session over another tree.
    pub(super) fn of_fork(&self, tree: SharedTree) -> Self {
        Self::new(Arc::clone(&self.interpreters), tree, self.limits, Arc::clone(&self.env))
    }

    /// Places for the interpreters of its commands.
    pub fn command_places(&self) -> &Arc<Semaphore> {
        &self.command_places
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
        let Program { args, env, cwd, pipes } = program;
        let granted = limits.fuel.saturating_sub(spent.load(Ordering::Relaxed));
        let _live = self.interpreters.count_live();
        let stderr = Arc::clone(&pipes.stderr);
        let mut state = State::kept(self.limits.memory_bytes, Descriptors::new(Arc::clone(&self.tree)), Clock::real());
        state.fuel = granted;
        state.streams.pipes = Some(pipes);
        let stopwatch = Arc::clone(&state.stopwatch);
        let (store, instance) = self.interpreters.instantiate(state, granted).await?;
        let mut fuelled = Fuelled { store: Some(store), granted, meters: [spent, &self.command_fuel] };
        let store = fuelled.store();
        let mut request = Vec::new();
        request_of(args, env, cwd).encode(&mut request);
        let (returned, _) =
            metered(guest::call(store, instance, &request), stopwatch, limits.wall, &self.interpreters.core).await;
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

/// An interpreter whose fuel is counted also when it is dropped in the midst of its work.
struct Fuelled<'a> {
    store: Option<Store<State>>,
    granted: u64,
    meters: [&'a AtomicU64; 2],
}

impl Fuelled<'_> {
    fn store(&mut self) -> &mut Store<State> {
        self.store.as_mut().expect("it goes with `self`")
    }

    /// Counts what was used. Once: what the host does afterwards in the guest's name is not the guest's.
    fn count(&mut self) {
        let granted = std::mem::take(&mut self.granted);
        let used = granted.saturating_sub(self.store().get_fuel().unwrap_or(0));
        for meter in self.meters {
            meter.fetch_add(used, Ordering::Relaxed);
        }
    }

    fn into_state(mut self) -> State {
        self.store.take().expect("it goes with `self`").into_data()
    }
}

impl Drop for Fuelled<'_> {
    fn drop(&mut self) {
        if self.store.is_some() {
            self.count();
        }
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

/// Bytes of a piped stream that are on their way.
#[derive(Default)]
pub struct Underway {
    /// Read and not yet taken by the guest.
    pub read: Vec<u8>,
    /// True when no more bytes will be read.
    pub ended: bool,
    /// Written and not yet passed on.
    pub written: Vec<(Output, Vec<u8>)>,
    /// True for each output that nobody reads any more.
    pub broken: [bool; 2],
}

/// Commands from within a call: `!ls`.
pub trait Commander: Send + Sync {
    /// Runs a script for the shell; what it writes goes to `out`. Its exit code. Dropping the future ends it.
    fn run<'a>(
        &'a self,
        premises: Premises,
        script: CellScript,
        limits: CellLimits,
        out: CellOutlet,
    ) -> BoxFuture<'a, i32>;
}

/// Takes what a command writes.
pub type CellOutlet = Arc<dyn Fn(Output, &[u8]) + Send + Sync>;

/// A script for the shell, from within a call.
pub struct CellScript {
    /// Text of the script, in the shell's language.
    pub text: String,
    /// Working directory, an absolute path.
    pub cwd: String,
    /// Environment variables of the script, complete.
    pub env: Vec<(String, String)>,
}

impl CellScript {
    /// Parses the guest's request; returns the script, and whether the guest wants the output itself.
    pub(crate) fn parse(message: &[u8]) -> Option<(Self, bool)> {
        let Ok(Value::Tuple(fields)) = Value::decode(message) else { return None };
        let [Value::Str(text), Value::Str(cwd), Value::Dict(env), Value::Bool(capture)] =
            <[Value; 4]>::try_from(fields).ok()?
        else {
            return None;
        };
        let variable = |(name, value)| match (name, value) {
            (Value::Str(name), Value::Str(value)) => Some((name, value)),
            _ => None,
        };
        let env = env.into_iter().map(variable).collect::<Option<_>>()?;
        Some((Self { text, cwd, env }, capture))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(fields: Vec<Value>) -> Option<bool> {
        let mut bytes = Vec::new();
        Value::Tuple(fields).encode(&mut bytes);
        CellScript::parse(&bytes).map(|(_, capture)| capture)
    }

    #[test]
    fn a_script_that_makes_no_sense_is_none() {
        let env = || Value::Dict(vec![(Value::str("A"), Value::str("b"))]);
        let whole = vec![Value::str("ls"), Value::str("/"), env(), Value::Bool(true)];
        assert_eq!(parsed(whole.clone()), Some(true));
        for (at, odd) in [(0, Value::Int(1)), (1, Value::None), (2, Value::List(vec![])), (3, Value::None)] {
            let mut fields = whole.clone();
            fields[at] = odd;
            assert_eq!(parsed(fields), None);
        }
        assert_eq!(parsed(whole[..3].to_vec()), None);
        assert!(CellScript::parse(b"\xff").is_none());
    }
}
