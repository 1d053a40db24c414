//! Limits of a script. Its text is a guest's: whatever it can do once, it can do in a loop.

use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps of one script: commands, lines, blocks of bytes.
pub(super) const MAX_STEPS: u64 = 10_000_000;
/// Steps that a subshell counts as.
pub(super) const STEPS_OF_SUBSHELL: u64 = 250;
/// Steps after which others get their turn.
const STEPS_A_TURN: u64 = 500;
/// Maximum memory of a script, in bytes: variables, trees, lines that are sorted, output that is substituted.
pub(super) const MAX_MEMORY: u64 = 64 << 20;
/// Maximum memory of all scripts of a session, in bytes.
const MAX_SESSION_MEMORY: u64 = 256 << 20;
/// Longest value of one expansion, and longest output of a command substitution, bytes.
pub(super) const MAX_TEXT: usize = 16 << 20;
/// Fields that the words of one command may become.
pub(super) const MAX_FIELDS: usize = 100_000;
/// Functions, subshells and substitutions running inside each other. Each level takes some 10 KiB of the stack.
pub(super) const MAX_LEVELS: usize = 60;
/// Subshells, commands of pipelines and background jobs at a time.
pub(super) const MAX_PROCESSES: u64 = 200;

/// Time that opening a named pipe waits for the other end before that is told: it is what a script stands still for.
pub(super) const TIME_BEFORE_NOTICE: Duration = Duration::from_secs(10);

/// Files of process substitutions that a shell has at a time, those of the shells around it included.
pub(super) const MAX_SUBSTITUTED_FILES: usize = 1000;

/// Time of one step, about: work that is counted by its time counts as so many.
const TIME_OF_STEP: Duration = Duration::from_micros(2);
/// Time after which such work is counted.
const TIME_A_TURN: Duration = Duration::from_millis(1);

/// Measures work whose steps can't be foreseen: searches, each of which may look at one character or at all that are
/// left. Other processes of the machine are not counted, but what else runs on this thread is: it is made where work
/// begins.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    /// CPU time of the thread at the beginning.
    cpu: Duration,
}

impl Pace {
    /// Begins to measure at the present time.
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), cpu: thread_cpu() }
    }

    /// The steps to be counted now: none, as long as the work has not taken a turn's time.
    pub(super) fn due_steps(&self) -> Option<u64> {
        // The kernel is asked for the CPU time only when so much can have passed.
        if self.began.elapsed() < TIME_A_TURN {
            return None;
        }
        let steps = thread_cpu().saturating_sub(self.cpu).as_nanos() / TIME_OF_STEP.as_nanos();
        Some(u64::try_from(steps).unwrap_or(u64::MAX).max(1))
    }
}

/// CPU time of this thread.
pub(super) fn thread_cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// Pieces of work, such as comparisons of two numbers, that make a step.
const PIECES_A_STEP: u64 = 128;
/// Pieces after which they are counted as steps.
const PIECES_A_TURN: u64 = PIECES_A_STEP * STEPS_A_TURN / 2;

/// Count of work in pieces too small for a step each.
#[derive(Debug, Default)]
pub(super) struct Pieces(u64);

impl Pieces {
    /// Adds pieces. Some: so many steps are to be counted now.
    pub(super) fn add(&mut self, count: u64) -> Option<u64> {
        self.0 = self.0.saturating_add(count);
        (self.0 >= PIECES_A_TURN).then(|| std::mem::take(&mut self.0) / PIECES_A_STEP)
    }
}

/// Memory that all scripts of a session hold together, and steps that each of them may take.
#[derive(Debug)]
pub(super) struct SessionUse {
    /// In bytes.
    memory: AtomicU64,
    /// Steps that each script may take.
    max_steps: u64,
}

impl Default for SessionUse {
    fn default() -> Self {
        Self { memory: AtomicU64::new(0), max_steps: MAX_STEPS }
    }
}

impl SessionUse {
    /// Makes the use of a session whose scripts may take so many steps.
    #[cfg(test)]
    pub(super) fn with_steps(max_steps: u64) -> Self {
        Self { max_steps, ..Self::default() }
    }

    /// Takes memory for a script. False: the session has not so much left; it is to be given back all the same.
    pub(super) fn take(&self, bytes: u64) -> bool {
        self.memory.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= MAX_SESSION_MEMORY
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.memory.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Usage of a script together with all its subshells.
#[derive(Debug, Default)]
pub(super) struct Use {
    steps: AtomicU64,
    memory: AtomicU64,
    processes: AtomicU64,
    session: Arc<SessionUse>,
    /// True when the end for exceeding a limit has been reported.
    told: AtomicBool,
}

impl Use {
    /// Makes the count of a script that has used nothing.
    pub(super) fn new(session: Arc<SessionUse>) -> Arc<Self> {
        Arc::new(Self { session, ..Self::default() })
    }

    /// Counts steps; yields to others every so often. False: there are none left.
    pub(super) async fn step(&self, count: u64) -> bool {
        let before = self.steps.fetch_add(count, Ordering::Relaxed);
        let after = before.saturating_add(count);
        if before / STEPS_A_TURN != after / STEPS_A_TURN {
            tokio::task::yield_now().await;
        }
        after < self.max_steps()
    }

    /// Returns the steps that the script may take.
    pub(super) fn max_steps(&self) -> u64 {
        self.session.max_steps
    }

    /// Returns true for the first caller, who is to report the end.
    pub(super) fn tell(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// Returns the memory that is taken, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Takes memory; none if there is not so much left.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let mut held = Held { shared: Arc::clone(self), bytes: 0 };
        held.grow(bytes).then_some(held)
    }

    /// Takes a place for a subshell; none if there are too many.
    pub(super) fn process(self: &Arc<Self>) -> Option<ProcessPermit> {
        let before = self.processes.fetch_add(1, Ordering::Relaxed);
        let process = ProcessPermit(Arc::clone(self));
        (before < MAX_PROCESSES).then_some(process)
    }
}

/// Memory that is taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Held {
    shared: Arc<Use>,
    bytes: u64,
}

impl Held {
    /// Takes more. False: there is not so much left.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let before = self.shared.memory.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        let is_left = self.shared.session.take(bytes);
        is_left && before.saturating_add(bytes) <= MAX_MEMORY
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.memory.fetch_sub(self.bytes, Ordering::Relaxed);
        self.shared.session.give_back(self.bytes);
    }
}

/// A place for a subshell; free again when dropped.
#[derive(Debug)]
pub(super) struct ProcessPermit(Arc<Use>);

impl Drop for ProcessPermit {
    fn drop(&mut self) {
        self.0.processes.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_session_is_bounded() {
        let memory = SessionUse::default();
        assert!(memory.take(MAX_SESSION_MEMORY) && !memory.take(1));
        memory.give_back(2);
        assert!(memory.take(1));
    }

    #[test]
    fn time_without_a_core_is_no_work() {
        let pace = Pace::new();
        std::thread::sleep(Duration::from_millis(50));
        let rested = pace.due_steps().expect("a turn's time has passed");
        assert!(rested < 5000, "{rested} steps");
        let (pace, began) = (Pace::new(), thread_cpu());
        while thread_cpu() - began < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let worked = pace.due_steps().expect("a turn's time has passed");
        assert!((25_000..100_000).contains(&worked), "{worked} steps");
    }
}
