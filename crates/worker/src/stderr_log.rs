//! Standard error of a worker: panics, mostly. A worker may be compromised, so it writes to a pipe, and a bounded part
//! of that goes into the log.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Maximum number of lines that are logged of a worker.
const LINES: usize = 64;
const BYTES: u64 = 32 << 10;

/// Passes on what a worker says, until it is gone.
pub(crate) async fn pass_on(worker: usize, stderr: impl AsyncRead + Unpin) {
    let mut stderr = BufReader::new(stderr);
    let mut lines = (&mut stderr).take(BYTES).split(b'\n');
    let mut left = LINES;
    while left > 0
        && let Ok(Some(line)) = lines.next_segment().await
    {
        let said = String::from_utf8_lossy(&line);
        if !said.trim().is_empty() {
            // With its control characters escaped.
            tracing::warn!(worker, ?said, "a worker says");
            left -= 1;
        }
    }
    // It must not wait for a full pipe.
    let _ = tokio::io::copy_buf(&mut stderr, &mut tokio::io::sink()).await;
}
