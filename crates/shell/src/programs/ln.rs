//! Program `ln`.

use super::destination::join_last_name;
use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileKind, lock};

pub(super) async fn ln(shell: &mut Shell, arguments: &[String]) -> Done {
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
            && !(given.has('n') && shell.lstat(into).is_ok_and(|entry| entry.kind == FileKind::Link))
        {
            true => join_last_name(into, target),
            false => into.to_owned(),
        };
        let path = shell.path(&name);
        let now = shell.now();
        if given.has('f') && shell.lstat(&name).is_ok_and(|entry| entry.kind != FileKind::Directory) {
            // The next step says if it is still there.
            let _ = lock(&shell.tree).remove(&path, now);
        }
        let made = match symbolic {
            true => lock(&shell.tree).make_symbolic_link(&path, target, now),
            false => lock(&shell.tree).make_hard_link(&path, &shell.path(target), now),
        };
        if let Err(error) = made {
            let what = match (symbolic, reason(&error)) {
                (true, why) => format!("failed to create symbolic link '{name}': {why}"),
                (false, why) if shell.stat(target).is_err() => format!("failed to access '{target}': {why}"),
                (false, _) if shell.is_directory(target) => format!("{target}: hard link not allowed for directory"),
                (false, why) => format!("failed to create hard link '{name}': {why}"),
            };
            shell.error("ln", &what).await;
            status = 1;
        }
    }
    Ok(status)
}
