//! What the product does, in parts: each owns exactly what it uses, and [`Service`] is the bundle of them. API flavours
//! translate to their methods.

mod admission;
mod background;
mod execution;
mod jobs;
mod key_accounts;
mod keys;
mod policies;
mod policy_check;
mod readiness;
mod receipts;
mod sessions;
mod stats;
mod suites;
mod tracing;
mod unattended;
mod volumes;
mod webhooks;

use std::sync::{Arc, Weak};

pub use admission::{Admission, AdmissionSettings, Busy};
pub use background::BackgroundTasks;
pub use execution::{ExecuteError, Execution, Executor, ImageChooser, ImageReason};
pub use jobs::{
    CallbackRefused, CallbackSecret, CallbackSettings, JobAccepted, JobAsked, JobError, JobInfo, JobLine, JobManager,
    JobSettings, JobState, JobWire, JobsAsked, Progress, SecretError,
};
pub use key_accounts::KeyAccounts;
pub use keys::{Keys, OverQuota, Recognised, Secret};
pub use policies::PolicyStore;
pub use policy_check::PolicyCheck;
pub use readiness::Readiness;
pub use receipts::{KeyError, Receipts};
pub use sessions::{
    CallEvent, CallItem, CallStream, CellAsked, CellExecution, CheckpointInfo, CheckpointTag, CommandAsked,
    CommandDefaults, CommandEnd, CommandEvent, CommandEvents, CommandProgress, DEFAULT_TTL, GradeError,
    LifecycleChange, LifecycleEvent, LifecycleKind, LogEvent, LogLine, LoggedEnd, MAX_PACKAGES, MAX_REQUIREMENT_BYTES,
    MAX_TTL, OnExpiry, OutputRetention, OwnedSession, SavedState, SessionAsked, SessionCommand, SessionError,
    SessionInfo, SessionManager, SessionSettings, SessionSpec, SessionState, Setup, TaggedCheckpoint, Watch,
    WatchEvent, overflow_note, script_of_words,
};
pub use stats::{StatsAsked, StatsCollector, StatsError, StatsFound, StatsGroup};
pub use suites::{Failed, Finished, SuiteItem, SuiteRunner};
pub use unattended::{RequestDigest, UnansweredError, UnattendedRunner};
pub use volumes::{
    MountAsked, VolumeAnswer, VolumeAsk, VolumeError, VolumeInfo, VolumeManager, VolumePath, VolumeStat,
};
pub use webhooks::{WebhookChange, WebhookError, WebhookInfo, WebhookManager, WebhookWire};

use crate::metrics::{Metrics, gauged};
use crate::sandbox::{Payer, Sandbox};
use crate::telemetry::logs;
use proofbox_runtime::images::Images;
use proofbox_store::Store;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::hardening::Hardened;

/// Caller on whose behalf a run is made, and its urgency.
#[derive(Clone, Copy)]
struct Asking<'a> {
    caller: &'a Caller,
    urgency: Urgency,
}

impl Asking<'_> {
    /// Payer of the interpreters that commands of the run start.
    fn payer(self) -> Payer {
        Payer { owner: self.caller.owner(), urgency: self.urgency }
    }
}

/// Parts of the service behind every API flavour.
pub struct Service {
    /// Runs and grades submissions.
    pub executor: Arc<Executor>,
    /// Runs submissions of clients that know no queue.
    pub unattended: UnattendedRunner,
    /// Runs many submissions at once.
    pub suites: SuiteRunner,
    /// Opens, uses and ends sessions.
    pub sessions: Arc<SessionManager>,
    /// Trees of files that outlive the sessions that mount them.
    pub volumes: Arc<VolumeManager>,
    /// Tells addresses of clients what becomes of their sessions.
    pub webhooks: Arc<WebhookManager>,
    /// Stores submissions and runs them in the background.
    pub jobs: Arc<JobManager>,
    /// Counts what was run, by label and by time.
    pub stats: Arc<StatsCollector>,
    /// Scans what is to run.
    pub policy_check: Arc<PolicyCheck>,
    /// Policy packs in force.
    pub policies: Arc<PolicyStore>,
    /// Permits for runs, and the queue before them.
    pub admission: Arc<Admission>,
    /// Keys of the clients.
    pub keys: Arc<Keys>,
    /// Images that guests start from.
    pub images: Arc<Images>,
    /// Choice among the images.
    pub image_chooser: Arc<ImageChooser>,
    /// Key that receipts are signed with.
    pub receipts: Arc<Receipts>,
    /// Self-test of the service.
    pub readiness: Arc<Readiness>,
    /// Tasks that end with the service.
    pub background: BackgroundTasks,
    /// Counters of the service.
    pub metrics: Arc<Metrics>,
    /// Sandbox that runs guests.
    pub sandbox: Arc<Sandbox>,
    /// Privileges that this process has dropped.
    pub hardened: Hardened,
    store: Option<Arc<Store>>,
}

/// Components from which a service is built.
pub struct Components {
    /// Sandbox that runs guests.
    pub sandbox: Sandbox,
    /// Policy packs in force.
    pub policies: PolicyStore,
    /// Admission of runs: permits and queue.
    pub admission: Arc<Admission>,
    /// Keys of the clients.
    pub keys: Arc<Keys>,
    /// Images that guests start from.
    pub images: Images,
    /// Counters of the service.
    pub metrics: Arc<Metrics>,
    /// Key that receipts are signed with.
    pub receipts: Receipts,
    /// Bounds on the number of sessions, and on their memory.
    pub sessions: SessionSettings,
    /// Settings for jobs and their callbacks.
    pub jobs: JobSettings,
    /// Form in which webhooks are told of events.
    pub webhook_wire: Arc<dyn WebhookWire>,
    /// Store of state that outlives a request; none where nothing is stored.
    pub store: Option<Store>,
    /// Privileges that this process has dropped.
    pub hardened: Hardened,
}

impl Service {
    /// Builds the service from its components.
    pub fn new(components: Components) -> Self {
        let Components {
            sandbox,
            policies,
            admission,
            keys,
            images,
            metrics,
            receipts,
            sessions: session_settings,
            jobs: job_settings,
            webhook_wire,
            store,
            hardened,
        } = components;
        let (sandbox, policies) = (Arc::new(sandbox), Arc::new(policies));
        let (images, receipts) = (Arc::new(images), Arc::new(receipts));
        let store = store.map(Arc::new);
        let background = BackgroundTasks::default();
        let image_chooser = Arc::new(ImageChooser::new(&images));
        let stats = Arc::new(StatsCollector {
            store: store.clone(),
            background: background.clone(),
            counted: stats::Counted::default(),
        });
        let policy_check = Arc::new(PolicyCheck {
            sandbox: Arc::clone(&sandbox),
            policies: Arc::clone(&policies),
            admission: Arc::clone(&admission),
            metrics: Arc::clone(&metrics),
        });
        let executor = Arc::new(Executor {
            sandbox: Arc::clone(&sandbox),
            policies: Arc::clone(&policies),
            policy_check: Arc::clone(&policy_check),
            admission: Arc::clone(&admission),
            keys: Arc::clone(&keys),
            images: Arc::clone(&images),
            image_chooser: Arc::clone(&image_chooser),
            receipts: Arc::clone(&receipts),
            linter: execution::linter(),
            metrics: Arc::clone(&metrics),
        });
        let unattended = UnattendedRunner {
            executor: Arc::clone(&executor),
            stats: Arc::clone(&stats),
            metrics: Arc::clone(&metrics),
            left: unattended::LeftWork::default(),
        };
        let suites =
            SuiteRunner { executor: Arc::clone(&executor), stats: Arc::clone(&stats), capacity: admission.capacity() };
        let volumes = Arc::new(VolumeManager::new(store.clone(), session_settings.store_bytes));
        let webhooks = Arc::new(WebhookManager {
            keys: Arc::clone(&keys),
            store: store.clone(),
            background: background.clone(),
            metrics: Arc::clone(&metrics),
            callbacks: job_settings.callbacks.clone(),
            wire: webhook_wire,
            table: webhooks::WebhookTable::default(),
            events: webhooks::EventQueue::default(),
        });
        let sessions = Arc::new_cyclic(|weak_self| SessionManager {
            sandbox: Arc::clone(&sandbox),
            executor: Arc::clone(&executor),
            policies: Arc::clone(&policies),
            policy_check: Arc::clone(&policy_check),
            admission: Arc::clone(&admission),
            keys: Arc::clone(&keys),
            images: Arc::clone(&images),
            volumes: Arc::clone(&volumes),
            webhooks: Arc::clone(&webhooks),
            store: store.clone(),
            metrics: Arc::clone(&metrics),
            table: Arc::new(sessions::SessionTable::new(session_settings)),
            budgets: sessions::OutputBudgets::default(),
            weak_self: Weak::clone(weak_self),
        });
        let jobs = Arc::new(JobManager {
            executor: Arc::clone(&executor),
            keys: Arc::clone(&keys),
            stats: Arc::clone(&stats),
            store: store.clone(),
            background: background.clone(),
            metrics: Arc::clone(&metrics),
            queue: jobs::JobQueue::new(job_settings, admission.capacity()),
        });
        let readiness = Arc::new(Readiness {
            sandbox: Arc::clone(&sandbox),
            policies: Arc::clone(&policies),
            metrics: Arc::clone(&metrics),
            last: tokio::sync::Mutex::default(),
        });
        Self {
            executor,
            unattended,
            suites,
            sessions,
            volumes,
            webhooks,
            jobs,
            stats,
            policy_check,
            policies,
            admission,
            keys,
            images,
            image_chooser,
            receipts,
            readiness,
            background,
            metrics,
            sandbox,
            hardened,
            store,
        }
    }

    /// Returns the metrics, after updating those that are measured only on request.
    pub async fn measured(&self) -> &Metrics {
        let metrics = &self.metrics;
        metrics.instances_live.set(i64::from(self.sandbox.workers().live()));
        let (interactive, batch) = self.admission.queued();
        metrics.queue_length.set(gauged((interactive + batch) as u64));
        for (class, queued) in [("interactive", interactive), ("batch", batch)] {
            metrics.queue_length_by_class.with_label_values(&[class]).set(gauged(queued as u64));
        }
        metrics.look_at_processes(&self.sandbox.workers().processes());
        metrics.log_lines_lost.set(gauged(logs::lost()));
        let (memory, disk) = self.sessions.count_residency();
        metrics.sessions.with_label_values(&["memory"]).set(gauged(memory));
        metrics.sessions.with_label_values(&["disk"]).set(gauged(disk));
        if let Some(store) = &self.store {
            if let Ok(usage) = store.usage().await {
                metrics.store_bytes.set(gauged(usage.bytes));
            }
            if let Ok(disk) = store.disk_space() {
                metrics.disk_free_bytes.set(gauged(disk.free_bytes));
                metrics.disk_reserve_bytes.set(gauged(disk.reserve_bytes));
            }
        }
        metrics
    }
}
