//! Program `mkfifo`.

use super::input::{options, usage};
use super::modes::ModeChange;
use crate::state::{Done, Shell, reason};
use proofbox_vfs::lock;

const HELP: &str = "\
Usage: mkfifo [OPTION]... NAME...
Create named pipes (FIFOs) with the given NAMEs.

  -m, --mode=MODE    set file permission bits to MODE, not a=rw - umask
      --help     display this help and exit
";

pub(super) async fn mkfifo(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = options(shell, "mkfifo", arguments, "m:", &[("mode", 'm'), ("help", 'h')], 1).await?;
    if given.has('h') {
        shell.out("mkfifo", HELP.as_bytes()).await?;
        return Ok(0);
    }
    if given.operands.is_empty() {
        return Err(usage(shell, "mkfifo", "missing operand", 1).await);
    }
    let mode = match given.value('m').map(ModeChange::parse) {
        Some(None) => return Err(shell.fails("mkfifo", "invalid mode").await),
        mode => mode.flatten(),
    };
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let path = shell.path(name);
        let made = match name.is_empty() {
            true => Err("No such file or directory"),
            false => lock(&shell.tree).make_named_pipe(&path, shell.now()).map_err(|error| reason(&error)),
        };
        let made = made.and_then(|()| match &mode {
            Some(mode) => super::modes::set(shell, name, mode, 0o666),
            None => Ok(()),
        });
        if let Err(why) = made {
            shell.error("mkfifo", &format!("cannot create fifo '{name}': {why}")).await;
            status = 1;
        }
    }
    Ok(status)
}
