//! Templates: the default image, other images of this service, and snapshots.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::super::E2b;
use super::super::error::{E2bError, Kind};
use super::snapshots::find_named;
use proofbox_runtime::images;
use proofbox_types::caller::Caller;
use proofbox_types::ids::CheckpointId;

/// The template that E2B's SDK asks for by itself: the default image.
const BASE: &str = "base";
/// The template that its code interpreter asks for by itself: the image for data, where it was built.
const CODE_INTERPRETER: &str = "code-interpreter-v1";

/// Origin of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// The default image.
    Default,
    /// Image with this hash.
    Image(String),
    /// A checkpoint, whoever made it.
    Snapshot(CheckpointId),
}

/// Finds the template that a client names. An id of a snapshot is not looked up.
pub async fn find(e2b: &E2b, caller: &Caller, name: &str) -> Result<Option<Template>, E2bError> {
    if let Some(image) = e2b.shared.service.images().find(name) {
        return Ok(Some(Template::Image(image.image_hash.clone())));
    }
    if name == CODE_INTERPRETER
        && let Some(image) = e2b.shared.service.images().find(images::DATA)
    {
        return Ok(Some(Template::Image(image.image_hash.clone())));
    }
    if name == BASE || name == CODE_INTERPRETER {
        return Ok(Some(Template::Default));
    }
    let id = match CheckpointId::parse(name) {
        Some(id) => Some(id),
        None => find_named(e2b, caller, name).await?,
    };
    Ok(id.map(Template::Snapshot))
}

/// Shows that a template has this name.
pub async fn alias(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(alias): Path<String>,
) -> Result<Json<Value>, E2bError> {
    match find(&e2b, &caller, &alias).await? {
        Some(Template::Default | Template::Image(_)) => Ok(Json(json!({"templateID": alias, "public": true}))),
        Some(Template::Snapshot(id)) if CheckpointId::parse(&alias).is_none() => {
            Ok(Json(json!({"templateID": id.simple(), "public": false})))
        }
        _ => Err(E2bError::new(Kind::NotFound, "no template has this name")),
    }
}
