//! The service's own API, `/v1`: docs/reference/http-api.md is its contract.

mod answer;
mod completion;
mod contract;
pub mod evaluators;
pub mod execute;
mod files;
mod items;
mod jobs;
pub mod policies;
pub mod receipts;
mod request;
pub mod runtime;
pub mod scan;
pub mod sessions;
pub mod stats;
pub mod suites;
mod tests;

use utoipa::OpenApi;

use contract::Common;

pub use answer::answer_of;
pub use items::sample_of;
pub use jobs::{Wire, routes as job_routes};
pub use request::submission_of as execute_request;
pub use suites::{Format, suite_request};

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
