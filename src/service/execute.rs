//! Execution of a submission, from request to verdict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use super::admission::RunPermit;
use super::{Asking, Busy, ImageReason, KeyError, OverQuota, Service};
use crate::sandbox::{self, FilesError, SandboxError};
use crate::telemetry;
use proofbox_grading::Planned;
use proofbox_grading::canaries::{CanaryFound, Finder, OutputField};
use proofbox_grading::complexity::{self, ComplexityReport};
use proofbox_grading::fallback::TestText;
use proofbox_grading::lint::LintReport;
use proofbox_grading::receipt::Receipt;
use proofbox_policy::{Pack, Refusal, ScanReport};
use proofbox_runtime::image::Image;
use proofbox_runtime::images;
use proofbox_types::caller::Caller;
use proofbox_types::canary::Canary;
use proofbox_types::completion::CompletionReport;
use proofbox_types::grant::{Grant, Limits};
use proofbox_types::ids::ExecutionId;
use proofbox_types::outcome::{Attempt, Captured, ErrorReport, GraderOutcome, Outcome};
use proofbox_types::program::{File, Program, PythonTests};
use proofbox_types::status::{FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::{Compare, Complexity, Grading, StdinCase, Submission, Tests};
use proofbox_types::value::Value;
use proofbox_types::verdict::{Basis, Integrity, Verdict};

/// A submission that was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// Policy does not admit it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Name or hash of an image that does not exist.
    #[error("there is no image `{asked}`; there are: {known}")]
    UnknownImage {
        /// Name or hash that the request gives, shortened.
        asked: String,
        /// Names of the images that exist.
        known: String,
    },
    /// Field that is longer than the policy allows.
    #[error("{field} has {asked} {unit}; this policy allows at most {allowed}")]
    TooLarge {
        /// The field of the request.
        field: &'static str,
        /// Size of the field, in `unit`.
        asked: usize,
        /// Maximum size, in `unit`.
        allowed: usize,
        /// Unit of the sizes, such as `bytes`.
        unit: &'static str,
    },
    /// A file of the request can't be put into the sandbox.
    #[error("{error}")]
    Files {
        /// The field of the request.
        field: &'static str,
        /// Reason why the file is refused.
        error: FilesError,
    },
    /// The gate panicked: our own failure.
    #[error("the policy gate failed; the request may be sent again")]
    Gate,
    /// A receipt is wanted, and can't be signed.
    #[error("receipts can't be signed now: the service has no key")]
    NoKey(#[from] KeyError),
    /// No free permit, and no room in the queue.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Key that has used its quota.
    #[error(transparent)]
    OverQuota(#[from] OverQuota),
}

/// Result of a submission.
#[derive(Debug)]
pub struct Execution {
    /// Id of the execution.
    pub id: ExecutionId,
    /// Verdict on the submission.
    pub verdict: Verdict,
    /// Cost, summed over the runs; for memory the largest.
    pub cost: Cost,
    /// Standard output of the run that the verdict speaks of: the only one, or the first that failed, or the first.
    pub stdout: Captured,
    /// Standard error of the same run.
    pub stderr: Captured,
    /// The value asked for.
    pub result: Option<Value>,
    /// The files asked for.
    pub files: Vec<File>,
    /// Reason why the files could not be returned.
    pub files_error: Option<String>,
    /// Attempts to cross the boundary.
    pub attempts: Vec<Attempt>,
    /// Number of attempts that were dropped.
    pub attempts_dropped: u64,
    /// Canaries that came out.
    pub canaries: Vec<CanaryFound>,
    /// Limits that were in force.
    pub limits: Limits,
    /// Name of the policy.
    pub policy: String,
    /// Image that the submission ran in.
    pub image: Arc<Image>,
    /// Name of the image, or its hash, and the reason for which it was taken; none before that is known.
    pub image_choice: Option<(String, ImageReason)>,
    /// Report on the model's answer that the snippet was taken out of.
    pub completion: Option<CompletionReport>,
    /// Report of the policy's gate on the snippet; none where it was not asked for.
    pub scan: Option<ScanReport>,
    /// Cases that did not always end the same.
    pub flaky: Vec<String>,
    /// Growth of the cost with the input's size, where it was asked for.
    pub complexity: Option<ComplexityReport>,
    /// Result of an evaluator.
    pub evaluation: Option<Value>,
    /// The interpreter of the tests, where they had one of their own.
    pub grader: Option<GraderOutcome>,
    /// Report of the linter, where it was asked for.
    pub lint: Option<LintReport>,
    /// Signed verdict, where it was asked for.
    pub receipt: Option<Receipt>,
    /// True when a worker process ended while it ran the submission.
    pub is_blamed: bool,
}

impl Execution {
    /// Makes the execution of a submission from its verdict and the outcomes of its runs.
    pub(super) fn from_outcomes(
        id: ExecutionId,
        verdict: Verdict,
        outcomes: Vec<Outcome>,
        queue: Duration,
        grant: &Grant,
        policy: String,
        image: Arc<Image>,
    ) -> Self {
        let cost = Cost {
            execution: outcomes.iter().map(|outcome| outcome.usage.execution).sum(),
            queue,
            cpu: outcomes.iter().map(|outcome| outcome.usage.cpu).sum(),
            fuel: outcomes.iter().map(|outcome| outcome.usage.fuel).sum(),
            peak_memory_bytes: outcomes.iter().map(|outcome| outcome.usage.peak_memory_bytes).max().unwrap_or(0),
        };
        let spoken_of = verdict
            .cases
            .iter()
            .position(|case| case.class != FailureClass::None)
            .filter(|index| *index < outcomes.len())
            .unwrap_or(0);
        let attempts_dropped = outcomes.iter().map(|outcome| outcome.attempts_dropped).sum();
        let mut outcomes = outcomes;
        let mut attempts = Vec::new();
        for outcome in &mut outcomes {
            Attempt::merge(&mut attempts, std::mem::take(&mut outcome.attempts));
        }
        let shown = if outcomes.is_empty() { None } else { Some(outcomes.swap_remove(spoken_of)) };
        let (mut evaluation, mut grader) = (None, None);
        let (stdout, stderr, result, files, files_error) = match shown {
            Some(outcome) => {
                evaluation = outcome.report.evaluation;
                grader = outcome.grader.map(|grader| *grader);
                (outcome.stdout, outcome.stderr, outcome.report.result, outcome.files, outcome.files_error)
            }
            None => (Captured::default(), Captured::default(), None, Vec::new(), None),
        };
        Self {
            id,
            verdict,
            cost,
            stdout,
            stderr,
            result,
            files,
            files_error,
            attempts,
            attempts_dropped,
            canaries: Vec::new(),
            limits: *grant.limits(),
            policy,
            image,
            image_choice: None,
            completion: None,
            scan: None,
            flaky: Vec::new(),
            complexity: None,
            evaluation,
            grader,
            lint: None,
            receipt: None,
            is_blamed: false,
        }
    }
}

/// Cost of a submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time and sleep.
    pub execution: Duration,
    /// Time of waiting for an admission permit and for a core.
    pub queue: Duration,
    /// CPU time of the guest.
    pub cpu: Duration,
    /// Fuel used by the guest.
    pub fuel: u64,
    /// The largest linear memory, in bytes.
    pub peak_memory_bytes: u64,
}

impl Cost {
    /// Adds the cost of a further run.
    pub fn add(&mut self, more: &Self) {
        self.execution += more.execution;
        self.queue += more.queue;
        self.cpu += more.cpu;
        self.fuel += more.fuel;
        self.peak_memory_bytes = self.peak_memory_bytes.max(more.peak_memory_bytes);
    }
}

impl Service {
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
        let report = match self.run_one(asking, program, grant).await {
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
        submission: Submission,
    ) -> Result<Execution, ExecuteError> {
        let Submission { mut program, tests, grading, policy, canaries, .. } = submission;
        let grading = grading.unwrap_or_default();
        let id = ExecutionId::generate();
        let image = self.image_of(program.image.as_deref());
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
                .run_one(asking, program, grant)
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
        let again = (grading == Grading::Auto).then(|| Program { isolated: false, ..program.clone() });
        let (outcome, queue) = self.run_one(asking, program, grant).await?;
        let (verdict, mut outcome) = graded(outcome, &planned).await;
        let Some(program) = again.filter(|_| verdict.status != Status::Passed) else {
            return Ok((verdict, vec![outcome], queue));
        };
        let noted = std::mem::take(&mut outcome.report.inexpressible);
        if noted.is_empty() || !allows_in_process(&program, &noted).await {
            return Ok((verdict, vec![outcome], queue));
        }
        let (outcome, more) = self.run_one(asking, program, grant).await?;
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
        program: Program,
        grant: &Grant,
    ) -> Result<(Outcome, Duration), Failure> {
        let arrived = Instant::now();
        let permit = self.acquire_permit(asking).await?;
        let waited = arrived.elapsed();
        let outcome = self.sandbox.run(program, grant).await?;
        drop(permit);
        let queue = waited + outcome.usage.waiting;
        self.count(asking.caller, &outcome, queue);
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
                telemetry::case(first + index, self.run_one(asking, program, grant))
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

    /// The image that a client asks for, by name or hash; the default one, where it asks for none.
    ///
    /// # Errors
    /// Returns an error when there is no such image.
    pub(super) fn image_asked(&self, asked: Option<&str>) -> Result<Arc<Image>, ExecuteError> {
        const TOLD: usize = 100;
        let unknown = |asked: &str| ExecuteError::UnknownImage {
            asked: asked.chars().take(TOLD).collect(),
            known: self.images.names().collect::<Vec<_>>().join(", "),
        };
        let Some(asked) = asked.filter(|asked| *asked != images::AUTO) else {
            return Ok(Arc::clone(self.images.default()));
        };
        self.images.find(asked).map(Arc::clone).ok_or_else(|| unknown(asked))
    }

    /// The image of a program, that was asked for when it was admitted.
    pub(super) fn image_of(&self, hash: Option<&str>) -> Arc<Image> {
        let found = hash.and_then(|hash| self.images.find(hash));
        Arc::clone(found.unwrap_or_else(|| self.images.default()))
    }

    /// Acquires an admission permit for one run.
    ///
    /// # Errors
    /// Returns an error when none is granted in time.
    pub(super) async fn acquire_permit(&self, asking: Asking<'_>) -> Result<RunPermit, Busy> {
        let permit = self.admission.acquire(asking.caller, asking.urgency).await;
        permit.inspect_err(|_| self.metrics.refused.with_label_values(&["busy"]).inc())
    }

    /// Checks that the key may use more fuel today.
    ///
    /// # Errors
    /// Returns an error when the key's fuel for today is used up.
    pub(super) fn has_fuel(&self, caller: &Caller) -> Result<(), OverQuota> {
        self.keys.has_fuel(caller).inspect_err(|_| self.metrics.refused.with_label_values(&["fuel"]).inc())
    }

    pub(super) fn count(&self, caller: &Caller, outcome: &Outcome, queue: Duration) {
        self.keys.use_fuel(caller.owner(), outcome.usage.fuel);
        let metrics = Arc::clone(&self.metrics);
        let class = proofbox_grading::run_only(outcome).class;
        metrics.runs.with_label_values(&[class.as_str()]).inc();
        metrics.queue_seconds.observe(queue.as_secs_f64());
        metrics.start_seconds.observe(outcome.usage.start.as_secs_f64());
        metrics.run_seconds.observe(outcome.usage.execution.as_secs_f64());
        metrics.fuel.inc_by(outcome.usage.fuel);
        metrics.output_bytes.inc_by(outcome.stdout.total_bytes + outcome.stderr.total_bytes);
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
