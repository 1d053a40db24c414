//! Every metric once: name, labels, help.

mod process;

use std::time::Duration;

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

use proofbox_types::failure;
use proofbox_types::hardening::Hardened;
use proofbox_types::histogram;
use proofbox_types::outcome::Outcome;
use proofbox_types::status::FailureClass;
use proofbox_worker::PoolObserver;

/// Seconds: from a fresh interpreter's half a millisecond to the longest wall limit.
const DURATIONS: [f64; 18] = [
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0,
];

/// Seconds, for requests: one histogram for each route.
const REQUEST_DURATIONS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0];

/// Reasons of refusals: 429, or 507 for `storage`.
const REASONS: [&str; 5] = ["busy", "rate", "fuel", "sessions", "storage"];
/// Classes of the queue: values of the label `class`.
const CLASSES: [&str; 2] = ["interactive", "batch"];
/// Places of sessions: values of the label `place`.
const PLACES: [&str; 2] = ["memory", "disk"];
/// Outcomes of spans: values of the label `outcome`.
const OUTCOMES: [&str; 3] = ["ended", "exported", "failed"];

/// Metrics of the service.
pub struct Metrics {
    registry: Registry,
    /// Guest runs by `stderr_class`.
    pub runs: IntCounterVec,
    /// Requests by route and status code.
    pub requests: IntCounterVec,
    /// Seconds from a request's arrival to the end of its answer, by route.
    pub request_seconds: HistogramVec,
    /// Submissions waiting for a slot, by class.
    pub queue_length_by_class: IntGaugeVec,
    /// Workers that are ready.
    pub workers: IntGauge,
    /// Sessions, by where they are.
    pub sessions: IntGaugeVec,
    /// Bytes of checkpoints on disk.
    pub store_bytes: IntGauge,
    /// Bytes that are free on the disk of the store.
    pub disk_free_bytes: IntGauge,
    /// Bytes of these that are left free.
    pub disk_reserve_bytes: IntGauge,
    /// Spans, by what became of them.
    pub spans: IntCounterVec,
    /// Lines of the log that were lost because nobody read them.
    pub log_lines_lost: IntGauge,
    /// Version and image hash of the service, as labels; the value is always 1.
    build_info: IntGaugeVec,
    processes: process::Processes,
    /// Seconds a submission waited for a slot.
    pub queue_seconds: Histogram,
    /// Seconds it took to make an interpreter.
    pub start_seconds: Histogram,
    /// Seconds of CPU and sleep of a run.
    pub run_seconds: Histogram,
    /// Fuel used by guests.
    pub fuel: IntCounter,
    /// Bytes written by guests to standard output and error.
    pub output_bytes: IntCounter,
    /// Number of open connections.
    pub connections: IntGauge,
    /// Number of interpreters alive.
    pub instances_live: IntGauge,
    /// Submissions waiting for a slot.
    pub queue_length: IntGauge,
    /// Requests that were sent away, by reason: busy, rate, fuel, sessions, storage.
    pub refused: IntCounterVec,
    /// Workers that were replaced.
    pub worker_restarts: IntCounter,
    /// Runs that were repeated, because their worker ended during another's time slice.
    pub runs_repeated: IntCounter,
    /// Items of jobs that are not run again, because two workers ended during their time slice.
    pub quarantined: IntCounter,
    /// 1 where a layer of hardening is in force, by process (front, worker) and layer.
    pub hardening: IntGaugeVec,
    /// Sessions that were made.
    pub sessions_opened: IntCounter,
    /// Number of sessions that ended.
    pub sessions_ended: IntCounter,
    /// Sessions that were moved to disk to make room.
    pub sessions_evicted: IntCounter,
    /// Sessions that were brought back from disk.
    pub sessions_restored: IntCounter,
    /// Sessions that were closed because their state found no room.
    pub sessions_displaced: IntCounter,
    /// Runs of the snippet that tells whether the service is ready.
    pub self_tests: IntCounter,
    /// Bytes that sessions in workers take.
    pub sessions_memory_bytes: IntGauge,
    /// Snippets that the policy gate looked at, by policy and decision.
    pub scans: IntCounterVec,
    /// Findings that blocked a snippet, by scanner and rule: both are words of proofbox, or of a policy file.
    pub policy_blocks: IntCounterVec,
    /// Seconds that the policy gate took.
    pub scan_seconds: Histogram,
    /// Jobs that were accepted, finished, cancelled.
    pub jobs: IntCounterVec,
    /// Jobs that have not ended.
    pub jobs_unfinished: IntGauge,
    /// Items of jobs that are done, by how they ended.
    pub job_items: IntCounterVec,
    /// Attempts to tell of a job's end, by what came of them.
    pub callbacks: IntCounterVec,
    /// Deliveries to webhooks, by outcome.
    pub webhook_deliveries: IntCounterVec,
}

impl Metrics {
    /// Registers all metrics, at zero.
    pub fn new() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| register(&registry, IntCounter::new(name, help));
        let gauge = |name: &str, help: &str| register(&registry, IntGauge::new(name, help));
        let counters = |name: &str, help: &str, labels: &[&str]| {
            register(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            register(&registry, IntGaugeVec::new(Opts::new(name, help), labels))
        };
        let histogram = |name: &str, help: &str| {
            register(&registry, Histogram::with_opts(HistogramOpts::new(name, help).buckets(DURATIONS.to_vec())))
        };
        let metrics = Self {
            request_seconds: register(
                &registry,
                HistogramVec::new(
                    HistogramOpts::new(
                        "proofbox_http_request_seconds",
                        "Time from a request's arrival to the end of its answer.",
                    )
                    .buckets(REQUEST_DURATIONS.to_vec()),
                    &["route"],
                ),
            ),
            queue_length_by_class: gauges(
                "proofbox_queue_length_by_class",
                "Submissions waiting for a place, by class.",
                &["class"],
            ),
            workers: gauge("proofbox_workers", "Worker processes that are ready."),
            sessions: gauges("proofbox_sessions", "Sessions, by where they are.", &["place"]),
            store_bytes: gauge("proofbox_store_bytes", "Bytes of checkpoints on disk."),
            disk_free_bytes: gauge("proofbox_disk_free_bytes", "Bytes free on the disk of the store."),
            disk_reserve_bytes: gauge("proofbox_disk_reserve_bytes", "Bytes of the disk that are left free."),
            spans: counters("proofbox_trace_spans_total", "Spans, by what became of them.", &["outcome"]),
            log_lines_lost: gauge(
                "proofbox_log_lines_lost",
                "Lines of the log that were lost because nobody read them.",
            ),
            build_info: gauges(
                "proofbox_build_info",
                "The version, and the image that guests start from: always 1.",
                &["version", "image_hash"],
            ),
            processes: process::Processes::new(&registry),
            runs: counters("proofbox_runs_total", "Guest runs by stderr_class.", &["stderr_class"]),
            requests: counters(
                "proofbox_http_requests_total",
                "Requests by route and status code.",
                &["route", "status"],
            ),
            queue_seconds: histogram("proofbox_queue_seconds", "Time a run waited for a place and for a core."),
            start_seconds: histogram("proofbox_start_seconds", "Time to make an interpreter."),
            run_seconds: histogram("proofbox_run_seconds", "CPU time and sleep of a run."),
            fuel: counter("proofbox_fuel_total", "Fuel used by guests."),
            output_bytes: counter("proofbox_output_bytes_total", "Bytes written by guests to stdout and stderr."),
            connections: gauge("proofbox_connections", "Connections open."),
            instances_live: gauge("proofbox_instances_live", "Interpreters that serve a run or a session."),
            queue_length: gauge("proofbox_queue_length", "Submissions waiting for a place."),
            refused: counters(
                "proofbox_refused_total",
                "Requests that were sent away, by reason: busy, rate, fuel, sessions, storage.",
                &["reason"],
            ),
            scans: counters(
                "proofbox_scans_total",
                "Snippets that the policy gate looked at, by policy and decision.",
                &["policy", "decision"],
            ),
            policy_blocks: counters(
                "proofbox_policy_blocks_total",
                "Findings that blocked a snippet, by scanner and rule.",
                &["scanner", "rule"],
            ),
            scan_seconds: histogram("proofbox_scan_seconds", "Time that the policy gate took."),
            hardening: register(
                &registry,
                IntGaugeVec::new(
                    Opts::new("proofbox_hardening", "1 where a layer of hardening is in force."),
                    &["process", "layer"],
                ),
            ),
            jobs: counters("proofbox_jobs_total", "Jobs that were accepted, finished, cancelled.", &["event"]),
            jobs_unfinished: gauge("proofbox_jobs_unfinished", "Jobs that have not ended."),
            job_items: counters("proofbox_job_items_total", "Items of jobs that are done, by status.", &["status"]),
            callbacks: counters("proofbox_callbacks_total", "Attempts to tell of a job's end.", &["outcome"]),
            webhook_deliveries: counters(
                "proofbox_webhook_deliveries_total",
                "Attempts to tell a webhook of an event.",
                &["outcome"],
            ),
            worker_restarts: counter("proofbox_worker_restarts_total", "Worker processes that were replaced."),
            runs_repeated: counter("proofbox_runs_repeated_total", "Runs begun again after their worker ended."),
            quarantined: counter("proofbox_job_items_quarantined_total", "Items of jobs that ended two workers."),
            sessions_opened: counter("proofbox_sessions_opened_total", "Sessions that were made."),
            sessions_ended: counter("proofbox_sessions_ended_total", "Sessions that ended."),
            sessions_evicted: counter("proofbox_sessions_evicted_total", "Sessions moved to disk to make room."),
            sessions_restored: counter("proofbox_sessions_restored_total", "Sessions brought back from disk."),
            sessions_displaced: counter(
                "proofbox_sessions_displaced_total",
                "Sessions closed because there was no room for them.",
            ),
            self_tests: counter("proofbox_self_tests_total", "Runs of the snippet that tells readiness."),
            sessions_memory_bytes: gauge("proofbox_sessions_memory_bytes", "Bytes that sessions in workers take."),
            registry,
        };
        metrics.begin();
        metrics
    }

    /// Series with known labels are there from the start: an alert on their rate misses nothing.
    fn begin(&self) {
        let counters: [(&IntCounterVec, &[&str]); 6] = [
            (&self.refused, &REASONS),
            (&self.spans, &OUTCOMES),
            (&self.jobs, &["accepted", "finished", "cancelled"]),
            (&self.job_items, &histogram::OUTCOMES[..histogram::OUTCOME_COUNT - 1]),
            (&self.callbacks, &["delivered", "failed", "given_up"]),
            (&self.webhook_deliveries, &["delivered", "failed", "given_up", "dropped"]),
        ];
        for (counters, labels) in counters {
            labels.iter().for_each(|label| drop(counters.with_label_values(&[label])));
        }
        FailureClass::ALL.iter().for_each(|class| drop(self.runs.with_label_values(&[class.as_str()])));
        CLASSES.iter().for_each(|class| drop(self.queue_length_by_class.with_label_values(&[class])));
        PLACES.iter().for_each(|place| drop(self.sessions.with_label_values(&[place])));
    }

    /// Says which image guests start from.
    pub fn set_image(&self, image_hash: &str) {
        self.build_info.with_label_values(&[env!("CARGO_PKG_VERSION"), image_hash]).set(1);
    }

    /// Looks at this process, and at the workers that are ready.
    pub fn look_at_processes(&self, workers: &[u32]) {
        self.workers.set(gauged(workers.len() as u64));
        self.processes.look(workers);
    }

    /// Sets the layers of hardening that are in force in a kind of process.
    pub fn set_hardening(&self, process: &str, hardened: &Hardened) {
        for state in &hardened.0 {
            self.hardening.with_label_values(&[process, state.layer.name()]).set(i64::from(state.in_force));
        }
    }

    /// Counts a guest's run that waited for this long.
    pub fn count_run(&self, outcome: &Outcome, queue: Duration) {
        self.runs.with_label_values(&[failure::class_of(outcome).as_str()]).inc();
        self.queue_seconds.observe(queue.as_secs_f64());
        self.start_seconds.observe(outcome.usage.start.as_secs_f64());
        self.run_seconds.observe(outcome.usage.execution.as_secs_f64());
        self.fuel.inc_by(outcome.usage.fuel);
        self.output_bytes.inc_by(outcome.stdout.total_bytes + outcome.stderr.total_bytes);
    }

    /// The text format of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}

impl PoolObserver for Metrics {
    fn run_repeated(&self) {
        self.runs_repeated.inc();
    }

    fn worker_replaced(&self) {
        self.worker_restarts.inc();
    }

    fn worker_hardened(&self, hardened: &Hardened) {
        self.set_hardening("worker", hardened);
    }
}

/// Converts a count to the value of a gauge; saturates.
pub fn gauged(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn register<C: prometheus::core::Collector + Clone + 'static>(registry: &Registry, metric: prometheus::Result<C>) -> C {
    let metric = metric.expect("names and labels are constants, and valid");
    registry.register(Box::new(metric.clone())).expect("each name is used once");
    metric
}
