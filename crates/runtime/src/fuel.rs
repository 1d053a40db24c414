//! Fuel of a guest: granted by the host, and counted by the guest's own code (`proofbox_metering`).
//!
//! The code counts down in a global of its module, a time slice at a time; the rest of the grant is here. Below zero it
//! calls `pause` (`time_slice`), which fills the counter again or ends the guest.

use proofbox_metering::COUNTER;
use wasmtime::{AsContextMut, Instance, Trap, Val};

use super::fuel_meter::{FuelMeter, TIME_SLICE};
use super::state::HostState;

/// Finds the counter of a guest that was just made, and grants it what its state says.
///
/// # Errors
/// Returns an error when the guest is not metered.
pub(crate) fn connect(mut store: impl AsContextMut<Data = HostState>, instance: Instance) -> wasmtime::Result<()> {
    let counter = instance.get_global(&mut store, COUNTER);
    let counter = counter.ok_or_else(|| wasmtime::Error::msg("the image is not metered: make it again"))?;
    let mut context = store.as_context_mut();
    let fuel = &mut context.data_mut().fuel;
    fuel.counter = Some(counter);
    let granted = fuel.granted;
    grant(context, granted)
}

/// Grants a guest so much from now on, whatever it had.
///
/// # Errors
/// Returns an error when the counter can't be set.
pub(crate) fn grant(mut store: impl AsContextMut<Data = HostState>, fuel: u64) -> wasmtime::Result<()> {
    store.as_context_mut().data_mut().fuel.granted = fuel;
    set_left(store, fuel)
}

/// Grants a guest `limit`, at the end of which it pauses, and `grace` after that. Wherever its time slices end, the pause
/// is at the first charge beyond the limit.
///
/// # Errors
/// Returns an error when the counter can't be set.
pub(crate) fn grant_with_grace(
    mut store: impl AsContextMut<Data = HostState>,
    limit: u64,
    grace: u64,
) -> wasmtime::Result<()> {
    store.as_context_mut().data_mut().fuel.pause_at = grace;
    grant(store, limit.saturating_add(grace))
}

/// Returns the fuel that the guest has left.
pub(crate) fn left(store: impl AsContextMut<Data = HostState>) -> u64 {
    checked_left(store).unwrap_or(0)
}

/// Returns the fuel that the guest has left, none when it has used more than it had.
pub(crate) fn checked_left(mut store: impl AsContextMut<Data = HostState>) -> Option<u64> {
    let mut context = store.as_context_mut();
    let FuelMeter { counter, reserve, .. } = context.data().fuel;
    match counter.map(|counter| counter.get(&mut context)) {
        // Below zero, the guest has used more than it had there.
        Some(Val::I64(counted)) => reserve.checked_add_signed(counted),
        _ => Some(reserve),
    }
}

/// Returns the fuel that the guest has used of its grant.
pub(crate) fn used(mut store: impl AsContextMut<Data = HostState>) -> u64 {
    let left = left(&mut store);
    store.as_context().data().fuel.granted.saturating_sub(left)
}

/// Takes fuel from the guest for work that the host has done in its name.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as a pause does.
pub(crate) fn charge(mut store: impl AsContextMut<Data = HostState>, price: u64) -> wasmtime::Result<()> {
    let rest = left(&mut store).saturating_sub(price);
    set_left(store, rest)?;
    if rest == 0 { Err(Trap::OutOfFuel.into()) } else { Ok(()) }
}

/// Ends the guest's time slice: the next charge of its code finds nothing in the counter. The fuel left is the same.
///
/// # Errors
/// Returns an error when the counter can't be set.
pub(crate) fn end_slice(mut store: impl AsContextMut<Data = HostState>) -> wasmtime::Result<()> {
    let left = left(&mut store);
    let mut context = store.as_context_mut();
    let fuel = &mut context.data_mut().fuel;
    fuel.reserve = left;
    fuel.counter.map_or(Ok(()), |counter| counter.set(context, Val::I64(0)))
}

pub(super) fn set_left(mut store: impl AsContextMut<Data = HostState>, left: u64) -> wasmtime::Result<()> {
    let mut context = store.as_context_mut();
    let fuel = &mut context.data_mut().fuel;
    let counted = left.checked_sub(fuel.pause_at).unwrap_or(left).min(TIME_SLICE);
    fuel.reserve = left - counted;
    match fuel.counter {
        Some(counter) => counter.set(context, Val::I64(counted.cast_signed())),
        None => {
            fuel.reserve = left;
            Ok(())
        }
    }
}
