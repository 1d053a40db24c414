//! Pool of interpreters: loads images, hands out instances of them, and counts those that live.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use wasmtime::{Engine, InstancePre, Linker, Memory, Module, Store};

use super::clock::Clock;
use super::engine::{self, PoolSize};
use super::error::{RunError, by_engine};
use super::packages;
use super::page_reset::Resident;
use super::pagemap;
use super::preview1;
use super::scheduler::CpuScheduler;
use super::state::HostState;
use proofbox_vfs::{Base, Credentials, Descriptors, FilesQuota, SharedTree, User};

/// Fuel between two looks at the clock and at other guests: about a millisecond.
pub(super) const YIELD_INTERVAL: u64 = 10_000_000;

/// Interpreters that the commands of all sessions of a worker have at once, beside those of runs and of the sessions
/// themselves, which never find their slots taken.
pub const COMMAND_SLOTS: u32 = 16;

/// Files that a pool loads an image from.
#[derive(Clone, Debug)]
pub struct ImageFiles {
    /// Hash of the image.
    pub hash: String,
    /// Path of the compiled module.
    pub compiled: PathBuf,
    /// File with the packages that are imported from files.
    pub packages: Option<PathBuf>,
}

/// Makes interpreters from an image.
pub struct InterpreterPool {
    engine: Engine,
    pre: InstancePre<HostState>,
    initial_memory_bytes: u64,
    /// Files that guests start from: the default image's packages.
    base: Bases,
    /// Files that guests start from in the other images, by image hash.
    other_bases: HashMap<String, Bases>,
    live: Arc<AtomicUsize>,
    /// Permits for persistent interpreters: all other slots are for runs, which must never find them taken.
    session_slots: Arc<Semaphore>,
    /// Scheduler of this process's core.
    core: CpuScheduler,
    /// Memory that checkpoints are compared with; made for the first checkpoint.
    pristine: OnceCell<Pristine>,
    /// Pages that stay in memory between runs.
    resident: OnceLock<Resident>,
    /// Small runs since pages were last given back.
    small_runs: AtomicUsize,
}

/// Counts an interpreter as live until dropped.
pub(super) struct LiveCount(Arc<AtomicUsize>);

impl Drop for LiveCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Files that guests start from in an image.
struct Bases {
    /// Base of single runs, which have no business with the files of a system.
    run: Base,
    /// Base of sessions.
    session: Base,
}

impl Bases {
    fn of(image: &ImageFiles) -> wasmtime::Result<Self> {
        let run = packages::base(image.packages.as_deref())?;
        let session = run.with_system_files().map_err(|error| wasmtime::Error::msg(error.to_string()))?;
        Ok(Self { run, session })
    }
}

impl InterpreterPool {
    /// Makes the pool of a worker: up to `slots` runs and `session_slots` interpreters of sessions at once, none larger
    /// than `memory_bytes`. The default image comes first; all have its interpreter.
    ///
    /// # Errors
    /// Returns an error when the compiled image can't be loaded, or the pool can't be had.
    pub fn new(images: &[ImageFiles], slots: u32, session_slots: u32, memory_bytes: u64) -> wasmtime::Result<Self> {
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        // One more is the pristine one.
        let slots = slots + session_slots + COMMAND_SLOTS + 1;
        let engine = engine::pooled(PoolSize { slots, memory_bytes })?;
        let (default, others) = images.split_first().ok_or_else(|| wasmtime::Error::msg("there is no image"))?;
        let mut pool = Self::load(engine, default, Arc::new(Semaphore::new(session_slots as usize)))?;
        for image in others {
            pool.other_bases.insert(image.hash.clone(), Bases::of(image)?);
        }
        Ok(pool)
    }

    /// Makes interpreters for trying an image that was just made.
    pub(super) fn for_building(image: &ImageFiles) -> wasmtime::Result<Self> {
        Self::load(engine::for_building()?, image, Arc::new(Semaphore::new(0)))
    }

    fn load(engine: Engine, image: &ImageFiles, session_slots: Arc<Semaphore>) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by `Image::build` in the user's own cache directory, and its hash was compared
        // with the one in the manifest when `image` was made (`an_altered_image_is_not_loaded` in tests/it/image.rs), and
        // again by the worker that loads it (`an_image_that_is_damaged_meanwhile` in tests/it/faults.rs).
        let module = unsafe { Module::deserialize_file(&engine, &image.compiled) }?;
        let pre = linker(&engine)?.instantiate_pre(&module)?;
        let memory = module.get_export("memory").and_then(|export| export.memory().map(wasmtime::MemoryType::minimum));
        let initial_memory_bytes = memory.unwrap_or(0) * 65_536;
        let base = Bases::of(image)?;
        Ok(Self {
            engine,
            pre,
            initial_memory_bytes,
            base,
            other_bases: HashMap::new(),
            live: Arc::default(),
            session_slots,
            core: CpuScheduler::default(),
            pristine: OnceCell::new(),
            resident: OnceLock::new(),
            small_runs: AtomicUsize::new(0),
        })
    }

    /// Returns the files that guests start from in an image, by its hash; in the default one, where none is given.
    ///
    /// # Errors
    /// Returns an error when there is no such image here.
    pub(super) fn base(&self, image: Option<&str>) -> Result<&Base, RunError> {
        Ok(&self.bases(image)?.run)
    }

    /// Returns the files that sessions start from in an image: those of [`Self::base`], and the system's.
    ///
    /// # Errors
    /// Returns an error when there is no such image here.
    pub(super) fn session_base(&self, image: Option<&str>) -> Result<&Base, RunError> {
        Ok(&self.bases(image)?.session)
    }

    fn bases(&self, image: Option<&str>) -> Result<&Bases, RunError> {
        let Some(hash) = image else { return Ok(&self.base) };
        self.other_bases.get(hash).ok_or_else(|| RunError::NoImage { hash: hash.to_owned() })
    }

    /// Size of the linear memory that every interpreter starts with.
    pub fn initial_memory_bytes(&self) -> u64 {
        self.initial_memory_bytes
    }

    /// Returns the number of interpreters alive now.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Counts one more live interpreter, until the result is dropped.
    pub(crate) fn count_live(&self) -> LiveCount {
        self.live.fetch_add(1, Ordering::Relaxed);
        LiveCount(Arc::clone(&self.live))
    }

    /// Returns the permit for a persistent interpreter.
    ///
    /// # Errors
    /// Returns an error when there is none.
    pub(super) fn acquire_session_slot(&self) -> Result<OwnedSemaphorePermit, RunError> {
        let none = |_| RunError::Engine { what: "keeping an interpreter", reason: "all slots are taken".to_owned() };
        Arc::clone(&self.session_slots).try_acquire_owned().map_err(none)
    }

    /// A fresh interpreter with the host's side of it, and fuel to start with.
    pub(super) async fn instantiate(
        &self,
        state: HostState,
        fuel: u64,
    ) -> Result<(Store<HostState>, wasmtime::Instance), RunError> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(fuel).map_err(by_engine("giving fuel"))?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL)).map_err(by_engine("setting the yield interval"))?;
        let instance = self.pre.instantiate_async(&mut store).await.map_err(by_engine("making an interpreter"))?;
        Ok((store, instance))
    }

    /// Scheduler of this process's core.
    pub(super) fn core(&self) -> &CpuScheduler {
        &self.core
    }

    /// Returns the memory that interpreters start with.
    ///
    /// # Errors
    /// Returns an error when the image can't be started from.
    pub(super) async fn pristine(&self) -> Result<&Pristine, RunError> {
        let make = async || {
            let tree = SharedTree::new(self.base(None)?.tree(FilesQuota { bytes: 0, count: 0 }, 0));
            let descriptors = Descriptors::new(&tree, Credentials::of(User::User));
            let state = HostState::for_session(u64::MAX, descriptors, Clock::real());
            let (mut store, instance) = self.instantiate(state, 1).await?;
            let memory = instance.get_memory(&mut store, "memory");
            let memory = memory.ok_or_else(|| wasmtime::Error::msg("the image has no memory"));
            Ok(Pristine { store: Mutex::new(store), memory: memory.map_err(by_engine("reading the image"))? })
        };
        self.pristine.get_or_try_init(make).await
    }

    /// Returns whether the pages that stay in memory between runs are known.
    pub(super) fn knows_pages(&self) -> bool {
        self.resident.get().is_some()
    }

    /// Keeps these pages in memory between runs, where none are known yet.
    pub(super) fn keep_pages(&self, resident: Resident) {
        let _ = self.resident.set(resident);
    }

    /// Writes what is there to the pages that are to stay.
    pub(super) fn pre_dirty(&self, store: &mut Store<HostState>, instance: wasmtime::Instance) {
        let (Some(resident), Some(memory)) = (self.resident.get(), instance.get_memory(&mut *store, "memory")) else {
            return;
        };
        let memory = memory.data_mut(store);
        for page in &resident.predirtied_pages {
            if let Some(byte) = memory.get_mut(page * pagemap::PAGE) {
                *byte = std::hint::black_box(*byte);
            }
        }
    }

    /// Gives back what this guest has written to and others do not, for it has ended. Small runs write to next to
    /// nothing else: only some of them are looked at.
    pub(super) fn give_back(&self, store: &mut Store<HostState>, fuel: u64) {
        const SMALL: u64 = 2_000_000;
        const SMALL_RUNS: usize = 32;
        let (Some(resident), Some(memory)) = (self.resident.get(), store.data().memory) else { return };
        if fuel > SMALL || self.small_runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(SMALL_RUNS) {
            resident.give_back(memory.data_mut(store));
        }
    }
}

/// Interpreter that nobody runs: the image as it is.
pub(super) struct Pristine {
    store: Mutex<Store<HostState>>,
    memory: Memory,
}

impl Pristine {
    /// Calls `read` with the memory.
    pub fn with_memory<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let store = self.store.lock().expect("no holder panics");
        read(self.memory.data(&*store))
    }
}

/// Makes the linker with everything that the image imports.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    preview1::add_to_linker(&mut linker)?;
    Ok(linker)
}
