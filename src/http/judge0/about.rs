//! Statuses, settings and the machine.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Judge0;
use super::record::{STATUSES, status_json};
use super::request::{DEFAULTS, MAX_RUNS, Ranges};
use super::store::MAX_UNFINISHED;
use super::submissions::MAX_BATCH;

/// Version of Judge0 whose interface this is: clients choose the ids of languages by it.
const VERSION: &str = "1.13.1";

pub(super) async fn statuses() -> Json<Value> {
    Json((1..=STATUSES.len()).map(status_json).collect())
}

pub(super) async fn about() -> Json<Value> {
    let maintainer = concat!("proofbox ", env!("CARGO_PKG_VERSION"));
    Json(json!({"version": VERSION, "homepage": "", "source_code": "", "maintainer": maintainer}))
}

pub(super) async fn version() -> &'static str {
    VERSION
}

/// The caller was authenticated on the way here.
pub(super) async fn authenticate() -> StatusCode {
    StatusCode::OK
}

pub(super) async fn system_info() -> Json<Value> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Json(json!({"Architecture": std::env::consts::ARCH, "CPU(s)": cores.to_string()}))
}

/// Returns the settings, with the largest values that the policy grants.
pub(super) async fn config_info(
    State(judge0): State<Judge0>,
    axum::Extension(caller): axum::Extension<proofbox_types::caller::Caller>,
) -> Json<Value> {
    let ranges = Ranges::of(&judge0.shared, &caller);
    Json(json!({
        "maintenance_mode": false,
        "enable_wait_result": true,
        "enable_compiler_options": false,
        "allowed_languages_for_compile_options": [],
        "enable_command_line_arguments": true,
        "enable_submission_delete": true,
        "enable_callbacks": false,
        "callbacks_max_tries": 0,
        "callbacks_timeout": 0.0,
        "enable_additional_files": false,
        "max_queue_size": MAX_UNFINISHED,
        "cpu_time_limit": DEFAULTS.cpu_time,
        "max_cpu_time_limit": ranges.time,
        "cpu_extra_time": DEFAULTS.cpu_extra_time,
        "max_cpu_extra_time": ranges.time,
        "wall_time_limit": DEFAULTS.wall_time,
        "max_wall_time_limit": ranges.time,
        "memory_limit": DEFAULTS.memory,
        "max_memory_limit": ranges.memory,
        "stack_limit": DEFAULTS.stack,
        "max_stack_limit": DEFAULTS.stack,
        "max_processes_and_or_threads": DEFAULTS.processes,
        "max_max_processes_and_or_threads": DEFAULTS.processes,
        "enable_per_process_and_thread_time_limit": false,
        "allow_enable_per_process_and_thread_time_limit": false,
        "enable_per_process_and_thread_memory_limit": false,
        "allow_enable_per_process_and_thread_memory_limit": false,
        "max_file_size": DEFAULTS.file_size,
        "max_max_file_size": DEFAULTS.file_size,
        "number_of_runs": 1,
        "max_number_of_runs": MAX_RUNS,
        "redirect_stderr_to_stdout": false,
        "max_extract_size": 0,
        "enable_batched_submissions": true,
        "max_submission_batch_size": MAX_BATCH,
        "submission_cache_duration": 0.0,
        "use_docs_as_homepage": false,
        "allow_enable_network": false,
        "enable_network": false,
        "disable_implicit_base64_encoding": true,
    }))
}
