//! `/v1/sessions/{id}/commands`

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::super::answer::ErrorBody;
use super::super::request::checked_env;
use super::stream::{Form, KEEP_ALIVE};
use super::{own_session, time};
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::extract::JsonBody;
use crate::http::output::{Running, TextPieces};
use crate::service::{
    CommandAsked, CommandEnd, CommandEvent, CommandEvents, CommandProgress, OutputRetention, SessionCommand,
    SessionError, script_of_words,
};
use proofbox_memory::Next;
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::outcome::Captured;
use proofbox_types::session::{Command, CommandNumber, Signal, Stdin};
use proofbox_types::status::FailureClass;

/// Length of a script that answers show, in bytes.
const MAX_SHOWN_BYTES: usize = 4096;

/// Command for a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandRequest {
    /// Script for the shell. Required unless `argv` is given.
    command: Option<String>,
    /// Program and its arguments, instead of `command`: the shell interprets none of them.
    argv: Option<Vec<String>>,
    /// Whole standard input. If absent, that of a background command is open for `POST …/input`, and that of another
    /// command is empty.
    stdin: Option<String>,
    /// Working directory; if absent, that of the session: `/home/user`, or what its checkpoint says.
    cwd: Option<String>,
    /// Environment variables, over the session's own.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Time that it may take, in seconds; if absent, the `wall_seconds` of the session.
    timeout_seconds: Option<f64>,
    /// Set to answer at once, and to let it run on.
    #[serde(default)]
    background: bool,
}

/// Input for a command.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputRequest {
    /// Text to write.
    #[serde(default)]
    data: String,
    /// Set to close the standard input after it.
    #[serde(default)]
    close: bool,
}

/// Signal for a command.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalRequest {
    /// `SIGINT`, `SIGTERM`, `SIGKILL`
    #[schema(value_type = String, pattern = "^SIG(INT|TERM|KILL)$")]
    signal: Signal,
}

/// State of a command, without its output.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CommandState {
    id: String,
    session_id: String,
    /// Beginning of the script that the shell runs.
    command: String,
    /// `running`; `exited`; `killed`, by a signal; `session_ended`, as its session has ended; `failed`, as the service
    /// could not go on with it.
    #[schema(example = "exited")]
    state: &'static str,
    #[schema(format = DateTime)]
    started_at: String,
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// Time from its start to its end, or until now.
    duration_seconds: f64,
    /// Exit code that a shell would see: 127 for a missing program, 124 at the end of its time, 128 and the number of
    /// the signal that ended it.
    exit_code: Option<i32>,
    #[schema(example = "none")]
    stderr_class: &'static str,
    timed_out: bool,
    /// Signal that ended it.
    signal: Option<&'static str>,
    /// Fuel of the command's Python; null while it runs, and where it was killed.
    fuel_used: Option<u64>,
    /// Reason why the service could not go on with it.
    error: Option<String>,
}

/// A command with its output.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CommandAnswer {
    #[serde(flatten)]
    state: CommandState,
    stdout: String,
    stderr: String,
    /// Bytes written in all, including those that `stdout` leaves out.
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
}

/// Commands of a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct CommandList {
    /// Commands that run, and the last background commands that have ended, in the order of their start.
    commands: Vec<CommandState>,
}

fn state_of(session: SessionId, command: &SessionCommand) -> CommandState {
    let script = &command.command().script;
    let CommandProgress { end, ended, duration } = command.progress();
    let mut state = CommandState {
        id: command.number().to_string(),
        session_id: session.to_string(),
        command: script[..script.floor_char_boundary(MAX_SHOWN_BYTES)].to_owned(),
        state: "running",
        started_at: time(command.started()),
        ended_at: ended.map(time),
        duration_seconds: duration.as_secs_f64(),
        exit_code: None,
        stderr_class: FailureClass::None.as_str(),
        timed_out: false,
        signal: None,
        fuel_used: None,
        error: None,
    };
    let mut ended_by = |name, signal: Signal| {
        state.state = name;
        state.exit_code = Some(signal.exit_code());
        state.stderr_class = FailureClass::NonzeroExit.as_str();
        state.signal = Some(signal.as_str());
    };
    match end {
        None => {}
        Some(CommandEnd::Killed(signal)) => ended_by("killed", signal),
        Some(CommandEnd::SessionEnded) => ended_by("session_ended", Signal::Kill),
        Some(CommandEnd::Exited(outcome)) => {
            state.state = "exited";
            state.exit_code = Some(outcome.exit_code);
            state.stderr_class = outcome.class.as_str();
            state.timed_out = outcome.class == FailureClass::Timeout;
            state.fuel_used = Some(outcome.fuel);
        }
        Some(CommandEnd::Failed(error)) => {
            state.state = "failed";
            state.stderr_class = FailureClass::InfrastructureError.as_str();
            state.error = Some(error);
        }
    }
    state
}

fn answer_of(session: SessionId, command: &SessionCommand) -> CommandAnswer {
    let state = state_of(session, command);
    let (stdout, stderr) = command.output();
    CommandAnswer {
        state,
        stdout_bytes: stdout.total_bytes,
        stderr_bytes: stderr.total_bytes,
        stdout_truncated: stdout.is_truncated(),
        stderr_truncated: stderr.is_truncated(),
        stdout: stdout.text(),
        stderr: stderr.text(),
    }
}

fn asked_of(request: CommandRequest) -> Result<CommandAsked, ApiError> {
    let (script, field) = match (request.command, request.argv) {
        (Some(command), None) => (command, "command"),
        (None, Some(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => {
            (script_of_words(argv.iter().map(String::as_str)), "argv")
        }
        (None, Some(_)) => return Err(ApiError::meaningless("argv", "its first word names the program")),
        (Some(_), Some(_)) => {
            return Err(ApiError::meaningless("argv", "give either `command` or `argv`, not both"));
        }
        (None, None) => {
            return Err(ApiError::malformed(Some("command".to_owned()), "missing field `command` (or `argv`)"));
        }
    };
    if script.contains('\0') {
        return Err(ApiError::meaningless(field, "it has a NUL"));
    }
    checked_env(&request.env)?;
    let stdin = match request.stdin {
        Some(text) => Stdin::Given(text.into_bytes()),
        None if request.background => Stdin::Open,
        None => Stdin::default(),
    };
    let cwd = request.cwd.filter(|cwd| !cwd.is_empty());
    Ok(CommandAsked {
        command: Command {
            script,
            args: Vec::new(),
            cwd,
            env: request.env.into_iter().collect(),
            stdin,
            ..Command::default()
        },
        timeout_seconds: request.timeout_seconds,
        user: None,
        tag: None,
        retention: if request.background { OutputRetention::AfterEnd } else { OutputRetention::UntilEnd },
    })
}

/// Runs a command in a session.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/commands",
    request_body = CommandRequest,
    responses(
        (status = 200, description = "The service did its work, whatever the command did. With `Accept: \
            application/x-ndjson` or `text/event-stream` events come as they happen: `begin`, `stdout`, `stderr`, \
            `overflow`, `keepalive`, and last `end` with the whole answer", body = CommandAnswer),
        (status = 201, description = "It runs in the background", body = CommandAnswer),
        (status = 404, description = "There is no such session", body = ErrorBody),
        (status = 409, description = "It is paused, or runs too many commands", body = ErrorBody),
    )
)]
pub(crate) async fn start(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<CommandRequest>,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &session)?;
    let is_background = request.background;
    let (command, mut events) = shared.service.sessions.start_command(id, asked_of(request)?).await?;
    if is_background {
        return Ok((StatusCode::CREATED, Json(answer_of(id, &command))).into_response());
    }
    let foreground = Running(Arc::clone(&command));
    match Form::of(&headers) {
        Form::Whole => {
            wait(&mut events).await;
            Ok(Json(answer_of(id, &command)).into_response())
        }
        form => {
            let nothing = (Captured::default(), Captured::default());
            Ok(streamed(form, told(id, command, nothing, events, form, Some(foreground))))
        }
    }
}

/// Waits for the end of a command.
async fn wait(events: &mut CommandEvents) {
    while !matches!(events.recv().await, None | Some(Next::Piece(CommandEvent::Ended(_)))) {}
}

fn streamed(form: Form, events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let headers = [(header::CONTENT_TYPE, form.mime()), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(events)).into_response()
}

/// Stream of a command's events.
struct Following {
    command: Arc<SessionCommand>,
    events: CommandEvents,
    stdout: TextPieces,
    stderr: TextPieces,
    /// Guard of a command that ends with this stream.
    _foreground: Option<Running>,
}

/// Streams the output that there is already, and then the events of a command to its end.
fn told(
    session: SessionId,
    command: Arc<SessionCommand>,
    (stdout, stderr): (Captured, Captured),
    events: CommandEvents,
    form: Form,
    foreground: Option<Running>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let begin = form.piece("begin", json!({"id": command.number().to_string()}));
    let mut following = Following {
        command,
        events,
        stdout: TextPieces::default(),
        stderr: TextPieces::default(),
        _foreground: foreground,
    };
    let mut first = vec![begin];
    for (kind, captured, text) in [("stdout", stdout, &mut following.stdout), ("stderr", stderr, &mut following.stderr)]
    {
        first.extend(text_piece(form, kind, text.push(&captured.head)));
        let missing = captured.total_bytes - captured.head.len() as u64;
        if missing > 0 {
            first.push(form.piece("overflow", json!({"bytes": missing})));
        }
    }
    let rest = stream::unfold(Some(following), move |following| async move {
        let mut following = following?;
        loop {
            let next = tokio::select! {
                biased;
                next = following.events.recv() => next,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    return Some((form.piece("keepalive", json!({})), Some(following)));
                }
            };
            let piece = match next {
                Some(Next::Piece(CommandEvent::Stdout(bytes))) => {
                    text_piece(form, "stdout", following.stdout.push(&bytes))
                }
                Some(Next::Piece(CommandEvent::Stderr(bytes))) => {
                    text_piece(form, "stderr", following.stderr.push(&bytes))
                }
                Some(Next::Overflow(bytes)) => Some(form.piece("overflow", json!({"bytes": bytes}))),
                Some(Next::Piece(CommandEvent::Ended(_))) | None => {
                    let rest = [("stdout", following.stdout.end()), ("stderr", following.stderr.end())];
                    let rest = rest.into_iter().filter_map(|(kind, text)| text_piece(form, kind, text));
                    let end = form.piece("end", json!({"answer": answer_of(session, &following.command)}));
                    let last = rest.chain([end]).collect::<Vec<_>>().concat();
                    return Some((last.into(), None));
                }
            };
            if let Some(piece) = piece {
                return Some((piece, Some(following)));
            }
        }
    });
    stream::iter(first).chain(rest).map(Ok)
}

/// Renders text of a stream, unless there is none.
fn text_piece(form: Form, kind: &str, text: String) -> Option<Bytes> {
    (!text.is_empty()).then(|| form.piece(kind, json!({"text": text})))
}

fn number(text: &str) -> Result<CommandNumber, ApiError> {
    text.parse().map_err(|_| ApiError::no_command(text))
}

/// Returns a command that paths name, if its session is the caller's own.
fn own_command(
    shared: &AppState,
    caller: &Caller,
    session: &str,
    command: &str,
) -> Result<(SessionId, Arc<SessionCommand>), ApiError> {
    let id = own_session(shared, caller, session)?;
    Ok((id, shared.service.sessions.command(id, number(command)?)?))
}

/// Lists the commands of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/commands", responses(
    (status = 200, body = CommandList),
    (status = 404, description = "There is no such session", body = ErrorBody),
))]
pub(crate) async fn list(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Result<Json<CommandList>, ApiError> {
    let id = own_session(&shared, &caller, &session)?;
    let commands = shared.service.sessions.commands(id)?.iter().map(|command| state_of(id, command)).collect();
    Ok(Json(CommandList { commands }))
}

/// Shows a command with its output so far.
#[utoipa::path(get, path = "/v1/sessions/{id}/commands/{command_id}", responses(
    (status = 200, body = CommandAnswer),
    (status = 404, description = "There is no such session or command", body = ErrorBody),
))]
pub(crate) async fn show(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((session, command)): Path<(String, String)>,
) -> Result<Json<CommandAnswer>, ApiError> {
    let (id, command) = own_command(&shared, &caller, &session, &command)?;
    Ok(Json(answer_of(id, &command)))
}

/// Waits for the end of a command; as a stream, with its output from the start.
#[utoipa::path(get, path = "/v1/sessions/{id}/commands/{command_id}/output", responses(
    (status = 200, description = "The command has ended. With `Accept: application/x-ndjson` or `text/event-stream` \
        events come as they happen, as those of a command that is not in the background", body = CommandAnswer),
    (status = 404, description = "There is no such session or command", body = ErrorBody),
))]
pub(crate) async fn output(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((session, command)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (id, command) = own_command(&shared, &caller, &session, &command)?;
    match Form::of(&headers) {
        Form::Whole => {
            wait(&mut command.listen()).await;
            Ok(Json(answer_of(id, &command)).into_response())
        }
        form => {
            let (stdout, stderr, events) = command.follow();
            Ok(streamed(form, told(id, command, (stdout, stderr), events, form, None)))
        }
    }
}

/// Writes to the standard input of a command, and waits until the command has read it.
#[utoipa::path(post, path = "/v1/sessions/{id}/commands/{command_id}/input", request_body = InputRequest, responses(
    (status = 204, description = "It is written"),
    (status = 404, description = "There is no such session or command", body = ErrorBody),
    (status = 409, description = "It has ended, takes no input, or does not read what waits", body = ErrorBody),
))]
pub(crate) async fn input(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((session, command)): Path<(String, String)>,
    JsonBody(request): JsonBody<InputRequest>,
) -> Result<StatusCode, ApiError> {
    let (id, command) = own_command(&shared, &caller, &session, &command)?;
    let InputRequest { data, close } = request;
    if !data.is_empty() {
        shared.service.sessions.command_input(id, &command, Some(data.into())).await?;
    }
    if close {
        match shared.service.sessions.command_input(id, &command, None).await {
            // There is nothing left to close.
            Ok(()) | Err(SessionError::CommandEnded) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a command with a signal, at once.
#[utoipa::path(post, path = "/v1/sessions/{id}/commands/{command_id}/signal", request_body = SignalRequest, responses(
    (status = 204, description = "It ends"),
    (status = 404, description = "There is no such session or command", body = ErrorBody),
    (status = 409, description = "It has ended", body = ErrorBody),
))]
pub(crate) async fn signal(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((session, command)): Path<(String, String)>,
    JsonBody(request): JsonBody<SignalRequest>,
) -> Result<StatusCode, ApiError> {
    let (_, command) = own_command(&shared, &caller, &session, &command)?;
    if !command.is_running() {
        return Err(SessionError::CommandEnded.into());
    }
    command.kill(request.signal);
    Ok(StatusCode::NO_CONTENT)
}

/// Kills a command if it runs, and forgets it.
#[utoipa::path(delete, path = "/v1/sessions/{id}/commands/{command_id}", responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such session or command", body = ErrorBody),
))]
pub(crate) async fn remove(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((session, command)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let id = own_session(&shared, &caller, &session)?;
    shared.service.sessions.remove_command(id, number(&command)?)?;
    Ok(StatusCode::NO_CONTENT)
}
