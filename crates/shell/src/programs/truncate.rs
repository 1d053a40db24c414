//! Program `truncate`.

use super::input::{options, usage};
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileUse, lock};

/// A size as programs take it: `10`, `4K`, `2MB`.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit {
        "" => 1,
        "b" => 512,
        "k" | "K" | "KiB" => 1 << 10,
        "kB" | "KB" => 1_000,
        "M" | "m" | "MiB" => 1 << 20,
        "MB" => 1_000_000,
        "G" | "GiB" => 1 << 30,
        "GB" => 1_000_000_000,
        "T" | "TiB" => 1 << 40,
        _ => return None,
    };
    match digits {
        "" => (!unit.is_empty()).then_some(factor),
        digits => digits.parse::<u64>().ok()?.checked_mul(factor),
    }
}

/// Runs `truncate`, which sets the size of files.
pub(super) async fn truncate(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("size", 's'), ("no-create", 'c'), ("reference", 'r'), ("io-blocks", 'o')];
    let given = options(shell, "truncate", arguments, "s:cr:o", &long, 1).await?;
    if given.operands.is_empty() {
        return Err(usage(shell, "truncate", "missing file operand", 1).await);
    }
    let reference = match given.value('r') {
        None => None,
        Some(path) => match shell.stat(path) {
            Ok(entry) => Some(entry.size),
            Err(error) => {
                return Err(shell.fails("truncate", &format!("cannot stat '{path}': {}", reason(&error))).await);
            }
        },
    };
    let text = given.value('s');
    if text.is_none() && reference.is_none() {
        return Err(usage(shell, "truncate", "you must specify either '--size' or '--reference'", 1).await);
    }
    let (sign, digits) = match text.map(str::trim) {
        Some(text) if text.starts_with(['+', '-', '<', '>', '/', '%']) => (text.chars().next(), &text[1..]),
        Some(text) => (None, text),
        None => (Some('+'), "0"),
    };
    let Some(count) = parse_size(digits) else {
        let what = format!("Invalid number: '{}'", text.unwrap_or_default());
        return Err(shell.fails("truncate", &what).await);
    };
    if count == 0 && matches!(sign, Some('/' | '%')) {
        return Err(shell.fails("truncate", "division by zero").await);
    }
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let now = shell.stat(name).ok().map(|entry| entry.size);
        if now.is_none() && given.has('c') {
            continue;
        }
        let before = reference.or(now).unwrap_or(0);
        let size = match sign {
            None => count,
            Some('+') => before.saturating_add(count),
            Some('-') => before.saturating_sub(count),
            Some('<') => before.min(count),
            Some('>') => before.max(count),
            Some('/') => before / count * count,
            Some(_) => before.div_ceil(count).saturating_mul(count),
        };
        if let Err(why) = resize(shell, name, now.unwrap_or(0), size).await? {
            shell.error("truncate", &format!("cannot open '{name}' for writing: {why}")).await;
            status = 1;
        }
    }
    Ok(status)
}

/// Gives a file a size: its beginning stays, and zero bytes follow. The inner error: why not.
async fn resize(shell: &Shell, name: &str, now: u64, size: u64) -> Result<Result<(), &'static str>, Stop> {
    if size < now {
        // The tree cuts only to nothing.
        let Some(_held) = shell.shared.used.hold(usize::try_from(size).unwrap_or(usize::MAX)) else {
            return Ok(Err("Cannot allocate memory"));
        };
        let kept = match lock(&shell.tree).read_range(&shell.path(name), 0, size) {
            Ok(kept) => kept,
            Err(error) => return Ok(Err(reason(&error))),
        };
        shell.step(size / 4096).await?;
        return match shell.writer_of(name, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => shell.write(&writer, "truncate", &kept).await.map(Ok),
            Err(why) => Ok(Err(why)),
        };
    }
    let writer = match shell.writer_of(name, FileUse::Extend, WriteAt::End) {
        Ok(writer) => writer,
        Err(why) => return Ok(Err(why)),
    };
    let zeros = vec![0; PIPE_BYTES];
    let mut left = size - now;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(PIPE_BYTES);
        shell.write(&writer, "truncate", &zeros[..part]).await?;
        left -= part as u64;
    }
    Ok(Ok(()))
}
