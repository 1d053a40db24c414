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

/// Returns the class of a run's failure, as [`classify`] does.
pub fn class_of(outcome: &Outcome) -> FailureClass {
    match (&outcome.end, &outcome.report.error) {
        (End::Limited(hit), _) => limit_class(hit.limit),
        (End::Trapped(_), _) => TRAP_CLASS,
        (End::Exited(_), Some(error)) => error.class,
        (End::Exited(0), None) => FailureClass::None,
        (End::Exited(code), None) => exit_class(*code),
    }
}

/// Class of a guest that ended abnormally.
const TRAP_CLASS: FailureClass = FailureClass::Exception;

fn limit_class(limit: Limit) -> FailureClass {
    match limit {
        Limit::Fuel => FailureClass::FuelExhausted,
        Limit::Wall => FailureClass::Timeout,
        Limit::Memory => FailureClass::MemoryLimit,
        Limit::Stack => FailureClass::RecursionLimit,
        Limit::Output => FailureClass::OutputLimit,
    }
}

/// Returns the class of a guest that exited where it should not have.
fn exit_class(code: i32) -> FailureClass {
    if code == 0 { FailureClass::Exception } else { FailureClass::NonzeroExit }
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
        End::Trapped(reason) => {
            Some(error(TRAP_CLASS, "InterpreterCrash", format!("the interpreter ended abnormally: {reason}")))
        }
    }
}

/// The error of a guest that exited where it should not have.
pub fn exit_error(end: &End) -> ErrorReport {
    let code = if let End::Exited(code) = end { *code } else { 1 };
    error(exit_class(code), "SystemExit", format!("the program ended itself with exit code {code}"))
}

fn limited(hit: &LimitHit) -> ErrorReport {
    let allowed = hit.allowed;
    let message = match hit.limit {
        Limit::Fuel => format!("all {allowed} units of fuel are used up (limits.fuel)"),
        Limit::Wall => format!("it ran for more than {} s (limits.wall_seconds)", allowed as f64 / 1000.0),
        Limit::Memory => format!("it needs more than {allowed} bytes of memory (limits.memory_bytes)"),
        Limit::Stack => "the stack is used up".to_owned(),
        Limit::Output => format!("it wrote more than {allowed} bytes, 64 times what is kept (limits.output_bytes)"),
    };
    error(limit_class(hit.limit), "", message)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Usage;

    #[test]
    fn the_class_alone_is_that_of_the_failure() {
        let limits = [Limit::Fuel, Limit::Wall, Limit::Memory, Limit::Stack, Limit::Output];
        let mut ends: Vec<End> = limits.map(|limit| End::Limited(LimitHit { limit, allowed: 1 })).into();
        ends.extend([End::Exited(0), End::Exited(3), End::Trapped("unreachable".to_owned())]);
        for end in ends {
            for error in [None, Some(error(FailureClass::AssertionFailure, "AssertionError", String::new()))] {
                let mut outcome = Outcome::of_end(end.clone(), Usage::default());
                outcome.report.error = error;
                assert_eq!(class_of(&outcome), classify(&outcome).class, "{outcome:?}");
            }
        }
    }
}
