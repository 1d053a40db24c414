//! The candidate in one guest, its tests in another (`grading: isolated`): [`super::channel`] carries what they say.

use std::pin::Pin;
use std::task::Poll;

use super::channel::{Endpoint, Side, channel};
use crate::capture::Capture;
use crate::denials;
use crate::error::RunError;
use crate::fuel_spent::FuelSpent;
use crate::guest::{Role, run_guest};
use crate::pool::InterpreterPool;
use crate::shell::Shell;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{Attempt, Captured, End, GraderOutcome, LimitHit, Outcome, Usage};
use proofbox_types::program::Program;
use proofbox_vfs::{Refusals, SharedTree, Tree, lock};

/// Runs a candidate and its tests. Both have the limits for themselves; all interpreters of the candidate share theirs.
/// `shell` makes the shell of one of them, which sees the candidate's files: what a program answers to tests is the
/// candidate's to decide, and they say so (`guest/grader.py`).
///
/// # Errors
/// Returns an error when there is no interpreter to be had.
pub(crate) async fn run(
    pool: &InterpreterPool,
    program: &Program,
    limits: &Limits,
    spent: &FuelSpent,
    tree: &SharedTree,
    shell: impl Fn() -> Option<Shell>,
) -> Result<Outcome, RunError> {
    let (candidates_seat, graders_seat) = channel(limits);
    let start = |endpoint: &Endpoint| {
        let (left, role) = (endpoint.left(limits), Role::Candidate(endpoint.clone(), shell()));
        Box::pin(async move { run_guest(pool, program, &left, spent, tree, role).await })
    };
    let mut pair = CandidateRuns {
        endpoint: candidates_seat.clone(),
        candidate: Some(start(&candidates_seat)),
        ended: Vec::new(),
    };
    let role = Role::Grader(graders_seat.clone(), shell());
    let mut grader = Box::pin(run_guest(pool, program, limits, spent, tree, role));
    let endpoint = candidates_seat;
    let graded = std::future::poll_fn(|context| {
        loop {
            let turn = endpoint.turn();
            match turn {
                Side::Grader => {
                    if let Poll::Ready(ended) = grader.as_mut().poll(context) {
                        return Poll::Ready(ended);
                    }
                }
                Side::Candidate if endpoint.wants_fresh() => match pair.dismiss(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(())) => {
                        pair.candidate = Some(start(&endpoint));
                        endpoint.started();
                        continue;
                    }
                },
                Side::Candidate => match pair.poll(context) {
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(())) => {
                        let last = pair.ended.last().expect("it has just ended");
                        endpoint.ended(last);
                    }
                    Poll::Pending => {}
                },
            }
            // It is still the same one's turn: it sleeps, or yields.
            if endpoint.turn() == turn && !(turn == Side::Candidate && pair.candidate.is_none()) {
                return Poll::Pending;
            }
        }
    })
    .await?;
    std::future::poll_fn(|context| pair.dismiss(context)).await?;
    Ok(merge_outcomes(pair.ended, graded, limits.output_bytes, &lock(tree)))
}

/// The candidate's interpreters: the present one, and how the others ended.
struct CandidateRuns<F> {
    endpoint: Endpoint,
    candidate: Option<Pin<Box<F>>>,
    ended: Vec<Outcome>,
}

impl<F: Future<Output = Result<Outcome, RunError>>> CandidateRuns<F> {
    fn poll(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<(), RunError>> {
        let Some(candidate) = &mut self.candidate else { return Poll::Ready(Ok(())) };
        let Poll::Ready(ended) = candidate.as_mut().poll(context) else { return Poll::Pending };
        self.candidate = None;
        self.ended.push(ended?);
        Poll::Ready(Ok(()))
    }

    /// Ends the present interpreter, if there is one.
    fn dismiss(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<(), RunError>> {
        if self.candidate.is_none() {
            return Poll::Ready(Ok(()));
        }
        self.endpoint.dismiss();
        let polled = self.poll(context);
        if let (Poll::Ready(Ok(())), Some(last)) = (&polled, self.ended.last()) {
            self.endpoint.ended(last);
        }
        polled
    }
}

/// Merges the outcomes of all interpreters of the candidate, with the cases as the tests reported them.
fn merge_outcomes(candidates: Vec<Outcome>, mut grader: Outcome, output_bytes: u64, tree: &Tree) -> Outcome {
    let count = candidates.len();
    let mut all = candidates.into_iter();
    let mut whole = all.next().expect("the candidate has been started");
    let told = &whole.report;
    let forged = !told.plan.is_empty() || !told.cases.is_empty() || told.odd_messages > 0 || told.basis.is_some();
    let compiled = whole.report.compiled;
    for next in all {
        whole.usage = sum(&whole.usage, &next.usage);
        whole.stdout = joined(&whole.stdout, &next.stdout, output_bytes);
        whole.stderr = joined(&whole.stderr, &next.stderr, output_bytes);
        Attempt::merge(&mut whole.attempts, next.attempts);
        whole.attempts_dropped += next.attempts_dropped;
        whole.end = worse(whole.end, next.end);
        whole.report.error = whole.report.error.or(next.report.error);
        whole.report.result = whole.report.result.or(next.report.result);
    }
    // A test fails by what it was itself refused, or by what its candidate was.
    grader.attempts.extend_from_slice(&whole.attempts);
    let dropped = grader.attempts_dropped + whole.attempts_dropped;
    denials::classify_denied(&mut grader.report, &Refusals::new(tree, &grader.attempts, dropped));
    let candidates_report = std::mem::take(&mut whole.report);
    whole.report = grader.report;
    whole.report.compiled = compiled;
    whole.report.result = candidates_report.result;
    // How the candidate failed to be imported says more than that its tests could not be run.
    whole.report.error = candidates_report.error.or(whole.report.error);
    if forged {
        whole.report.signals.push("forged_report".to_owned());
    }
    whole.grader = Some(Box::new(GraderOutcome {
        end: grader.end,
        usage: grader.usage,
        stdout: grader.stdout,
        stderr: grader.stderr,
        candidates: count,
    }));
    whole
}

/// The end that says more: a limit before a crash before an exit.
fn worse(a: End, b: End) -> End {
    let rank = |end: &End| match end {
        End::Limited(LimitHit { .. }) => 3,
        End::Trapped(_) => 2,
        End::Exited(code) if *code != 0 => 1,
        End::Exited(_) => 0,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

fn sum(a: &Usage, b: &Usage) -> Usage {
    Usage {
        fuel: a.fuel + b.fuel,
        cpu: a.cpu + b.cpu,
        execution: a.execution + b.execution,
        waiting: a.waiting + b.waiting,
        start: a.start,
        peak_memory_bytes: a.peak_memory_bytes.max(b.peak_memory_bytes),
        memory_refused: a.memory_refused || b.memory_refused,
    }
}

fn joined(a: &Captured, b: &Captured, limit: u64) -> Captured {
    let mut capture = Capture::new(limit);
    for part in [&a.head, &a.tail, &b.head, &b.tail] {
        capture.write(part);
    }
    Captured { total_bytes: a.total_bytes + b.total_bytes, ..capture.finish() }
}
