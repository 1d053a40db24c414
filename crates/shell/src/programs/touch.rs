//! Program `touch`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileUse, OpenFile, lock};

pub(super) async fn touch(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("no-create", 'c'), ("reference", 'r'), ("date", 'd')];
    let given = match read(arguments, "acmr:d:t:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "touch", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "touch", "missing file operand", 1).await);
    }
    let now = shell.now();
    let time = match (given.value('r'), given.value('d')) {
        (Some(reference), _) => match shell.stat(reference) {
            Ok(entry) => entry.modified,
            Err(error) => {
                let what = format!("failed to get attributes of '{reference}': {}", reason(&error));
                return Err(shell.fails("touch", &what).await);
            }
        },
        (None, Some(date)) => match super::date::parse(date, now) {
            Some(time) => time,
            None => return Err(shell.fails("touch", &format!("invalid date format '{date}'")).await),
        },
        (None, None) => now,
    };
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let path = shell.path(name);
        let exists = shell.stat(name).is_ok();
        let touched = match (exists, given.has('c')) {
            (false, true) => Ok(()),
            (true, _) => Ok(()),
            (false, false) => OpenFile::open(&shell.tree, &path, FileUse::Extend, now).map(drop),
        };
        let touched = touched.and_then(|()| match exists || !given.has('c') {
            true => {
                let accessed = (!given.has('m') || given.has('a')).then_some(time);
                let modified = (!given.has('a') || given.has('m')).then_some(time);
                lock(&shell.tree).set_file_times(&path, accessed, modified, now)
            }
            false => Ok(()),
        });
        if let Err(error) = touched {
            shell.error("touch", &format!("cannot touch '{name}': {}", reason(&error))).await;
            status = 1;
        }
    }
    Ok(status)
}
