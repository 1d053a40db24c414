//! What the service's processes take while a trial runs: memory, CPU, queue.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::task::JoinHandle;

use crate::connection::Connection;
use crate::target::Target;

/// Adding up the pages of a worker takes milliseconds of CPU, which are the service's, too.
const EVERY: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(30);
/// `/proc` counts CPU time in hundredths of a second, on every machine that Linux runs on today.
const TICKS_PER_SECOND: f64 = 100.0;
/// In `/proc/net/tcp`: a socket that listens.
const LISTENING: &str = "0A";

/// A moment of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub at: Instant,
    /// Of the front process and the workers, in bytes.
    pub resident: u64,
    /// The same, but what several share is divided among them.
    pub proportional: u64,
    /// The part of this that the front process has.
    pub front: u64,
    /// CPU time since they started.
    pub cpu: Duration,
    /// Submissions that wait, where the service told.
    pub queued: Option<f64>,
    /// Time that taking the sample took.
    pub told_after: Duration,
}

/// Looks at the service every other second until it is dropped.
pub(crate) struct Watch {
    samples: Arc<Mutex<Vec<Sample>>>,
    task: JoinHandle<()>,
}

impl Watch {
    /// # Errors
    /// When the service is not a process that can be looked at.
    pub(crate) fn start(target: Target) -> anyhow::Result<Self> {
        let front = process_behind(target)?;
        sample(front).context("looking at the service's processes")?;
        let samples = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn({
            let samples = Arc::clone(&samples);
            async move {
                let mut connection = Connection::new(target, TIMEOUT);
                let mut ticks = tokio::time::interval(EVERY);
                ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
                loop {
                    ticks.tick().await;
                    let asked = Instant::now();
                    let queued = metric(&mut connection, "proofbox_queue_length").await;
                    let Ok(sample) = sample(front) else { continue };
                    let sample = Sample { queued, told_after: asked.elapsed(), ..sample };
                    samples.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(sample);
                }
            }
        });
        Ok(Self { samples, task })
    }

    /// Returns the samples so far.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Bytes that the service's memory has at the beginning and at the end of a time, each over a fifth of it: `None` when
/// there are too few samples.
pub(crate) fn memory_at_both_ends(samples: &[Sample], begin: Instant, end: Instant) -> Option<(f64, f64)> {
    let within: Vec<f64> = samples
        .iter()
        .filter(|sample| begin <= sample.at && sample.at < end)
        .map(|sample| sample.proportional as f64)
        .collect();
    let fifth = within.len() / 5;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    (fifth > 0).then(|| (mean(&within[..fifth]), mean(&within[within.len() - fifth..])))
}

/// CPU time of the service between two moments.
pub(crate) fn cpu_between(samples: &[Sample], begin: Instant, end: Instant) -> Option<f64> {
    let mut within = samples.iter().filter(|sample| begin <= sample.at && sample.at < end);
    let first = within.next()?;
    let last = within.next_back()?;
    // A worker that was replaced takes its time with it.
    let cpu = last.cpu.saturating_sub(first.cpu).as_secs_f64();
    Some(cpu / (last.at - first.at).as_secs_f64())
}

/// The sum of a metric over its labels, where the service tells it.
pub(crate) async fn metric(connection: &mut Connection, name: &str) -> Option<f64> {
    let reply = connection.get("/metrics").await.ok()?;
    let text = std::str::from_utf8(&reply.body).ok()?;
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let values = lines.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok());
    values.reduce(|sum, value| sum + value)
}

/// The process that listens where load is sent.
fn process_behind(target: Target) -> anyhow::Result<u32> {
    let port = format!(":{:04X}", target.address().port());
    let mut inodes = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [_, local, _, LISTENING, _, _, _, _, _, inode, ..] = fields[..]
                && local.ends_with(&port)
            {
                inodes.push(format!("socket:[{inode}]"));
            }
        }
    }
    ensure!(!inodes.is_empty(), "nobody listens on {target}");
    for process in fs::read_dir("/proc")? {
        let Some(id) = process?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(descriptors) = fs::read_dir(format!("/proc/{id}/fd")) else { continue };
        let mut links = descriptors.filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok());
        if links.any(|link| link.to_str().is_some_and(|link| inodes.iter().any(|inode| inode == link))) {
            return Ok(id);
        }
    }
    anyhow::bail!("the process that listens on {target} is another user's, so its memory can't be measured")
}

fn sample(front: u32) -> anyhow::Result<Sample> {
    let at = Instant::now();
    let mut sample = Sample {
        at,
        resident: 0,
        proportional: 0,
        front: 0,
        cpu: Duration::ZERO,
        queued: None,
        told_after: Duration::ZERO,
    };
    let children = fs::read_to_string(format!("/proc/{front}/task/{front}/children")).unwrap_or_default();
    let threads = fs::read_dir(format!("/proc/{front}/task"))?
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let children = threads.chain([children]).collect::<Vec<_>>().join(" ");
    let mut processes: Vec<u32> = children.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    processes.push(front);
    processes.sort_unstable();
    processes.dedup();
    for process in processes {
        // A worker may have gone this moment.
        let Ok(rollup) = fs::read_to_string(format!("/proc/{process}/smaps_rollup")) else { continue };
        sample.resident += kibibytes(&rollup, "Rss:") * 1024;
        let proportional = kibibytes(&rollup, "Pss:") * 1024;
        sample.proportional += proportional;
        if process == front {
            sample.front = proportional;
        }
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        sample.cpu += cpu_time(&stat).unwrap_or_default();
    }
    ensure!(sample.resident > 0, "process {front} is gone, or another user's");
    Ok(sample)
}

fn kibibytes(rollup: &str, name: &str) -> u64 {
    let line = rollup.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Fields 14 and 15 of `/proc/PID/stat`; the second field may have anything in it, and ends with the last bracket.
fn cpu_time(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Some(Duration::from_secs_f64(ticks / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_and_measured() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let target = format!("http://{}", listener.local_addr().expect("it is bound")).parse().expect("it is loopback");
        let front = process_behind(target).expect("it is here");
        assert_eq!(front, std::process::id());
        let sample = sample(front).expect("it can be read");
        assert!(sample.resident >= sample.proportional && sample.proportional > 1 << 20, "{sample:?}");
    }

    #[test]
    fn cpu_time_stands_behind_the_name() {
        let stat = "1 (a b) c) S 1 1 1 0 -1 4194560 1 1 1 1 150 50 0 0 20 0";
        assert_eq!(cpu_time(stat), Some(Duration::from_secs(2)));
    }

    #[test]
    fn growth_is_between_the_first_and_the_last_fifth() {
        let begin = Instant::now();
        let sample = |second: u64| Sample {
            at: begin + Duration::from_secs(second),
            resident: 0,
            proportional: 100 + second,
            front: 0,
            cpu: Duration::from_secs(2 * second),
            queued: None,
            told_after: Duration::ZERO,
        };
        let samples: Vec<Sample> = (0..10).map(sample).collect();
        let end = begin + Duration::from_secs(10);
        assert_eq!(memory_at_both_ends(&samples, begin, end), Some((100.5, 108.5)));
        assert_eq!(cpu_between(&samples, begin, end), Some(2.0));
        assert_eq!(memory_at_both_ends(&samples[..3], begin, end), None);
    }
}
