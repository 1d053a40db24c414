//! Sessions as a worker has them: a tree of files, and persistent interpreters over it.
//!
//! - [`Session`] serves calls, each context its own in order;
//! - `interpreter` is one of them: it is interrupted, not ended, where that can be;
//! - `checkpoint` turns a session into bytes and back.

pub(super) mod call_state;
mod cell;
mod checkpoint;
mod files;
mod interpreter;
pub(super) mod interrupt;
pub(super) mod output;
pub(super) mod pipes;
mod program;
pub(super) mod script;
mod watch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use super::clock::now;
use super::error::RunError;
use super::guest;
use super::pagemap;
use super::pool::InterpreterPool;
pub use checkpoint::CheckpointError;
pub use files::file_refused;
use interpreter::{CallWith, Interpreter};
use interrupt::Interrupt;
use interrupt::Reason;
pub use output::Sink;
pub use pipes::{Input, OutputSink, Pipes};
pub use program::{CommandRunner, NoCommands, Program, SessionContext};
use proofbox_types::program::{File, ResultWanted};
use proofbox_types::session::{
    Cell, CellEvent, CellLimits, CellOutcome, ContextNumber, DEFAULT_CONTEXT, Footprint, Opening,
};
use proofbox_types::value::Value;
use proofbox_vfs::{Credentials, Descriptors, FilesError, FilesUsage, SharedTree, User, lock};
pub use script::{ScriptOutput, ShellScript};
pub use watch::{Noticed, Watch};

/// Contexts that one session may have.
pub const CONTEXTS: usize = 32;

/// Files and persistent interpreters of a session.
pub struct Session {
    session_context: SessionContext,
    contexts: Mutex<BTreeMap<ContextNumber, Arc<Context>>>,
}

/// Context of a session, with an interpreter that is made at its first call.
struct Context {
    /// Start directory; none: the default.
    cwd: Option<String>,
    /// Calls that it has served.
    calls: AtomicU64,
    interrupt: Arc<Interrupt>,
    /// A call is being served.
    busy: AtomicBool,
    interpreter: Arc<tokio::sync::Mutex<Option<Interpreter>>>,
}

impl Context {
    fn new(cwd: Option<String>) -> Self {
        Self::with(cwd, 0, None)
    }
}

/// A call that a session could not take.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session has no such context.
    #[error("there is no context {0}")]
    NoContext(ContextNumber),
    /// The session has the maximum number of contexts.
    #[error("{0}")]
    TooMany(String),
    /// The call was cancelled before it began.
    #[error("cancelled")]
    Cancelled,
    /// A file can't be put into the sandbox.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The session can't be saved or restored.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Failure of proofbox itself.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Session {
    /// A new one.
    ///
    /// # Errors
    /// Returns an error when a file can't be put into it.
    pub fn open(
        pool: Arc<InterpreterPool>,
        command_runner: Arc<dyn CommandRunner>,
        opening: Opening,
    ) -> Result<Self, SessionError> {
        let Opening { limits, env, files, image } = opening;
        let now = now();
        let image = Arc::clone(pool.image(image.as_deref())?);
        let mut tree = image.session_base()?.tree(guest::quota(&limits), now);
        for File { path, content } in &files {
            tree.write_file(path, content, now)?;
        }
        let contexts = BTreeMap::from([(DEFAULT_CONTEXT, Arc::new(Context::new(None)))]);
        let tree = SharedTree::new(tree);
        let session_context = SessionContext::new(pool, image, command_runner, tree, limits, env.into());
        Ok(Self { session_context, contexts: Mutex::new(contexts) })
    }

    /// Returns the premises that its commands run in.
    pub fn session_context(&self) -> &SessionContext {
        &self.session_context
    }

    fn contexts(&self) -> MutexGuard<'_, BTreeMap<ContextNumber, Arc<Context>>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context(&self, number: ContextNumber) -> Result<Arc<Context>, SessionError> {
        self.contexts().get(&number).cloned().ok_or(SessionError::NoContext(number))
    }

    /// Adds a context that starts in `cwd`.
    ///
    /// # Errors
    /// Returns an error when there are too many.
    pub fn add_context(&self, number: ContextNumber, cwd: Option<String>) -> Result<(), SessionError> {
        let mut contexts = self.contexts();
        if contexts.len() >= CONTEXTS {
            return Err(SessionError::TooMany(format!("a session has at most {CONTEXTS} contexts")));
        }
        contexts.entry(number).or_insert_with(|| Arc::new(Context::new(cwd)));
        Ok(())
    }

    /// Returns the contexts, each with its start directory where that is not the default.
    pub fn list_contexts(&self) -> Vec<(ContextNumber, Option<String>)> {
        self.contexts().iter().map(|(number, context)| (*number, context.cwd.clone())).collect()
    }

    /// Ends a context; a call that it serves is interrupted.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub fn remove_context(&self, number: ContextNumber) -> Result<(), SessionError> {
        let removed = self.contexts().remove(&number).ok_or(SessionError::NoContext(number))?;
        removed.interrupt.ask(Reason::Requested);
        self.end_at_rest(&removed);
        Ok(())
    }

    /// Ends a context's interpreter, if there is one.
    fn end(&self, interpreter: &mut Option<Interpreter>) {
        if let Some(interpreter) = interpreter.take() {
            interpreter.end(&self.session_context.pool, &self.session_context.image);
        }
    }

    /// Ends the interpreter of a context that serves no call now; else it ends with the call.
    fn end_at_rest(&self, context: &Context) {
        if let Ok(mut interpreter) = context.interpreter.try_lock() {
            self.end(&mut interpreter);
        }
    }

    /// Takes a context's interpreter away, and with it its namespace: the next call finds a fresh one. A call that it
    /// serves is interrupted.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn restart(&self, number: ContextNumber) -> Result<(), SessionError> {
        let context = self.context(number)?;
        if context.busy.load(Ordering::Relaxed) {
            context.interrupt.ask(Reason::Requested);
        }
        self.end(&mut *context.interpreter.lock().await);
        context.calls.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Takes all interpreters away, as a machine that is booted anew has its files only. Calls are interrupted.
    ///
    /// # Errors
    /// Returns an error when a context is removed meanwhile.
    pub async fn reboot(&self) -> Result<(), SessionError> {
        let numbers: Vec<ContextNumber> = self.contexts().keys().copied().collect();
        for number in numbers {
            self.restart(number).await?;
        }
        lock(self.session_context.tree()).reboot(now());
        Ok(())
    }

    /// Interrupts the call that a context serves now; whether there was one.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub fn interrupt(&self, number: ContextNumber) -> Result<bool, SessionError> {
        let context = self.context(number)?;
        let busy = context.busy.load(Ordering::Relaxed);
        if busy {
            context.interrupt.ask(Reason::Requested);
        }
        Ok(busy)
    }

    /// Interrupts all that it does: it is going away.
    pub fn close(&self) {
        for context in self.contexts().values() {
            context.interrupt.ask(Reason::Requested);
        }
    }

    /// Executes a call, after those that came before it. `sink` receives events as they happen. Not to be dropped once
    /// it has begun (see `Interpreter::call`): `gone` interrupts it.
    ///
    /// # Errors
    /// Returns an error when there is no such context, or no interpreter to be had.
    pub async fn call(
        &self,
        number: ContextNumber,
        cell: &Cell,
        limits: &CellLimits,
        sink: Option<Sink>,
        gone: &CancellationToken,
    ) -> Result<CellOutcome, SessionError> {
        let context = self.context(number)?;
        let mut place = tokio::select! {
            biased;
            () = gone.cancelled() => return Err(SessionError::Cancelled),
            place = context.interpreter.lock() => place,
        };
        context.interrupt.forget();
        context.busy.store(true, Ordering::Relaxed);
        let _rest = Rest(&context.busy);
        let interpreter = match &mut *place {
            Some(interpreter) => interpreter,
            None => {
                let SessionContext { pool, image, tree, limits, .. } = &self.session_context;
                let descriptors = Descriptors::new(tree, Credentials::of(User::User));
                place.insert(Interpreter::new(pool, image, limits.memory_bytes, descriptors, Duration::ZERO).await?)
            }
        };
        let calls = context.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(sink) = &sink {
            sink(CellEvent::Began(calls));
        }
        let mut request = Vec::new();
        self.request(cell, &context, calls, interpreter).encode(&mut request);
        let with = CallWith { interrupt: &context.interrupt, sink, run_script: self.session_context.run_script() };
        let call = interpreter.call(&request, limits, with);
        let interrupt = async {
            gone.cancelled().await;
            context.interrupt.ask(Reason::Requested);
            std::future::pending::<std::convert::Infallible>().await
        };
        let mut outcome = tokio::select! {
            outcome = call => outcome,
            never = interrupt => match never {},
        };
        outcome.number = calls;
        if outcome.lost {
            *place = None;
        } else if let Some(pristine) = self.session_context.image.module.known_pristine() {
            interpreter.share_unchanged(pristine).await;
        }
        Ok(outcome)
    }

    /// Returns what a memory of that name has in the interpreter of a context, if there is one (`branch_counts`).
    pub(super) async fn exported_memory(&self, number: ContextNumber, name: &str) -> Option<Vec<u8>> {
        let context = self.context(number).ok()?;
        let mut interpreter = context.interpreter.lock().await;
        interpreter.as_mut()?.exported_memory(name).map(<[u8]>::to_vec)
    }

    /// The request as `session.cell` takes it.
    fn request(&self, cell: &Cell, context: &Context, calls: u64, interpreter: &Interpreter) -> Value {
        let variables = |env: &[(String, String)]| {
            Value::Dict(env.iter().map(|(name, value)| (Value::str(name), Value::str(value))).collect())
        };
        let first = |value: Value, otherwise: Value| if interpreter.started { otherwise } else { value };
        let value = match &cell.value {
            None => Value::Bool(false),
            Some(ResultWanted::LastExpression) => Value::Bool(true),
            Some(ResultWanted::Variable(name)) => Value::str(name),
        };
        let fields = [
            // As bytes: the source is read as a file is.
            ("cell", Value::Bytes(cell.source.as_bytes().to_vec())),
            ("number", Value::Int(i64::try_from(calls).unwrap_or(i64::MAX))),
            ("env", first(variables(&self.session_context.env), variables(&interpreter.new_env))),
            ("cell_env", variables(&cell.env)),
            ("cwd", first(context.cwd.as_ref().map_or(Value::None, Value::str), Value::None)),
            ("seed", Value::None),
            ("value", value),
        ];
        Value::Dict(fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect())
    }

    /// Returns the memory and files that the session takes now. Contexts that serve a call are counted with the memory
    /// that they had before it.
    pub fn footprint(&self) -> Footprint {
        let contexts: Vec<Arc<Context>> = self.contexts().values().cloned().collect();
        let FilesUsage { bytes, count } = lock(&self.session_context.tree).usage();
        let mut footprint =
            Footprint { memory_bytes: 0, files_bytes: bytes, files_count: count, contexts: contexts.len() as u32 };
        for context in &contexts {
            let Ok(place) = context.interpreter.try_lock() else { continue };
            let pages = place.as_ref().and_then(|interpreter| interpreter.own_pages().ok()).unwrap_or_default();
            footprint.memory_bytes += (pages.iter().map(ExactSizeIterator::len).sum::<usize>() * pagemap::PAGE) as u64;
        }
        footprint
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let contexts = std::mem::take(&mut *self.contexts());
        for context in contexts.values() {
            self.end_at_rest(context);
        }
    }
}

/// Says that a context is at rest again.
struct Rest<'a>(&'a AtomicBool);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
