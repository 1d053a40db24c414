//! Classification of failures that came from a refusal at the boundary: the guest's claim is checked against the host's
//! record.
//!
//! The class is information. A guest that forges it, in process, gains a worse word for the same failure.

use std::collections::HashMap;

use proofbox_types::outcome::Report;
use proofbox_types::status::FailureClass;
use proofbox_vfs::Refusals;

/// Different paths that are looked up for one report: a guest can name as many as it has cases.
const PATHS: usize = 64;

/// Gives each failure of `report` the class that the record bears out.
pub(super) fn classify_denied(report: &mut Report, refusals: &Refusals<'_>) {
    let reached_out = refusals.of_reaching_out();
    let errors = report.error.iter_mut().chain(report.cases.iter_mut().filter_map(|case| case.error.as_mut()));
    for error in errors.filter(|error| error.class == FailureClass::UnsafeOperation && !reached_out) {
        error.class = FailureClass::Exception;
    }
    let mut looked_up = HashMap::new();
    for (case, paths) in std::mem::take(&mut report.error_paths) {
        let error = match case {
            None => report.error.as_mut(),
            Some(index) => {
                let found = report.cases.binary_search_by_key(&index, |case| case.index);
                found.ok().and_then(|at| report.cases[at].error.as_mut())
            }
        };
        let Some(error) = error.filter(|error| error.class == FailureClass::Exception) else { continue };
        let refused = paths.into_iter().any(|path| {
            if looked_up.len() >= PATHS && !looked_up.contains_key(&path) {
                return false;
            }
            *looked_up.entry(path).or_insert_with_key(|path| refusals.on_path(path))
        });
        if refused {
            error.class = FailureClass::PermissionDenied;
        }
    }
}
