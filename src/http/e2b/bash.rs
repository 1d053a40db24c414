//! Cells in bash: each is a command of the sandbox, in a shell of its own.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::{Stream, stream};
use proofbox_memory::Next;
use proofbox_types::ids::SessionId;
use proofbox_types::session::Command;
use serde_json::{Value, json};

use super::error::E2bError;
use super::lines::{KEEP_ALIVE, output, streamed, told};
use super::{E2b, control, json_ascii};
use crate::http::output::{Running, TextPieces};
use crate::service::{CommandAsked, CommandEnd, CommandEvent, CommandEvents, overflow_note};

/// Runs a cell.
pub(super) async fn execute(
    e2b: &E2b,
    sandbox: SessionId,
    code: String,
    env: BTreeMap<String, String>,
) -> Result<Response, E2bError> {
    control::check_env(&env)?;
    let command = Command { script: code, env: env.into_iter().collect(), ..Command::default() };
    let asked = CommandAsked { command, ..CommandAsked::default() };
    let started = e2b.shared.service.sessions.start_command(sandbox, asked).await;
    let (command, events) = started.map_err(|error| E2bError::of_sandbox(&sandbox.simple(), error))?;
    Ok(streamed(lines(Running(command), events)))
}

fn lines(cell: Running, events: CommandEvents) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    let begin = json!({"type": "number_of_executions", "execution_count": 1});
    let state = Some((cell, events, TextPieces::default(), TextPieces::default(), Some(begin)));
    stream::unfold(state, |state| async move {
        let (cell, mut events, mut stdout, mut stderr, begin) = state?;
        if let Some(begin) = begin {
            return Some((Ok(line(&[begin])), Some((cell, events, stdout, stderr, None))));
        }
        let next = tokio::select! {
            next = events.recv() => next,
            () = tokio::time::sleep(KEEP_ALIVE) => {
                return Some((Ok(line(&[json!({"type": "keepalive"})])), Some((cell, events, stdout, stderr, None))));
            }
        };
        let told = match next {
            Some(Next::Piece(CommandEvent::Stdout(bytes))) => output("stdout", &stdout.push(&bytes)),
            Some(Next::Piece(CommandEvent::Stderr(bytes))) => output("stderr", &stderr.push(&bytes)),
            Some(Next::Overflow(bytes)) => output("stderr", &overflow_note(bytes)),
            Some(Next::Piece(CommandEvent::Ended(CommandEnd::SessionEnded))) | None => {
                return Some((Err(std::io::Error::other("the sandbox has ended")), None));
            }
            Some(Next::Piece(CommandEvent::Ended(end))) => {
                let rests = [("stdout", stdout.end()), ("stderr", stderr.end())];
                let mut last: Vec<Value> =
                    rests.iter().filter(|(_, rest)| !rest.is_empty()).map(|(kind, rest)| output(kind, rest)).collect();
                last.extend(error_of(&end));
                last.push(json!({"type": "end_of_execution"}));
                return Some((Ok(line(&last)), None));
            }
        };
        Some((Ok(line(&[told])), Some((cell, events, stdout, stderr, None))))
    })
}

fn line(all: &[Value]) -> Bytes {
    all.iter().map(json_ascii::line).collect::<Vec<_>>().concat().into()
}

/// Returns the error of a cell that did not succeed: E2B's kernel gives the exit code as the value of a nameless one.
fn error_of(end: &CommandEnd) -> Option<Value> {
    match end {
        CommandEnd::Exited(outcome) if outcome.exit_code == 0 => None,
        CommandEnd::Exited(outcome) => Some(told("", &outcome.exit_code.to_string(), "")),
        CommandEnd::Killed(_) | CommandEnd::SessionEnded => Some(told("", "signal: killed", "")),
        CommandEnd::Failed(why) => Some(told("SandboxError", why, "")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::StreamExt;
    use proofbox_memory::Budget;
    use proofbox_types::session::{CommandOutcome, Signal};
    use proofbox_types::status::FailureClass;

    use super::*;
    use crate::service::SessionCommand;

    fn running() -> Arc<SessionCommand> {
        let budget = Budget::new(1 << 20).account(None);
        Arc::new(SessionCommand::new(7, CommandAsked::default(), budget.clone(), &budget))
    }

    #[tokio::test]
    async fn an_exit_code_is_an_error() {
        let command = running();
        let events = command.listen();
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"hi\n")));
        let class = FailureClass::NonzeroExit;
        let outcome = CommandOutcome { exit_code: 3, class, fuel: 0, stdout_bytes: 3, stderr_bytes: 0 };
        command.tell(CommandEvent::Ended(CommandEnd::Exited(outcome)));
        let told: Vec<_> = lines(Running(command), events).map(|line| line.expect("the sandbox lives")).collect().await;
        let told = String::from_utf8(told.concat()).expect("ASCII");
        let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let kinds: Vec<_> = told.iter().map(|line| line["type"].as_str().expect("a type")).collect();
        assert_eq!(kinds, ["number_of_executions", "stdout", "error", "end_of_execution"]);
        assert_eq!((&told[1]["text"], &told[2]["value"]), (&json!("hi\n"), &json!("3")));
    }

    #[tokio::test]
    async fn a_cell_that_nobody_reads_is_killed() {
        let command = running();
        let killed = Arc::clone(&command);
        drop(lines(Running(Arc::clone(&command)), command.listen()));
        assert_eq!(killed.killed().await, CommandEnd::Killed(Signal::Kill));
    }
}
