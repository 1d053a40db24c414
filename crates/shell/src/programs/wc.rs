//! Program `wc`.

use super::input::{open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

pub(super) async fn wc(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("lines", 'l'), ("words", 'w'), ("bytes", 'c'), ("chars", 'm'), ("max-line-length", 'L')];
    let mut given = match read(arguments, "lwcmL", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "wc", &why, 1).await),
    };
    if given.options.is_empty() {
        given.options.extend(['l', 'w', 'c'].map(|letter| (letter, String::new())));
    }
    let columns: Vec<usize> =
        ['l', 'w', 'm', 'c', 'L'].iter().enumerate().filter(|(_, c)| given.has(**c)).map(|(at, _)| at).collect();
    let operands = or_input(given.operands.clone());
    let mut rows: Vec<([u64; 5], String)> = Vec::new();
    let mut total = [0_u64; 5];
    let mut status = 0;
    let mut from_input = false;
    for path in &operands {
        let Some(mut reader) = open(shell, "wc", path).await else {
            status = 1;
            // As `wc` does for what it could open but not read.
            if shell.is_directory(path) {
                rows.push(([0; 5], path.clone()));
            }
            continue;
        };
        from_input |= path == "-" && !reader.is_file();
        let mut counts = [0_u64; 5];
        let (mut in_word, mut width) = (false, 0);
        let mut bytes = Vec::new();
        while reader.read_into(&mut bytes, PIPE_BYTES, None).await > 0 {
            shell.step(1 + bytes.len() as u64 / 4096).await?;
            for byte in bytes.drain(..) {
                counts[3] += 1;
                // Bytes that go on with a character are none of their own.
                let begins = byte & 0xC0 != 0x80;
                counts[2] += u64::from(begins);
                let blank = matches!(byte, b' ' | b'\t' | b'\n' | 11 | 12 | b'\r');
                counts[1] += u64::from(!blank && !in_word);
                in_word = !blank;
                match byte {
                    b'\n' => {
                        counts[0] += 1;
                        width = 0;
                    }
                    b'\t' => width = (width / 8 + 1) * 8,
                    _ => width += u64::from(begins),
                }
                counts[4] = counts[4].max(width);
            }
        }
        for (sum, count) in total[..4].iter_mut().zip(counts) {
            *sum += count;
        }
        total[4] = total[4].max(counts[4]);
        let name = if given.operands.is_empty() { String::new() } else { path.clone() };
        rows.push((counts, name));
    }
    if operands.len() > 1 {
        rows.push((total, "total".to_owned()));
    }
    let largest =
        if columns.len() == 1 && operands.len() == 1 { 0 } else { total[..4].iter().copied().max().unwrap_or(0) };
    let mut digits = largest.max(total[3] * u64::from(largest > 0)).to_string().len();
    if from_input && (columns.len() > 1 || operands.len() > 1) {
        digits = 7;
    }
    let directory = rows.iter().any(|(counts, _)| counts == &[0; 5]) && status == 1 && operands.len() == 1;
    if directory && columns.len() > 1 {
        digits = 7;
    }
    let mut text = String::new();
    for (counts, name) in rows {
        let numbers: Vec<String> = columns.iter().map(|at| format!("{:>digits$}", counts[*at])).collect();
        text.push_str(&numbers.join(" "));
        if !name.is_empty() {
            text.push_str(&format!(" {name}"));
        }
        text.push('\n');
    }
    shell.out("wc", text.as_bytes()).await?;
    Ok(status)
}
