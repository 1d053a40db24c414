//! `$(…)`: what commands write, as text.

use crate::PIPE_BYTES;
use crate::bounds::MAX_TEXT;
use crate::state::{Shell, Stop};
use crate::streams::{Reader, pipe};
use crate::syntax::{Kind, List, Target};

impl Shell {
    /// Runs commands in a subshell and takes what they write, without the newlines at its end.
    pub(crate) async fn substitute(&mut self, list: &List) -> Result<String, Stop> {
        if let Some(target) = only_reads(list) {
            let mut shell = self.subshell().await?;
            return match shell.redirect(target).await {
                Ok(()) => {
                    self.substituted = Some(0);
                    self.collect(shell.streams.stdin).await
                }
                Err(Stop::Failed(code)) => {
                    self.substituted = Some(code);
                    Ok(String::new())
                }
                Err(stop) => Err(stop),
            };
        }
        let Some(process) = self.shared.used.process() else {
            self.error("", "fork: retry: Resource temporarily unavailable").await;
            return Err(Stop::Exit(254));
        };
        let mut shell = self.subshell().await?;
        shell.options.exit_on_error &= false;
        let (writer, reader) = pipe(PIPE_BYTES);
        shell.streams.stdout = writer;
        let work = async move {
            let done = shell.run_list(list).await;
            let code = shell.code_of(done);
            drop(process);
            (code, done == Err(Stop::Spent))
        };
        let ((code, spent), text) = futures_util::future::join(work, self.collect(reader)).await;
        if spent {
            return Err(Stop::Spent);
        }
        self.status = code;
        self.substituted = Some(code);
        text
    }

    async fn collect(&self, mut reader: Reader) -> Result<String, Stop> {
        let Some(mut held) = self.shared.used.hold(0) else { return Err(self.too_large("substitution").await) };
        let mut bytes = Vec::new();
        loop {
            let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
            self.step(1).await?;
            if read == 0 {
                break;
            }
            if bytes.len() > MAX_TEXT || !held.grow(read) {
                return Err(self.too_large("command substitution").await);
            }
        }
        bytes.retain(|byte| *byte != 0);
        let end = bytes.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
        bytes.truncate(end);
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

/// `$(< file)`
fn only_reads(list: &List) -> Option<&[crate::syntax::Redirection]> {
    let [item] = list.as_slice() else { return None };
    let [command] = item.chain.first.commands.as_slice() else { return None };
    match (&command.kind, command.redirections.as_slice()) {
        (Kind::Simple { assignments, words }, redirections)
            if assignments.is_empty()
                && words.is_empty()
                && item.chain.rest.is_empty()
                && matches!(redirections, [one] if matches!(one.to, Target::Read(_)) && one.descriptor.is_none()) =>
        {
            Some(redirections)
        }
        _ => None,
    }
}
