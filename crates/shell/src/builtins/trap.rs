//! Builtin `trap`, and the names of signals.

use crate::processes::{KILL, bit};
use crate::state::{Done, Shell};
use std::sync::Arc;

/// Signals by name, with their numbers on Linux.
pub(super) const SIGNALS: [(&str, i32); 31] = [
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
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];
/// Conditions of `trap` that are no signals, and never met here.
const CONDITIONS: [&str; 3] = ["DEBUG", "ERR", "RETURN"];

/// Returns the signal of a name or number.
pub(crate) fn signal(name: &str) -> Option<(&'static str, i32)> {
    let upper = name.to_ascii_uppercase();
    let plain = upper.strip_prefix("SIG").unwrap_or(&upper);
    SIGNALS.into_iter().find(|(known, number)| *known == plain || plain.parse() == Ok(*number))
}

/// `trap`: keeps commands for signals and for the end of the shell, and shows them.
pub(crate) async fn trap(shell: &mut Shell, arguments: &[String]) -> Done {
    let (show, rest) = match arguments {
        [] => (true, arguments),
        [first, rest @ ..] if first == "-p" => (true, rest),
        [first, rest @ ..] if first == "--" => (rest.is_empty(), rest),
        _ => (false, arguments),
    };
    if show {
        return show_traps(shell, rest).await;
    }
    // A signal alone is reset.
    let (action, names) = match rest {
        [name] => (None, std::slice::from_ref(name)),
        [action, names @ ..] => (Some(action.as_str()).filter(|action| *action != "-"), names),
        [] => (None, rest),
    };
    let mut status = 0;
    for name in names {
        match signal(name) {
            Some((_, 0)) => shell.at_exit = action.filter(|action| !action.is_empty()).map(Arc::from),
            Some((_, number)) if number == KILL || shell.ignored & bit(number) != 0 => {}
            Some((_, number)) => {
                let traps = Arc::make_mut(&mut shell.traps);
                match action {
                    Some(action) => traps.insert(number, Arc::from(action)),
                    None => traps.remove(&number),
                };
            }
            None if CONDITIONS.contains(&name.to_ascii_uppercase().as_str()) => {}
            None => {
                shell.error("trap", &format!("{name}: invalid signal specification")).await;
                status = 1;
            }
        }
    }
    shell.catch_signals();
    Ok(status)
}

async fn show_traps(shell: &mut Shell, names: &[String]) -> Done {
    let at_exit = shell.at_exit.iter().map(|action| (0, action));
    let all = at_exit.chain(shell.traps.iter().map(|(number, action)| (*number, action)));
    let mut text = String::new();
    for (number, action) in all {
        let Some((name, _)) = SIGNALS.into_iter().find(|(_, known)| *known == number) else { continue };
        if names.is_empty() || names.iter().any(|wanted| signal(wanted).is_some_and(|(_, known)| known == number)) {
            let prefix = if number == 0 { "" } else { "SIG" };
            text.push_str(&format!("trap -- '{}' {prefix}{name}\n", action.replace('\'', r"'\''")));
        }
    }
    shell.out("trap", text.as_bytes()).await?;
    Ok(0)
}
