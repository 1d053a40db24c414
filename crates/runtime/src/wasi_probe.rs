//! A guest that is not CPython, for tests of what the jail leaves of preview 1.

use futures_util::FutureExt;
use wasmtime::{InstancePre, Linker, Module, Store};

use super::clock::Clock;
use super::engine;
use super::error::{RunError, by_engine};
use super::preview1;
use super::state::HostState;
use proofbox_vfs::{Base, Credentials, Descriptors, FilesQuota, SharedTree};

/// Names of the calls of preview 1 that wasmtime-wasi answers, in alphabetical order: all but those that are ours.
///
/// # Errors
/// Returns an error when wasmtime can't run on this machine.
pub fn foreign_calls() -> Result<Vec<String>, RunError> {
    let names = |add: fn(&mut Linker<HostState>) -> wasmtime::Result<()>| {
        let engine = engine::for_building()?;
        let mut linker = Linker::new(&engine);
        add(&mut linker)?;
        let mut store = Store::new(&engine, state());
        let calls = linker.iter(&mut store).filter(|(module, ..)| *module == preview1::WASI);
        let mut names: Vec<String> = calls.map(|(_, name, _)| name.to_owned()).collect();
        names.sort();
        wasmtime::Result::Ok(names)
    };
    let all = names(preview1::add_to_linker).map_err(by_engine("naming its calls"))?;
    let own = names(preview1::add_own).map_err(by_engine("naming its calls"))?;
    Ok(all.into_iter().filter(|name| !own.contains(name)).collect())
}

fn state() -> HostState {
    let tree = SharedTree::new(Base::bare().tree(FilesQuota { bytes: 0, count: 8 }, 0));
    let descriptors = Descriptors::new(&tree, Credentials::SERVICE);
    HostState::for_session(1 << 20, descriptors, Clock::real())
}

/// A guest of any module that imports what the image does. It is compiled when it is made.
pub struct Probe {
    pre: InstancePre<HostState>,
}

impl Probe {
    /// Compiles the module.
    ///
    /// # Errors
    /// Returns an error when it is no module, or imports something else.
    pub fn new(module: &[u8]) -> Result<Self, RunError> {
        let compiled = || {
            let engine = engine::for_building()?;
            let mut linker = Linker::new(&engine);
            preview1::add_to_linker(&mut linker)?;
            linker.instantiate_pre(&Module::new(&engine, module)?)
        };
        Ok(Self { pre: compiled().map_err(by_engine("compiling a module"))? })
    }

    /// Calls a function without parameters in a fresh instance; returns its result, and the first bytes of the memory
    /// after it.
    ///
    /// # Errors
    /// Returns an error when the call traps or waits, or there is no such function.
    pub fn call<const N: usize>(&self, name: &str) -> Result<(i32, [u8; N]), RunError> {
        let mut store = Store::new(self.pre.module().engine(), state());
        let call = async {
            let instance = self.pre.instantiate_async(&mut store).await?;
            let function = instance.get_typed_func::<(), i32>(&mut store, name)?;
            let result = function.call_async(&mut store, ()).await?;
            let memory = instance.get_memory(&mut store, "memory");
            let memory = memory.ok_or_else(|| wasmtime::Error::msg("it has no memory"))?;
            let mut bytes = [0; N];
            memory.read(&store, 0, &mut bytes)?;
            wasmtime::Result::Ok((result, bytes))
        };
        let called = call.now_or_never().unwrap_or_else(|| Err(wasmtime::Error::msg("it waits")));
        called.map_err(by_engine("calling a function"))
    }
}
