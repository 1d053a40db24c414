//! Export of spans to the collector: a bounded queue, a thread of its own, and a warning now and then where that fails.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use opentelemetry::{Context, Key, KeyValue, Value};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanProcessor};
use prometheus::IntCounterVec;

/// Time that the end of the service waits for the last spans to be sent.
pub(super) const FLUSH: Duration = Duration::from_secs(5);
/// Time to wait for the answer of a collector.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer of a collector that is read: it says how many spans were refused.
const MAX_ANSWER: usize = 64 << 10;
/// Minimum time between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Collector of traces, and the resource they are sent as.
#[derive(Clone, Debug)]
pub struct Collector {
    /// URL that spans are posted to; none: as the standard variables say.
    pub traces_url: Option<String>,
    /// Hash of the image that guests start from.
    pub image_hash: String,
    /// Counts spans by `outcome`.
    pub spans: IntCounterVec,
}

/// The collector can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// Invalid address of the collector, or invalid standard variable.
    #[error("traces can't be sent to the collector: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// The client that is to send.
    #[error("traces can't be sent to the collector: {0}")]
    Client(#[from] reqwest::Error),
}

/// Makes the provider that creates and sends spans. Sampler, queue and headers follow the standard variables.
pub(super) fn provider(collector: &Collector) -> Result<SdkTracerProvider, CollectorError> {
    let http = reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build()?;
    let client = Client { http, runtime: tokio::runtime::Handle::current() };
    let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
    if let Some(url) = &collector.traces_url {
        exporter = exporter.with_endpoint(url.clone());
    }
    let exporter = Watched { exporter: exporter.build()?, spans: collector.spans.clone(), warned: Mutex::default() };
    let processor = Counted { batches: BatchSpanProcessor::builder(exporter).build(), spans: collector.spans.clone() };
    Ok(SdkTracerProvider::builder()
        .with_resource(resource(&collector.image_hash))
        .with_span_processor(processor)
        .build())
}

fn resource(image_hash: &str) -> Resource {
    // Has what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say.
    let told = Resource::builder().build();
    let named = told
        .get(&Key::from_static_str("service.name"))
        .is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let resource = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", uuid::Uuid::now_v7().to_string()),
        KeyValue::new("proofbox.image_hash", Value::from(image_hash.to_owned())),
    ]);
    if named { resource.build() } else { resource.with_service_name("proofbox").build() }
}

/// Counts what is handed over: what is neither sent nor failed in the end found the queue full.
#[derive(Debug)]
struct Counted {
    batches: BatchSpanProcessor,
    spans: IntCounterVec,
}

impl SpanProcessor for Counted {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        self.spans.with_label_values(&["ended"]).inc();
        self.batches.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts what is sent, and warns of what is not.
struct Watched {
    exporter: SpanExporter,
    spans: IntCounterVec,
    /// Time of the last warning, and the number of spans lost since.
    warned: Mutex<(Option<Instant>, u64)>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The exporter's headers may be a secret.
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl opentelemetry_sdk::trace::SpanExporter for Watched {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len() as u64;
        let sent = self.exporter.export(batch).await;
        match &sent {
            Ok(()) => self.spans.with_label_values(&["exported"]).inc_by(count),
            Err(error) => {
                self.spans.with_label_values(&["failed"]).inc_by(count);
                if let Some(lost) = due(&mut self.warned.lock().expect("no holder panics"), count, Instant::now()) {
                    tracing::warn!(spans = lost, %error, "spans could not be sent to the collector");
                }
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Returns the number of spans that a warning speaks of, where one is due.
fn due((last, lost): &mut (Option<Instant>, u64), more: u64, now: Instant) -> Option<u64> {
    *lost += more;
    if last.is_some_and(|last| now.duration_since(last) < WARN_EVERY) {
        return None;
    }
    *last = Some(now);
    Some(std::mem::take(lost))
}

/// Sends on the service's runtime for the exporter's thread, which has none.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    runtime: tokio::runtime::Handle,
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        let sending = self.runtime.spawn(async move {
            let mut response = http.execute(request.try_into()?).await?;
            let status = response.status();
            let mut body = Vec::new();
            while let Some(piece) = response.chunk().await? {
                if body.len() + piece.len() > MAX_ANSWER {
                    break;
                }
                body.extend_from_slice(&piece);
            }
            Ok::<_, HttpError>(Response::builder().status(status).body(body.into())?)
        });
        sending.await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_collector_is_told_of_once_a_minute() {
        let (mut state, start) = ((None, 0), Instant::now());
        assert_eq!(due(&mut state, 5, start), Some(5));
        assert_eq!(due(&mut state, 7, start + Duration::from_secs(1)), None);
        assert_eq!(due(&mut state, 1, start + Duration::from_secs(59)), None);
        assert_eq!(due(&mut state, 2, start + WARN_EVERY), Some(10));
    }
}
