//! Program `shuf`.

use super::input::{AllLines, options, or_input, usage};
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop};
use crate::streams::Writer;
use proofbox_vfs::FileUse;
use std::collections::HashMap;

/// Memory that a number takes which has changed its place, about, in bytes.
const BYTES_A_NUMBER: usize = 64;

pub(super) async fn shuf(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("head-count", 'n'),
        ("input-range", 'i'),
        ("echo", 'e'),
        ("repeat", 'r'),
        ("output", 'o'),
        ("zero-terminated", 'z'),
        ("random-source", 's'),
    ];
    let given = options(shell, "shuf", arguments, "n:i:ero:zs:", &long, 1).await?;
    let end = if given.has('z') { 0 } else { b'\n' };
    let most = match given.value('n').map(str::parse::<u64>) {
        None => None,
        Some(Ok(count)) => Some(count),
        Some(Err(_)) => {
            let what = format!("invalid line count: '{}'", given.value('n').unwrap_or_default());
            return Err(shell.fails("shuf", &what).await);
        }
    };
    let count = |there: u64| match (given.has('r'), most) {
        (true, most) => most.unwrap_or(u64::MAX),
        (false, most) => most.unwrap_or(u64::MAX).min(there),
    };
    let (held, mut lines) = if let Some(range) = given.value('i') {
        let ends = range.split_once('-').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let Some((from, to)) = ends.filter(|(from, to): &(u64, u64)| from <= to || from.checked_sub(1) == Some(*to))
        else {
            return Err(shell.fails("shuf", &format!("invalid input range: '{range}'")).await);
        };
        let there = to.wrapping_sub(from).wrapping_add(1);
        if there == 0 && from == 0 {
            return Err(shell.fails("shuf", &format!("invalid input range: '{range}'")).await);
        }
        let writer = destination(shell, given.value('o')).await?;
        let repetition = if given.has('r') { Repetition::Allowed } else { Repetition::Refused };
        return numbers(shell, &writer, (from, there), count(there), repetition, end).await;
    } else if given.has('e') {
        let held = shell.shared.used.hold(0);
        let Some(held) = held else { return Err(shell.fails("shuf", "memory exhausted").await) };
        (Err(held), given.operands.iter().map(|word| word.clone().into_bytes()).collect())
    } else {
        if let Some(extra) = given.operands.get(1) {
            return Err(usage(shell, "shuf", &format!("extra operand '{extra}'"), 1).await);
        }
        let mut all = AllLines::read(shell, "shuf", &or_input(given.operands.clone()), end).await?;
        if all.status != 0 {
            return Ok(1);
        }
        let lines = std::mem::take(&mut all.lines);
        (Ok(all), lines)
    };
    let writer = destination(shell, given.value('o')).await?;
    let count = count(lines.len() as u64);
    if lines.is_empty() {
        if given.has('r') && count > 0 {
            return Err(shell.fails("shuf", "no lines to repeat").await);
        }
        return Ok(0);
    }
    for done in 0..count {
        shell.step(1).await?;
        let chosen = match given.has('r') {
            true => random(shell) as usize % lines.len(),
            false => {
                // What has been written stands before the rest.
                let done = done as usize;
                let other = done + random(shell) as usize % (lines.len() - done);
                lines.swap(done, other);
                done
            }
        };
        let mut out = lines[chosen].clone();
        out.push(end);
        shell.write(&writer, "shuf", &out).await?;
    }
    drop(held);
    Ok(0)
}

async fn destination(shell: &Shell, path: Option<&str>) -> Result<Writer, Stop> {
    let Some(path) = path else { return Ok(shell.streams.stdout.clone()) };
    match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
        Ok(writer) => Ok(writer),
        Err(why) => Err(shell.fails("shuf", &format!("{path}: {why}")).await),
    }
}

/// Repetition of what was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Allowed,
    Refused,
}

/// Writes `count` numbers of the `there` that begin with `from`. Only those that changed their places are kept.
async fn numbers(
    shell: &mut Shell,
    writer: &Writer,
    (from, there): (u64, u64),
    count: u64,
    repetition: Repetition,
    end: u8,
) -> Done {
    let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
    let mut moved: HashMap<u64, u64> = HashMap::new();
    if there == 0 && repetition == Repetition::Allowed && count > 0 {
        return Err(shell.fails("shuf", "no lines to repeat").await);
    }
    for done in 0..count {
        shell.step(1).await?;
        let number = match repetition {
            Repetition::Allowed => random(shell) % there,
            Repetition::Refused => {
                let other = done + random(shell) % (there - done);
                if !held.grow(BYTES_A_NUMBER) {
                    return Err(shell.fails("shuf", "memory exhausted").await);
                }
                let own = moved.remove(&done).unwrap_or(done);
                if other == done { own } else { moved.insert(other, own).unwrap_or(other) }
            }
        };
        shell.write(writer, "shuf", format!("{}{}", from + number, char::from(end)).as_bytes()).await?;
    }
    Ok(0)
}

/// A random number of 60 bits.
fn random(shell: &mut Shell) -> u64 {
    (0..4).fold(0, |value, _| (value << 15) | shell.next_random())
}
