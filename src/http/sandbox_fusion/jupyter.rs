//! `POST /run_jupyter`: cells of a notebook, in a session that ends with the request.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::run_code::{CommandResult, CommandStatus, RunStatus, files_of};
use crate::http::AppState;
use crate::http::programs::{
    CellError, DetailError, Failure, ProgramLimits, ReadBody, TimeLimit, answer, is_out_of_time, read, time_used, until,
};
use crate::service::{CellAsked, CellExecution, SessionAsked};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{DEFAULT_CONTEXT, Display, FileAnswer, FileAsk};
use proofbox_types::status::Status;

/// Time limit of a notebook that names none, in seconds.
const DEFAULT_TOTAL: f64 = 45.0;
/// Longest time that a notebook waits and runs.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Lifetime of a session that is not used: it ends by itself when its client has gone.
const IDLE: Duration = Duration::from_secs(30);
/// Maximum size of the files that come back, in bytes.
const MAX_FETCHED: u64 = 64 << 20;

#[derive(Deserialize)]
pub(super) struct RunJupyterRequest {
    cells: Vec<String>,
    #[serde(default)]
    cell_timeout: Option<f64>,
    #[serde(default)]
    total_timeout: Option<f64>,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    #[serde(default)]
    kernel: Option<String>,
    #[serde(default)]
    files: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    fetch_files: Option<Vec<String>>,
}

/// Result of a cell.
#[derive(Debug, Serialize)]
struct CellResult {
    stdout: String,
    stderr: String,
    display: Vec<Value>,
    error: Vec<Value>,
}

/// Answer to `POST /run_jupyter`.
#[derive(Debug, Serialize)]
pub(super) struct RunJupyterAnswer {
    status: RunStatus,
    message: String,
    driver: Option<CommandResult>,
    cells: Vec<CellResult>,
    executor_pod_name: Option<String>,
    files: BTreeMap<String, String>,
}

impl RunJupyterAnswer {
    /// Makes the answer for a notebook that could not be run after all.
    fn unanswered(message: String) -> Self {
        Self {
            status: RunStatus::SandboxError,
            message,
            driver: None,
            cells: Vec::new(),
            executor_pod_name: None,
            files: BTreeMap::new(),
        }
    }
}

/// Runs the cells of a notebook.
pub(super) async fn run_jupyter(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move { run(&shared, &caller, request).await.map_err(DetailError::from) };
    answer(work, |error| RunJupyterAnswer::unanswered(error.message().to_owned())).await
}

async fn run(shared: &AppState, caller: &Caller, request: Request) -> Result<RunJupyterAnswer, Failure> {
    let ReadBody { body, arrived, .. } = read::<RunJupyterRequest>(request).await?;
    if let Some(kernel) = body.kernel.as_deref().filter(|kernel| *kernel != "python3") {
        let shown: String = kernel.chars().take(50).collect();
        return Err(Failure::Invalid(format!("kernel `{shown}` is not supported here: only python3 is")));
    }
    let deadline = arrived + MAX_WAIT;
    let total = TimeLimit::seconds(body.total_timeout.unwrap_or(DEFAULT_TOTAL));
    let each = body.cell_timeout.filter(|seconds| *seconds > 0.0).map_or(total, TimeLimit::seconds);
    let memory_bytes = super::run_code::memory_bytes(body.memory_limit_mb);
    let limits = |time| shared.limits_of(caller, ProgramLimits { time, cpu: None, memory_bytes });
    let asked = SessionAsked {
        caller: caller.clone(),
        limits: limits(each),
        files: files_of(body.files.unwrap_or_default())?,
        ttl: Some(MAX_WAIT + IDLE),
        idle: Some(IDLE),
        ..SessionAsked::default()
    };
    let owned = until(deadline, || shared.service.sessions.open_owned(asked.clone())).await?;
    let session = owned.id();
    let mut notebook = Notebook { shared, session, deadline, cells: Vec::new(), used: Duration::ZERO };
    let ran = notebook.run(body.cells, |used| {
        let mut asked = limits(each.min(total.less(used)));
        // The memory is the whole session's.
        asked.memory_bytes = None;
        asked
    });
    let status = ran.await;
    let files = match &status {
        Ok(CommandStatus::Finished) => fetched(shared, session, body.fetch_files.unwrap_or_default()).await,
        _ => Ok(BTreeMap::new()),
    };
    let Notebook { cells, used, .. } = notebook;
    owned.end().await;
    let status = status?;
    Ok(RunJupyterAnswer {
        status: if status == CommandStatus::Finished { RunStatus::Success } else { RunStatus::Failed },
        message: String::new(),
        driver: Some(CommandResult {
            status,
            execution_time: used.as_secs_f64(),
            return_code: (status == CommandStatus::Finished).then_some(0),
            stdout: String::new(),
            stderr: String::new(),
        }),
        cells,
        executor_pod_name: None,
        files: files?,
    })
}

/// A notebook that is run.
struct Notebook<'a> {
    shared: &'a AppState,
    session: SessionId,
    deadline: Instant,
    cells: Vec<CellResult>,
    used: Duration,
}

impl Notebook<'_> {
    /// Runs cells until one meets a time limit. Other errors don't keep the next cells from running.
    async fn run(
        &mut self,
        cells: Vec<String>,
        limits: impl Fn(Duration) -> proofbox_types::grant::AskedLimits,
    ) -> Result<CommandStatus, Failure> {
        for code in cells {
            let asked = CellAsked {
                code,
                code_field: "cells",
                context: DEFAULT_CONTEXT,
                env: Vec::new(),
                limits: limits(self.used),
                value: None,
            };
            let service = &self.shared.service;
            let ran = until(self.deadline, || service.sessions.call(self.session, asked.clone())).await?;
            if ran.execution.verdict.status == Status::InfrastructureError {
                return Err(Failure::Late("the service failed; send this again".to_owned()));
            }
            self.used += time_used(&ran.execution);
            let is_late = is_out_of_time(&ran);
            self.cells.push(cell_result(ran));
            if is_late {
                return Ok(CommandStatus::TimeLimitExceeded);
            }
        }
        Ok(CommandStatus::Finished)
    }
}

async fn fetched(
    shared: &AppState,
    session: SessionId,
    patterns: Vec<String>,
) -> Result<BTreeMap<String, String>, Failure> {
    if patterns.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ask = FileAsk::Collect { patterns, most_bytes: MAX_FETCHED };
    let FileAnswer::Files(files) = shared.service.sessions.files(session, ask).await? else {
        return Ok(BTreeMap::new());
    };
    Ok(files.into_iter().map(|file| (file.path, BASE64.encode(file.content))).collect())
}

fn cell_result(ran: CellExecution) -> CellResult {
    let error = CellError::of(&ran).map(|CellError { name, value, traceback }| {
        json!({"ename": name, "evalue": value, "traceback": traceback.lines().collect::<Vec<_>>()})
    });
    let CellExecution { execution, displays, .. } = ran;
    CellResult {
        stdout: execution.stdout.text(),
        stderr: execution.stderr.text(),
        display: displays.into_iter().map(display).collect(),
        error: error.into_iter().collect(),
    }
}

fn display(display: Display) -> Value {
    let content = |mime: &str, text: String| match mime {
        "application/json" => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        _ => Value::String(text),
    };
    let data: Map<_, _> = display.data.into_iter().map(|(mime, text)| (mime.clone(), content(&mime, text))).collect();
    Value::Object(data)
}
