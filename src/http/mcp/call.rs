//! One call of a tool: its caller, its cancellation and its progress.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::tasks::Task;
use crate::http::error::ApiError;
use crate::service::{ExecuteError, Service, SessionError};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, SessionId};

/// Time between two notifications of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why a tool has no result: a sentence for the model, on which it can act.
#[derive(Debug)]
pub(super) struct ToolError(String);

impl ToolError {
    /// Makes the error of this sentence.
    pub(super) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// Makes the error of a call that its client has cancelled.
    pub(super) fn cancelled() -> Self {
        Self::new("the call was cancelled")
    }

    /// Returns the sentence.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl From<ApiError> for ToolError {
    fn from(error: ApiError) -> Self {
        let json = error.to_json();
        let text = |name: &str| json[name].as_str().unwrap_or_default();
        let mut sentence = text("message").to_owned();
        let field = text("field");
        if !field.is_empty() && !sentence.contains(field) {
            sentence = format!("`{field}`: {sentence}");
        }
        let hint = match text("code") {
            "session_not_found" | "session_lost" => " Open a new one with open_session.",
            "busy" | "rate_limited" | "memory_full" | "draining" | "internal_error" => " Try again in a few seconds.",
            "too_many_sessions" => " Close one with close_session.",
            _ => "",
        };
        if !hint.is_empty() && !sentence.ends_with('.') {
            sentence.push('.');
        }
        sentence.push_str(hint);
        Self(sentence)
    }
}

impl From<SessionError> for ToolError {
    fn from(error: SessionError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<ExecuteError> for ToolError {
    fn from(error: ExecuteError) -> Self {
        ApiError::from(error).into()
    }
}

/// Name that a client of an earlier revision got with `initialize`, for the requests that it cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientSession(pub Uuid);

/// A call over HTTP that its client can cancel with another request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallKey {
    owner: Option<KeyId>,
    session: ClientSession,
    request: RequestId,
}

/// Calls over HTTP that run.
#[derive(Default)]
pub(super) struct CallsInFlight(Mutex<HashMap<CallKey, CancellationToken>>);

impl CallsInFlight {
    fn calls(&self) -> MutexGuard<'_, HashMap<CallKey, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the call that a client's request made, if it runs.
    pub(super) fn cancel(&self, caller: &Caller, session: ClientSession, request: RequestId) {
        let key = CallKey { owner: caller.owner(), session, request };
        if let Some(call) = self.calls().get(&key) {
            call.cancel();
        }
    }
}

/// Entry of a call among those that run, removed when it ends.
struct InFlight {
    all: Arc<CallsInFlight>,
    key: CallKey,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.all.calls().remove(&self.key);
    }
}

/// Receiver of a call's progress.
struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    began: Instant,
}

/// One call of a tool.
pub(super) struct Call {
    /// Service that does the work.
    pub service: Arc<Service>,
    /// Caller on whose behalf it is done.
    pub caller: Caller,
    handle: CallHandle,
}

/// Cancellation and progress of a call, as its client sees them.
pub(super) struct CallHandle {
    cancelled: CancellationToken,
    progress: Option<Progress>,
    /// Task that the call is.
    task: Option<Arc<Task>>,
    _in_flight: Option<InFlight>,
}

/// Request of a call that may become a task: while its client waits for the answer, it can cancel the call.
pub(super) struct Waiting {
    cancelled: CancellationToken,
    _in_flight: Option<InFlight>,
}

impl Waiting {
    /// Waits until the client cancels the call.
    pub(super) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

/// Source of a request's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallerSource {
    /// The HTTP request, which was authenticated.
    Request,
    /// Nobody else than the user who started this process.
    Keyless,
}

/// Returns the caller of a request.
///
/// # Errors
/// Returns an error when the request bypassed authentication.
pub(super) fn caller_of(source: CallerSource, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    match source {
        CallerSource::Keyless => Ok(Caller::keyless()),
        CallerSource::Request => parts
            .and_then(|parts| parts.extensions.get::<Caller>().cloned())
            .ok_or_else(|| ErrorData::internal_error("the request has no caller", None)),
    }
}

impl CallHandle {
    /// Takes the handle of a request.
    pub(super) fn new(context: RequestContext<RoleServer>, caller: &Caller, all: &Arc<CallsInFlight>) -> Self {
        let cancelled = context.ct.child_token();
        let session = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<ClientSession>());
        let in_flight = session.map(|session| {
            let key = CallKey { owner: caller.owner(), session: *session, request: context.id };
            all.calls().insert(key.clone(), cancelled.clone());
            InFlight { all: Arc::clone(all), key }
        });
        let token = context.meta.get_progress_token();
        let progress = token.map(|token| Progress { peer: context.peer, token, began: Instant::now() });
        Self { cancelled, progress, task: None, _in_flight: in_flight }
    }

    /// Makes the handle of a task whose request is answered at once.
    pub(super) fn of_task(task: Arc<Task>) -> Self {
        Self { cancelled: task.cancelled().clone(), progress: None, task: Some(task), _in_flight: None }
    }

    /// Makes a handle of the call as a task, and gives what is left of the request that it was.
    pub(super) fn into_task(self, task: Arc<Task>) -> (Self, Waiting) {
        let Self { cancelled, progress, task: _, _in_flight } = self;
        (Self { progress, ..Self::of_task(task) }, Waiting { cancelled, _in_flight })
    }

    /// Does work until it ends or the client cancels it, and tells the client meanwhile that it goes on. Work that is
    /// cancelled is dropped.
    ///
    /// # Errors
    /// Returns an error when it was cancelled.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>, doing: &Doing) -> Result<T, ToolError> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                () = self.cancelled.cancelled() => return Err(ToolError::cancelled()),
                done = &mut work => return Ok(done),
                () = self.tell_of(doing) => {}
            }
        }
    }

    /// Tells the client after a while that work goes on.
    async fn tell_of(&self, doing: &Doing) {
        if !self.has_listener() {
            return std::future::pending().await;
        }
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        if let Some(task) = &self.task {
            task.note(&doing.text());
        }
        let Some(Progress { peer, token, began }) = &self.progress else { return };
        let progress = ProgressNotificationParam::new(token.clone(), began.elapsed().as_secs_f64());
        // Who does not listen any more has cancelled the call.
        let _ = peer.notify_progress(progress.with_message(doing.text())).await;
    }

    fn has_listener(&self) -> bool {
        self.progress.is_some() || self.task.is_some()
    }
}

impl Call {
    /// Begins a call.
    pub(super) fn new(service: Arc<Service>, caller: Caller, handle: CallHandle) -> Self {
        Self { service, caller, handle }
    }

    /// Does work as [`CallHandle::run`] does.
    ///
    /// # Errors
    /// Returns an error when it was cancelled, or the work's own.
    pub(super) async fn run<T, E: Into<ToolError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
        doing: &Doing,
    ) -> Result<T, ToolError> {
        self.handle.run(work, doing).await?.map_err(Into::into)
    }

    /// Returns the caller's session of this id; sessions of others are reported as not found.
    ///
    /// # Errors
    /// Returns an error when the caller has no such session.
    pub(super) fn session(&self, id: &str) -> Result<SessionId, ToolError> {
        let session = SessionId::parse(id).filter(|id| self.service.sessions.is_own(&self.caller, *id));
        session.ok_or_else(|| ApiError::no_session().into())
    }

    /// Returns whether the client hears of progress.
    pub(super) fn has_listener(&self) -> bool {
        self.handle.has_listener()
    }
}

/// Description of work that goes on: a constant, or the last line of its output.
#[derive(Default)]
pub(super) struct Doing(Mutex<String>);

impl Doing {
    /// Longest line that is told, in bytes.
    const MAX_LINE: usize = 200;

    /// Makes the description.
    pub(super) fn new(text: &str) -> Self {
        Self(Mutex::new(text.to_owned()))
    }

    /// Takes the last line of an output that has any text as the description.
    pub(super) fn printed(&self, output: &str) {
        if let Some(line) = output.lines().rev().map(str::trim_end).find(|line| !line.is_empty()) {
            let line = &line[..line.floor_char_boundary(Self::MAX_LINE)];
            line.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
