//! API flavour of Judge0 1.13, as its clients call it: docs/how-to/use-piston-and-judge0-clients.md.
//!
//! - `submissions`: making, showing and deleting submissions;
//! - `request`: what is read of a submission, and its validation;
//! - `record`: a submission with its result, and its fields;
//! - `store`: the submissions that clients can ask for by their tokens;
//! - `languages`: languages;
//! - `about`: statuses and settings;
//! - `base64`: Base64 as Judge0 reads and writes it;
//! - `error`: errors, and their status codes.

mod about;
mod base64;
mod error;
mod languages;
mod record;
mod request;
mod store;
mod submissions;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::AppState;
use super::programs::identify;
use error::Judge0Error;
use store::Store;

/// State that the handlers of this API flavour share.
#[derive(Clone)]
struct Judge0 {
    shared: AppState,
    store: Arc<Store>,
}

/// Builds the routes of this API flavour.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(shared: &AppState) -> Router<S> {
    let judge0 = Judge0 { shared: shared.clone(), store: Arc::new(Store::new()) };
    Router::new()
        .route("/submissions", get(submissions::list).post(submissions::create))
        .route("/submissions/", get(submissions::list).post(submissions::create))
        .route("/submissions/batch", get(submissions::show_batch).post(submissions::create_batch))
        .route("/submissions/{token}", get(submissions::show).delete(submissions::delete))
        .route("/languages", get(languages::languages))
        .route("/languages/", get(languages::languages))
        .route("/languages/all", get(languages::all_languages))
        .route("/languages/{id}", get(languages::language))
        .route("/statuses", get(about::statuses))
        .route("/about", get(about::about))
        .route("/version", get(about::version))
        .route("/system_info", get(about::system_info))
        .route("/config_info", get(about::config_info))
        .route("/authenticate", post(about::authenticate))
        .route("/authorize", post(about::authenticate))
        .route_layer(from_fn_with_state(shared.clone(), admit))
        .with_state(judge0)
}

/// Lets requests in: those of callers who may, while the service is up.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    move_token(request.headers_mut());
    match identify(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(failure) => Judge0Error::from(failure).into_response(),
    }
}

/// Takes Judge0's header of a key for the service's own.
fn move_token(headers: &mut HeaderMap) {
    let token =
        headers.get("x-auth-token").or_else(|| headers.get("x-auth-user")).and_then(|value| value.to_str().ok());
    if let Some(Ok(bearer)) = token.map(|token| HeaderValue::from_str(&format!("Bearer {}", token.trim()))) {
        headers.insert(header::AUTHORIZATION, bearer);
    }
}
