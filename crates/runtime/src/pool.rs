//! Pool of interpreters: loads images, hands out instances of them, and counts those that live.
//!
//! Images that differ only in their packages share a compiled module ([`LoadedModule`]). Of the modules and packages that
//! are not the default image's nothing but the description is read until a guest uses them: the kernel reads their files
//! where they are touched.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use proofbox_metering::STACK_POINTER;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use wasmtime::{Engine, InstancePre, Linker, Memory, Module, Store};

use super::clock::Clock;
use super::engine::{self, PoolSize};
use super::error::{RunError, by_engine};
use super::fuel;
use super::fuel_meter::FuelMeter;
use super::idle::{IdleInterpreters, MAX_IDLE, RunKind};
use super::packages;
use super::page_reset::{HotPages, KeptPages};
use super::pagemap::{self, Mapped, PagesAsked};
use super::preview1;
use super::scheduler::CpuScheduler;
use super::session::interrupt::SignalWords;
use super::state::HostState;
use super::wheels;
use proofbox_vfs::{Base, Credentials, Descriptors, FilesQuota, Layer, SharedTree, User};

/// Interpreters that the commands of all sessions of a worker have at once, beside those of runs and of the sessions
/// themselves, which never find their slots taken.
pub const COMMAND_SLOTS: u32 = 16;

/// Bytes of the C stack that no interpreter has used when the image is made. In an image whose memory begins with its data,
/// there is some in the first page.
const UNUSED_STACK_BYTES: usize = 1 << 20;

/// Memory that an interpreter may have to start with beyond the default one's, in bytes.
const MAX_UNCOUNTED_BYTES: u64 = 512 << 20;

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

/// Makes interpreters from images.
pub struct InterpreterPool {
    engine: Engine,
    /// The default image.
    default: Arc<LoadedImage>,
    /// The other images, by hash.
    others: HashMap<String, Arc<LoadedImage>>,
    live: Arc<AtomicUsize>,
    /// Permits for persistent interpreters: all other slots are for runs, which must never find them taken.
    session_slots: Arc<Semaphore>,
    /// Scheduler of this process's core.
    core: CpuScheduler,
    idle: IdleInterpreters<LoadedModule>,
    /// Files of interpreters that wait for a run: none.
    no_files: SharedTree,
}

/// Compiled module of one or more images, ready for instances, and what is known of them.
pub(super) struct LoadedModule {
    pre: InstancePre<HostState>,
    initial_memory_bytes: u64,
    /// Memory of the interpreter beyond the default one's, which no limit counts: what a program may use is the same in
    /// every image.
    uncounted_bytes: u64,
    /// Memory that checkpoints are compared with; made for the first checkpoint.
    pristine: OnceCell<Pristine>,
    /// Pages that stay in memory between runs of each kind, once they are known.
    hot_pages: OnceLock<[Mutex<HotPages>; RunKind::COUNT]>,
    /// Pages that the runs from which those are learnt have written to; `None` before and after.
    lesson: Mutex<Option<PagesByKind>>,
    /// Number of resets for which the kernel was not asked, for tests.
    unasked_resets: AtomicUsize,
    /// Words in which interpreters look for signals, once one was asked.
    signal_words: OnceLock<SignalWords>,
}

/// Ranges of page numbers for each kind of run.
type PagesByKind = [Vec<Range<usize>>; RunKind::COUNT];

/// Time in which the pages that some runs write to are noted.
pub(super) struct Lesson<'a>(&'a LoadedModule);

tokio::task_local! {
    /// Set in runs of a lesson: what others write to meanwhile is not noted.
    static IN_LESSON: ();
}

impl Lesson<'_> {
    /// Carries out a run, and notes what its interpreters have written to.
    ///
    /// # Errors
    /// Returns the run's error.
    pub(super) async fn observe<T, E>(&self, run: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        IN_LESSON.scope((), run).await
    }

    /// Ends it: from now on interpreters are kept between runs.
    pub(super) fn end(&self) {
        let kinds = lock(&self.0.lesson).take().unwrap_or_default();
        let mut kinds = kinds.map(HotPages::of);
        let sessions = &mut kinds[RunKind::Session as usize];
        *sessions = std::mem::take(sessions).unobserved();
        let _ = self.0.hot_pages.set(kinds.map(Mutex::new));
    }
}

impl Drop for Lesson<'_> {
    fn drop(&mut self) {
        *lock(&self.0.lesson) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Image that guests can be made of.
pub(crate) struct LoadedImage {
    pub(super) module: Arc<LoadedModule>,
    /// File with its packages, which stays open: a worker can open none.
    packages: Option<packages::Mapped>,
    /// Wheels that sessions may install.
    wheels: Arc<Layer>,
    /// Files that guests start from, read for the first of them.
    bases: OnceLock<Bases>,
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
    fn of(packages: Option<&packages::Mapped>, wheels: &Arc<Layer>) -> wasmtime::Result<Self> {
        let run = packages::base(packages)?;
        let session = run.with_system_files().and_then(|base| base.with_layer(wheels::DIRECTORY, wheels));
        let session = session.map_err(|error| wasmtime::Error::msg(error.to_string()))?;
        Ok(Self { run, session })
    }
}

impl InterpreterPool {
    /// Makes the pool of a worker: up to `slots` runs and `session_slots` interpreters of sessions at once, none with more
    /// than `memory_bytes` that count. The default image comes first. `wheels` is a packed file of those that sessions may
    /// install (`wheels::Wheels`).
    ///
    /// # Errors
    /// Returns an error when the compiled image can't be loaded, or the pool can't be had.
    pub fn new(
        images: &[ImageFiles],
        wheels: Option<&Path>,
        slots: u32,
        session_slots: u32,
        memory_bytes: u64,
    ) -> wasmtime::Result<Self> {
        let modules: BTreeSet<&Path> = images.iter().map(|image| image.compiled.as_path()).collect();
        // One more of each module is the pristine one.
        let slots = slots + MAX_IDLE + session_slots + COMMAND_SLOTS + u32::try_from(modules.len()).unwrap_or(u32::MAX);
        // Where there is more than one, some may have more memory to start with, which does not count.
        let uncounted = if modules.len() > 1 { MAX_UNCOUNTED_BYTES } else { 0 };
        let memory_bytes = usize::try_from(memory_bytes.saturating_add(uncounted)).unwrap_or(usize::MAX);
        let engine = engine::pooled(PoolSize { slots, memory_bytes })?;
        Self::load(engine, images, wheels, Arc::new(Semaphore::new(session_slots as usize)))
    }

    /// Makes interpreters for trying an image that was just made, with a permit for one session.
    pub(super) fn for_building(image: &ImageFiles) -> wasmtime::Result<Self> {
        Self::load(engine::for_building()?, std::slice::from_ref(image), None, Arc::new(Semaphore::new(1)))
    }

    fn load(
        engine: Engine,
        images: &[ImageFiles],
        wheels: Option<&Path>,
        session_slots: Arc<Semaphore>,
    ) -> wasmtime::Result<Self> {
        let linker = linker(&engine)?;
        let wheels = wheels::layer(wheels)?;
        let mut modules: HashMap<&Path, Arc<LoadedModule>> = HashMap::new();
        let mut loaded: Vec<Arc<LoadedImage>> = Vec::new();
        for ImageFiles { compiled, packages, .. } in images {
            let module = match modules.get(compiled.as_path()) {
                Some(module) => Arc::clone(module),
                None => {
                    let counted = loaded.first().map(|default| default.module.initial_memory_bytes);
                    let module = Arc::new(LoadedModule::load(&engine, &linker, compiled, counted)?);
                    modules.insert(compiled, Arc::clone(&module));
                    module
                }
            };
            let packages = packages.as_deref().map(packages::Mapped::open).transpose()?;
            loaded.push(Arc::new(LoadedImage {
                module,
                packages,
                wheels: Arc::clone(&wheels),
                bases: OnceLock::new(),
            }));
        }
        let default = loaded.first().cloned().ok_or_else(|| wasmtime::Error::msg("there is no image"))?;
        // What is wrong with it is told before there is a run.
        default.bases()?;
        let hashes = images.iter().map(|image| image.hash.clone());
        let others = hashes.zip(loaded).skip(1).collect();
        let core = CpuScheduler::default();
        let no_files = SharedTree::new(packages::empty().tree(FilesQuota { bytes: 0, count: 0 }, 0));
        let idle = IdleInterpreters::default();
        Ok(Self { engine, default, others, live: Arc::default(), session_slots, core, idle, no_files })
    }

    /// Returns the image of that hash; the default one, where none is given.
    ///
    /// # Errors
    /// Returns an error when there is no such image here.
    pub(super) fn image(&self, hash: Option<&str>) -> Result<&Arc<LoadedImage>, RunError> {
        let Some(hash) = hash else { return Ok(&self.default) };
        self.others.get(hash).ok_or_else(|| RunError::NoImage { hash: hash.to_owned() })
    }

    /// Size of the linear memory that interpreters of the default image start with.
    pub fn initial_memory_bytes(&self) -> u64 {
        self.default.module.initial_memory_bytes
    }

    /// Returns how often an interpreter of the default image was reset without the kernel being asked for its pages, for tests.
    #[doc(hidden)]
    pub fn unasked_resets(&self) -> usize {
        self.default.module.unasked_resets.load(Ordering::Relaxed)
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
        Arc::clone(&self.session_slots).try_acquire_owned().map_err(|_| RunError::NoSlot)
    }

    /// A fresh interpreter with the host's side of it, and fuel to start with.
    pub(super) async fn instantiate(
        &self,
        module: &LoadedModule,
        mut state: HostState,
        fuel: u64,
    ) -> Result<(Store<HostState>, wasmtime::Instance), RunError> {
        state.limiter.leave_uncounted(module.uncounted_bytes);
        state.fuel = FuelMeter::new(fuel);
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        let instance = module.pre.instantiate_async(&mut store).await.map_err(by_engine("making an interpreter"))?;
        fuel::connect(&mut store, instance).map_err(by_engine("giving fuel"))?;
        Ok((store, instance))
    }

    /// Makes the host's side of an interpreter that runs nothing.
    pub(super) fn nobodys_state(&self) -> HostState {
        let descriptors = Descriptors::new(&self.no_files, Credentials::of(User::User));
        HostState::for_session(u64::MAX, descriptors, Clock::real())
    }

    /// Interpreters that wait for a run.
    pub(super) fn idle(&self) -> &IdleInterpreters<LoadedModule> {
        &self.idle
    }

    /// Scheduler of this process's core.
    pub(super) fn core(&self) -> &CpuScheduler {
        &self.core
    }

    /// Returns the memory that interpreters of an image start with.
    ///
    /// # Errors
    /// Returns an error when the image can't be started from.
    pub(super) async fn pristine<'a>(&self, image: &'a LoadedImage) -> Result<&'a Pristine, RunError> {
        let module = &*image.module;
        let make = async || {
            let (mut store, instance) = self.instantiate(module, self.nobodys_state(), 1).await?;
            let missing = || by_engine("reading the image")(wasmtime::Error::msg("it lacks an export"));
            let memory = instance.get_memory(&mut store, "memory").ok_or_else(missing)?;
            let stack_pointer = instance.get_global(&mut store, STACK_POINTER).ok_or_else(missing)?;
            let stack_pointer = stack_pointer.get(&mut store).i32().ok_or_else(missing)?;
            let stack_is_first =
                memory.data(&store).get(..UNUSED_STACK_BYTES).is_some_and(|stack| stack.iter().all(|byte| *byte == 0));
            Ok(Pristine { store: Mutex::new(store), memory, stack_pointer, stack_is_first })
        };
        module.pristine.get_or_try_init(make).await
    }
}

impl LoadedImage {
    /// Returns the files that runs start from.
    ///
    /// # Errors
    /// Returns an error when the packages are damaged.
    pub(super) fn base(&self) -> Result<&Base, RunError> {
        Ok(&self.bases().map_err(by_engine("reading the packages"))?.run)
    }

    /// Returns the files that sessions start from: those of [`Self::base`], and the system's.
    ///
    /// # Errors
    /// Returns an error when the packages are damaged.
    pub(super) fn session_base(&self) -> Result<&Base, RunError> {
        Ok(&self.bases().map_err(by_engine("reading the packages"))?.session)
    }

    fn bases(&self) -> wasmtime::Result<&Bases> {
        if let Some(bases) = self.bases.get() {
            return Ok(bases);
        }
        let bases = Bases::of(self.packages.as_ref(), &self.wheels)?;
        Ok(self.bases.get_or_init(|| bases))
    }
}

impl LoadedModule {
    /// Loads a compiled module; `counted` is the memory that the default image's interpreters start with, where it is
    /// another one's.
    fn load(
        engine: &Engine,
        linker: &Linker<HostState>,
        compiled: &Path,
        counted: Option<u64>,
    ) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by `Image::build` in the user's own cache directory, and its hash was compared
        // with the one in the manifest when `image` was made (`an_altered_image_is_not_loaded` in tests/it/image.rs), and
        // again by the worker that loads it (`an_image_that_is_damaged_meanwhile` in tests/it/faults.rs).
        let module = unsafe { Module::deserialize_file(engine, compiled) }?;
        let pre = linker.instantiate_pre(&module)?;
        let memory = module.get_export("memory").and_then(|export| export.memory().map(wasmtime::MemoryType::minimum));
        let initial_memory_bytes = memory.unwrap_or(0) * 65_536;
        let uncounted_bytes = counted.map_or(0, |counted| initial_memory_bytes.saturating_sub(counted));
        if uncounted_bytes > MAX_UNCOUNTED_BYTES {
            return Err(wasmtime::Error::msg(format!("it starts with {initial_memory_bytes} bytes of memory")));
        }
        Ok(Self {
            pre,
            initial_memory_bytes,
            uncounted_bytes,
            pristine: OnceCell::new(),
            hot_pages: OnceLock::new(),
            lesson: Mutex::new(None),
            unasked_resets: AtomicUsize::new(0),
            signal_words: OnceLock::new(),
        })
    }

    /// Size of the linear memory that its instances start with.
    pub(super) fn initial_memory_bytes(&self) -> u64 {
        self.initial_memory_bytes
    }

    /// Returns the memory of its instances that no limit counts, in bytes.
    pub(super) fn uncounted_bytes(&self) -> u64 {
        self.uncounted_bytes
    }

    /// Returns an interpreter that is as the image is, where one was made already.
    pub(super) fn known_pristine(&self) -> Option<&Pristine> {
        self.pristine.get()
    }

    /// Returns where a fresh interpreter looks for signals. The first one is asked: the words are the same in all.
    ///
    /// # Errors
    /// Returns an error when the interpreter does not answer.
    pub(super) async fn signal_words(
        &self,
        store: &mut Store<HostState>,
        instance: wasmtime::Instance,
        memory: Memory,
    ) -> Result<SignalWords, RunError> {
        if let Some(words) = self.signal_words.get() {
            return Ok(*words);
        }
        let places = instance
            .get_typed_func::<(), u32>(&mut *store, "proofbox_interrupt_places")
            .map_err(by_engine("making an interpreter"))?;
        let address = places.call_async(&mut *store, ()).await.map_err(by_engine("asking an interpreter"))?;
        let words = SignalWords::read(memory.data(&*store), address).ok_or_else(|| RunError::Engine {
            what: "asking an interpreter",
            reason: "it names words outside its memory".to_owned(),
        })?;
        Ok(*self.signal_words.get_or_init(|| words))
    }

    /// Begins to note what runs write to, unless that is known or being learnt.
    pub(super) fn begin_lesson(&self) -> Option<Lesson<'_>> {
        if self.hot_pages.get().is_some() {
            return None;
        }
        let mut lesson = lock(&self.lesson);
        lesson.is_none().then(|| {
            *lesson = Some(PagesByKind::default());
            Lesson(self)
        })
    }

    /// Returns whether an interpreter whose run has ended may be reset: its memory has not grown, what is released of it is
    /// the image's again, and its hot pages are known. While they are being learnt, notes the pages that it has written to.
    pub(super) fn can_reset(&self, store: &Store<HostState>, kind: RunKind) -> bool {
        let Some(memory) = store.data().memory else { return false };
        let size = memory.data_size(store);
        if self.hot_pages.get().is_none()
            && IN_LESSON.try_with(|()| ()).is_ok()
            && let Some(written) = &mut *lock(&self.lesson)
            && let Ok(own) = pagemap::own_pages(memory.data_ptr(store), size)
        {
            written[kind as usize].extend(own);
        }
        let is_mapped = self.initial_memory_bytes < engine::MAX_MAPPED_BYTES && pagemap::has_small_pages();
        self.hot_pages.get().is_some() && size as u64 == self.initial_memory_bytes && is_mapped
    }

    /// Notes that an interpreter is about to be dropped.
    pub(super) fn forget(&self, store: &Store<HostState>, kind: RunKind) {
        if let (Some(hot_pages), Some(memory)) = (self.hot_pages.get(), store.data().memory) {
            lock(&hot_pages[kind as usize]).forget(memory.data_ptr(store));
        }
    }

    /// Makes the memory of an interpreter equal to the image's. `own` are its own pages, where they are known. Returns those
    /// that it keeps; None, where that can't be done: the kernel does not name its pages at once, or does not take them back.
    pub(super) fn reset(
        &self,
        store: &mut Store<HostState>,
        kind: RunKind,
        own: Option<Vec<Range<usize>>>,
    ) -> Option<KeptPages> {
        let (memory, pristine) = (store.data().memory?, self.known_pristine()?);
        let mut hot_pages = lock(&self.hot_pages.get()?[kind as usize]);
        let (base, size) = (memory.data_ptr(&*store), memory.data_size(&*store));
        let mapped = match (hot_pages.asks_for(base), own) {
            (PagesAsked::Own, Some(own)) => {
                self.unasked_resets.fetch_add(1, Ordering::Relaxed);
                Mapped { own, shared: Vec::new() }
            }
            (asked, _) => pagemap::scan(base, size, asked).ok()?,
        };
        pristine.with_memory(|image| {
            let memory = memory.data_mut(store);
            if memory.len() == image.len() { hot_pages.reset(memory, image, &mapped).map(KeptPages::of) } else { None }
        })
    }
}

/// Interpreter that nobody runs: the image as it is.
pub(super) struct Pristine {
    store: Mutex<Store<HostState>>,
    memory: Memory,
    stack_pointer: i32,
    /// True when the C stack is what memory begins with.
    stack_is_first: bool,
}

impl Pristine {
    /// The stack pointer that interpreters start with.
    pub(super) fn stack_pointer(&self) -> i32 {
        self.stack_pointer
    }

    /// Returns the pages of the C stack below a stack pointer, as it is between calls: nobody reads again what is there.
    pub(super) fn dead_stack(&self, stack_pointer: i32) -> Range<usize> {
        let lowest = if self.stack_is_first { stack_pointer.min(self.stack_pointer) } else { 0 };
        0..usize::try_from(lowest).unwrap_or(0) / pagemap::PAGE
    }

    /// Calls `read` with the memory.
    pub(crate) fn with_memory<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let store = lock(&self.store);
        read(self.memory.data(&*store))
    }
}

/// Makes the linker with everything that the image imports.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    preview1::add_to_linker(&mut linker)?;
    Ok(linker)
}
