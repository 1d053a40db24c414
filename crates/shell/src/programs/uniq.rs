//! Program `uniq`.

use super::input::{Lines, open, usage};
use super::options::{Order, read};
use crate::execute::WriteAt;
use crate::state::{Done, Shell};
use proofbox_vfs::FileUse;

pub(super) async fn uniq(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("count", 'c'), ("repeated", 'd'), ("unique", 'u'), ("ignore-case", 'i'), ("skip-fields", 'f')];
    let given = match read(arguments, "cdDuif:s:w:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "uniq", &why, 1).await),
    };
    let number = |letter| given.value(letter).and_then(|text| text.parse::<usize>().ok());
    let (fields, skipped, width) = (number('f').unwrap_or(0), number('s').unwrap_or(0), number('w'));
    let input = given.operands.first().map_or("-", String::as_str);
    let Some(reader) = open(shell, "uniq", input).await else { return Ok(1) };
    let writer = match given.operands.get(1) {
        None => shell.streams.stdout.clone(),
        Some(path) => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => return Err(shell.fails("uniq", &format!("{path}: {why}")).await),
        },
    };
    let seen = |line: &[u8]| -> Vec<u8> {
        let mut rest = line;
        for _ in 0..fields.min(line.len()) {
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let word = rest[blanks..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            rest = &rest[blanks + word..];
        }
        rest = &rest[skipped.min(rest.len())..];
        rest = &rest[..width.unwrap_or(rest.len()).min(rest.len())];
        if given.has('i') { rest.to_ascii_lowercase() } else { rest.to_vec() }
    };
    let mut lines = Lines::new(shell, reader)?;
    let mut current: Option<(Vec<u8>, Vec<u8>, u64)> = None;
    loop {
        let more = lines.next(shell, "uniq").await?;
        let key = seen(&lines.line);
        if more
            && let Some((_, known, count)) = &mut current
            && *known == key
        {
            *count += 1;
            continue;
        }
        if let Some((line, _, count)) = current.take() {
            let shown = (!given.has('d') || count > 1) && (!given.has('u') || count == 1);
            if shown {
                let mut out = match given.has('c') {
                    true => format!("{count:7} ").into_bytes(),
                    false => Vec::new(),
                };
                out.extend(line);
                out.push(b'\n');
                shell.write(&writer, "uniq", &out).await?;
            }
        }
        if !more {
            return Ok(0);
        }
        current = Some((lines.line.clone(), key, 1));
    }
}
