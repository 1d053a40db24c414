//! Control plane: management of sandboxes, for clients with a key.
//!
//! - here: showing and ending a sandbox, and its lifetime;
//! - `create`, `list`, `pause`, `snapshots`, `metrics`, `network`: the actions of these names;
//! - `limits`: limits of sandboxes;
//! - `events`: what has become of sandboxes; teams; `logs`: what was done with one;
//! - `templates`: what sandboxes are made of; `builds`: making such;
//! - `volumes`: making, finding and removing them;
//! - `webhooks`: addresses that are told of events.

pub(super) mod builds;
pub(super) mod create;
pub(super) mod events;
mod limits;
pub(super) mod list;
pub(super) mod logs;
pub(super) mod metrics;
pub(super) mod network;
pub(super) mod pause;
pub(super) mod snapshots;
pub(super) mod templates;
pub(super) mod volumes;
pub(super) mod webhooks;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{E2bError, Kind};
use super::routing::traffic_token;
use super::{E2b, ENVD_VERSION, body, time};
use crate::http::Scheme;
use crate::service::{OnExpiry, SessionError, SessionInfo, SessionState};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;

/// The longest that a sandbox may live from any call that sets its end, as in E2B's cloud.
const MAX_LENGTH: Duration = Duration::from_secs(24 * 3600);
/// Value of `clientID`, by which clients see who serves them.
const CLIENT: &str = "proofbox";

/// The key of a request, if it has the form of one.
fn key(headers: &HeaderMap) -> Result<&str, E2bError> {
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    let is_key = |key: &&str| {
        let digits = key.strip_prefix("e2b_").unwrap_or("");
        digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    key.filter(is_key).ok_or_else(|| {
        E2bError::new(Kind::Unauthenticated, "Invalid API key: X-API-KEY is e2b_ and 40 hexadecimal digits")
    })
}

/// Authenticates a request by its key. Where requests without a key are served, any key will do, since clients of this
/// API flavour always send one.
pub(super) async fn authenticate(State(e2b): State<E2b>, mut request: Request, next: Next) -> Response {
    let caller =
        key(request.headers()).and_then(|_| e2b.shared.caller_with_any_key(request.headers()).map_err(E2bError::from));
    match caller {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

impl E2b {
    /// The sandbox that a path names, if it is the caller's own. Older SDKs write `-` and the client's name behind it.
    fn own(&self, caller: &Caller, text: &str) -> Result<SessionId, E2bError> {
        let named = text.strip_suffix(CLIENT).and_then(|text| text.strip_suffix('-')).unwrap_or(text);
        let id = SessionId::parse(named).filter(|id| self.shared.service.sessions.is_own(caller, *id));
        id.ok_or_else(|| {
            let text: String = text.chars().take(100).collect();
            E2bError::new(Kind::NotFound, format!("Sandbox \"{text}\" not found"))
        })
    }
}

/// A time to live that was asked for in seconds.
fn lifetime(seconds: u64) -> Result<Duration, E2bError> {
    let asked = Duration::from_secs(seconds);
    if asked > MAX_LENGTH {
        let message = format!("Timeout cannot be greater than {} hours", MAX_LENGTH.as_secs() / 3600);
        return Err(E2bError::new(Kind::Bad, message));
    }
    Ok(asked)
}

/// Checks that `env` can be an environment, and is not too large.
pub(super) fn check_env(env: &BTreeMap<String, String>) -> Result<(), E2bError> {
    const MAX_BYTES: usize = 1 << 20;
    let is_wrong =
        |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    if env.iter().any(is_wrong) {
        return Err(E2bError::new(
            Kind::Bad,
            "a variable's name is not empty and has no `=`; neither name nor value has a NUL",
        ));
    }
    check_size("variables", env, MAX_BYTES)
}

fn check_size(what: &str, map: &BTreeMap<String, String>, most: usize) -> Result<(), E2bError> {
    let bytes: usize = map.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > most {
        return Err(E2bError::new(Kind::Bad, format!("{what} have {bytes} bytes; at most {most} are possible")));
    }
    Ok(())
}

/// The name under which clients reach this service, for those that would otherwise go to E2B's own: they put it behind
/// `https://PORT-ID.`, where a port may follow it if the service itself speaks TLS.
fn domain(scheme: Scheme, headers: &HeaderMap, uri: &Uri) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or_else(|| uri.host()).unwrap_or("");
    let host = host.strip_prefix("api.").unwrap_or(host);
    let (name, port) = match host.strip_prefix('[') {
        Some(address) => address.split_once(']').map_or(("", None), |(name, rest)| (name, rest.strip_prefix(':'))),
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    // An address of this machine can't be part of a longer name.
    let name = match name.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => "localhost",
        _ if name.is_empty() => "localhost",
        _ => name,
    };
    match port.filter(|_| scheme == Scheme::Https) {
        Some(port) if port.parse::<u16>().is_ok_and(|port| port != 443) => format!("{name}:{port}"),
        _ => name.to_owned(),
    }
}

/// Renders a `Sandbox` of the API.
fn sandbox_json(info: &SessionInfo, domain: &str) -> Value {
    json!({
        "templateID": info.spec.template,
        "sandboxID": info.id.simple(),
        "alias": info.spec.template,
        "clientID": CLIENT,
        "envdVersion": ENVD_VERSION,
        "envdAccessToken": &*info.spec.token,
        "trafficAccessToken": traffic_token(&info.spec.token),
        "domain": domain,
    })
}

/// Renders a `ListedSandbox` of the API.
fn listed_json(info: &SessionInfo) -> Value {
    const MIB: u64 = 1 << 20;
    let mounts = info.spec.mounts.iter().map(|mount| json!({"name": mount.name, "path": mount.path}));
    let mounts: Vec<Value> = mounts.collect();
    json!({
        "templateID": info.spec.template,
        "sandboxID": info.id.simple(),
        "alias": info.spec.template,
        "clientID": CLIENT,
        "envdVersion": ENVD_VERSION,
        "startedAt": time(info.spec.created),
        "endAt": time(info.expires),
        "cpuCount": 1,
        "memoryMB": info.spec.grant.limits().memory_bytes / MIB,
        "diskSizeMB": info.spec.grant.limits().files_bytes / MIB,
        "state": state_word(info),
        "metadata": info.spec.labels,
        "volumeMounts": mounts,
    })
}

/// Renders a `SandboxDetail` of the API.
fn detail_json(info: &SessionInfo, domain: &str) -> Value {
    let mut detail = listed_json(info);
    detail["envdAccessToken"] = json!(&*info.spec.token);
    detail["domain"] = json!(domain);
    // There is no network in the sandbox.
    detail["allowInternetAccess"] = json!(false);
    detail["lifecycle"] = json!({
        "autoResume": info.spec.auto_resume,
        "onTimeout": match info.spec.on_expiry {
            OnExpiry::End => "kill",
            OnExpiry::Pause(_) => "pause",
        },
    });
    detail
}

fn state_word(info: &SessionInfo) -> &'static str {
    match info.state {
        SessionState::Paused => "paused",
        // That one waits on disk is our own affair: the next call finds it as it was.
        SessionState::Idle | SessionState::Busy | SessionState::Stored => "running",
    }
}

/// Shows a sandbox with its details.
pub(super) async fn show(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let info = e2b.shared.service.sessions.info(e2b.own(&caller, &id)?)?;
    Ok(Json(detail_json(&info, &domain(e2b.shared.scheme, &headers, &uri))))
}

/// Ends a sandbox, and removes its state.
pub(super) async fn kill(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bError> {
    let id = e2b.own(&caller, &id)?;
    e2b.shared.service.sessions.end(id).await?;
    e2b.state.forget(id);
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct TimeoutRequest {
    timeout: u64,
}

/// Refuses what only a running sandbox can do.
fn check_running(e2b: &E2b, id: SessionId) -> Result<(), E2bError> {
    match e2b.shared.service.sessions.info(id)?.state {
        SessionState::Paused => Err(SessionError::Paused.into()),
        SessionState::Idle | SessionState::Busy | SessionState::Stored => Ok(()),
    }
}

/// Sets a sandbox's end, from now.
pub(super) async fn set_timeout(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let id = e2b.own(&caller, &id)?;
    let TimeoutRequest { timeout } = body::json(request).await?;
    check_running(&e2b, id)?;
    e2b.shared.service.sessions.keep(id, lifetime(timeout)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct RefreshRequest {
    #[serde(default)]
    duration: Option<u64>,
}

/// Extends a sandbox's lifetime to at least this long from now.
pub(super) async fn refresh(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let id = e2b.own(&caller, &id)?;
    let RefreshRequest { duration } = body::json(request).await?;
    check_running(&e2b, id)?;
    e2b.shared.service.sessions.extend(id, lifetime(duration.unwrap_or(15))?).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let name = axum::http::HeaderName::from_static(name);
        HeaderMap::from_iter([(name, value.parse().expect("a value"))])
    }

    #[test]
    fn a_key_is_told_by_its_form() {
        let digits = "0123456789abcdef0123456789ABCDEF01234567";
        assert!(key(&headers("x-api-key", &format!("e2b_{digits}"))).is_ok());
        for wrong in ["bad", "", digits, "e2b_", &format!("e2b_{digits}0"), &format!("e2b_{}", "g".repeat(40))] {
            assert_eq!(key(&headers("x-api-key", wrong)).expect_err(wrong).kind(), Kind::Unauthenticated);
        }
        assert!(key(&HeaderMap::new()).is_err());
    }

    #[test]
    fn the_domain_is_the_name_that_the_client_used() {
        let of = |host: &str| domain(Scheme::Http, &headers("host", host), &Uri::from_static("/"));
        assert_eq!(of("api.box.example.org"), "box.example.org");
        assert_eq!(of("127.0.0.1:8080"), "localhost");
        assert_eq!(of("[::1]:8080"), "localhost");
        assert_eq!(of("192.0.2.7:8080"), "192.0.2.7");
        assert_eq!(domain(Scheme::Http, &HeaderMap::new(), &Uri::from_static("/")), "localhost");
        let of = |host: &str| domain(Scheme::Https, &headers("host", host), &Uri::from_static("/"));
        assert_eq!(of("api.box.example.org:8443"), "box.example.org:8443");
        assert_eq!(of("api.box.example.org:443"), "box.example.org");
        assert_eq!(of("api.box.example.org:x"), "box.example.org");
        assert_eq!(of("127.0.0.1:8443"), "localhost:8443");
        assert_eq!(of("[::1]:8443"), "localhost:8443");
    }

    #[test]
    fn a_day_is_the_longest_life() {
        assert!(lifetime(86_400).is_ok());
        assert_eq!(lifetime(86_401).expect_err("more").kind(), Kind::Bad);
        assert!(lifetime(u64::MAX).is_err());
    }
}
