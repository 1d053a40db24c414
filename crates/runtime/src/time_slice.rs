//! Yields of host calls, on account of the work that they have done.

use wasmtime::{Caller, Trap};

use super::host_work::Due;
use super::state::HostState;

/// Charges the guest and yields, if enough work has accumulated; its host calls end with this.
///
/// wasmtime's `set_fuel` restarts its yield interval, so fuel is charged only where the guest yields anyway.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as in compiled code.
pub async fn settle(caller: &mut Caller<'_, HostState>) -> wasmtime::Result<()> {
    match caller.data_mut().host_work.take_due() {
        Due::Nothing => return Ok(()),
        Due::Yield => {}
        Due::Fuel(price) => {
            let left = caller.get_fuel()?.saturating_sub(price);
            caller.set_fuel(left)?;
            if left == 0 {
                return Err(Trap::OutOfFuel.into());
            }
        }
    }
    yield_time_slice(caller).await;
    Ok(())
}

/// Yields to other guests, and to whoever checks the limits of this guest.
pub async fn yield_time_slice(caller: &mut Caller<'_, HostState>) {
    let used = HostState::fuel_used(caller);
    let state = caller.data_mut();
    state.host_work.forget_time();
    state.stopwatch.note_fuel(used);
    tokio::task::yield_now().await;
}
