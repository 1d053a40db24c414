//! Yields of host calls, on account of the work that they have done.

use wasmtime::Caller;

use super::fuel;
use super::host_work::Due;
use super::state::HostState;

/// Charges the guest and yields, if enough work has accumulated; its host calls end with this.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as in compiled code.
pub async fn settle(caller: &mut Caller<'_, HostState>) -> wasmtime::Result<()> {
    match caller.data_mut().host_work.take_due() {
        Due::Nothing => return Ok(()),
        Due::Yield => {}
        Due::Fuel(price) => fuel::charge(&mut *caller, price)?,
    }
    yield_time_slice(caller).await;
    Ok(())
}

/// Yields to other guests, and to whoever checks the limits of this guest.
pub async fn yield_time_slice(caller: &mut Caller<'_, HostState>) {
    let used = fuel::used(&mut *caller);
    let state = caller.data_mut();
    state.host_work.forget_time();
    state.stopwatch.note_fuel(used);
    tokio::task::yield_now().await;
}
