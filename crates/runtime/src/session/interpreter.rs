//! Persistent interpreter: it serves one call after another, and none of them ends it unless it must.
//!
//! A limit that is met interrupts the guest, as Ctrl-C would, and its namespace lives on. Only a guest that does not
//! heed that within [`GRACE`] is stopped for good.

use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use proofbox_metering::STACK_POINTER;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::{Global, Instance, Memory, Store, TypedFunc, Val};

use super::call_state::{CallState, GRACE};
use super::cell::{CellReporter, error_of};
use super::interrupt::{Interrupt, Reason, SignalWords, Window};
use super::output::{OutputStream, Sink};
use super::script::RunScript;
use crate::clock::Clock;
use crate::denials;
use crate::error::{RunError, by_engine};
use crate::fuel;
use crate::guest::{self, RUNNER_FAILED, take_pending_output};
use crate::host_work::HostWork;
use crate::idle::RunKind;
use crate::page_reset::KeptPages;
use crate::pool::{InterpreterPool, LiveCount, LoadedImage, Pristine};
use crate::scheduler::{CpuScheduler, Stopwatch, Times, run_metered};
use crate::state::{HostState, Streams};
use crate::usage_events::UsageEvents;
use crate::{native_stack, page_reset, pagemap};
use proofbox_types::outcome::{End, Limit, LimitHit, Outcome, Report, Usage};
use proofbox_types::session::{CellLimits, CellOutcome, Raised};
use proofbox_vfs::{Attempts, Descriptors, Refusals, lock};

/// Fuel that a guest has to heed an interrupt.
const GRACE_FUEL: u64 = 60_000_000_000;

/// Pages of its own that an interpreter may have beyond those that are known to differ from the image's.
const MAX_UNCOMPARED_PAGES: usize = 8;

/// Context of a call, beside its request.
pub(super) struct CallWith<'a> {
    /// Interrupt of the call.
    pub interrupt: &'a Arc<Interrupt>,
    /// Receiver of the call's events.
    pub sink: Option<Sink>,
    /// Runner of its commands.
    pub run_script: RunScript,
}

/// End of a call, and what it took.
struct CallEnd {
    /// Result of the runner. None: it was cut off.
    returned: Option<wasmtime::Result<i32>>,
    times: Times,
    fuel: u64,
    /// Reason why it was interrupted.
    reason: Option<Reason>,
    /// True when the interpreter is of no more use.
    lost: bool,
}

/// Persistent interpreter of a session.
pub(super) struct Interpreter {
    pub(super) store: Store<HostState>,
    instance: Instance,
    pub(super) memory: Memory,
    pub(super) stack_pointer: Global,
    buffer: TypedFunc<u32, u32>,
    run: TypedFunc<u32, i32>,
    places: SignalWords,
    core: CpuScheduler,
    /// True when the first request has been carried out: the interpreter has its environment and working directory.
    pub(super) started: bool,
    /// True when no request is being carried out, nor was one that broke it.
    is_at_rest: bool,
    /// Variables of the session that are newer than its environment: it is told of them with the next request.
    pub(super) new_env: Vec<(String, String)>,
    /// Pages of its own that have differed from the image's when they were compared.
    changed: Vec<Range<usize>>,
    /// Pages of its own, while they are known: nothing has run since they were looked at.
    known_own: Option<Vec<Range<usize>>>,
    _live: LiveCount,
    /// Permit of a persistent interpreter.
    _place: OwnedSemaphorePermit,
}

impl Interpreter {
    /// A fresh one. Its monotonic clock goes on from `uptime`.
    ///
    /// # Errors
    /// Returns an error when the pool has none.
    pub(super) async fn new(
        pool: &InterpreterPool,
        image: &LoadedImage,
        memory_bytes: u64,
        descriptors: Descriptors,
        uptime: Duration,
    ) -> Result<Self, RunError> {
        let place = pool.acquire_session_slot()?;
        let live = pool.count_live();
        let clock = Clock::real_since(uptime);
        let state = HostState::for_session(memory_bytes, descriptors, clock);
        let (mut store, instance) = pool.interpreter(&image.module, RunKind::Session, state, GRACE_FUEL).await?;
        let missing =
            || RunError::Engine { what: "making an interpreter", reason: "the image lacks an export".to_owned() };
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(missing)?;
        let stack_pointer = instance.get_global(&mut store, STACK_POINTER).ok_or_else(missing)?;
        let buffer =
            instance.get_typed_func(&mut store, "proofbox_buffer").map_err(by_engine("making an interpreter"))?;
        let run = instance.get_typed_func(&mut store, "proofbox_run").map_err(by_engine("making an interpreter"))?;
        let places = image.module.signal_words(&mut store, instance, memory).await?;
        let size = memory.data_size(&store);
        store.data_mut().memory = Some(memory);
        store.data_mut().limiter.started_with(size);
        Ok(Self {
            store,
            instance,
            memory,
            stack_pointer,
            buffer,
            run,
            places,
            core: pool.core().clone(),
            started: false,
            is_at_rest: true,
            new_env: Vec::new(),
            changed: Vec::new(),
            known_own: None,
            _live: live,
            _place: place,
        })
    }

    /// Carries out one request. Not to be dropped before its end: interrupt it instead.
    pub(super) async fn call(&mut self, request: &[u8], limits: &CellLimits, with: CallWith<'_>) -> CellOutcome {
        let CallWith { interrupt, sink, run_script } = with;
        self.known_own = None;
        self.is_at_rest = false;
        let output_stream = sink.map(|sink| Arc::new(OutputStream::new(sink, limits.output_bytes)));
        let stopwatch = Arc::new(Stopwatch::default());
        let state = self.store.data_mut();
        state.stopwatch = Arc::clone(&stopwatch);
        state.streams = Streams::new(Vec::new(), limits.output_bytes);
        state.streams.output_stream = output_stream.clone();
        state.attempts = Attempts::default();
        state.usage_events = UsageEvents::default();
        state.host_work = HostWork::default();
        state.limiter.forget_refusals();
        state.call = Some(CallState {
            reporter: CellReporter::default(),
            interrupt: Arc::clone(interrupt),
            limits: *limits,
            run_script,
            wall: limits.wall,
        });
        let fuelled = fuel::grant_with_grace(&mut self.store, limits.fuel, GRACE_FUEL);

        let watch = Watch {
            window: Window::new(self.memory.data_ptr(&self.store), self.memory.data_size(&self.store)),
            places: self.places,
            interrupt: Arc::clone(interrupt),
            output_stream: output_stream.clone(),
            stopwatch: Arc::clone(&stopwatch),
            wall: limits.wall,
            fuel: limits.fuel,
        };
        let (store, memory, buffer, run) = (&mut self.store, self.memory, &self.buffer, &self.run);
        let call = async move {
            fuelled?;
            let length = u32::try_from(request.len())?;
            let address = buffer.call_async(&mut *store, length).await?;
            if address == 0 {
                return Ok(RUNNER_FAILED);
            }
            memory.write(&mut *store, address as usize, request)?;
            run.call_async(&mut *store, length).await
        };
        let (returned, times) = run_metered(watch.over(call), stopwatch, limits.wall + 2 * GRACE, &self.core).await;
        // `None` twice over: by the clock, or because it did not heed the interrupt.
        let returned = returned.flatten();

        let reason = interrupt.reason();
        let lost = match &returned {
            Some(Ok(RUNNER_FAILED)) => reason.is_none() && !self.store.data().limiter.refused(),
            Some(Ok(_)) => false,
            _ => true,
        };
        let fuel = fuel::used(&mut self.store);
        if lost {
            take_pending_output(&mut self.store, self.instance).await;
        } else {
            if reason.is_some() {
                self.places.clear(self.memory.data_mut(&mut self.store));
            }
            // Many sessions rest at a time, and no limit counts what their calls have left here.
            native_stack::release(&mut self.store, 1);
        }
        if let Some(output_stream) = output_stream {
            output_stream.finish();
        }
        self.started = true;
        self.is_at_rest = matches!(&returned, Some(Ok(code)) if *code != RUNNER_FAILED);
        self.new_env = Vec::new();
        self.outcome(CallEnd { returned, times, fuel, reason, lost }, limits)
    }

    fn outcome(&mut self, ended: CallEnd, limits: &CellLimits) -> CellOutcome {
        let CallEnd { returned, times, fuel, reason, lost } = ended;
        let state = self.store.data_mut();
        state.streams.output_stream = None;
        let Some(CallState { reporter, .. }) = state.call.take() else {
            unreachable!("it was put there by the caller")
        };
        let finished = matches!(returned, Some(Ok(0)));
        let limited = |limit, allowed| End::Limited(LimitHit { limit, allowed });
        let end = match reason {
            // It met the limit, even where it took the interrupt for something to clean up after, and went on.
            Some(Reason::Fuel) => limited(Limit::Fuel, limits.fuel),
            Some(Reason::Wall) => limited(Limit::Wall, u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX)),
            // What it said itself of how it ended is more than that it was interrupted.
            Some(Reason::Requested) if !lost => End::Exited(i32::from(!finished)),
            _ => guest::end(returned, state, &limits_of(limits, state.limiter.limit())),
        };
        let usage = Usage {
            fuel: fuel.min(limits.fuel),
            cpu: times.cpu,
            execution: times.execution(),
            waiting: times.waiting,
            start: Duration::ZERO,
            peak_memory_bytes: state.limiter.peak() as u64,
            memory_refused: state.limiter.refused(),
        };
        let streams = std::mem::replace(&mut state.streams, Streams::new(Vec::new(), 0));
        let attempts = std::mem::take(&mut state.attempts);
        let mut report = Report {
            compiled: Some(reporter.raised.as_ref().is_none_or(|raised| raised.name != "SyntaxError")),
            result: reporter.result,
            error: reporter.raised.as_ref().map(error_of),
            odd_messages: reporter.odd_messages,
            error_paths: if reporter.paths.is_empty() { Vec::new() } else { vec![(None, reporter.paths)] },
            ..Report::default()
        };
        {
            let tree = lock(state.descriptors.tree());
            denials::classify_denied(&mut report, &Refusals::new(&tree, attempts.list(), attempts.dropped_count()));
        }
        let raised = reporter.raised.map(|raised| Raised {
            // As it was judged.
            class: report.error.as_ref().map_or(raised.class, |error| error.class),
            ..raised
        });
        let outcome = Outcome {
            end,
            report,
            stdout: streams.stdout.finish(),
            stderr: streams.stderr.finish(),
            usage,
            attempts: attempts.list().to_vec(),
            attempts_dropped: attempts.dropped_count(),
            grader: None,
            files: Vec::new(),
            files_error: None,
        };
        CellOutcome {
            outcome,
            number: 0,
            displays: reporter.displays,
            raised,
            interrupted: reason == Some(Reason::Requested) && !finished,
            lost,
        }
    }

    /// Pages of its memory that are its own, not shared with other interpreters: at least those that it has changed.
    ///
    /// # Errors
    /// Returns an error when the kernel does not tell.
    pub(super) fn own_pages(&self) -> std::io::Result<Vec<Range<usize>>> {
        match &self.known_own {
            Some(own) => Ok(own.clone()),
            None => {
                let memory = (self.memory.data_ptr(&self.store), self.memory.data_size(&self.store));
                pagemap::own_pages(memory.0, memory.1)
            }
        }
    }

    /// Returns what a memory has that the module exports beside the interpreter's own, for counters.
    pub(super) fn exported_memory(&mut self, name: &str) -> Option<&[u8]> {
        let memory = self.instance.get_memory(&mut self.store, name)?;
        Some(memory.data(&self.store))
    }

    /// Shares pages with the image again that are as they were: those that the slot kept from earlier runs, and those
    /// that were written to and put back; and those of the C stack that are not in use. Pages that have differed once are not
    /// compared again, nor the others where they are few; other work gets its turns meanwhile.
    pub(super) async fn share_unchanged(&mut self, pristine: &Pristine) {
        // A release of less than one of the kernel's pages would take what lies beside it.
        if !pagemap::has_small_pages() {
            return;
        }
        let Ok(own) = self.own_pages() else { return };
        let in_use = page_reset::without(&own, &[pristine.dead_stack(self.stack_pointer())]);
        let memory = self.memory.data_mut(&mut self.store);
        for pages in page_reset::without(&own, &in_use) {
            page_reset::release(memory, pages);
        }
        let own = in_use;
        let new: Vec<usize> = page_reset::without(&own, &self.changed).into_iter().flatten().collect();
        if new.len() <= MAX_UNCOMPARED_PAGES {
            self.known_own = Some(own);
            return;
        }
        let mut unchanged: Vec<Range<usize>> = Vec::new();
        for some in new.chunks(pagemap::PAGES_AT_ONCE) {
            pristine.with_memory(|image| {
                let memory = self.memory.data(&self.store);
                for &page in some {
                    if pagemap::page_of(memory, page) != pagemap::page_of(image, page) {
                        continue;
                    }
                    match unchanged.last_mut() {
                        Some(last) if last.end == page => last.end += 1,
                        _ => unchanged.push(page..page + 1),
                    }
                }
            });
            if new.len() > pagemap::PAGES_AT_ONCE {
                tokio::task::yield_now().await;
            }
        }
        let memory = self.memory.data_mut(&mut self.store);
        for pages in &unchanged {
            page_reset::release(memory, pages.clone());
        }
        self.changed = page_reset::without(&own, &unchanged);
        self.known_own = Some(self.changed.clone());
    }

    /// Ends it. It is kept for another session, if it can be made equal to the image.
    pub(super) fn end(self, pool: &InterpreterPool, image: &LoadedImage) {
        let Self { store, instance, is_at_rest, .. } = self;
        let returned = if is_at_rest { Some(&Ok(0)) } else { None };
        pool.end_run(&image.module, RunKind::Session, (store, instance), returned);
    }

    /// Returns how long the monotonic clock has run.
    pub(super) fn uptime(&self) -> Duration {
        self.store.data().clock.uptime()
    }

    /// Returns the open files of the interpreter.
    pub(super) fn descriptors(&self) -> &Descriptors {
        &self.store.data().descriptors
    }

    /// The stack pointer, as it is between calls.
    pub(super) fn stack_pointer(&mut self) -> i32 {
        self.stack_pointer.get(&mut self.store).i32().unwrap_or(0)
    }

    /// Puts the state of another interpreter of the same image into this fresh one: its size of memory and pages.
    ///
    /// # Errors
    /// Returns an error when there is no room for it.
    pub(super) async fn resume<'a>(
        &mut self,
        memory_bytes: usize,
        stack_pointer: i32,
        pages: impl Iterator<Item = (usize, &'a [u8])>,
    ) -> Result<(), RunError> {
        self.known_own = None;
        let size = self.memory.data_size(&self.store);
        let wasm_pages = (memory_bytes.saturating_sub(size) as u64).div_ceil(65_536);
        if wasm_pages > 0 {
            let grown = self.memory.grow_async(&mut self.store, wasm_pages).await;
            grown.map_err(by_engine("growing the memory of a restored interpreter"))?;
        }
        let memory = self.memory.data_mut(&mut self.store);
        let mut written: Vec<Range<usize>> = Vec::new();
        for (page, bytes) in pages {
            let start = page * pagemap::PAGE;
            written.push(page..page + bytes.len() / pagemap::PAGE);
            let place = memory.get_mut(start..start + bytes.len());
            place
                .ok_or_else(|| RunError::Engine {
                    what: "restoring",
                    reason: "a page lies outside the memory".to_owned(),
                })?
                .copy_from_slice(bytes);
        }
        // What its last session has left is as in the image, and the image's again.
        let kept = self.store.data_mut().kept_pages.take().map(KeptPages::into_pages).unwrap_or_default();
        let memory = self.memory.data_mut(&mut self.store);
        for pages in page_reset::without(&kept, &written) {
            page_reset::release(memory, pages);
        }
        self.stack_pointer
            .set(&mut self.store, Val::I32(stack_pointer))
            .map_err(by_engine("restoring the stack pointer"))?;
        self.started = true;
        Ok(())
    }
}

fn limits_of(limits: &CellLimits, memory_bytes: u64) -> proofbox_types::grant::Limits {
    proofbox_types::grant::Limits {
        fuel: limits.fuel,
        wall: limits.wall,
        memory_bytes,
        output_bytes: limits.output_bytes,
        files_bytes: 0,
        files_count: 0,
    }
}

/// Watch over a call, from time slice to time slice of its guest.
struct Watch {
    window: Window,
    places: SignalWords,
    interrupt: Arc<Interrupt>,
    output_stream: Option<Arc<OutputStream>>,
    stopwatch: Arc<Stopwatch>,
    wall: Duration,
    /// Fuel after which it is interrupted.
    fuel: u64,
}

impl Watch {
    /// Drives the call to its end; `None` when the guest did not heed an interrupt.
    async fn over<F: Future>(self, call: F) -> Option<F::Output> {
        let mut call = pin!(call);
        let mut used: u64 = 0;
        let mut tripped_at: Option<Duration> = None;
        std::future::poll_fn(|context| {
            let execution = self.stopwatch.execution();
            if self.interrupt.reason().is_some() {
                match tripped_at {
                    None => {
                        // SAFETY: the call is suspended, or has not begun: we are about to poll it, on this thread. It
                        // borrows the interpreter, so its memory is there; the pool never moves it.
                        unsafe { self.window.trip(&self.places) };
                        tripped_at = Some(execution);
                    }
                    Some(then) if execution.saturating_sub(then) >= GRACE => return Poll::Ready(None),
                    Some(_) => {}
                }
            }
            if let Poll::Ready(returned) = call.as_mut().poll(context) {
                return Poll::Ready(Some(returned));
            }
            let rests = self.stopwatch.is_idle();
            if let Some(output_stream) = &self.output_stream {
                if rests {
                    output_stream.flush();
                } else {
                    output_stream.flush_if_due();
                }
            }
            if !rests {
                used = self.stopwatch.take_noted_fuel().unwrap_or(used);
                if used > self.fuel {
                    self.interrupt.ask(Reason::Fuel);
                }
            }
            if self.stopwatch.execution() >= self.wall {
                self.interrupt.ask(Reason::Wall);
            }
            Poll::Pending
        })
        .await
    }
}
