//! Bytes to types and back: the route table and the layer stack, in order, and nothing else.

mod access_log;
mod auth;
mod body;
mod connections;
mod download;
mod e2b;
mod error;
mod extract;
#[doc(hidden)]
pub mod fuzz_targets;
mod health;
mod judge0;
pub mod mcp;
mod nemo_skills;
mod open_instruct;
mod open_r1;
mod openenv;
mod output;
mod pace;
mod piston;
mod programs;
mod promptfoo;
mod query;
mod range;
mod sandbox_fusion;
mod tls;
mod v1;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::config::MetricsAccess;
use crate::service::Service;
use crate::telemetry::Telemetry;
use body::BodyBudgets;
pub use connections::{ConnectionBounds, serve};
pub use e2b::EventWire;
use error::ApiError;
pub use tls::Tls;
pub(crate) use v1::Wire;
pub use v1::{answer_of, openapi, sample_of};

/// Progress of the service's going down.
#[derive(Clone, Debug, Default)]
pub struct Draining {
    begun: CancellationToken,
    ending: CancellationToken,
}

impl Draining {
    /// Begins it: from now on new work is refused and readiness fails.
    pub fn begin(&self) {
        self.begun.cancel();
    }

    /// Says that the time for what still runs is all but over.
    pub fn end(&self) {
        self.ending.cancel();
    }

    /// Returns whether the service is going down.
    pub fn has_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// Waits until the service is going down.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// Waits until the time for what still runs is all but over.
    pub async fn ending(&self) {
        self.ending.cancelled().await;
    }
}

/// State that all handlers share.
#[derive(Clone)]
struct AppState {
    service: Arc<Service>,
    telemetry: Telemetry,
    draining: Draining,
    keyless: KeylessRequests,
    metrics_access: MetricsAccess,
    scheme: Scheme,
    bodies: Arc<BodyBudgets>,
}

/// Scheme of the addresses by which clients reach the service itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP without TLS, which a proxy may add.
    Http,
    /// HTTP over TLS.
    Https,
}

/// Rule for requests without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeylessRequests {
    /// No request without a key is served.
    Refused,
    /// Requests without a key are served if they call the service by a name of this machine, as clients of its loopback
    /// address do.
    ToThisMachine,
    /// Every request without a key is served.
    Served,
}

/// Settings that hold for all routes.
#[derive(Clone, Copy, Debug)]
pub struct RouterSettings {
    /// Size of the largest request body, in bytes.
    pub body_bytes: usize,
    /// Rule for requests without a key.
    pub keyless: KeylessRequests,
    /// Access to the metrics.
    pub metrics_access: MetricsAccess,
    /// Scheme of the addresses of the service.
    pub scheme: Scheme,
    /// Longest wait for a client between two pieces of a body.
    pub idle_timeout: Duration,
}

/// Builds the router with every route.
pub fn router(service: Arc<Service>, telemetry: Telemetry, settings: RouterSettings, draining: Draining) -> Router {
    let RouterSettings { body_bytes, keyless, metrics_access, scheme, idle_timeout } = settings;
    let bodies = Arc::new(BodyBudgets::new(body_bytes));
    let shared = AppState { service, telemetry, draining, keyless, metrics_access, scheme, bodies };
    let v1 = Router::new()
        .route("/v1/execute", post(v1::execute::execute))
        .route("/v1/scan", post(v1::scan::scan))
        .route("/v1/suites", post(v1::suites::suites))
        .merge(v1::sessions::routes())
        .merge(v1::job_routes())
        .route("/v1/stats", get(v1::stats::stats))
        .route("/v1/runtime", get(v1::runtime::runtime))
        .route("/v1/policies", get(v1::policies::policies))
        .route("/v1/evaluators/presets", get(v1::evaluators::presets))
        .route("/v1/receipts/key", get(v1::receipts::key))
        .route_layer(from_fn_with_state(shared.clone(), auth::authenticate));
    Router::new()
        .merge(v1)
        .merge(e2b::routes(&shared))
        .merge(mcp::routes(&shared))
        .merge(promptfoo::routes(&shared))
        .nest("/judge0", judge0::routes(&shared))
        .nest("/nemo-skills", nemo_skills::routes(&shared))
        .nest("/open-instruct", open_instruct::routes(&shared))
        .nest("/open-r1", open_r1::routes(&shared))
        .nest("/openenv", openenv::routes(&shared))
        .nest("/piston/api/v2", piston::routes(&shared))
        .nest("/sandbox-fusion", sandbox_fusion::routes(&shared))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(health::openapi))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(body_bytes))
        .layer(RequestBodyTimeoutLayer::new(idle_timeout))
        .layer(from_fn(move |request, next| refuse_announced_excess(body_bytes, request, next)))
        .layer(from_fn_with_state(shared.clone(), body::lend_memory))
        .layer(from_fn_with_state(shared.clone(), refuse_when_draining))
        .layer(from_fn(e2b::translate_errors))
        // A panic is our failure: the client hears so, and the next request is served.
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| ApiError::internal().into_response()))
        .layer(from_fn_with_state(shared.clone(), access_log::observe))
        .with_state(shared)
}

async fn not_found() -> ApiError {
    ApiError::not_found()
}

async fn method_not_allowed() -> ApiError {
    ApiError::method_not_allowed()
}

/// Longest time that a body which is too large is read on, for its sender to read why it is refused.
const MAX_DISCARD: Duration = Duration::from_secs(10);

/// Refuses a body whose announced length exceeds the maximum: at once if it is more than eight times as long, else
/// after reading and discarding it, because clients read the answer only once they have sent their request.
async fn refuse_announced_excess(most: usize, request: Request, next: Next) -> Response {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let most = most as u64;
    match announced {
        Some(length) if length > most * 8 => ApiError::body_too_large().into_response(),
        Some(length) if length > most => {
            let mut body = request.into_body().into_data_stream();
            let read = async { while let Some(Ok(_)) = body.next().await {} };
            // Who is too slow hears it now, or not at all.
            let _ = tokio::time::timeout(MAX_DISCARD, read).await;
            ApiError::body_too_large().into_response()
        }
        _ => next.run(request).await,
    }
}

async fn refuse_when_draining(State(shared): State<AppState>, request: Request, next: Next) -> Response {
    if shared.draining.has_begun() && request.uri().path().starts_with("/v1/") {
        return ApiError::draining().into_response();
    }
    next.run(request).await
}
