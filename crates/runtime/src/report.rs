//! The guest's messages (`runtimes/*/guest/runner.py` lists them), parsed as hostile.

use std::time::Duration;

use super::grading::channel::Spent;
use proofbox_types::outcome::AttemptKind;
use proofbox_types::outcome::{CaseReport, ErrorReport, Frame, Report, ReportedBasis};
use proofbox_types::status::{CaseStatus, FailureClass};
use proofbox_types::value::Value;

/// Bytes of messages that one run may send: a value of the longest that the guest's codec makes, and the rest beside
/// it.
const BYTES: usize = 16 << 20;
/// Messages that one run may send.
const MESSAGES: usize = 200_000;
/// Cases that one run may plan.
const CASES: usize = 20_000;
/// Names kept of what was seen.
const SIGNALS: usize = 64;
/// Characters kept of any text.
const TEXT: usize = 4_096;
/// Paths that one error may be about: an OSError has two at most.
const ERROR_PATHS: usize = 2;
/// Maximum of a reported count: what JSON readers take without loss.
const MAX_COUNT: u64 = (1 << 53) - 1;
/// Frames kept of a traceback.
const FRAMES: usize = 64;

/// Attempt reported by the guest's own Python (an honest guest's word: nothing depends on it).
pub(crate) struct ReportedAttempt {
    /// Kind of thing that was tried.
    pub kind: AttemptKind,
    /// Operation that was tried with it.
    pub operation: String,
    /// Name of the thing.
    pub target: String,
}

impl ReportedAttempt {
    /// Parses the fields of a message.
    pub(super) fn parse(mut fields: impl Iterator<Item = Value>) -> Option<Self> {
        let kind = text(fields.next()?).and_then(|word| AttemptKind::parse(&word))?;
        // These the host counts itself.
        if matches!(kind, AttemptKind::Time | AttemptKind::Entropy) {
            return None;
        }
        Some(Self { kind, operation: text(fields.next()?)?, target: text(fields.next()?)? })
    }
}

/// Effect of a message beyond the report.
pub(crate) enum ReportEffect {
    /// Nothing: it is in the report.
    Nothing,
    /// The snippet begins to run.
    Started,
    /// The guest reports an attempt.
    Attempt(ReportedAttempt),
}

/// Collects what one guest reports.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    report: Report,
    bytes: usize,
    messages: usize,
    /// Cost at the time the open case began.
    open: Option<Spent>,
}

impl Reporter {
    /// Takes one message, sent when `spent` had been spent; `printed` gives what was printed since the last one.
    ///
    /// # Errors
    /// Returns an error when the message is beyond the bounds; the guest is told, and its run goes on.
    pub(crate) fn take(
        &mut self,
        message: &[u8],
        spent: Spent,
        printed: impl FnOnce() -> String,
    ) -> Result<ReportEffect, Refused> {
        // What is refused for its length takes nothing from what may still come.
        if message.len() > BYTES - self.bytes || self.messages >= MESSAGES {
            return Err(Refused);
        }
        self.bytes += message.len();
        self.messages += 1;
        let Ok(Value::Tuple(fields)) = Value::decode(message) else {
            self.report.odd_messages += 1;
            return Err(Refused);
        };
        let mut fields = fields.into_iter();
        let known = match fields.next() {
            Some(Value::Str(kind)) => self.apply(&kind, fields, spent, printed),
            _ => None,
        };
        match known {
            Some(told) => Ok(told),
            None => {
                self.report.odd_messages += 1;
                Ok(ReportEffect::Nothing)
            }
        }
    }

    /// The report, with the open case as it was left.
    pub(crate) fn finish(mut self, spent: Spent, printed: impl FnOnce() -> String) -> Report {
        self.close(spent, printed);
        self.report
    }

    fn apply(
        &mut self,
        kind: &str,
        mut fields: impl Iterator<Item = Value>,
        spent: Spent,
        printed: impl FnOnce() -> String,
    ) -> Option<ReportEffect> {
        let report = &mut self.report;
        match kind {
            "plan" if report.plan.is_empty() && report.cases.is_empty() => {
                let Value::List(names) = fields.next()? else { return None };
                if names.len() > CASES {
                    return None;
                }
                report.plan = names.into_iter().map(text).collect::<Option<_>>()?;
            }
            "compiled" if report.compiled.is_none() => match fields.next()? {
                Value::Bool(compiled) => report.compiled = Some(compiled),
                _ => return None,
            },
            "case_begin" => {
                let index = index(fields.next()?)?;
                // Cases come in the order of the plan, each once.
                let expected = report.cases.last().map_or(0, |case| case.index + 1);
                if self.open.is_some() || index < expected || index >= report.plan.len() {
                    return None;
                }
                report.cases.push(CaseReport {
                    index,
                    status: None,
                    error: None,
                    value: None,
                    fuel_used: 0,
                    execution: Duration::ZERO,
                    peak_memory_bytes: 0,
                    printed: String::new(),
                });
                self.open = Some(spent);
                // What was printed before belongs to no case.
                printed();
            }
            "case_end" => {
                let index = index(fields.next()?)?;
                let status = text(fields.next()?).and_then(|word| CaseStatus::parse(&word))?;
                let mut paths = Vec::new();
                let error = optional(fields.next()?, |value| error(value, &mut paths))?;
                self.open?;
                let case = report.cases.last_mut().filter(|case| case.index == index)?;
                let fine = matches!(status, CaseStatus::Passed);
                if status != CaseStatus::Skipped && fine != error.is_none() {
                    return None;
                }
                case.status = Some(status);
                case.error = error;
                if !paths.is_empty() {
                    report.error_paths.push((Some(index), paths));
                }
                self.close(spent, printed);
            }
            "case_value" => {
                let index = index(fields.next()?)?;
                self.open?;
                let case = report.cases.last_mut().filter(|case| case.index == index && case.value.is_none())?;
                let mut value = fields.next()?;
                value.renumber_references(1);
                case.value = Some(value);
            }
            "evaluation" if report.evaluation.is_none() => report.evaluation = Some(fields.next()?),
            // Containers are numbered from the message's own tuple on; in the value alone, from its first.
            "result" if report.result.is_none() => {
                let mut value = fields.next()?;
                value.renumber_references(1);
                report.result = Some(value);
            }
            // The first error is the one that ended things; what follows from it says less.
            "error" if report.error.is_none() => {
                let mut paths = Vec::new();
                report.error = Some(error(fields.next()?, &mut paths)?);
                if !paths.is_empty() {
                    report.error_paths.push((None, paths));
                }
            }
            "signals" if report.signals.is_empty() => {
                let Value::List(names) = fields.next()? else { return None };
                report.signals = names.into_iter().take(SIGNALS).map(text).collect::<Option<_>>()?;
            }
            "inexpressible" => {
                let what = text(fields.next()?)?;
                if report.inexpressible.len() < SIGNALS {
                    report.inexpressible.push(what);
                }
            }
            // No verdict rests on it: what makes no sense is left out, as is all after the first.
            "basis" => {
                if report.basis.is_none()
                    && let (Some(values), Some(handles)) =
                        (fields.next().and_then(count), fields.next().and_then(count))
                {
                    report.basis = Some(ReportedBasis { values, handles });
                }
            }
            "attempt" => return Some(ReportEffect::Attempt(ReportedAttempt::parse(fields)?)),
            "started" => return Some(ReportEffect::Started),
            _ => return None,
        }
        Some(ReportEffect::Nothing)
    }

    fn close(&mut self, spent: Spent, printed: impl FnOnce() -> String) {
        let (Some(then), Some(case)) = (self.open.take(), self.report.cases.last_mut()) else { return };
        case.fuel_used = spent.fuel.saturating_sub(then.fuel);
        case.execution = spent.execution.saturating_sub(then.execution);
        case.peak_memory_bytes = spent.peak_memory_bytes;
        case.printed = printed();
    }
}

/// A message beyond the bounds.
#[derive(Debug)]
pub(crate) struct Refused;

pub(super) fn text(value: Value) -> Option<String> {
    let mut text = match value {
        Value::Str(text) => text,
        Value::Surrogates(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => return None,
    };
    if let Some((end, _)) = text.char_indices().nth(TEXT) {
        text.truncate(end);
    }
    Some(text)
}

fn index(value: Value) -> Option<usize> {
    match value {
        Value::Int(index) => usize::try_from(index).ok(),
        _ => None,
    }
}

/// A count, cut to [`MAX_COUNT`].
fn count(value: Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(count).ok().map(|count| count.min(MAX_COUNT)),
        _ => None,
    }
}

pub(super) fn line(value: Value) -> Option<u32> {
    match value {
        Value::Int(line) => u32::try_from(line).ok(),
        _ => None,
    }
}

/// Parses a value that may be `None`; anything else must parse.
pub(super) fn optional<T>(value: Value, parse: impl FnOnce(Value) -> Option<T>) -> Option<Option<T>> {
    match value {
        Value::None => Some(None),
        value => parse(value).map(Some),
    }
}

/// An error; the paths that it is about go to `paths`.
fn error(value: Value, paths: &mut Vec<String>) -> Option<ErrorReport> {
    let Value::Tuple(fields) = value else { return None };
    let mut fields = fields.into_iter();
    let class = text(fields.next()?).and_then(|word| FailureClass::parse(&word))?;
    // These are the host's to say.
    if class.is_hosts() {
        return None;
    }
    let type_name = text(fields.next()?)?;
    let message = text(fields.next()?)?;
    let line = optional(fields.next()?, line)?;
    let Value::List(frames) = fields.next()? else { return None };
    let traceback = frames.into_iter().take(FRAMES).map(frame).collect::<Option<_>>()?;
    match fields.next() {
        None => {}
        Some(Value::List(named)) => *paths = named.into_iter().take(ERROR_PATHS).map(text).collect::<Option<_>>()?,
        Some(_) => return None,
    }
    Some(ErrorReport { class, type_name, message, line, traceback })
}

pub(super) fn frame(value: Value) -> Option<Frame> {
    let Value::Tuple(fields) = value else { return None };
    let mut fields = fields.into_iter();
    Some(Frame {
        file: text(fields.next()?)?,
        line: optional(fields.next()?, self::line)?.unwrap_or(0),
        function: text(fields.next()?)?,
        source: text(fields.next()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: Vec<Value>) -> Vec<u8> {
        let mut bytes = Vec::new();
        Value::Tuple(fields).encode(&mut bytes);
        bytes
    }

    fn send(reporter: &mut Reporter, fields: Vec<Value>) {
        let _ = reporter.take(&message(fields), Spent::default(), String::new);
    }

    fn planned(cases: usize) -> Reporter {
        let mut reporter = Reporter::default();
        send(&mut reporter, vec![Value::str("plan"), Value::List(vec![Value::str("case"); cases])]);
        reporter
    }

    fn begin(index: i64) -> Vec<Value> {
        vec![Value::str("case_begin"), Value::Int(index)]
    }

    fn pass(index: i64) -> Vec<Value> {
        vec![Value::str("case_end"), Value::Int(index), Value::str("passed"), Value::None]
    }

    #[test]
    fn a_case_counts_once_and_in_order() {
        let mut reporter = planned(2);
        for fields in [begin(0), pass(0), pass(0), begin(0), pass(0), begin(5), pass(1), begin(1)] {
            send(&mut reporter, fields);
        }
        let report = reporter.finish(Spent::default(), String::new);
        let seen: Vec<_> = report.cases.iter().map(|case| (case.index, case.status)).collect();
        assert_eq!(seen, [(0, Some(CaseStatus::Passed)), (1, None)]);
        assert_eq!(report.odd_messages, 5);
    }

    #[test]
    fn a_basis_is_taken_once_and_bounded() {
        let basis = |values: Value, handles: Value| vec![Value::str("basis"), values, handles];
        for (messages, expected) in [
            (vec![], None),
            (vec![basis(Value::Int(3), Value::Int(0))], Some((3, 0))),
            (vec![basis(Value::Int(3), Value::Int(1)), basis(Value::Int(9), Value::Int(9))], Some((3, 1))),
            (vec![basis(Value::Int(i64::MAX), Value::Int(2))], Some((MAX_COUNT, 2))),
            (vec![basis(Value::Int(-1), Value::Int(2))], None),
            (vec![basis(Value::str("3"), Value::Int(2))], None),
            (vec![basis(Value::Bool(true), Value::Int(2))], None),
            (vec![basis(Value::Float(3.0), Value::Int(2))], None),
            (vec![vec![Value::str("basis"), Value::Int(3)]], None),
            (vec![basis(Value::Int(-1), Value::Int(2)), basis(Value::Int(1), Value::Int(2))], Some((1, 2))),
        ] {
            let mut reporter = Reporter::default();
            messages.iter().for_each(|fields| send(&mut reporter, fields.clone()));
            let report = reporter.finish(Spent::default(), String::new);
            assert_eq!(report.basis.map(|basis| (basis.values, basis.handles)), expected, "{messages:?}");
            assert_eq!(report.odd_messages, 0);
        }
    }

    #[test]
    fn notes_beyond_those_kept_are_no_oddity() {
        let mut reporter = planned(1);
        send(&mut reporter, begin(0));
        for note in 0..3 * SIGNALS {
            send(&mut reporter, vec![Value::str("inexpressible"), Value::str(format!("mock.patch of os.x{note}"))]);
        }
        send(&mut reporter, pass(0));
        let report = reporter.finish(Spent::default(), String::new);
        assert_eq!((report.inexpressible.len(), report.odd_messages), (SIGNALS, 0));
        assert_eq!(report.cases[0].status, Some(CaseStatus::Passed));
    }

    #[test]
    fn a_second_plan_is_refused() {
        let mut reporter = planned(2);
        send(&mut reporter, vec![Value::str("plan"), Value::List(vec![Value::str("one")])]);
        assert_eq!(reporter.finish(Spent::default(), String::new).plan.len(), 2);
    }

    #[test]
    fn a_pass_with_an_error_is_no_pass() {
        let mut reporter = planned(1);
        send(&mut reporter, begin(0));
        send(&mut reporter, vec![Value::str("case_end"), Value::Int(0), Value::str("failed"), Value::None]);
        assert_eq!(reporter.finish(Spent::default(), String::new).cases[0].status, None);
    }

    #[test]
    fn messages_are_bounded() {
        let mut reporter = Reporter::default();
        let large = message(vec![Value::str("result"), Value::Bytes(vec![0; BYTES])]);
        assert!(reporter.take(&large, Spent::default(), String::new).is_err());
    }

    #[test]
    fn the_guest_cannot_claim_our_own_failure() {
        let mut reporter = Reporter::default();
        let error = Value::Tuple(vec![
            Value::str("infrastructure_error"),
            Value::str("E"),
            Value::str(""),
            Value::None,
            Value::List(vec![]),
        ]);
        send(&mut reporter, vec![Value::str("error"), error]);
        assert_eq!(reporter.finish(Spent::default(), String::new).error, None);
    }
}
