//! `/events/sandboxes`: lifecycle of sandboxes, as events; and `/teams`.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::super::body::{parameter, parameters};
use super::super::error::{E2bError, Kind};
use super::super::{E2b, time};
use crate::service::{LifecycleChange, LifecycleEvent, LifecycleKind};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, SessionId};

/// Maximum number of events in an answer, and the number where the client gives none.
const MAX_LIMIT: usize = 100;
const DEFAULT_LIMIT: usize = 10;
/// Version of the events' form.
const VERSION: &str = "v1";
/// Types of events.
const TYPES: [&str; 5] = [
    "sandbox.lifecycle.created",
    "sandbox.lifecycle.updated",
    "sandbox.lifecycle.paused",
    "sandbox.lifecycle.resumed",
    "sandbox.lifecycle.killed",
];

/// Returns the type of events of a kind.
pub(super) fn name_of(kind: LifecycleKind) -> &'static str {
    let [created, updated, paused, resumed, killed] = TYPES;
    match kind {
        LifecycleKind::Created => created,
        LifecycleKind::Updated => updated,
        LifecycleKind::Paused => paused,
        LifecycleKind::Resumed => resumed,
        LifecycleKind::Ended => killed,
    }
}

/// Returns the kind of events that a client names by their type.
///
/// # Errors
/// Returns an error for a type that no event has.
pub(super) fn kind_named(name: &str) -> Result<LifecycleKind, E2bError> {
    let found = LifecycleKind::ALL.iter().find(|kind| name_of(**kind) == name);
    found.copied().ok_or_else(|| E2bError::new(Kind::Bad, format!("events are {}", TYPES.join(", "))))
}

/// Returns the label of events of a change.
pub(super) fn label_of(change: LifecycleChange) -> &'static str {
    match change {
        LifecycleChange::Created => "create",
        LifecycleChange::Updated(_) => "update",
        LifecycleChange::Paused => "pause",
        LifecycleChange::Resumed => "resume",
        LifecycleChange::Ended => "kill",
    }
}

pub(super) fn type_of(change: LifecycleChange) -> &'static str {
    name_of(change.kind())
}

/// Id of the team of a caller: that of its key.
pub(super) fn team(caller: &Caller) -> String {
    caller.owner().map_or_else(|| caller.name().to_owned(), |key: KeyId| key.to_string())
}

fn event_json(event: &LifecycleEvent, team: &str) -> Value {
    let data = match event.change {
        LifecycleChange::Updated(left) => {
            let end = event.at.checked_add(left).unwrap_or(jiff::Timestamp::MAX);
            json!({"set_timeout": time(end)})
        }
        _ => Value::Null,
    };
    json!({
        "version": VERSION,
        "id": event.id,
        "type": type_of(event.change),
        "timestamp": time(event.at),
        "eventData": data,
        "sandboxId": event.session.simple(),
        "sandboxExecutionId": event.session,
        "sandboxBuildId": event.template,
        "sandboxTemplateId": event.template,
        "sandboxTeamId": team,
    })
}

/// Part of a list that a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    offset: usize,
    limit: usize,
    ascending: bool,
    types: Vec<String>,
}

impl Part {
    fn of(uri: &Uri) -> Result<Self, E2bError> {
        let bad = |message: String| E2bError::new(Kind::Bad, message);
        let number =
            |name: &str, default: usize, most: usize| match parameter(uri, name).filter(|text| !text.is_empty()) {
                None => Ok(default),
                Some(text) => match text.parse::<usize>() {
                    Ok(number) if number <= most => Ok(number),
                    _ => Err(bad(format!("{name} is a number from 0 to {most}"))),
                },
            };
        let (offset, limit) = (number("offset", 0, u32::MAX as usize)?, number("limit", DEFAULT_LIMIT, MAX_LIMIT)?);
        let ascending = match parameter(uri, "orderAsc").as_deref() {
            None | Some("" | "false") => false,
            Some("true") => true,
            Some(_) => return Err(bad("orderAsc is true or false".to_owned())),
        };
        // One for each type, or all in one with commas.
        let types: Vec<String> = ["types", "types[]"]
            .into_iter()
            .flat_map(|name| parameters(uri, name))
            .flat_map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>())
            .filter(|text| !text.is_empty())
            .collect();
        match types.iter().find(|name| !TYPES.contains(&name.as_str())) {
            Some(_) => Err(bad(format!("types are {}", TYPES.join(", ")))),
            None => Ok(Self { offset, limit, ascending, types }),
        }
    }
}

fn answer(e2b: &E2b, caller: &Caller, uri: &Uri, of: Option<SessionId>) -> Result<Json<Vec<Value>>, E2bError> {
    let Part { offset, limit, ascending, types } = Part::of(uri)?;
    let is_wanted = |event: &&LifecycleEvent| {
        of.is_none_or(|id| event.session == id)
            && (types.is_empty() || types.iter().any(|name| name == type_of(event.change)))
    };
    let mut events = e2b.shared.service.sessions.lifecycle_events(caller, is_wanted);
    if !ascending {
        events.reverse();
    }
    let team = team(caller);
    Ok(Json(events.iter().skip(offset).take(limit).map(|event| event_json(event, &team)).collect()))
}

/// Lists what has become of the caller's sandboxes.
pub(crate) async fn of_all(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<Vec<Value>>, E2bError> {
    answer(&e2b, &caller, &uri, None)
}

/// Lists what has become of a sandbox of the caller, which may have ended.
pub(crate) async fn of_one(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Vec<Value>>, E2bError> {
    let unknown = || E2bError::new(Kind::NotFound, "there is no such sandbox");
    answer(&e2b, &caller, &uri, Some(SessionId::parse(&id).ok_or_else(unknown)?))
}

/// Lists the teams of a caller: one, which is its key.
pub(crate) async fn teams(Extension(caller): Extension<Caller>, headers: HeaderMap) -> Json<Value> {
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    Json(json!([{"teamID": team(&caller), "name": caller.name(), "apiKey": key, "isDefault": true}]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_list_is_bounded_and_its_types_are_known() {
        let part = |query: &str| Part::of(&format!("/events/sandboxes?{query}").parse().expect("a path"));
        let all = Part { offset: 0, limit: DEFAULT_LIMIT, ascending: false, types: Vec::new() };
        assert_eq!(part(""), Ok(all));
        let two = "types=sandbox.lifecycle.killed&types=sandbox.lifecycle.paused";
        assert_eq!(part(two).expect("right").types.len(), 2);
        let both = "types=sandbox.lifecycle.killed,sandbox.lifecycle.paused&limit=100&offset=7&orderAsc=true";
        let part_of_both = part(both).expect("right");
        assert_eq!((part_of_both.types.len(), part_of_both.offset, part_of_both.ascending), (2, 7, true));
        for wrong in ["limit=101", "limit=x", "offset=-1", "orderAsc=1", "types=sandbox.exploded"] {
            assert_eq!(part(wrong).expect_err(wrong).kind(), Kind::Bad);
        }
    }
}
