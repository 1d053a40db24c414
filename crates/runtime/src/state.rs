//! Host state of one guest: its clocks, streams, files, reports and limits.

use std::sync::Arc;

use wasmtime::{Caller, Memory, TypedFunc};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p1::WasiP1Ctx;

use super::capture::Capture;
use super::clock::Clock;
use super::entropy::Entropy;
use super::fuel_meter::FuelMeter;
use super::grading::channel::Endpoint;
use super::host_work::HostWork;
use super::limiter::MemoryLimiter;
use super::page_reset::KeptPages;
use super::report::Reporter;
use super::scheduler::Stopwatch;
use super::session::call_state::CallState;
use super::session::output::OutputStream;
use super::session::pipes::{PendingIo, Pipes};
use super::shell::Shell;
use super::usage_events::UsageEvents;
use proofbox_vfs::{Attempts, Descriptors, Errno, Output, Stdio};

/// Multiple of the captured bytes beyond which a program that writes more is stopped: it fills nothing, but never ends
/// either.
const FLOOD_FACTOR: u64 = 64;

/// Host function that is called as a guest's code is. It takes an address of the caller's stack and the number of pages that are
/// kept, and returns 1 if it has given back all others of the stack that it is called on (`native_stack`).
pub(crate) type StackRelease = TypedFunc<(u64, u32), u32>;

/// The host's side of one guest.
pub(crate) struct HostState {
    pub(super) wasi: WasiP1Ctx,
    pub(super) memory: Option<Memory>,
    /// Function of the store that gives back its stack, once it has been asked for.
    pub(super) release_stack: Option<StackRelease>,
    /// Own pages of the memory since its last reset, in an interpreter that had one.
    pub(super) kept_pages: Option<KeptPages>,
    pub(super) limiter: MemoryLimiter,
    pub(super) clock: Clock,
    pub(super) stopwatch: Arc<Stopwatch>,
    pub(super) fuel: FuelMeter,
    pub(super) streams: Streams,
    pub(super) descriptors: Descriptors,
    pub(super) attempts: Attempts,
    pub(super) reporter: Reporter,
    pub(super) usage_events: UsageEvents,
    pub(super) host_work: HostWork,
    pub(super) entropy: Entropy,
    /// Endpoint in a conversation with another guest.
    pub(super) endpoint: Option<Endpoint>,
    /// The call that it serves now, in a session.
    pub(super) call: Option<CallState>,
    /// Shell of a guest that is no session's, where it may have one.
    pub(super) shell: Option<Shell>,
    /// Result of a command, until the guest takes it.
    pub(super) command_reply: Option<Vec<u8>>,
}

/// Standard input, output and error.
pub(crate) struct Streams {
    pub(super) stdin: Vec<u8>,
    pub(super) stdin_at: usize,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) endpoint: Option<Endpoint>,
    /// Receiver of output as it comes.
    pub(super) output_stream: Option<Arc<OutputStream>>,
    /// Pipes that the streams are connected to, when they lead elsewhere.
    pub(super) pipes: Option<Pipes>,
    pub(super) pending_io: PendingIo,
    flood: u64,
}

/// The guest wrote far more than is kept.
#[derive(Debug, thiserror::Error)]
#[error("output flood: more than {0} bytes were written")]
pub(crate) struct OutputFlood(pub u64);

impl Streams {
    /// Reads `stdin`, keeps `limit` bytes of each output.
    pub(crate) fn new(stdin: Vec<u8>, limit: u64) -> Self {
        Self {
            stdin,
            stdin_at: 0,
            stdout: Capture::new(limit),
            stderr: Capture::new(limit),
            endpoint: None,
            output_stream: None,
            pipes: None,
            pending_io: PendingIo::default(),
            flood: limit.max(64 << 10).saturating_mul(FLOOD_FACTOR),
        }
    }

    /// Checks that the guest has not written so much that it must be stopped.
    pub(crate) fn flooded(&self) -> Result<(), OutputFlood> {
        let written = self.stdout.total().saturating_add(self.stderr.total());
        if written > self.flood { Err(OutputFlood(self.flood)) } else { Ok(()) }
    }
}

impl Streams {
    /// Waits for input, where there is none yet.
    pub(super) async fn fill(&mut self) {
        const AT_ONCE: usize = 64 << 10;
        if let Some(pipes) = &mut self.pipes
            && self.pending_io.read.is_empty()
            && !self.pending_io.ended
        {
            let mut bytes = vec![0; AT_ONCE];
            let count = pipes.stdin.read(&mut bytes).await;
            bytes.truncate(count);
            self.pending_io.ended = count == 0;
            self.pending_io.read = bytes;
        }
    }

    /// Passes on what was written; an output that nobody reads is broken from then on.
    pub(super) async fn drain(&mut self) {
        let Some(pipes) = &self.pipes else { return };
        for (output, bytes) in self.pending_io.written.drain(..) {
            let (index, outlet) = match output {
                Output::Stdout => (0, &pipes.stdout),
                Output::Stderr => (1, &pipes.stderr),
            };
            if !self.pending_io.broken[index] {
                self.pending_io.broken[index] = !outlet.write(&bytes).await;
            }
        }
    }
}

impl Stdio for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        if self.pipes.is_some() {
            let length = self.pending_io.read.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.pending_io.read[..length]);
            self.pending_io.read.drain(..length);
            return Ok(length);
        }
        let rest = &self.stdin[self.stdin_at..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.stdin_at += length;
        Ok(length)
    }

    fn write(&mut self, output: Output, bytes: &[u8]) -> Result<usize, Errno> {
        if self.pipes.is_some() {
            if self.pending_io.broken[usize::from(output == Output::Stderr)] {
                return Err(Errno::Pipe);
            }
            self.pending_io.written.push((output, bytes.to_vec()));
            return Ok(bytes.len());
        }
        match output {
            Output::Stdout => self.stdout.write(bytes),
            Output::Stderr => self.stderr.write(bytes),
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.printed(output, bytes);
        }
        if let Some(output_stream) = &self.output_stream {
            output_stream.write(output, bytes);
        }
        Ok(bytes.len())
    }
}

impl HostState {
    /// Makes the state of a persistent interpreter.
    pub(super) fn for_session(memory_bytes: u64, descriptors: Descriptors, clock: Clock) -> Self {
        Self {
            wasi: wasi(),
            memory: None,
            release_stack: None,
            kept_pages: None,
            limiter: MemoryLimiter::new(memory_bytes),
            clock,
            stopwatch: Arc::new(Stopwatch::default()),
            fuel: FuelMeter::new(0),
            streams: Streams::new(Vec::new(), 0),
            descriptors,
            attempts: Attempts::default(),
            reporter: Reporter::default(),
            usage_events: UsageEvents::default(),
            host_work: HostWork::default(),
            entropy: Entropy::new(None),
            endpoint: None,
            call: None,
            shell: None,
            command_reply: None,
        }
    }

    /// The guest's memory and the rest of its state, to be used together.
    pub(super) fn split<'a>(
        caller: &'a mut Caller<'_, HostState>,
    ) -> wasmtime::Result<(&'a mut [u8], &'a mut HostState)> {
        let memory = match caller.data().memory {
            Some(memory) => memory,
            // While the image is made nobody has looked the memory up yet.
            None => caller
                .get_export("memory")
                .and_then(wasmtime::Extern::into_memory)
                .ok_or_else(|| wasmtime::Error::msg("the guest has no memory"))?,
        };
        caller.data_mut().memory = Some(memory);
        Ok(memory.data_and_store_mut(caller))
    }
}

/// Preview 1 for a guest without arguments, environment, directories or network.
pub(crate) fn wasi() -> WasiP1Ctx {
    WasiCtxBuilder::new().build_p1()
}
