//! Figures of this process and its workers, as the kernel reports them (proc(5)).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use prometheus::{Counter, Gauge, IntGauge, IntGaugeVec, Opts, Registry};

use super::register;

/// Figures of processes. Those of this one have the names that every Prometheus client gives them.
pub(super) struct Processes {
    cpu_seconds: Counter,
    resident_bytes: IntGauge,
    start_time_seconds: Gauge,
    open_descriptors: IntGauge,
    most_descriptors: IntGauge,
    workers_cpu_seconds: Counter,
    workers_resident_bytes: IntGaugeVec,
    /// CPU seconds at the last look, by process id: counters go up only, whoever ends.
    seen: Mutex<HashMap<u32, f64>>,
}

/// Figures that are read of a process.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    cpu_ticks: u64,
    start_ticks: u64,
    resident_pages: u64,
}

impl Processes {
    pub(super) fn new(registry: &Registry) -> Self {
        let gauge = |name, help| register(registry, IntGauge::new(name, help));
        Self {
            cpu_seconds: register(
                registry,
                Counter::new("process_cpu_seconds_total", "CPU time of the front process."),
            ),
            resident_bytes: gauge("process_resident_memory_bytes", "Resident memory of the front process."),
            start_time_seconds: register(
                registry,
                Gauge::new("process_start_time_seconds", "When the front process started, in seconds since 1970."),
            ),
            open_descriptors: gauge("process_open_fds", "Open file descriptors of the front process."),
            most_descriptors: gauge("process_max_fds", "File descriptors that the front process may open."),
            workers_cpu_seconds: register(
                registry,
                Counter::new("proofbox_workers_cpu_seconds_total", "CPU time of all workers."),
            ),
            workers_resident_bytes: register(
                registry,
                IntGaugeVec::new(
                    Opts::new("proofbox_workers_resident_bytes", "Resident memory of all workers, by kind."),
                    &["kind"],
                ),
            ),
            seen: Mutex::default(),
        }
    }

    /// Reads them anew. What can't be read stays as it was.
    pub(super) fn look(&self, workers: &[u32]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::process::id();
        if let Some(figures) = figures(own) {
            add(&self.cpu_seconds, &mut seen, own, &figures);
            self.resident_bytes.set(bytes(figures.resident_pages));
            if let Some(booted) = boot_time() {
                self.start_time_seconds.set(booted + seconds(figures.start_ticks));
            }
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            self.open_descriptors.set(open.count() as i64);
        }
        if let Some(most) = most_descriptors() {
            self.most_descriptors.set(most);
        }
        let (mut private, mut shared) = (0, 0);
        for worker in workers {
            let Some(figures) = figures(*worker) else { continue };
            add(&self.workers_cpu_seconds, &mut seen, *worker, &figures);
            let of_files = shared_pages(*worker).unwrap_or(0).min(figures.resident_pages);
            private += figures.resident_pages - of_files;
            shared += of_files;
        }
        for (kind, pages) in [("private", private), ("shared", shared)] {
            self.workers_resident_bytes.with_label_values(&[kind]).set(bytes(pages));
        }
        seen.retain(|process, _| *process == own || workers.contains(process));
    }
}

fn add(counter: &Counter, seen: &mut HashMap<u32, f64>, process: u32, figures: &Figures) {
    let now = seconds(figures.cpu_ticks);
    let before = seen.insert(process, now).unwrap_or(0.0);
    // A process id that was given to another process begins anew.
    counter.inc_by(if now >= before { now - before } else { now });
}

fn figures(process: u32) -> Option<Figures> {
    parsed(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn parsed(stat: &str) -> Option<Figures> {
    // The second field is a name in parentheses, and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Figures { cpu_ticks: field(14)? + field(15)?, start_ticks: field(22)?, resident_pages: field(24)? })
}

/// Pages that it shares with files, which other processes have as well: the image is one of them.
fn shared_pages(process: u32) -> Option<u64> {
    std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?.split_whitespace().nth(2)?.parse().ok()
}

/// Returns the time at which the machine started, in seconds since 1970.
fn boot_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

fn most_descriptors() -> Option<i64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn bytes(pages: u64) -> i64 {
    super::gauged(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_fields_is_none() {
        let stat =
            "7 (a) b (c 1 2 3) S 1 7 7 0 -1 4194560 900 0 0 0 150 50 0 0 20 0 9 0 4242 1000 321 18446744073709551615 1";
        let figures = parsed(stat).expect("it has all fields");
        assert_eq!(figures, Figures { cpu_ticks: 200, start_ticks: 4242, resident_pages: 321 });
        assert_eq!(parsed("7 (a) S 1 2"), None);
    }

    #[test]
    fn cpu_time_never_goes_back() {
        let (counter, mut seen) = (Counter::new("a", "b").expect("a name"), HashMap::new());
        let ticks = |cpu_ticks| Figures { cpu_ticks, ..Figures::default() };
        add(&counter, &mut seen, 1, &ticks(1000));
        add(&counter, &mut seen, 1, &ticks(1500));
        add(&counter, &mut seen, 1, &ticks(100));
        assert_eq!(counter.get(), seconds(1600));
    }

    #[test]
    fn this_process_is_seen() {
        let registry = Registry::new();
        let processes = Processes::new(&registry);
        processes.look(&[]);
        assert!(processes.resident_bytes.get() > 1 << 20 && processes.open_descriptors.get() > 2);
        assert!(processes.most_descriptors.get() >= processes.open_descriptors.get());
        let age = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64()
            - processes.start_time_seconds.get();
        assert!((-2.0..86_400.0).contains(&age), "{age}");
    }
}
