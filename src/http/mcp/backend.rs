//! The service behind the tools, which may still be starting: its image may have to be built first.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, ready};

use super::call::ToolError;
use crate::service::Service;

/// Longest wait of a call for the service to start.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// Service that is there, or is being started.
#[derive(Clone)]
pub(super) struct Backend(Shared<BoxFuture<'static, Result<Arc<Service>, Arc<str>>>>);

impl Backend {
    /// Wraps a service that is there.
    pub(super) fn ready(service: Arc<Service>) -> Self {
        let there = ready(Ok(service)).boxed().shared();
        // Seen by `started` from now on.
        let _ = there.clone().now_or_never();
        Self(there)
    }

    /// Starts a service in the background.
    pub(super) fn starting(start: impl Future<Output = anyhow::Result<Arc<Service>>> + Send + 'static) -> Self {
        let started = tokio::spawn(start);
        let started = async move {
            match started.await {
                Ok(Ok(service)) => Ok(service),
                Ok(Err(error)) => {
                    tracing::error!(error = format!("{error:#}"), "the service can't start");
                    Err(format!("{error:#}").into())
                }
                Err(_) => Err("its start failed".into()),
            }
        };
        Self(started.boxed().shared())
    }

    /// Returns the service if it has been waited for and is there.
    pub(super) fn started(&self) -> Option<Arc<Service>> {
        self.0.peek().and_then(|started| started.as_ref().ok().cloned())
    }

    /// Waits for the service.
    ///
    /// # Errors
    /// Returns an error when it could not start, or takes longer than a client waits.
    pub(super) async fn service(&self) -> Result<Arc<Service>, ToolError> {
        match tokio::time::timeout(MAX_WAIT, self.0.clone()).await {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(error)) => Err(ToolError::new(format!("proofbox could not start: {error}"))),
            Err(_) => Err(ToolError::new(
                "proofbox is still starting: its Python runtime is built once, which takes about 10 minutes. \
                 Try again in a minute.",
            )),
        }
    }
}
