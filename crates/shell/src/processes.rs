//! Process table of a session: its scripts, the shells within them, and their background jobs, by number. Signals reach
//! a process through it, whichever command sends them.

use super::PIPE_BYTES;
use super::bounds::{SessionUse, Use};
use super::streams::{Fifo, FifoPlace};
use futures_util::future::{Either, select};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Processes of one session at a time.
const MAX_RUNNING: usize = 256;
/// First number of a process whose host gave it none. Hosts number theirs below.
const FIRST_NUMBER: u32 = 1 << 17;
/// Highest number of a process, as on Linux.
const MAX_NUMBER: u32 = 1 << 22;
/// Length of the command line that is kept of a process, in bytes.
const MAX_COMMAND: usize = 400;

/// Signal that can't be caught.
pub(crate) const KILL: i32 = 9;
/// Signals that end no process: CHLD, CONT, URG, WINCH, and those that stop one, as no process can stand still.
const HARMLESS: [i32; 8] = [17, 18, 19, 20, 21, 22, 23, 28];

/// Processes of a session. Each session has a table of its own: a number means nothing in another.
#[derive(Debug, Default)]
pub struct Processes {
    table: Mutex<Table>,
    used: Arc<SessionUse>,
    /// Named pipes that are open, by the numbers of their inodes.
    named_pipes: Mutex<BTreeMap<u64, FifoPlace>>,
}

#[derive(Debug, Default)]
struct Table {
    /// Number of processes that were numbered here.
    numbered: u32,
    running: BTreeMap<u32, Arc<Process>>,
}

/// Process of a session.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) number: u32,
    /// Number of the process that started it; 0 for a script.
    pub(crate) parent: u32,
    /// Number of its group, which a signal can be sent to.
    group: AtomicU32,
    /// Time of its start, in nanoseconds since 1970.
    pub(crate) started: u64,
    command: Mutex<String>,
    pub(crate) signals: Signals,
}

/// Signals on their way to a process.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Signal that ends the process; 0 for none.
    ending: AtomicI32,
    /// Set of signals that do not end it: one bit for each.
    caught: AtomicU32,
    /// Set of signals among those that it does not hear of.
    ignored: AtomicU32,
    /// Set of signals that have arrived and whose handlers have not run.
    pending: AtomicU32,
    /// Count of caught signals that were sent to the process with its group, and so to the program that it waits for.
    interrupts: AtomicU32,
    /// Number of shells within each other that wait for a signal that ends the process: the innermost gets it.
    waiting: AtomicU32,
    changed: Notify,
}

/// Receivers of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receivers {
    /// Process of this number.
    One(u32),
    /// Processes of the group of this number.
    Group(u32),
    /// Processes of the session other than that of this number.
    AllBut(u32),
}

/// Entry of a process in its table; removed when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    table: Arc<Processes>,
    pub(crate) process: Arc<Process>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.table.lock().running.remove(&self.process.number);
    }
}

/// Properties of a process that is about to start.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    /// Number that its host gave it, if that is free.
    pub(crate) number: Option<u32>,
    /// Process that starts it.
    pub(crate) parent: Option<&'a Process>,
    pub(crate) command: &'a str,
    /// Present time, in nanoseconds since 1970.
    pub(crate) now: u64,
}

impl Processes {
    /// Makes the processes of a session whose scripts may take so many steps.
    #[cfg(test)]
    pub(crate) fn with_steps(max_steps: u64) -> Self {
        Self { used: Arc::new(SessionUse::with_steps(max_steps)), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the named pipe of an inode; none when a script may not have so much memory.
    pub(crate) fn fifo(&self, inode: u64, used: &Arc<Use>) -> Option<Fifo> {
        let mut pipes = self.named_pipes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fifo) = pipes.get(&inode).and_then(FifoPlace::get) {
            return Some(fifo);
        }
        let fifo = Fifo::new(PIPE_BYTES, used.hold(PIPE_BYTES)?);
        pipes.retain(|_, place| place.get().is_some());
        pipes.insert(inode, fifo.place());
        Some(fifo)
    }

    /// Adds a process, in the group of its parent; none when there are too many.
    pub(crate) fn start(self: &Arc<Self>, start: Start<'_>) -> Option<Entry> {
        let Start { number, parent, command, now } = start;
        let mut table = self.lock();
        if table.running.len() >= MAX_RUNNING {
            return None;
        }
        let number = number.filter(|number| *number > 0 && !table.running.contains_key(number));
        let number = number.unwrap_or_else(|| table.next_number());
        let process = Arc::new(Process {
            number,
            parent: parent.map_or(0, |parent| parent.number),
            group: AtomicU32::new(parent.map_or(number, Process::group)),
            started: now,
            command: Mutex::new(shortened(command)),
            signals: Signals::default(),
        });
        table.running.insert(number, Arc::clone(&process));
        drop(table);
        Some(Entry { table: Arc::clone(self), process })
    }

    /// Returns the processes that run, in the order of their numbers.
    pub(crate) fn list(&self) -> Vec<Arc<Process>> {
        self.lock().running.values().cloned().collect()
    }

    /// Sends a signal; 0 only asks. Returns whether anybody gets it.
    pub(crate) fn send(&self, receivers: Receivers, signal: i32) -> bool {
        let mut found = false;
        for process in self.lock().running.values() {
            let receives = match receivers {
                Receivers::One(number) => process.number == number,
                Receivers::Group(group) => process.group() == group,
                Receivers::AllBut(number) => process.number != number,
            };
            if receives {
                found = true;
                process.signals.deliver(signal, receivers);
            }
        }
        found
    }

    /// Returns the use that the scripts of the session make together.
    pub(crate) fn used(&self) -> Arc<SessionUse> {
        Arc::clone(&self.used)
    }
}

impl Table {
    fn next_number(&mut self) -> u32 {
        loop {
            let number = FIRST_NUMBER + self.numbered % (MAX_NUMBER - FIRST_NUMBER);
            self.numbered = self.numbered.wrapping_add(1);
            // Fewer run than there are numbers.
            if !self.running.contains_key(&number) {
                return number;
            }
        }
    }
}

fn shortened(command: &str) -> String {
    let end = (0..=MAX_COMMAND.min(command.len())).rev().find(|end| command.is_char_boundary(*end)).unwrap_or(0);
    command[..end].to_owned()
}

impl Process {
    pub(crate) fn group(&self) -> u32 {
        self.group.load(Ordering::Relaxed)
    }

    /// Makes a group of its own, as `setsid` does.
    pub(crate) fn lead_group(&self) {
        self.group.store(self.number, Ordering::Relaxed);
    }

    /// Returns the command line, as `ps` shows it.
    pub(crate) fn command(&self) -> String {
        self.command.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_command(&self, command: &str) {
        *self.command.lock().unwrap_or_else(PoisonError::into_inner) = shortened(command);
    }
}

/// The bit of a signal.
pub(crate) fn bit(signal: i32) -> u32 {
    u32::try_from(signal).ok().and_then(|signal| 1_u32.checked_shl(signal)).unwrap_or(0)
}

impl Signals {
    fn deliver(&self, signal: i32, receivers: Receivers) {
        let bit = bit(signal);
        if bit <= 1 || self.ignored.load(Ordering::Relaxed) & bit != 0 {
            return;
        }
        if signal != KILL && self.caught.load(Ordering::Relaxed) & bit != 0 {
            self.pending.fetch_or(bit, Ordering::Relaxed);
            if matches!(receivers, Receivers::Group(_)) {
                self.interrupts.fetch_add(1, Ordering::Relaxed);
            }
        } else if !HARMLESS.contains(&signal) {
            self.ending.store(signal, Ordering::Relaxed);
        }
        self.changed.notify_waiters();
    }

    /// Sets which signals are caught, and which of them are ignored.
    pub(crate) fn catch(&self, caught: u32, ignored: u32) {
        self.caught.store(caught, Ordering::Relaxed);
        self.ignored.store(ignored, Ordering::Relaxed);
    }

    pub(crate) fn catches_any(&self) -> bool {
        self.caught.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed) != 0
    }

    /// Takes the pending signal of the lowest number.
    pub(crate) fn take_pending(&self) -> Option<i32> {
        let pending = self.pending.load(Ordering::Relaxed);
        let signal = pending.trailing_zeros();
        (pending != 0).then(|| {
            self.pending.fetch_and(!(1 << signal), Ordering::Relaxed);
            signal.cast_signed()
        })
    }

    async fn until<T>(&self, changed: impl Fn(&Self) -> Option<T>) -> T {
        loop {
            let mut notified = pin!(self.changed.notified());
            notified.as_mut().enable();
            if let Some(found) = changed(self) {
                return found;
            }
            notified.await;
        }
    }

    /// Waits for a signal that is caught.
    pub(crate) async fn caught(&self) -> i32 {
        let first = |signals: &Self| match signals.pending.load(Ordering::Relaxed) {
            0 => None,
            pending => Some(pending.trailing_zeros().cast_signed()),
        };
        self.until(first).await
    }

    /// Waits for a caught signal that is sent to the whole group; its number.
    pub(crate) async fn interrupted(&self) -> i32 {
        let before = self.interrupts.load(Ordering::Relaxed);
        self.until(|signals| (signals.interrupts.load(Ordering::Relaxed) != before).then_some(())).await;
        self.caught().await
    }

    /// Runs work to its end, or to a signal that ends the process: its number.
    pub(crate) async fn over<T>(&self, work: impl Future<Output = T>) -> Result<T, i32> {
        let level = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        let _innermost = Innermost(self);
        let ended = self.until(|signals| {
            let is_innermost = signals.waiting.load(Ordering::Relaxed) == level;
            let signal = if is_innermost { signals.ending.swap(0, Ordering::Relaxed) } else { 0 };
            (signal != 0).then_some(signal)
        });
        match select(pin!(ended), pin!(work)).await {
            Either::Left((signal, _)) => Err(signal),
            Either::Right((done, _)) => Ok(done),
        }
    }
}

/// Shell that waits for a signal that ends its process.
struct Innermost<'a>(&'a Signals);

impl Drop for Innermost<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(processes: &Arc<Processes>, number: Option<u32>, parent: Option<&Process>) -> Option<Entry> {
        processes.start(Start { number, parent, command: "x", now: 0 })
    }

    #[test]
    fn numbers_are_those_of_the_host_or_go_on() {
        let processes = Arc::new(Processes::default());
        let given = start(&processes, Some(1000), None).expect("room");
        let taken = start(&processes, Some(1000), None).expect("room");
        let first = start(&processes, None, Some(&given.process)).expect("room");
        let numbers = [&given, &taken, &first].map(|entry| entry.process.number);
        assert_eq!(numbers, [1000, FIRST_NUMBER, FIRST_NUMBER + 1]);
        assert_eq!((first.process.parent, first.process.group()), (1000, 1000));
        drop(first);
        let next = start(&processes, None, None).expect("room");
        assert_eq!(next.process.number, FIRST_NUMBER + 2, "none comes twice");
        processes.lock().numbered = u32::MAX - 1;
        let last: Vec<_> = (0..3).filter_map(|_| start(&processes, None, None)).collect();
        assert!(last.iter().all(|entry| (FIRST_NUMBER..MAX_NUMBER).contains(&entry.process.number)), "{last:?}");
    }

    #[test]
    fn processes_and_their_commands_are_bounded() {
        let processes = Arc::new(Processes::default());
        let mut all: Vec<Entry> = std::iter::from_fn(|| start(&processes, None, None)).take(MAX_RUNNING + 1).collect();
        assert_eq!(all.len(), MAX_RUNNING);
        all.pop();
        assert!(start(&processes, None, None).is_some());
        assert_eq!(shortened(&"é".repeat(MAX_COMMAND)).len(), MAX_COMMAND);
    }

    #[tokio::test]
    async fn a_signal_ends_a_process_or_waits_for_its_handler() {
        let signals = Signals::default();
        let one = Receivers::One(1);
        signals.deliver(15, one);
        assert_eq!(signals.over(std::future::pending::<()>()).await, Err(15));
        assert_eq!(signals.over(std::future::ready(3)).await, Ok(3), "it is taken");
        signals.catch(bit(15) | bit(2), bit(2));
        for signal in [15, 2, 0] {
            signals.deliver(signal, one);
        }
        assert_eq!((signals.caught().await, signals.take_pending(), signals.take_pending()), (15, Some(15), None));
        signals.deliver(KILL, one);
        assert!(signals.is_ending(), "nothing catches it");
        assert_eq!(signals.over(std::future::pending::<()>()).await, Err(KILL));
        let inner = signals.over(signals.over(std::future::pending::<()>()));
        let (ended, ()) = tokio::join!(inner, async { signals.deliver(KILL, one) });
        assert_eq!(ended, Ok(Err(KILL)), "the innermost shell gets it");
    }
}
