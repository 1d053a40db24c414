//! Builds every component once, wires them, and drains them.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::config::{Config, KEYS_FILE, Keyless, MetricsAccess, Traces};
use crate::http::{self, ConnectionBounds, KeylessRequests, Scheme, Tls};
use crate::metrics::Metrics;
use crate::sandbox::Sandbox;
use crate::service::{
    Admission, AdmissionSettings, CallbackSecret, CallbackSettings, Components, JobSettings, KeyAccounts, Keys,
    PolicyStore, Receipts, Service, SessionSettings,
};
use crate::telemetry::{Collector, Telemetry};
use proofbox_runtime::ImageError;
use proofbox_runtime::image::Image;
use proofbox_runtime::images::Images;
use proofbox_runtime::wheels::Wheels;
use proofbox_store::{DiskReserve, Store, StoreError};
use proofbox_types::hardening::Hardened;
use proofbox_worker::{WorkerPool, WorkerSettings};

/// Part of the drain time that is left for clients to be told of the end of what still runs.
const FAREWELL: Duration = Duration::from_secs(1);

/// The whole of proofbox, ready to serve.
pub struct App {
    service: Arc<Service>,
    telemetry: Telemetry,
    /// The store's directory, where it ends with the service.
    _scratch: Option<TempDir>,
    body_bytes: usize,
    keyless: Keyless,
    metrics_access: Option<MetricsAccess>,
    connections: ConnectionBounds,
    drain: Duration,
}

impl App {
    /// Finds or makes the image, starts the workers, and waits for the first of them.
    ///
    /// # Errors
    /// Returns an error when a policy is wrong, there is no image and none can be made, or no worker starts.
    pub async fn new(config: &Config) -> anyhow::Result<Self> {
        let source = config.image.clone();
        let images = tokio::task::spawn_blocking(move || {
            let image = Image::ready(&source)?;
            // Of the others no more is made here than code for this machine.
            for other in Images::other_sources(&source) {
                Image::ready(&other)?;
            }
            Ok::<_, ImageError>(Images::over(image, &source).0)
        });
        Self::with_images(config, images.await??, approved_wheels(config)?, Hardened::default()).await
    }

    /// Builds the app from images that are ready, in a process that has dropped the privileges that `hardened` lists.
    ///
    /// # Errors
    /// Returns an error when a policy is wrong, or no worker starts.
    pub async fn with_images(
        config: &Config,
        images: Images,
        wheels: Option<Wheels>,
        hardened: Hardened,
    ) -> anyhow::Result<Self> {
        let receipts = Receipts::open(config.receipt_key.clone())?;
        let policies = PolicyStore::open(config.policies_dir.clone())?;
        let metrics = Arc::new(Metrics::new());
        metrics.set_image(&images.default().image_hash);
        let telemetry = telemetry_of(&config.traces, images.default(), &metrics)?;
        metrics.set_hardening("front", &hardened);
        let settings = WorkerSettings {
            // Not its path: an update may have put another version there.
            binary: "/proc/self/exe".into(),
            images: images.to_worker(),
            wheels: wheels.map(|wheels| wheels.file),
            count: config.workers,
            slots: config.slots,
            session_slots: config.session_slots,
            memory_bytes: policies.current().most_memory_bytes(),
            hardening: config.hardening,
        };
        let admission = AdmissionSettings {
            capacity: config.workers * config.slots as usize,
            most_queued: config.queue,
            max_wait: config.max_wait,
        };
        let admission = Arc::new(Admission::new(admission, Arc::clone(&metrics)));
        let keys = Arc::new(open_keys(config, &metrics)?);
        let (admission_of_keys, counted) = (Arc::clone(&admission), Arc::clone(&metrics));
        let accounts = KeyAccounts { admission: admission_of_keys, keys: Arc::clone(&keys), metrics: counted };
        let workers = WorkerPool::start(settings, Arc::<Metrics>::clone(&metrics), Arc::new(accounts));
        workers.wait_ready().await.context("starting the workers")?;
        let sandbox = Sandbox::new(workers);
        let sessions = SessionSettings {
            most: config.sessions,
            memory_bytes: config.session_memory_bytes,
            store_bytes: config.store_bytes,
        };
        let jobs = JobSettings {
            wire: Arc::new(http::Wire),
            age: config.jobs_age,
            bytes: config.jobs_bytes,
            callbacks: callbacks(config)?,
        };
        let (store, scratch) = open_store(config).await?;
        let service = Service::new(Components {
            sandbox,
            policies,
            admission,
            keys,
            images,
            metrics,
            receipts,
            sessions,
            jobs,
            webhook_wire: Arc::new(http::EventWire),
            store,
            hardened,
        });
        service.sessions.recall().await.context("reading the sessions in the store")?;
        service.webhooks.recall().await.context("reading the webhooks in the store")?;
        service.sessions.look_after();
        service.keys.follow().context("following the keys")?;
        Ok(Self {
            service: Arc::new(service),
            telemetry,
            _scratch: scratch,
            body_bytes: config.body_bytes,
            keyless: config.keyless,
            metrics_access: config.metrics_access,
            connections: ConnectionBounds { most: config.connections, idle_timeout: config.client_idle_timeout },
            drain: config.drain,
        })
    }

    /// The service, for those who need no HTTP.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Serves HTTP on `listener`, over TLS if there is a certificate, until `shutdown` is done; then running work has the
    /// drain time to finish.
    ///
    /// # Errors
    /// Returns an error when the listener breaks.
    pub async fn serve(
        self,
        listener: TcpListener,
        tls: Option<Arc<Tls>>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let keyless = self.keyless(&listener)?;
        self.service.stats.keep().await.context("reading the statistics in the store")?;
        self.service.jobs.take_up().await.context("reading the jobs in the store")?;
        self.service.webhooks.start();
        let metrics_access = self.metrics_access.unwrap_or(match keyless {
            KeylessRequests::Served | KeylessRequests::ToThisMachine => MetricsAccess::Open,
            KeylessRequests::Refused => MetricsAccess::Loopback,
        });
        let draining = http::Draining::default();
        let router = http::router(
            Arc::clone(&self.service),
            self.telemetry.clone(),
            http::RouterSettings {
                body_bytes: self.body_bytes,
                keyless,
                metrics_access,
                scheme: if tls.is_some() { Scheme::Https } else { Scheme::Http },
                idle_timeout: self.connections.idle_timeout,
            },
            draining.clone(),
        );
        let (begun, drained) = tokio::sync::oneshot::channel();
        let ending = draining.clone();
        let service = Arc::clone(&self.service);
        let shutdown = async move {
            shutdown.await;
            draining.begin();
            service.background.stop();
            let _ = begun.send(());
        };
        let open = self.service.metrics.connections.clone();
        let deadline = async {
            let _ = drained.await;
            let farewell = FAREWELL.min(self.drain / 2);
            tokio::time::sleep(self.drain - farewell).await;
            ending.end();
            tokio::time::sleep(farewell).await;
        };
        let work = async {
            http::serve(listener, tls, router, self.connections, open, shutdown).await;
            self.service.background.stopped().await;
        };
        tokio::select! {
            () = work => {}
            () = deadline => tracing::warn!("the drain time is over; ending what still runs"),
        }
        self.service.jobs.halt().await;
        self.service.stats.flush().await;
        self.service.sessions.store_all().await;
        self.service.keys.save();
        self.telemetry.flush().await;
        Ok(())
    }

    /// Rule for requests without a key at this address.
    fn keyless(&self, listener: &TcpListener) -> anyhow::Result<KeylessRequests> {
        let address = listener.local_addr()?;
        let served = match self.keyless {
            Keyless::Always => KeylessRequests::Served,
            Keyless::Loopback if address.ip().is_loopback() => KeylessRequests::ToThisMachine,
            Keyless::Loopback | Keyless::Never => KeylessRequests::Refused,
        };
        let allowed = served != KeylessRequests::Refused;
        if !allowed && self.service.keys.count() == 0 {
            tracing::warn!(%address, "requests need a key, and there is none yet: `proofbox keys create NAME` makes one");
        }
        if allowed && !address.ip().is_loopback() {
            tracing::warn!(%address, "whoever reaches this address is served without a key");
        }
        Ok(served)
    }
}

/// Reads the settings for callbacks at the end of jobs.
fn callbacks(config: &Config) -> anyhow::Result<Option<Arc<CallbackSettings>>> {
    let hosts = config.callback_hosts.clone();
    let Some(path) = config.callback_secret_file.as_deref().filter(|_| !hosts.is_empty()) else { return Ok(None) };
    let secret = CallbackSecret::read(path).context("the secret for callbacks (PROOFBOX_CALLBACK_SECRET_FILE)")?;
    Ok(Some(Arc::new(CallbackSettings { hosts, secret })))
}

/// The keys of the data directory.
fn open_keys(config: &Config, metrics: &Arc<Metrics>) -> anyhow::Result<Keys> {
    let none = || Keys::none(Arc::clone(metrics));
    let Some(directory) = config.data_dir.as_deref() else {
        return Ok(none());
    };
    match Keys::open(directory.join(KEYS_FILE), Arc::clone(metrics)) {
        Ok(keys) => Ok(keys),
        Err(error @ StoreError::Open { .. }) if !config.data_dir_given => {
            tracing::warn!(%error, "there are no keys: set PROOFBOX_DATA_DIR");
            Ok(none())
        }
        Err(error) => Err(error).context("opening the keys"),
    }
}

fn telemetry_of(traces: &Traces, image: &Image, metrics: &Metrics) -> anyhow::Result<Telemetry> {
    let traces_url = match traces {
        Traces::Off => return Ok(Telemetry::off()),
        Traces::To(url) => Some(url.clone()),
        Traces::Standard => None,
    };
    let collector = Collector { traces_url, image_hash: image.image_hash.clone(), spans: metrics.spans.clone() };
    Ok(Telemetry::to(&collector)?)
}

/// Packs the wheels that sessions may install, where there is a directory of them.
///
/// # Errors
/// Returns an error when the directory can't be read, or its wheels can't be packed.
pub fn approved_wheels(config: &Config) -> anyhow::Result<Option<Wheels>> {
    let Some(directory) = &config.wheels_dir else { return Ok(None) };
    let caches: Vec<PathBuf> =
        [Some(&config.image.cache), config.image.spare.as_ref()].into_iter().flatten().cloned().collect();
    let wheels = Wheels::pack(directory, &caches)?;
    tracing::info!(count = wheels.count, hash = %wheels.hash, "wheels that sessions may install");
    for name in &wheels.left_out {
        tracing::warn!(%name, "this is no wheel without native code: sessions can't install it");
    }
    Ok(Some(wheels))
}

/// Opens the store in its directory. Where no directory was given, and the default one can't be made or is another
/// service's, a temporary directory replaces it, which is removed with this store; where that can't be made, nothing is
/// stored.
async fn open_store(config: &Config) -> anyhow::Result<(Option<Store>, Option<TempDir>)> {
    const NAME: &str = "store.sqlite3";
    // Who has no sessions keeps nothing.
    if config.session_slots == 0 {
        return Ok((None, None));
    }
    let reserve = config.disk_reserve_bytes.map_or(DiskReserve::Share, DiskReserve::Bytes);
    if let Some(directory) = config.data_dir.as_deref() {
        match Store::open(&directory.join(NAME), reserve).await {
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
    let store = Store::open(&scratch.path().join(NAME), reserve).await.context("opening the store")?;
    Ok((Some(store), Some(scratch)))
}
