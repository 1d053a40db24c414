//! Both sides of a comparison in columns.

use super::Change;
use super::hunks::{Output, Texts};
use crate::state::{Shell, Stop};

/// Columns between tab stops.
const TAB: usize = 8;
/// Columns between the sides, at least.
const GUTTER: usize = 3;

/// Layout of the two sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    half: usize,
    second: usize,
}

/// Lines that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    AllLines,
    /// Lines that differ.
    Changes,
}

impl Columns {
    /// Divides the columns of a line.
    pub(super) fn new(width: usize) -> Self {
        let offset = (width + TAB + GUTTER) / (2 * TAB) * TAB;
        let half = offset.saturating_sub(GUTTER).min(width.saturating_sub(offset));
        Self { half, second: if half > 0 { offset } else { width } }
    }

    /// Writes lines beside each other.
    pub(super) async fn write(
        self,
        shell: &Shell,
        texts: &Texts<'_>,
        changes: &[Change],
        shown: Shown,
    ) -> Result<(), Stop> {
        let mut output = Output { bytes: Vec::new() };
        let (mut left, mut right) = (0, 0);
        let end = Change { left: (texts.left.len(), texts.left.len()), right: (texts.right.len(), texts.right.len()) };
        for change in changes.iter().chain([&end]) {
            while left < change.left.0 && right < change.right.0 {
                if shown == Shown::AllLines {
                    self.line(shell, &mut output, Some(texts.left[left]), b' ', Some(texts.right[right])).await?;
                }
                (left, right) = (left + 1, right + 1);
            }
            while left < change.left.1 || right < change.right.1 {
                let one = (left < change.left.1).then(|| texts.left[left]);
                let other = (right < change.right.1).then(|| texts.right[right]);
                let sign = match (one, other) {
                    (Some(_), Some(_)) => b'|',
                    (Some(_), None) => b'<',
                    (None, _) => b'>',
                };
                self.line(shell, &mut output, one, sign, other).await?;
                (left, right) = (left + usize::from(one.is_some()), right + usize::from(other.is_some()));
            }
        }
        output.flush(shell).await
    }

    async fn line(
        self,
        shell: &Shell,
        output: &mut Output,
        left: Option<&[u8]>,
        sign: u8,
        right: Option<&[u8]>,
    ) -> Result<(), Stop> {
        let out = &mut output.bytes;
        let mut column = left.map_or(0, |line| self.half_line(out, line, 0));
        let ends = [left, right].map(|line| line.is_some_and(|line| line.ends_with(b"\n")));
        if sign != b' ' {
            move_to(out, column, (self.half + self.second - 1) / 2);
            column = (self.half + self.second - 1) / 2 + 1;
            out.push(match (sign, ends) {
                (b'|', [true, false]) => b'/',
                (b'|', [false, true]) => b'\\',
                _ => sign,
            });
        }
        if let Some(line) = right.filter(|line| *line != b"\n") {
            move_to(out, column, self.second);
            self.half_line(out, line, self.second);
        }
        if ends.contains(&true) {
            out.push(b'\n');
        }
        match out.len() > 4096 {
            true => output.flush(shell).await,
            false => Ok(()),
        }
    }

    /// Writes as much of a line as there is room for; the column after it.
    fn half_line(self, out: &mut Vec<u8>, line: &[u8], start: usize) -> usize {
        let mut column = 0;
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        // A character takes up to four bytes.
        for c in String::from_utf8_lossy(&text[..text.len().min(4 * self.half)]).chars() {
            if c == '\t' {
                let next = (column / TAB + 1) * TAB;
                let to = next.min(self.half);
                out.resize(out.len() + to - column, b' ');
                column = to;
            } else if column < self.half {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                column += 1;
            }
        }
        start + column
    }
}

/// Moves from one column to another with tabs and blanks.
fn move_to(out: &mut Vec<u8>, from: usize, to: usize) {
    let mut column = from;
    while (column / TAB + 1) * TAB <= to {
        out.push(b'\t');
        column = (column / TAB + 1) * TAB;
    }
    out.resize(out.len() + to.saturating_sub(column), b' ');
}
