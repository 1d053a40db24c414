//! Program `comm`.

use super::input::{Lines, open, options, two_operands};
use crate::state::{Done, Shell, Stop};
use std::cmp::Ordering;

pub(super) async fn comm(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("output-delimiter", 'o'), ("check-order", 'c'), ("nocheck-order", 'n'), ("total", 't')];
    let given = options(shell, "comm", arguments, "123zo:", &long, 1).await?;
    let (left, right) = two_operands(shell, "comm", &given, 1).await?;
    let end = if given.has('z') { 0 } else { b'\n' };
    let delimiter = match given.value('o') {
        Some("") => "\0",
        Some(delimiter) => delimiter,
        None => "\t",
    };
    let mut sides = Vec::new();
    for path in [left, right] {
        let Some(reader) = open(shell, "comm", path).await else { return Ok(1) };
        let lines = Lines::ended_by(shell, reader, end)?;
        let mut side = Sorted { lines, last: Vec::new(), there: true, unsorted: false };
        side.next(shell).await?;
        sides.push(side);
    }
    let [one, other] = sides.as_mut_slice() else { return Ok(1) };
    let mut counts = [0_u64; 3];
    let mut told = [false; 2];
    loop {
        let (column, from) = match (one.there, other.there) {
            (false, false) => break,
            (true, false) => (0, &*one),
            (false, true) => (1, &*other),
            (true, true) => match one.lines.line.cmp(&other.lines.line) {
                Ordering::Less => (0, &*one),
                Ordering::Greater => (1, &*other),
                Ordering::Equal => (2, &*one),
            },
        };
        counts[column] += 1;
        let shown = |column: usize| !given.has(['1', '2', '3'][column]);
        if shown(column) {
            let mut out = delimiter.repeat((0..column).filter(|before| shown(*before)).count()).into_bytes();
            out.extend_from_slice(&from.lines.line);
            out.push(end);
            shell.out("comm", &out).await?;
        }
        for (at, side) in [&mut *one, &mut *other].into_iter().enumerate() {
            if column == at || column == 2 {
                side.next(shell).await?;
                if side.unsorted && !told[at] && !given.has('n') {
                    told[at] = true;
                    shell.error("comm", &format!("file {} is not in sorted order", at + 1)).await;
                }
            }
        }
    }
    if given.has('t') {
        let [first, second, both] = counts;
        let text = format!("{first}{delimiter}{second}{delimiter}{both}{delimiter}total\n");
        shell.out("comm", text.as_bytes()).await?;
    }
    if told.contains(&true) {
        shell.error("comm", "input is not in sorted order").await;
        return Ok(1);
    }
    Ok(0)
}

/// Lines that are expected to be in order.
struct Sorted {
    lines: Lines,
    last: Vec<u8>,
    there: bool,
    unsorted: bool,
}

impl Sorted {
    async fn next(&mut self, shell: &Shell) -> Result<(), Stop> {
        self.last.clone_from(&self.lines.line);
        self.there = self.lines.next(shell, "comm").await?;
        self.unsorted |= self.there && self.lines.line < self.last;
        Ok(())
    }
}
