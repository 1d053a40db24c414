//! `POST /v2/sandboxes`, and the older `POST /sandboxes`

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::Value;

use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use super::limits::limits;
use super::network::NetworkOptions;
use super::templates::{self, Template};
use super::{check_env, check_size, domain, lifetime, sandbox_json};
use crate::service::{MountAsked, OnExpiry, SavedState, SessionAsked, SessionError, SessionInfo};
use proofbox_types::caller::Caller;

/// Lifetime of a sandbox where the client gives none, in seconds.
const DEFAULT_TIMEOUT: u64 = 300;
/// Metadata of one sandbox, in bytes.
const MAX_METADATA: usize = 64 << 10;
/// `NewSandbox` of the API; its other fields have no meaning here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    #[serde(default)]
    timeout: Option<u64>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(default)]
    env_vars: Option<BTreeMap<String, String>>,
    #[serde(default)]
    auto_pause: Option<bool>,
    /// False: a pause at its end keeps the files only.
    #[serde(default)]
    auto_pause_memory: Option<bool>,
    #[serde(default)]
    auto_resume: Option<AutoResume>,
    #[serde(default)]
    network: Option<NetworkOptions>,
    #[serde(default)]
    secure: Option<bool>,
    #[serde(default)]
    volume_mounts: Option<Vec<VolumeMount>>,
}

/// `SandboxVolumeMount` of the API.
#[derive(Deserialize)]
struct VolumeMount {
    /// Name of the volume.
    name: String,
    /// Path in the sandbox.
    path: String,
}

#[derive(Deserialize)]
struct AutoResume {
    #[serde(default)]
    enabled: bool,
}

/// Creates a sandbox, once for each idempotency key.
pub(crate) async fn create(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let headers = request.headers().clone();
    let domain = domain(e2b.shared.scheme, &headers, request.uri());
    let again = idempotency_key(&headers)?
        .map(|again| format!("{} {again}", caller.owner().map_or_else(String::new, |key| key.to_string())));
    let new: NewSandbox = body::json(request).await?;
    let template = templates::find(&e2b, &caller, &new.template_id).await?;
    let asked = asked_of(new, template)?;
    let asked = SessionAsked { limits: limits(&e2b, &caller)?, caller, ..asked };
    let info = match again {
        None => open(&e2b, asked).await?,
        Some(again) => {
            let place = e2b.state.made_for(again);
            let mut made = place.lock().await;
            match made.map(|id| e2b.shared.service.sessions.info(id)) {
                Some(Ok(info)) => info,
                Some(Err(_)) | None => {
                    let info = open(&e2b, asked).await?;
                    *made = Some(info.id);
                    info
                }
            }
        }
    };
    Ok((StatusCode::CREATED, Json(sandbox_json(&info, &domain))))
}

async fn open(e2b: &E2b, asked: SessionAsked) -> Result<SessionInfo, E2bError> {
    e2b.state.tidy(&e2b.shared.service.sessions);
    let template = asked.template.clone();
    e2b.shared.service.sessions.open(asked).await.map_err(|error| match error {
        SessionError::NoCheckpoint => unknown(&template),
        error => error.into(),
    })
}

fn unknown(template: &str) -> E2bError {
    let template: String = template.chars().take(100).collect();
    E2bError::new(
        Kind::NotFound,
        format!(
            "template '{template}' not found: there are base, code-interpreter-v1, images of this service by name, snapshots, and what was built here"
        ),
    )
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, E2bError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match value.to_str() {
        Ok(text) if (1..=255).contains(&text.len()) && text.bytes().all(is_allowed) => Ok(Some(text)),
        _ => Err(E2bError::new(Kind::Bad, "Idempotency-Key has 1 to 255 of a-z, 0-9 and -")),
    }
}

fn asked_of(new: NewSandbox, found: Option<Template>) -> Result<SessionAsked, E2bError> {
    let template = new.template_id;
    let (image, from_checkpoint) = match found {
        None => return Err(unknown(&template)),
        Some(Template::Default) => (None, None),
        Some(Template::Image(hash)) => (Some(hash), None),
        Some(Template::Snapshot(id)) => (None, Some(id)),
    };
    if let Some(network) = &new.network {
        network.check()?;
        if network.forbids_public_traffic() && new.secure == Some(false) {
            return Err(E2bError::new(Kind::Bad, "allowPublicTraffic false needs a secure sandbox"));
        }
    }
    let mounts = new.volume_mounts.unwrap_or_default();
    let mounts = mounts.into_iter().map(|VolumeMount { name, path }| MountAsked { volume: name, path }).collect();
    let (labels, env) = (new.metadata.unwrap_or_default(), new.env_vars.unwrap_or_default());
    check_size("metadata", &labels, MAX_METADATA)?;
    check_env(&env)?;
    let timeout: Duration = lifetime(new.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
    let on_expiry = match (new.auto_pause, new.auto_pause_memory) {
        (Some(true), Some(false)) => OnExpiry::Pause(SavedState::Files),
        (Some(true), _) => OnExpiry::Pause(SavedState::Whole),
        _ => OnExpiry::End,
    };
    Ok(SessionAsked {
        env: env.into_iter().collect(),
        ttl: Some(timeout),
        labels: Some(labels),
        image,
        from_checkpoint,
        on_expiry,
        // What is left of a sandbox without memory is woken by nobody but its owner.
        auto_resume: new.auto_resume.is_some_and(|auto| auto.enabled)
            && on_expiry != OnExpiry::Pause(SavedState::Files),
        template,
        mounts,
        ..SessionAsked::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(request: Value) -> Result<SessionAsked, E2bError> {
        let new: NewSandbox = serde_json::from_value(request).expect("a request");
        let template = match new.template_id.as_str() {
            "base" | "code-interpreter-v1" => Some(Template::Default),
            "ml" => Some(Template::Image("sha256:00".to_owned())),
            _ => None,
        };
        asked_of(new, template)
    }

    #[test]
    fn a_request_means_a_session_with_the_same_life() {
        let made = asked(json!({"templateID": "base", "timeout": 60, "metadata": {"a": "b"}, "envVars": {"X": "1"},
            "autoPause": true, "autoResume": {"enabled": true}, "allow_internet_access": true, "mcp": null}))
        .expect("right");
        assert_eq!(made.ttl, Some(Duration::from_secs(60)));
        assert_eq!((made.on_expiry, made.auto_resume), (OnExpiry::Pause(SavedState::Whole), true));
        assert_eq!(made.labels, Some(BTreeMap::from([("a".to_owned(), "b".to_owned())])));
        assert_eq!(made.env, [("X".to_owned(), "1".to_owned())]);
        assert_eq!((made.image, made.from_checkpoint), (None, None));
        let made = asked(json!({"templateID": "base", "autoPause": true, "autoPauseMemory": false,
            "autoResume": {"enabled": true}}))
        .expect("right");
        assert_eq!((made.on_expiry, made.auto_resume), (OnExpiry::Pause(SavedState::Files), false));
        let other = asked(json!({"templateID": "ml"})).expect("right");
        assert_eq!((other.image.as_deref(), other.from_checkpoint), (Some("sha256:00"), None));
        let mounted = asked(json!({"templateID": "base", "volumeMounts": [{"name": "v", "path": "/mnt"}]}));
        let mount = MountAsked { volume: "v".to_owned(), path: "/mnt".to_owned() };
        assert_eq!(mounted.expect("right").mounts, [mount]);
        let silent = asked(json!({"templateID": "code-interpreter-v1"})).expect("right");
        assert_eq!(silent.ttl, Some(Duration::from_secs(DEFAULT_TIMEOUT)));
        assert_eq!((silent.on_expiry, silent.auto_resume), (OnExpiry::End, false));
    }

    #[test]
    fn what_can_not_be_is_refused_with_the_status_that_clients_know() {
        let kind = |request| asked(request).expect_err("wrong").kind();
        assert_eq!(kind(json!({"templateID": "no-such"})), Kind::NotFound);
        assert_eq!(kind(json!({"templateID": "base", "timeout": 10_000_000})), Kind::Bad);
        assert_eq!(kind(json!({"templateID": "base", "envVars": {"A=B": "1"}})), Kind::Bad);
        assert_eq!(kind(json!({"templateID": "base", "metadata": {"a": "x".repeat(MAX_METADATA)}})), Kind::Bad);
        let closed = json!({"templateID": "base", "network": {"allowPublicTraffic": false}, "secure": false});
        assert_eq!(kind(closed), Kind::Bad);
        assert_eq!(kind(json!({"templateID": "base", "network": {"allowOut": ["not an ip!"]}})), Kind::Bad);
    }
}
