//! Program `column`.

use super::input::{AllLines, options, or_input};
use crate::state::{Done, Shell, Stop};

/// Columns of the terminal, as there is none.
const WIDTH: usize = 80;

pub(super) async fn column(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("table", 't'),
        ("separator", 's'),
        ("output-separator", 'o'),
        ("output-width", 'c'),
        ("fillrows", 'x'),
        ("table-columns", 'N'),
        ("table-right", 'R'),
        ("keep-empty-lines", 'L'),
    ];
    let given = options(shell, "column", arguments, "ts:o:c:xN:R:Le", &long, 1).await?;
    let all = AllLines::read(shell, "column", &or_input(given.operands.clone()), b'\n').await?;
    let lines: Vec<String> = all.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let bytes: usize = lines.iter().map(String::len).sum();
    // The texts once more, and where they are divided.
    let Some(_held) = shell.shared.used.hold(bytes * 40 + lines.len() * 64) else {
        return Err(shell.fails("column", "memory exhausted").await);
    };
    shell.step(1 + bytes as u64 / 64).await?;
    let lines = lines.iter().map(String::as_str).filter(|line| given.has('L') || !line.trim().is_empty());
    if !given.has('t') {
        let width = given.value('c').and_then(|width| width.parse().ok()).unwrap_or(WIDTH);
        let filled = if given.has('x') { Filled::Rows } else { Filled::Columns };
        fill(shell, &lines.collect::<Vec<_>>(), width, filled).await?;
        return Ok(all.status);
    }
    let divide = |line: &str| -> Vec<String> {
        match given.value('s') {
            Some(separators) => line.split(|c| separators.contains(c)).map(str::to_owned).collect(),
            None => line.split_whitespace().map(str::to_owned).collect(),
        }
    };
    let header = given.value('N').map(|names| names.split(',').map(str::to_owned).collect());
    let rows: Vec<Vec<String>> = header.into_iter().chain(lines.map(divide)).collect();
    let between = given.value('o').unwrap_or("  ");
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut right = vec![false; widths.len()];
    for number in given.value('R').into_iter().flat_map(|list| list.split(',')).flat_map(str::parse::<usize>) {
        if let Some(right) = number.checked_sub(1).and_then(|at| right.get_mut(at)) {
            *right = true;
        }
    }
    for row in &rows {
        let mut out = String::new();
        for (at, width) in widths.iter().enumerate() {
            // Nothing is shown of cells that are missing at the end.
            let Some(cell) = row.get(at) else { break };
            let padding = width - cell.chars().count();
            let last = at + 1 == widths.len();
            let (before, after) = match right[at] {
                true => (padding, 0),
                false if last => (0, 0),
                false => (0, padding),
            };
            pad(shell, &mut out, before).await?;
            out.push_str(cell);
            if !last {
                pad(shell, &mut out, after).await?;
            }
            if !last {
                out.push_str(between);
            }
            if out.len() > 4096 {
                shell.out("column", out.as_bytes()).await?;
                out.clear();
            }
        }
        out.push('\n');
        shell.out("column", out.as_bytes()).await?;
    }
    Ok(all.status)
}

/// Appends blanks, and writes what they follow when they are many.
async fn pad(shell: &Shell, out: &mut String, count: usize) -> Result<(), Stop> {
    let mut left = count;
    while left > 4096 {
        out.extend(std::iter::repeat_n(' ', 4096));
        shell.out("column", out.as_bytes()).await?;
        out.clear();
        left -= 4096;
    }
    out.extend(std::iter::repeat_n(' ', left));
    Ok(())
}

/// Parts of the table that entries fill one after the other.
#[derive(Clone, Copy)]
enum Filled {
    Rows,
    Columns,
}

/// Writes entries in as many columns as fit.
async fn fill(shell: &Shell, entries: &[&str], width: usize, filled: Filled) -> Result<(), Stop> {
    let longest = entries.iter().map(|entry| entry.chars().count()).max().unwrap_or(0);
    // Columns begin at tab stops.
    let column = (longest / 8 + 1) * 8;
    let count = (width / column).max(1);
    let rows = entries.len().div_ceil(count);
    for row in 0..rows {
        let mut out = String::new();
        let mut shown = 0;
        for at in 0..count {
            let index = match filled {
                Filled::Rows => row * count + at,
                Filled::Columns => at * rows + row,
            };
            let Some(entry) = entries.get(index) else { break };
            while shown < at * column {
                out.push('\t');
                shown = (shown / 8 + 1) * 8;
            }
            out.push_str(entry);
            shown += entry.chars().count();
        }
        out.push('\n');
        shell.out("column", out.as_bytes()).await?;
    }
    Ok(())
}
