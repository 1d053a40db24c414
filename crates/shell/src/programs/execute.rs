//! Commands that `find` and `xargs` run.

use crate::state::{BROKEN_PIPE, Done, Shell, Stop};

/// Runs a command with more arguments.
pub(super) async fn execute(shell: &mut Shell, mut words: Vec<String>, more: Vec<String>) -> Done {
    words.extend(more);
    if words.is_empty() {
        return Ok(0);
    }
    let name = words.remove(0);
    shell.deeper().await?;
    let done = super::run(shell, &name, &words).await;
    shell.level -= 1;
    match done {
        Err(Stop::Failed(code)) => Ok(code),
        Err(Stop::Broken) => Ok(BROKEN_PIPE),
        done => done,
    }
}
