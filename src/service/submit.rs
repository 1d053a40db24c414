//! One submission, with what is asked beside the verdict.

use super::receipts::Subject;
use super::{ExecuteError, Executed, Service};
use crate::domain::submission::Submission;
use crate::domain::verdict::Status;

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
        // Side by side; what is refused does not wait for the linter.
        let (mut executed, lint) = tokio::try_join!(self.execute(submission), lint)?;
        executed.lint = lint;
        // What the service failed at was not graded: there is nothing to be attested.
        executed.receipt = signing
            .filter(|_| executed.verdict.status != Status::InfrastructureError)
            .map(|(key, subject)| subject.receipt(&executed, &self.image, &key));
        Ok(executed)
    }
}
