//! Verdicts on files of sessions.

use super::{SessionError, SessionManager};
use crate::service::{ExecuteError, Execution};
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{FileAnswer, FileAsk};
use proofbox_types::submission::Submission;

/// Reason why a file of a session is not graded.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// File under test that does not exist.
    #[error("the session has no file `{0}` in /home/user")]
    NoFile(String),
    /// File under test that is no text.
    #[error("`{0}` is not UTF-8")]
    NotText(String),
    /// Session that does not give its files.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Refusal of the submission.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

impl SessionManager {
    /// Grades the file of a session at `path`, relative to the working directory, beside copies of the session's other
    /// files, in fresh interpreters. The session is left as it is. The submission comes without code and files; where it
    /// names no policy, the session's counts.
    ///
    /// # Errors
    /// Returns an error when it is refused; nothing was run.
    pub async fn grade(
        &self,
        caller: &Caller,
        id: SessionId,
        path: &str,
        mut submission: Submission,
    ) -> Result<Execution, GradeError> {
        let info = self.info(id)?;
        let ask =
            FileAsk::Collect { patterns: vec!["**".to_owned()], most_bytes: info.spec.grant.limits().files_bytes };
        let FileAnswer::Files(mut files) = self.files(id, ask).await? else {
            return Err(SessionError::Failed("files were collected, and none came".to_owned()).into());
        };
        files.retain(|file| !file.path.starts_with('/'));
        let file = files.iter().find(|file| file.path == path);
        let file = file.ok_or_else(|| GradeError::NoFile(path.to_owned()))?;
        submission.program.code =
            String::from_utf8(file.content.clone()).map_err(|_| GradeError::NotText(path.to_owned()))?;
        submission.program.files = files;
        submission.code_field = "path";
        submission.image = Some(info.spec.image.image_hash.clone());
        if submission.policy.is_empty() {
            submission.policy.clone_from(&info.spec.policy);
        }
        Ok(self.executor.submit(caller, Urgency::Interactive, submission).await?)
    }
}
