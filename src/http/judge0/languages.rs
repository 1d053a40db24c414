//! Languages: versions of Python, by Judge0's ids.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::Judge0;
use super::error::Judge0Error;

/// Ids that Judge0 has for its versions of Python 3: all of them run the one that is here.
const PYTHON_IDS: [u64; 5] = [71, 92, 100, 109, 113];

/// Returns whether a language is run here.
pub(super) fn is_known(id: u64) -> bool {
    PYTHON_IDS.contains(&id)
}

/// Returns the name of the language.
pub(super) fn name(judge0: &Judge0) -> String {
    format!("Python ({})", judge0.shared.service.images.default().python)
}

pub(super) async fn languages(State(judge0): State<Judge0>) -> Json<Value> {
    let name = name(&judge0);
    Json(PYTHON_IDS.iter().map(|id| json!({"id": id, "name": name})).collect())
}

pub(super) async fn all_languages(State(judge0): State<Judge0>) -> Json<Value> {
    let name = name(&judge0);
    Json(PYTHON_IDS.iter().map(|id| json!({"id": id, "name": name, "is_archived": false})).collect())
}

pub(super) async fn language(State(judge0): State<Judge0>, Path(id): Path<String>) -> Result<Json<Value>, Judge0Error> {
    let id = id.parse().ok().filter(|id| is_known(*id)).ok_or_else(Judge0Error::not_found)?;
    Ok(Json(json!({
        "id": id,
        "name": name(&judge0),
        "is_archived": false,
        "source_file": "script.py",
        "compile_cmd": null,
        "run_cmd": "python3 script.py",
    })))
}
