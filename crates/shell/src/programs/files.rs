//! Making, copying, moving and removing: `mkdir`, `rmdir`, `rm`, `cp`, `mv`, `touch`, `ln`; and where the shell stands.

use super::input::usage;
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{Fault, FileEntry, FileKind, FileUse, FilesError, OpenFile, lock};

pub(super) async fn pwd(shell: &mut Shell) -> Done {
    let text = format!("{}\n", shell.cwd);
    shell.out("pwd", text.as_bytes()).await?;
    Ok(0)
}

pub(super) async fn cd(shell: &mut Shell, arguments: &[String]) -> Done {
    let operands: Vec<&String> =
        arguments.iter().filter(|argument| !["-P", "-L", "--"].contains(&argument.as_str())).collect();
    let (target, shows) = match operands.as_slice() {
        [] => match shell.text_of("HOME") {
            Some(home) => (home.to_string(), false),
            None => return Err(shell.fails("cd", "HOME not set").await),
        },
        [dash] if *dash == "-" => match shell.text_of("OLDPWD") {
            Some(before) => (before.to_string(), true),
            None => return Err(shell.fails("cd", "OLDPWD not set").await),
        },
        [target] => ((*target).clone(), false),
        _ => return Err(shell.fails("cd", "too many arguments").await),
    };
    if target.is_empty() {
        return Ok(0);
    }
    let path = shell.path(&target);
    let found = lock(&shell.shared.tree).stat_followed(&path);
    match found {
        Ok(entry) if entry.kind == FileKind::Directory => {}
        Ok(_) => return Err(shell.fails("cd", &format!("{target}: Not a directory")).await),
        Err(error) => return Err(shell.fails("cd", &format!("{target}: {}", reason(&error))).await),
    }
    let before = std::mem::replace(&mut shell.cwd, path.clone());
    shell.assign_text("OLDPWD", &before).await?;
    shell.assign_text("PWD", &path).await?;
    if shows {
        shell.out("cd", format!("{path}\n").as_bytes()).await?;
    }
    Ok(0)
}

impl Shell {
    /// Returns the entry at a path, with links followed or not.
    pub(super) fn look(&self, path: &str, follow: bool) -> Result<FileEntry, FilesError> {
        let tree = lock(&self.shared.tree);
        match (path, follow) {
            ("", _) => tree.stat(""),
            (path, true) => tree.stat_followed(&self.path(path)),
            // A slash at the end asks for what the link leads to.
            (path, false) if path.ends_with('/') => tree.stat_followed(&self.path(path)),
            (path, false) => tree.stat(&self.path(path)),
        }
    }

    pub(super) fn is_directory(&self, path: &str) -> bool {
        self.look(path, true).is_ok_and(|entry| entry.kind == FileKind::Directory)
    }
}

/// Returns the path in a directory for the last name of a path.
fn below(directory: &str, name: &str) -> String {
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    match directory.ends_with('/') {
        true => format!("{directory}{last}"),
        false => format!("{directory}/{last}"),
    }
}

pub(super) async fn make_directory(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "pvm:", &[("parents", 'p'), ("verbose", 'v'), ("mode", 'm')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "mkdir", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "mkdir", "missing operand", 1).await);
    }
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let path = shell.path(name);
        let made = {
            let mut tree = lock(&shell.shared.tree);
            let parent = crate::state::absolute(&path, "..");
            match tree.stat_followed(&parent) {
                _ if name.is_empty() => Err("No such file or directory"),
                Ok(entry) if entry.kind != FileKind::Directory => Err("Not a directory"),
                Err(error) if !given.has('p') => Err(reason(&error)),
                Ok(_) | Err(_) => match tree.make_directory(&path, shell.now()) {
                    Ok(()) => Ok(true),
                    Err(FilesError::Refused { fault: Fault::Exists, .. })
                        if given.has('p')
                            && tree.stat_followed(&path).is_ok_and(|entry| entry.kind == FileKind::Directory) =>
                    {
                        Ok(false)
                    }
                    Err(error) => Err(reason(&error)),
                },
            }
        };
        match made {
            Ok(made) => {
                if made && given.has('v') {
                    shell.out("mkdir", format!("mkdir: created directory '{name}'\n").as_bytes()).await?;
                }
            }
            Err(why) => {
                shell.complain("mkdir", &format!("cannot create directory '{name}': {why}")).await;
                status = 1;
            }
        }
    }
    Ok(status)
}

pub(super) async fn remove_directory(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "pv", &[("parents", 'p')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "rmdir", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "rmdir", "missing operand", 1).await);
    }
    let mut status = 0;
    for name in &given.operands {
        let mut name = name.trim_end_matches('/').to_owned();
        loop {
            shell.step(1).await?;
            let path = shell.path(&name);
            let removed = {
                let mut tree = lock(&shell.shared.tree);
                match tree.stat(&path) {
                    Ok(entry) if entry.kind != FileKind::Directory => Err("Not a directory"),
                    Ok(_) => match tree.list(&path, 1) {
                        Ok(entries) if entries.is_empty() => {
                            tree.remove(&path, shell.now()).map_err(|error| reason(&error))
                        }
                        Ok(_) => Err("Directory not empty"),
                        Err(error) => Err(reason(&error)),
                    },
                    Err(error) => Err(reason(&error)),
                }
            };
            if let Err(why) = removed {
                shell.complain("rmdir", &format!("failed to remove '{name}': {why}")).await;
                status = 1;
                break;
            }
            match name.rsplit_once('/') {
                Some((above, _)) if given.has('p') && !above.is_empty() => name = above.to_owned(),
                _ => break,
            }
        }
    }
    Ok(status)
}

pub(super) async fn remove(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("recursive", 'r'), ("force", 'f'), ("verbose", 'v'), ("dir", 'd')];
    let given = match read(arguments, "rRfvdiI", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "rm", &why, 1).await),
    };
    let (force, recursive) = (given.has('f'), given.has('r') || given.has('R'));
    if given.operands.is_empty() && !force {
        return Err(usage(shell, "rm", "missing operand", 1).await);
    }
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let found = shell.look(name, false);
        let removed = match found {
            _ if matches!(last, "." | "..") && recursive => {
                let what = format!("refusing to remove '.' or '..' directory: skipping '{name}'");
                shell.complain("rm", &what).await;
                status = 1;
                continue;
            }
            Err(FilesError::Refused { fault: Fault::NotFound | Fault::NotADirectory, .. }) if force => continue,
            Err(error) => Err(reason(&error)),
            Ok(entry) if entry.kind == FileKind::Directory && !recursive => {
                let empty = lock(&shell.shared.tree).list(&shell.path(name), 1).is_ok_and(|list| list.is_empty());
                match (given.has('d'), empty) {
                    (true, true) => drop_path(shell, name),
                    (true, false) => Err("Directory not empty"),
                    (false, _) => Err("Is a directory"),
                }
            }
            Ok(_) => drop_path(shell, name),
        };
        match removed {
            Ok(()) if given.has('v') => shell.out("rm", format!("removed '{name}'\n").as_bytes()).await?,
            Ok(()) => {}
            Err(why) => {
                shell.complain("rm", &format!("cannot remove '{name}': {why}")).await;
                status = 1;
            }
        }
    }
    Ok(status)
}

fn drop_path(shell: &Shell, name: &str) -> Result<(), &'static str> {
    lock(&shell.shared.tree).remove(&shell.path(name), shell.now()).map_err(|error| reason(&error))
}

pub(super) async fn touch(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("no-create", 'c'), ("reference", 'r'), ("date", 'd')];
    let given = match read(arguments, "acmr:d:t:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "touch", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "touch", "missing file operand", 1).await);
    }
    let now = shell.now();
    let time = match (given.value('r'), given.value('d')) {
        (Some(reference), _) => match shell.look(reference, true) {
            Ok(entry) => entry.modified,
            Err(error) => {
                let what = format!("failed to get attributes of '{reference}': {}", reason(&error));
                return Err(shell.fails("touch", &what).await);
            }
        },
        (None, Some(date)) => match super::dates::parse(date, now) {
            Some(time) => time,
            None => return Err(shell.fails("touch", &format!("invalid date format '{date}'")).await),
        },
        (None, None) => now,
    };
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let path = shell.path(name);
        let exists = shell.look(name, true).is_ok();
        let touched = match (exists, given.has('c')) {
            (false, true) => Ok(()),
            (true, _) => Ok(()),
            (false, false) => OpenFile::open(&shell.shared.tree, &path, FileUse::Extend, now).map(drop),
        };
        let touched = touched.and_then(|()| match exists || !given.has('c') {
            true => {
                let accessed = (!given.has('m') || given.has('a')).then_some(time);
                let modified = (!given.has('a') || given.has('m')).then_some(time);
                lock(&shell.shared.tree).set_file_times(&path, accessed, modified, now)
            }
            false => Ok(()),
        });
        if let Err(error) = touched {
            shell.complain("touch", &format!("cannot touch '{name}': {}", reason(&error))).await;
            status = 1;
        }
    }
    Ok(status)
}

pub(super) async fn link(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "sfnvr", &[("symbolic", 's'), ("force", 'f')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "ln", &why, 1).await),
    };
    let (targets, into) = match given.operands.as_slice() {
        [] => return Err(usage(shell, "ln", "missing file operand", 1).await),
        [target] => (std::slice::from_ref(target), "."),
        [targets @ .., last] => (targets, last.as_str()),
    };
    let symbolic = given.has('s');
    let mut status = 0;
    for target in targets {
        shell.step(1).await?;
        let name = match shell.is_directory(into)
            && !(given.has('n') && shell.look(into, false).is_ok_and(|entry| entry.kind == FileKind::Link))
        {
            true => below(into, target),
            false => into.to_owned(),
        };
        let path = shell.path(&name);
        let now = shell.now();
        if given.has('f') && shell.look(&name, false).is_ok_and(|entry| entry.kind != FileKind::Directory) {
            // The next step says if it is still there.
            let _ = lock(&shell.shared.tree).remove(&path, now);
        }
        let made = match symbolic {
            true => lock(&shell.shared.tree).make_symbolic_link(&path, target, now),
            false => lock(&shell.shared.tree).make_hard_link(&path, &shell.path(target), now),
        };
        if let Err(error) = made {
            let what = match (symbolic, reason(&error)) {
                (true, why) => format!("failed to create symbolic link '{name}': {why}"),
                (false, why) if shell.look(target, true).is_err() => format!("failed to access '{target}': {why}"),
                (false, _) if shell.is_directory(target) => format!("{target}: hard link not allowed for directory"),
                (false, why) => format!("failed to create hard link '{name}': {why}"),
            };
            shell.complain("ln", &what).await;
            status = 1;
        }
    }
    Ok(status)
}

/// Runs `cp` or `mv`.
pub(super) async fn copy_or_move(shell: &mut Shell, who: &'static str, arguments: &[String]) -> Done {
    let long = [
        ("recursive", 'r'),
        ("archive", 'a'),
        ("force", 'f'),
        ("verbose", 'v'),
        ("no-clobber", 'n'),
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
        ("update", 'u'),
        ("parents", 'p'),
    ];
    let given = match read(arguments, "rRafvnpt:TuiLPdlsH", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let mut operands = given.operands.clone();
    let into = match given.value('t') {
        Some(directory) => directory.to_owned(),
        None => match operands.len() {
            0 => return Err(usage(shell, who, "missing file operand", 1).await),
            1 => {
                let why = format!("missing destination file operand after '{}'", operands[0]);
                return Err(usage(shell, who, &why, 1).await);
            }
            _ => operands.pop().unwrap_or_default(),
        },
    };
    let directory = shell.is_directory(&into) && !given.has('T');
    if operands.len() > 1 && !directory {
        return Err(shell
            .fails(
                who,
                &format!(
                    "target '{into}': {}",
                    match shell.look(&into, true) {
                        Ok(_) => "Not a directory",
                        Err(_) => "No such file or directory",
                    }
                ),
            )
            .await);
    }
    let recursive = given.has('r') || given.has('R') || given.has('a');
    let mut status = 0;
    for from in &operands {
        shell.step(1).await?;
        let to = if directory { below(&into, from) } else { into.clone() };
        if given.has('n') && shell.look(&to, false).is_ok() {
            continue;
        }
        let done = match who {
            "cp" => copy(shell, from, &to, recursive, given.has('a') || given.has('p')).await,
            _ => move_one(shell, from, &to),
        };
        match done {
            Ok(()) if given.has('v') => {
                let verb = if who == "mv" { "renamed " } else { "" };
                shell.out(who, format!("{verb}'{from}' -> '{to}'\n").as_bytes()).await?;
            }
            Ok(()) => {}
            Err(Refusal::Said(what)) => {
                shell.complain(who, &what).await;
                status = 1;
            }
            Err(Refusal::Stop(stop)) => return Err(stop),
        }
    }
    Ok(status)
}

/// Reason why something was not copied or moved.
enum Refusal {
    Said(String),
    Stop(Stop),
}

fn move_one(shell: &Shell, from: &str, to: &str) -> Result<(), Refusal> {
    let said = |what: String| Err(Refusal::Said(what));
    let entry = match shell.look(from, false) {
        Ok(entry) => entry,
        Err(error) => return said(format!("cannot stat '{from}': {}", reason(&error))),
    };
    let target = shell.look(to, false);
    let (source, destination) = (shell.path(from), shell.path(to));
    if source == destination {
        return said(format!("'{from}' and '{to}' are the same file"));
    }
    match &target {
        Ok(there) if there.kind == FileKind::Directory && entry.kind != FileKind::Directory => {
            return said(format!("cannot overwrite directory '{to}' with non-directory"));
        }
        Ok(there) if there.kind != FileKind::Directory && entry.kind == FileKind::Directory => {
            return said(format!("cannot overwrite non-directory '{to}' with directory '{from}'"));
        }
        Err(_) if !shell.is_directory(&crate::state::absolute(&destination, "..")) => {
            let why = match shell.look(&crate::state::absolute(&destination, ".."), true) {
                Ok(_) => "Not a directory",
                Err(_) => "No such file or directory",
            };
            return said(format!("cannot move '{from}' to '{to}': {why}"));
        }
        Err(_) if to.ends_with('/') && entry.kind != FileKind::Directory => {
            return said(format!("cannot move '{from}' to '{to}': Not a directory"));
        }
        Ok(_) | Err(_) => {}
    }
    match lock(&shell.shared.tree).rename(&source, &destination, shell.now()) {
        Ok(()) => Ok(()),
        Err(FilesError::Refused { fault: Fault::IntoItself, .. }) => {
            said(format!("cannot move '{from}' to a subdirectory of itself, '{to}'"))
        }
        Err(error) => said(format!("cannot move '{from}' to '{to}': {}", reason(&error))),
    }
}

/// Copies a file, or a directory with all it holds.
async fn copy(shell: &Shell, from: &str, to: &str, recursive: bool, keeps: bool) -> Result<(), Refusal> {
    let said = |what: String| Err(Refusal::Said(what));
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    let start = shell.path(from);
    let end = shell.path(to);
    let into_itself = end.starts_with(&format!("{}/", start.trim_end_matches('/')));
    while let Some((from, to)) = waiting.pop() {
        shell.step(1).await.map_err(Refusal::Stop)?;
        let entry = match shell.look(&from, !recursive) {
            Ok(entry) => entry,
            Err(error) => return said(format!("cannot stat '{from}': {}", reason(&error))),
        };
        let (source, destination) = (shell.path(&from), shell.path(&to));
        let now = shell.now();
        let there = shell.look(&to, true);
        match entry.kind {
            FileKind::Directory if !recursive => {
                return said(format!("-r not specified; omitting directory '{from}'"));
            }
            FileKind::Directory if into_itself => {
                return said(format!("cannot copy a directory, '{from}', into itself, '{to}'"));
            }
            FileKind::Directory => {
                match there {
                    Ok(there) if there.kind == FileKind::Directory => {}
                    Ok(_) => return said(format!("cannot overwrite non-directory '{to}' with directory '{from}'")),
                    Err(_) => {
                        let parent = crate::state::absolute(&destination, "..");
                        let made = match shell.is_directory(&parent) {
                            true => lock(&shell.shared.tree).make_directory(&destination, now),
                            false => lock(&shell.shared.tree).stat_followed(&parent).map(drop),
                        };
                        if let Err(error) = made {
                            return said(format!("cannot create directory '{to}': {}", reason(&error)));
                        }
                    }
                }
                let entries = lock(&shell.shared.tree).list(&source, 1).unwrap_or_default();
                for entry in entries.into_iter().rev() {
                    waiting.push((below(&from, &entry.name), below(&to, &entry.name)));
                }
            }
            FileKind::Link => {
                let text = entry.link_target.unwrap_or_default();
                if shell.look(&to, false).is_ok_and(|there| there.kind != FileKind::Directory) {
                    // Making the link says if it is still there.
                    let _ = lock(&shell.shared.tree).remove(&destination, now);
                }
                let made = lock(&shell.shared.tree).make_symbolic_link(&destination, &text, now);
                if let Err(error) = made {
                    return said(format!("cannot create symbolic link '{to}': {}", reason(&error)));
                }
            }
            FileKind::File | FileKind::Device => {
                let real = |path: &str| lock(&shell.shared.tree).real_path(path).ok();
                if real(&source).is_some() && real(&source) == real(&destination) {
                    return said(format!("'{from}' and '{to}' are the same file"));
                }
                if there.is_ok_and(|there| there.kind == FileKind::Directory) {
                    return said(format!("cannot overwrite directory '{to}' with non-directory '{from}'"));
                }
                if to.ends_with('/') {
                    return said(format!("cannot create regular file '{to}': Not a directory"));
                }
                copy_file(shell, &from, &to).await?;
                if keeps {
                    // A copy with other times is a copy all the same.
                    let _ = lock(&shell.shared.tree).set_file_times(&destination, None, Some(entry.modified), now);
                }
            }
        }
    }
    Ok(())
}

async fn copy_file(shell: &Shell, from: &str, to: &str) -> Result<(), Refusal> {
    let mut reader =
        shell.reader_of(from).map_err(|why| Refusal::Said(format!("cannot open '{from}' for reading: {why}")))?;
    let writer = shell
        .writer_of(to, FileUse::Replace, false)
        .map_err(|why| Refusal::Said(format!("cannot create regular file '{to}': {why}")))?;
    let mut bytes = Vec::new();
    while reader.read_into(&mut bytes, PIPE_BYTES, None).await > 0 {
        shell.step(1 + bytes.len() as u64 / 4096).await.map_err(Refusal::Stop)?;
        match writer.write(&bytes).await {
            Ok(()) => bytes.clear(),
            Err(crate::streams::NotWritten::Refused(fault)) => {
                let why = crate::state::describe(fault);
                return Err(Refusal::Said(format!("error writing '{to}': {why}")));
            }
            Err(_) => return Err(Refusal::Stop(Stop::Broken)),
        }
    }
    Ok(())
}
