//! `GET /v1/evaluators/presets`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use proofbox_grading::preset::PRESETS;

/// The evaluators that a request can name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Presets {
    presets: Vec<PresetAnswer>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PresetAnswer {
    /// Name for `tests.preset`.
    name: &'static str,
    /// Purpose of the evaluator, and the fields that it takes from `app_params`.
    description: &'static str,
    /// Python source of the evaluator.
    source: &'static str,
}

/// The evaluators that a request can name.
#[utoipa::path(get, path = "/v1/evaluators/presets", responses((status = 200, body = Presets)))]
pub(crate) async fn presets() -> Json<Presets> {
    let answer = |preset: &proofbox_grading::preset::Preset| PresetAnswer {
        name: preset.name,
        description: preset.description(),
        source: preset.source,
    };
    Json(Presets { presets: PRESETS.iter().map(answer).collect() })
}
