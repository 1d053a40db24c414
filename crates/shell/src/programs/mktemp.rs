//! Program `mktemp`.

use super::input::usage;
use super::options::{Order, read};
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileUse, lock};

/// Runs `mktemp`, which makes a temporary file or directory.
pub(super) async fn mktemp(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "dp:tuq", &[("directory", 'd'), ("tmpdir", 'p')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "mktemp", &why, 1).await),
    };
    let template = given.operands.first().map_or("tmp.XXXXXXXXXX", String::as_str);
    let marks = template.len() - template.trim_end_matches('X').len();
    if marks < 3 {
        return Err(shell.fails("mktemp", &format!("too few X's in template '{template}'")).await);
    }
    let directory = match (given.value('p'), given.operands.is_empty() || given.has('t')) {
        (Some(directory), _) => format!("{directory}/"),
        (None, true) => "/tmp/".to_owned(),
        (None, false) => String::new(),
    };
    for _ in 0..100 {
        shell.step(1).await?;
        let mut name = format!("{directory}{}", &template[..template.len() - marks]);
        for _ in 0..marks {
            let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
            name.push(char::from(letters[shell.next_random() as usize % letters.len()]));
        }
        if shell.lstat(&name).is_ok() {
            continue;
        }
        let path = shell.path(&name);
        let made = match given.has('d') {
            true => lock(&shell.tree).make_directory(&path, shell.now()).map_err(|error| reason(&error)),
            false => shell.writer_of(&name, FileUse::Extend, WriteAt::Start).map(drop),
        };
        let mode = super::modes::ModeChange::Exactly(if given.has('d') { 0o700 } else { 0o600 });
        if let Err(why) = made.and_then(|()| super::modes::set(shell, &name, &mode, 0)) {
            return Err(shell
                .fails("mktemp", &format!("failed to create file via template '{template}': {why}"))
                .await);
        }
        shell.out("mktemp", format!("{name}\n").as_bytes()).await?;
        return Ok(0);
    }
    Err(Stop::Failed(1))
}
