//! Calls of a session: gate, order, limits, and events while the code runs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{LogEvent, Session, SessionError, SessionManager};
use crate::sandbox::{RequestError, SessionEvent};
use crate::service::policy_check::{Unrun, judge_attempts};
use crate::service::tracing::{HasExecution, traced};
use crate::service::{Asking, Busy, ExecuteError, Execution, ImageReason};
use crate::telemetry::{self, ExecutionInfo, ExecutionSpan};
use proofbox_memory::Sender;
use proofbox_policy::{Decision, Refusal};
use proofbox_types::caller::Urgency;
use proofbox_types::grant::AskedLimits;
use proofbox_types::ids::{ExecutionId, SessionId};
use proofbox_types::program::ResultWanted;
use proofbox_types::session::{Cell, CellLimits, CellOutcome, ContextNumber, Display, Footprint, Raised};
use proofbox_types::status::Status;

/// Calls of one session that are served or wait.
const MAX_WAITING: u32 = 64;

/// Code for a session.
#[derive(Clone, Debug)]
pub struct CellAsked {
    /// Python source to run.
    pub code: String,
    /// The field of the request that it came in.
    pub code_field: &'static str,
    /// Context in which the code runs.
    pub context: ContextNumber,
    /// Environment variables for this call only.
    pub env: Vec<(String, String)>,
    /// Limits of this call; where it is silent, those of the session.
    pub limits: AskedLimits,
    /// The value that is wanted.
    pub value: Option<ResultWanted>,
}

/// Result of a call.
#[derive(Debug)]
pub struct CellExecution {
    /// Result as of a snippet.
    pub execution: Execution,
    /// Number of calls that the context has served.
    pub number: u64,
    /// Values that the code displayed.
    pub displays: Vec<Display>,
    /// The exception that ended it, whole.
    pub raised: Option<Raised>,
    /// True when the call was interrupted.
    pub interrupted: bool,
    /// True when the interpreter was lost, and with it the namespace; the files stay.
    pub restarted: bool,
}

impl HasExecution for CellExecution {
    fn execution(&self) -> &Execution {
        &self.execution
    }
}

/// Guard that counts a call as waiting or served until it is dropped.
struct Waiting<'a>(&'a Session);

impl<'a> Waiting<'a> {
    fn enter(session: &'a Session) -> Result<Self, Busy> {
        let before = session.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(session);
        if before >= MAX_WAITING { Err(Busy { retry_after: Duration::from_secs(1) }) } else { Ok(waiting) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.used();
    }
}

impl SessionManager {
    /// Runs code in a session, after the calls that came before it. Dropping the future interrupts the code.
    ///
    /// # Errors
    /// Returns an error when nothing was run; see [`SessionError`].
    pub async fn call(&self, id: SessionId, asked: CellAsked) -> Result<CellExecution, SessionError> {
        self.call_with_events(id, asked, None).await
    }

    /// Runs code in a session; `events` receives its events.
    pub(super) async fn call_with_events(
        &self,
        id: SessionId,
        asked: CellAsked,
        events: Option<Sender<SessionEvent>>,
    ) -> Result<CellExecution, SessionError> {
        let session = self.table.get(id)?;
        let left = CancellationToken::new();
        let _leaves = left.clone().drop_guard();
        // A call whose client has left is carried to its end, which is near then: what it took is noted as of any other.
        self.spawn_uncancellable(|manager| async move {
            let (policy, labels) = (&session.spec.policy, &session.spec.labels);
            let span = ExecutionSpan::begin(|| ExecutionInfo { policy, labels, session: Some(id) });
            traced(span, Box::pin(manager.run_cell(&session, asked, events, &left))).await
        })
        .await
    }

    async fn run_cell(
        &self,
        session: &Arc<Session>,
        asked: CellAsked,
        events: Option<Sender<SessionEvent>>,
        left: &CancellationToken,
    ) -> Result<CellExecution, SessionError> {
        let arrived = Instant::now();
        let _waiting = Waiting::enter(session)?;
        let CellAsked { code, code_field, context, env, limits, value } = asked;
        let caller = self.keys.caller_of(session.spec.owner).ok_or(SessionError::KeyRevoked)?;
        let asking = Asking { caller: &caller, urgency: Urgency::Interactive };
        let policies = self.policies.current();
        let pack = policies.pack(&caller, &session.spec.policy)?;
        self.keys.has_fuel(&caller).map_err(ExecuteError::from)?;
        let granted = granted(session, pack.ceiling.grant(&limits).map_err(Refusal::from)?.limits(), &limits);
        if code.len() > pack.request.cell_bytes {
            let allowed = pack.request.cell_bytes;
            return Err(ExecuteError::TooLarge { field: code_field, asked: code.len(), allowed, unit: "bytes" }.into());
        }
        let mut python = python_of(&code).into_owned();
        let scanned = self.policy_check.scan_code(asking, pack, &session.spec.grant, &mut python, &[]).await?;
        if scanned.report.decision == Decision::Block {
            let number = session.calls.load(Ordering::Relaxed);
            let unrun = Unrun {
                policy: &session.spec.policy,
                planned: 0,
                image: &session.spec.image,
                grant: &session.spec.grant,
            };
            let execution = self.policy_check.blocked(unrun, scanned);
            return Ok(blocked(execution, number));
        }
        let code = merged(code, python);

        let order = {
            let mut order = session.order.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(order.entry(context).or_default())
        };
        let begin = async {
            let turn = order.lock().await;
            let in_use = self.enter(session).await?;
            let permit = self.admission.acquire(asking.caller, asking.urgency).await?;
            Ok::<_, SessionError>((turn, in_use, permit))
        };
        let begun = left.run_until_cancelled(begin).await;
        let (_turn, in_use, permit) = begun.unwrap_or(Err(SessionError::Refused(RequestError::Cancelled)))?;
        let waited = arrived.elapsed();
        let cell = Cell { source: code, env, value, stream: events.is_some() };
        let call = self.call_in(&in_use, context, cell, granted, events, left);
        let (outcome, footprint) = call.await?;
        drop(permit);
        session.calls.fetch_add(1, Ordering::Relaxed);
        // While nobody moves or ends it: what is noted of a session that is gone would count for ever.
        self.note_footprint(session, Some(footprint));
        drop(in_use);
        let queue = waited + outcome.outcome.usage.waiting;
        self.keys.use_fuel(caller.owner(), outcome.outcome.usage.fuel);
        self.metrics.count_run(&outcome.outcome, queue);
        telemetry::ran(arrived, &outcome.outcome);
        let mut verdict = proofbox_grading::run_only(&outcome.outcome);
        // What somebody asked for is no limit that was met.
        if outcome.interrupted
            && outcome.lost
            && let Some(error) = &mut verdict.error
        {
            error.type_name = "KeyboardInterrupt".to_owned();
            error.message = "it was interrupted, and did not heed that; its namespace is lost".to_owned();
        }
        let mut execution = Execution::from_outcomes(
            ExecutionId::generate(),
            verdict,
            vec![outcome.outcome],
            queue,
            &session.spec.grant,
            session.spec.policy.clone(),
            Arc::clone(&session.spec.image),
        );
        execution.image_choice = Some((self.images.name_of(&session.spec.image).to_owned(), ImageReason::Requested));
        execution.limits.fuel = granted.fuel;
        execution.limits.wall = granted.wall;
        execution.limits.output_bytes = granted.output_bytes;
        execution.scan = Some(scanned.report);
        judge_attempts(pack, &mut execution);
        let (number, class) = (outcome.number, execution.verdict.class);
        let event = LogEvent::CallEnded { number, class, duration: execution.cost.execution };
        self.table.logs.note(session.spec.owner, session.id, event);
        Ok(CellExecution {
            execution,
            number: outcome.number,
            displays: outcome.displays,
            raised: outcome.raised,
            interrupted: outcome.interrupted,
            restarted: outcome.lost,
        })
    }

    /// Runs a call in a worker. Where there is no slot for its interpreter, other sessions are moved to disk first.
    async fn call_in(
        &self,
        in_use: &super::access::InUse<'_>,
        context: ContextNumber,
        cell: Cell,
        limits: CellLimits,
        events: Option<Sender<SessionEvent>>,
        left: &CancellationToken,
    ) -> Result<(CellOutcome, Footprint), SessionError> {
        let ask = || self.sandbox.call(in_use.handle, context, cell.clone(), limits, events.clone(), left);
        let answer = self.with_slot(in_use.session.spec.owner, ask).await;
        self.check_lost(in_use, answer)
    }

    /// Interrupts the call that a context of a session serves, and returns whether there was one.
    ///
    /// # Errors
    /// Returns an error when there is no such session or context.
    pub async fn interrupt(&self, id: SessionId, context: ContextNumber) -> Result<bool, SessionError> {
        let session = self.table.get(id)?;
        let super::Residency::Resident(handle) = *session.residency.read().await else { return Ok(false) };
        Ok(self.sandbox.interrupt(handle, context).await?)
    }

    /// Adds a context to a session.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or it has too many contexts.
    pub async fn add_context(
        &self,
        id: SessionId,
        context: ContextNumber,
        cwd: Option<String>,
    ) -> Result<(), SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.add_context(in_use.handle, context, cwd).await;
        self.check_lost(&in_use, answer)
    }

    /// Lists the contexts of a session, each with its working directory where that is not the default.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub async fn contexts(&self, id: SessionId) -> Result<Vec<(ContextNumber, Option<String>)>, SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.contexts(in_use.handle).await;
        self.check_lost(&in_use, answer)
    }

    /// Removes a context from a session.
    ///
    /// # Errors
    /// Returns an error when there is no such session or context.
    pub async fn remove_context(&self, id: SessionId, context: ContextNumber) -> Result<(), SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.remove_context(in_use.handle, context).await;
        self.check_lost(&in_use, answer)
    }

    /// Gives a context of a session a fresh interpreter; a call that it serves is interrupted.
    ///
    /// # Errors
    /// Returns an error when there is no such session or context.
    pub async fn restart_context(&self, id: SessionId, context: ContextNumber) -> Result<(), SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.restart(in_use.handle, context).await;
        self.check_lost(&in_use, answer)
    }
}

/// Returns the limits of a call: as asked, within the policy; where the call is silent, those of the session.
fn granted(session: &Session, pack: &proofbox_types::grant::Limits, asked: &AskedLimits) -> CellLimits {
    let own = session.spec.grant.limits();
    CellLimits {
        fuel: if asked.fuel.is_some() { pack.fuel } else { own.fuel },
        wall: if asked.wall_seconds.is_some() { pack.wall } else { own.wall },
        output_bytes: if asked.output_bytes.is_some() { pack.output_bytes } else { own.output_bytes },
    }
}

fn blocked(execution: Execution, number: u64) -> CellExecution {
    debug_assert_eq!(execution.verdict.status, Status::Blocked);
    CellExecution { execution, number, displays: Vec::new(), raised: None, interrupted: false, restarted: false }
}

/// Returns a cell as the gate reads it: lines that notebooks take for commands are not Python, and run nothing but the
/// sandbox's own shell.
fn python_of(code: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with(['!', '%', '?']);
    if !code.lines().any(is_command) {
        return Cow::Borrowed(code);
    }
    let python = |line: &str| {
        if is_command(line) {
            let indent = &line[..line.len() - line.trim_start().len()];
            format!("{indent}pass\n")
        } else {
            format!("{line}\n")
        }
    };
    Cow::Owned(code.lines().map(python).collect())
}

/// The cell again, with what the gate has blanked out of it.
fn merged(code: String, scanned: String) -> String {
    if *python_of(&code) == scanned || code == scanned {
        return code;
    }
    let lines = code.lines().zip(scanned.lines());
    let merged = |(original, scanned): (&str, &str)| {
        if original.trim_start().starts_with(['!', '%', '?']) {
            format!("{original}\n")
        } else {
            format!("{scanned}\n")
        }
    };
    lines.map(merged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_cell_are_no_python_and_come_back() {
        let cell = "x = 1\nif x:\n    !ls -l\n%time y = 2\n";
        assert_eq!(python_of(cell), "x = 1\nif x:\n    pass\npass\n");
        assert_eq!(
            merged(cell.to_owned(), "x = 9\nif x:\n    pass\npass\n".to_owned()),
            "x = 9\nif x:\n    !ls -l\n%time y = 2\n"
        );
        assert_eq!(merged("a\n".to_owned(), "a\n".to_owned()), "a\n");
    }
}
