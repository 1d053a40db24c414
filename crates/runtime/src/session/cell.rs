//! Reports of a session's interpreter on one call (`guest/session.py` lists the messages), parsed as hostile.

use crate::report::{ReportEffect, ReportedAttempt, frame, line, optional, text};
use proofbox_types::outcome::{ErrorReport, Frame};
use proofbox_types::session::{CellEvent, Display, Raised};
use proofbox_types::status::FailureClass;
use proofbox_types::value::Value;

/// Bytes of messages that one call may send.
const BYTES: usize = 64 << 20;
/// Things that one call may show.
const DISPLAYS: usize = 10_000;
/// Formats of one of them.
const FORMATS: usize = 32;
/// Paths that one error may be about: an OSError has two at most.
const PATHS: usize = 2;
/// Frames kept of a traceback.
const FRAMES: usize = 64;

/// Collects what one call reports.
#[derive(Debug, Default)]
pub(crate) struct CellReporter {
    /// Displays that the cell has shown.
    pub displays: Vec<Display>,
    /// The value asked for.
    pub result: Option<Value>,
    /// The exception that ended it.
    pub raised: Option<Raised>,
    /// Paths that it is about.
    pub paths: Vec<String>,
    /// Messages that an honest guest does not send.
    pub odd_messages: u64,
    bytes: usize,
}

/// A message beyond the bounds, or none at all.
#[derive(Debug)]
pub(crate) struct Refused;

impl CellReporter {
    /// Takes one message; returns its effect, and the event to report at once.
    ///
    /// # Errors
    /// Returns an error when it is beyond the bounds; the guest is told, and goes on.
    pub(crate) fn take(&mut self, message: &[u8]) -> Result<(ReportEffect, Option<CellEvent>), Refused> {
        if message.len() > BYTES - self.bytes {
            return Err(Refused);
        }
        self.bytes += message.len();
        let Ok(Value::Tuple(fields)) = Value::decode(message) else {
            self.odd_messages += 1;
            return Err(Refused);
        };
        let taken = self.apply(fields);
        if taken.is_none() {
            self.odd_messages += 1;
        }
        taken.ok_or(Refused)
    }

    fn apply(&mut self, fields: Vec<Value>) -> Option<(ReportEffect, Option<CellEvent>)> {
        let mut fields = fields.into_iter();
        match text(fields.next()?)?.as_str() {
            "display" if self.displays.len() < DISPLAYS => {
                let Value::Dict(formats) = fields.next()? else { return None };
                let Value::Bool(is_main_result) = fields.next()? else { return None };
                let format = |(mime, content)| Some((text(mime)?, whole(content)?));
                let data = formats.into_iter().take(FORMATS).map(format).collect::<Option<_>>()?;
                let display = Display { data, is_main_result };
                self.displays.push(display.clone());
                Some((ReportEffect::Nothing, Some(CellEvent::Display(display))))
            }
            "result" if self.result.is_none() => {
                let mut value = fields.next()?;
                value.renumber_references(1);
                self.result = Some(value);
                Some((ReportEffect::Nothing, None))
            }
            "raised" if self.raised.is_none() => {
                let raised = raised(&mut fields)?;
                self.paths = match fields.next() {
                    None => Vec::new(),
                    Some(Value::List(named)) => named.into_iter().take(PATHS).map(text).collect::<Option<_>>()?,
                    Some(_) => return None,
                };
                self.raised = Some(raised.clone());
                Some((ReportEffect::Nothing, Some(CellEvent::Raised(raised))))
            }
            "attempt" => Some((ReportEffect::Attempt(ReportedAttempt::parse(fields)?), None)),
            _ => None,
        }
    }
}

/// A text of any length: the message's bound is its own.
fn whole(value: Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text),
        Value::Surrogates(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

fn raised(fields: &mut impl Iterator<Item = Value>) -> Option<Raised> {
    let class = text(fields.next()?).and_then(|word| FailureClass::parse(&word))?;
    // These are the host's to say.
    if class.is_hosts() {
        return None;
    }
    let name = text(fields.next()?)?;
    let value = whole(fields.next()?)?;
    let traceback = whole(fields.next()?)?;
    let line = optional(fields.next()?, line)?;
    let Value::List(frames) = fields.next()? else { return None };
    let frames: Vec<Frame> = frames.into_iter().take(FRAMES).map(frame).collect::<Option<_>>()?;
    Some(Raised { class, name, value, traceback, line, frames })
}

/// The exception as a run reports it: its message is cut.
pub(super) fn error_of(raised: &Raised) -> ErrorReport {
    const MESSAGE: usize = 4_000;
    let message = match raised.value.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}…", &raised.value[..end]),
        None => raised.value.clone(),
    };
    ErrorReport {
        class: raised.class,
        type_name: raised.name.clone(),
        message,
        line: raised.line,
        traceback: raised.frames.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(reporter: &mut CellReporter, fields: Vec<Value>) -> bool {
        let mut bytes = Vec::new();
        Value::Tuple(fields).encode(&mut bytes);
        reporter.take(&bytes).is_ok()
    }

    fn raised_with(class: &str) -> Vec<Value> {
        let texts = ["E", "v", "t"].map(Value::str);
        let mut fields = vec![Value::str("raised"), Value::str(class)];
        fields.extend(texts);
        fields.extend([Value::Int(3), Value::List(Vec::new())]);
        fields
    }

    #[test]
    fn one_exception_ends_a_call_and_it_is_never_ours() {
        let mut reporter = CellReporter::default();
        assert!(!send(&mut reporter, raised_with("infrastructure_error")));
        assert!(send(&mut reporter, raised_with("exception")));
        assert!(!send(&mut reporter, raised_with("exception")));
        assert_eq!(reporter.raised.map(|raised| raised.line), Some(Some(3)));
    }

    #[test]
    fn messages_are_bounded() {
        let mut reporter = CellReporter { bytes: BYTES - 10, ..CellReporter::default() };
        assert!(!send(&mut reporter, raised_with("exception")));
        let mut reporter = CellReporter { displays: vec![Display::default(); DISPLAYS], ..CellReporter::default() };
        assert!(!send(&mut reporter, vec![Value::str("display"), Value::Dict(Vec::new()), Value::Bool(false)]));
    }

    #[test]
    fn nonsense_is_counted_and_refused() {
        let mut reporter = CellReporter::default();
        assert!(reporter.take(b"\xff\xff").is_err());
        assert!(!send(&mut reporter, vec![Value::str("plan"), Value::List(Vec::new())]));
        assert!(!send(&mut reporter, vec![Value::Int(1)]));
        assert_eq!(reporter.odd_messages, 3);
    }
}
