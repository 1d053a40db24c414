//! `$(…)`: what commands write, as text. `<(…)`: the same, as a file.

use crate::PIPE_BYTES;
use crate::bounds::{Held, MAX_SUBSTITUTED_FILES, MAX_TEXT};
use crate::state::{Shell, Stop, TemporaryFile, reason};
use crate::streams::{Reader, pipe};
use crate::syntax::{Kind, List, Target};
use proofbox_vfs::{FilesError, lock};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Output of commands, in memory that is counted.
struct Captured {
    bytes: Vec<u8>,
    _held: Held,
}

impl Shell {
    /// Runs commands in a subshell and takes what they write, without the newlines at its end.
    pub(crate) async fn substitute(&mut self, list: &List) -> Result<String, Stop> {
        if let Some(target) = only_reads(list) {
            let mut shell = self.subshell().await?;
            return match shell.redirect(target).await {
                Ok(()) => {
                    self.substituted = Some(0);
                    Ok(text_of(self.collect(shell.streams.stdin, "command substitution").await?.bytes))
                }
                Err(Stop::Failed(code)) => {
                    self.substituted = Some(code);
                    Ok(String::new())
                }
                Err(stop) => Err(stop),
            };
        }
        let mut shell = self.subshell().await?;
        shell.options.exit_on_error &= shell.options.passes_exit_on_error;
        let (code, captured) = self.capture(shell, list, "command substitution").await?;
        self.status = code;
        self.substituted = Some(code);
        Ok(text_of(captured?.bytes))
    }

    /// Runs commands in a subshell to their end; the path of a file with what they wrote, which lasts as long as the
    /// command around.
    pub(crate) async fn substitute_process(&mut self, list: &List) -> Result<String, Stop> {
        if self.substituted_files.len() >= MAX_SUBSTITUTED_FILES {
            let what = format!("more than {MAX_SUBSTITUTED_FILES} process substitutions at a time");
            self.error("", &what).await;
            return Err(Stop::Exit(1));
        }
        let shell = self.subshell().await?;
        let (_, captured) = self.capture(shell, list, "process substitution").await?;
        let captured = captured?;
        loop {
            self.step(1 + captured.bytes.len() as u64 / 4096).await?;
            match self.make_file(&captured.bytes) {
                Ok(None) => {}
                Ok(Some(file)) => {
                    let path = file.path.clone();
                    self.substituted_files.push(Arc::new(file));
                    return Ok(path);
                }
                Err(error) => {
                    self.error("", &format!("process substitution: {}", reason(&error))).await;
                    return Err(Stop::Exit(1));
                }
            }
        }
    }

    /// Makes a file under the next name; none when another script has that one.
    fn make_file(&self, bytes: &[u8]) -> Result<Option<TemporaryFile>, FilesError> {
        let path = format!("/tmp/.sh-{}", self.shared.next_file.fetch_add(1, Ordering::Relaxed));
        let mut tree = lock(&self.tree);
        if tree.stat(&path).is_ok() {
            return Ok(None);
        }
        tree.write_file(&path, bytes, self.now())?;
        let time = Arc::clone(&self.shared.time);
        Ok(Some(TemporaryFile { tree: self.tree.clone(), time, path }))
    }

    /// Runs commands in a subshell; its exit code, and what it wrote, of which there may have been too much.
    async fn capture(&self, mut shell: Shell, list: &List, what: &str) -> Result<(i32, Result<Captured, Stop>), Stop> {
        let Some(process) = self.shared.used.process() else {
            return Err(self.no_process().await);
        };
        let (writer, reader) = pipe(PIPE_BYTES);
        shell.streams.stdout = writer;
        let work = async move {
            let done = shell.run_list(list).await;
            let code = shell.code_of(done);
            drop(process);
            (code, done == Err(Stop::Spent))
        };
        let ((code, spent), captured) = futures_util::future::join(work, self.collect(reader, what)).await;
        match spent {
            true => Err(Stop::Spent),
            false => Ok((code, captured)),
        }
    }

    async fn collect(&self, mut reader: Reader, what: &str) -> Result<Captured, Stop> {
        let Some(mut held) = self.shared.used.hold(0) else { return Err(self.too_large(what).await) };
        let mut bytes = Vec::new();
        loop {
            let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
            self.step(1).await?;
            if read == 0 {
                return Ok(Captured { bytes, _held: held });
            }
            if bytes.len() > MAX_TEXT || !held.grow(read) {
                return Err(self.too_large(what).await);
            }
        }
    }
}

/// The text of a command substitution: what was written, without null bytes and the newlines at its end.
fn text_of(mut bytes: Vec<u8>) -> String {
    bytes.retain(|byte| *byte != 0);
    let end = bytes.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
    bytes.truncate(end);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
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
