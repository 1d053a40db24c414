//! Program `which`, and the builtin `type`.

use crate::state::{Done, Shell};
use proofbox_vfs::{FileKind, Permission, lock};

/// Runs `which`, `type`, `command -v` or `hash`.
pub(super) async fn which(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let mut status = 0;
    let kind = arguments.iter().any(|flag| flag == "-t");
    for name in arguments.iter().filter(|argument| !argument.starts_with('-')) {
        let is_path = name.contains('/');
        let own =
            if is_path || super::names::is_known(name) { None } else { super::bash::in_path(shell, name).await? };
        let path = match (is_path, &own) {
            (true, _) => name.clone(),
            (false, Some(own)) => own.clone(),
            (false, None) => format!("/usr/bin/{name}"),
        };
        let function = shell.functions.contains_key(name);
        let builtin = super::names::is_builtin(name);
        let keyword =
            ["if", "for", "while", "until", "case", "function", "time", "[[", "{", "!"].contains(&name.as_str());
        let known = if is_path { is_executable(shell, name) } else { own.is_some() || super::names::is_known(name) };
        let text = match who {
            "which" => known.then_some(path),
            "type" if kind => match () {
                () if function => Some("function".to_owned()),
                () if keyword => Some("keyword".to_owned()),
                () if builtin => Some("builtin".to_owned()),
                () => known.then(|| "file".to_owned()),
            },
            "type" => match () {
                () if function => Some(format!("{name} is a function")),
                () if keyword => Some(format!("{name} is a shell keyword")),
                () if builtin => Some(format!("{name} is a shell builtin")),
                () => known.then(|| format!("{name} is {path}")),
            },
            _ if function || builtin || keyword => Some(name.clone()),
            _ => known.then_some(path),
        };
        match text {
            Some(text) => shell.out(who, format!("{text}\n").as_bytes()).await?,
            None => {
                if who == "type" && !kind {
                    shell.error("type", &format!("{name}: not found")).await;
                }
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Returns whether a path is that of a file that can be executed.
fn is_executable(shell: &Shell, path: &str) -> bool {
    let path = shell.path(path);
    let tree = lock(&shell.tree);
    tree.may(&path, Permission::Execute) == Ok(true)
        && tree.stat_followed(&path).is_ok_and(|entry| entry.kind == FileKind::File)
}
