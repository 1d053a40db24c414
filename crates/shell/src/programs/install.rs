//! Program `install`.

use super::destination::{join_last_name, make_directories};
use super::input::{options, usage};
use super::modes::ModeChange;
use crate::state::{Done, Shell, absolute};

pub(super) async fn install(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("directory", 'd'),
        ("mode", 'm'),
        ("owner", 'o'),
        ("group", 'g'),
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
        ("verbose", 'v'),
        ("preserve-timestamps", 'p'),
        ("strip", 's'),
    ];
    let given = options(shell, "install", arguments, "dm:o:g:t:TvpsDcCb", &long, 1).await?;
    let mut operands = given.operands.clone();
    if operands.is_empty() {
        return Err(usage(shell, "install", "missing file operand", 1).await);
    }
    let mode = match super::modes::wanted(shell, "install", given.value('m')).await? {
        Some(mode) => mode,
        None => ModeChange::Exactly(0o755),
    };
    if given.has('d') {
        let mut status = 0;
        for name in &operands {
            let path = shell.path(name);
            let made = make_directories(shell, &path).await?;
            if let Err(why) = made.and_then(|()| super::modes::set(shell, &path, &mode, 0)) {
                shell.error("install", &format!("cannot create directory '{name}': {why}")).await;
                status = 1;
            }
        }
        return Ok(status);
    }
    let into = match (given.value('t'), operands.len()) {
        (Some(directory), _) => directory.to_owned(),
        (None, 1) => {
            let why = format!("missing destination file operand after '{}'", operands[0]);
            return Err(usage(shell, "install", &why, 1).await);
        }
        (None, _) => operands.pop().unwrap_or_default(),
    };
    if given.has('D') {
        let path = match given.has('t') {
            true => shell.path(&into),
            false => absolute(&shell.path(&into), ".."),
        };
        if let Err(why) = make_directories(shell, &path).await? {
            return Err(shell.fails("install", &format!("cannot create directory '{path}': {why}")).await);
        }
    }
    let directory = shell.is_directory(&into) && !given.has('T');
    if operands.len() > 1 && !directory {
        return Err(shell.fails("install", &format!("target '{into}' is not a directory")).await);
    }
    let mut status = 0;
    for name in &operands {
        let to = if directory { join_last_name(&into, name) } else { into.clone() };
        let flags = if given.has('p') { "-fp" } else { "-f" };
        let arguments = [flags, "-T", "--", name, &to].map(str::to_owned);
        let code = match super::cp_mv::cp_or_mv(shell, "install", &arguments).await {
            Err(crate::state::Stop::Failed(code)) => code,
            done => done?,
        };
        if code == 0
            && let Err(why) = super::modes::set(shell, &to, &mode, 0)
        {
            return Err(shell.fails("install", &format!("cannot change permissions of '{to}': {why}")).await);
        }
        if code == 0 && given.has('v') {
            shell.out("install", format!("'{name}' -> '{to}'\n").as_bytes()).await?;
        }
        status = status.max(code);
    }
    Ok(status)
}
