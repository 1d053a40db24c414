//! Builtins for background jobs: `wait`, `jobs`, `kill`.

use super::trap::{SIGNALS, signal};
use crate::execute::Waited;
use crate::processes::Receivers;
use crate::state::{Done, Shell};

pub(crate) async fn wait(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() || arguments == ["-n"] {
        for id in shell.job_ids() {
            if let Some(Waited::Interrupted(signal)) = shell.wait_for(id).await {
                return Ok(128 + signal);
            }
        }
        return Ok(0);
    }
    let mut status = 0;
    for argument in arguments {
        let id = job_id(shell, argument);
        let waited = match id {
            Some(id) => shell.wait_for(id).await,
            None => None,
        };
        status = match waited {
            Some(Waited::Ended(code)) => code,
            Some(Waited::Interrupted(signal)) => return Ok(128 + signal),
            None => {
                shell.error("wait", &format!("pid {argument} is not a child of this shell")).await;
                127
            }
        };
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

/// `kill`: sends a signal to processes of the session.
pub(crate) async fn kill(shell: &mut Shell, arguments: &[String]) -> Done {
    let mut rest = arguments;
    let name = match rest {
        [option, ..] if option == "--" => None,
        [option, name, tail @ ..] if option == "-s" || option == "-n" => {
            rest = tail;
            Some(name.as_str())
        }
        [option, tail @ ..] if option == "-l" || option == "-L" => return list_signals(shell, tail).await,
        [option, tail @ ..] if option.len() > 1 && option.starts_with('-') => {
            rest = tail;
            Some(&option[1..])
        }
        _ => None,
    };
    let Some((_, number)) = signal(name.unwrap_or("TERM")) else {
        shell.error("kill", &format!("{}: invalid signal specification", name.unwrap_or_default())).await;
        return Ok(1);
    };
    if rest.first().is_some_and(|word| word == "--") {
        rest = &rest[1..];
    }
    if rest.is_empty() {
        shell.error("kill", "usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...").await;
        return Ok(2);
    }
    let mut status = 0;
    for target in rest {
        let sent = match receivers(shell, target) {
            Ok(receivers) => shell.shared.processes.send(receivers, number),
            Err(what) => {
                shell.error("kill", &what).await;
                status = 1;
                continue;
            }
        };
        if !sent {
            shell.error("kill", &format!("({target}) - No such process")).await;
            status = 1;
        }
    }
    if shell.process.signals.is_ending() {
        // It ends here, by the signal.
        std::future::pending::<()>().await;
    }
    Ok(status)
}

/// Returns the processes that an argument of `kill` names.
fn receivers(shell: &Shell, target: &str) -> Result<Receivers, String> {
    if target.starts_with('%') {
        let id = job_id(shell, target).ok_or_else(|| format!("{target}: no such job"))?;
        return Ok(Receivers::One(id));
    }
    match target.parse::<i64>() {
        Ok(0) => Ok(Receivers::Group(shell.process.group())),
        Ok(-1) => Ok(Receivers::AllBut(shell.process.number)),
        Ok(number) => {
            let process = u32::try_from(number.unsigned_abs()).unwrap_or(u32::MAX);
            Ok(if number < 0 { Receivers::Group(process) } else { Receivers::One(process) })
        }
        Err(_) => Err(format!("{target}: arguments must be process or job IDs")),
    }
}

/// `kill -l`: names of signals, or of those given by number or by a code of exit.
async fn list_signals(shell: &mut Shell, given: &[String]) -> Done {
    let mut text = String::new();
    for word in given {
        let exit = word.parse::<i32>().ok().filter(|code| *code > 128).map(|code| (code - 128).to_string());
        match signal(exit.as_ref().unwrap_or(word)) {
            Some((name, _)) if word.parse::<i32>().is_ok() => text.push_str(&format!("{name}\n")),
            Some((_, number)) => text.push_str(&format!("{number}\n")),
            None => {
                shell.error("kill", &format!("{word}: invalid signal specification")).await;
                return Ok(1);
            }
        }
    }
    if given.is_empty() {
        for (name, number) in SIGNALS.iter().skip(1) {
            text.push_str(&format!("{number:>2}) SIG{name}\n"));
        }
    }
    shell.out("kill", text.as_bytes()).await?;
    Ok(0)
}
