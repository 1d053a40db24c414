//! Builds every component once, wires them, and drains them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::serve::ListenerExt;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::http;
use crate::metrics::Metrics;
use crate::policy::Policies;
use crate::runtime::image::Image;
use crate::sandbox::Sandbox;
use crate::service::{Capacity, Parts, Receipts, Service, SessionSettings};
use crate::store::{Store, StoreError};
use crate::worker::{WorkerPool, WorkerSettings};

/// The whole of proofbox, ready to serve.
pub struct App {
    service: Arc<Service>,
    /// The store's directory, where it ends with the service.
    _scratch: Option<TempDir>,
    body_bytes: usize,
    drain: Duration,
}

impl App {
    /// Finds or makes the image, starts the workers, and waits for the first of them.
    ///
    /// # Errors
    /// When a policy is wrong, there is no image and none can be made, or no worker starts.
    pub async fn new(config: &Config) -> anyhow::Result<Self> {
        let receipts = Receipts::open(config.receipt_key.clone())?;
        let policies = Policies::load(config.policies_dir.as_deref())?;
        let source = config.image.clone();
        let image = tokio::task::spawn_blocking(move || Image::ready(&source)).await??;
        let metrics = Arc::new(Metrics::new());
        let settings = WorkerSettings {
            binary: std::env::current_exe().context("finding this binary, to start workers")?,
            image: image.clone(),
            count: config.workers,
            slots: config.slots,
            session_slots: config.session_slots,
            memory_bytes: policies.most_memory_bytes(),
        };
        let workers = WorkerPool::start(settings, Arc::clone(&metrics));
        workers.wait_ready().await.context("starting the workers")?;
        let capacity = Capacity::new(config.workers * config.slots as usize, config.queue);
        let sandbox = Sandbox::new(workers);
        let sessions = SessionSettings {
            most: config.sessions,
            memory_bytes: config.session_memory_bytes,
            store_bytes: config.store_bytes,
        };
        let (store, scratch) = open_store(config).await?;
        let service = Service::new(Parts {
            sandbox,
            policies,
            policies_directory: config.policies_dir.clone(),
            capacity,
            image,
            metrics,
            receipts,
            sessions,
            store,
        });
        service.recall_sessions().await.context("reading the sessions in the store")?;
        service.look_after_sessions();
        Ok(Self { service, _scratch: scratch, body_bytes: config.body_bytes, drain: config.drain })
    }

    /// The service, for those who need no HTTP.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Serves HTTP on `listener` until `shutdown` is done; then running work has the drain time to finish.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let draining = http::Draining::default();
        let router = http::router(Arc::clone(&self.service), self.body_bytes, draining.clone());
        let (begun, drained) = tokio::sync::oneshot::channel();
        let shutdown = async move {
            shutdown.await;
            draining.begin();
            let _ = begun.send(());
        };
        // Answers that come in pieces are not held back until the piece before has been acknowledged.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let server = axum::serve(listener, router).with_graceful_shutdown(shutdown);
        let deadline = async {
            let _ = drained.await;
            tokio::time::sleep(self.drain).await;
        };
        let served = tokio::select! {
            served = async { server.await } => served.context("serving HTTP"),
            () = deadline => {
                tracing::warn!("the drain time is over; ending what still runs");
                Ok(())
            }
        };
        self.service.store_sessions().await;
        served
    }
}

/// The store in its directory. Where that was not given, and can't be had or is another service's, a directory that ends
/// with this one takes its place; where there is no such either, nothing is kept.
async fn open_store(config: &Config) -> anyhow::Result<(Option<Store>, Option<TempDir>)> {
    const NAME: &str = "store.sqlite3";
    // Who has no sessions keeps nothing.
    if config.session_slots == 0 {
        return Ok((None, None));
    }
    if let Some(directory) = config.data_dir.as_deref() {
        match Store::open(&directory.join(NAME)).await {
            Ok(store) => return Ok((Some(store), None)),
            Err(error @ (StoreError::Locked { .. } | StoreError::Open { .. })) if !config.data_dir_given => {
                tracing::warn!(%error, "checkpoints will not outlive this service: set PROOFBOX_DATA_DIR");
            }
            Err(error) => return Err(error).context("opening the store"),
        }
    }
    let Ok(scratch) = TempDir::with_prefix("proofbox-") else {
        tracing::warn!("there is no directory for checkpoints: sessions are kept in memory only");
        return Ok((None, None));
    };
    let store = Store::open(&scratch.path().join(NAME)).await.context("opening the store")?;
    Ok((Some(store), Some(scratch)))
}
