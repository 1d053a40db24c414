//! `GET /v1/policies`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::wire::LimitsInForce;
use crate::http::Shared;

/// A policy pack.
#[derive(Serialize, ToSchema)]
pub struct Policy {
    name: String,
    description: String,
    /// In force where a request is silent.
    default: LimitsInForce,
    /// The least that may be asked for.
    least: LimitsInForce,
    /// The most that may be asked for.
    most: LimitsInForce,
}

/// The policies in force.
#[utoipa::path(get, path = "/v1/policies", responses((status = 200, description = "Every pack", body = Vec<Policy>)))]
pub async fn policies(State(shared): State<Shared>) -> Json<Vec<Policy>> {
    let policy = |(name, pack): (&str, &crate::policy::Pack)| Policy {
        name: name.to_owned(),
        description: pack.description.clone(),
        default: (&pack.ceiling.default).into(),
        least: (&pack.ceiling.least).into(),
        most: (&pack.ceiling.most).into(),
    };
    Json(shared.service.policies().iter().map(policy).collect())
}
