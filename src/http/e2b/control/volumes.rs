//! `/volumes`: making, finding and removing volumes.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use crate::service::VolumeInfo;
use proofbox_types::caller::Caller;
use proofbox_types::ids::VolumeId;

/// `NewVolume` of the API.
#[derive(Deserialize)]
struct NewVolume {
    name: String,
}

/// Renders a `VolumeAndToken` of the API.
fn with_token(volume: &VolumeInfo) -> Value {
    json!({"volumeID": volume.id.simple(), "name": volume.name, "token": &*volume.token})
}

fn parse(id: &str) -> Result<VolumeId, E2bError> {
    VolumeId::parse(id).ok_or_else(|| {
        let shown: String = id.chars().take(100).collect();
        E2bError::new(Kind::NotFound, format!("Volume {shown} not found"))
    })
}

/// Makes an empty volume.
pub(crate) async fn create(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let NewVolume { name } = body::json(request).await?;
    let volume = e2b.shared.service.volumes.create(&caller, &name).await?;
    Ok((StatusCode::CREATED, Json(with_token(&volume))))
}

/// Lists the caller's volumes, without their tokens.
pub(crate) async fn list(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<Value>>, E2bError> {
    let volumes = e2b.shared.service.volumes.list(&caller).await?;
    let volume = |volume: &VolumeInfo| json!({"volumeID": volume.id.simple(), "name": volume.name});
    Ok(Json(volumes.iter().map(volume).collect()))
}

/// Shows a volume with its token.
pub(crate) async fn show(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Value>, E2bError> {
    let volume = e2b.shared.service.volumes.find_own(&caller, parse(&id)?).await?;
    Ok(Json(with_token(&volume)))
}

/// Removes a volume with its content.
pub(crate) async fn remove(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bError> {
    e2b.shared.service.volumes.remove(&caller, parse(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
