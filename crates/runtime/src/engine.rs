//! Configuration of wasmtime: the same for making, compiling and running the image.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

const MIB: usize = 1 << 20;

/// Stack for compiled code. Python counts its own recursion (`c_recursion_limit` in the recipe) and stops well
/// before this is used up, so that deep recursion is a RecursionError and not a trap (`tests/it/recursion.rs`).
pub(crate) const WASM_STACK: usize = 64 * MIB;

/// Stack for host functions on top of the guest's frames, in bytes.
const HOST_STACK: usize = MIB;

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
    // A fused multiplication and addition is one on every machine, so that results are the same everywhere.
    config.relaxed_simd_deterministic(true);
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
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(size)));
    Engine::new(&config)
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
    // All of a free slot's memory and table is given back. By `pagemap_scan`, wasmtime would reset the pages that it finds
    // to be changed, and it does not look at those that the kernel has moved to swap: the next guest would have them.
    pool.pagemap_scan(Enabled::No).linear_memory_keep_resident(0).table_keep_resident(0);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pagemap;
    use wasmtime::{Instance, Module, Store};

    /// (1 + 2^-30)(1 - 2^-30) - 1: it is -2^-60 where it is rounded once, and 0 where the product is rounded first.
    const PRODUCT: &str = "(module (func (export \"product\") (param f64 f64 f64) (result f64)
        (f64x2.extract_lane 0 (f64x2.relaxed_madd
            (f64x2.splat (local.get 0)) (f64x2.splat (local.get 1)) (f64x2.splat (local.get 2))))))";

    fn product(config: &Config) -> f64 {
        let engine = Engine::new(config).expect("this machine runs it");
        let module = Module::new(&engine, wat::parse_str(PRODUCT).expect("it is text")).expect("it is valid");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("it imports nothing");
        let product = instance.get_typed_func::<(f64, f64, f64), f64>(&mut store, "product").expect("it is exported");
        let small = 2f64.powi(-30);
        product.call(&mut store, (1.0 + small, 1.0 - small, -1.0)).expect("it returns")
    }

    #[test]
    fn fused_operations_are_fused_on_machines_without_them() {
        assert_eq!(product(&config()), -2f64.powi(-60));
        // With a target that is named, nothing is taken from this machine's processor.
        let mut plain = config();
        plain.target(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH)).expect("it is known");
        assert_eq!(product(&plain), -2f64.powi(-60));
    }
    /// Writes to a memory and a table of a slot, and returns where the memory lies.
    fn written_to(engine: &Engine) -> (*const u8, Vec<u8>, bool) {
        let text = "(module (memory (export \"memory\") 4) (table (export \"table\") 5000 funcref)
            (func (export \"f\") (table.set (i32.const 4000) (ref.func 0))))";
        let module = Module::new(engine, wat::parse_str(text).expect("it is text")).expect("it is valid");
        let mut store = Store::new(engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("it imports nothing");
        let memory = instance.get_memory(&mut store, "memory").expect("it is exported");
        let table = instance.get_table(&mut store, "table").expect("it is exported");
        let before = memory.data(&store).to_vec();
        let is_filled = table.get(&mut store, 4000).is_some_and(|element| element.unwrap_func().is_some());
        memory.data_mut(&mut store).fill(7);
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").expect("it is exported");
        function.call(&mut store, ()).expect("it returns");
        (memory.data_ptr(&store), before, is_filled)
    }

    #[test]
    fn nothing_of_a_slot_stays_for_the_next_guest() {
        let engine = pooled(PoolSize { slots: 1, memory_bytes: 1 << 20 }).expect("there is room");
        let (first, ..) = written_to(&engine);
        // What the kernel has moved to swap is the slot's own as well.
        assert!(pagemap::own_pages(first, 4 << 16).expect("the kernel tells").is_empty());
        let (second, memory, is_filled) = written_to(&engine);
        assert_eq!(second, first, "there is one slot");
        assert!(memory.iter().all(|byte| *byte == 0));
        assert!(!is_filled);
    }
}
