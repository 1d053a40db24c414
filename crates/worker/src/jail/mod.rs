//! Hardening: privileges that processes drop after their start, workers nearly all of them, the front process those
//! that a service never needs. Each [`Layer`] is put in force separately and reports its result.
//!
//! Privileges and Landlock belong to a thread and are inherited by those that it starts, so they come first, while
//! there is one thread; system calls are filtered for all threads at once, when all have been started.

mod landlock;
mod limits;
mod privileges;
mod syscalls;
#[cfg(test)]
mod tests;

pub use landlock::Needs;

use proofbox_types::hardening::{Hardened, Hardening, Layer, LayerState};

/// Hardening was required, and a layer is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hardening is required (PROOFBOX_HARDENING), and this is missing: {0}")]
pub struct NotHardened(String);

/// Reason for which a layer is not in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum LayerError {
    /// A system call, or the reading of a file in /proc, failed.
    #[error("{call}: {reason}")]
    System { call: String, reason: String },
    /// The kernel lacks it, or does not enforce it.
    #[error("{0}")]
    Unsupported(String),
    /// Other threads would keep the privileges of this layer.
    #[error("there are {0} threads already")]
    Threads(usize),
}

impl LayerError {
    /// Makes the error of a system call, or of a file in /proc.
    fn system<E: std::fmt::Display>(call: impl Into<String>) -> impl FnOnce(E) -> Self {
        let call = call.into();
        move |error| Self::System { call, reason: error.to_string() }
    }

    /// Makes the error of what the kernel does not do.
    fn unsupported(error: impl std::fmt::Display) -> Self {
        Self::Unsupported(error.to_string())
    }
}

/// Prepares a worker, before anything else: closes descriptors that were not given on purpose, keeps its pages to itself and
/// small, and names the process.
pub fn begin_life() {
    privileges::close_inherited();
    privileges::share_no_equal_pages();
    proofbox_runtime::map_small_pages_only();
    // It was started by way of a link in /proc, and is called after that.
    privileges::set_name(c"proofbox");
}

/// A worker half way into its jail.
#[must_use]
pub struct PartiallySandboxed {
    hardening: Hardening,
    states: Vec<LayerState>,
}

/// The first half of a worker's jail: nothing can be opened any more. The process must have one thread.
///
/// # Errors
/// Returns an error when hardening is required, and a layer can't be had.
pub fn begin_worker(hardening: Hardening) -> Result<PartiallySandboxed, NotHardened> {
    let mut sandboxed = PartiallySandboxed { hardening, states: Vec::new() };
    if hardening == Hardening::Off {
        return Ok(sandboxed);
    }
    sandboxed.privileges(privileges::RetainedCapabilities::None);
    sandboxed.add(Layer::Landlock, one_thread().and_then(|()| landlock::nothing()));
    sandboxed.checked()
}

impl PartiallySandboxed {
    /// The second half: no thread can be started any more. A system call that is not needed fails from now on, or ends
    /// the process.
    ///
    /// # Errors
    /// Returns an error when hardening is required, and a layer can't be had.
    pub fn finish(mut self) -> Result<Hardened, NotHardened> {
        if self.hardening == Hardening::Off {
            return Ok(Hardened::default());
        }
        self.add(Layer::ResourceLimits, limits::worker());
        self.add(Layer::Seccomp, syscalls::only_what_workers_need());
        self.checked().map(|sandboxed| Hardened(sandboxed.states))
    }

    fn privileges(&mut self, kept: privileges::RetainedCapabilities) {
        self.add(Layer::NoNewPrivileges, privileges::no_new());
        self.add(Layer::NotDumpable, privileges::not_dumpable());
        self.add(Layer::Capabilities, one_thread().and_then(|()| privileges::drop_capabilities(kept)));
    }

    fn add(&mut self, layer: Layer, result: Result<Option<String>, LayerError>) {
        let state = match result {
            Ok(detail) => LayerState { layer, in_force: true, detail },
            Err(error) => LayerState { layer, in_force: false, detail: Some(error.to_string()) },
        };
        self.states.push(state);
    }

    fn checked(self) -> Result<Self, NotHardened> {
        let missing = Hardened(self.states.iter().filter(|state| !state.in_force).cloned().collect());
        if self.hardening == Hardening::Require && missing.missing().next().is_some() {
            let words = missing.to_string();
            return Err(NotHardened(words.trim_start_matches("missing: ").to_owned()));
        }
        Ok(self)
    }
}

/// Puts the front process in order: it keeps what it `needs`, and may start workers. It must have one thread.
///
/// # Errors
/// Returns an error when hardening is required, and a layer can't be had.
pub fn harden_front(hardening: Hardening, needs: &Needs) -> Result<Hardened, NotHardened> {
    // Not a layer: many clients are many descriptors, however little is given up.
    limits::raise_descriptors();
    if hardening == Hardening::Off {
        return Ok(Hardened::default());
    }
    let mut sandboxed = PartiallySandboxed { hardening, states: Vec::new() };
    sandboxed.privileges(privileges::RetainedCapabilities::Files);
    sandboxed.add(Layer::ResourceLimits, limits::front());
    sandboxed.add(Layer::Landlock, one_thread().and_then(|()| landlock::only(needs)));
    sandboxed.add(Layer::Seccomp, syscalls::none_of_the_dangerous());
    sandboxed.checked().map(|sandboxed| Hardened(sandboxed.states))
}

/// Checks that the process has one thread: some privileges belong to a thread and are dropped by that thread only.
fn one_thread() -> Result<(), LayerError> {
    let threads = std::fs::read_dir("/proc/self/task").map_err(LayerError::system("/proc/self/task"))?.count();
    if threads == 1 { Ok(()) } else { Err(LayerError::Threads(threads)) }
}
