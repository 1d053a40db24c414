//! Interpreters that programs start.

use crate::PythonStart;
use crate::state::{Done, Shell};

/// Runs `python3` with these arguments.
pub(super) async fn start(shell: &mut Shell, args: Vec<String>) -> Done {
    let start = PythonStart {
        args,
        env: shell.environment(),
        cwd: shell.cwd.clone(),
        credentials: shell.tree.credentials(),
        stdin: shell.streams.stdin.clone(),
        stdout: shell.streams.stdout.clone(),
        stderr: shell.streams.stderr.clone(),
    };
    Ok(shell.run_python(start).await)
}
