//! Tasks as revision 2025-11-25 of the protocol has them, over HTTP: its client says which call is to be a task. The
//! protocol's own server knows those of the next revision only, so their messages are answered here.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, ErrorCode, JsonObject, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use uuid::Uuid;

use super::handler::Handler;
use super::tasks::{DEFAULT_TTL, MAX_TTL, POLL_INTERVAL, Snapshot, Status, Task, milliseconds, object, time};
use super::tools;
use proofbox_types::caller::Caller;

/// The revision.
const REVISION: &str = "2025-11-25";
/// Header that names the revision which a client and the server agreed on.
const REVISION_HEADER: &str = "mcp-protocol-version";
/// Shortest lifetime of a task.
const MIN_TTL: Duration = Duration::from_secs(1);
/// Tasks on a page of the list.
const PAGE: usize = 50;
/// Size of the largest answer that says what the server can do, in bytes.
const MAX_ANNOUNCEMENT: usize = 1 << 20;
/// Name of the metadata of a message that belongs to a task.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Message about a task.
pub(super) struct TaskMessage {
    id: RequestId,
    request: Result<TaskRequest, ErrorData>,
}

enum TaskRequest {
    Call { name: String, arguments: JsonObject, ttl: Duration },
    Get(String),
    Result(String),
    Cancel(String),
    List(Option<Uuid>),
}

/// Parts of a message that say whether it is about a task.
#[derive(Deserialize)]
struct Head {
    id: RequestId,
    method: String,
    #[serde(default)]
    params: HeadParams,
}

#[derive(Default, Deserialize)]
struct HeadParams {
    #[serde(default)]
    task: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Whole<T> {
    params: T,
}

#[derive(Deserialize)]
struct CallParams {
    task: TaskParams,
    #[serde(flatten)]
    call: CallToolRequestParams,
}

#[derive(Deserialize)]
struct TaskParams {
    /// Lifetime, in milliseconds.
    #[serde(default)]
    ttl: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdParams {
    task_id: String,
}

#[derive(Default, Deserialize)]
struct ListParams {
    #[serde(default)]
    cursor: Option<String>,
}

/// Returns whether a message is of a client that agreed on the revision.
pub(super) fn is_spoken(headers: &HeaderMap) -> bool {
    headers.get(REVISION_HEADER).is_some_and(|revision| revision == REVISION)
}

impl TaskMessage {
    /// Reads a message of a client of the revision; none of a message that is about no task.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let Head { id, method, params } = serde_json::from_slice(message).ok()?;
        let request = match method.as_str() {
            "tools/call" if params.task.is_some() => TaskRequest::call(message),
            "tasks/get" => task_id(message).map(TaskRequest::Get),
            "tasks/result" => task_id(message).map(TaskRequest::Result),
            "tasks/cancel" => task_id(message).map(TaskRequest::Cancel),
            "tasks/list" => TaskRequest::list(message),
            _ => return None,
        };
        Some(Self { id, request })
    }

    /// Answers the message.
    pub(super) async fn answer(self, handler: &Handler, caller: &Caller) -> Response {
        let Self { id, request } = self;
        let owner = caller.owner();
        let answered = match request {
            Err(error) => Err(error),
            Ok(TaskRequest::Call { name, arguments, ttl }) => handler
                .begin_task(caller, ttl, name, arguments)
                .map(|task| json!({"task": state(&task)}))
                .map_err(|error| ErrorData::internal_error(error.to_string(), None)),
            Ok(TaskRequest::Get(task)) => handler.tasks().get(owner, &task).map(|task| state(&task)),
            Ok(TaskRequest::Cancel(task)) => handler.tasks().get(owner, &task).and_then(|task| {
                let ended = || ErrorData::invalid_params("the task has ended, and can't be cancelled", None);
                if task.cancel() { Ok(state(&task)) } else { Err(ended()) }
            }),
            Ok(TaskRequest::List(after)) => {
                let tasks = handler.tasks().list(owner, after, PAGE);
                let mut page = json!({"tasks": tasks.iter().map(|task| state(task)).collect::<Vec<_>>()});
                if let Some(last) = tasks.last().filter(|_| tasks.len() == PAGE) {
                    page["nextCursor"] = URL_SAFE_NO_PAD.encode(last.id()).into();
                }
                Ok(page)
            }
            Ok(TaskRequest::Result(task)) => match handler.tasks().get(owner, &task) {
                Ok(task) => return stream_of(async move { render(&id, Ok(result(&task).await)) }),
                Err(error) => Err(error),
            },
        };
        Json(render(&id, answered)).into_response()
    }
}

impl TaskRequest {
    fn call(message: &[u8]) -> Result<Self, ErrorData> {
        let CallParams { task, call } = params(message)?;
        if !tools::all().iter().any(|tool| tool.name == call.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", call.name), None));
        }
        if !tools::may_be_long(&call.name) {
            let message = format!("`{}` can't be called as a task", call.name);
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let ttl = task.ttl.map_or(DEFAULT_TTL, |ttl| Duration::from_millis(ttl).clamp(MIN_TTL, MAX_TTL));
        Ok(Self::Call { name: call.name.into_owned(), arguments: call.arguments.unwrap_or_default(), ttl })
    }

    fn list(message: &[u8]) -> Result<Self, ErrorData> {
        #[derive(Deserialize)]
        struct Listing {
            #[serde(default)]
            params: ListParams,
        }
        let Listing { params: ListParams { cursor } } = serde_json::from_slice(message).map_err(invalid)?;
        let Some(cursor) = cursor else { return Ok(Self::List(None)) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
        let last = bytes.and_then(|bytes| Uuid::try_parse_ascii(&bytes).ok());
        let last = last.ok_or_else(|| ErrorData::invalid_params("`cursor` is none of an earlier page", None))?;
        Ok(Self::List(Some(last)))
    }
}

fn params<'a, T: Deserialize<'a>>(message: &'a [u8]) -> Result<T, ErrorData> {
    let Whole { params } = serde_json::from_slice(message).map_err(invalid)?;
    Ok(params)
}

fn task_id(message: &[u8]) -> Result<String, ErrorData> {
    let IdParams { task_id } = params(message)?;
    Ok(task_id)
}

fn invalid(error: serde_json::Error) -> ErrorData {
    // It quotes values of the message: a client's own, and nobody else hears of them.
    ErrorData::invalid_params(error.to_string(), None)
}

/// Renders the state of a task.
fn state(task: &Task) -> Value {
    let Snapshot { status, message, created, updated, ttl } = task.snapshot();
    let status = match status {
        Status::Working => "working",
        Status::Ended(result) if result.is_error == Some(true) => "failed",
        Status::Ended(_) => "completed",
        Status::Cancelled => "cancelled",
    };
    let mut state = json!({
        "taskId": task.id(),
        "status": status,
        "createdAt": time(created),
        "lastUpdatedAt": time(updated),
        "ttl": milliseconds(ttl),
        "pollInterval": milliseconds(POLL_INTERVAL),
    });
    if let Some(message) = message {
        state["statusMessage"] = message.into();
    }
    state
}

/// Waits for the result of a task, and renders it as the call's own.
async fn result(task: &Task) -> Value {
    let mut result = task.result().await;
    // Of later revisions.
    result.result_type = None;
    let mut result = object(&result);
    result.insert("_meta".to_owned(), json!({RELATED: {"taskId": task.id()}}));
    Value::Object(result)
}

fn render(id: &RequestId, answered: Result<Value, ErrorData>) -> Value {
    match answered {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    }
}

/// Answers with the message that `work` makes, as an event: comments keep the connection alive until it is there.
fn stream_of(work: impl Future<Output = Value> + Send + 'static) -> Response {
    let event = async move { Ok::<_, Infallible>(Event::default().event("message").data(work.await.to_string())) };
    Sse::new(stream::once(event)).keep_alive(KeepAlive::default()).into_response()
}

/// Adds to an answer what it says of tasks to clients of the revision: that the server has them, and the tools that can
/// be called as tasks. Any other answer is left as it is.
pub(super) async fn announce(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_ANNOUNCEMENT).await else {
        return ErrorData::internal_error("the answer is too large", None).message.into_owned().into_response();
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let text = String::from_utf8_lossy(&bytes);
    let mut said = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let data = line.strip_prefix("data:");
        let message = serde_json::from_str::<Value>(data.unwrap_or(line)).ok().and_then(with_tasks);
        match message {
            Some(message) if data.is_some() => said.push_str(&format!("data: {message}\n")),
            Some(message) => said.push_str(&message.to_string()),
            None => said.push_str(line),
        }
    }
    Response::from_parts(head, Body::from(said))
}

/// Returns a message with what it says of tasks; none if it says nothing of them.
fn with_tasks(mut message: Value) -> Option<Value> {
    let result = message.get_mut("result")?;
    if result.get("protocolVersion").is_some_and(|revision| revision == REVISION) {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        result.get_mut("capabilities")?.as_object_mut()?.insert("tasks".to_owned(), tasks);
        return Some(message);
    }
    for tool in result.get_mut("tools")?.as_array_mut()? {
        if tool["name"].as_str().is_some_and(tools::may_be_long) {
            tool["execution"] = json!({"taskSupport": "optional"});
        }
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &Value) -> Option<Result<TaskRequest, ErrorData>> {
        TaskMessage::read(message.to_string().as_bytes()).map(|message| message.request)
    }

    fn call(params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    }

    #[test]
    fn calls_become_tasks_that_ask_for_it() {
        let plain = json!({"name": "run_python", "arguments": {"code": "1"}});
        assert!(read(&call(plain.clone())).is_none());
        let ttl = |task: Value| {
            let mut params = plain.clone();
            params["task"] = task;
            match read(&call(params)).expect("a task") {
                Ok(TaskRequest::Call { ttl, .. }) => Ok(ttl.as_secs()),
                Ok(_) => panic!("a call"),
                Err(error) => Err(error.code.0),
            }
        };
        assert_eq!(ttl(json!({})), Ok(1800));
        assert_eq!(ttl(json!({"ttl": 60_000})), Ok(60));
        assert_eq!(ttl(json!({"ttl": 1})), Ok(1));
        assert_eq!(ttl(json!({"ttl": u64::MAX})), Ok(3600));
        for wrong in [json!({"ttl": -1}), json!({"ttl": "1"}), json!(7)] {
            assert_eq!(ttl(wrong.clone()), Err(-32602), "{wrong}");
        }
        for (name, code) in [("scan_code", -32601), ("format_disk", -32602)] {
            let asked = read(&call(json!({"name": name, "task": {}}))).expect("a task");
            assert_eq!(asked.err().map(|error| error.code.0), Some(code), "{name}");
        }
    }

    #[test]
    fn cursors_are_read_as_they_are_written() {
        let list = |params: Value| read(&json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/list", "params": params}));
        let id = Uuid::now_v7();
        let cursor = URL_SAFE_NO_PAD.encode(id.to_string());
        assert!(matches!(list(json!({"cursor": cursor})), Some(Ok(TaskRequest::List(Some(read)))) if read == id));
        assert!(matches!(list(json!({})), Some(Ok(TaskRequest::List(None)))));
        assert!(matches!(list(json!({"cursor": "x"})), Some(Err(_))));
        let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/list"});
        assert!(matches!(read(&bare), Some(Ok(TaskRequest::List(None)))));
    }
}
