//! Host functions for talking to another guest ([`super::channel`]), or in a session to the shell.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{Caller, Linker};

use super::channel::{Endpoint, Spent};
use crate::session::interrupt::Reason;
use crate::session::script::{ScriptOutput, ShellScript};
use crate::state::HostState;
use crate::time_slice::settle;
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::{Output, Stdio};

const PROOFBOX: &str = "proofbox";

/// Message kinds of a session's call (`guest/magics.py`): run this command; the command has ended.
const COMMAND: i32 = 16;
const COMMAND_ENDED: i32 = 17;

/// Gives the linker the calls of the bridge.
pub fn add_to_linker(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.func_wrap_async(PROOFBOX, "exchange", |caller, (kind, address, length): (i32, u32, u32)| {
        Box::new(exchange(caller, kind, address, length))
    })?;
    linker.func_wrap_async(PROOFBOX, "take", |mut caller, (address, length): (u32, u32)| {
        Box::new(async move {
            let answer = take(&mut caller, address, length)?;
            caller.data_mut().host_work.count_bytes(length as usize);
            settle(&mut caller).await?;
            Ok(answer)
        })
    })?;
    linker.func_wrap(PROOFBOX, "printed", printed)?;
    linker.func_wrap(PROOFBOX, "renew", |caller: Caller<'_, HostState>| {
        i32::from(!caller.data().endpoint.as_ref().is_some_and(Endpoint::renew))
    })?;
    Ok(())
}

/// Says something and waits for what is said next: its kind in the upper half, its length in the lower; -1 where there
/// is nobody.
async fn exchange(mut caller: Caller<'_, HostState>, kind: i32, address: u32, length: u32) -> wasmtime::Result<i64> {
    if kind == COMMAND && caller.data().call.is_some() {
        return command(caller, address, length).await;
    }
    let Some(endpoint) = caller.data().endpoint.clone() else { return Ok(-1) };
    let fuel = HostState::fuel_used(&caller);
    let (memory, state) = HostState::split(&mut caller)?;
    let spent = Spent { fuel, execution: state.stopwatch.execution(), peak_memory_bytes: state.limiter.peak() as u64 };
    let start = address as usize;
    let message = memory
        .get(start..start.saturating_add(length as usize))
        .ok_or_else(|| wasmtime::Error::msg("a message lies outside the guest's memory"))?;
    endpoint.send(kind, message, spent).map_err(wasmtime::Error::new)?;
    let stopwatch = Arc::clone(&state.stopwatch);
    stopwatch.begin_idle();
    let heard = endpoint.recv().await;
    stopwatch.end_idle();
    let (kind, heard) = heard.map_err(wasmtime::Error::new)?;
    caller.data_mut().host_work.count_bytes(length as usize);
    settle(&mut caller).await?;
    Ok(i64::from(kind) << 32 | heard as i64)
}

/// Runs a script for the shell, in the midst of a call. What it writes goes where the call writes to; where the guest
/// wants it itself, it is in the reply.
async fn command(mut caller: Caller<'_, HostState>, address: u32, length: u32) -> wasmtime::Result<i64> {
    let (memory, state) = HostState::split(&mut caller)?;
    let start = address as usize;
    let asked = memory.get(start..start.saturating_add(length as usize)).and_then(ShellScript::parse);
    let (Some((script, capture)), Some(call_state)) = (asked, &state.call) else { return Ok(-1) };
    let longest = call_state.longest_sleep(state.stopwatch.execution());
    let (interrupt, run_script) = (Arc::clone(&call_state.interrupt), Arc::clone(&call_state.run_script));
    let limits = CellLimits { wall: longest, ..call_state.limits };
    let written = Arc::new(Mutex::new(Written::new(limits.output_bytes)));
    let out: ScriptOutput = {
        let (written, output_stream) = (Arc::clone(&written), state.streams.output_stream.clone().filter(|_| !capture));
        Arc::new(move |output, bytes: &[u8]| {
            if let Some(output_stream) = &output_stream {
                output_stream.write(output, bytes);
            }
            written.lock().unwrap_or_else(PoisonError::into_inner).take(output, bytes);
        })
    };
    let stopwatch = Arc::clone(&state.stopwatch);
    let work = async {
        tokio::select! {
            code = run_script(script, limits, out) => code,
            // As bash says it of SIGINT.
            () = interrupt.requested() => 130,
        }
    };
    let code = stopwatch.wait_for(longest, work).await.unwrap_or_else(|| {
        interrupt.ask(Reason::Wall);
        124
    });
    if interrupt.reason().is_some() {
        // Who looks after the call trips the guest before it goes on.
        tokio::task::yield_now().await;
    }
    let written = std::mem::take(&mut *written.lock().unwrap_or_else(PoisonError::into_inner));
    let (_, state) = HostState::split(&mut caller)?;
    let [stdout, stderr] = if capture {
        written.bytes
    } else {
        let output_stream = state.streams.output_stream.take();
        for (output, bytes) in [Output::Stdout, Output::Stderr].into_iter().zip(&written.bytes) {
            // It has been told already; here it is kept.
            let _ = state.streams.write(output, bytes);
        }
        state.streams.output_stream = output_stream;
        [Vec::new(), Vec::new()]
    };
    let mut reply = Vec::new();
    Value::Tuple(vec![Value::Int(code.into()), Value::Bytes(stdout), Value::Bytes(stderr)]).encode(&mut reply);
    let length = reply.len();
    let Some(call_state) = &mut state.call else { return Ok(-1) };
    call_state.reply = Some(reply);
    Ok(i64::from(COMMAND_ENDED) << 32 | length as i64)
}

/// Output of a command, as much as is kept of each stream.
#[derive(Default)]
struct Written {
    bytes: [Vec<u8>; 2],
    most: usize,
}

impl Written {
    fn new(most: u64) -> Self {
        Self { bytes: Default::default(), most: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    fn take(&mut self, output: Output, bytes: &[u8]) {
        let kept = &mut self.bytes[usize::from(output == Output::Stderr)];
        let room = self.most.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Copies what was heard to the guest; 0 when it was as long as the guest said.
fn take(caller: &mut Caller<'_, HostState>, address: u32, length: u32) -> wasmtime::Result<i32> {
    let state = caller.data_mut();
    let message = match &mut state.call {
        Some(call_state) => call_state.reply.take().filter(|reply| reply.len() == length as usize),
        None => state.endpoint.as_ref().and_then(|endpoint| endpoint.take(length as usize)),
    };
    let (memory, _) = HostState::split(caller)?;
    let start = address as usize;
    match (message, memory.get_mut(start..start.saturating_add(length as usize))) {
        (Some(message), Some(place)) => {
            place.copy_from_slice(&message);
            Ok(0)
        }
        _ => Ok(1),
    }
}

/// Host function for the bytes that the candidate wrote to a stream since it was last asked something: returns their
/// length, and, where there is room, copies them.
fn printed(mut caller: Caller<'_, HostState>, stream: i32, address: u32, capacity: u32) -> wasmtime::Result<u32> {
    let Some(endpoint) = caller.data().endpoint.clone() else { return Ok(0) };
    let written = if capacity > 0 { endpoint.take_written(stream) } else { endpoint.written(stream) };
    let (memory, state) = HostState::split(&mut caller)?;
    state.host_work.count_bytes(written.len());
    let start = address as usize;
    if let Some(place) = memory.get_mut(start..start.saturating_add(written.len()))
        && written.len() <= capacity as usize
    {
        place.copy_from_slice(&written);
    }
    Ok(u32::try_from(written.len()).unwrap_or(u32::MAX))
}
