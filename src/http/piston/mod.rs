//! API flavour of Piston v2, as its clients call it: docs/how-to/use-piston-and-judge0-clients.md.
//!
//! - `execute`: a program with its files;
//! - `connect`: a program whose input and output go over a WebSocket;
//! - `version`: selectors of versions, as npm has them;
//! - `error`: errors, and their status codes.

mod connect;
mod error;
mod execute;
mod version;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::identify;
use error::PistonError;

/// Name of the language that is run.
const LANGUAGE: &str = "python";
/// Other names of the language.
const ALIASES: [&str; 4] = ["py", "py3", "python3", "python3.13"];

/// Builds the routes of this API flavour. Clients append a slash or don't.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    let packages = || get(packages).post(change_packages).delete(change_packages);
    Router::new()
        .route("/runtimes", get(runtimes))
        .route("/runtimes/", get(runtimes))
        .route("/execute", post(execute::execute))
        .route("/execute/", post(execute::execute))
        .route("/connect", get(connect::connect))
        .route("/connect/", get(connect::connect))
        .route("/packages", packages())
        .route("/packages/", packages())
        .route_layer(from_fn_with_state(shared.clone(), admit))
}

/// Lets requests in: those of callers who may, while the service is up, with JSON.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    name_scheme(request.headers_mut());
    if let Err(failure) = identify(&shared, &mut request) {
        return PistonError::from(failure).into_response();
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    // npm's piston-client does not say that it sends JSON.
    let may_be_json = kind.starts_with("application/json") || kind.starts_with("text/plain");
    if request.method() != Method::GET && !may_be_json {
        return PistonError::not_json().into_response();
    }
    next.run(request).await
}

/// Names the scheme of a key that stands alone in `Authorization`, as Piston's clients send it.
fn name_scheme(headers: &mut HeaderMap) {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(key) = key.filter(|key| !key.contains(' '))
        && let Ok(bearer) = HeaderValue::from_str(&format!("Bearer {key}"))
    {
        headers.insert(header::AUTHORIZATION, bearer);
    }
}

/// Returns the version of Python that is run.
fn python(shared: &AppState) -> &str {
    &shared.service.images.default().python
}

async fn runtimes(State(shared): State<AppState>) -> Json<Value> {
    Json(json!([{"language": LANGUAGE, "version": python(&shared), "aliases": ALIASES}]))
}

async fn packages(State(shared): State<AppState>) -> Json<Value> {
    Json(json!([{"language": LANGUAGE, "language_version": python(&shared), "installed": true}]))
}

async fn change_packages() -> PistonError {
    PistonError::bad("packages can't be installed or removed here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_a_scheme_is_a_key() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("pb_key"));
        name_scheme(&mut headers);
        assert_eq!(headers[header::AUTHORIZATION], "Bearer pb_key");
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic eDp5"));
        name_scheme(&mut headers);
        assert_eq!(headers[header::AUTHORIZATION], "Basic eDp5");
    }
}
