//! Programs `bash` and `sh`, and scripts that are called by their path.

use super::names::{is_executable_name, name_of};
use crate::builtins::control::read_script;
use crate::processes::Start;
use crate::state::{Done, Shell, Stop, Streams};
use proofbox_vfs::{FileKind, Permission, lock};
use std::sync::Arc;

/// `bash` and `sh`: a shell within this one.
pub(super) async fn bash(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    let replaces = std::mem::take(&mut shell.becomes_next);
    let leads_group = std::mem::take(&mut shell.leads_group);
    let mut inner = shell.subshell().await?;
    inner.options = crate::state::Options { passes_exit_on_error: name == "sh", ..Default::default() };
    inner.unchecked = 0;
    inner.functions = Arc::default();
    Arc::make_mut(&mut inner.variables).retain(|_, variable| variable.exported);
    let mut rest = arguments;
    let mut command = false;
    while let Some((first, more)) = rest.split_first() {
        let Some(flags) = first.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
        rest = more;
        match flags {
            "-" => break,
            "-version" => {
                let text = "GNU bash, version 5.2.0(1)-release (a small shell of the same grammar)\n";
                shell.out(name, text.as_bytes()).await?;
                return Ok(0);
            }
            "-posix" => {
                inner.options.passes_exit_on_error = true;
                continue;
            }
            "-login" | "-norc" | "-noprofile" => continue,
            _ => {}
        }
        for flag in flags.chars() {
            match flag {
                'c' => command = true,
                'l' | 'i' | 's' => {}
                'e' => inner.options.exit_on_error = true,
                'u' => inner.options.unset_is_error = true,
                'x' => inner.options.trace = true,
                'o' => {
                    if rest.first().is_some_and(|option| option == "pipefail") {
                        inner.options.pipe_fail = true;
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                flag => {
                    shell.error("bash", &format!("-{flag}: invalid option")).await;
                    return Ok(2);
                }
            }
        }
    }
    let (text, from) = match (command, rest.split_first()) {
        (true, None) => {
            shell.error("bash", "-c: option requires an argument").await;
            return Ok(2);
        }
        (true, Some((text, arguments))) => {
            inner.name = arguments.first().cloned().unwrap_or_else(|| name.to_owned());
            inner.positional = Arc::new(arguments.get(1..).unwrap_or_default().to_vec());
            (text.clone(), "-c".to_owned())
        }
        (false, Some((path, arguments))) => {
            inner.name.clone_from(path);
            inner.positional = Arc::new(arguments.to_vec());
            match read_script(shell, path).await? {
                Ok(text) => (text, path.clone()),
                Err(why) => {
                    shell.error("bash", &format!("{path}: {why}")).await;
                    return Ok(if why == "No such file or directory" { 127 } else { 126 });
                }
            }
        }
        (false, None) => match read_script(shell, "/dev/stdin").await? {
            Ok(text) => (text, name.to_owned()),
            Err(why) => return Err(shell.fails("bash", why).await),
        },
    };
    let words = std::iter::once(name).chain(arguments.iter().map(String::as_str));
    let command = words.collect::<Vec<_>>().join(" ");
    let _entry = match replaces {
        true => {
            shell.process.set_command(&command);
            // Nothing comes after it here that would write.
            shell.streams = Streams::closed();
            None
        }
        false => {
            let start = Start { number: None, parent: Some(&shell.process), command: &command, now: shell.now() };
            let Some(entry) = shell.shared.processes.start(start) else { return Err(shell.no_process().await) };
            if leads_group {
                entry.process.lead_group();
            }
            inner.process = Arc::clone(&entry.process);
            Some(entry)
        }
    };
    inner.owns_process = true;
    inner.ignored = inner.catch_signals();
    inner.pid = inner.process.number;
    inner.in_subshell = false;
    inner.run_process(&text, &from).await
}

/// Directories of `PATH` in which a name is looked for.
const MAX_DIRECTORIES: usize = 64;

/// A name that is none of the sandbox's programs: a file of the user's in a directory of `PATH`.
pub(super) async fn from_path(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    match in_path(shell, name).await? {
        Some(path) => script_file(shell, &path, arguments).await,
        None => {
            shell.error("", &format!("{name}: command not found")).await;
            Ok(127)
        }
    }
}

/// Finds an executable file of that name in the directories of `PATH`.
pub(super) async fn in_path(shell: &Shell, name: &str) -> Result<Option<String>, Stop> {
    let path = shell.text_of("PATH").unwrap_or_default();
    for directory in path.split(':').take(MAX_DIRECTORIES) {
        shell.step(1).await?;
        let file = super::destination::join_last_name(if directory.is_empty() { "." } else { directory }, name);
        let is_file = shell.stat(&file).is_ok_and(|entry| entry.kind == FileKind::File);
        if is_file && lock(&shell.tree).may(&shell.path(&file), Permission::Execute) == Ok(true) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// A path to a script, run by the program that its first line names, or by a shell of its own.
pub(super) async fn script_file(shell: &mut Shell, path: &str, arguments: &[String]) -> Done {
    let absolute = shell.path(path);
    let found = {
        let tree = lock(&shell.tree);
        tree.stat_followed(&absolute).and_then(|entry| Ok((entry.kind, tree.may(&absolute, Permission::Execute)?)))
    };
    let why = match found {
        Err(error) => {
            let why = crate::state::reason(&error);
            shell.error("", &format!("{path}: {why}")).await;
            return Ok(if why == "Permission denied" { 126 } else { 127 });
        }
        Ok((FileKind::Directory, _)) => Some("Is a directory"),
        Ok((FileKind::NamedPipe, _) | (_, false)) => Some("Permission denied"),
        Ok((_, true)) => None,
    };
    if let Some(why) = why {
        shell.error("", &format!("{path}: {why}")).await;
        return Ok(126);
    }
    // A link may lead to a program of the sandbox.
    let real = lock(&shell.tree).real_path(&absolute).unwrap_or_default();
    if let Some(name) = name_of(&real).filter(|name| is_executable_name(name)) {
        return deeper(shell, name, arguments).await;
    }
    let mut start = Vec::new();
    if let Ok(mut reader) = shell.reader_of(path) {
        reader.read_into(&mut start, 200, Some(b'\n')).await;
    }
    let line = String::from_utf8_lossy(&start).into_owned();
    let Some(interpreter) = line.strip_prefix("#!") else {
        if start.contains(&0) {
            shell.error("", &format!("{path}: cannot execute binary file: Exec format error")).await;
            return Ok(126);
        }
        let all: Vec<String> = std::iter::once(path.to_owned()).chain(arguments.iter().cloned()).collect();
        return bash(shell, "bash", &all).await;
    };
    let (program, option) = match interpreter.trim().split_once(char::is_whitespace) {
        Some((program, option)) => (program, Some(option.trim().to_owned())),
        None => (interpreter.trim(), None),
    };
    let is_there = lock(&shell.tree).may(&shell.path(program), Permission::Execute);
    let name = name_of(program).filter(|name| is_executable_name(name));
    if name.is_none() && is_there != Ok(true) {
        let (why, code) = match is_there {
            Ok(_) => (format!("{program}: bad interpreter: Permission denied"), 126),
            Err(_) => ("cannot execute: required file not found".to_owned(), 127),
        };
        shell.error("", &format!("{path}: {why}")).await;
        return Ok(code);
    }
    let words = option.into_iter().chain(std::iter::once(path.to_owned())).chain(arguments.iter().cloned());
    let words: Vec<String> = words.collect();
    deeper(shell, name.unwrap_or(program), &words).await
}

/// Runs a program one level deeper, as scripts may name each other without end.
async fn deeper(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    shell.deeper().await?;
    let done = super::run(shell, name, arguments).await;
    shell.level -= 1;
    done
}
