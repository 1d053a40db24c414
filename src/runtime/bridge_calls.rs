//! What the image imports to talk to another guest ([`super::bridge`]).

use std::sync::Arc;

use wasmtime::{Caller, Linker};

use super::bridge::Spent;
use super::preview1::fuel_used;
use super::state::State;

const PROOFBOX: &str = "proofbox";

/// Gives the linker the calls of the bridge.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap_async(PROOFBOX, "exchange", |caller, (kind, address, length): (i32, u32, u32)| {
        Box::new(exchange(caller, kind, address, length))
    })?;
    linker.func_wrap(PROOFBOX, "take", take)?;
    linker.func_wrap(PROOFBOX, "printed", printed)?;
    linker.func_wrap(PROOFBOX, "renew", |caller: Caller<'_, State>| {
        i32::from(!caller.data().seat.as_ref().is_some_and(super::bridge::Seat::renew))
    })?;
    Ok(())
}

/// Says something and waits for what is said next: its kind in the upper half, its length in the lower; -1 where there
/// is nobody.
async fn exchange(mut caller: Caller<'_, State>, kind: i32, address: u32, length: u32) -> wasmtime::Result<i64> {
    let Some(seat) = caller.data().seat.clone() else { return Ok(-1) };
    let fuel = fuel_used(&caller);
    let (memory, state) = State::split(&mut caller)?;
    let spent = Spent { fuel, execution: state.stopwatch.execution(), peak_memory_bytes: state.limiter.peak() as u64 };
    let start = address as usize;
    let message = memory
        .get(start..start.saturating_add(length as usize))
        .ok_or_else(|| wasmtime::Error::msg("a message lies outside the guest's memory"))?;
    seat.say(kind, message, spent).map_err(wasmtime::Error::new)?;
    let stopwatch = Arc::clone(&state.stopwatch);
    stopwatch.set_idle(true);
    let heard = seat.hear().await;
    stopwatch.set_idle(false);
    let (kind, length) = heard.map_err(wasmtime::Error::new)?;
    Ok(i64::from(kind) << 32 | length as i64)
}

/// Copies what was heard to the guest; 0 when it was as long as the guest said.
fn take(mut caller: Caller<'_, State>, address: u32, length: u32) -> wasmtime::Result<i32> {
    let message = caller.data().seat.as_ref().and_then(|seat| seat.take(length as usize));
    let (memory, _) = State::split(&mut caller)?;
    let start = address as usize;
    match (message, memory.get_mut(start..start.saturating_add(length as usize))) {
        (Some(message), Some(place)) => {
            place.copy_from_slice(&message);
            Ok(0)
        }
        _ => Ok(1),
    }
}

/// What the candidate wrote to a stream since it was last asked something: its length, and, where there is room, itself.
fn printed(mut caller: Caller<'_, State>, stream: i32, address: u32, capacity: u32) -> wasmtime::Result<u32> {
    let Some(seat) = caller.data().seat.clone() else { return Ok(0) };
    let written = seat.written(stream, capacity > 0);
    let (memory, _) = State::split(&mut caller)?;
    let start = address as usize;
    if let Some(place) = memory.get_mut(start..start.saturating_add(written.len()))
        && written.len() <= capacity as usize
    {
        place.copy_from_slice(&written);
    }
    Ok(u32::try_from(written.len()).unwrap_or(u32::MAX))
}
