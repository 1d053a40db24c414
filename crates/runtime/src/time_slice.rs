//! Time slices of guests: they end when a guest's counter is below zero, and in host calls, on account of the work that
//! those have done.

use proofbox_metering::PAUSE;
use wasmtime::{Caller, Linker, Trap};

use super::fuel;
use super::host_work::Due;
use super::state::HostState;

/// Gives the linker the import that a guest calls when its counter is below zero.
pub(crate) fn add_to_linker(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let (module, name) = PAUSE;
    linker.func_wrap_async(module, name, |caller: Caller<'_, HostState>, ()| Box::new(pause(caller)))?;
    Ok(())
}

/// Charges the guest and yields, if enough work has accumulated; its host calls end with this.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as in compiled code.
pub(crate) async fn settle(caller: &mut Caller<'_, HostState>) -> wasmtime::Result<()> {
    match caller.data_mut().host_work.take_due() {
        Due::Nothing => return Ok(()),
        Due::Yield => {}
        Due::Fuel(price) => fuel::charge(&mut *caller, price)?,
    }
    yield_time_slice(caller).await;
    Ok(())
}

/// Yields to other guests, and to whoever checks the limits of this guest.
pub(crate) async fn yield_time_slice(caller: &mut Caller<'_, HostState>) {
    let used = fuel::used(&mut *caller);
    let state = caller.data_mut();
    state.host_work.forget_time();
    state.stopwatch.note_fuel(used);
    tokio::task::yield_now().await;
}

/// Fills the counter for the next time slice, after a yield.
///
/// # Errors
/// Returns `OutOfFuel` when nothing is left of the grant.
async fn pause(mut caller: Caller<'_, HostState>) -> wasmtime::Result<()> {
    let rest = fuel::left(&mut caller);
    fuel::set_left(&mut caller, rest)?;
    if rest == 0 {
        return Err(Trap::OutOfFuel.into());
    }
    yield_time_slice(&mut caller).await;
    Ok(())
}
