//! Packages that a session begins with: `pip` installs them in it, from the approved wheels and the session's own files.

use std::sync::Arc;

use super::commands::{CommandAsked, CommandEnd, OutputRetention, script_of_words};
use super::{SessionError, SessionManager};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Command, Stdin};

/// Maximum number of packages that a session asks for at its start.
pub const MAX_PACKAGES: usize = 100;
/// Maximum length of a requirement, in bytes.
pub const MAX_REQUIREMENT_BYTES: usize = 500;
/// Size of the end of `pip`'s messages that an error quotes, in bytes.
const QUOTED_BYTES: usize = 2000;

impl SessionManager {
    /// Installs packages in a session that was just opened. One that can't have them is ended.
    ///
    /// # Errors
    /// Returns [`SessionError::Packages`] when `pip` fails, and the errors of a command.
    pub(super) async fn install_packages(
        self: &Arc<Self>,
        id: SessionId,
        requirements: &[String],
    ) -> Result<(), SessionError> {
        let installed = self.run_pip(id, requirements).await;
        if installed.is_err() {
            // Whoever asked for it never learns its id.
            let _ = self.end(id).await;
        }
        installed
    }

    async fn run_pip(self: &Arc<Self>, id: SessionId, requirements: &[String]) -> Result<(), SessionError> {
        let words = ["pip", "install", "--quiet", "--"].into_iter().chain(requirements.iter().map(String::as_str));
        let command = Command { script: script_of_words(words), stdin: Stdin::Given(Vec::new()), ..Command::default() };
        let asked = CommandAsked { command, retention: OutputRetention::UntilEnd, ..CommandAsked::default() };
        let (running, mut events) = self.start_command(id, asked).await?;
        while events.recv().await.is_some() {}
        match running.progress().end {
            Some(CommandEnd::Exited(outcome)) if outcome.exit_code == 0 => Ok(()),
            Some(CommandEnd::Failed(message)) => Err(SessionError::Failed(message)),
            Some(CommandEnd::Killed(_) | CommandEnd::SessionEnded) | None => Err(SessionError::NotFound),
            Some(CommandEnd::Exited(_)) => {
                let (stdout, stderr) = running.output();
                let said = [stdout.head, stderr.head].concat();
                let end = said.len().saturating_sub(QUOTED_BYTES);
                Err(SessionError::Packages { message: String::from_utf8_lossy(&said[end..]).trim().to_owned() })
            }
        }
    }
}
