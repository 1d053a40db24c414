//! Program `cat`.

use super::input::{Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

pub(super) async fn cat(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "nAbEsTuvet", &[("number", 'n'), ("show-all", 'A')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "cat", &why, 1).await),
    };
    let ends = given.has('E') || given.has('A') || given.has('e');
    let tabs = given.has('T') || given.has('A') || given.has('t');
    let by_line = ends || tabs || given.has('n') || given.has('b') || given.has('s');
    let mut number = 0_u64;
    let mut blank = false;
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let Some(mut reader) = open(shell, "cat", &path).await else {
            status = 1;
            continue;
        };
        if !by_line {
            let mut bytes = Vec::new();
            while reader.read_into(&mut bytes, PIPE_BYTES, None).await > 0 {
                shell.out("cat", &bytes).await?;
                bytes.clear();
            }
            continue;
        }
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "cat").await? {
            let empty = lines.line.is_empty();
            if given.has('s') && empty && std::mem::replace(&mut blank, empty) {
                continue;
            }
            blank = empty;
            let mut out = Vec::new();
            if (given.has('n') && !given.has('b')) || (given.has('b') && !empty) {
                number += 1;
                out.extend(format!("{number:6}\t").bytes());
            }
            for byte in &lines.line {
                match byte {
                    b'\t' if tabs => out.extend(b"^I"),
                    byte => out.push(*byte),
                }
            }
            if lines.whole {
                out.extend(if ends { &b"$\n"[..] } else { b"\n" });
            }
            shell.out("cat", &out).await?;
        }
    }
    Ok(status)
}
