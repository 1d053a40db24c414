//! `run_python` and `run_command`.

use std::collections::BTreeMap;

use rmcp::model::ContentBlock;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, files_of};
use crate::http::error::ApiError;
use crate::http::mcp::call::{Call, Doing, ToolError};
use crate::http::mcp::text::{MAX_MESSAGE_BYTES, MAX_TEXT_BYTES, cut, stream};
use crate::http::output::Running;
use crate::service::{
    CallEvent, CallItem, CellAsked, CellExecution, CommandAsked, CommandEnd, CommandEvent, CommandEvents,
    OutputRetention, SessionAsked, SessionError,
};
use proofbox_memory::Next;
use proofbox_types::grant::AskedLimits;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{CellEvent, Command, DEFAULT_CONTEXT, Display, FileAsk, Stdin};
use proofbox_types::status::{FailureClass, Status};

/// Images in one result, and their size in base64, in bytes.
const MAX_IMAGES: usize = 8;
const MAX_IMAGE_BYTES: usize = 6 << 20;
/// Displayed values in one result.
const MAX_DISPLAYED: usize = 50;

/// Types of images that models take, the best first.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Arguments of `run_python`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct PythonArguments {
    /// Python source.
    code: String,
    /// Id from open_session: variables and files are kept. Leave it out for a fresh interpreter.
    session: Option<String>,
    /// Text files to write first, by path relative to /home/user.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Limit on CPU time and sleep, in seconds; 30 unless the service has another default.
    timeout: Option<f64>,
}

/// Result of `run_python`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct PythonResult {
    /// `ok`; `error` when the code failed; `blocked` when the service's policy refused to run it.
    status: &'static str,
    /// Kind of the failure, `none` without one: `syntax_error`, `exception`, `timeout`, `memory_limit` and so on.
    failure_class: &'static str,
    stdout: String,
    stderr: String,
    /// True when the middle of `stdout` or `stderr` was cut out.
    truncated: bool,
    /// `repr` of the value of the last expression.
    result: Option<String>,
    /// Values that were displayed, as text; images follow as content.
    displayed: Vec<String>,
    /// Number of images that follow as content.
    images: usize,
    error: Option<PythonError>,
    /// True when the interpreter was lost: variables are gone, files are there.
    restarted: bool,
    execution_seconds: f64,
    session: Option<String>,
}

/// Exception, or limit, that ended code.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct PythonError {
    /// Type of the exception.
    #[serde(rename = "type")]
    type_name: String,
    message: String,
    /// Line of the code.
    line: Option<u32>,
    traceback: Option<String>,
}

/// Arguments of `run_command`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct CommandArguments {
    /// Id from open_session.
    session: String,
    /// Script for the shell.
    command: String,
    /// Working directory; /home/user if absent.
    cwd: Option<String>,
    /// Standard input, as text.
    stdin: Option<String>,
    /// Limit on CPU time and sleep, in seconds.
    timeout: Option<f64>,
}

/// Result of `run_command`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CommandResult {
    /// Exit code, as a shell has it: 124 at the end of the time, 127 for a missing program.
    exit_code: i32,
    /// Kind of the failure, `none` without one.
    failure_class: &'static str,
    stdout: String,
    stderr: String,
    /// True when something of `stdout` or `stderr` was cut out.
    truncated: bool,
    duration_seconds: f64,
}

/// Runs Python in a session, or in one that is made for it.
pub(super) async fn python(call: &Call, arguments: PythonArguments) -> Result<Answer, ToolError> {
    let PythonArguments { code, session, files, timeout } = arguments;
    let files = files_of(files)?;
    if let Some(session) = session {
        let id = call.session(&session)?;
        for file in files {
            call.run(call.service.sessions.files(id, FileAsk::Write(file)), &Doing::new("writing files")).await?;
        }
        return answer_of(cell(call, id, code, timeout).await?, Some(session));
    }
    let image = call.service.image_chooser.for_code(&code, &files);
    let asked = SessionAsked {
        caller: call.caller.clone(),
        image: Some(call.service.images.name_of(&image).to_owned()),
        files,
        ..SessionAsked::default()
    };
    let session = call.run(call.service.sessions.open_owned(asked), &Doing::new("opening")).await?;
    let ran = cell(call, session.id(), code, timeout).await;
    session.end().await;
    answer_of(ran?, None)
}

/// Runs a call of a session, and tells what it prints.
async fn cell(call: &Call, id: SessionId, code: String, timeout: Option<f64>) -> Result<CellExecution, ToolError> {
    let limits = AskedLimits { wall_seconds: timeout, ..AskedLimits::default() };
    let asked = CellAsked { code, code_field: "code", context: DEFAULT_CONTEXT, env: Vec::new(), limits, value: None };
    let doing = Doing::new("running");
    if !call.has_listener() {
        return call.run(call.service.sessions.call(id, asked), &doing).await;
    }
    let mut stream = call.service.sessions.call_stream(id, asked)?;
    let work = async {
        while let Some(item) = stream.next().await {
            match item {
                CallItem::Event(CallEvent::Piece(CellEvent::Stdout(text) | CellEvent::Stderr(text))) => {
                    doing.printed(&text);
                }
                CallItem::Event(_) => {}
                CallItem::Ended(ended) => return *ended,
            }
        }
        unreachable!("a stream ends with the outcome")
    };
    call.run(work, &doing).await
}

fn answer_of(ran: CellExecution, session: Option<String>) -> Result<Answer, ToolError> {
    let CellExecution { execution, displays, raised, restarted, .. } = ran;
    let verdict = execution.verdict;
    if verdict.status == Status::InfrastructureError {
        return Err(ApiError::internal().into());
    }
    let (stdout, out_cut) = stream(&execution.stdout);
    let (stderr, err_cut) = stream(&execution.stderr);
    let traceback = raised.map(|raised| cut(raised.traceback, MAX_MESSAGE_BYTES));
    let error = verdict.error.map(|error| PythonError {
        type_name: error.type_name,
        message: cut(error.message, MAX_MESSAGE_BYTES),
        line: error.line,
        traceback,
    });
    let Shown { result, displayed, images } = Shown::of(displays);
    let result = PythonResult {
        status: verdict.status.as_str(),
        failure_class: verdict.class.as_str(),
        stdout,
        stderr,
        truncated: out_cut || err_cut,
        result,
        displayed,
        images: images.len(),
        error,
        restarted,
        execution_seconds: execution.cost.execution.as_secs_f64(),
        session,
    };
    Answer::with_content(result, images)
}

/// Values that code has displayed, within bounds.
#[derive(Default)]
struct Shown {
    result: Option<String>,
    displayed: Vec<String>,
    images: Vec<ContentBlock>,
}

impl Shown {
    fn of(displays: Vec<Display>) -> Self {
        let mut shown = Self::default();
        let (mut text_left, mut image_left) = (MAX_TEXT_BYTES, MAX_IMAGE_BYTES);
        for Display { mut data, is_main_result } in displays {
            let mut take = |mime: &str| {
                let at = data.iter().position(|(of, _)| of == mime)?;
                Some(data.swap_remove(at).1)
            };
            let image = IMAGE_TYPES.iter().find_map(|mime| take(mime).map(|content| (*mime, content)));
            let text = ["text/plain", "text/markdown", "text/html"].iter().find_map(|mime| take(mime));
            let text = text.map(|text| cut(text, text_left));
            text_left = text_left.saturating_sub(text.as_ref().map_or(0, String::len));
            match (text, is_main_result) {
                (Some(text), true) => shown.result = Some(text),
                (Some(text), false) if shown.displayed.len() < MAX_DISPLAYED => shown.displayed.push(text),
                _ => {}
            }
            if let Some((mime, content)) = image
                && shown.images.len() < MAX_IMAGES
                && content.len() <= image_left
            {
                image_left -= content.len();
                // Notebooks break lines in base64.
                let content: String = content.split_ascii_whitespace().collect();
                shown.images.push(ContentBlock::image(content, mime));
            }
        }
        shown
    }
}

/// Runs a command in a session.
pub(super) async fn command(call: &Call, arguments: CommandArguments) -> Result<Answer, ToolError> {
    let CommandArguments { session, command, cwd, stdin, timeout } = arguments;
    let id = call.session(&session)?;
    if command.contains('\0') {
        return Err(ToolError::new("`command` has a NUL"));
    }
    let asked = CommandAsked {
        command: Command {
            script: command,
            cwd: cwd.filter(|cwd| !cwd.is_empty()),
            stdin: Stdin::Given(stdin.unwrap_or_default().into_bytes()),
            ..Command::default()
        },
        timeout_seconds: timeout,
        user: None,
        tag: None,
        retention: OutputRetention::UntilEnd,
    };
    let doing = Doing::new("running");
    let work = async {
        let (command, mut events) = call.service.sessions.start_command(id, asked).await?;
        let command = Running(command);
        wait(&mut events, &doing).await;
        Ok::<_, SessionError>(command)
    };
    let Running(command) = &call.run(work, &doing).await?;
    let progress = command.progress();
    let (exit_code, class) = match progress.end {
        Some(CommandEnd::Exited(outcome)) => (outcome.exit_code, outcome.class),
        Some(CommandEnd::Killed(signal)) => (signal.exit_code(), FailureClass::NonzeroExit),
        Some(CommandEnd::SessionEnded) => return Err(SessionError::NotFound.into()),
        Some(CommandEnd::Failed(_)) | None => return Err(ApiError::internal().into()),
    };
    let (stdout, stderr) = command.output();
    let ((stdout, out_cut), (stderr, err_cut)) = (stream(&stdout), stream(&stderr));
    Answer::new(CommandResult {
        exit_code,
        failure_class: class.as_str(),
        stdout,
        stderr,
        truncated: out_cut || err_cut,
        duration_seconds: progress.duration.as_secs_f64(),
    })
}

/// Waits for the end of a command.
async fn wait(events: &mut CommandEvents, doing: &Doing) {
    loop {
        match events.recv().await {
            None | Some(Next::Piece(CommandEvent::Ended(_))) => return,
            Some(Next::Piece(CommandEvent::Stdout(bytes) | CommandEvent::Stderr(bytes))) => {
                doing.printed(&String::from_utf8_lossy(&bytes));
            }
            Some(Next::Overflow(_)) => {}
        }
    }
}
