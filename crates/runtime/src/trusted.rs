//! Limits and executor for code of our own: what makes an image and tries it.

use std::time::Duration;

use proofbox_types::grant::Limits;

/// Limits for code of our own.
pub(super) fn trusted_limits() -> Limits {
    Limits {
        fuel: u64::MAX / 4,
        wall: Duration::from_secs(600),
        memory_bytes: 1 << 30,
        output_bytes: 1 << 20,
        files_bytes: 1 << 20,
        files_count: 64,
    }
}

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime with a timer alone needs nothing of the system");
    runtime.block_on(future)
}
