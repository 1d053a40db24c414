//! Builtins that steer the shell: `exit`, `return`, `break`, `continue`, `eval`, `source`.

use crate::state::{Done, Shell, Stop};
use std::sync::Arc;

/// The code that an argument gives, or that of the last command.
async fn exit_code_argument(shell: &mut Shell, who: &str, arguments: &[String]) -> Result<i32, Stop> {
    match arguments.first() {
        None => Ok(shell.status),
        Some(text) => match text.parse::<i64>() {
            Ok(code) => Ok((code & 255) as i32),
            Err(_) => {
                shell.error(who, &format!("{text}: numeric argument required")).await;
                Ok(2)
            }
        },
    }
}

pub(crate) async fn exit(shell: &mut Shell, arguments: &[String]) -> Done {
    Err(Stop::Exit(exit_code_argument(shell, "exit", arguments).await?))
}

pub(crate) async fn return_(shell: &mut Shell, arguments: &[String]) -> Done {
    let code = exit_code_argument(shell, "return", arguments).await?;
    if shell.calls == 0 {
        shell.error("return", "can only `return' from a function or sourced script").await;
        return Ok(2);
    }
    Err(Stop::Return(code))
}

/// Runs `break` or `continue`.
pub(crate) async fn break_or_continue(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    if shell.loops == 0 {
        shell.error(name, "only meaningful in a `for', `while', or `until' loop").await;
        return Ok(0);
    }
    let count = match arguments.first().map(|text| text.parse::<usize>()) {
        None => 1,
        Some(Ok(count)) if count > 0 => count.min(shell.loops),
        Some(_) => {
            shell.error(name, &format!("{}: loop count out of range", arguments[0])).await;
            return Ok(1);
        }
    };
    Err(if name == "break" { Stop::Break(count) } else { Stop::Continue(count) })
}

pub(crate) async fn eval(shell: &mut Shell, arguments: &[String]) -> Done {
    let text = arguments.join(" ");
    shell.deeper().await?;
    let done = shell.run_text(&text, "eval").await;
    shell.level -= 1;
    done
}

/// `.` and `source`.
pub(crate) async fn source(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    let Some((path, arguments)) = arguments.split_first() else {
        shell.error(name, "filename argument required").await;
        shell.say(&format!("{name}: usage: {name} filename [arguments]\n")).await;
        return Ok(2);
    };
    let text = match read_script(shell, path).await? {
        Ok(text) => text,
        Err(why) => {
            shell.error("", &format!("{path}: {why}")).await;
            return Ok(1);
        }
    };
    shell.deeper().await?;
    let positional = Arc::clone(&shell.positional);
    if !arguments.is_empty() {
        shell.positional = Arc::new(arguments.to_vec());
    }
    shell.calls += 1;
    let done = shell.run_text(&text, path).await;
    shell.calls -= 1;
    shell.positional = positional;
    shell.level -= 1;
    match done {
        Err(Stop::Return(code)) => Ok(code),
        done => done,
    }
}

/// A script's text from a file.
pub(crate) async fn read_script(shell: &mut Shell, path: &str) -> Result<Result<String, &'static str>, Stop> {
    let mut reader = match shell.reader_of(path) {
        Ok(reader) => reader,
        Err(why) => return Ok(Err(why)),
    };
    let mut bytes = Vec::new();
    while reader.read_into(&mut bytes, 64 << 10, None).await > 0 {
        shell.step(1).await?;
        if bytes.len() > crate::syntax::MAX_SCRIPT {
            return Ok(Err("File too large"));
        }
    }
    Ok(String::from_utf8(bytes).map_err(|_| "cannot execute binary file"))
}
