//! Interpreters that wait for the next run, or the next session.
//!
//! Making an interpreter and letting wasmtime reset its slot costs as much as a short run. So an interpreter whose run has
//! come to an orderly end is kept, and that of a session which ends at rest: its memory is made equal to the image's
//! ([`page_reset`](super::page_reset)), its stack pointer is what it was, and it gets a new host state. There is nothing else
//! of it: the image has one memory, its only globals that change are the stack pointer and the counter of fuel, and nothing
//! of it changes the table or drops a segment (`proofbox_metering::check_resettable`). Whoever has it next can't tell it from
//! a new one.
//!
//! wasmtime keeps the stack on which its code runs, too, of which that can see nothing. An interpreter whose stack has grown
//! is dropped, and the stack with it, which wasmtime clears.

use std::sync::Arc;

use futures_util::FutureExt;
use proofbox_metering::STACK_POINTER;
use wasmtime::{Instance, Store, Val};
use wasmtime_wasi::I32Exit;

use super::engine::WASM_STACK;
use super::error::{RunError, by_engine};
use super::fuel;
use super::fuel_meter::FuelMeter;
use super::grading::channel::Dismissed;
use super::guest::RUNNER_FAILED;
use super::idle::{Idle, RunKind};
use super::page_reset::KeptPages;
use super::pagemap::{self, PAGE, PagesAsked};
use super::pool::{InterpreterPool, LoadedModule};
use super::state::{HostState, StackAddress};

/// Number of pages of an interpreter's stack that stay mapped while it waits.
const MAX_STACK_PAGES: usize = 24;

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
        let (Some(idle), Some(pristine)) = (self.idle().take(module, kind), module.known_pristine()) else {
            return self.instantiate(module, state, fuel).await;
        };
        let Idle { mut store, instance, .. } = idle;
        state.limiter.leave_uncounted(module.uncounted_bytes());
        state.fuel = FuelMeter::new(fuel);
        state.stack = store.data().stack;
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
        let can_be_kept = module.can_reset(&store, kind)
            && returned.is_some_and(is_orderly)
            && (own.is_some() || has_small_stack(&mut store, instance));
        let kept_pages = if can_be_kept { module.reset(&mut store, kind, own) } else { None };
        if kept_pages.is_none() {
            module.forget(&store, kind);
            return store.into_data();
        }
        let HostState { memory, stack, .. } = *store.data();
        let waits = HostState { memory, stack, kept_pages, ..self.nobodys_state() };
        let state = std::mem::replace(store.data_mut(), waits);
        if let Some(Idle { module, kind, store, .. }) =
            self.idle().put(Idle { module: Arc::clone(module), kind, store, instance })
        {
            module.forget(&store, kind);
        }
        state
    }

    /// Returns the number of bytes in the memories of waiting interpreters that are not what the image has, for tests:
    /// it must be none. And how many interpreters wait.
    #[doc(hidden)]
    pub fn altered_bytes_of_idle(&self) -> (usize, usize) {
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

/// Returns whether the stack on which code of an instance has run is no larger than that of an ordinary run. To find the
/// stack, code is begun once and dropped: the memory must be reset afterwards.
fn has_small_stack(store: &mut Store<HostState>, instance: Instance) -> bool {
    // Enough for a first pause, at which the call waits.
    const FUEL: u64 = 1000;
    if !matches!(store.data().stack, StackAddress::Near(_)) {
        store.data_mut().stack = StackAddress::Wanted;
        let Ok(run) = instance.get_typed_func::<u32, i32>(&mut *store, "proofbox_run") else { return false };
        let Ok(()) = fuel::grant_in_slices(&mut *store, FUEL, 1) else { return false };
        if run.call_async(&mut *store, 0).now_or_never().is_some() {
            return false;
        }
    }
    let StackAddress::Near(end) = store.data().stack else { return false };
    // wasmtime's stacks are larger by what host functions may need, so that all of this is the stack.
    let Some(start) = end.checked_sub(WASM_STACK) else { return false };
    let pages = pagemap::scan(std::ptr::without_provenance(start.next_multiple_of(PAGE)), WASM_STACK, PagesAsked::Own);
    pages.is_ok_and(|mapped| mapped.own.iter().map(ExactSizeIterator::len).sum::<usize>() <= MAX_STACK_PAGES)
}

/// Returns whether a guest's code has returned, or was ended by a host function: an interpreter in which it trapped is not
/// kept.
fn is_orderly(returned: &wasmtime::Result<i32>) -> bool {
    match returned {
        Ok(code) => *code != RUNNER_FAILED,
        Err(error) => error.downcast_ref::<I32Exit>().is_some() || error.downcast_ref::<Dismissed>().is_some(),
    }
}
