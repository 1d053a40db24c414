//! `/contexts`: the interpreters of a sandbox. A context's name contains its number, so names hold in forks and
//! snapshots, too.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::entries::PathBase;
use super::error::{E2bError, Kind};
use super::{E2b, body};
use crate::sandbox::RequestError;
use crate::service::{SessionError, SessionInfo};
use proofbox_types::session::{ContextNumber, EntryKind, FileAnswer, FileAsk};
use proofbox_types::user::User;

#[derive(Deserialize)]
struct ContextRequest {
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
}

/// The end of every name.
const TAIL: &str = "-0000-4000-8000-000000000000";

/// The name of a context.
fn name_of(number: ContextNumber) -> String {
    format!("{number:08x}{TAIL}")
}

/// Returns the number of the context with this name; none where the name can't be one of this service's.
pub(super) fn number_of(name: &str) -> Option<ContextNumber> {
    let digits = name.strip_suffix(TAIL).filter(|digits| digits.len() == 8)?;
    ContextNumber::from_str_radix(digits, 16).ok().filter(|number| name_of(*number) == name)
}

/// Error for a context that does not exist.
pub(super) fn unknown(name: &str) -> E2bError {
    E2bError::new(Kind::NotFound, format!("Context {} not found", name.chars().take(100).collect::<String>()))
}

/// Checks that code of this language can run.
///
/// # Errors
/// Returns an error for every language but Python.
pub(super) fn check_language(language: Option<&str>) -> Result<(), E2bError> {
    match language {
        None => Ok(()),
        Some(language) if language.eq_ignore_ascii_case("python") => Ok(()),
        Some(language) => Err(unsupported(language)),
    }
}

/// Error for a language that does not exist here, with the status whose message both SDKs show.
pub(super) fn unsupported(language: &str) -> E2bError {
    let language: String = language.chars().take(40).collect();
    let message = format!("the language {language:?} is not supported: there are python and, without contexts, bash");
    E2bError::new(Kind::NotFound, message)
}

fn context(number: ContextNumber, cwd: Option<&str>) -> Value {
    json!({"id": name_of(number), "language": "python", "cwd": cwd.unwrap_or(User::default().home())})
}

fn of_context(info: &SessionInfo, name: &str) -> impl Fn(SessionError) -> E2bError {
    let (sandbox, name) = (info.id.simple(), name.to_owned());
    move |error| match error {
        SessionError::Refused(RequestError::NoContext(_)) => unknown(&name),
        error => E2bError::of_sandbox(&sandbox, error),
    }
}

/// Creates a context in a sandbox.
pub(super) async fn create(State(e2b): State<E2b>, request: Request) -> Response {
    made(&e2b, request).await.map_or_else(E2bError::into_text, IntoResponse::into_response)
}

async fn made(e2b: &E2b, request: Request) -> Result<Json<Value>, E2bError> {
    let info = e2b.interpreter_sandbox(request.headers(), request.uri())?;
    let ContextRequest { language, cwd } = body::json(request).await?;
    check_language(language.as_deref())?;
    let of_sandbox = of_context(&info, "");
    let cwd = match cwd.filter(|cwd| !cwd.is_empty()) {
        None => None,
        Some(cwd) => {
            let ask = FileAsk::Stat { path: PathBase::of(&info, None).resolve(&cwd) };
            let answer = e2b.shared.service.sessions.files(info.id, ask).await.map_err(&of_sandbox)?;
            match answer {
                FileAnswer::Entry(entry, _) if matches!(entry.kind, EntryKind::Directory | EntryKind::Link) => {
                    Some(entry.path)
                }
                _ => return Err(E2bError::new(Kind::Bad, format!("{cwd} is not a directory"))),
            }
        }
    };
    let number = fresh_number()?;
    e2b.shared.service.sessions.add_context(info.id, number, cwd.clone()).await.map_err(&of_sandbox)?;
    Ok(Json(context(number, cwd.as_deref())))
}

/// Draws a random nonzero number for a context. Contexts are few and numbers many, so that collisions are improbable.
fn fresh_number() -> Result<ContextNumber, E2bError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|_| E2bError::internal())?;
    Ok(ContextNumber::from_le_bytes(bytes).max(1))
}

/// Lists the contexts of a sandbox.
pub(super) async fn list(State(e2b): State<E2b>, headers: HeaderMap, uri: Uri) -> Response {
    let listed = async {
        let info = e2b.interpreter_sandbox(&headers, &uri)?;
        let contexts = e2b.shared.service.sessions.contexts(info.id).await.map_err(of_context(&info, ""))?;
        let contexts: Vec<Value> = contexts.iter().map(|(number, cwd)| context(*number, cwd.as_deref())).collect();
        Ok(Json(contexts))
    };
    listed.await.map_or_else(E2bError::into_text, IntoResponse::into_response)
}

/// Removes a context from a sandbox.
pub(super) async fn remove(State(e2b): State<E2b>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    let removed = async {
        let info = e2b.interpreter_sandbox(&headers, &uri)?;
        let number = number_of(&name).ok_or_else(|| unknown(&name))?;
        e2b.shared.service.sessions.remove_context(info.id, number).await.map_err(of_context(&info, &name))?;
        Ok(StatusCode::NO_CONTENT)
    };
    removed.await.map_or_else(E2bError::into_text, IntoResponse::into_response)
}

/// Gives a context a fresh interpreter.
pub(super) async fn restart(
    State(e2b): State<E2b>,
    Path(name): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let restarted = async {
        let info = e2b.interpreter_sandbox(&headers, &uri)?;
        let number = number_of(&name).ok_or_else(|| unknown(&name))?;
        e2b.shared.service.sessions.restart_context(info.id, number).await.map_err(of_context(&info, &name))?;
        Ok(StatusCode::OK)
    };
    restarted.await.map_or_else(E2bError::into_text, IntoResponse::into_response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_number_and_no_other_text_is_a_name() {
        for number in [0, 1, 0xdead_beef, u32::MAX] {
            assert_eq!(number_of(&name_of(number)), Some(number));
        }
        for name in [
            "",
            "default",
            "no-such-context",
            "+0000001-0000-4000-8000-000000000000",
            "0000000A-0000-4000-8000-000000000000",
        ] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
