//! Programs `bash` and `sh`, and scripts that are called by their path.

use crate::builtins::control::read_script;
use crate::processes::Start;
use crate::state::{Done, Shell};
use std::sync::Arc;

/// `bash` and `sh`: a shell within this one.
pub(super) async fn bash(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    let replaces = std::mem::take(&mut shell.becomes_next);
    let leads_group = std::mem::take(&mut shell.leads_group);
    let mut inner = shell.subshell().await?;
    inner.options = crate::state::Options::default();
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
            "-login" | "-norc" | "-noprofile" | "-posix" => continue,
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

/// A path to a script, run by a shell of its own, as its first line or nothing says.
pub(super) async fn script_file(shell: &mut Shell, path: &str, arguments: &[String]) -> Done {
    use proofbox_vfs::{FileKind, lock};
    let found = lock(&shell.shared.tree).stat_followed(&shell.path(path));
    match found {
        Err(error) => {
            shell.error("", &format!("{path}: {}", crate::state::reason(&error))).await;
            return Ok(127);
        }
        Ok(entry) if entry.kind == FileKind::Directory => {
            shell.error("", &format!("{path}: Is a directory")).await;
            return Ok(126);
        }
        Ok(_) => {}
    }
    let mut start = Vec::new();
    if let Ok(mut reader) = shell.reader_of(path) {
        reader.read_into(&mut start, 200, Some(b'\n')).await;
    }
    let mut all = vec![path.to_owned()];
    all.extend_from_slice(arguments);
    match start.starts_with(b"#!") && start.windows(6).any(|part| part == b"python") {
        true => super::python::python(shell, "python3", &all).await,
        false => bash(shell, "bash", &all).await,
    }
}
