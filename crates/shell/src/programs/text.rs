//! `cat`, `head`, `tail`, `wc`, `tee`, `tac`, `rev`, `nl`.

use super::input::{AllLines, Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;
use proofbox_vfs::FileUse;

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

/// Amount that `head` and `tail` show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    First(u64),
    /// Everything but so many at the end.
    ButLast(u64),
    Last(u64),
    /// From this one on, counted from 1.
    From(u64),
}

fn amount(text: &str, tail: bool) -> Option<Amount> {
    let (sign, digits) = match text.chars().next()? {
        sign @ ('+' | '-') => (Some(sign), &text[1..]),
        _ => (None, text),
    };
    let (digits, unit) = match digits.char_indices().last()? {
        (at, 'k' | 'K') => (&digits[..at], 1 << 10),
        (at, 'M') => (&digits[..at], 1 << 20),
        _ => (digits, 1_u64),
    };
    let count = digits.parse::<u64>().ok()?.saturating_mul(unit);
    Some(match (tail, sign) {
        (false, Some('-')) => Amount::ButLast(count),
        (false, _) => Amount::First(count),
        (true, Some('+')) => Amount::From(count.max(1)),
        (true, _) => Amount::Last(count),
    })
}

/// Runs `head` or `tail`.
pub(super) async fn ends(shell: &mut Shell, who: &'static str, arguments: &[String]) -> Done {
    let tail = who == "tail";
    // `-5` and `+5` are older ways to say `-n 5`.
    let mut words = arguments.to_vec();
    if let Some(first) = words.first_mut() {
        let count = first.strip_prefix('-').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(count) = count {
            *first = format!("-n{count}");
        } else if tail && first.strip_prefix('+').is_some_and(|digits| digits.parse::<u64>().is_ok()) {
            *first = format!("-n{first}");
        }
    }
    let long = [("lines", 'n'), ("bytes", 'c'), ("quiet", 'q'), ("verbose", 'v'), ("silent", 'q')];
    let given = match read(&words, "n:c:qvfF", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let by_bytes = given.last_of("nc") == Some('c');
    let text = given.value(if by_bytes { 'c' } else { 'n' }).unwrap_or("10");
    let Some(amount) = amount(text, tail) else {
        let what = if by_bytes { "bytes" } else { "lines" };
        return Err(shell.fails(who, &format!("invalid number of {what}: '{text}'")).await);
    };
    let operands = or_input(given.operands.clone());
    let titles = given.has('v') || (operands.len() > 1 && !given.has('q'));
    let mut status = 0;
    let mut first = true;
    for path in &operands {
        let Some(reader) = open(shell, who, path).await else {
            status = 1;
            continue;
        };
        if titles {
            let name = if path == "-" { "standard input" } else { path };
            let title = format!("{}==> {name} <==\n", if first { "" } else { "\n" });
            shell.out(who, title.as_bytes()).await?;
        }
        first = false;
        match by_bytes {
            true => bytes_of(shell, who, reader, amount).await?,
            false => lines_of(shell, who, reader, amount).await?,
        }
    }
    Ok(status)
}

async fn bytes_of(shell: &Shell, who: &str, mut reader: Reader, amount: Amount) -> Result<(), Stop> {
    let mut skipped = 0;
    let mut left = u64::MAX;
    let mut bytes = Vec::new();
    match amount {
        Amount::First(count) => left = count,
        Amount::From(count) => skipped = count - 1,
        Amount::Last(_) | Amount::ButLast(_) => {
            let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
            loop {
                shell.step(1).await?;
                let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
                if read == 0 {
                    break;
                }
                if !held.grow(read) {
                    return Err(shell.fails(who, "memory exhausted").await);
                }
            }
            let length = bytes.len();
            let wanted = match amount {
                Amount::Last(count) => length.saturating_sub(count as usize)..length,
                _ => {
                    0..length.saturating_sub(match amount {
                        Amount::ButLast(count) => count as usize,
                        _ => 0,
                    })
                }
            };
            return shell.out(who, &bytes[wanted]).await;
        }
    }
    while left > 0 {
        bytes.clear();
        let most = PIPE_BYTES.min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = reader.read_into(&mut bytes, most, None).await as u64;
        shell.step(1).await?;
        if read == 0 {
            break;
        }
        let dropped = skipped.min(read);
        skipped -= dropped;
        shell.out(who, &bytes[dropped as usize..]).await?;
        left -= read;
    }
    Ok(())
}

async fn lines_of(shell: &Shell, who: &str, reader: Reader, amount: Amount) -> Result<(), Stop> {
    let mut lines = Lines::new(shell, reader)?;
    let kept = match amount {
        Amount::Last(count) | Amount::ButLast(count) => usize::try_from(count).unwrap_or(usize::MAX),
        Amount::First(_) | Amount::From(_) => 0,
    };
    let mut waiting = std::collections::VecDeque::new();
    let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
    let mut number = 0_u64;
    loop {
        if matches!(amount, Amount::First(count) if number >= count) || !lines.next(shell, who).await? {
            break;
        }
        number += 1;
        let mut line = lines.line.clone();
        if lines.whole {
            line.push(b'\n');
        }
        match amount {
            Amount::First(_) => shell.out(who, &line).await?,
            Amount::From(first) if number < first => {}
            Amount::From(_) => shell.out(who, &line).await?,
            Amount::Last(_) | Amount::ButLast(_) => {
                // What was kept before is not given back: a bound on all that passes would be too strict.
                if waiting.len() < kept && !held.grow(line.len() + 64) {
                    return Err(shell.fails(who, "memory exhausted").await);
                }
                waiting.push_back(line);
                if waiting.len() > kept
                    && let Some(oldest) = waiting.pop_front()
                    && matches!(amount, Amount::ButLast(_))
                {
                    shell.out(who, &oldest).await?;
                }
            }
        }
    }
    if matches!(amount, Amount::Last(_)) {
        for line in waiting {
            shell.out(who, &line).await?;
        }
    }
    Ok(())
}

pub(super) async fn count(shell: &mut Shell, arguments: &[String]) -> Done {
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
            if shell.reader_of(path).is_err_and(|why| why == "Is a directory") {
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

pub(super) async fn tee(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "aip", &[("append", 'a')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "tee", &why, 1).await),
    };
    let append = given.has('a');
    let how = if append { FileUse::Extend } else { FileUse::Replace };
    let mut writers = Vec::new();
    let mut status = 0;
    for path in &given.operands {
        match shell.writer_of(path, how, append) {
            Ok(writer) => writers.push(writer),
            Err(why) => {
                shell.complain("tee", &format!("{path}: {why}")).await;
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

/// Runs `tac` or `rev`.
pub(super) async fn reversed(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let all = AllLines::read(shell, who, &or_input(arguments.to_vec()), b'\n').await?;
    let lines: Vec<Vec<u8>> = match who {
        "tac" => all.lines.into_iter().rev().collect(),
        _ => {
            let turned = |line: Vec<u8>| String::from_utf8_lossy(&line).chars().rev().collect::<String>().into_bytes();
            all.lines.into_iter().map(turned).collect()
        }
    };
    for mut line in lines {
        line.push(b'\n');
        shell.out(who, &line).await?;
    }
    Ok(all.status)
}

/// `nl`: numbers lines that are not empty.
pub(super) async fn number_lines(shell: &mut Shell, arguments: &[String]) -> Done {
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
