//! Configuration of wasmtime: the same for making, compiling and running the image.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

const MIB: usize = 1 << 20;

/// Stack for compiled code. Python counts its own recursion (`c_recursion_limit` in the recipe) and stops well
/// before this is used up, so that deep recursion is a RecursionError and not a trap (`tests/it/recursion.rs`).
pub(crate) const WASM_STACK: usize = 64 * MIB;

/// Stack for host functions on top of the guest's frames, in bytes.
const HOST_STACK: usize = MIB;

/// Memory that stays mapped in a free slot: with `pagemap_scan` only pages that were touched are reset, by copying,
/// which is cheaper than giving them back to the kernel and faulting them in again. A short run touches a few hundred
/// pages; what a slot keeps counts for nobody, and there may be a thousand slots.
const KEEP_RESIDENT: usize = 4 * MIB;

/// Size of a memory up to which wasmtime maps its image as a whole, instead of copying segments: it is one dense memory.
pub(crate) const MAX_MAPPED_BYTES: u64 = 256 << 20;

/// Functions that an image may call indirectly: `default` has 12 000 of them, `data` 51 600. A slot's table takes address
/// space for so many, and memory for those that were called.
const TABLE_ELEMENTS: usize = 60_000;

/// What the engine notes of an instance, in bytes: 32 for each of these functions, and little else.
const INSTANCE_BYTES: usize = 2 * MIB;

/// Sizes of the pool of one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSize {
    /// Interpreters alive at once, of all images.
    pub slots: u32,
    /// Largest linear memory that any policy allows, in bytes.
    pub memory_bytes: usize,
}

/// Returns the configuration that affects the compiled code; [`pooled`] adds only what does not.
fn config() -> Config {
    let mut config = Config::new();
    // The image counts its own work, and says which branches lead to a pause: those of `proofbox_metering`, no others.
    config.wasm_branch_hinting(true);
    config.memory_init_cow(true);
    config.memory_guaranteed_dense_image_size(MAX_MAPPED_BYTES);
    config.max_wasm_stack(WASM_STACK);
    config.async_stack_size(WASM_STACK + HOST_STACK);
    // Only component-model features need it; off, it takes its share out of every start.
    config.concurrency_support(false);
    // The stack of an interpreter that is dropped is never shown to another, not even through a bug.
    config.async_stack_zeroing(true);
    // Frames of the interpreter tell nobody anything, and collecting them is slow.
    config.wasm_backtrace_max_frames(None);
    config
}

/// An engine for making and compiling images: instances are allocated one by one.
///
/// # Errors
/// Returns an error when wasmtime can't run on this machine.
pub(crate) fn for_building() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

/// An engine for running guests.
///
/// # Errors
/// Returns an error when wasmtime can't run on this machine, or the address space for the pool can't be had.
pub(crate) fn pooled(size: PoolSize) -> wasmtime::Result<Engine> {
    let with = |pool: PoolingAllocationConfig| {
        let mut config = config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        Engine::new(&config)
    };
    // Without pagemap_scan (Linux before 6.7) keeping memory resident means resetting all of it, and costs more than
    // it saves.
    let mut kept = pool(size);
    kept.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEEP_RESIDENT);
    with(kept).or_else(|_| {
        let mut plain = pool(size);
        plain.pagemap_scan(Enabled::No);
        with(plain)
    })
}

fn pool(size: PoolSize) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(size.slots).total_memories(size.slots).total_tables(size.slots).total_stacks(size.slots);
    pool.total_component_instances(1);
    pool.max_memory_size(size.memory_bytes);
    pool.table_elements(TABLE_ELEMENTS);
    pool.max_core_instance_size(INSTANCE_BYTES);
    pool.max_unused_warm_slots(size.slots);
    pool.async_stack_keep_resident(64 << 10);
    pool.table_keep_resident(256 << 10);
    pool
}
