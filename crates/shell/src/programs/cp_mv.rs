//! Programs `cp` and `mv`.

use super::destination::join_last_name;
use super::input::usage;
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{Fault, FileKind, FileUse, FilesError, User, lock};

/// Runs `cp` or `mv`.
pub(super) async fn cp_or_mv(shell: &mut Shell, who: &'static str, arguments: &[String]) -> Done {
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
                    match shell.stat(&into) {
                        Ok(_) => "Not a directory",
                        Err(_) => "No such file or directory",
                    }
                ),
            )
            .await);
    }
    let options = CopyOptions {
        recursive: given.has('r') || given.has('R') || given.has('a'),
        keeps_attributes: given.has('a') || given.has('p'),
    };
    let mut status = 0;
    for from in &operands {
        shell.step(1).await?;
        let to = if directory { join_last_name(&into, from) } else { into.clone() };
        if given.has('n') && shell.lstat(&to).is_ok() {
            continue;
        }
        let done = match who {
            "mv" => move_one(shell, from, &to),
            _ => copy(shell, from, &to, options).await,
        };
        match done {
            Ok(()) if given.has('v') => {
                let verb = if who == "mv" { "renamed " } else { "" };
                shell.out(who, format!("{verb}'{from}' -> '{to}'\n").as_bytes()).await?;
            }
            Ok(()) => {}
            Err(Refusal::Said(what)) => {
                shell.error(who, &what).await;
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
    let entry = match shell.lstat(from) {
        Ok(entry) => entry,
        Err(error) => return said(format!("cannot stat '{from}': {}", reason(&error))),
    };
    let target = shell.lstat(to);
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
            let why = match shell.stat(&crate::state::absolute(&destination, "..")) {
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
    match lock(&shell.tree).rename(&source, &destination, shell.now()) {
        Ok(()) => Ok(()),
        Err(FilesError::Refused { fault: Fault::IntoItself, .. }) => {
            said(format!("cannot move '{from}' to a subdirectory of itself, '{to}'"))
        }
        Err(error) => said(format!("cannot move '{from}' to '{to}': {}", reason(&error))),
    }
}

/// Options of a copy.
#[derive(Clone, Copy)]
struct CopyOptions {
    /// True when directories are copied with all they hold, and links as links.
    recursive: bool,
    /// True when the copy has the owner, the times and the whole mode of the original.
    keeps_attributes: bool,
}

impl CopyOptions {
    /// Gives a copy to the owner of the original, where it is to have its attributes and the user may.
    fn give(&self, shell: &Shell, path: &str, owner: User) {
        if self.keeps_attributes {
            // Only root gives files away; a copy with another owner is a copy all the same.
            let _ = lock(&shell.tree).set_owner(path, owner, shell.now());
        }
    }
}

/// Copies a file, or a directory with all it holds.
async fn copy(shell: &Shell, from: &str, to: &str, options: CopyOptions) -> Result<(), Refusal> {
    let said = |what: String| Err(Refusal::Said(what));
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    let start = shell.path(from);
    let end = shell.path(to);
    let mask = shell.tree.credentials().mask;
    // Those of directories, which may forbid to fill them.
    let mut modes = Vec::new();
    let into_itself = end.starts_with(&format!("{}/", start.trim_end_matches('/')));
    while let Some((from, to)) = waiting.pop() {
        shell.step(1).await.map_err(Refusal::Stop)?;
        let found = if options.recursive { shell.lstat(&from) } else { shell.stat(&from) };
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => return said(format!("cannot stat '{from}': {}", reason(&error))),
        };
        let (source, destination) = (shell.path(&from), shell.path(&to));
        let now = shell.now();
        let there = shell.stat(&to);
        match entry.kind {
            FileKind::Directory if !options.recursive => {
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
                            true => lock(&shell.tree).make_directory(&destination, now),
                            false => lock(&shell.tree).stat_followed(&parent).map(drop),
                        };
                        if let Err(error) = made {
                            return said(format!("cannot create directory '{to}': {}", reason(&error)));
                        }
                        modes.push((destination.clone(), entry.mode, entry.owner));
                    }
                }
                let entries = lock(&shell.tree).list(&source, 1).unwrap_or_default();
                for entry in entries.into_iter().rev() {
                    waiting.push((join_last_name(&from, &entry.name), join_last_name(&to, &entry.name)));
                }
            }
            FileKind::Link => {
                let text = entry.link_target.unwrap_or_default();
                if shell.lstat(&to).is_ok_and(|there| there.kind != FileKind::Directory) {
                    // Making the link says if it is still there.
                    let _ = lock(&shell.tree).remove(&destination, now);
                }
                let made = lock(&shell.tree).make_symbolic_link(&destination, &text, now);
                if let Err(error) = made {
                    return said(format!("cannot create symbolic link '{to}': {}", reason(&error)));
                }
                options.give(shell, &destination, entry.owner);
            }
            FileKind::NamedPipe if options.recursive => {
                if let Err(error) = lock(&shell.tree).make_named_pipe(&destination, now) {
                    return said(format!("cannot create fifo '{to}': {}", reason(&error)));
                }
                options.give(shell, &destination, entry.owner);
            }
            FileKind::File | FileKind::Device | FileKind::NamedPipe => {
                let real = |path: &str| lock(&shell.tree).real_path(path).ok();
                if real(&source).is_some() && real(&source) == real(&destination) {
                    return said(format!("'{from}' and '{to}' are the same file"));
                }
                if there.as_ref().is_ok_and(|there| there.kind == FileKind::Directory) {
                    return said(format!("cannot overwrite directory '{to}' with non-directory '{from}'"));
                }
                if to.ends_with('/') {
                    return said(format!("cannot create regular file '{to}': Not a directory"));
                }
                let is_new = there.is_err();
                copy_file(shell, &from, &to).await?;
                options.give(shell, &destination, entry.owner);
                // It may have been removed meanwhile.
                if options.keeps_attributes {
                    let _ = lock(&shell.tree).set_mode(&destination, entry.mode, now);
                } else if is_new && entry.kind == FileKind::File {
                    let _ = lock(&shell.tree).set_mode(&destination, entry.mode & !mask & 0o777, now);
                }
                if options.keeps_attributes {
                    // A copy with other times is a copy all the same.
                    let _ = lock(&shell.tree).set_file_times(&destination, None, Some(entry.modified), now);
                }
            }
        }
    }
    for (directory, mode, owner) in modes.into_iter().rev() {
        options.give(shell, &directory, owner);
        let mode = if options.keeps_attributes { mode } else { mode & !mask };
        // It may have been removed meanwhile.
        let _ = lock(&shell.tree).set_mode(&directory, mode, shell.now());
    }
    Ok(())
}

async fn copy_file(shell: &Shell, from: &str, to: &str) -> Result<(), Refusal> {
    let mut reader =
        shell.reader_of(from).map_err(|why| Refusal::Said(format!("cannot open '{from}' for reading: {why}")))?;
    let writer = shell
        .writer_of(to, FileUse::Replace, WriteAt::Start)
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
