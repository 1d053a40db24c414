//! Program `fold`.

use super::input::{Lines, open, options, or_input};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

pub(super) async fn fold(shell: &mut Shell, arguments: &[String]) -> Done {
    // `-5` is an older way to say `-w 5`.
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            true => format!("-w{}", &word[1..]),
            false => word.clone(),
        })
        .collect();
    let given = options(shell, "fold", &words, "w:sb", &[("width", 'w'), ("spaces", 's'), ("bytes", 'b')], 1).await?;
    let text = given.value('w').unwrap_or("80");
    let Some(width @ 1..) = text.parse::<usize>().ok() else {
        let range = if text.bytes().all(|byte| byte == b'0') { ": Numerical result out of range" } else { "" };
        return Err(shell.fails("fold", &format!("invalid number of columns: '{text}'{range}")).await);
    };
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let Some(reader) = open(shell, "fold", &path).await else {
            status = 1;
            continue;
        };
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "fold").await? {
            shell.step(lines.line.len() as u64 / 128).await?;
            let mut out = Vec::new();
            let mut rest = lines.line.as_slice();
            loop {
                let fits = match given.has('b') {
                    true => rest.len().min(width),
                    false => fitting(rest, width),
                };
                if fits == rest.len() {
                    out.extend_from_slice(rest);
                    break;
                }
                let blank = rest[..fits].iter().rposition(|byte| matches!(byte, b' ' | b'\t'));
                let end = match (given.has('s'), blank) {
                    (true, Some(blank)) => blank + 1,
                    _ => fits.max(1),
                };
                out.extend_from_slice(&rest[..end]);
                out.push(b'\n');
                rest = &rest[end..];
                if out.len() > PIPE_BYTES {
                    shell.out("fold", &out).await?;
                    out.clear();
                }
            }
            if lines.whole {
                out.push(b'\n');
            }
            shell.out("fold", &out).await?;
        }
    }
    Ok(status)
}

/// Bytes at the start of a line that fit in so many columns.
fn fitting(line: &[u8], width: usize) -> usize {
    let mut column: usize = 0;
    for (at, byte) in line.iter().enumerate() {
        column = match byte {
            b'\t' => column / 8 * 8 + 8,
            8 => column.saturating_sub(1),
            b'\r' => 0,
            _ => column + 1,
        };
        if column > width {
            return at;
        }
    }
    line.len()
}
