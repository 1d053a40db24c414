//! Interpreters that wait for the next run, or the next session.
//!
//! Making an interpreter and letting wasmtime reset its slot costs as much as a short run. So an interpreter whose run has
//! come to an orderly end is kept, and that of a session which ends at rest: its memory is made equal to the image's
//! ([`page_reset`](super::page_reset)), its stack pointer is what it was, and it gets a new host state. There is nothing else
//! of it: the image has one memory, its only globals that change are the stack pointer and the counter of fuel, and nothing
//! of it changes the table or drops a segment (`proofbox_metering::check_resettable`). Whoever has it next can't tell it from
//! a new one. Its memory is reset once the run's answer is on its way ([`InterpreterPool::reset_used`]), and at the latest
//! when it is taken again.
//!
//! wasmtime keeps the stack on which its code runs, too, of which that can see nothing. What a run has needed of it beyond
//! what every run needs is given back ([`native_stack`]).

use std::sync::Arc;

use proofbox_metering::STACK_POINTER;
use wasmtime::{Instance, Store, Val};
use wasmtime_wasi::I32Exit;

use super::error::{RunError, by_engine};
use super::fuel;
use super::fuel_meter::FuelMeter;
use super::grading::channel::Dismissed;
use super::guest::RUNNER_FAILED;
use super::idle::{Idle, IdleMemory, RunKind};
use super::native_stack;
use super::page_reset::KeptPages;
use super::pool::{InterpreterPool, LoadedModule};
use super::state::HostState;

impl InterpreterPool {
    /// An interpreter for a run, as [`Self::instantiate`] makes them: one that waits, or a new one.
    ///
    /// # Errors
    /// Returns an error when there is none to be had.
    pub(super) async fn interpreter(
        &self,
        module: &Arc<LoadedModule>,
        kind: RunKind,
        mut state: HostState,
        fuel: u64,
    ) -> Result<(Store<HostState>, Instance), RunError> {
        let (Some(idle), Some(pristine)) = (self.take_idle(module, kind), module.known_pristine()) else {
            return self.instantiate(module, state, fuel).await;
        };
        let Idle { mut store, instance, .. } = idle;
        state.limiter.leave_uncounted(module.uncounted_bytes());
        state.fuel = FuelMeter::new(fuel);
        state.release_stack = store.data_mut().release_stack.take();
        state.kept_pages = store.data_mut().kept_pages.take().map(KeptPages::begun);
        *store.data_mut() = state;
        let missing = || wasmtime::Error::msg("the image has no stack pointer");
        let stack_pointer = instance.get_global(&mut store, STACK_POINTER).ok_or_else(missing);
        stack_pointer
            .and_then(|global| global.set(&mut store, Val::I32(pristine.stack_pointer())))
            .and_then(|()| fuel::connect(&mut store, instance))
            .map_err(by_engine("beginning a run"))?;
        Ok((store, instance))
    }

    /// Ends a run, and returns the host's side of it. `returned` is how its code has ended; none, where it was cut off.
    pub(super) fn end_run(
        &self,
        module: &Arc<LoadedModule>,
        kind: RunKind,
        (mut store, instance): (Store<HostState>, Instance),
        returned: Option<&wasmtime::Result<i32>>,
    ) -> HostState {
        let own = store.data_mut().kept_pages.take().and_then(KeptPages::still_all);
        if !(module.can_reset(&store, kind) && returned.is_some_and(is_orderly)) {
            module.forget(&store, kind);
            return store.into_data();
        }
        let HostState { memory, ref mut release_stack, .. } = *store.data_mut();
        let release_stack = release_stack.take();
        let waits = HostState { memory, release_stack, ..self.nobodys_state() };
        let state = std::mem::replace(store.data_mut(), waits);
        self.let_wait(Idle { module: Arc::clone(module), kind, store, instance, memory: IdleMemory::Used(own) });
        state
    }

    /// Returns whether an interpreter waits as its run has left it.
    pub fn has_used(&self) -> bool {
        self.idle().all().iter().any(Idle::is_used)
    }

    /// Resets one of the interpreters that wait as their runs have left them. Returns whether there was one.
    pub fn reset_used(&self) -> bool {
        let Some(idle) = self.idle().take_used() else { return false };
        if let Some(idle) = reset(idle) {
            self.let_wait(idle);
        }
        true
    }

    fn take_idle(&self, module: &Arc<LoadedModule>, kind: RunKind) -> Option<Idle<LoadedModule>> {
        loop {
            let idle = self.idle().take(module, kind)?;
            if let Some(idle) = reset(idle) {
                return Some(idle);
            }
        }
    }

    fn let_wait(&self, idle: Idle<LoadedModule>) {
        if let Some(Idle { module, kind, store, .. }) = self.idle().put(idle) {
            module.forget(&store, kind);
        }
    }

    /// Returns the number of bytes in the memories of waiting interpreters that are not what the image has, for tests:
    /// it must be none. And how many interpreters wait. Those that are to be reset are, before.
    #[doc(hidden)]
    pub fn altered_bytes_of_idle(&self) -> (usize, usize) {
        while self.reset_used() {}
        let all = self.idle().all();
        let altered = all.iter().map(|idle| {
            let memory = idle.store.data().memory.expect("it had a run").data(&idle.store);
            let pristine = idle.module.known_pristine().expect("it was reset to it");
            pristine.with_memory(|image| {
                assert_eq!(memory.len(), image.len());
                memory.iter().zip(image).filter(|(own, image)| own != image).count()
            })
        });
        (altered.sum(), all.len())
    }
}

/// Makes the memory of an interpreter equal to the image's, if it is not. Drops the interpreter where that can't be done.
fn reset(mut idle: Idle<LoadedModule>) -> Option<Idle<LoadedModule>> {
    let IdleMemory::Used(own) = std::mem::replace(&mut idle.memory, IdleMemory::Reset) else { return Some(idle) };
    let Idle { module, kind, store, .. } = &mut idle;
    let is_released = own.is_some() || native_stack::release(store, native_stack::KEPT_PAGES);
    let kept_pages = if is_released { module.reset(store, *kind, own) } else { None };
    if kept_pages.is_none() {
        module.forget(store, *kind);
        return None;
    }
    store.data_mut().kept_pages = kept_pages;
    Some(idle)
}

/// Returns whether a guest's code has returned, or was ended by a host function: an interpreter in which it trapped is not
/// kept.
fn is_orderly(returned: &wasmtime::Result<i32>) -> bool {
    match returned {
        Ok(code) => *code != RUNNER_FAILED,
        Err(error) => error.downcast_ref::<I32Exit>().is_some() || error.downcast_ref::<Dismissed>().is_some(),
    }
}
