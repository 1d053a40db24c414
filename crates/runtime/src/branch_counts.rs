//! Counts of the branches of an image, for a profile of them (`examples/branches.rs`): programs run in a module that
//! counts (`proofbox_metering::count_branches`), which is compiled for this alone. No service does.

use std::path::Path;
use std::sync::Arc;

use proofbox_metering::{BranchProfile, COUNTS, count_branches, meter, meter_with_hints};
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, ResultWanted};
use proofbox_types::session::{Cell, CellLimits, DEFAULT_CONTEXT, Opening};
use tokio_util::sync::CancellationToken;

use super::engine;
use super::guest::{Role, call, encoded_request, state, tree};
use super::image;
use super::image_error::ImageError;
use super::pool::{ImageFiles, InterpreterPool};
use super::session::{NoCommands, Session};
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

/// Runs programs in the image that is this module, one after the other, and calls in a session, and calls `each` with the
/// name of each and its counters. What counts is compiled to the path in `files`.
///
/// # Errors
/// Returns an error when the module can't be compiled, or a program does not end well.
pub fn run_all(
    module: &[u8],
    files: &ImageFiles,
    programs: &[(String, Program)],
    calls: &[&str],
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
    if !calls.is_empty() {
        each("session", &block_on(counted_in_session(pool, limits, calls))?);
    }
    Ok(())
}

/// Returns the counters of a session that has carried out these calls.
async fn counted_in_session(pool: InterpreterPool, limits: Limits, calls: &[&str]) -> wasmtime::Result<Vec<u8>> {
    let opening = Opening { limits, env: Vec::new(), files: Vec::new(), image: None };
    let session = Session::open(Arc::new(pool), Arc::new(NoCommands), opening)?;
    for source in calls {
        let value = Some(ResultWanted::LastExpression);
        let cell = Cell { source: (*source).to_owned(), value, ..Cell::default() };
        let gone = CancellationToken::new();
        let called = session.call(DEFAULT_CONTEXT, &cell, &CellLimits::from(&limits), None, &gone).await?;
        if called.raised.is_some() || called.lost {
            return Err(wasmtime::Error::msg(format!("a call has failed: {:?}", called.raised)));
        }
    }
    let counts = session.exported_memory(DEFAULT_CONTEXT, COUNTS).await;
    counts.ok_or_else(|| wasmtime::Error::msg("the module has no counters"))
}
