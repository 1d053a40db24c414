//! Programs `realpath` and `readlink`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell};
use proofbox_vfs::lock;

/// Runs `realpath` or `readlink`.
pub(super) async fn realpath(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let given = match read(arguments, "fefmnsqz", &[("canonicalize", 'f')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let mut status = 0;
    for name in &given.operands {
        let path = shell.path(name);
        let found = match who == "readlink" && !given.has('f') && !given.has('e') && !given.has('m') {
            true => shell.lstat(name).ok().and_then(|entry| entry.link_target),
            false => {
                let tree = lock(&shell.shared.tree);
                // The last name may be missing.
                tree.real_path(&path)
                    .or_else(|error| {
                        let parent = crate::state::absolute(&path, "..");
                        match tree.real_path(&parent) {
                            Ok(parent) if !given.has('e') => {
                                Ok(crate::state::absolute(&parent, path.rsplit('/').next().unwrap_or_default()))
                            }
                            _ => Err(error),
                        }
                    })
                    .ok()
            }
        };
        match found {
            Some(path) => shell.out(who, format!("{path}\n").as_bytes()).await?,
            None => {
                if who == "realpath" {
                    shell.error(who, &format!("{name}: No such file or directory")).await;
                }
                status = 1;
            }
        }
    }
    Ok(status)
}
