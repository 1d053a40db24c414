//! Builtins `cd` and `pwd`.

use crate::state::{Done, Shell, Stop, absolute, reason};
use proofbox_vfs::{FileKind, FilesError, MAX_PATH, Permission, Tree, lock};

/// Leading options of `cd` and `pwd`, of which the last says whether links are followed (`-P`), and what comes after them.
async fn is_physical<'a>(shell: &Shell, who: &str, arguments: &'a [String]) -> Result<(bool, &'a [String]), Stop> {
    let (mut physical, mut rest) = (false, arguments);
    while let Some((first, more)) = rest.split_first() {
        let Some(flags) = first.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
        rest = more;
        if flags == "-" {
            break;
        }
        for flag in flags.chars() {
            match flag {
                'P' => physical = true,
                'L' => physical = false,
                'e' if who == "cd" => {}
                flag => {
                    shell.error(who, &format!("-{flag}: invalid option")).await;
                    return Err(Stop::Failed(2));
                }
            }
        }
    }
    Ok((physical, rest))
}

pub(crate) async fn pwd(shell: &mut Shell, arguments: &[String]) -> Done {
    let (physical, _) = is_physical(shell, "pwd", arguments).await?;
    let directory = if physical { lock(&shell.tree).real_path(&shell.cwd) } else { Ok(shell.cwd.clone()) };
    match directory {
        Ok(directory) => shell.out("pwd", format!("{directory}\n").as_bytes()).await?,
        Err(error) => return Err(shell.fails("pwd", reason(&error)).await),
    }
    Ok(0)
}

pub(crate) async fn cd(shell: &mut Shell, arguments: &[String]) -> Done {
    let (physical, operands) = is_physical(shell, "cd", arguments).await?;
    let (target, shows) = match operands {
        [] => match shell.text_of("HOME") {
            Some(home) => (home.to_string(), false),
            None => return Err(shell.fails("cd", "HOME not set").await),
        },
        [dash] if dash == "-" => match shell.text_of("OLDPWD") {
            Some(before) => (before.to_string(), true),
            None => return Err(shell.fails("cd", "OLDPWD not set").await),
        },
        [target] => (target.clone(), false),
        _ => return Err(shell.fails("cd", "too many arguments").await),
    };
    if target.is_empty() {
        return Ok(0);
    }
    let found = {
        let tree = lock(&shell.tree);
        let real = if physical { real_directory(&tree, &shell.cwd, &target) } else { Ok(shell.path(&target)) };
        real.and_then(|path| {
            let kind = tree.stat_followed(&path)?.kind;
            let may = tree.may(&path, Permission::Execute)?;
            Ok((path, kind, may))
        })
    };
    let path = match found {
        Ok((path, FileKind::Directory, true)) => path,
        Ok((_, FileKind::Directory, false)) => {
            return Err(shell.fails("cd", &format!("{target}: Permission denied")).await);
        }
        Ok(_) => return Err(shell.fails("cd", &format!("{target}: Not a directory")).await),
        Err(error) => return Err(shell.fails("cd", &format!("{target}: {}", reason(&error))).await),
    };
    let before = std::mem::replace(&mut shell.cwd, path.clone());
    shell.assign_text("OLDPWD", &before).await?;
    shell.assign_text("PWD", &path).await?;
    if shows {
        shell.out("cd", format!("{path}\n").as_bytes()).await?;
    }
    Ok(0)
}

/// Returns the directory that a path leads to when each name is followed in turn, so that `..` is above what a link leads
/// to.
fn real_directory(tree: &Tree, cwd: &str, target: &str) -> Result<String, FilesError> {
    // The tree says what is wrong with a path that is too long.
    if target.len() > MAX_PATH {
        return tree.real_path(target);
    }
    let mut path = if target.starts_with('/') { "/".to_owned() } else { tree.real_path(cwd)? };
    for name in target.split('/').filter(|name| !matches!(*name, "" | ".")) {
        let next = absolute(&path, name);
        path = if name == ".." { next } else { tree.real_path(&next)? };
        tree.list(&path, 0)?;
    }
    Ok(path)
}
