//! Submissions with everything that is asked beside the verdict.

use std::sync::Arc;

use super::run::check;
use super::{ExecuteError, Execution, Executor, ImageReason, requested_image};
use crate::service::Asking;
use crate::service::policy_check::{Unrun, admit_fetch, admit_upload, command_access, judge_attempts};
use crate::service::receipts::Subject;
use crate::service::tracing::traced;
use crate::telemetry::{ExecutionInfo, ExecutionSpan};
use proofbox_grading::canaries;
use proofbox_policy::Decision;
use proofbox_runtime::image::Image;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::grant::Grant;
use proofbox_types::outcome::Attempt;
use proofbox_types::status::Status;
use proofbox_types::submission::Submission;
use proofbox_types::verdict::Verdict;

impl Executor {
    /// Scans, admits, runs and grades one submission, and lints it and signs a receipt where that is asked for.
    ///
    /// # Errors
    /// Returns an error when it is refused; nothing was run.
    pub async fn submit(
        &self,
        caller: &Caller,
        urgency: Urgency,
        submission: Submission,
    ) -> Result<Execution, ExecuteError> {
        let about = || ExecutionInfo { policy: &submission.policy, labels: &submission.labels, session: None };
        traced(ExecutionSpan::begin(about), Box::pin(self.run_submission(caller, urgency, submission))).await
    }

    /// Checks that the policy admits a submission, as far as that is possible before anything runs.
    ///
    /// # Errors
    /// Returns an error when it names a policy or an image that does not exist, or asks for limits that it can't have.
    pub fn check(&self, caller: &Caller, submission: &Submission) -> Result<(), ExecuteError> {
        self.policies.current().admit(caller, &submission.policy, &submission.limits)?;
        requested_image(&self.images, submission.image.as_deref())?;
        Ok(())
    }

    async fn run_submission(
        &self,
        caller: &Caller,
        urgency: Urgency,
        mut submission: Submission,
    ) -> Result<Execution, ExecuteError> {
        let asking = Asking { caller, urgency };
        let policies = self.policies.current();
        let pack = policies.pack(caller, &submission.policy)?;
        let grant = check(pack, &submission)?;
        self.keys.has_fuel(caller)?;
        let (image, mut reason) = match self.image_chooser.may_choose(&submission) {
            true => self.image_chooser.choose(&submission),
            false => (requested_image(&self.images, submission.image.as_deref())?, ImageReason::Requested),
        };
        submission.program.image = self.images.worker_hash(&image);
        let hidden = submission.hidden.unwrap_or(pack.defaults.hidden);
        submission.grading.get_or_insert(pack.defaults.grading);
        submission.program.commands = command_access(pack);
        // Without a key there would be no receipt in the end: told before anything runs.
        let signing = match &submission.receipt {
            None => None,
            Some(asked) => Some((self.receipts.key().await?, Subject::of(&submission, asked.tests_sha256.as_deref()))),
        };
        let policy = submission.policy.clone();
        // Where only a run tells how many there are, one at least has not passed.
        let planned = submission.tests.as_ref().map_or(0, |tests| tests.known_cases().unwrap_or(1));
        let unrun = Unrun { policy: &policy, planned, image: &image, grant: &grant };
        if let Some(mut execution) = self.policy_check.without_program(&submission, unrun) {
            execution.image_choice = Some((self.images.name_of(&execution.image).to_owned(), reason));
            execution.receipt = signing.map(|(key, subject)| subject.receipt(&execution, &key));
            execution.completion = submission.completion;
            return Ok(execution);
        }
        let completion = submission.completion.take();
        let code = submission.lint.then(|| submission.program.code.clone());
        let program = &mut submission.program;
        for file in &program.files {
            admit_upload(pack, "files", &file.path)?;
        }
        if !program.fetch_files.is_empty() {
            admit_fetch(pack, "fetch_files")?;
        }
        let scanned = self.policy_check.scan_code(asking, pack, &grant, &mut program.code, &program.files).await?;
        let mut execution = if scanned.report.decision == Decision::Block {
            let mut blocked = self.policy_check.blocked(unrun, scanned);
            if let Some(code) = &code {
                blocked.lint = Some(self.linter.lint(code).await);
            }
            blocked
        } else {
            let graded = submission.tests.is_some();
            let lint = async {
                match &code {
                    Some(code) => Ok(Some(self.linter.lint(code).await)),
                    None => Ok(None),
                }
            };
            let elsewhere = self.image_chooser.may_run_elsewhere(&submission).then(|| submission.clone());
            // Side by side; what is refused does not wait for the linter. In a box, for it is large and moved twice.
            let repeats = Box::pin(self.run_repeats(asking, &grant, &image, submission));
            let (mut execution, lint) = tokio::try_join!(repeats, lint)?;
            // Nobody has seen anything of that run, but what it reached for counts.
            if let Some(mut submission) = elsewhere
                && let Some((image, missing)) = self.image_chooser.other_image(&execution)
            {
                submission.program.image = self.images.worker_hash(&image);
                let first =
                    std::mem::replace(&mut execution, self.run_repeats(asking, &grant, &image, submission).await?);
                execution.cost.add(&first.cost);
                Attempt::merge(&mut execution.attempts, first.attempts);
                execution.attempts_dropped += first.attempts_dropped;
                canaries::merge(&mut execution.canaries, first.canaries);
                reason = missing;
            }
            execution.lint = lint;
            execution.scan = Some(scanned.report);
            if graded {
                let signs = scanned.signs.into_iter().map(str::to_owned);
                execution.verdict.integrity.signals.splice(0..0, signs);
            }
            judge_attempts(pack, &mut execution);
            execution
        };
        execution.image_choice = Some((self.images.name_of(&execution.image).to_owned(), reason));
        execution.completion = completion;
        // What the gate says is of the snippet alone.
        if hidden && execution.verdict.status != Status::Blocked {
            execution.hide();
        }
        // What the service failed at was not graded: there is nothing to be attested.
        execution.receipt = signing
            .filter(|_| execution.verdict.status != Status::InfrastructureError)
            .map(|(key, subject)| subject.receipt(&execution, &key));
        Ok(execution)
    }

    /// Executes a submission as often as it asks for, and measures its complexity where that is asked for.
    async fn run_repeats(
        &self,
        asking: Asking<'_>,
        grant: &Grant,
        image: &Arc<Image>,
        submission: Submission,
    ) -> Result<Execution, ExecuteError> {
        let again = (submission.repeat > 1).then(|| submission.clone());
        let measured = submission.complexity.clone().map(|complexity| (complexity, submission.clone()));
        let mut execution = self.run_graded(asking, grant, image, submission).await?;
        for submission in again.iter().flat_map(|again| std::iter::repeat_n(again, again.repeat as usize - 1)) {
            let next = self.run_graded(asking, grant, image, submission.clone()).await?;
            execution.cost.add(&next.cost);
            canaries::merge(&mut execution.canaries, next.canaries);
            for name in differing(&execution.verdict, &next.verdict) {
                if !execution.flaky.contains(&name) {
                    execution.flaky.push(name);
                }
            }
        }
        if let Some((complexity, submission)) = measured {
            let (report, found) = self.measure(asking, grant, complexity, submission).await?;
            execution.complexity = Some(report);
            canaries::merge(&mut execution.canaries, found);
        }
        Ok(execution)
    }
}

/// Returns the names of the cases that ended otherwise; a name for the whole, where no case can be named.
fn differing(a: &Verdict, b: &Verdict) -> Vec<String> {
    if a.cases.len() != b.cases.len() {
        return vec!["(number of cases)".to_owned()];
    }
    let pairs = a.cases.iter().zip(&b.cases);
    let mut names: Vec<String> = pairs.filter(|(a, b)| a.status != b.status).map(|(a, _)| a.name.clone()).collect();
    if names.is_empty() && a.status != b.status {
        names.push("(verdict)".to_owned());
    }
    names
}
