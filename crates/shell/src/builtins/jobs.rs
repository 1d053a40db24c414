//! Builtins for background jobs: `wait`, `jobs`, `kill`.

use crate::state::{Done, Shell};

pub(crate) async fn wait(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() || arguments == ["-n"] {
        for id in shell.job_ids() {
            shell.wait_for(id).await;
        }
        return Ok(0);
    }
    let mut status = 0;
    for argument in arguments {
        let id = job_id(shell, argument);
        status = match id {
            Some(id) => shell.wait_for(id).await,
            None => None,
        }
        .unwrap_or(127);
        if status == 127 {
            shell.error("wait", &format!("pid {argument} is not a child of this shell")).await;
        }
    }
    Ok(status)
}

/// Returns the id of the job that `%1`, `%%` or a number names.
fn job_id(shell: &Shell, text: &str) -> Option<u32> {
    match text.strip_prefix('%') {
        Some("%" | "+" | "") => shell.job_ids().last().copied(),
        Some(number) => shell.job_ids().get(number.parse::<usize>().ok()?.checked_sub(1)?).copied(),
        None => text.parse().ok(),
    }
}

pub(crate) async fn jobs(shell: &mut Shell) -> Done {
    for (at, id) in shell.job_ids().into_iter().enumerate() {
        if shell.running_jobs().contains(&id) {
            shell.out("jobs", format!("[{}]   Running                 {id} &\n", at + 1).as_bytes()).await?;
        }
    }
    Ok(0)
}

pub(crate) async fn kill(shell: &mut Shell, arguments: &[String]) -> Done {
    let mut status = 0;
    let mut any = false;
    for argument in arguments.iter().skip_while(|argument| argument.starts_with('-')) {
        any = true;
        let ended = job_id(shell, argument).is_some_and(|id| shell.end_job(id));
        if !ended {
            shell.error("kill", &format!("({argument}) - No such process")).await;
            status = 1;
        }
    }
    if !any {
        shell.error("kill", "usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...").await;
        return Ok(2);
    }
    Ok(status)
}
