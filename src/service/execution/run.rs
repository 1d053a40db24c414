//! Execution of a submission, from request to verdict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use super::{ExecuteError, Execution, Executor};
use crate::sandbox::{self, SandboxError};
use crate::service::{Asking, Busy};
use crate::telemetry;
use proofbox_grading::Planned;
use proofbox_grading::canaries::{CanaryFound, Finder, OutputField};
use proofbox_grading::complexity::{self, ComplexityReport};
use proofbox_grading::fallback::TestText;
use proofbox_policy::{Pack, Refusal};
use proofbox_runtime::image::Image;
use proofbox_types::canary::Canary;
use proofbox_types::grant::Grant;
use proofbox_types::ids::ExecutionId;
use proofbox_types::outcome::{ErrorReport, Outcome};
use proofbox_types::program::{Program, PythonTests};
use proofbox_types::status::{FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::{Compare, Complexity, Grading, StdinCase, Submission, Tests};
use proofbox_types::verdict::{Basis, Integrity, Verdict};

impl Executor {
    /// Measures how the cost of a function grows. The outcome does not affect the verdict.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_graded`].
    pub(super) async fn measure(
        &self,
        asking: Asking<'_>,
        grant: &Grant,
        complexity: Complexity,
        submission: Submission,
    ) -> Result<(ComplexityReport, Vec<CanaryFound>), ExecuteError> {
        let Complexity { generator, entry_point, sizes } = complexity;
        let tests = PythonTests::Complexity { generator, entry_point, sizes: sizes.clone() };
        let program = Program { tests: Some(tests), isolated: true, ..submission.program };
        let report = match self.run_one(asking, program.into(), grant).await {
            Ok((outcome, _)) => complexity::report(&outcome, &sizes),
            Err(Failure::Busy(busy)) => return Err(busy.into()),
            Err(Failure::Sandbox(error)) => {
                ComplexityReport { points: Vec::new(), exponent: None, error: Some(error.to_string()) }
            }
        };
        let found = match (&report.error, Finder::new(&submission.canaries)) {
            (Some(error), Some(finder)) => finder.find_in(OutputField::Complexity, error),
            _ => Vec::new(),
        };
        Ok((report, found))
    }

    /// Runs and grades one submission, that was admitted.
    ///
    /// # Errors
    /// Returns an error when it is refused; nothing was run. Our own failure is a verdict of status
    /// `infrastructure_error`.
    pub(super) async fn run_graded(
        &self,
        asking: Asking<'_>,
        grant: &Grant,
        image: &Arc<Image>,
        submission: Submission,
    ) -> Result<Execution, ExecuteError> {
        let Submission { mut program, tests, grading, policy, canaries, .. } = submission;
        let grading = grading.unwrap_or_default();
        let id = ExecutionId::generate();
        let image = Arc::clone(image);
        let planned = tests.as_ref().and_then(Tests::known_cases);
        let mut expected = Vec::new();
        let stdin_cases = match tests {
            None => None,
            Some(Tests::Python { tests, module, files, expected: wanted }) => {
                program.tests = Some(tests);
                program.isolated = grading != Grading::InProcess;
                program.module = module;
                program.test_files = files;
                expected = wanted;
                None
            }
            Some(Tests::StdinStdout { cases, compare }) => Some((cases, compare)),
        };
        sandbox::check_files(&program, grant).map_err(|(field, error)| ExecuteError::Files { field, error })?;
        let graded = program.tests.is_some();
        let done = match stdin_cases {
            Some((cases, compare)) => self.run_cases(asking, &program, grant, &cases, compare).await,
            None if graded => self.grade(asking, program, grant, grading, Planned { cases: planned, expected }).await,
            None => self
                .run_one(asking, program.into(), grant)
                .await
                .map(|(outcome, queue)| (proofbox_grading::run_only(&outcome), vec![outcome], queue)),
        };
        match done {
            Ok((verdict, outcomes, queue)) => {
                telemetry::graded(&verdict);
                let (verdict, outcomes, found) = searched(canaries, verdict, outcomes).await;
                Ok(Execution {
                    canaries: found,
                    ..Execution::from_outcomes(id, verdict, outcomes, queue, grant, policy, image)
                })
            }
            Err(Failure::Busy(busy)) => Err(busy.into()),
            Err(Failure::Sandbox(error)) => {
                tracing::error!(%id, %error, "a run could not be carried out");
                self.metrics.runs.with_label_values(&[FailureClass::InfrastructureError.as_str()]).inc();
                let verdict = infrastructure_error(planned, error.to_string());
                let execution = Execution::from_outcomes(id, verdict, Vec::new(), Duration::ZERO, grant, policy, image);
                Ok(Execution { is_blamed: error.blames_program(), ..execution })
            }
        }
    }

    /// Runs a program with its tests.
    async fn grade(
        &self,
        asking: Asking<'_>,
        program: Program,
        grant: &Grant,
        grading: Grading,
        planned: Planned,
    ) -> Result<(Verdict, Vec<Outcome>, Duration), Failure> {
        let planned = Arc::new(planned);
        let program = Arc::new(program);
        let (outcome, queue) = self.run_one(asking, Arc::clone(&program), grant).await?;
        let (verdict, mut outcome) = graded(outcome, &planned).await;
        if grading != Grading::Auto || verdict.status == Status::Passed {
            return Ok((verdict, vec![outcome], queue));
        }
        let noted = std::mem::take(&mut outcome.report.inexpressible);
        if noted.is_empty() || !allows_in_process(&program, &noted).await {
            return Ok((verdict, vec![outcome], queue));
        }
        let program = Program { isolated: false, ..Arc::unwrap_or_clone(program) };
        let (outcome, more) = self.run_one(asking, program.into(), grant).await?;
        let (mut verdict, outcome) = graded(outcome, &planned).await;
        // Why it was graded so.
        verdict.integrity.basis.notes = noted.len() as u64;
        verdict.integrity.signals.extend(noted.into_iter().map(|what| format!("inexpressible: {what}")));
        Ok((verdict, vec![outcome], queue + more))
    }

    /// Runs a program once, and returns its outcome with the time that it waited.
    async fn run_one(
        &self,
        asking: Asking<'_>,
        program: Arc<Program>,
        grant: &Grant,
    ) -> Result<(Outcome, Duration), Failure> {
        let arrived = Instant::now();
        let permit = self.admission.acquire(asking.caller, asking.urgency).await?;
        let waited = arrived.elapsed();
        let outcome = self.sandbox.run(program, grant, asking.payer()).await?;
        drop(permit);
        let queue = waited + outcome.usage.waiting;
        self.keys.use_fuel(asking.caller.owner(), outcome.usage.fuel);
        self.metrics.count_run(&outcome, queue);
        telemetry::ran(arrived, &outcome);
        Ok((outcome, queue))
    }

    async fn run_cases(
        &self,
        asking: Asking<'_>,
        program: &Program,
        grant: &Grant,
        cases: &[StdinCase],
        compare: Compare,
    ) -> Result<(Verdict, Vec<Outcome>, Duration), Failure> {
        // A few at a time: one submission with many cases must not fill the queue by itself.
        const AT_ONCE: usize = 4;
        let mut outcomes = Vec::with_capacity(cases.len());
        let mut queue = Duration::ZERO;
        for group in cases.chunks(AT_ONCE) {
            let first = outcomes.len();
            let runs = group.iter().enumerate().map(|(index, case)| {
                let args = case.args.clone().unwrap_or_else(|| program.args.clone());
                let program = Program { stdin: case.stdin.clone().into_bytes(), args, ..program.clone() };
                telemetry::case(first + index, self.run_one(asking, program.into(), grant))
            });
            for (outcome, waited) in try_join_all(runs).await? {
                outcomes.push(outcome);
                queue = queue.max(waited);
            }
        }
        let results = cases
            .iter()
            .zip(&outcomes)
            .enumerate()
            .map(|(index, (case, outcome))| proofbox_grading::stdin_case(index, case, compare, outcome))
            .collect();
        Ok((proofbox_grading::stdin_stdout(results, &outcomes), outcomes, queue))
    }
}

/// Checks a submission against the pack, as far as that is possible before anything is scanned or run, and grants its
/// limits.
///
/// # Errors
/// Returns an error when it is too large, or asks for limits that it can't have.
pub(super) fn check(pack: &Pack, submission: &Submission) -> Result<Grant, ExecuteError> {
    let Submission { program, code_field, tests, limits, .. } = submission;
    let allowed = pack.request;
    let tests = tests.as_ref();
    let (source, cases) = match tests {
        None => (0, 0),
        Some(Tests::Python { tests, files, .. }) => {
            let files = files.iter().map(|file| file.content.len()).sum::<usize>();
            (files + tests.source_bytes(), tests.known_cases().unwrap_or(1))
        }
        Some(Tests::StdinStdout { cases, .. }) => (0, cases.len()),
    };
    let asserts = matches!(tests, Some(Tests::Python { tests: PythonTests::Asserts { .. }, .. }));
    let cases_field = if asserts { "tests.asserts" } else { "tests.cases" };
    let checks = [
        (*code_field, program.code.len(), allowed.code_bytes, "bytes"),
        ("tests", source, allowed.code_bytes, "bytes"),
        (cases_field, cases, allowed.cases, "cases"),
    ];
    match checks.into_iter().find(|(_, asked, allowed, _)| asked > allowed) {
        Some((field, asked, allowed, unit)) => Err(ExecuteError::TooLarge { field, asked, allowed, unit }),
        None => Ok(pack.ceiling.grant(limits).map_err(Refusal::from)?),
    }
}

enum Failure {
    Busy(Busy),
    Sandbox(SandboxError),
}

impl From<Busy> for Failure {
    fn from(busy: Busy) -> Self {
        Self::Busy(busy)
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

/// Grades; on a thread that may take its time where values are compared.
async fn graded(outcome: Outcome, planned: &Arc<Planned>) -> (Verdict, Outcome) {
    if planned.expected.is_empty() {
        return (proofbox_grading::python(&outcome, planned), outcome);
    }
    let planned = Arc::clone(planned);
    let grading = tokio::task::spawn_blocking(move || (proofbox_grading::python(&outcome, &planned), outcome));
    grading.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Returns whether the text of the tests accounts for the notes of their interpreter. A text that can't be analysed
/// does not.
async fn allows_in_process(program: &Program, notes: &[String]) -> bool {
    let (text, notes) = (TestText::of(program), notes.to_vec());
    proofbox_syntax::on_large_stack(move || text.accounts_for(&notes)).await.unwrap_or(false)
}

/// Searches all output for canaries, on a thread that may block.
async fn searched(
    canaries: Vec<Canary>,
    verdict: Verdict,
    outcomes: Vec<Outcome>,
) -> (Verdict, Vec<Outcome>, Vec<CanaryFound>) {
    if canaries.is_empty() {
        return (verdict, outcomes, Vec::new());
    }
    let searching = tokio::task::spawn_blocking(move || {
        let found = Finder::new(&canaries).map_or_else(Vec::new, |finder| finder.find(&verdict, &outcomes));
        (verdict, outcomes, found)
    });
    searching.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Makes the verdict of a submission that was not graded: the client may try again.
fn infrastructure_error(planned: Option<usize>, message: String) -> Verdict {
    Verdict {
        status: Status::InfrastructureError,
        exit_code: 1,
        class: FailureClass::InfrastructureError,
        error: Some(ErrorReport::of_ours(message)),
        compiled: false,
        cases: Vec::new(),
        integrity: Integrity {
            level: IntegrityLevel::None,
            planned: planned.unwrap_or(0),
            reported: 0,
            signals: Vec::new(),
            basis: Basis::default(),
        },
    }
}
