//! `POST /v1/sessions/{id}/execute`

use std::collections::BTreeMap;
use std::convert::Infallible;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json_, json};
use utoipa::ToSchema;

use super::super::answer::{Answer, ErrorBody, answer_of, raised_answer, size_of};
use super::super::completion::Snippet;
use super::super::request::{LimitsRequest, ResultRequest, ResultWord, checked_env};
use super::own_session;
use super::stream::{Form, KEEP_ALIVE};
use crate::http::AppState;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::extract::{Object, read_json, write_json};
use crate::service::{CallEvent, CallItem, CallStream, CellAsked, CellExecution};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::program::ResultWanted;
use proofbox_types::session::{CellEvent, DEFAULT_CONTEXT, Display, Raised};

/// Code for a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallRequest {
    /// Python source, with what notebooks allow beside it. Required unless `completion` is given.
    code: Option<String>,
    /// A model's answer: the code is taken out of it.
    completion: Option<String>,
    /// Environment variables for this call only.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Limits of this call: `fuel`, `wall_seconds`, `output_bytes`; where absent, those of the session.
    #[serde(default)]
    #[schema(value_type = LimitsRequest)]
    limits: Object<LimitsRequest>,
    /// The value to return: `last_expression` where it is left out, nothing where it is null.
    #[serde(default = "last_expression")]
    result: Option<ResultRequest>,
    /// Labels, returned with the answer.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

fn last_expression() -> Option<ResultRequest> {
    Some(ResultRequest::Word(ResultWord::LastExpression))
}

/// The answer to a call: that of `POST /v1/execute`, and what is the session's.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallAnswer {
    session_id: String,
    /// Number of calls that the session has served, this one included.
    execution_count: u64,
    /// Values that were shown, as notebooks show them.
    displays: Vec<DisplayAnswer>,
    /// The call was interrupted.
    interrupted: bool,
    /// True when the interpreter was lost, and the namespace with it: the next call gets a fresh one. Files stay.
    restarted: bool,
    #[serde(flatten)]
    answer: Answer,
}

/// A value in several formats.
#[derive(Serialize, ToSchema)]
pub(crate) struct DisplayAnswer {
    /// Content by MIME type: text, base64 for binary formats, JSON as such.
    data: BTreeMap<String, Json_>,
    /// True for the value of the last expression.
    is_main_result: bool,
}

fn display_answer(display: Display) -> DisplayAnswer {
    let content = |mime: &str, content: String| match mime {
        "application/json" => serde_json::from_str(&content).unwrap_or(Json_::String(content)),
        _ if mime.ends_with("+json") => serde_json::from_str(&content).unwrap_or(Json_::String(content)),
        _ => Json_::String(content),
    };
    DisplayAnswer {
        data: display.data.into_iter().map(|(mime, text)| (mime.clone(), content(&mime, text))).collect(),
        is_main_result: display.is_main_result,
    }
}

/// Returns the length of the texts in the answer, in bytes.
fn call_size(called: &CellExecution) -> usize {
    let displays: usize = called.displays.iter().map(Display::size).sum();
    let raised = called.raised.as_ref().map_or(0, Raised::size);
    size_of(&called.execution) + displays + raised
}

fn call_answer(session: SessionId, called: CellExecution, labels: BTreeMap<String, String>) -> CallAnswer {
    let traceback = called.raised.map(|raised| raised.traceback);
    let answer = answer_of(called.execution, labels).with_traceback(traceback);
    CallAnswer {
        session_id: session.to_string(),
        execution_count: called.number,
        displays: called.displays.into_iter().map(display_answer).collect(),
        interrupted: called.interrupted,
        restarted: called.restarted,
        answer,
    }
}

/// Runs code in a session.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/execute",
    request_body = CallRequest,
    responses(
        (status = 200, description = "The service did its work, whatever the code did. With `Accept: \
            application/x-ndjson` or `text/event-stream` events come as they happen: `begin`, `stdout`, `stderr`, `display`, \
            `error`, `overflow`, `keepalive`, and last `end` with the whole answer, or `failed` with an error of the service",
            body = CallAnswer),
        (status = 404, description = "There is no such session", body = ErrorBody),
        (status = 409, description = "It is paused", body = ErrorBody),
        (status = 429, description = "Busy: try again after Retry-After seconds", body = ErrorBody),
    )
)]
pub(crate) async fn execute(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &session)?;
    let reader = BodyReader::of(request.extensions())?;
    let (request, snippet) = read_json(request, |mut asked: CallRequest| {
        let snippet = Snippet::of(asked.code.take(), asked.completion.as_deref(), &[])?;
        Ok((asked, snippet.ok_or_else(Snippet::missing)?))
    })
    .await?;
    if snippet.completion.as_ref().is_some_and(|report| report.chosen.is_none()) {
        return Err(ApiError::meaningless("completion", "the answer has no code in Python"));
    }
    let Snippet { code, field: code_field, .. } = snippet;
    checked_env(&request.env)?;
    let Object(limits) = request.limits;
    for (field, given) in [
        ("limits.memory_bytes", limits.memory_bytes),
        ("limits.files_bytes", limits.files_bytes),
        ("limits.files_count", limits.files_count),
    ] {
        if given.is_some() {
            return Err(ApiError::meaningless(
                field,
                "this limit is the session's: give it when the session is opened",
            ));
        }
    }
    let value = request.result.map(ResultWanted::from);
    let asked = CellAsked {
        code,
        code_field,
        context: DEFAULT_CONTEXT,
        env: request.env.into_iter().collect(),
        limits: limits.into(),
        value,
    };
    let form = Form::of(&headers);
    if form == Form::Whole {
        let called = shared.service.sessions.call(id, asked).await?;
        return write_json(&reader, call_size(&called), move || call_answer(id, called, request.labels)).await;
    }
    // What can be told by a status is told so.
    let call = shared.service.sessions.call_stream(id, asked)?;
    let body = Body::from_stream(pieces(call, id, request.labels, form, reader));
    let headers = [(header::CONTENT_TYPE, form.mime()), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// Streams a call as it happens. Dropping the stream interrupts the call.
fn pieces(
    call: CallStream,
    id: SessionId,
    labels: BTreeMap<String, String>,
    form: Form,
    reader: BodyReader,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((call, labels, reader), move |(mut call, mut labels, reader)| async move {
        let failed = |error: ApiError| form.piece("failed", json!({"error": error.to_json()}));
        let piece = match tokio::time::timeout(KEEP_ALIVE, call.next()).await {
            Err(_) => form.piece("keepalive", json!({})),
            Ok(None) => return None,
            Ok(Some(CallItem::Event(CallEvent::Overflow(bytes)))) => overflow(bytes, form),
            Ok(Some(CallItem::Event(CallEvent::Piece(event)))) => {
                let bytes = event.size();
                reader
                    .for_message()
                    .answer(bytes, move || piece_of(event, form))
                    .await
                    .unwrap_or_else(|_| overflow(bytes as u64, form))
            }
            Ok(Some(CallItem::Ended(ended))) => match *ended {
                Ok(called) => {
                    let labels = std::mem::take(&mut labels);
                    let make = move |called| form.piece("end", json!({"answer": call_answer(id, called, labels)}));
                    let end = reader.for_message().answer(call_size(&called), move || make(called)).await;
                    end.unwrap_or_else(|error| failed(error.into()))
                }
                Err(error) => failed(error.into()),
            },
        };
        Some((Ok(piece), (call, labels, reader)))
    })
}

fn overflow(bytes: u64, form: Form) -> Bytes {
    form.piece("overflow", json!({"bytes": bytes}))
}

fn piece_of(event: CellEvent, form: Form) -> Bytes {
    match event {
        CellEvent::Began(number) => form.piece("begin", json!({"execution_count": number})),
        CellEvent::Stdout(text) => form.piece("stdout", json!({"text": text})),
        CellEvent::Stderr(text) => form.piece("stderr", json!({"text": text})),
        CellEvent::Display(display) => form.piece("display", json!(display_answer(display))),
        CellEvent::Raised(raised) => form.piece("error", json!({"error": raised_answer(raised)})),
    }
}
