//! `POST /execute`: cells of named sessions, programs and scripts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use proofbox_memory::Next;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use tokio::time::Instant;

use super::NemoSkills;
use super::error::NemoSkillsError;
use super::names::{InUse, MAX_NAME_BYTES};
use super::traceback::Verbosity;
use crate::http::output::Running;
use crate::http::programs::{
    CellError, Ending, Failure, ProgramLimits, ReadBody, Run, TimeLimit, answer, is_out_of_time, read,
    stderr_with_reason, until,
};
use crate::service::{
    CellAsked, CellExecution, CommandAsked, CommandEnd, CommandEvent, CommandProgress, OutputRetention, RequestDigest,
    SessionAsked, SessionError,
};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::program::Program;
use proofbox_types::session::{Command, DEFAULT_CONTEXT};
use proofbox_types::status::{FailureClass, Status};

/// Time limit of a request that names none, in seconds.
const DEFAULT_TIMEOUT: f64 = 10.0;
/// Characters of a stream that are answered where a request does not say how many.
const DEFAULT_CHARACTERS: usize = 1000;
/// Longest time that a request waits.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Lifetime of a session.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Lifetime of a session that is not used: clients don't end those that they use once.
const IDLE: Duration = Duration::from_secs(3600);
/// Lifetime of the session of a script that is not used.
const SCRIPT_IDLE: Duration = Duration::from_secs(30);
/// Times that a cell is tried whose session is gone.
const MAX_TRIES: usize = 3;
/// Header that says what a result rests on: `none`, as the program itself wrote all of it.
const INTEGRITY: HeaderName = HeaderName::from_static("x-proofbox-integrity");

#[derive(Deserialize)]
struct ExecuteRequest {
    generated_code: String,
    #[serde(default)]
    timeout: Option<Number>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    std_input: Option<String>,
    #[serde(default)]
    max_output_characters: Option<usize>,
    #[serde(default)]
    traceback_verbosity: Option<String>,
}

/// Answer to `POST /execute`.
#[derive(Debug, Default, Serialize)]
struct ExecuteAnswer {
    process_status: &'static str,
    stdout: String,
    stderr: String,
    /// Whether a cell found a session without what ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_session_created: Option<bool>,
}

impl ExecuteAnswer {
    fn out_of_time(timeout: &Number) -> Self {
        let stderr = format!("Execution timed out after {timeout} seconds\n");
        Self { process_status: "timeout", stderr, ..Self::default() }
    }

    fn cut(mut self, most: usize) -> Self {
        for text in [&mut self.stdout, &mut self.stderr] {
            if let Some((end, _)) = text.char_indices().nth(most) {
                text.truncate(end);
                text.push_str("<output cut>");
            }
        }
        self
    }
}

/// Runs code.
pub(super) async fn execute(
    State(nemo_skills): State<NemoSkills>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move { run(&nemo_skills, &caller, request).await };
    let mut answer = answer(work, |error| error.to_json()).await;
    answer.headers_mut().insert(INTEGRITY, HeaderValue::from_static("none"));
    answer
}

async fn run(nemo_skills: &NemoSkills, caller: &Caller, request: Request) -> Result<ExecuteAnswer, NemoSkillsError> {
    let name = request.headers().get("x-session-id").and_then(|name| name.to_str().ok()).map(str::to_owned);
    let ReadBody { body, digest, arrived } = read::<ExecuteRequest>(request).await?;
    let timeout = body.timeout.or_else(|| Number::from_f64(DEFAULT_TIMEOUT)).unwrap_or_else(|| 10.into());
    let asked = Execute {
        nemo_skills,
        caller,
        time: TimeLimit::seconds(timeout.as_f64().unwrap_or(DEFAULT_TIMEOUT)),
        timeout,
        deadline: arrived + MAX_WAIT,
    };
    let done = match body.language.as_deref().unwrap_or("ipython") {
        "ipython" => {
            let name = name.filter(|name| !name.is_empty()).ok_or_else(NemoSkillsError::no_name)?;
            if name.len() > MAX_NAME_BYTES {
                let message = format!("X-Session-ID has {} bytes; at most {MAX_NAME_BYTES} are read", name.len());
                return Err(Failure::TooLarge(message).into());
            }
            let verbosity = Verbosity::named(body.traceback_verbosity.as_deref().unwrap_or("Plain"));
            asked.cell(&name, body.generated_code, verbosity).await?
        }
        // One interpreter stands for all of them.
        "python" | "python3" | "pypy3" => {
            let stdin = body.std_input.unwrap_or_default();
            asked.program(body.generated_code, stdin, digest, arrived).await?
        }
        "shell" => asked.script(body.generated_code).await?,
        other => {
            let shown: String = other.chars().take(50).collect();
            let stderr =
                format!("language `{shown}` is not supported here: this sandbox runs ipython, python and shell\n");
            ExecuteAnswer { process_status: "error", stderr, ..ExecuteAnswer::default() }
        }
    };
    Ok(done.cut(body.max_output_characters.unwrap_or(DEFAULT_CHARACTERS)))
}

/// Code that is to be run.
struct Execute<'a> {
    nemo_skills: &'a NemoSkills,
    caller: &'a Caller,
    time: TimeLimit,
    /// The same as the request has it.
    timeout: Number,
    deadline: Instant,
}

impl Execute<'_> {
    fn limits(&self) -> ProgramLimits {
        ProgramLimits { time: self.time, cpu: None, memory_bytes: None }
    }

    /// Runs a program of its own.
    async fn program(
        &self,
        code: String,
        stdin: String,
        request: RequestDigest,
        arrived: Instant,
    ) -> Result<ExecuteAnswer, Failure> {
        let program = Program { code, stdin: stdin.into_bytes(), ..Program::default() };
        let run = Run { program, tests: None, limits: self.limits(), request, arrived };
        let execution = run.execute(&self.nemo_skills.shared, self.caller).await?;
        Ok(match Ending::of(&execution, self.time) {
            Ending::OutOfTime => ExecuteAnswer::out_of_time(&self.timeout),
            // NeMo-Skills' own sandbox does not look at the exit code.
            Ending::Exited(_) | Ending::Signalled(_) | Ending::OutOfMemory | Ending::TooMuchOutput => ExecuteAnswer {
                process_status: "completed",
                stdout: execution.stdout.text(),
                stderr: stderr_with_reason(&execution),
                new_session_created: None,
            },
        })
    }

    /// Runs a script of the shell, in a session that ends with it.
    async fn script(&self, script: String) -> Result<ExecuteAnswer, Failure> {
        let sessions = &self.nemo_skills.shared.service.sessions;
        let limits = self.nemo_skills.shared.limits_of(self.caller, self.limits());
        let asked = SessionAsked {
            caller: self.caller.clone(),
            limits,
            ttl: Some(MAX_WAIT),
            idle: Some(SCRIPT_IDLE),
            ..SessionAsked::default()
        };
        let session = until(self.deadline, || sessions.open_owned(asked.clone())).await?;
        let command = CommandAsked {
            command: Command { script, ..Command::default() },
            retention: OutputRetention::UntilEnd,
            ..CommandAsked::default()
        };
        let ended = async {
            let (command, mut events) =
                until(self.deadline, || sessions.start_command(session.id(), command.clone())).await?;
            let _running = Running(Arc::clone(&command));
            while !matches!(events.recv().await, None | Some(Next::Piece(CommandEvent::Ended(_)))) {}
            let (stdout, stderr) = command.output();
            Ok::<_, Failure>((stdout, stderr, command.progress()))
        };
        let ended = ended.await;
        session.end().await;
        let (stdout, stderr, CommandProgress { end, .. }) = ended?;
        let process_status = match end {
            Some(CommandEnd::Exited(outcome)) => match outcome.class {
                FailureClass::Timeout | FailureClass::FuelExhausted => {
                    return Ok(ExecuteAnswer::out_of_time(&self.timeout));
                }
                _ if outcome.exit_code == 0 => "completed",
                _ => "error",
            },
            Some(CommandEnd::Killed(_)) => "error",
            Some(CommandEnd::SessionEnded | CommandEnd::Failed(_)) | None => {
                return Err(Failure::Late("the service failed; send this again".to_owned()));
            }
        };
        Ok(ExecuteAnswer { process_status, stdout: stdout.text(), stderr: stderr.text(), new_session_created: None })
    }

    /// Runs a cell in the session of this name.
    async fn cell(&self, name: &str, code: String, verbosity: Verbosity) -> Result<ExecuteAnswer, Failure> {
        let NemoSkills { shared, names } = self.nemo_skills;
        let named = names.take(self.caller.owner(), name);
        let cell = CellAsked {
            code,
            code_field: "generated_code",
            context: DEFAULT_CONTEXT,
            env: Vec::new(),
            limits: shared.limits_of(self.caller, self.limits()),
            value: None,
        };
        for _ in 0..MAX_TRIES {
            let (session, is_new) = self.session(&named).await?;
            let call = async || match shared.service.sessions.call(session, cell.clone()).await {
                // It ended between being found and being used: another takes its place.
                Err(SessionError::NotFound | SessionError::Lost) => Ok(None),
                ran => ran.map(Some),
            };
            let Some(ran) = until(self.deadline, call).await? else { continue };
            if ran.execution.verdict.status == Status::InfrastructureError {
                return Err(Failure::Late("the service failed; send this again".to_owned()));
            }
            let was_restarted = named.is_restarted.swap(ran.restarted, Ordering::Relaxed);
            let is_new = is_new || was_restarted || ran.restarted;
            return Ok(ExecuteAnswer { new_session_created: Some(is_new), ..self.of_cell(ran, verbosity) });
        }
        Err(Failure::Late("the session can't be used now; send this again".to_owned()))
    }

    /// Returns the session of a name, and whether it has been opened for this call.
    async fn session(&self, named: &InUse) -> Result<(SessionId, bool), Failure> {
        let NemoSkills { shared, names } = self.nemo_skills;
        let sessions = &shared.service.sessions;
        let mut slot = named.session.lock().await;
        if let Some(session) = slot.filter(|session| sessions.info(*session).is_ok()) {
            return Ok((session, false));
        }
        let asked = SessionAsked {
            caller: self.caller.clone(),
            ttl: Some(LIFETIME),
            idle: Some(IDLE),
            ..SessionAsked::default()
        };
        let open = async || {
            let opened = sessions.open_owned(asked.clone()).await;
            // Clients leave sessions behind, and can restore those that are gone.
            if matches!(opened, Err(SessionError::TooMany { .. }))
                && let Some(oldest) = names.remove_oldest(self.caller.owner())
            {
                let _ = sessions.end(oldest).await;
                return sessions.open_owned(asked.clone()).await;
            }
            opened
        };
        // From now on the name leads to it; until then it ends with the request.
        let session = until(self.deadline, open).await?.release();
        *slot = Some(session);
        named.note(session);
        named.is_restarted.store(false, Ordering::Relaxed);
        Ok((session, true))
    }

    fn of_cell(&self, ran: CellExecution, verbosity: Verbosity) -> ExecuteAnswer {
        let stdout = ran.execution.stdout.text();
        let stderr = ran.execution.stderr.text();
        if self.time.is_exceeded_by(&ran.execution) {
            // What ended by itself, and too late, has no output.
            let stdout = if is_out_of_time(&ran) { tidy(stdout) } else { String::new() };
            return ExecuteAnswer { stdout, ..ExecuteAnswer::out_of_time(&self.timeout) };
        }
        let shown = ran.displays.iter().flat_map(|display| &display.data);
        let mut parts = vec![stdout];
        parts.extend(shown.filter(|(mime, _)| mime == "text/plain").map(|(_, text)| text.clone()));
        let error = CellError::of(&ran);
        let process_status = if error.is_some() { "error" } else { "completed" };
        // As IPython writes them.
        parts.extend(error.map(|error| verbosity.render(&error.traceback)));
        let mut stdout = String::new();
        for part in parts {
            if !stdout.is_empty() && !stdout.ends_with('\n') {
                stdout.push('\n');
            }
            stdout.push_str(&part);
        }
        ExecuteAnswer { process_status, stdout: tidy(stdout), stderr: tidy(stderr), new_session_created: None }
    }
}

/// Returns text without blank lines before and white space after it, with the end of its last line, as NeMo-Skills
/// has it.
fn tidy(text: String) -> String {
    match text.trim_end().trim_start_matches('\n') {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_characters() {
        let answer =
            ExecuteAnswer { stdout: "äöü".to_owned(), stderr: "abc".to_owned(), ..ExecuteAnswer::default() };
        let answer = answer.cut(2);
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("äö<output cut>", "ab<output cut>"));
        let whole = ExecuteAnswer { stdout: "äöü".to_owned(), ..ExecuteAnswer::default() }.cut(3);
        assert_eq!(whole.stdout, "äöü");
    }

    #[test]
    fn times_are_told_as_they_were_asked_for() {
        for (timeout, told) in [(Number::from(1), "1"), (Number::from_f64(10.0).expect("finite"), "10.0")] {
            let stderr = ExecuteAnswer::out_of_time(&timeout).stderr;
            assert_eq!(stderr, format!("Execution timed out after {told} seconds\n"));
        }
    }

    #[test]
    fn output_has_no_blank_lines_around() {
        assert_eq!(tidy("\n\n a\n\n".to_owned()), " a\n");
        assert_eq!(tidy("\n \n".to_owned()), "");
    }
}
