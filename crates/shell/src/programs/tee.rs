//! Program `tee`.

use super::input::usage;
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell};
use proofbox_vfs::FileUse;

pub(super) async fn tee(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "aip", &[("append", 'a')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "tee", &why, 1).await),
    };
    let (how, at) = if given.has('a') { (FileUse::Extend, WriteAt::End) } else { (FileUse::Replace, WriteAt::Start) };
    let mut writers = Vec::new();
    let mut status = 0;
    for path in &given.operands {
        match shell.writer_of(path, how, at) {
            Ok(writer) => writers.push(writer),
            Err(why) => {
                shell.error("tee", &format!("{path}: {why}")).await;
                status = 1;
            }
        }
    }
    let mut reader = shell.streams.stdin.clone();
    let mut bytes = Vec::new();
    while reader.read_into(&mut bytes, PIPE_BYTES, None).await > 0 {
        shell.out("tee", &bytes).await?;
        for writer in &writers {
            shell.write(writer, "tee", &bytes).await?;
        }
        bytes.clear();
    }
    Ok(status)
}
