//! Program `nl`.

use super::input::{AllLines, or_input, usage};
use super::options::{Order, read};
use crate::state::{Done, Shell};

/// `nl`: numbers lines that are not empty.
pub(super) async fn nl(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "b:w:s:", &[], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "nl", &why, 1).await),
    };
    let all = given.value('b') == Some("a");
    let lines = AllLines::read(shell, "nl", &or_input(given.operands.clone()), b'\n').await?;
    let width = given.value('w').and_then(|width| width.parse().ok()).unwrap_or(6_usize).min(100);
    let separator = given.value('s').unwrap_or("\t");
    let mut number = 0;
    for line in &lines.lines {
        let mut out = match line.is_empty() && !all {
            true => " ".repeat(width + 1).into_bytes(),
            false => {
                number += 1;
                format!("{number:width$}{separator}").into_bytes()
            }
        };
        out.extend_from_slice(line);
        out.push(b'\n');
        shell.out("nl", &out).await?;
    }
    Ok(lines.status)
}
