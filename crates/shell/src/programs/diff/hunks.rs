//! Changes in the formats of `diff`.

use super::Change;
use crate::state::{Shell, Stop};

/// The lines of both sides, each with what ends it.
pub(super) struct Texts<'t> {
    pub(super) left: Vec<&'t [u8]>,
    pub(super) right: Vec<&'t [u8]>,
}

impl Texts<'_> {
    /// Returns the lines of both sides that a hunk shows.
    fn around(&self, hunk: &[Change], context: usize) -> ((usize, usize), (usize, usize)) {
        let (first, last) = (hunk[0], hunk[hunk.len() - 1]);
        let before = first.left.0.min(first.right.0).min(context);
        let after = (self.left.len() - last.left.1).min(self.right.len() - last.right.1).min(context);
        ((first.left.0 - before, last.left.1 + after), (first.right.0 - before, last.right.1 + after))
    }

    /// Returns whether a change is of empty lines only.
    pub(super) fn are_blank(&self, change: Change) -> bool {
        let mut lines =
            self.left[change.left.0..change.left.1].iter().chain(&self.right[change.right.0..change.right.1]);
        lines.all(|line| *line == b"\n")
    }
}

/// Output that is written in pieces of some size.
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
}

impl Output {
    async fn line(&mut self, shell: &Shell, sign: &str, line: &[u8]) -> Result<(), Stop> {
        self.bytes.extend_from_slice(sign.as_bytes());
        self.bytes.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            self.bytes.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
        match self.bytes.len() > 4096 {
            true => self.flush(shell).await,
            false => Ok(()),
        }
    }

    pub(super) async fn flush(&mut self, shell: &Shell) -> Result<(), Stop> {
        shell.out("diff", &self.bytes).await?;
        self.bytes.clear();
        Ok(())
    }
}

/// Writes changes in the format without context.
pub(super) async fn write_plain(shell: &Shell, texts: &Texts<'_>, changes: &[Change]) -> Result<(), Stop> {
    let mut output = Output { bytes: Vec::new() };
    for change in changes {
        let (left, right) = (change.left, change.right);
        let verb = match (left.0 == left.1, right.0 == right.1) {
            (true, _) => 'a',
            (false, true) => 'd',
            (false, false) => 'c',
        };
        let range = |(from, to): (usize, usize)| match to - from {
            0 => from.to_string(),
            1 => to.to_string(),
            _ => format!("{},{to}", from + 1),
        };
        output.bytes.extend(format!("{}{verb}{}\n", range(left), range(right)).bytes());
        for line in &texts.left[left.0..left.1] {
            output.line(shell, "< ", line).await?;
        }
        if verb == 'c' {
            output.bytes.extend(b"---\n");
        }
        for line in &texts.right[right.0..right.1] {
            output.line(shell, "> ", line).await?;
        }
    }
    output.flush(shell).await
}

/// Takes the changes of the next hunk, those that are near each other.
fn take_hunk<'c>(rest: &mut &'c [Change], context: usize) -> Option<&'c [Change]> {
    let near = rest.windows(2).take_while(|pair| pair[1].left.0 - pair[0].left.1 <= context.saturating_mul(2));
    let (hunk, more) = rest.split_at_checked(near.count() + 1)?;
    *rest = more;
    Some(hunk)
}

/// Writes changes with lines around them, both sides in one.
pub(super) async fn write_unified(
    shell: &Shell,
    texts: &Texts<'_>,
    changes: &[Change],
    context: usize,
) -> Result<(), Stop> {
    let mut output = Output { bytes: Vec::new() };
    let mut rest = changes;
    while let Some(hunk) = take_hunk(&mut rest, context) {
        let (left, right) = texts.around(hunk, context);
        let range = |(from, to): (usize, usize)| match to - from {
            0 => format!("{from},0"),
            1 => to.to_string(),
            count => format!("{},{count}", from + 1),
        };
        output.bytes.extend(format!("@@ -{} +{} @@\n", range(left), range(right)).bytes());
        let mut at = left.0;
        for change in hunk {
            for line in &texts.left[at..change.left.0] {
                output.line(shell, " ", line).await?;
            }
            for line in &texts.left[change.left.0..change.left.1] {
                output.line(shell, "-", line).await?;
            }
            for line in &texts.right[change.right.0..change.right.1] {
                output.line(shell, "+", line).await?;
            }
            at = change.left.1;
        }
        for line in &texts.left[at..left.1] {
            output.line(shell, " ", line).await?;
        }
    }
    output.flush(shell).await
}

/// Writes changes with lines around them, one side after the other.
pub(super) async fn write_context(
    shell: &Shell,
    texts: &Texts<'_>,
    changes: &[Change],
    context: usize,
) -> Result<(), Stop> {
    let mut output = Output { bytes: Vec::new() };
    let mut rest = changes;
    let range = |(from, to): (usize, usize)| match to.saturating_sub(from) {
        0 | 1 => to.to_string(),
        _ => format!("{},{to}", from + 1),
    };
    while let Some(hunk) = take_hunk(&mut rest, context) {
        let (left, right) = texts.around(hunk, context);
        output.bytes.extend(b"***************\n");
        let sides = [
            ("***", "****", "- ", &texts.left, left, (|change| change.left) as fn(&Change) -> (usize, usize)),
            ("---", "----", "+ ", &texts.right, right, |change| change.right),
        ];
        for (open, close, sign, lines, shown, part) in sides {
            output.bytes.extend(format!("{open} {} {close}\n", range(shown)).bytes());
            if hunk.iter().map(part).all(|(from, to)| from == to) {
                continue;
            }
            let mut at = shown.0;
            for change in hunk {
                let is_both = change.left.0 < change.left.1 && change.right.0 < change.right.1;
                let (from, to) = part(change);
                for line in &lines[at..from] {
                    output.line(shell, "  ", line).await?;
                }
                for line in &lines[from..to] {
                    output.line(shell, if is_both { "! " } else { sign }, line).await?;
                }
                at = to;
            }
            for line in &lines[at..shown.1] {
                output.line(shell, "  ", line).await?;
            }
        }
    }
    output.flush(shell).await
}
