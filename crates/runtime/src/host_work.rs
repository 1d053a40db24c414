//! Work that host calls do in a guest's name: bytes they move cost fuel, and the guest yields between parts of it.
//!
//! A guest yields by fuel, which host functions do not use. Without this a loop of large writes would keep the core for
//! as long as its fuel lasts for the calls alone, and nobody would look at its wall limit.

use std::time::{Duration, Instant};

use wasmtime::{Caller, Trap};

use super::preview1::fuel_used;
use super::state::State;

/// Bytes that one unit of fuel moves.
const BYTES_PER_FUEL: u64 = 8;
/// Bytes moved between two yields: about a millisecond, like [`super::guest::YIELD_INTERVAL`]. Larger calls are carried
/// out in parts of this size.
pub const BYTES_A_TURN: u32 = 4 << 20;
/// Time spent in calls that are slow without moving many bytes (long paths, large directories) between two yields.
const TIME_A_TURN: Duration = Duration::from_millis(1);

/// Work of host calls since the last yield on its account.
#[derive(Debug, Default)]
pub struct HostWork {
    bytes: u64,
    time: Duration,
}

impl HostWork {
    /// Counts bytes that were copied or zeroed.
    pub fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Counts the time since `began`. It leads to yields, never to fuel: that depends on nothing but the program.
    pub fn count_time(&mut self, began: Instant) {
        self.time = self.time.saturating_add(began.elapsed());
    }
}

/// Charges the guest and yields, if enough work has accumulated; its host calls end with this.
///
/// wasmtime's `set_fuel` restarts its yield interval, so fuel is charged only where the guest yields anyway.
///
/// # Errors
/// Returns `OutOfFuel` when the guest can't pay, as in compiled code.
pub async fn settle(caller: &mut Caller<'_, State>) -> wasmtime::Result<()> {
    let work = &mut caller.data_mut().host_work;
    if work.bytes >= u64::from(BYTES_A_TURN) {
        let price = std::mem::take(&mut work.bytes) / BYTES_PER_FUEL;
        let left = caller.get_fuel()?.saturating_sub(price);
        caller.set_fuel(left)?;
        if left == 0 {
            return Err(Trap::OutOfFuel.into());
        }
    } else if work.time < TIME_A_TURN {
        return Ok(());
    }
    yield_turn(caller).await;
    Ok(())
}

/// Yields to other guests, and to whoever checks the limits of this guest.
pub async fn yield_turn(caller: &mut Caller<'_, State>) {
    let used = fuel_used(caller);
    let state = caller.data_mut();
    state.host_work.time = Duration::ZERO;
    state.stopwatch.note_fuel(used);
    tokio::task::yield_now().await;
}
