//! Counts of the branches of an image, for a profile of them (`examples/branches.rs`): programs run in a module that
//! counts (`proofbox_metering::count_branches`), which is compiled for this alone. No service does.

use std::path::Path;

use proofbox_metering::{BranchProfile, COUNTS, count_branches, meter, meter_with_hints};
use proofbox_types::grant::Limits;
use proofbox_types::program::Program;

use super::engine;
use super::guest::{Role, call, encoded_request, state, tree};
use super::image;
use super::image_error::ImageError;
use super::pool::{ImageFiles, InterpreterPool};
use super::trusted::{block_on, trusted_limits};

/// Returns the image in a file, or makes that of the reactor in it.
///
/// # Errors
/// Returns an error when the file can't be read, or no image can be made of the reactor.
pub fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    image::given(path)
}

/// Compiles the image that is this module, with the hints of a profile.
///
/// # Errors
/// Returns an error when the module can't be compiled.
pub fn compile(module: &[u8], profile: &BranchProfile) -> wasmtime::Result<Vec<u8>> {
    let hinted = meter_with_hints(module, profile)?;
    engine::for_building()?.precompile_module(&hinted.module)
}

/// Runs programs in the image that is this module, one after the other, and calls `each` with the name of each and its
/// counters. What counts is compiled to the path in `files`.
///
/// # Errors
/// Returns an error when the module can't be compiled, or a program does not end well.
pub fn run_all(
    module: &[u8],
    files: &ImageFiles,
    programs: &[(String, Program)],
    mut each: impl FnMut(&str, &[u8]),
) -> wasmtime::Result<()> {
    let counting = meter(&count_branches(module)?)?;
    let code = engine::for_building()?.precompile_module(&counting.module)?;
    std::fs::write(&files.compiled, code)?;
    let pool = InterpreterPool::for_building(files)?;
    let limits = Limits { memory_bytes: 2 << 30, ..trusted_limits() };
    let image = pool.image(None).map_err(wasmtime::Error::from)?;
    for (name, program) in programs {
        let tree =
            tree(image.base().map_err(wasmtime::Error::from)?, program, &limits).map_err(wasmtime::Error::from)?;
        let request = encoded_request(program, &Role::Alone(None));
        let state = state(program, &limits, &tree, Role::Alone(None));
        block_on(async {
            let made = pool.instantiate(&image.module, state, limits.fuel).await;
            let (mut store, instance) = made.map_err(wasmtime::Error::from)?;
            let code = call(&mut store, instance, &request).await?;
            let said = std::mem::replace(&mut store.data_mut().streams.stderr, super::capture::Capture::new(0));
            if code != 0 {
                return Err(wasmtime::Error::msg(format!("{name} ended with {code}: {}", said.finish().text())));
            }
            let counts = instance.get_memory(&mut store, COUNTS);
            let counts = counts.ok_or_else(|| wasmtime::Error::msg("the module has no counters"))?;
            each(name, counts.data(&store));
            Ok(())
        })?;
    }
    Ok(())
}
