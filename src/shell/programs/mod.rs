//! The builtins and programs, by name.

mod echo;
mod files;
mod options;
mod python;
mod special;
mod text;

use super::state::{Done, Shell};
use futures_util::future::BoxFuture;

/// What bash itself has, rather than a program.
const BUILTINS: [&str; 44] = [
    ":",
    ".",
    "[",
    "alias",
    "bg",
    "break",
    "builtin",
    "cd",
    "command",
    "continue",
    "declare",
    "disown",
    "echo",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fg",
    "getopts",
    "hash",
    "jobs",
    "kill",
    "let",
    "local",
    "mapfile",
    "printf",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "umask",
    "unset",
];

/// Whether a name is one that bash itself has.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || matches!(name, "wait" | "ulimit" | "unalias")
}

/// Runs a builtin or a program.
pub(super) fn run<'a>(shell: &'a mut Shell, name: &'a str, arguments: &'a [String]) -> BoxFuture<'a, Done> {
    // A path to a program means the program.
    let plain = ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|directory| name.strip_prefix(directory));
    let name = plain.unwrap_or(name);
    match name {
        ":" | "true" => Box::pin(async { Ok(0) }),
        "false" => Box::pin(async { Ok(1) }),
        "echo" => Box::pin(echo::echo(shell, arguments)),
        "cat" => Box::pin(text::cat(shell, arguments)),
        "pwd" => Box::pin(files::pwd(shell)),
        "cd" => Box::pin(files::cd(shell, arguments)),
        "exit" => Box::pin(special::exit(shell, arguments)),
        "python3" | "python" => Box::pin(python::python(shell, arguments)),
        name => Box::pin(async move {
            shell.complain("", &format!("{name}: command not found")).await;
            Ok(127)
        }),
    }
}
