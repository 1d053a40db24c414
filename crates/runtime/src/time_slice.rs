//! Time slices of guests: they end when a guest's counter is below zero, and in host calls, on account of the work that
//! those have done and of the time. Time leads to yields, never to fuel: that depends on nothing but the program.

use proofbox_metering::PAUSE;
use wasmtime::{Caller, Linker, Trap};

use super::fuel;
use super::state::HostState;

/// Gives the linker the import that a guest calls when its counter is below zero.
pub(crate) fn add_to_linker(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let (module, name) = PAUSE;
    linker.func_wrap_async(module, name, |caller: Caller<'_, HostState>, ()| Box::new(pause(caller)))?;
    Ok(())
}

/// Charges the guest and yields, if enough work has accumulated, and yields when its time slice is over; host calls that
/// may take long end with this.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as in compiled code.
pub(crate) async fn settle(caller: &mut Caller<'_, HostState>) -> wasmtime::Result<()> {
    match caller.data_mut().host_work.take_due_fuel() {
        Some(price) => fuel::charge(&mut *caller, price)?,
        None if caller.data().stopwatch.is_slice_over() => {}
        None => return Ok(()),
    }
    yield_time_slice(caller).await;
    Ok(())
}

/// Makes the guest yield at its next look at its counter, when its time slice is over; quick host calls end with this.
///
/// # Errors
/// Returns an error when the counter can't be set.
pub(crate) fn end_when_over(caller: &mut Caller<'_, HostState>) -> wasmtime::Result<()> {
    let state = caller.data_mut();
    if state.host_work.count_quick_call() && state.stopwatch.is_slice_over() {
        fuel::end_slice(caller)?;
    }
    Ok(())
}

/// Yields to other guests, and to whoever checks the limits of this guest.
pub(crate) async fn yield_time_slice(caller: &mut Caller<'_, HostState>) {
    let used = fuel::used(&mut *caller);
    caller.data_mut().stopwatch.note_fuel(used);
    tokio::task::yield_now().await;
}

/// Fills the counter for the next time slice, after a yield.
///
/// # Errors
/// Returns `OutOfFuel` when nothing is left of the grant.
async fn pause(mut caller: Caller<'_, HostState>) -> wasmtime::Result<()> {
    // What has used all of it and no more goes on: a slice that the clock has ended is no reason to fail.
    let Some(rest) = fuel::checked_left(&mut caller) else {
        fuel::set_left(&mut caller, 0)?;
        return Err(Trap::OutOfFuel.into());
    };
    fuel::set_left(&mut caller, rest)?;
    yield_time_slice(&mut caller).await;
    Ok(())
}
