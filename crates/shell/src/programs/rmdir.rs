//! Program `rmdir`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileKind, lock};

pub(super) async fn rmdir(shell: &mut Shell, arguments: &[String]) -> Done {
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
                let mut tree = lock(&shell.tree);
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
                shell.error("rmdir", &format!("failed to remove '{name}': {why}")).await;
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
