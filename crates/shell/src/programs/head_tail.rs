//! Programs `head` and `tail`.

use super::input::{Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;

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

/// End of the input that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

fn parse_amount(text: &str, end: End) -> Option<Amount> {
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
    Some(match (end, sign) {
        (End::Head, Some('-')) => Amount::ButLast(count),
        (End::Head, _) => Amount::First(count),
        (End::Tail, Some('+')) => Amount::From(count.max(1)),
        (End::Tail, _) => Amount::Last(count),
    })
}

/// Runs `head` or `tail`.
pub(super) async fn head_or_tail(shell: &mut Shell, who: &'static str, arguments: &[String]) -> Done {
    let end = if who == "tail" { End::Tail } else { End::Head };
    // `-5` and `+5` are older ways to say `-n 5`.
    let mut words = arguments.to_vec();
    if let Some(first) = words.first_mut() {
        let count = first.strip_prefix('-').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(count) = count {
            *first = format!("-n{count}");
        } else if end == End::Tail && first.strip_prefix('+').is_some_and(|digits| digits.parse::<u64>().is_ok()) {
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
    let Some(amount) = parse_amount(text, end) else {
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
            true => write_bytes(shell, who, reader, amount).await?,
            false => write_lines(shell, who, reader, amount).await?,
        }
    }
    Ok(status)
}

async fn write_bytes(shell: &Shell, who: &str, mut reader: Reader, amount: Amount) -> Result<(), Stop> {
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

async fn write_lines(shell: &Shell, who: &str, reader: Reader, amount: Amount) -> Result<(), Stop> {
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
