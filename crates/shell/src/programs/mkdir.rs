//! Program `mkdir`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{Fault, FileKind, FilesError, lock};

pub(super) async fn mkdir(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "pvm:", &[("parents", 'p'), ("verbose", 'v'), ("mode", 'm')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "mkdir", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "mkdir", "missing operand", 1).await);
    }
    let mode = super::modes::wanted(shell, "mkdir", given.value('m')).await?;
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let path = shell.path(name);
        let made = {
            let mut tree = lock(&shell.tree);
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
        // A mode is that of the last directory alone, and free of the mask.
        let made = made.and_then(|made| match &mode {
            Some(mode) if made => super::modes::set(shell, name, mode, 0o777).map(|()| made),
            Some(_) | None => Ok(made),
        });
        match made {
            Ok(made) => {
                if made && given.has('v') {
                    shell.out("mkdir", format!("mkdir: created directory '{name}'\n").as_bytes()).await?;
                }
            }
            Err(why) => {
                shell.error("mkdir", &format!("cannot create directory '{name}': {why}")).await;
                status = 1;
            }
        }
    }
    Ok(status)
}
