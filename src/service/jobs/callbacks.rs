//! Callbacks at the end of jobs, as Standard Webhooks defines them (<https://www.standardwebhooks.com>).
//!
//! A request goes only to hosts that the operator allows, follows no redirect, and only the status of the answer is
//! read. The state of each callback is in the store, so that another process can continue with it.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::join_all;
use hmac::{Hmac, Mac};
use jiff::Timestamp;
use sha2::Sha256;
use url::Url;
use zeroize::Zeroizing;

use super::{JobManager, now};
use proofbox_store::{Callback, CallbackPhase, DueCallback, Store};
use proofbox_types::ids::JobId;

/// Callbacks that are tried at once.
const AT_ONCE: usize = 16;
/// Time that a receiver has to answer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Interval at which the store is asked for callbacks that are due.
const LOOK: Duration = Duration::from_millis(500);
/// Seconds between one attempt and the next: after the last the callback is abandoned, a day and a half after the
/// first.
pub(in crate::service) const DELAYS: [u64; 10] = [1, 5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 12 * 3600];
/// Bytes of an address.
const MAX_URL: usize = 2048;
/// Bytes that a secret has, as Standard Webhooks wants it.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Settings for callbacks at the end of jobs.
pub struct CallbackSettings {
    /// `host`, for the usual port of its scheme, or `host:port`.
    pub hosts: Vec<String>,
    /// Secret that requests are signed with.
    pub secret: CallbackSecret,
}

/// Secret that requests are signed with (Standard Webhooks).
pub struct CallbackSecret(Zeroizing<Vec<u8>>);

impl std::fmt::Debug for CallbackSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallbackSecret")
    }
}

/// A file that has no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// File that can't be read.
    #[error("reading {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// File that holds something else.
    #[error("{path} has no secret: it must be one line, `whsec_` and 24 to 64 bytes in base64")]
    Malformed {
        /// Path of the file.
        path: String,
    },
}

impl CallbackSecret {
    /// The secret in this file.
    ///
    /// # Errors
    /// Returns an error when it can't be read, or has none.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let name = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| SecretError::Io { path: name(), source })?;
        Self::parse(&Zeroizing::new(text)).ok_or_else(|| SecretError::Malformed { path: name() })
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(BASE64.decode(text.trim().strip_prefix("whsec_")?).ok()?);
        SECRET_BYTES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The header `webhook-signature`.
    fn signature(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of every length");
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
    }
}

/// Reason why a callback URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackRefused {
    /// No host is allowed by the operator.
    #[error("callbacks are not allowed here: the operator names the hosts in PROOFBOX_CALLBACK_HOSTS")]
    NoneAllowed,
    /// Text that is not a URL of the required form.
    #[error("it must be an http or https URL without user and fragment, of at most {MAX_URL} bytes")]
    Malformed,
    /// Host that the operator does not allow.
    #[error("callbacks to {host} are not allowed: the operator names the hosts in PROOFBOX_CALLBACK_HOSTS")]
    Host {
        /// The host, and the port where it is not the usual one.
        host: String,
    },
}

impl CallbackSettings {
    /// Parses the URL of a callback, if callbacks to it are allowed.
    pub(in crate::service) fn admit(&self, text: &str) -> Result<Url, CallbackRefused> {
        let url = Url::parse(text).map_err(|_| CallbackRefused::Malformed)?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && text.len() <= MAX_URL;
        let (true, Some(host)) = (is_plain, url.host_str()) else { return Err(CallbackRefused::Malformed) };
        // The parser leaves out the usual port.
        let host = match url.port() {
            None => host.to_owned(),
            Some(port) => format!("{host}:{port}"),
        };
        match self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&host)) {
            true => Ok(url),
            false => Err(CallbackRefused::Host { host }),
        }
    }
}

/// Makes the client for requests to addresses of clients: it follows no redirect.
///
/// # Errors
/// Returns an error when the library can't make one.
pub(in crate::service) fn http_client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(TIMEOUT)
        .user_agent(concat!("proofbox/", env!("CARGO_PKG_VERSION")))
        .build()
}

impl JobManager {
    /// Checks that callbacks to this URL are allowed.
    ///
    /// # Errors
    /// Returns an error when they are not, with the reason.
    pub fn admit_callback(&self, url: &str) -> Result<(), CallbackRefused> {
        let settings = self.queue.settings.callbacks.as_ref().ok_or(CallbackRefused::NoneAllowed)?;
        settings.admit(url).map(drop)
    }

    /// Delivers callbacks that are due, until the future is dropped.
    pub(super) async fn deliver_callbacks(&self) {
        let (Some(store), Some(settings)) = (&self.store, &self.queue.settings.callbacks) else { return };
        let client = match http_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "there is no HTTP client for callbacks");
                return;
            }
        };
        loop {
            match store.due_callbacks(now(), AT_ONCE).await {
                Ok(due) if !due.is_empty() => {
                    join_all(due.into_iter().map(|due| self.deliver(store, settings, &client, due))).await;
                    continue;
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "callbacks can't be read"),
            }
            tokio::select! {
                () = self.queue.ended.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn deliver(&self, store: &Store, settings: &CallbackSettings, client: &reqwest::Client, due: DueCallback) {
        let DueCallback { job, callback } = due;
        let mut next = Callback { attempts: callback.attempts + 1, next_at: None, ..callback };
        match self.attempt(store, settings, client, job.into(), &next).await {
            Ok(()) => (next.phase, next.error) = (CallbackPhase::Delivered, None),
            Err(Trouble { reason, is_final }) => {
                let delay = DELAYS.get(next.attempts as usize - 1).filter(|_| !is_final);
                next.error = Some(reason);
                match delay {
                    Some(seconds) => next.next_at = Some(now() + jittered(*seconds)),
                    None => next.phase = CallbackPhase::GivenUp,
                }
            }
        }
        let word = match next.phase {
            CallbackPhase::Waiting => "failed",
            CallbackPhase::Delivered => "delivered",
            CallbackPhase::GivenUp => "given_up",
        };
        self.metrics.callbacks.with_label_values(&[word]).inc();
        tracing::info!(%job, attempts = next.attempts, outcome = word, error = next.error, "a callback");
        if let Err(error) = store.put_callback(job, next).await {
            tracing::error!(%job, %error, "a callback could not be noted");
            // It would be due again at once.
            tokio::time::sleep(TIMEOUT).await;
        }
    }

    async fn attempt(
        &self,
        store: &Store,
        settings: &CallbackSettings,
        client: &reqwest::Client,
        id: JobId,
        callback: &Callback,
    ) -> Result<(), Trouble> {
        // The operator may have changed the hosts since.
        let url = settings.admit(&callback.url).map_err(|refused| Trouble::last(refused.to_string()))?;
        let Ok(Some(row)) = store.find_job(id.uuid()).await else {
            return Err(Trouble::last("the job can't be read".to_owned()));
        };
        let body = self.queue.wire().document(&self.info(row));
        // The same for every attempt: its receiver may have taken it and not have been able to say so.
        let message = format!("msg_{}", id.simple());
        let timestamp = Timestamp::now().as_second();
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-signature", settings.secret.signature(&message, timestamp, &body))
            .header("webhook-id", message)
            .header("webhook-timestamp", timestamp)
            .body(body);
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            // Gone: Standard Webhooks has it that nothing more is wanted there.
            Ok(answer) if answer.status().as_u16() == 410 => Err(Trouble::last("it answered 410".to_owned())),
            Ok(answer) => Err(Trouble::of(format!("it answered {}", answer.status().as_u16()))),
            Err(error) => Err(Trouble::of(request_failure(&error).to_owned())),
        }
    }
}

/// Failure of a delivery.
struct Trouble {
    reason: String,
    is_final: bool,
}

impl Trouble {
    fn of(reason: String) -> Self {
        Self { reason, is_final: false }
    }

    fn last(reason: String) -> Self {
        Self { reason, is_final: true }
    }
}

/// Describes the cause in words of this service: the library's may contain the URL with its secrets.
pub(in crate::service) fn request_failure(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it could not be connected to"
    } else {
        "the connection broke"
    }
}

/// Returns the delay in milliseconds, with up to a fifth more, so that callbacks that failed together are not all tried
/// again together.
pub(in crate::service) fn jittered(seconds: u64) -> i64 {
    let milliseconds = seconds as i64 * 1000;
    let mut random = [0];
    // Without randomness there is no harm in all coming at once.
    let _ = getrandom::fill(&mut random);
    milliseconds + milliseconds * i64::from(random[0]) / (5 * 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(hosts: &[&str]) -> CallbackSettings {
        let secret = CallbackSecret::parse(SECRET).expect("a secret");
        CallbackSettings { hosts: hosts.iter().map(|host| (*host).to_owned()).collect(), secret }
    }

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";

    #[test]
    fn the_signature_is_that_of_the_specification() {
        // The example in the specification's own libraries.
        let body = br#"{"test": 2432232314}"#;
        let seen = settings(&[]).secret.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(seen, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn only_allowed_hosts_are_told() {
        let settings = settings(&["example.com", "Ci.internal:8443", "127.0.0.1:9", "[::1]:80"]);
        for url in [
            "http://example.com/a?b=c",
            "https://EXAMPLE.com",
            "https://example.com:443/",
            "https://ci.internal:8443/x",
            "http://127.0.0.1:9/",
            "http://2130706433:9/",
        ] {
            assert!(settings.admit(url).is_ok(), "{url}");
        }
        for url in [
            "ftp://example.com",
            "https://user@example.com",
            "https://:p@example.com",
            "https://example.com/#a",
            "example.com",
            "file:///etc/passwd",
            &format!("http://example.com/{}", "a".repeat(MAX_URL)),
        ] {
            assert_eq!(settings.admit(url).err(), Some(CallbackRefused::Malformed), "{url}");
        }
        for url in [
            "https://example.com:8443/",
            "https://ci.internal/",
            "https://example.com.evil.org/",
            "http://evil.org/@example.com",
            "http://127.0.0.1/",
            "https://example.com./",
        ] {
            assert!(matches!(settings.admit(url), Err(CallbackRefused::Host { .. })), "{url}");
        }
    }

    #[test]
    fn a_secret_is_whsec_and_base64() {
        for text in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_***"] {
            assert!(CallbackSecret::parse(text).is_none(), "{text}");
        }
    }
}
