//! One submission, with what is asked beside the verdict.

use super::receipts::Subject;
use super::{ExecuteError, Executed, Service};
use crate::domain::submission::Submission;
use crate::domain::verdict::{Status, Verdict};

impl Service {
    /// Admits, runs and grades one submission, and lints it and signs a receipt where that is asked for.
    ///
    /// # Errors
    /// When it is refused; nothing was run.
    pub async fn submit(&self, submission: Submission) -> Result<Executed, ExecuteError> {
        // Without a key there would be no receipt in the end: told before anything runs.
        let signing = match &submission.receipt {
            None => None,
            Some(asked) => Some((self.receipts.key().await?, Subject::of(&submission, asked.tests_sha256.as_deref()))),
        };
        let code = submission.lint.then(|| submission.program.code.clone());
        let lint = async {
            match &code {
                Some(code) => Ok(Some(self.linter.lint(code).await)),
                None => Ok(None),
            }
        };
        let hidden = submission.hidden;
        // Side by side; what is refused does not wait for the linter.
        let (mut executed, lint) = tokio::try_join!(self.repeated(submission), lint)?;
        executed.lint = lint;
        if hidden {
            executed.hide();
        }
        // What the service failed at was not graded: there is nothing to be attested.
        executed.receipt = signing
            .filter(|_| executed.verdict.status != Status::InfrastructureError)
            .map(|(key, subject)| subject.receipt(&executed, &self.image, &key));
        Ok(executed)
    }

    /// Executes it as often as it asks for, and measures what it wants measured.
    async fn repeated(&self, submission: Submission) -> Result<Executed, ExecuteError> {
        let again = (submission.repeat > 1).then(|| submission.clone());
        let measured = submission.complexity.clone().map(|complexity| (complexity, submission.clone()));
        let mut executed = self.execute(submission).await?;
        for submission in again.iter().flat_map(|again| std::iter::repeat_n(again, again.repeat as usize - 1)) {
            let next = self.execute(submission.clone()).await?;
            executed.cost.add(&next.cost);
            for name in differing(&executed.verdict, &next.verdict) {
                if !executed.flaky.contains(&name) {
                    executed.flaky.push(name);
                }
            }
        }
        if let Some((complexity, submission)) = measured {
            executed.complexity = Some(self.measure(complexity, submission).await?);
        }
        Ok(executed)
    }
}

/// Names of the cases that ended otherwise; the whole, where that is all that can be said.
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
