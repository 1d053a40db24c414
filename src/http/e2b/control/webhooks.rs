//! `/events/webhooks`: addresses that are told of lifecycle events, and the form in which they are.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::super::error::{E2bError, Kind};
use super::super::{E2b, body, time};
use super::events::{kind_named, label_of, team, type_of};
use crate::service::{LifecycleChange, LifecycleEvent, WebhookChange, WebhookError, WebhookInfo, WebhookWire};
use proofbox_types::caller::Caller;
use proofbox_types::ids::WebhookId;

/// Version of the form of told events: that of E2B's webhooks, whose names have underscores.
const VERSION: &str = "v2";
/// Version of the signature.
const SIGNATURE_VERSION: &str = "v1";

/// Form in which E2B tells of events.
pub struct EventWire;

impl WebhookWire for EventWire {
    fn document(&self, event: &LifecycleEvent, owner: &str) -> Vec<u8> {
        let mut data = json!({});
        if let LifecycleChange::Updated(left) = event.change {
            let end = event.at.checked_add(left).unwrap_or(jiff::Timestamp::MAX);
            data["set_timeout"] = json!(time(end));
        }
        let document = json!({
            "version": VERSION,
            "id": event.id,
            "type": type_of(event.change),
            "timestamp": time(event.at),
            "event_category": "lifecycle",
            "event_label": label_of(event.change),
            "event_data": data,
            "sandbox_id": event.session.simple(),
            "sandbox_execution_id": event.session,
            "sandbox_build_id": event.template,
            "sandbox_template_id": event.template,
            "sandbox_team_id": owner,
        });
        document.to_string().into_bytes()
    }

    fn headers(&self, webhook: WebhookId, attempt: Uuid, secret: &str, body: &[u8]) -> Vec<(&'static str, String)> {
        vec![
            ("e2b-webhook-id", webhook.simple()),
            ("e2b-delivery-id", attempt.to_string()),
            ("e2b-signature-version", SIGNATURE_VERSION.to_owned()),
            ("e2b-signature", signature(secret, body)),
        ]
    }
}

/// Signs a body as E2B does: SHA-256 of the secret and the body, in base64 without padding.
fn signature(secret: &str, body: &[u8]) -> String {
    BASE64.encode(Sha256::new().chain_update(secret).chain_update(body).finalize())
}

/// Webhook that a client makes, or properties that it changes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    enabled: Option<bool>,
    #[serde(default)]
    events: Option<Vec<String>>,
    #[serde(default)]
    signature_secret: Option<String>,
}

impl Properties {
    fn into_change(self) -> Result<WebhookChange, E2bError> {
        let Self { name, url, enabled, events, signature_secret: secret } = self;
        let kinds = events
            .map(|events| events.iter().map(|name| kind_named(name)).collect::<Result<Vec<_>, _>>())
            .transpose()?;
        Ok(WebhookChange { name, url, enabled, kinds, secret })
    }
}

impl From<WebhookError> for E2bError {
    fn from(error: WebhookError) -> Self {
        let kind = match error {
            WebhookError::NotFound => Kind::NotFound,
            WebhookError::Malformed(_) | WebhookError::Address(_) => Kind::Bad,
            WebhookError::TooMany { .. } | WebhookError::DiskFull => Kind::NoSpace,
            WebhookError::NoStore => Kind::Unavailable,
            WebhookError::Store => return Self::internal(),
        };
        Self::new(kind, error.to_string())
    }
}

fn webhook_json(webhook: &WebhookInfo, caller: &Caller) -> Value {
    let events: Vec<&str> = webhook.kinds.iter().map(|kind| super::events::name_of(*kind)).collect();
    let team = team(caller);
    json!({
        "id": webhook.id.simple(), "teamID": team, "teamId": team, "name": webhook.name,
        "createdAt": time(webhook.created), "enabled": webhook.enabled, "url": webhook.url, "events": events,
    })
}

fn parse(id: &str) -> Result<WebhookId, E2bError> {
    WebhookId::parse(id).ok_or_else(|| WebhookError::NotFound.into())
}

/// Registers a webhook.
pub(crate) async fn create(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let change = body::json::<Properties>(request).await?.into_change()?;
    let webhook = e2b.shared.service.webhooks.create(&caller, change).await?;
    Ok((StatusCode::CREATED, Json(webhook_json(&webhook, &caller))))
}

/// Lists the caller's webhooks.
pub(crate) async fn list(State(e2b): State<E2b>, Extension(caller): Extension<Caller>) -> Json<Vec<Value>> {
    let webhooks = e2b.shared.service.webhooks.list(&caller);
    Json(webhooks.iter().map(|webhook| webhook_json(webhook, &caller)).collect())
}

/// Shows a webhook.
pub(crate) async fn show(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Value>, E2bError> {
    let webhook = e2b.shared.service.webhooks.info(&caller, parse(&id)?)?;
    Ok(Json(webhook_json(&webhook, &caller)))
}

/// Changes a webhook.
pub(crate) async fn update(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, E2bError> {
    let id = parse(&id)?;
    let change = body::json::<Properties>(request).await?.into_change()?;
    let webhook = e2b.shared.service.webhooks.change(&caller, id, change).await?;
    Ok(Json(webhook_json(&webhook, &caller)))
}

/// Removes a webhook. The answer has no content and is 200, as E2B's.
pub(crate) async fn remove(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bError> {
    e2b.shared.service.webhooks.remove(&caller, parse(&id)?).await?;
    Ok(StatusCode::OK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_types::ids::SessionId;

    #[test]
    fn a_delivery_is_signed_as_receivers_of_e2b_check_it() {
        // python3: base64.b64encode(sha256(b"secret" + b'{"a":1}').digest()).rstrip(b"=")
        assert_eq!(signature("secret", br#"{"a":1}"#), "N7005LKS7534v+cOP1BSYTkklJDDwllM8gF1unZl4B0");
        let headers = EventWire.headers(WebhookId::generate(), Uuid::now_v7(), "secret", br#"{"a":1}"#);
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["e2b-webhook-id", "e2b-delivery-id", "e2b-signature-version", "e2b-signature"]);
    }

    #[test]
    fn an_event_is_told_with_the_names_of_webhooks() {
        let event = LifecycleEvent {
            id: Uuid::nil(),
            at: jiff::Timestamp::UNIX_EPOCH,
            session: SessionId::from(Uuid::nil()),
            template: "base".to_owned(),
            change: LifecycleChange::Updated(std::time::Duration::from_secs(60)),
        };
        let told: Value = serde_json::from_slice(&EventWire.document(&event, "team")).expect("JSON");
        let nil = "00000000-0000-0000-0000-000000000000";
        assert_eq!(
            told,
            json!({"version": "v2", "id": nil, "type": "sandbox.lifecycle.updated",
                "timestamp": "1970-01-01T00:00:00.000000Z", "event_category": "lifecycle", "event_label": "update",
                "event_data": {"set_timeout": "1970-01-01T00:01:00.000000Z"}, "sandbox_id": nil.replace('-', ""),
                "sandbox_execution_id": nil, "sandbox_build_id": "base", "sandbox_template_id": "base",
                "sandbox_team_id": "team"})
        );
    }
}
