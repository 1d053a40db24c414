//! One submission, with what is asked beside the verdict.

use super::receipts::Subject;
use super::{ExecuteError, Executed, Service};
use crate::domain::submission::Submission;
use crate::domain::verdict::Status;

impl Service {
    /// Admits, runs and grades one submission, and signs a receipt where one is asked for.
    ///
    /// # Errors
    /// When it is refused; nothing was run.
    pub async fn submit(&self, submission: Submission) -> Result<Executed, ExecuteError> {
        // Without a key there would be no receipt in the end: told before anything runs.
        let signing = match &submission.receipt {
            None => None,
            Some(asked) => Some((self.receipts.key().await?, Subject::of(&submission, asked.tests_sha256.as_deref()))),
        };
        let mut executed = self.execute(submission).await?;
        // What the service failed at was not graded: there is nothing to be attested.
        executed.receipt = signing
            .filter(|_| executed.verdict.status != Status::InfrastructureError)
            .map(|(key, subject)| subject.receipt(&executed, &self.image, &key));
        Ok(executed)
    }
}
