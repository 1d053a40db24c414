//! Every metric once: name, labels, help.

use crate::domain::figures::{OUTCOME_COUNT, OUTCOMES};
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

/// Seconds: from a fresh interpreter's half a millisecond to the longest wall limit.
const DURATIONS: [f64; 18] = [
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0,
];

/// The service's counters.
pub struct Metrics {
    registry: Registry,
    /// Guest runs by `stderr_class`.
    pub runs: IntCounterVec,
    /// Requests by route and status code.
    pub requests: IntCounterVec,
    /// Seconds a submission waited for a place.
    pub queue_seconds: Histogram,
    /// Seconds it took to make an interpreter.
    pub start_seconds: Histogram,
    /// Seconds of CPU and sleep of a run.
    pub run_seconds: Histogram,
    /// Fuel used by guests.
    pub fuel: IntCounter,
    /// Bytes written by guests to standard output and error.
    pub output_bytes: IntCounter,
    /// Connections open.
    pub connections: IntGauge,
    /// Interpreters alive.
    pub instances_live: IntGauge,
    /// Submissions waiting for a place.
    pub queue_length: IntGauge,
    /// Requests that were sent away, by reason: busy, rate, fuel, sessions.
    pub refused: IntCounterVec,
    /// Workers that were replaced.
    pub worker_restarts: IntCounter,
    /// Sessions that were made.
    pub sessions_opened: IntCounter,
    /// Sessions that ended.
    pub sessions_ended: IntCounter,
    /// Sessions that were moved to disk to make room.
    pub sessions_evicted: IntCounter,
    /// Sessions that were brought back from disk.
    pub sessions_restored: IntCounter,
    /// Bytes that sessions in workers take.
    pub sessions_memory_bytes: IntGauge,
    /// Snippets that the policy gate looked at, by policy and decision.
    pub scans: IntCounterVec,
    /// Findings that blocked a snippet, by scanner and rule: both are words of ours, or of a policy file.
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
}

impl Metrics {
    /// All of them at zero.
    pub fn new() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| register(&registry, IntCounter::new(name, help));
        let gauge = |name: &str, help: &str| register(&registry, IntGauge::new(name, help));
        let counters = |name: &str, help: &str, labels: &[&str]| {
            register(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let histogram = |name: &str, help: &str| {
            register(&registry, Histogram::with_opts(HistogramOpts::new(name, help).buckets(DURATIONS.to_vec())))
        };
        let refused = counters(
            "proofbox_refused_total",
            "Requests that were sent away, by reason: busy, rate, fuel, sessions.",
            &["reason"],
        );
        // A rate wants a first value to begin from.
        for reason in ["busy", "rate", "fuel", "sessions"] {
            refused.with_label_values(&[reason]);
        }
        Self {
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
            instances_live: gauge("proofbox_instances_live", "Interpreters alive."),
            queue_length: gauge("proofbox_queue_length", "Submissions waiting for a place."),
            refused,
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
            jobs: counters("proofbox_jobs_total", "Jobs that were accepted, finished, cancelled.", &["event"]),
            jobs_unfinished: gauge("proofbox_jobs_unfinished", "Jobs that have not ended."),
            job_items: counters("proofbox_job_items_total", "Items of jobs that are done, by status.", &["status"]),
            callbacks: counters("proofbox_callbacks_total", "Attempts to tell of a job's end.", &["outcome"]),
            worker_restarts: counter("proofbox_worker_restarts_total", "Worker processes that were replaced."),
            sessions_opened: counter("proofbox_sessions_opened_total", "Sessions that were made."),
            sessions_ended: counter("proofbox_sessions_ended_total", "Sessions that ended."),
            sessions_evicted: counter("proofbox_sessions_evicted_total", "Sessions moved to disk to make room."),
            sessions_restored: counter("proofbox_sessions_restored_total", "Sessions brought back from disk."),
            sessions_memory_bytes: gauge("proofbox_sessions_memory_bytes", "Bytes that sessions in workers take."),
            registry,
        }
        .with_jobs_at_zero()
    }

    /// What is counted seldom is there from the beginning: a rate needs a zero before it.
    fn with_jobs_at_zero(self) -> Self {
        let all = [
            (&self.jobs, &["accepted", "finished", "cancelled"][..]),
            (&self.job_items, &OUTCOMES[..OUTCOME_COUNT - 1]),
            (&self.callbacks, &["delivered", "failed", "given_up"]),
        ];
        for (counter, words) in all {
            words.iter().for_each(|word| counter.with_label_values(&[*word]).inc_by(0));
        }
        self
    }

    /// The text format of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
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
