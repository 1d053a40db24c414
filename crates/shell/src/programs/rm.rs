//! Program `rm`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{Fault, FileKind, FilesError, lock};

pub(super) async fn rm(shell: &mut Shell, arguments: &[String]) -> Done {
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
        let found = shell.lstat(name);
        let removed = match found {
            _ if matches!(last, "." | "..") && recursive => {
                let what = format!("refusing to remove '.' or '..' directory: skipping '{name}'");
                shell.error("rm", &what).await;
                status = 1;
                continue;
            }
            Err(FilesError::Refused { fault: Fault::NotFound | Fault::NotADirectory, .. }) if force => continue,
            Err(error) => Err(reason(&error)),
            Ok(entry) if entry.kind == FileKind::Directory && !recursive => {
                let empty = lock(&shell.tree).list(&shell.path(name), 1).is_ok_and(|list| list.is_empty());
                match (given.has('d'), empty) {
                    (true, true) => remove_path(shell, name),
                    (true, false) => Err("Directory not empty"),
                    (false, _) => Err("Is a directory"),
                }
            }
            Ok(_) => remove_path(shell, name),
        };
        match removed {
            Ok(()) if given.has('v') => shell.out("rm", format!("removed '{name}'\n").as_bytes()).await?,
            Ok(()) => {}
            Err(why) => {
                shell.error("rm", &format!("cannot remove '{name}': {why}")).await;
                status = 1;
            }
        }
    }
    Ok(status)
}

fn remove_path(shell: &Shell, name: &str) -> Result<(), &'static str> {
    lock(&shell.tree).remove(&shell.path(name), shell.now()).map_err(|error| reason(&error))
}
