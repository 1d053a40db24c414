//! The service's own API, `/v1`: docs/reference/http-api.md is its contract.

mod answer;
mod completion;
mod contract;
pub(super) mod evaluators;
pub(super) mod execute;
mod files;
mod items;
mod jobs;
pub(super) mod policies;
pub(super) mod receipts;
mod request;
pub(super) mod runtime;
pub(super) mod scan;
pub(super) mod sessions;
pub(super) mod stats;
pub(super) mod suites;
mod tests;

use utoipa::OpenApi;

use contract::Common;

pub use answer::answer_of;
pub use items::sample_of;
pub(crate) use jobs::{Wire, routes as job_routes};
pub(super) use request::submission_of as execute_request;
pub(super) use suites::{Format, suite_request};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "proofbox",
        description = "Runs untrusted Python in WebAssembly, and grades it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Common),
    paths(
        execute::execute,
        scan::scan,
        suites::suites,
        jobs::submit,
        jobs::list,
        jobs::show,
        jobs::cancel,
        jobs::results::results,
        jobs::report::report,
        stats::stats,
        sessions::open,
        sessions::list,
        sessions::show,
        sessions::change,
        sessions::end,
        sessions::execute::execute,
        sessions::commands::start,
        sessions::commands::list,
        sessions::commands::show,
        sessions::commands::output,
        sessions::commands::input,
        sessions::commands::signal,
        sessions::commands::remove,
        sessions::grade::grade,
        sessions::interrupt,
        sessions::restart,
        sessions::files::file,
        sessions::files::write,
        sessions::files::remove,
        sessions::files::list,
        sessions::files::change,
        sessions::checkpoints::make,
        sessions::checkpoints::fork,
        sessions::checkpoints::restore,
        sessions::checkpoints::list,
        sessions::checkpoints::remove,
        receipts::key,
        runtime::runtime,
        policies::policies,
        evaluators::presets
    )
)]
struct Contract;

/// The contract as OpenAPI 3.1.
pub fn openapi() -> String {
    Contract::openapi().to_json().expect("the document is made from constants")
}
