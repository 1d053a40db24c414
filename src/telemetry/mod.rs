//! Telemetry of a request while it is served: its id in the log, a line of access, and, where a collector is set, a
//! trace.
//!
//! The layers above say what happens ([`ExecutionSpan`], [`scanned`], [`ran`], [`graded`]) and know nothing of spans. None
//! of it ever has code, output, messages of exceptions, or keys in it.

mod execution;
mod export;
pub mod logs;
mod request;
mod request_id;
mod work;

pub use execution::{Ended, ExecutionInfo, ExecutionSpan, case, graded, ran, scanned};
pub use export::{Collector, CollectorError};
pub use request::{Head, Request, RequestScope, Visibility, carry, name_key};
pub use request_id::RequestId;

use std::sync::Arc;

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

/// Destination of traces; none where they are off.
#[derive(Clone, Debug, Default)]
pub struct Telemetry(Option<Arc<Pipeline>>);

#[derive(Debug)]
struct Pipeline {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Telemetry {
    /// Makes a telemetry without traces.
    pub fn off() -> Self {
        Self(None)
    }

    /// Sends traces to `collector`. Must be called within a tokio runtime, which does the sending.
    ///
    /// # Errors
    /// Returns an error when the collector's address can't be used, or a standard variable asks for what is not there.
    pub fn to(collector: &Collector) -> Result<Self, CollectorError> {
        let provider = export::provider(collector)?;
        let tracer = provider.tracer("proofbox");
        Ok(Self(Some(Arc::new(Pipeline { provider, tracer }))))
    }

    fn tracer(&self) -> Option<&SdkTracer> {
        self.0.as_ref().map(|pipeline| &pipeline.tracer)
    }

    /// Sends what waits, and ends the sending.
    pub async fn flush(&self) {
        let Some(pipeline) = self.0.clone() else { return };
        // It waits for the exporter's thread, which waits for this runtime.
        let flushed = tokio::task::spawn_blocking(move || pipeline.provider.shutdown_with_timeout(export::FLUSH)).await;
        if !matches!(flushed, Ok(Ok(()))) {
            tracing::warn!("the last spans may not have reached the collector");
        }
    }
}
