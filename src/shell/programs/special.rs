//! Builtins that steer the shell.

use crate::shell::state::{Done, Shell, Stop};

/// The code that an argument gives, or that of the last command.
async fn code(shell: &mut Shell, who: &str, arguments: &[String]) -> Result<i32, Stop> {
    match arguments.first() {
        None => Ok(shell.status),
        Some(text) => match text.parse::<i64>() {
            Ok(code) => Ok((code & 255) as i32),
            Err(_) => {
                shell.complain(who, &format!("{text}: numeric argument required")).await;
                Ok(2)
            }
        },
    }
}

pub(super) async fn exit(shell: &mut Shell, arguments: &[String]) -> Done {
    Err(Stop::Exit(code(shell, "exit", arguments).await?))
}
