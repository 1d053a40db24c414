//! Imports of the image: WASI preview 1, `proofbox.post`, and the calls of the bridge.
//!
//! wasmtime-wasi supplies arguments, environment, exit and the refusal of sockets. Files, standard streams, time and
//! randomness are ours: files because they live in memory ([`proofbox_vfs`]), time because it may be virtual and
//! because sleep is told apart from work, randomness because it may be seeded; the use of both may have to be reported
//! ([`super::usage_events`]).

use std::time::{Duration, Instant};

use wasmtime::{Caller, Linker};
use wasmtime_wasi::{I32Exit, p1};

use super::clock::{Clock, REALTIME};
use super::fuel;
use super::grading::channel::{Endpoint, Side, Spent};
use super::grading::host_calls;
use super::host_work::BYTES_A_TIME_SLICE;
use super::report::ReportEffect;
use super::session::interrupt::Reason;
use super::state::{HostState, Streams};
use super::time_slice::{self, end_when_over, settle, yield_time_slice};
use proofbox_vfs::{Access, Call, Descriptors, Errno, OpenHow, Part, PathAt, status};

/// Module of the calls of preview 1.
pub(crate) const WASI: &str = "wasi_snapshot_preview1";

/// Sizes and offsets of `subscription` and `event`, and the tag of a clock, as the witx has them.
const SUBSCRIPTION: usize = 48;
const EVENT: usize = 32;
const CLOCK_TAG: u8 = 0;
const ABSOLUTE: u16 = 1;

/// The last clock of preview 1 (the CPU time of a thread).
const CLOCKS: u32 = 3;

/// Random bytes made in one go: the kernel's take about a millisecond.
const RANDOM_AT_ONCE: usize = 256 << 10;

/// Gives the linker everything that the image imports.
pub(crate) fn add_to_linker(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    p1::add_to_linker_async(linker, |state: &mut HostState| &mut state.wasi)?;
    linker.allow_shadowing(true);
    add_own(linker)
}

/// Gives the linker what is not wasmtime-wasi's.
pub(crate) fn add_own(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    add_descriptor_calls(linker)?;
    add_path_calls(linker)?;
    // As in POSIX, of any number the lowest 8 bits.
    linker.func_wrap(WASI, "proc_exit", |code: u32| -> wasmtime::Result<()> {
        Err(I32Exit((code & 0xFF).cast_signed()).into())
    })?;
    linker.func_wrap(WASI, "clock_time_get", clock_time_get)?;
    linker.func_wrap(WASI, "clock_res_get", clock_res_get)?;
    linker.func_wrap_async(WASI, "random_get", |caller, (buffer, length): (u32, u32)| {
        Box::new(random_get(caller, buffer, length))
    })?;
    linker.func_wrap_async(
        WASI,
        "poll_oneoff",
        |caller, (subscriptions, events, count, ready): (u32, u32, u32, u32)| {
            Box::new(poll_oneoff(caller, subscriptions, events, count, ready))
        },
    )?;
    linker.func_wrap_async("proofbox", "post", |mut caller, (address, length): (u32, u32)| {
        Box::new(async move {
            let answer = post(&mut caller, address, length)?;
            caller.data_mut().host_work.count_bytes(length as usize);
            settle(&mut caller).await?;
            Ok(answer)
        })
    })?;
    add_permission_calls(linker)?;
    host_calls::add_to_linker(linker)?;
    time_slice::add_to_linker(linker)?;
    Ok(())
}

fn now(caller: &mut Caller<'_, HostState>, clock: u32) -> u64 {
    let used = fuel::used(&mut *caller);
    caller.data().clock.now(clock, used)
}

/// Runs a call on the guest's files.
fn files(
    mut caller: Caller<'_, HostState>,
    call: impl FnOnce(&mut Descriptors, &mut Call<'_>) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    let answer = files_of(&mut caller, Part::WHOLE, call)?;
    end_when_over(&mut caller)?;
    Ok(answer)
}

/// Runs a call on the guest's files that may take long, and yields after it.
async fn slow_files(
    mut caller: Caller<'_, HostState>,
    call: impl FnOnce(&mut Descriptors, &mut Call<'_>) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    let answer = files_of(&mut caller, Part::WHOLE, call)?;
    settle(&mut caller).await?;
    Ok(answer)
}

/// Reads or writes in parts, and yields between them. `call` is given the bytes before its part, and writes how many it
/// moved to `out`.
async fn transfer(
    caller: &mut Caller<'_, HostState>,
    out: u32,
    call: impl Fn(&mut Descriptors, &mut Call<'_>, u64) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    let mut moved = 0_u32;
    loop {
        let part = Part { skip: moved, limit: BYTES_A_TIME_SLICE };
        let answer = files_of(caller, part, |d, c| call(d, c, u64::from(moved)))?;
        if answer != 0 && moved == 0 {
            return Ok(answer);
        }
        let count = if answer == 0 { moved_by(caller, out)? } else { 0 };
        moved = moved.saturating_add(count);
        caller.data_mut().host_work.count_bytes(count as usize);
        settle(caller).await?;
        if count < BYTES_A_TIME_SLICE {
            break;
        }
    }
    if moved >= BYTES_A_TIME_SLICE {
        // An error after the first part ends the call without being one.
        let (memory, _) = HostState::split(caller)?;
        return Ok(status(put(memory, out as usize, &moved.to_le_bytes())));
    }
    Ok(0)
}

/// Bytes that a call has written to `out`.
fn moved_by(caller: &mut Caller<'_, HostState>, out: u32) -> wasmtime::Result<u32> {
    let (memory, _) = HostState::split(caller)?;
    let bytes = memory.get(out as usize..).and_then(<[u8]>::first_chunk::<4>);
    Ok(bytes.copied().map_or(0, u32::from_le_bytes))
}

/// Waits for streams that lead elsewhere, in time that is not the guest's.
async fn piped(caller: &mut Caller<'_, HostState>, wait: impl AsyncFnOnce(&mut Streams)) {
    let stopwatch = std::sync::Arc::clone(&caller.data().stopwatch);
    stopwatch.begin_idle();
    wait(&mut caller.data_mut().streams).await;
    stopwatch.end_idle();
}

fn files_of(
    caller: &mut Caller<'_, HostState>,
    part: Part,
    call: impl FnOnce(&mut Descriptors, &mut Call<'_>) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    let now = now(caller, REALTIME);
    let (memory, state) = HostState::split(caller)?;
    let HostState { descriptors, streams, attempts, .. } = state;
    let result = call(descriptors, &mut Call { memory, stdio: &mut *streams, attempts, now, part });
    streams.flooded().map_err(wasmtime::Error::new)?;
    Ok(status(result))
}

type Guest<'a> = Caller<'a, HostState>;

fn add_descriptor_calls(l: &mut Linker<HostState>) -> wasmtime::Result<()> {
    l.func_wrap(WASI, "fd_advise", |c: Guest, fd: u32, offset: u64, length: u64, advice: u32| {
        files(c, |d, _| d.fd_advise(fd, offset, length, advice))
    })?;
    l.func_wrap_async(WASI, "fd_allocate", |c: Guest, (fd, offset, length): (u32, u64, u64)| {
        Box::new(slow_files(c, move |d, call| d.fd_allocate(call, fd, offset, length)))
    })?;
    l.func_wrap_async(WASI, "fd_close", |c: Guest, (fd,): (u32,)| Box::new(slow_files(c, move |d, _| d.fd_close(fd))))?;
    l.func_wrap(WASI, "fd_datasync", |c: Guest, fd: u32| files(c, |d, _| d.fd_datasync(fd)))?;
    l.func_wrap(WASI, "fd_fdstat_get", |c: Guest, fd: u32, out: u32| {
        files(c, |d, call| d.fd_fdstat_get(call, fd, out))
    })?;
    l.func_wrap(WASI, "fd_fdstat_set_flags", |c: Guest, fd: u32, flags: u32| {
        files(c, |d, _| d.fd_fdstat_set_flags(fd, flags))
    })?;
    l.func_wrap(WASI, "fd_fdstat_set_rights", |c: Guest, fd: u32, rights: u64, inheriting: u64| {
        files(c, |d, _| d.fd_fdstat_set_rights(fd, rights, inheriting))
    })?;
    l.func_wrap(WASI, "fd_filestat_get", |c: Guest, fd: u32, out: u32| {
        files(c, |d, call| d.fd_filestat_get(call, fd, out))
    })?;
    l.func_wrap_async(WASI, "fd_filestat_set_size", |c: Guest, (fd, size): (u32, u64)| {
        Box::new(slow_files(c, move |d, call| d.fd_filestat_set_size(call, fd, size)))
    })?;
    l.func_wrap(WASI, "fd_filestat_set_times", |c: Guest, fd: u32, accessed: u64, modified: u64, flags: u32| {
        files(c, |d, call| d.fd_filestat_set_times(call, fd, accessed, modified, flags))
    })?;
    l.func_wrap_async(
        WASI,
        "fd_pread",
        |mut c: Guest, (fd, buffers, count, offset, out): (u32, u32, u32, u64, u32)| {
            Box::new(async move {
                transfer(&mut c, out, |d, call, moved| {
                    d.fd_pread(call, fd, buffers, count, offset.saturating_add(moved), out)
                })
                .await
            })
        },
    )?;
    l.func_wrap(WASI, "fd_prestat_get", |c: Guest, fd: u32, out: u32| {
        files(c, |d, call| d.fd_prestat_get(call, fd, out))
    })?;
    l.func_wrap(WASI, "fd_prestat_dir_name", |c: Guest, fd: u32, name: u32, length: u32| {
        files(c, |d, call| d.fd_prestat_dir_name(call, fd, name, length))
    })?;
    l.func_wrap_async(
        WASI,
        "fd_pwrite",
        |mut c: Guest, (fd, buffers, count, offset, out): (u32, u32, u32, u64, u32)| {
            Box::new(async move {
                transfer(&mut c, out, |d, call, moved| {
                    d.fd_pwrite(call, fd, buffers, count, offset.saturating_add(moved), out)
                })
                .await
            })
        },
    )?;
    l.func_wrap_async(WASI, "fd_read", |mut c: Guest, (fd, buffers, count, out): (u32, u32, u32, u32)| {
        Box::new(async move {
            if c.data().streams.pipes.is_some() && c.data().descriptors.is_stdin(fd) {
                piped(&mut c, async |streams: &mut Streams| streams.fill().await).await;
            }
            transfer(&mut c, out, |d, call, _| d.fd_read(call, fd, buffers, count, out)).await
        })
    })?;
    l.func_wrap_async(
        WASI,
        "fd_readdir",
        |mut c: Guest, (fd, buffer, length, cookie, out): (u32, u32, u32, u64, u32)| {
            Box::new(async move {
                c.data_mut().host_work.count_bytes(length as usize);
                slow_files(c, |d, call| d.fd_readdir(call, fd, buffer, length, cookie, out)).await
            })
        },
    )?;
    l.func_wrap(WASI, "fd_renumber", |c: Guest, from: u32, to: u32| files(c, |d, _| d.fd_renumber(from, to)))?;
    l.func_wrap(WASI, "fd_seek", |c: Guest, fd: u32, offset: i64, whence: u32, out: u32| {
        files(c, |d, call| d.fd_seek(call, fd, offset, whence, out))
    })?;
    l.func_wrap(WASI, "fd_sync", |c: Guest, fd: u32| files(c, |d, _| d.fd_sync(fd)))?;
    l.func_wrap(WASI, "fd_tell", |c: Guest, fd: u32, out: u32| files(c, |d, call| d.fd_tell(call, fd, out)))?;
    l.func_wrap_async(WASI, "fd_write", |mut c: Guest, (fd, buffers, count, out): (u32, u32, u32, u32)| {
        Box::new(async move {
            let answer = transfer(&mut c, out, |d, call, _| d.fd_write(call, fd, buffers, count, out)).await;
            if c.data().streams.pipes.is_some() {
                piped(&mut c, async |streams: &mut Streams| streams.drain().await).await;
            }
            answer
        })
    })?;
    Ok(())
}

fn add_path_calls(l: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let at = |fd, address, length| PathAt { fd, address, length };
    l.func_wrap_async(WASI, "path_create_directory", move |c: Guest, (fd, path, length): (u32, u32, u32)| {
        Box::new(slow_files(c, move |d, call| d.path_create_directory(call, at(fd, path, length))))
    })?;
    l.func_wrap_async(
        WASI,
        "path_filestat_get",
        move |c: Guest, (fd, flags, path, length, out): (u32, u32, u32, u32, u32)| {
            Box::new(slow_files(c, move |d, call| d.path_filestat_get(call, at(fd, path, length), flags, out)))
        },
    )?;
    l.func_wrap_async(
        WASI,
        "path_filestat_set_times",
        move |c: Guest, (fd, flags, path, length, accessed, modified, which): (u32, u32, u32, u32, u64, u64, u32)| {
            Box::new(slow_files(c, move |d, call| {
                d.path_filestat_set_times(call, at(fd, path, length), flags, (accessed, modified), which)
            }))
        },
    )?;
    l.func_wrap_async(
        WASI,
        "path_link",
        move |c: Guest,
              (fd, flags, path, length, new_fd, new_path, new_length): (u32, u32, u32, u32, u32, u32, u32)| {
            Box::new(slow_files(c, move |d, call| {
                d.path_link(call, at(fd, path, length), flags, at(new_fd, new_path, new_length))
            }))
        },
    )?;
    l.func_wrap_async(
        WASI,
        "path_open",
        move |c: Guest,
              (fd, lookup_flags, path, length, open_flags, rights, inheriting, flags, out): (
            u32,
            u32,
            u32,
            u32,
            u32,
            u64,
            u64,
            u32,
            u32,
        )| {
            let how = OpenHow { lookup_flags, open_flags, rights, inheriting, descriptor_flags: flags };
            Box::new(slow_files(c, move |d, call| d.path_open(call, at(fd, path, length), how, out)))
        },
    )?;
    l.func_wrap_async(
        WASI,
        "path_readlink",
        move |c: Guest, (fd, path, length, buffer, size, out): (u32, u32, u32, u32, u32, u32)| {
            Box::new(slow_files(c, move |d, call| d.path_readlink(call, at(fd, path, length), buffer, size, out)))
        },
    )?;
    l.func_wrap_async(WASI, "path_remove_directory", move |c: Guest, (fd, path, length): (u32, u32, u32)| {
        Box::new(slow_files(c, move |d, call| d.path_remove_directory(call, at(fd, path, length))))
    })?;
    l.func_wrap_async(
        WASI,
        "path_rename",
        move |c: Guest, (fd, path, length, new_fd, new_path, new_length): (u32, u32, u32, u32, u32, u32)| {
            Box::new(slow_files(c, move |d, call| {
                d.path_rename(call, at(fd, path, length), at(new_fd, new_path, new_length))
            }))
        },
    )?;
    l.func_wrap_async(
        WASI,
        "path_symlink",
        move |c: Guest, (text, text_length, fd, path, length): (u32, u32, u32, u32, u32)| {
            Box::new(slow_files(c, move |d, call| d.path_symlink(call, text, text_length, at(fd, path, length))))
        },
    )?;
    l.func_wrap_async(WASI, "path_unlink_file", move |c: Guest, (fd, path, length): (u32, u32, u32)| {
        Box::new(slow_files(c, move |d, call| d.path_unlink_file(call, at(fd, path, length))))
    })?;
    Ok(())
}

/// Calls for what preview 1 has not: permission bits and users.
fn add_permission_calls(l: &mut Linker<HostState>) -> wasmtime::Result<()> {
    l.func_wrap_async(
        "proofbox",
        "path_set_mode",
        |c: Guest, (fd, flags, address, length, mode): (u32, u32, u32, u32, u32)| {
            let at = PathAt { fd, address, length };
            Box::new(slow_files(c, move |d, call| d.path_set_mode(call, at, flags, mode)))
        },
    )?;
    l.func_wrap_async(
        "proofbox",
        "path_set_owner",
        |c: Guest, (fd, flags, address, length, owner): (u32, u32, u32, u32, u32)| {
            let at = PathAt { fd, address, length };
            Box::new(slow_files(c, move |d, call| d.path_set_owner(call, at, flags, owner)))
        },
    )?;
    l.func_wrap("proofbox", "fd_set_mode", |c: Guest, fd: u32, mode: u32| {
        files(c, |d, call| d.fd_set_mode(call, fd, mode))
    })?;
    l.func_wrap("proofbox", "set_mask", |mut c: Guest, mask: u32| c.data_mut().descriptors.set_mask(mask))?;
    l.func_wrap("proofbox", "user", |c: Guest| c.data().descriptors.user())?;
    Ok(())
}

fn clock_time_get(mut caller: Guest, clock: u32, _precision: u64, out: u32) -> wasmtime::Result<i32> {
    let now = now(&mut caller, clock);
    let (memory, state) = HostState::split(&mut caller)?;
    state.usage_events.clock(clock);
    let answer = status(put(memory, out as usize, &now.to_le_bytes()));
    end_when_over(&mut caller)?;
    Ok(answer)
}

/// Answers with the resolution of a clock, in nanoseconds: that of [`Clock::now`]. wasmtime-wasi would ask the kernel,
/// whose refusal in a worker its library does not see.
fn clock_res_get(mut caller: Guest, clock: u32, out: u32) -> wasmtime::Result<i32> {
    if clock > CLOCKS {
        return Ok(status(Err(Errno::Inval)));
    }
    let (memory, _) = HostState::split(&mut caller)?;
    Ok(status(put(memory, out as usize, &1_u64.to_le_bytes())))
}

/// Fills a buffer with random bytes; yields between parts of a long one.
async fn random_get(mut caller: Guest<'_>, buffer: u32, length: u32) -> wasmtime::Result<i32> {
    let (start, end) = (buffer as usize, buffer as usize + length as usize);
    let (memory, state) = HostState::split(&mut caller)?;
    if end > memory.len() {
        return Ok(status(Err(Errno::Fault)));
    }
    state.usage_events.entropy();
    for at in (start..end).step_by(RANDOM_AT_ONCE) {
        if at > start {
            yield_time_slice(&mut caller).await;
        }
        let (memory, state) = HostState::split(&mut caller)?;
        if state.entropy.fill(&mut memory[at..end.min(at + RANDOM_AT_ONCE)]).is_err() {
            return Ok(status(Err(Errno::Io)));
        }
    }
    caller.data_mut().host_work.count_bytes(length as usize);
    settle(&mut caller).await?;
    Ok(status(Ok(())))
}

/// Sleeps until the first clock is due. Descriptors are always ready: nothing here blocks.
async fn poll_oneoff(
    mut caller: Guest<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    ready: u32,
) -> wasmtime::Result<i32> {
    let (memory, _) = HostState::split(&mut caller)?;
    let asked = match read_subscriptions(memory, subscriptions, count) {
        Ok(asked) => asked,
        Err(errno) => return Ok(i32::from(errno.code())),
    };
    let remaining = |subscription: &Subscription, caller: &mut Guest<'_>| match subscription.due {
        Due::Now => 0,
        Due::In(nanoseconds) => nanoseconds,
        Due::At { clock, nanoseconds } => nanoseconds.saturating_sub(now(caller, clock)),
    };
    if asked.iter().any(|subscription| subscription.tag == CLOCK_TAG) {
        caller.data_mut().usage_events.sleep();
    }
    let waits: Vec<u64> = asked.iter().map(|subscription| remaining(subscription, &mut caller)).collect();
    let shortest = waits.iter().copied().min().unwrap_or(0);
    if shortest > 0 {
        let duration = Duration::from_nanos(shortest);
        let state = caller.data_mut();
        match state.clock {
            Clock::Virtual { .. } => state.clock.count_sleep(duration),
            Clock::Real { .. } => {
                let began = Instant::now();
                let stopwatch = std::sync::Arc::clone(&state.stopwatch);
                match &state.call {
                    None => stopwatch.sleep(duration).await,
                    Some(call_state) => {
                        let longest = call_state.longest_sleep(stopwatch.execution());
                        let interrupt = std::sync::Arc::clone(&call_state.interrupt);
                        stopwatch.wait_for(duration.min(longest), interrupt.requested()).await;
                        if duration > longest {
                            interrupt.ask(Reason::Wall);
                        }
                        // Who looks after the call trips the guest before it goes on (`Interpreter::call`).
                        if interrupt.reason().is_some() {
                            tokio::task::yield_now().await;
                        }
                    }
                }
                caller.data_mut().clock.count_sleep(began.elapsed());
            }
        }
    }
    let (memory, _) = HostState::split(&mut caller)?;
    let mut written = 0u32;
    for (subscription, _) in asked.iter().zip(&waits).filter(|(_, wait)| **wait <= shortest) {
        let mut event = [0u8; EVENT];
        event[..8].copy_from_slice(&subscription.userdata);
        event[10] = subscription.tag;
        if subscription.tag != CLOCK_TAG {
            // How much is there to read or write: one byte, at least.
            event[16] = 1;
        }
        let at = (events as usize).saturating_add(written as usize * EVENT);
        if let Err(errno) = put(memory, at, &event) {
            return Ok(i32::from(errno.code()));
        }
        written += 1;
    }
    let answer = status(put(memory, ready as usize, &written.to_le_bytes()));
    settle(&mut caller).await?;
    Ok(answer)
}

struct Subscription {
    userdata: [u8; 8],
    tag: u8,
    due: Due,
}

enum Due {
    Now,
    In(u64),
    At { clock: u32, nanoseconds: u64 },
}

fn read_subscriptions(memory: &[u8], address: u32, count: u32) -> Result<Vec<Subscription>, Errno> {
    // More than there can be descriptors is no honest request.
    if count == 0 || count > 1024 {
        return Err(Errno::Inval);
    }
    let start = address as usize;
    let bytes = memory.get(start..start.saturating_add(count as usize * SUBSCRIPTION)).ok_or(Errno::Fault)?;
    let one = |bytes: &[u8]| {
        let array = |at: usize| -> [u8; 8] { std::array::from_fn(|i| bytes[at + i]) };
        let tag = bytes[8];
        let clock = u32::from_le_bytes(std::array::from_fn(|i| bytes[16 + i]));
        let nanoseconds = u64::from_le_bytes(array(24));
        let absolute = u16::from_le_bytes([bytes[40], bytes[41]]) & ABSOLUTE != 0;
        let due = match (tag, absolute) {
            (CLOCK_TAG, false) => Due::In(nanoseconds),
            (CLOCK_TAG, true) => Due::At { clock, nanoseconds },
            _ => Due::Now,
        };
        Subscription { userdata: array(0), tag, due }
    };
    Ok(bytes.chunks_exact(SUBSCRIPTION).map(one).collect())
}

fn put(memory: &mut [u8], at: usize, bytes: &[u8]) -> Result<(), Errno> {
    let target = memory.get_mut(at..at.saturating_add(bytes.len())).ok_or(Errno::Fault)?;
    target.copy_from_slice(bytes);
    Ok(())
}

/// A message of the guest's runner; 0 when it was taken.
fn post(caller: &mut Guest, address: u32, length: u32) -> wasmtime::Result<i32> {
    let fuel = fuel::used(&mut *caller);
    let (memory, state) = HostState::split(caller)?;
    let start = address as usize;
    let Some(message) = memory.get(start..start.saturating_add(length as usize)) else { return Ok(1) };
    if let Some(call_state) = &mut state.call {
        let Ok((effect, event)) = call_state.reporter.take(message) else { return Ok(1) };
        if let (Some(event), Some(output_stream)) = (event, &state.streams.output_stream) {
            output_stream.send(event);
        }
        if let ReportEffect::Attempt(tried) = effect {
            state.attempts.record(tried.kind, &tried.operation, &tried.target, Access::Refused);
        }
        return Ok(0);
    }
    let execution = state.stopwatch.execution();
    let peak_memory_bytes = state.limiter.peak() as u64;
    // Where the tests have an interpreter of their own, what counts is what the candidate has cost.
    let spent = match &state.endpoint {
        Some(endpoint) if endpoint.side() == Side::Grader => endpoint.spent(),
        _ => Spent { fuel, execution, peak_memory_bytes },
    };
    let printed = || state.endpoint.as_ref().map(Endpoint::case_output).unwrap_or_default();
    match state.reporter.take(message, spent, printed) {
        Ok(ReportEffect::Nothing) => Ok(0),
        Ok(ReportEffect::Started) => {
            state.usage_events.start();
            Ok(0)
        }
        Ok(ReportEffect::Attempt(tried)) => {
            state.attempts.record(tried.kind, &tried.operation, &tried.target, Access::Refused);
            Ok(0)
        }
        Err(_) => Ok(1),
    }
}
