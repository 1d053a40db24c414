//! API flavour of the Model Context Protocol (MCP): tools for agents, translated to `service`.
//!
//! - here: the two transports, `POST /mcp` and standard input and output;
//! - `handler`: requests of the protocol;
//! - `tools`: the tools, one file for each subject;
//! - `call`: one call of a tool, with its cancellation and progress;
//! - `tasks`: calls that go on when their request has been answered;
//! - `tasks_2025`: messages about tasks of revision 2025-11-25;
//! - `backend`: the service, which may still be starting;
//! - `schema`: schemas of arguments and results;
//! - `resources`: files of sessions by their address;
//! - `text`: bounds of what a model is to read.
//!
//! Requests over HTTP stand alone: the server keeps nothing of a client between them but its tasks.

mod backend;
mod call;
mod handler;
mod resources;
mod schema;
mod tasks;
mod tasks_2025;
mod text;
mod tools;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use rmcp::ServiceExt;
use rmcp::model::{ErrorData, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use uuid::Uuid;

use super::AppState;
use super::auth::authenticate;
use super::body::WholeBody;
use super::error::ApiError;
use crate::service::Service;
use crate::telemetry::RequestScope;
use backend::Backend;
use call::{CallerSource, CallsInFlight, ClientSession};
use handler::Handler;
use proofbox_types::caller::Caller;
use tasks_2025::TaskMessage;

/// Header in which clients of the revisions before 2026-07-28 name the session that `initialize` gave them.
const SESSION_HEADER: &str = "mcp-session-id";
/// Header that names the tool, the resource or the task of a message, for proxies.
const NAME_HEADER: &str = "mcp-name";
/// Size of the longest message that is looked at for its method before it is parsed, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// State that the handlers of this API flavour share.
struct Mcp {
    http: StreamableHttpService<Handler, NeverSessionManager>,
    handler: Handler,
    in_flight: Arc<CallsInFlight>,
}

/// Builds the routes of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    let in_flight = Arc::<CallsInFlight>::default();
    let backend = Backend::ready(Arc::clone(&shared.service));
    let handler = Handler::new(backend, CallerSource::Request, Arc::clone(&in_flight));
    // `authenticate` has the rules for hosts and origins, and `WholeBody` the largest size.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX);
    let of_messages = handler.clone();
    let http = StreamableHttpService::new(move || Ok(of_messages.clone()), Arc::default(), config);
    Router::new()
        .route("/mcp", post(answer))
        .layer(Extension(Arc::new(Mcp { http, handler, in_flight })))
        .route_layer(from_fn_with_state(shared.clone(), authenticate))
}

/// Serves one client on standard input and output, until its input ends. The service is started meanwhile.
///
/// # Errors
/// Returns an error when the client's first messages are not those of the protocol.
pub async fn serve_stdio(
    start: impl Future<Output = anyhow::Result<Arc<Service>>> + Send + 'static,
) -> anyhow::Result<()> {
    let handler = Handler::new(Backend::starting(start), CallerSource::Keyless, Arc::default());
    let running = match handler.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // A client that only looks whether the program starts.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    running.waiting().await?;
    Ok(())
}

/// Beginning of a message, as far as it is needed before the message is parsed.
#[derive(Default, Deserialize)]
struct Head {
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: HeadParams,
}

#[derive(Default, Deserialize)]
struct HeadParams {
    #[serde(default, rename = "requestId")]
    request_id: Option<RequestId>,
    #[serde(default, rename = "taskId")]
    task_id: Option<String>,
}

impl Head {
    /// Reads the head of a message; nothing of a long one, or of one that is no message.
    fn of(message: &[u8]) -> Self {
        if message.len() > MAX_HEAD_BYTES {
            return Self::default();
        }
        serde_json::from_slice(message).unwrap_or_default()
    }
}

/// Answers one message of a client.
async fn answer(
    State(shared): State<AppState>,
    Extension(mcp): Extension<Arc<Mcp>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    if shared.draining.has_begun() {
        return Err(ApiError::draining());
    }
    let (uri, mut headers) = (request.uri().clone(), request.headers().clone());
    let body = WholeBody::read(request).await?;
    let head = Head::of(&body.bytes);
    name_task(&head, &mut headers);
    let session = session_of(&headers);
    let speaks_2025 = tasks_2025::is_spoken(&headers);
    if head.method == "notifications/cancelled"
        && let (Some(session), Some(request)) = (session, head.params.request_id)
    {
        mcp.in_flight.cancel(&caller, session, request);
    }
    let message = forwarded(uri, headers, body.bytes.clone(), caller.clone(), session)?;
    let parser = Arc::clone(&mcp);
    let begun = body.parse(move |bytes| Ok::<_, ApiError>(Begun::new(parser, message, bytes))).await?;
    let mut response = match begun {
        Begun::Answered(response) => response,
        Begun::Waiting(answer) => answer.await,
        Begun::Task(message) => message.answer(&mcp.handler, &caller).await,
    };
    if head.method == "initialize" || speaks_2025 && head.method == "tools/list" {
        response = tasks_2025::announce(response).await;
    }
    if head.method == "initialize" && response.status().is_success() {
        // A name for the client alone, by which it can cancel what it has asked for: nothing is kept under it.
        let name = HeaderValue::from_str(&Uuid::now_v7().to_string()).map_err(|_| ApiError::internal())?;
        response.headers_mut().insert(SESSION_HEADER, name);
    }
    Ok(response)
}

fn session_of(headers: &HeaderMap) -> Option<ClientSession> {
    let text = headers.get(SESSION_HEADER)?.to_str().ok()?;
    Uuid::try_parse(text).ok().map(ClientSession)
}

/// Names the task of a message in its header where the client leaves that out, as FastMCP's does: the protocol's server
/// refuses such a message. A name that is another one stays, and is refused.
fn name_task(head: &Head, headers: &mut HeaderMap) {
    let is_about_task = matches!(&*head.method, "tasks/get" | "tasks/update" | "tasks/cancel");
    if let Some(name) = head.params.task_id.as_ref().filter(|_| is_about_task)
        && !headers.contains_key(NAME_HEADER)
        && let Ok(name) = HeaderValue::from_str(name)
    {
        headers.insert(NAME_HEADER, name);
    }
}

/// Makes the request anew for the protocol's own server, with what the handler is to know of it.
fn forwarded(
    uri: axum::http::Uri,
    mut headers: HeaderMap,
    bytes: axum::body::Bytes,
    caller: Caller,
    session: Option<ClientSession>,
) -> Result<Request, ApiError> {
    for secret in [header::AUTHORIZATION.as_str(), "x-api-key"] {
        headers.remove(secret);
    }
    let mut request = Request::post(uri).body(Body::from(bytes)).map_err(|_| ApiError::internal())?;
    *request.headers_mut() = headers;
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(RequestScope::current());
    if let Some(session) = session {
        request.extensions_mut().insert(session);
    }
    Ok(request)
}

/// Returns whether a body is announced as JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let announced = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    announced.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Makes the answer to a body that is no message: it is no JSON, or other JSON.
fn unreadable(body: &[u8]) -> Response {
    let error = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => ErrorData::invalid_request("the body is no request or notification of JSON-RPC 2.0", None),
        Err(error) => ErrorData::parse_error(format!("the body is no JSON: {error}"), None),
    };
    (StatusCode::BAD_REQUEST, Json(json!({"jsonrpc": "2.0", "id": null, "error": error}))).into_response()
}

/// A message whose answer has begun: it was parsed, on the thread that began it.
enum Begun {
    Answered(Response),
    Waiting(Pin<Box<dyn Future<Output = Response> + Send>>),
    /// Message about a task, which is for the handler itself.
    Task(TaskMessage),
}

impl Begun {
    /// Polls the protocol's server once: it has the whole body and parses it before it waits for anything.
    fn new(mcp: Arc<Mcp>, message: Request, body: &[u8]) -> Self {
        let is_json = is_json(message.headers());
        let is_about_task = is_json && tasks_2025::is_spoken(message.headers());
        if let Some(message) = is_about_task.then(|| TaskMessage::read(body)).flatten() {
            return Self::Task(message);
        }
        let mut answer: Pin<Box<dyn Future<Output = Response> + Send>> =
            Box::pin(async move { mcp.http.handle(message).await.map(Body::new) });
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            // The protocol's server takes a body that it can't read for one of another type.
            Poll::Ready(response) if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Self::Answered(unreadable(body))
            }
            Poll::Ready(response) => Self::Answered(response),
            Poll::Pending => Self::Waiting(answer),
        }
    }
}
