//! API flavour of NeMo-Skills' sandbox, as its `LocalSandbox` calls it: docs/how-to/reward-with-trainers.md.
//!
//! - `execute`: cells of named sessions, programs and scripts;
//! - `names`: the sessions that clients name;
//! - `traceback`: tracebacks in the forms that clients ask for;
//! - `error`: errors, and their status codes.

mod error;
mod execute;
mod names;
mod traceback;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use axum::{Extension, Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::admit;
use error::NemoSkillsError;
use names::Names;
use proofbox_types::caller::Caller;

/// State that the handlers of this API flavour share.
#[derive(Clone)]
struct NemoSkills {
    shared: AppState,
    names: Arc<Names>,
}

/// Builds the routes of this API flavour.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(shared: &AppState) -> Router<S> {
    let nemo_skills = NemoSkills { shared: shared.clone(), names: Arc::default() };
    Router::new()
        .route("/execute", post(execute::execute))
        .route("/sessions", get(sessions))
        .route("/sessions/{name}", delete(end_session))
        .route_layer(from_fn_with_state(shared.clone(), admit::<NemoSkillsError>))
        .route("/health", get(health))
        .with_state(nemo_skills)
}

async fn health() -> Json<Value> {
    Json(json!({"status": "healthy"}))
}

async fn sessions(State(nemo_skills): State<NemoSkills>, Extension(caller): Extension<Caller>) -> Json<Value> {
    let NemoSkills { shared, names } = nemo_skills;
    Json(json!({"sessions": names.list(&shared.service.sessions, caller.owner()), "backend": "ipython"}))
}

async fn end_session(
    State(nemo_skills): State<NemoSkills>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Value>, NemoSkillsError> {
    let NemoSkills { shared, names } = nemo_skills;
    match names.remove(caller.owner(), &name) {
        Some(session) if shared.service.sessions.end(session).await.is_ok() => {
            Ok(Json(json!({"message": format!("IPython session {name} deleted successfully")})))
        }
        _ => Err(NemoSkillsError::no_session(&name)),
    }
}
