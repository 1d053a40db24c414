//! Host functions for talking to another guest ([`super::channel`]), or to the shell.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::channel::{Endpoint, Spent};
use crate::fuel;
use crate::session::interrupt::{Interrupt, Reason};
use crate::session::script::{CommandRequest, RunScript, ScriptOutput};
use crate::state::HostState;
use crate::time_slice::{end_when_over, settle};
use proofbox_types::outcome::AttemptKind;
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::{Access, Output, Stdio};

const PROOFBOX: &str = "proofbox";

/// Message kinds of commands (`guest/commands.py`): run this command; the command has ended.
const COMMAND: i32 = 16;
const COMMAND_ENDED: i32 = 17;
/// Exit code of a command that met its time limit, as `timeout` has it.
const TIMED_OUT: i32 = 124;

/// Gives the linker the calls of the bridge.
pub(crate) fn add_to_linker(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        PROOFBOX,
        "exchange",
        |caller, (kind, address, length, reply, capacity): (i32, u32, u32, u32, u32)| {
            Box::new(exchange(caller, kind, (address, length), (reply, capacity)))
        },
    )?;
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
/// is nobody. `place` is where the guest wants it and how many bytes there are; what is longer it has to take.
async fn exchange(
    mut caller: Caller<'_, HostState>,
    kind: i32,
    message: (u32, u32),
    place: (u32, u32),
) -> wasmtime::Result<i64> {
    let answered = if kind == COMMAND {
        // Apart, as it is large: messages between guests are many.
        Box::pin(command(&mut caller, message)).await?
    } else {
        converse(&mut caller, kind, message).await?
    };
    let ((address, capacity), length) = (place, answered as u32);
    if answered >= 0 && length <= capacity {
        if take(&mut caller, address, length)? != 0 {
            return Err(wasmtime::Error::msg("the place for a reply lies outside the guest's memory"));
        }
        caller.data_mut().host_work.count_bytes(length as usize);
    }
    settle(&mut caller).await?;
    Ok(answered)
}

/// Says something to the other guest of a pair, and waits for what it says.
async fn converse(
    caller: &mut Caller<'_, HostState>,
    kind: i32,
    (address, length): (u32, u32),
) -> wasmtime::Result<i64> {
    let Some(endpoint) = caller.data().endpoint.clone() else { return Ok(-1) };
    let fuel = fuel::used(&mut *caller);
    let (memory, state) = HostState::split(caller)?;
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
    Ok(i64::from(kind) << 32 | heard as i64)
}

/// Runs a script for the shell, in the midst of a call or a run. What it writes goes where the guest writes to; where the
/// guest wants it itself, it is in the reply. -1 where the guest has no shell.
async fn command(caller: &mut Caller<'_, HostState>, (address, length): (u32, u32)) -> wasmtime::Result<i64> {
    let fuel_left = fuel::left(&mut *caller);
    let (memory, state) = HostState::split(caller)?;
    let start = address as usize;
    let credentials = state.descriptors.tree().credentials();
    let message = memory.get(start..start.saturating_add(length as usize));
    let request = message.and_then(|message| CommandRequest::parse(message, credentials));
    let (Some(request), Some(Terms { run_script, limits, interrupt })) = (request, terms(state, fuel_left)) else {
        return Ok(-1);
    };
    let name = request.script.text.split_whitespace().next().unwrap_or_default();
    // Whether there is such a program is asked before it is started.
    if state.shell.is_some() && name != "command" {
        state.attempts.record(AttemptKind::Process, "spawn", name, Access::Allowed);
    }
    let CommandRequest { script, capture, timeout } = request;
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
    let interrupted = async {
        match &interrupt {
            Some(interrupt) => interrupt.requested().await,
            None => std::future::pending().await,
        }
    };
    let timed_out = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let work = async {
        tokio::select! {
            code = run_script(script, limits, out) => Some(code),
            () = timed_out => None,
            // As bash says it of SIGINT.
            () = interrupted => Some(130),
        }
    };
    // A run that has had its time is ended by who looks after it.
    let longest = if interrupt.is_some() { limits.wall } else { Duration::MAX };
    let ended = stopwatch.wait_for(longest, work).await.unwrap_or_else(|| {
        if let Some(interrupt) = &interrupt {
            interrupt.ask(Reason::Wall);
        }
        None
    });
    if interrupt.is_some_and(|interrupt| interrupt.reason().is_some()) {
        // Who looks after the call trips the guest before it goes on.
        tokio::task::yield_now().await;
    }
    let written = std::mem::take(&mut *written.lock().unwrap_or_else(PoisonError::into_inner));
    let (_, state) = HostState::split(caller)?;
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
    let code = Value::Int(ended.unwrap_or(TIMED_OUT).into());
    Value::Tuple(vec![code, Value::Bytes(stdout), Value::Bytes(stderr), Value::Bool(ended.is_none())])
        .encode(&mut reply);
    let length = reply.len();
    state.command_reply = Some(reply);
    if let Some(shell) = &state.shell {
        // What its interpreters have used is the guest's.
        let used = shell.take_fuel();
        fuel::charge(&mut *caller, used)?;
    }
    caller.data_mut().host_work.count_bytes(length);
    Ok(i64::from(COMMAND_ENDED) << 32 | length as i64)
}

/// Terms on which a guest runs a command.
struct Terms {
    run_script: RunScript,
    limits: CellLimits,
    /// Interrupt of the call, in a session.
    interrupt: Option<Arc<Interrupt>>,
}

fn terms(state: &HostState, fuel_left: u64) -> Option<Terms> {
    let execution = state.stopwatch.execution();
    match (&state.call, &state.shell) {
        (Some(call), _) => Some(Terms {
            run_script: Arc::clone(&call.run_script),
            limits: CellLimits { wall: call.longest_sleep(execution), ..call.limits },
            interrupt: Some(Arc::clone(&call.interrupt)),
        }),
        (None, Some(shell)) => {
            Some(Terms { run_script: shell.run_script(), limits: shell.limits(fuel_left, execution), interrupt: None })
        }
        (None, None) => None,
    }
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
    let message = match state.command_reply.take() {
        Some(reply) => Some(reply).filter(|reply| reply.len() == length as usize),
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
    end_when_over(&mut caller)?;
    Ok(u32::try_from(written.len()).unwrap_or(u32::MAX))
}
