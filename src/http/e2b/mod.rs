//! API flavour of E2B's SDKs, all of it on one port: the requests of `Sandbox.create` and its like, translated to
//! `service`. A sandbox is a session.
//!
//! - `control`: making, finding, pausing, branching and ending sandboxes;
//! - `execute`, `contexts`: the code interpreter; `bash`: its cells in that language; `lines`: what both tell;
//! - `entries`: entries of directories, as clients see them;
//! - `files`: up- and download;
//! - `filesystem`, `watchers`, `process`: remote procedures over `connect`;
//! - `volume_content`: files of volumes;
//! - `routing`: the sandbox that a request is for, and the right to use it;
//! - `state`: state of this API flavour beside the sessions.

mod bash;
mod body;
pub(super) mod connect;
mod contexts;
mod control;
mod entries;
mod error;
mod execute;
mod files;
mod filesystem;
mod json_ascii;
mod lines;
mod process;
mod routing;
mod signature;
mod state;
mod users;
mod volume_content;
mod watchers;

pub use control::webhooks::EventWire;
pub(super) use files::unpacked;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post, put};

use super::AppState;
use error::{E2bError, Kind, Translated};
use routing::{ENVD, INTERPRETER, Named};
use state::E2bState;

/// The version of E2B's own daemon whose interface this is: SDKs switch features by it.
const ENVD_VERSION: &str = "0.6.4";

/// State that the handlers of this API flavour share.
#[derive(Clone)]
struct E2b {
    shared: AppState,
    state: Arc<E2bState>,
}

/// Builds the routes of this API flavour.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(shared: &AppState) -> Router<S> {
    let e2b = E2b { shared: shared.clone(), state: Arc::default() };
    let (one, template, webhook) = ("/sandboxes/{id}", "/templates/{id}", "/events/webhooks/{id}");
    let below = |path: &str| format!("{one}/{path}");
    let control = Router::new()
        .route("/sandboxes", post(control::create::create).get(control::list::list_running))
        .route("/v2/sandboxes", post(control::create::create).get(control::list::list))
        .route("/sandboxes/metrics", get(control::metrics::of_many))
        .route(one, get(control::show).delete(control::kill))
        .route(&below("timeout"), post(control::set_timeout))
        .route(&below("refreshes"), post(control::refresh))
        .route(&below("pause"), post(control::pause::pause))
        .route(&below("resume"), post(control::pause::resume))
        .route(&below("connect"), post(control::pause::connect))
        .route("/v2/sandboxes/{id}/connect", post(control::pause::connect))
        .route(&below("metrics"), get(control::metrics::of_one))
        .route(&below("logs"), get(control::logs::first))
        .route("/v2/sandboxes/{id}/logs", get(control::logs::second))
        .route(&below("network"), put(control::network::update))
        .route(&below("snapshots"), post(control::snapshots::make))
        .route(&below("fork"), post(control::snapshots::fork))
        .route("/snapshots", get(control::snapshots::list))
        .route("/events/sandboxes", get(control::events::of_all))
        .route("/events/sandboxes/{id}", get(control::events::of_one))
        .route("/events/webhooks", get(control::webhooks::list).post(control::webhooks::create))
        .route(webhook, get(control::webhooks::show).patch(control::webhooks::update))
        .route(webhook, delete(control::webhooks::remove))
        .route("/teams", get(control::events::teams))
        .route("/volumes", get(control::volumes::list).post(control::volumes::create))
        .route("/volumes/{id}", get(control::volumes::show).delete(control::volumes::remove))
        .route("/v3/templates", post(control::builds::announce))
        .route("/templates", get(control::templates::list))
        .route("/v2/templates", get(control::templates::list))
        .route("/templates/tags", post(control::templates::assign_tags).delete(control::templates::remove_tags))
        .route("/templates/aliases/{alias}", get(control::templates::alias))
        .route(template, get(control::templates::show).patch(control::templates::update))
        .route(template, delete(control::templates::remove))
        .route("/v2/templates/{id}", patch(control::templates::update))
        .route("/templates/{id}/tags", get(control::templates::tags))
        .route("/templates/{id}/files/{hash}", get(control::builds::upload_link))
        .route("/v2/templates/{id}/builds/{build}", post(control::builds::start))
        .route("/templates/{id}/builds/{build}/status", get(control::builds::status))
        .route("/templates/{id}/builds/{build}/logs", get(control::builds::logs))
        .route_layer(from_fn_with_state(e2b.clone(), control::authenticate));
    Router::new()
        .merge(control)
        .route("/templates/uploads/{token}", put(control::builds::upload))
        .route("/health", get(health))
        .route("/volumecontent/{id}/dir", get(volume_content::list).post(volume_content::make_directory))
        .route("/volumecontent/{id}/file", get(volume_content::read).put(volume_content::write))
        .route(
            "/volumecontent/{id}/path",
            get(volume_content::stat).patch(volume_content::set_attributes).delete(volume_content::remove),
        )
        .route("/execute", post(execute::execute))
        .route("/contexts", get(contexts::list).post(contexts::create))
        .route("/contexts/{context}", delete(contexts::remove))
        .route("/contexts/{context}/restart", post(contexts::restart))
        .route("/files", get(files::download).post(files::upload))
        .route("/filesystem.Filesystem/{method}", post(filesystem::call))
        .route("/process.Process/{method}", post(process::call))
        .route_layer(from_fn_with_state(e2b.clone(), refuse_when_draining))
        .with_state(e2b)
}

/// Refuses requests that begin something when the service is going down.
async fn refuse_when_draining(State(e2b): State<E2b>, request: Request, next: Next) -> Response {
    if e2b.shared.draining.has_begun() {
        return E2bError::new(Kind::Unavailable, "the service is going down").into_response();
    }
    next.run(request).await
}

/// Translates errors of this service's own making into the form of this API flavour, for its clients.
pub(super) async fn translate_errors(request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let named = is_theirs(headers, uri).then(|| Named::of(headers, uri));
    let response = next.run(request).await;
    let Some(named) = named else { return response };
    if response.extensions().get::<Translated>().is_some() {
        return response;
    }
    let error = match (response.status(), named) {
        // The path of a program in the sandbox that listens: there is none.
        (StatusCode::NOT_FOUND, Some(Named { text, port: Some(port) })) if port != ENVD && port != INTERPRETER => {
            E2bError::Closed { sandbox: text, port }
        }
        (StatusCode::NOT_FOUND, _) => E2bError::new(Kind::NotFound, "there is nothing at this path"),
        (StatusCode::METHOD_NOT_ALLOWED, _) => E2bError::new(Kind::Method, "this path does not take this method"),
        (StatusCode::PAYLOAD_TOO_LARGE, _) => body::too_large(),
        _ => return response,
    };
    error.into_response()
}

/// Returns whether a request comes from a client of this API flavour.
fn is_theirs(headers: &HeaderMap, uri: &Uri) -> bool {
    !uri.path().starts_with("/v1/") && (headers.contains_key("x-api-key") || Named::of(headers, uri).is_some())
}

/// Reports whether the sandbox is running.
async fn health(State(e2b): State<E2b>, headers: HeaderMap, uri: Uri) -> Response {
    let port = Named::of(&headers, &uri).and_then(|named| named.port);
    match e2b.sandbox(&headers, &uri) {
        Ok(info) if info.state == crate::service::SessionState::Paused => {
            E2bError::dead(&info.id.simple()).into_response()
        }
        Ok(_) if port == Some(INTERPRETER) => (StatusCode::OK, "OK").into_response(),
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.into_response(),
    }
}

/// Compares secrets in constant time.
fn secrets_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Renders a time as RFC 3339, in UTC.
fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_this_dialect_are_told_by_their_headers() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            pairs
                .iter()
                .map(|(name, value)| {
                    (axum::http::HeaderName::from_static(name), axum::http::HeaderValue::from_static(value))
                })
                .collect::<HeaderMap>()
        };
        let uri = Uri::from_static("/no/such/route");
        assert!(is_theirs(&headers(&[("x-api-key", "e2b_x")]), &uri));
        assert!(is_theirs(&headers(&[("e2b-sandbox-id", "abc")]), &uri));
        assert!(is_theirs(&headers(&[("host", "3000-abc.example.org")]), &uri));
        assert!(!is_theirs(&headers(&[("x-api-key", "e2b_x")]), &Uri::from_static("/v1/none")));
        assert!(!is_theirs(&headers(&[("host", "localhost:8080"), ("authorization", "Bearer x")]), &uri));
    }

    #[test]
    fn secrets_are_equal_only_as_a_whole() {
        assert!(secrets_equal(b"abc", b"abc"));
        assert!(!secrets_equal(b"abc", b"abd"));
        assert!(!secrets_equal(b"abc", b"ab"));
        assert!(secrets_equal(b"", b""));
    }
}
