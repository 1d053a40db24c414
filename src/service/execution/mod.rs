//! Submissions: from a request to its result.
//!
//! - here: what an execution needs;
//! - `submit`: a submission with everything that is asked beside its verdict;
//! - `run`: runs of its program, and their verdict;
//! - `result`, `error`: what comes of it;
//! - `image_choice`, `image_reason`: the image that it runs in, and why;
//! - `hiding`: what is left out of a result.

mod error;
mod hiding;
mod image_choice;
mod image_reason;
mod result;
mod run;
mod submit;

use std::sync::Arc;

pub use error::ExecuteError;
pub use image_choice::ImageChooser;
pub(super) use image_choice::requested_image;
pub use image_reason::ImageReason;
pub(super) use result::Cost;
pub use result::Execution;

use super::{Admission, Keys, PolicyCheck, PolicyStore, Receipts};
use crate::metrics::Metrics;
use crate::sandbox::Sandbox;
use proofbox_grading::lint::Linter;
use proofbox_runtime::images::Images;

/// Snippets that are linted at once: it takes a millisecond or so, beside a run.
const LINTING_THREADS: usize = 2;

/// Runs and grades submissions.
pub struct Executor {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) policies: Arc<PolicyStore>,
    pub(super) policy_check: Arc<PolicyCheck>,
    pub(super) admission: Arc<Admission>,
    pub(super) keys: Arc<Keys>,
    pub(super) images: Arc<Images>,
    pub(super) image_chooser: Arc<ImageChooser>,
    pub(super) receipts: Arc<Receipts>,
    pub(super) linter: Linter,
    pub(super) metrics: Arc<Metrics>,
}

/// Creates the linter of a service.
pub(super) fn linter() -> Linter {
    Linter::new(LINTING_THREADS)
}
