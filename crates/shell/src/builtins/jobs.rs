//! Builtins for background jobs: `wait`, `jobs`, `kill`.

use crate::state::{Done, Shell, Stop};

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

/// Signals by name, with their numbers on Linux.
const SIGNALS: [(&str, i32); 19] = [
    ("EXIT", 0),
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
];
/// Signals that end nothing.
const HARMLESS: [&str; 2] = ["CHLD", "CONT"];

fn signal(name: &str) -> Option<(&'static str, i32)> {
    let upper = name.to_ascii_uppercase();
    let plain = upper.strip_prefix("SIG").unwrap_or(&upper);
    SIGNALS.into_iter().find(|(known, number)| *known == plain || plain.parse() == Ok(*number))
}

/// `kill`: ends a job, or the script itself.
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
    let Some((name, number)) = signal(name.unwrap_or("TERM")) else {
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
    for process in rest {
        let ends = number != 0 && !HARMLESS.contains(&name);
        if process.parse() == Ok(shell.shared.pid) {
            if !ends {
                continue;
            }
            return Err(Stop::Exit(128 + number));
        }
        // A job is a group of its own.
        let id = job_id(shell, process.strip_prefix('-').unwrap_or(process));
        let found = id.is_some_and(|id| match ends {
            true => shell.end_job(id),
            false => shell.running_jobs().contains(&id),
        });
        if !found {
            shell.error("kill", &format!("({process}) - No such process")).await;
            status = 1;
        }
    }
    Ok(status)
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
