//! Image build, from the reactor of the recipe to the image that runs start from: initialise once, keep the memory.

use wasmparser::ValType;
use wasmtime::{Engine, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use super::engine;
use super::guest::{Role, quota, state};
use super::pool::linker;
use super::state::HostState;
use super::trusted::{block_on, trusted_limits};
use proofbox_types::program::{Deterministic, Program};
use proofbox_vfs::{Base, SharedTree};

/// Initialises the reactor and returns the image.
///
/// # Errors
/// Returns an error when the reactor is not one, or its initialisation fails.
pub(crate) fn snapshot(reactor: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let engine = engine::for_building()?;
    let limits = trusted_limits();
    let tree = SharedTree::new(Base::bare().tree(quota(&limits), 0));
    // Seeded, so that the same recipe gives the same image; what is random is reseeded at each start.
    let deterministic = Deterministic { seed: 0, start_time_nanoseconds: 0 };
    let program = Program { deterministic: Some(deterministic), ..Program::default() };
    let state = state(&program, &limits, &tree, Role::Alone(None));
    let linker = linker(&engine)?;
    block_on(take(&engine, &linker, state, reactor))
}

/// Runs the reactor's initialisation and returns the module whose memory is what it left.
///
/// # Errors
/// Returns an error when the reactor is not one, or its initialisation fails; what it printed on its standard error is
/// in the message.
async fn take(
    engine: &Engine,
    linker: &Linker<HostState>,
    state: HostState,
    reactor: &[u8],
) -> wasmtime::Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func("wizer-initialize");
    let (context, instrumented) = wizer.instrument(reactor)?;
    let module = Module::new(engine, &instrumented)?;
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.limiter);
    let instance = linker.instantiate_async(&mut store, &module).await?;
    for function in ["_initialize", "wizer-initialize"] {
        let initialise = instance.get_typed_func::<(), ()>(&mut store, function)?;
        if let Err(error) = initialise.call_async(&mut store, ()).await {
            let said = std::mem::replace(&mut store.data_mut().streams.stderr, super::capture::Capture::new(0))
                .finish()
                .text();
            return Err(error.context(format!("initialising the interpreter failed: {said}")));
        }
    }
    wizer.snapshot(&context, &mut Initialised { store, instance }).await
}

struct Initialised {
    store: Store<HostState>,
    instance: Instance,
}

impl InstanceState for Initialised {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        // wizer names only globals that it added to the module's exports itself.
        let global = self.instance.get_global(&mut self.store, name).expect("wizer exports the globals it asks for");
        match global.get(&mut self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(bits) => SnapshotVal::F32(bits),
            Val::F64(bits) => SnapshotVal::F64(bits),
            other => unreachable!("a C toolchain makes no global of type {:?}", other.ty(&self.store)),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&mut self.store, name).expect("wizer exports the memories it asks for");
        contents(memory.data(&self.store));
    }
}
