//! Builtin `echo`.

use crate::escapes::{Kind, unescape};
use crate::state::{Done, Shell};

pub(crate) async fn echo(shell: &mut Shell, arguments: &[String]) -> Done {
    let (mut newline, mut escapes) = (true, false);
    let mut words = arguments;
    while let Some((first, rest)) = words.split_first() {
        let Some(flags) = first.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
        if !flags.chars().all(|flag| "neE".contains(flag)) {
            break;
        }
        for flag in flags.chars() {
            match flag {
                'n' => newline = false,
                'e' => escapes = true,
                _ => escapes = false,
            }
        }
        words = rest;
    }
    let mut text = words.join(" ");
    if escapes {
        let (mut bytes, ended) = unescape(&text, Kind::Echo);
        if newline && !ended {
            bytes.push(b'\n');
        }
        shell.out("echo", &bytes).await?;
        return Ok(0);
    }
    if newline {
        text.push('\n');
    }
    shell.out("echo", text.as_bytes()).await?;
    Ok(0)
}
