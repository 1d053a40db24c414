//! Builtins `cd` and `pwd`.

use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileKind, Permission, lock};

pub(crate) async fn pwd(shell: &mut Shell) -> Done {
    let text = format!("{}\n", shell.cwd);
    shell.out("pwd", text.as_bytes()).await?;
    Ok(0)
}

pub(crate) async fn cd(shell: &mut Shell, arguments: &[String]) -> Done {
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
    let found = {
        let tree = lock(&shell.tree);
        tree.stat_followed(&path).and_then(|entry| Ok((entry.kind, tree.may(&path, Permission::Execute)?)))
    };
    match found {
        Ok((FileKind::Directory, true)) => {}
        Ok((FileKind::Directory, false)) => {
            return Err(shell.fails("cd", &format!("{target}: Permission denied")).await);
        }
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
