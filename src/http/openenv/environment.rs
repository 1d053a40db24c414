//! `GET /ws`: an environment, which lives as long as its connection. Its interpreter is a session.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Utf8Bytes, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::http::AppState;
use crate::http::body::BodyReader;
use crate::http::error::Denied;
use crate::http::programs::{CellError, Failure, GOING_AWAY, Gone, Socket, until};
use crate::service::{CellAsked, CellExecution, OverQuota, OwnedSession, SessionAsked};
use proofbox_types::caller::Caller;
use proofbox_types::grant::AskedLimits;
use proofbox_types::session::DEFAULT_CONTEXT;
use proofbox_types::status::Status;

/// Longest time that a step waits and runs.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Longest silence of a client.
const MAX_SILENCE: Duration = Duration::from_secs(3600);
/// Lifetime of an environment's session, which is opened anew when it has ended.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Messages that may wait while a step runs, and their bytes.
const MAX_WAITING: usize = 8;
const MAX_WAITING_BYTES: usize = 1 << 20;
/// Code of the end of a connection that did what it was for.
const NORMAL: u16 = 1000;
/// Code of the end of a connection whose client says what it may not.
const VIOLATION: u16 = 1008;

/// Message of a client.
#[derive(Deserialize)]
struct Said {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    data: Map<String, Value>,
}

/// Error that a client is told of.
struct ErrorMessage {
    code: &'static str,
    message: String,
}

impl From<OverQuota> for ErrorMessage {
    fn from(error: OverQuota) -> Self {
        let failure = Failure::from(Denied::from(error));
        Self { code: "CAPACITY_REACHED", message: failure.message().to_owned() }
    }
}

impl From<Failure> for ErrorMessage {
    fn from(failure: Failure) -> Self {
        let code = match failure {
            Failure::Invalid(_) | Failure::TooLarge(_) => "VALIDATION_ERROR",
            Failure::Unsupported(_) | Failure::Refused(_) | Failure::Unauthenticated(_) => "EXECUTION_ERROR",
            Failure::Late(_) => "SESSION_ERROR",
        };
        Self { code, message: failure.message().to_owned() }
    }
}

/// Begins an environment.
pub(super) async fn connect(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    upgrade: WebSocketUpgrade,
    parts: Parts,
) -> Response {
    let Ok(reader) = BodyReader::of(&parts.extensions) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    Socket::open(upgrade, &parts, move |mut socket| async move {
        let mut environment = Environment { shared, caller, reader, session: None, episode: Episode::new() };
        let end = environment.serve(&mut socket).await;
        environment.end_session().await;
        if let Ok((code, reason)) = end {
            socket.close(code, reason).await;
        }
    })
}

/// State of an episode.
struct Episode {
    id: Uuid,
    steps: u64,
    last_exit_code: i32,
}

impl Episode {
    fn new() -> Self {
        Self { id: Uuid::now_v7(), steps: 0, last_exit_code: 0 }
    }
}

struct Environment {
    shared: AppState,
    caller: Caller,
    reader: BodyReader,
    /// Session of the interpreter; none before the first step of an episode.
    session: Option<OwnedSession>,
    episode: Episode,
}

impl Environment {
    /// Serves a client until it closes the environment, is silent for too long, or the service is going down; returns
    /// the code and the reason of the end.
    async fn serve(&mut self, socket: &mut Socket) -> Result<(u16, &'static str), Gone> {
        let draining = self.shared.draining.clone();
        let mut waiting = VecDeque::new();
        loop {
            if draining.has_begun() {
                return Ok(GOING_AWAY);
            }
            let text = match waiting.pop_front() {
                Some(text) => text,
                None => tokio::select! {
                    text = timeout(MAX_SILENCE, socket.next()) => match text {
                        Ok(text) => text?,
                        Err(_) => return Ok((NORMAL, "silent for too long")),
                    },
                    () = draining.begun() => return Ok(GOING_AWAY),
                },
            };
            let said = self.read(text).await;
            if matches!(&said, Ok(said) if said.kind == "close") {
                return Ok((NORMAL, ""));
            }
            let admitted = self.shared.service.keys.count_request(&self.caller).map_err(ErrorMessage::from);
            let answer = match admitted.and(said) {
                Ok(said) => {
                    let mut work = std::pin::pin!(self.answer(said));
                    // Whoever is heard while a step runs is alive, and whoever goes ends it.
                    loop {
                        tokio::select! {
                            answer = &mut work => break answer,
                            text = socket.next() => {
                                let text = text?;
                                let held: usize = waiting.iter().map(|text: &Utf8Bytes| text.len()).sum();
                                if waiting.len() >= MAX_WAITING || held + text.len() > MAX_WAITING_BYTES {
                                    return Ok((VIOLATION, "too many messages at once"));
                                }
                                waiting.push_back(text);
                            }
                            () = draining.ending() => return Ok(GOING_AWAY),
                        }
                    }
                }
                Err(told) => Err(told),
            };
            let answer = answer.unwrap_or_else(
                |ErrorMessage { code, message }| json!({"type": "error", "data": {"message": message, "code": code}}),
            );
            socket.send(&answer).await?;
        }
    }

    async fn read(&self, text: Utf8Bytes) -> Result<Said, ErrorMessage> {
        let read = |text: &[u8]| {
            serde_json::from_slice(text).map_err(|error| Failure::Invalid(format!("Invalid JSON: {error}")))
        };
        self.reader.for_message().parse(Bytes::from(text), read).await.map_err(|failure: Failure| match failure {
            Failure::Invalid(message) => ErrorMessage { code: "INVALID_JSON", message },
            failure => failure.into(),
        })
    }

    async fn answer(&mut self, said: Said) -> Result<Value, ErrorMessage> {
        match said.kind.as_str() {
            Some("reset") => {
                self.end_session().await;
                self.episode = Episode::new();
                Ok(observation("", "", 0))
            }
            Some("step") => self.step(said.data).await,
            Some("state") => {
                let Episode { id, steps, last_exit_code } = &self.episode;
                let state = json!({"episode_id": id, "step_count": steps, "last_exit_code": last_exit_code});
                Ok(json!({"type": "state", "data": state}))
            }
            _ => {
                let shown: String = said.kind.as_str().unwrap_or_default().chars().take(50).collect();
                Err(ErrorMessage { code: "UNKNOWN_TYPE", message: format!("Unknown message type: {shown}") })
            }
        }
    }

    async fn step(&mut self, data: Map<String, Value>) -> Result<Value, ErrorMessage> {
        let Some(code) = data.get("code").and_then(Value::as_str) else {
            return Err(ErrorMessage { code: "VALIDATION_ERROR", message: "an action has `code`, a text".to_owned() });
        };
        let ran = self.cell(code).await?;
        let error = CellError::of(&ran);
        let exit_code = i32::from(error.is_some());
        self.episode.steps += 1;
        self.episode.last_exit_code = exit_code;
        let main = ran.displays.iter().find(|display| display.is_main_result);
        let value = main.and_then(|display| display.data.iter().find(|(mime, _)| mime == "text/plain"));
        let stdout = joined(ran.execution.stdout.text(), value.map(|(_, text)| text.as_str()));
        let stderr = joined(ran.execution.stderr.text(), error.as_ref().map(|error| error.traceback.as_str()));
        Ok(observation(&stdout, &stderr, exit_code))
    }

    async fn cell(&mut self, code: &str) -> Result<CellExecution, Failure> {
        let sessions = &self.shared.service.sessions;
        let deadline = Instant::now() + MAX_WAIT;
        let session = match self.session.take() {
            Some(session) if sessions.info(session.id()).is_ok() => session,
            Some(_) => {
                return Err(Failure::Late("the environment's session has ended: reset the environment".to_owned()));
            }
            None => {
                let asked = SessionAsked {
                    caller: self.caller.clone(),
                    ttl: Some(LIFETIME),
                    idle: Some(MAX_SILENCE),
                    ..SessionAsked::default()
                };
                until(deadline, || sessions.open_owned(asked.clone())).await?
            }
        };
        let session = self.session.insert(session).id();
        let cell = CellAsked {
            code: code.to_owned(),
            code_field: "code",
            context: DEFAULT_CONTEXT,
            env: Vec::new(),
            limits: AskedLimits::default(),
            value: None,
        };
        let ran = until(deadline, || sessions.call(session, cell.clone())).await?;
        if ran.execution.verdict.status == Status::InfrastructureError {
            return Err(Failure::Late("the service failed; send this again".to_owned()));
        }
        Ok(ran)
    }

    async fn end_session(&mut self) {
        if let Some(session) = self.session.take() {
            session.end().await;
        }
    }
}

/// Joins what was written with what is shown after it, in lines of their own.
fn joined(mut written: String, shown: Option<&str>) -> String {
    if let Some(shown) = shown {
        if !written.is_empty() && !written.ends_with('\n') {
            written.push('\n');
        }
        written.push_str(shown);
    }
    written
}

/// Renders an observation. It has no reward: what code is worth, others decide.
fn observation(stdout: &str, stderr: &str, exit_code: i32) -> Value {
    let observation = json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code});
    json!({"type": "observation", "data": {"observation": observation, "reward": null, "done": false}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_lines_of_their_own() {
        assert_eq!(joined("a".to_owned(), Some("1")), "a\n1");
        assert_eq!(joined("a\n".to_owned(), Some("1")), "a\n1");
        assert_eq!(joined(String::new(), Some("1")), "1");
        assert_eq!(joined("a".to_owned(), None), "a");
    }
}
