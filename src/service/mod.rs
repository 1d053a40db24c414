//! Functions of the product, one method for each request that a client can make. API flavours translate to it.

mod admission;
mod execute;
mod hiding;
mod image_choice;
mod jobs;
mod keys;
mod policy_check;
mod readiness;
mod receipts;
mod session;
mod stats;
mod submit;
mod suite;
mod tracing;
mod unattended;
mod volumes;
mod webhooks;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, Weak};

pub use admission::{Admission, AdmissionSettings, Busy};
pub use execute::{ExecuteError, Execution};
pub use image_choice::ImageReason;
pub use jobs::{
    CallbackRefused, CallbackSecret, CallbackSettings, JobAccepted, JobAsked, JobError, JobInfo, JobLine, JobSettings,
    JobState, JobWire, JobsAsked, Progress, SecretError,
};
pub use keys::{Keys, OverQuota, Recognised, Secret};
pub use receipts::{KeyError, Receipts};
pub use session::{
    CallEvent, CallEvents, CellAsked, CellExecution, CheckpointInfo, CheckpointTag, CommandAsked, CommandDefaults,
    CommandEnd, CommandEvent, CommandEvents, CommandNumber, CommandProgress, DEFAULT_TTL, GradeError, LifecycleChange,
    LifecycleEvent, LifecycleKind, LogEvent, LogLine, LoggedEnd, MAX_TTL, OnExpiry, OutputRetention, SavedState,
    SessionAsked, SessionCommand, SessionError, SessionInfo, SessionSettings, SessionState, Setup, TaggedCheckpoint,
    Watch, WatchEvent, overflow_note, script_of_words,
};
pub use stats::{StatsAsked, StatsError, StatsFound, StatsGroup};
pub use suite::{Failed, Finished, SuiteItem};
pub use unattended::{RequestDigest, UnansweredError};
pub use volumes::{
    MountAsked, VolumeAnswer, VolumeAsk, VolumeError, VolumeInfo, VolumeManager, VolumePath, VolumeStat,
};
pub use webhooks::{WebhookChange, WebhookError, WebhookInfo, WebhookWire};

use crate::metrics::{Metrics, gauged};
use crate::sandbox::Sandbox;
use crate::telemetry::logs;
use proofbox_grading::lint::Linter;
use proofbox_memory::Budget;
use proofbox_policy::{PackError, Policies};
use proofbox_runtime::images::Images;
use proofbox_store::Store;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::hardening::Hardened;

/// Snippets that are linted at once: it takes a millisecond or so, beside a run.
const LINTING_THREADS: usize = 2;

/// Output and changes that all clients together may leave unread.
const UNREAD_BYTES: usize = 512 << 20;

/// Output of commands that is kept for all clients together, beside what every command has for itself.
const COMMAND_OUTPUT_BYTES: usize = 256 << 20;

/// Caller on whose behalf a run is made, and its urgency.
#[derive(Clone, Copy)]
struct Asking<'a> {
    caller: &'a Caller,
    urgency: Urgency,
}

/// Service behind every API flavour.
pub struct Service {
    sandbox: Sandbox,
    policies: RwLock<Arc<Policies>>,
    policies_directory: Option<PathBuf>,
    /// Maximum memory of a run that the workers were started for, in bytes.
    most_memory_bytes: u64,
    admission: Admission,
    keys: Keys,
    images: Images,
    chooser: image_choice::ImageChooser,
    metrics: Arc<Metrics>,
    receipts: Receipts,
    linter: Linter,
    sessions: Arc<session::Sessions>,
    jobs: jobs::Jobs,
    stats: stats::Stats,
    readiness: readiness::Readiness,
    store: Option<Arc<Store>>,
    volumes: VolumeManager,
    webhooks: webhooks::WebhookManager,
    hardened: Hardened,
    /// Budget for what guests say and clients have not read yet.
    unread: Budget,
    /// Budget for the output of commands that is kept.
    command_output: Budget,
    /// Submissions whose clients may ask for them again.
    unattended: unattended::Unattended,
    /// Weak reference to the service itself, for work that goes on when the client who asked for it disconnects.
    weak_self: Weak<Self>,
}

/// Components of a service.
pub struct Parts {
    /// Sandbox that runs guests.
    pub sandbox: Sandbox,
    /// The packs in force.
    pub policies: Policies,
    /// Directory from which policies are reloaded.
    pub policies_directory: Option<PathBuf>,
    /// Admission of runs: permits and queue.
    pub admission: Admission,
    /// Keys of the clients.
    pub keys: Keys,
    /// The images that guests start from.
    pub images: Images,
    /// Counters of the service.
    pub metrics: Arc<Metrics>,
    /// The key that receipts are signed with.
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
    /// Creates the service from its components.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts {
            sandbox,
            policies,
            policies_directory,
            admission,
            keys,
            images,
            metrics,
            receipts,
            sessions,
            jobs,
            webhook_wire,
            store,
            hardened,
        } = parts;
        let most_memory_bytes = policies.most_memory_bytes();
        let policies = RwLock::new(Arc::new(policies));
        let chooser = image_choice::ImageChooser::new(&images);
        let linter = Linter::new(LINTING_THREADS);
        let store = store.map(Arc::new);
        let volumes = VolumeManager::new(store.clone(), sessions.store_bytes);
        let webhooks = webhooks::WebhookManager::new(store.clone(), webhook_wire);
        let sessions = Arc::new(session::Sessions::new(sessions));
        let jobs = jobs::Jobs::new(jobs, admission.capacity());
        Arc::new_cyclic(|weak_self| Self {
            sandbox,
            policies,
            policies_directory,
            most_memory_bytes,
            admission,
            keys,
            images,
            chooser,
            metrics,
            receipts,
            linter,
            sessions,
            jobs,
            stats: stats::Stats::default(),
            readiness: readiness::Readiness::default(),
            store,
            volumes,
            webhooks,
            hardened,
            unread: Budget::new(UNREAD_BYTES),
            command_output: Budget::new(COMMAND_OUTPUT_BYTES),
            unattended: unattended::Unattended::default(),
            weak_self: Weak::clone(weak_self),
        })
    }

    /// Checks that a submission that came now would be admitted; otherwise it need not be read.
    ///
    /// # Errors
    /// Returns an error when it would be refused.
    pub fn has_room(&self, caller: &Caller) -> Result<(), Busy> {
        self.admission.has_room(caller).inspect_err(|_| self.metrics.refused.with_label_values(&["busy"]).inc())
    }

    /// The images that guests start from.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// Returns the privileges that this process has dropped.
    pub fn hardened(&self) -> &Hardened {
        &self.hardened
    }

    /// Returns the volumes.
    pub fn volumes(&self) -> &VolumeManager {
        &self.volumes
    }

    /// The key that receipts are signed with.
    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    /// The packs in force.
    pub fn policies(&self) -> Arc<Policies> {
        Arc::clone(&self.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the packs again. Requests that are being served keep those that they began with.
    ///
    /// # Errors
    /// Returns an error when a pack can't be used: then the packs in force stay.
    pub fn reload_policies(&self) -> Result<(), PackError> {
        let policies = Policies::load(self.policies_directory.as_deref())?;
        policies.fit_memory(self.most_memory_bytes)?;
        *self.policies.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policies);
        Ok(())
    }

    /// Returns the service's counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
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
        if let Some(store) = &self.store
            && let Ok(usage) = store.usage().await
        {
            metrics.store_bytes.set(gauged(usage.bytes));
        }
        metrics
    }

    /// Returns the sandbox, for code that monitors its workers.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}
