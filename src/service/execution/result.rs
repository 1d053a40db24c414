//! Result of a submission.

use std::sync::Arc;
use std::time::Duration;

use super::ImageReason;
use proofbox_grading::canaries::CanaryFound;
use proofbox_grading::complexity::ComplexityReport;
use proofbox_grading::lint::LintReport;
use proofbox_grading::receipt::Receipt;
use proofbox_policy::ScanReport;
use proofbox_runtime::image::Image;
use proofbox_types::completion::CompletionReport;
use proofbox_types::grant::{Grant, Limits};
use proofbox_types::ids::ExecutionId;
use proofbox_types::outcome::{Attempt, Captured, GraderOutcome, Outcome};
use proofbox_types::program::File;
use proofbox_types::status::FailureClass;
use proofbox_types::value::Value;
use proofbox_types::verdict::Verdict;

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
    pub(in crate::service) fn from_outcomes(
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
