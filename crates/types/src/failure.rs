//! From how a guest ended to the class of its failure.

use super::outcome::{End, ErrorReport, Limit, LimitHit, Outcome};
use super::status::FailureClass;

/// Failure of a run, if it failed.
#[derive(Debug)]
pub struct Failure {
    /// Failure class; [`FailureClass::None`] for a run that did not fail.
    pub class: FailureClass,
    /// The same in detail.
    pub error: Option<ErrorReport>,
}

/// Judges a whole run.
pub fn classify(outcome: &Outcome) -> Failure {
    if let Some(error) = stop_error(&outcome.end) {
        return Failure { class: error.class, error: Some(error) };
    }
    match (&outcome.report.error, &outcome.end) {
        (Some(error), _) => Failure { class: error.class, error: Some(error.clone()) },
        (None, End::Exited(0)) => Failure { class: FailureClass::None, error: None },
        (None, end) => {
            let error = exit_error(end);
            Failure { class: error.class, error: Some(error) }
        }
    }
}

/// Returns the error that ended a guest that should have gone on.
pub fn early_end_error(outcome: &Outcome) -> ErrorReport {
    classify(outcome).error.unwrap_or_else(|| exit_error(&outcome.end))
}

/// The error of a guest that did not end by itself.
pub fn stop_error(end: &End) -> Option<ErrorReport> {
    match end {
        End::Exited(_) => None,
        End::Limited(hit) => Some(limited(hit)),
        End::Trapped(reason) => Some(error(
            FailureClass::Exception,
            "InterpreterCrash",
            format!("the interpreter ended abnormally: {reason}"),
        )),
    }
}

/// The error of a guest that exited where it should not have.
pub fn exit_error(end: &End) -> ErrorReport {
    let code = if let End::Exited(code) = end { *code } else { 1 };
    let class = if code == 0 { FailureClass::Exception } else { FailureClass::NonzeroExit };
    error(class, "SystemExit", format!("the program ended itself with exit code {code}"))
}

fn limited(hit: &LimitHit) -> ErrorReport {
    let allowed = hit.allowed;
    let (class, message) = match hit.limit {
        Limit::Fuel => (FailureClass::FuelExhausted, format!("all {allowed} units of fuel are used up (limits.fuel)")),
        Limit::Wall => {
            (FailureClass::Timeout, format!("it ran for more than {} s (limits.wall_seconds)", allowed as f64 / 1000.0))
        }
        Limit::Memory => {
            (FailureClass::MemoryLimit, format!("it needs more than {allowed} bytes of memory (limits.memory_bytes)"))
        }
        Limit::Stack => (FailureClass::RecursionLimit, "the stack is used up".to_owned()),
        Limit::Output => (
            FailureClass::OutputLimit,
            format!("it wrote more than {allowed} bytes, 64 times what is kept (limits.output_bytes)"),
        ),
    };
    error(class, "", message)
}

fn error(class: FailureClass, type_name: &str, message: String) -> ErrorReport {
    ErrorReport { class, type_name: type_name.to_owned(), message, line: None, traceback: Vec::new() }
}

/// Returns the exit code that a shell would report.
pub fn exit_code(end: &End, class: FailureClass) -> i32 {
    match class {
        FailureClass::Timeout | FailureClass::FuelExhausted => 124,
        FailureClass::MemoryLimit | FailureClass::OutputLimit => 137,
        FailureClass::PolicyBlocked | FailureClass::NoCode | FailureClass::OtherLanguage => 126,
        FailureClass::None => 0,
        _ => match end {
            End::Exited(code) if *code != 0 => *code,
            // As after SIGABRT.
            End::Trapped(_) => 134,
            End::Exited(_) | End::Limited(_) => 1,
        },
    }
}
