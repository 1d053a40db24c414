//! Removal from an answer of everything that reveals its tests (`visibility: hidden`).
//!
//! Of a case only its number stays, and whether it passed: a candidate could pass on what it is asked through its cost
//! and the way it fails. Figures of the whole are rounded up to powers of two.

use std::time::Duration;

use super::Execution;
use proofbox_grading::complexity::ComplexityReport;
use proofbox_types::failure;
use proofbox_types::outcome::{Captured, End, Usage};
use proofbox_types::status::{CaseStatus, FailureClass, Status};
use proofbox_types::verdict::CaseResult;

/// Smallest figures that are reported; smaller ones are rounded up to them.
const MIN_FUEL: u64 = 1 << 24;
const MIN_NANOSECONDS: u64 = 1 << 26;
const MIN_MEMORY_BYTES: u64 = 64 << 20;
const MIN_COUNT: u64 = 8;

impl Execution {
    /// Removes names, messages, figures and classes of cases, output and return values. The number of cases, which of
    /// them passed, and the class of the whole stay.
    pub fn hide(&mut self) {
        for (index, case) in self.verdict.cases.iter_mut().enumerate() {
            hide_case(index, case);
        }
        let verdict = &mut self.verdict;
        if let Some(error) = &mut verdict.error {
            // A candidate can put what it was asked into any text of its exceptions.
            error.message.clear();
            error.type_name.clear();
            error.traceback.clear();
            error.line = None;
        }
        if matches!(verdict.status, Status::Passed | Status::Failed) {
            // Likewise into its exit code: that of the class alone is left.
            let failed = i32::from(verdict.status == Status::Failed);
            verdict.exit_code = failure::exit_code(&End::Exited(0), verdict.class).max(failed);
        }
        let integrity = &mut verdict.integrity;
        if integrity.reported < integrity.planned {
            // How far it came.
            integrity.reported = 0;
        }
        integrity.signals = integrity.signals.iter().filter_map(|signal| hidden_signal(signal)).collect();
        integrity.signals.sort_unstable();
        integrity.signals.dedup();
        for count in
            [&mut integrity.basis.values_compared, &mut integrity.basis.handles_asked, &mut integrity.basis.notes]
        {
            *count = round_up(*count, MIN_COUNT);
        }
        for captured in [&mut self.stdout, &mut self.stderr] {
            *captured = Captured::default();
        }
        if let Some((_, reason)) = &mut self.image_choice {
            reason.hide();
        }
        if !self.flaky.is_empty() {
            self.flaky = vec!["(hidden)".to_owned()];
        }
        self.files.clear();
        self.files_error = None;
        self.attempts.clear();
        self.attempts_dropped = 0;
        self.result = None;
        self.evaluation = None;
        self.complexity = self.complexity.take().map(hide_complexity);
        let cost = &mut self.cost;
        cost.fuel = round_up(cost.fuel, MIN_FUEL);
        cost.peak_memory_bytes = round_up(cost.peak_memory_bytes, MIN_MEMORY_BYTES);
        for time in [&mut cost.execution, &mut cost.queue, &mut cost.cpu] {
            *time = round_up_time(*time);
        }
        if let Some(grader) = &mut self.grader {
            (grader.stdout, grader.stderr) = (Captured::default(), Captured::default());
            grader.candidates = grader.candidates.checked_next_power_of_two().unwrap_or(usize::MAX);
            let usage = &mut grader.usage;
            *usage = Usage {
                fuel: round_up(usage.fuel, MIN_FUEL),
                execution: round_up_time(usage.execution),
                peak_memory_bytes: round_up(usage.peak_memory_bytes, MIN_MEMORY_BYTES),
                ..Usage::default()
            };
        }
    }
}

fn hide_case(index: usize, case: &mut CaseResult) {
    *case = CaseResult {
        name: format!("case {}", index + 1),
        // How it failed is the candidate's choice.
        status: match case.status {
            CaseStatus::Passed => CaseStatus::Passed,
            CaseStatus::Skipped => CaseStatus::Skipped,
            CaseStatus::Failed | CaseStatus::Error | CaseStatus::NotRun => CaseStatus::Failed,
        },
        execution: Duration::ZERO,
        fuel_used: 0,
        class: FailureClass::None,
        message: None,
        peak_memory_bytes: 0,
        stdout: String::new(),
    };
}

/// Keeps the growth alone, to one decimal: the cost of each size would be one more figure of a case.
fn hide_complexity(report: ComplexityReport) -> ComplexityReport {
    ComplexityReport {
        points: Vec::new(),
        exponent: report.exponent.map(|exponent| (exponent * 10.0).round() / 10.0),
        error: report.error.map(|_| "(hidden)".to_owned()),
    }
}

/// Returns the part of a signal that may be reported: a word of this service. Texts and numbers may come from the
/// tests.
fn hidden_signal(signal: &str) -> Option<String> {
    if signal.ends_with(" messages that an honest runner does not send") {
        return Some("messages that an honest runner does not send".to_owned());
    }
    let is_word = signal.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_word.then(|| signal.to_owned())
}

/// Rounds up to the next power of two that is not below `least`; 0 stays 0.
fn round_up(figure: u64, least: u64) -> u64 {
    if figure == 0 { 0 } else { figure.max(least).checked_next_power_of_two().unwrap_or(u64::MAX) }
}

fn round_up_time(time: Duration) -> Duration {
    Duration::from_nanos(round_up(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), MIN_NANOSECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_up_to_powers_of_two() {
        for (figure, rounded) in [(0, 0), (1, 8), (8, 8), (9, 16), (1 << 40, 1 << 40), (u64::MAX, u64::MAX)] {
            assert_eq!(round_up(figure, MIN_COUNT), rounded);
        }
        assert_eq!(round_up_time(Duration::from_micros(1)), round_up_time(Duration::from_millis(60)));
        assert_eq!(round_up_time(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn cases_that_did_not_pass_look_alike() {
        let case = |status, class, fuel_used| CaseResult {
            name: "assert f(17) == 3".to_owned(),
            status,
            execution: Duration::from_millis(fuel_used),
            fuel_used,
            class,
            message: Some("17".to_owned()),
            peak_memory_bytes: fuel_used << 20,
            stdout: "17".to_owned(),
        };
        let mut cases = [
            case(CaseStatus::Failed, FailureClass::AssertionFailure, 1),
            case(CaseStatus::Error, FailureClass::MemoryLimit, 17),
            case(CaseStatus::NotRun, FailureClass::None, 0),
        ];
        cases.iter_mut().for_each(|case| hide_case(4, case));
        assert_eq!(cases[0], cases[1]);
        assert_eq!(cases[0], cases[2]);
        assert_eq!((cases[0].name.as_str(), cases[0].status), ("case 5", CaseStatus::Failed));
    }

    #[test]
    fn signals_give_no_text_and_no_number() {
        assert_eq!(hidden_signal("equality_by_candidate").as_deref(), Some("equality_by_candidate"));
        for signal in ["inexpressible: mock.patch of os.remove", "asked 17", "x17", "f(17)", "Case"] {
            assert_eq!(hidden_signal(signal), None);
        }
        let odd = |count: u32| hidden_signal(&format!("{count} messages that an honest runner does not send"));
        assert_eq!(odd(17), odd(3));
    }

    #[test]
    fn growth_is_told_without_its_points() {
        use proofbox_grading::complexity::ComplexityPoint;
        let report = ComplexityReport {
            points: vec![ComplexityPoint { n: 1, fuel: 17 }],
            exponent: Some(1.987),
            error: Some("ValueError: 17".to_owned()),
        };
        let hidden = hide_complexity(report);
        assert_eq!((hidden.points.len(), hidden.exponent, hidden.error.as_deref()), (0, Some(2.0), Some("(hidden)")));
    }
}
