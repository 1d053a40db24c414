//! `/sandboxes/{id}/logs`: what the service did with a sandbox, without what ran in it.

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::body::parameter;
use super::super::error::{E2bError, Kind};
use super::super::{E2b, time};
use crate::service::{LifecycleChange, LogEvent, LogLine, LoggedEnd};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::status::FailureClass;

/// Maximum number of lines in an answer, and the number where the client gives none.
const MAX_LIMIT: usize = 1000;
/// Levels of lines, in order.
const LEVELS: [&str; 4] = ["debug", "info", "warn", "error"];

/// Line as clients see it.
#[derive(Clone, Debug, PartialEq)]
struct Rendered {
    at: Timestamp,
    level: &'static str,
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Rendered {
    fn of(line: &LogLine) -> Self {
        let seconds = |duration: std::time::Duration| format!("{:.3}", duration.as_secs_f64());
        let (level, message, fields) = match line.event {
            LogEvent::Lifecycle(change) => {
                let message = match change {
                    LifecycleChange::Created => "sandbox created",
                    LifecycleChange::Updated(_) => "sandbox timeout set",
                    LifecycleChange::Paused => "sandbox paused",
                    LifecycleChange::Resumed => "sandbox resumed",
                    LifecycleChange::Ended => "sandbox ended",
                };
                let fields = match change {
                    LifecycleChange::Updated(timeout) => vec![("timeout_seconds", timeout.as_secs().to_string())],
                    _ => Vec::new(),
                };
                ("info", message.to_owned(), fields)
            }
            LogEvent::CommandStarted { number } => {
                ("info", format!("command {number} started"), vec![("pid", number.to_string())])
            }
            LogEvent::CommandEnded { number, end, duration } => {
                let mut fields = vec![("pid", number.to_string()), ("duration_seconds", seconds(duration))];
                let (level, how) = match end {
                    LoggedEnd::Exited(code) => {
                        fields.push(("exit_code", code.to_string()));
                        ("info", format!("ended with exit code {code}"))
                    }
                    LoggedEnd::Killed(signal) => ("info", format!("was killed by {}", signal.as_str())),
                    LoggedEnd::SessionEnded => ("warn", "ended with the sandbox".to_owned()),
                    LoggedEnd::Failed => ("error", "failed".to_owned()),
                };
                (level, format!("command {number} {how}"), fields)
            }
            LogEvent::CallEnded { number, class, duration } => {
                let mut fields = vec![("call", number.to_string()), ("duration_seconds", seconds(duration))];
                fields.push(("class", class.as_str().to_owned()));
                let (level, how) = match class {
                    FailureClass::None => ("info", "ended".to_owned()),
                    FailureClass::InfrastructureError => ("error", "failed in the service".to_owned()),
                    class => ("info", format!("ended with {}", class.as_str())),
                };
                (level, format!("run_code {number} {how}"), fields)
            }
            LogEvent::VolumeLost { volume } => {
                let message = "a volume could not be brought back, and stays as it was";
                ("error", message.to_owned(), vec![("volume", volume.simple())])
            }
        };
        Self { at: line.at, level, message, fields }
    }

    /// Renders a `SandboxLogEntry` of the API.
    fn entry(&self, sandbox: SessionId) -> Value {
        let mut fields: Map<String, Value> =
            self.fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        fields.insert("logger".to_owned(), json!("sandbox"));
        fields.insert("sandboxID".to_owned(), json!(sandbox.simple()));
        json!({"timestamp": time(self.at), "message": self.message, "level": self.level, "fields": fields})
    }

    /// Renders a `SandboxLog` of the API, whose line is JSON as E2B's CLI reads it.
    fn line(&self, sandbox: SessionId) -> Value {
        let mut entry = self.entry(sandbox);
        let mut line = entry["fields"].take();
        line["level"] = json!(self.level);
        line["message"] = json!(self.message);
        json!({"timestamp": time(self.at), "line": line.to_string()})
    }
}

fn number<T: std::str::FromStr>(uri: &Uri, name: &str) -> Result<Option<T>, E2bError> {
    match parameter(uri, name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(E2bError::new(Kind::Bad, format!("{name} is a number"))),
        },
    }
}

fn limit(uri: &Uri) -> Result<usize, E2bError> {
    match number::<usize>(uri, "limit")?.unwrap_or(MAX_LIMIT) {
        limit if limit <= MAX_LIMIT => Ok(limit),
        _ => Err(E2bError::new(Kind::Bad, format!("limit is a number from 0 to {MAX_LIMIT}"))),
    }
}

/// The log of a sandbox that the caller has or had.
fn log_of(e2b: &E2b, caller: &Caller, text: &str) -> Result<(SessionId, Vec<Rendered>), E2bError> {
    let named = text.strip_suffix("-proofbox").unwrap_or(text);
    let found = SessionId::parse(named).and_then(|id| Some((id, e2b.shared.service.sessions.log(caller, id)?)));
    let (id, lines) = found.ok_or_else(|| {
        let text: String = text.chars().take(100).collect();
        E2bError::new(Kind::NotFound, format!("Sandbox \"{text}\" not found"))
    })?;
    Ok((id, lines.iter().map(Rendered::of).collect()))
}

/// Lists the log in the form of the first version: from a time on, the oldest first.
pub(crate) async fn first(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let (start, limit) = (number::<i64>(&uri, "start")?, limit(&uri)?);
    let (id, mut lines) = log_of(&e2b, &caller, &id)?;
    lines.retain(|line| start.is_none_or(|start| line.at.as_millisecond() >= start));
    lines.truncate(limit);
    Ok(Json(json!({
        "logs": lines.iter().map(|line| line.line(id)).collect::<Vec<_>>(),
        "logEntries": lines.iter().map(|line| line.entry(id)).collect::<Vec<_>>(),
    })))
}

/// Part of a log that a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    cursor: Option<i64>,
    limit: usize,
    is_backward: bool,
    level: usize,
    search: String,
}

impl Part {
    fn of(uri: &Uri) -> Result<Self, E2bError> {
        let bad = |message: String| E2bError::new(Kind::Bad, message);
        let is_backward = match parameter(uri, "direction").as_deref() {
            None | Some("" | "forward") => false,
            Some("backward") => true,
            Some(_) => return Err(bad("direction is forward or backward".to_owned())),
        };
        let level = match parameter(uri, "level").filter(|level| !level.is_empty()) {
            None => 0,
            Some(level) => {
                let found = LEVELS.iter().position(|known| *known == level);
                found.ok_or_else(|| bad(format!("level is one of {}", LEVELS.join(", "))))?
            }
        };
        let search = parameter(uri, "search").unwrap_or_default();
        Ok(Self { cursor: number(uri, "cursor")?, limit: limit(uri)?, is_backward, level, search })
    }

    fn take(&self, mut lines: Vec<Rendered>) -> Vec<Rendered> {
        lines.retain(|line| {
            let at = line.at.as_millisecond();
            let is_there = self.cursor.is_none_or(|cursor| if self.is_backward { at <= cursor } else { at >= cursor });
            is_there && LEVELS[self.level..].contains(&line.level) && line.message.contains(&self.search)
        });
        if self.is_backward {
            lines.reverse();
        }
        lines.truncate(self.limit);
        lines
    }
}

/// Lists the log in the form of the second version.
pub(crate) async fn second(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let part = Part::of(&uri)?;
    let (id, lines) = log_of(&e2b, &caller, &id)?;
    Ok(Json(json!({"logs": part.take(lines).iter().map(|line| line.entry(id)).collect::<Vec<_>>()})))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proofbox_types::session::Signal;

    fn lines() -> Vec<Rendered> {
        let end = |end| LogEvent::CommandEnded { number: 1000, end, duration: Duration::from_millis(1500) };
        let events = [
            LogEvent::Lifecycle(LifecycleChange::Created),
            LogEvent::CommandStarted { number: 1000 },
            end(LoggedEnd::Exited(3)),
            end(LoggedEnd::Killed(Signal::Kill)),
            end(LoggedEnd::SessionEnded),
            end(LoggedEnd::Failed),
        ];
        let at = |index: usize| Timestamp::from_millisecond(1000 + index as i64).expect("small");
        let line = |(index, event)| Rendered::of(&LogLine { at: at(index), event });
        events.into_iter().enumerate().map(line).collect()
    }

    #[test]
    fn lines_say_what_happened_in_words_of_their_own() {
        let messages: Vec<String> =
            lines().into_iter().map(|line| format!("{} {}", line.level, line.message)).collect();
        let expected = [
            "info sandbox created",
            "info command 1000 started",
            "info command 1000 ended with exit code 3",
            "info command 1000 was killed by SIGKILL",
            "warn command 1000 ended with the sandbox",
            "error command 1000 failed",
        ];
        assert_eq!(messages, expected);
        let id = SessionId::generate();
        let line = &lines()[2];
        let fields = json!({"pid": "1000", "duration_seconds": "1.500", "exit_code": "3", "logger": "sandbox",
            "sandboxID": id.simple()});
        assert_eq!(line.entry(id)["fields"], fields);
        // As E2B's CLI takes it apart.
        let text = line.line(id);
        let parsed: Value = serde_json::from_str(text["line"].as_str().expect("text")).expect("JSON");
        assert_eq!((&parsed["level"], &parsed["logger"]), (&json!("info"), &json!("sandbox")));
        assert_eq!(parsed["message"], json!("command 1000 ended with exit code 3"));
    }

    #[test]
    fn a_part_is_taken_by_time_level_and_text() {
        let part = |query: &str| Part::of(&format!("/x?{query}").parse().expect("a query"));
        let taken = |query: &str| -> Vec<i64> {
            let lines = part(query).expect("right").take(lines());
            lines.iter().map(|line| line.at.as_millisecond() - 1000).collect()
        };
        assert_eq!(taken(""), [0, 1, 2, 3, 4, 5]);
        assert_eq!(taken("cursor=1004"), [4, 5]);
        assert_eq!(taken("cursor=1001&direction=backward"), [1, 0]);
        assert_eq!(taken("limit=2&direction=backward"), [5, 4]);
        assert_eq!(taken("level=warn"), [4, 5]);
        assert_eq!(taken("search=exit%20code"), [2]);
        for wrong in ["limit=1001", "limit=x", "cursor=x", "direction=up", "level=loud"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
