//! `cat`.

use super::options::{Order, read};
use crate::shell::PIPE_BYTES;
use crate::shell::state::{Done, Shell};

pub(super) async fn cat(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "nAbEsTuv", &[], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(shell.fails("cat", &why).await),
    };
    let mut operands = given.operands;
    if operands.is_empty() {
        operands.push("-".to_owned());
    }
    let mut status = 0;
    for path in &operands {
        let opened = match path.as_str() {
            "-" => Ok(shell.streams.stdin.clone()),
            path => shell.reader_of(path),
        };
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(why) => {
                shell.complain("cat", &format!("{path}: {why}")).await;
                status = 1;
                continue;
            }
        };
        let mut bytes = Vec::new();
        while reader.read_into(&mut bytes, PIPE_BYTES, None).await > 0 {
            shell.out("cat", &bytes).await?;
            bytes.clear();
        }
    }
    Ok(status)
}
