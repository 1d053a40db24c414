//! Fuel that was used in the name of somebody who may no longer wait for the outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::Store;

use super::fuel;
use super::state::HostState;

/// Fuel that one run has used. Whoever drops the run before its end reads here what it cost until then.
#[derive(Debug, Default)]
pub struct FuelSpent {
    /// Fuel of its interpreters that have ended or were dropped.
    pub(super) guests: AtomicU64,
    /// Fuel of its commands' interpreters that no guest has taken over.
    pub(super) commands: Arc<AtomicU64>,
}

impl FuelSpent {
    /// Returns the fuel used so far. A guest that is still there counts when it has ended, or was dropped.
    pub fn total(&self) -> u64 {
        self.guests.load(Ordering::Relaxed).saturating_add(self.commands.load(Ordering::Relaxed))
    }

    /// Takes the fuel of commands that no guest has taken over.
    pub(super) fn take_commands(&self) -> u64 {
        self.commands.swap(0, Ordering::Relaxed)
    }
}

/// Store of a guest whose fuel is counted also when it is dropped in the midst of its work.
pub(crate) struct FuelledStore<'a, const N: usize> {
    store: Option<Store<HostState>>,
    granted: u64,
    meters: [&'a AtomicU64; N],
}

impl<'a, const N: usize> FuelledStore<'a, N> {
    /// The guest's fuel is added to each of the meters; it has `granted`.
    pub(crate) fn new(store: Store<HostState>, granted: u64, meters: [&'a AtomicU64; N]) -> Self {
        Self { store: Some(store), granted, meters }
    }

    /// The store itself.
    pub(crate) fn store(&mut self) -> &mut Store<HostState> {
        self.store.as_mut().expect("it goes with `self`")
    }

    /// Counts what was used, and returns it. Once: what the host does afterwards in the guest's name is not the guest's.
    pub(crate) fn count(&mut self) -> u64 {
        let granted = std::mem::take(&mut self.granted);
        let used = fuel::used(self.store()).min(granted);
        for meter in self.meters {
            meter.fetch_add(used, Ordering::Relaxed);
        }
        used
    }

    /// Ends the guest, and returns its state.
    pub(crate) fn into_state(self) -> HostState {
        self.into_store().into_data()
    }

    /// Returns the store, when the fuel is counted.
    pub(crate) fn into_store(mut self) -> Store<HostState> {
        self.count();
        self.store.take().expect("it goes with `self`")
    }
}

impl<const N: usize> Drop for FuelledStore<'_, N> {
    fn drop(&mut self) {
        if self.store.is_some() {
            self.count();
        }
    }
}
