//! The changes between two sequences of lines: Myers' algorithm in linear space, with a bound on what it searches.

use crate::bounds::Pieces;
use crate::state::{Shell, Stop};

/// Cost of a search beyond which the best that was found is taken.
const MAX_COST: isize = 2048;

/// A run of lines that were replaced; either side may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) left: (usize, usize),
    pub(super) right: (usize, usize),
}

/// Memory that comparing so many lines takes, in bytes.
pub(super) fn memory(lines: usize) -> usize {
    lines * 48
}

/// Finds the changes that lead from one sequence of numbers to another. Lines that are the same at the start and at the
/// end, but for `context`, are left out of the comparison.
pub(super) async fn changes(shell: &Shell, left: &[u32], right: &[u32], context: usize) -> Result<Vec<Change>, Stop> {
    let start = left.iter().zip(right).take_while(|(one, other)| one == other).count();
    let ends = left[start..].iter().rev().zip(right[start..].iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count().saturating_sub(context);
    let start = start.saturating_sub(context);
    let (left, right) = (&left[start..left.len() - end], &right[start..right.len() - end]);
    let moved = |(from, to): (usize, usize)| (from + start, to + start);
    let found = compare(shell, left, right).await?;
    Ok(found.into_iter().map(|change| Change { left: moved(change.left), right: moved(change.right) }).collect())
}

async fn compare(shell: &Shell, left: &[u32], right: &[u32]) -> Result<Vec<Change>, Stop> {
    let mut one = Side::new(left);
    let mut other = Side::new(right);
    // Lines that the other side does not have are changed in any case.
    let count = left.iter().chain(right).max().map_or(0, |last| *last as usize + 1);
    let kept_left = one.keep_common(right, count);
    let kept_right = other.keep_common(left, count);
    shell.step(1 + (left.len() + right.len()) as u64 / 128).await?;
    let mut search = Search::new(&kept_left, left, &kept_right, right);
    search.run(shell, &mut one, &mut other).await?;
    let mut pieces = Pieces::default();
    one.shift(shell, &other, &mut pieces).await?;
    other.shift(shell, &one, &mut pieces).await?;
    Ok(runs(&one, &other))
}

/// One of the two sequences, with a mark at each line that changed.
struct Side<'l> {
    lines: &'l [u32],
    changed: Vec<bool>,
}

impl<'l> Side<'l> {
    fn new(lines: &'l [u32]) -> Self {
        Self { lines, changed: vec![false; lines.len()] }
    }

    /// Marks lines that the other side does not have; the places of the rest.
    fn keep_common(&mut self, other: &[u32], count: usize) -> Vec<u32> {
        let mut there = vec![false; count];
        for line in other {
            there[*line as usize] = true;
        }
        for (changed, line) in self.changed.iter_mut().zip(self.lines) {
            *changed = !there[*line as usize];
        }
        (0..self.lines.len()).filter(|at| !self.changed[*at]).map(|at| at as u32).collect()
    }

    fn is_changed(&self, at: isize) -> bool {
        usize::try_from(at).is_ok_and(|at| self.changed.get(at) == Some(&true))
    }

    /// Moves runs of changes to where they are joined with others, or stand beside one of the other side; else as far
    /// down as they go.
    async fn shift(&mut self, shell: &Shell, other: &Side<'_>, pieces: &mut Pieces) -> Result<(), Stop> {
        let length = self.lines.len();
        // `at` in this side corresponds to `beside` in the other.
        let (mut at, mut beside) = (0_usize, 0_isize);
        loop {
            while at < length && !self.changed[at] {
                while other.is_changed(beside) {
                    beside += 1;
                }
                beside += 1;
                at += 1;
            }
            if at == length {
                return Ok(());
            }
            let mut start = at;
            while at < length && self.changed[at] {
                at += 1;
            }
            while other.is_changed(beside) {
                beside += 1;
            }
            let mut matching;
            loop {
                let run = at - start;
                shell.count_pieces(pieces, 1 + run as u64 / 8).await?;
                while start > 0 && self.lines[start - 1] == self.lines[at - 1] {
                    start -= 1;
                    at -= 1;
                    self.changed[start] = true;
                    self.changed[at] = false;
                    while start > 0 && self.changed[start - 1] {
                        start -= 1;
                    }
                    beside -= 1;
                    while other.is_changed(beside) {
                        beside -= 1;
                    }
                    shell.count_pieces(pieces, 1).await?;
                }
                matching = other.is_changed(beside - 1).then_some(at);
                while at < length && self.lines[start] == self.lines[at] {
                    self.changed[start] = false;
                    self.changed[at] = true;
                    start += 1;
                    at += 1;
                    while at < length && self.changed[at] {
                        at += 1;
                    }
                    beside += 1;
                    while other.is_changed(beside) {
                        matching = Some(at);
                        beside += 1;
                    }
                    shell.count_pieces(pieces, 1).await?;
                }
                if at - start == run {
                    break;
                }
            }
            while matching.is_some_and(|matching| matching < at) {
                start -= 1;
                at -= 1;
                self.changed[start] = true;
                self.changed[at] = false;
                beside -= 1;
                while other.is_changed(beside) {
                    beside -= 1;
                }
                shell.count_pieces(pieces, 1).await?;
            }
        }
    }
}

fn runs(one: &Side<'_>, other: &Side<'_>) -> Vec<Change> {
    let mut found = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < one.changed.len() || right < other.changed.len() {
        let start = (left, right);
        while one.changed.get(left) == Some(&true) {
            left += 1;
        }
        while other.changed.get(right) == Some(&true) {
            right += 1;
        }
        if start == (left, right) {
            left += 1;
            right += 1;
        } else {
            found.push(Change { left: (start.0, left), right: (start.1, right) });
        }
    }
    found
}

/// A part of both sequences that is to be compared.
#[derive(Debug, Clone, Copy)]
struct Part {
    left: (isize, isize),
    right: (isize, isize),
}

/// The search for a longest common subsequence.
struct Search<'l> {
    /// Places in the whole sequences, and the lines there.
    left_places: &'l [u32],
    right_places: &'l [u32],
    left: Vec<u32>,
    right: Vec<u32>,
    /// By diagonal, how far down the left side paths from the start and from the end come.
    forward: Vec<isize>,
    backward: Vec<isize>,
    pieces: Pieces,
}

impl<'l> Search<'l> {
    fn new(left_places: &'l [u32], left: &[u32], right_places: &'l [u32], right: &[u32]) -> Self {
        let pick = |places: &[u32], lines: &[u32]| places.iter().map(|at| lines[*at as usize]).collect::<Vec<_>>();
        let diagonals = left_places.len() + right_places.len() + 3;
        Self {
            left: pick(left_places, left),
            right: pick(right_places, right),
            left_places,
            right_places,
            forward: vec![0; diagonals],
            backward: vec![0; diagonals],
            pieces: Pieces::default(),
        }
    }

    fn equal(&self, x: isize, y: isize) -> bool {
        self.left[x as usize] == self.right[y as usize]
    }

    async fn run(&mut self, shell: &Shell, one: &mut Side<'_>, other: &mut Side<'_>) -> Result<(), Stop> {
        let whole = Part { left: (0, self.left.len() as isize), right: (0, self.right.len() as isize) };
        let mut open = vec![whole];
        while let Some(Part { left: (mut x, mut x_end), right: (mut y, mut y_end) }) = open.pop() {
            let before = x + y_end - x_end;
            while x < x_end && y < y_end && self.equal(x, y) {
                (x, y) = (x + 1, y + 1);
            }
            while x < x_end && y < y_end && self.equal(x_end - 1, y_end - 1) {
                (x_end, y_end) = (x_end - 1, y_end - 1);
            }
            shell.count_pieces(&mut self.pieces, 4 + (x + y_end - x_end).abs_diff(before) as u64).await?;
            if x == x_end {
                for at in y..y_end {
                    other.changed[self.right_places[at as usize] as usize] = true;
                }
            } else if y == y_end {
                for at in x..x_end {
                    one.changed[self.left_places[at as usize] as usize] = true;
                }
            } else {
                let part = Part { left: (x, x_end), right: (y, y_end) };
                let (x_middle, y_middle) = self.middle(shell, part).await?;
                open.push(Part { left: (x_middle, x_end), right: (y_middle, y_end) });
                open.push(Part { left: (x, x_middle), right: (y, y_middle) });
            }
        }
        Ok(())
    }

    /// A point on a shortest path through a part, or on a good one if that is too far to be found.
    async fn middle(&mut self, shell: &Shell, part: Part) -> Result<(isize, isize), Stop> {
        let Part { left: (x_start, x_end), right: (y_start, y_end) } = part;
        // Diagonals may be negative.
        let offset = self.right.len() as isize + 1;
        let at = |diagonal: isize| (diagonal + offset) as usize;
        let (first, last) = (x_start - y_end, x_end - y_start);
        let (forth, back) = (x_start - y_start, x_end - y_end);
        let (mut forth_low, mut forth_high, mut back_low, mut back_high) = (forth, forth, back, back);
        let odd = (forth - back) % 2 != 0;
        self.forward[at(forth)] = x_start;
        self.backward[at(back)] = x_end;
        for cost in 1.. {
            widen(&mut forth_low, &mut forth_high, (first, last), |diagonal| self.forward[at(diagonal)] = -1);
            let mut diagonal = forth_high;
            while diagonal >= forth_low {
                let (below, above) = (self.forward[at(diagonal - 1)], self.forward[at(diagonal + 1)]);
                let start = if below < above { above } else { below + 1 };
                let mut x = start;
                while x < x_end && x - diagonal < y_end && self.equal(x, x - diagonal) {
                    x += 1;
                }
                self.forward[at(diagonal)] = x;
                if odd && (back_low..=back_high).contains(&diagonal) && self.backward[at(diagonal)] <= x {
                    return Ok((x, x - diagonal));
                }
                shell.count_pieces(&mut self.pieces, 2 + (x - start) as u64).await?;
                diagonal -= 2;
            }
            widen(&mut back_low, &mut back_high, (first, last), |diagonal| self.backward[at(diagonal)] = isize::MAX);
            let mut diagonal = back_high;
            while diagonal >= back_low {
                let (below, above) = (self.backward[at(diagonal - 1)], self.backward[at(diagonal + 1)]);
                let start = if below < above { below } else { above - 1 };
                let mut x = start;
                while x_start < x && y_start < x - diagonal && self.equal(x - 1, x - diagonal - 1) {
                    x -= 1;
                }
                self.backward[at(diagonal)] = x;
                if !odd && (forth_low..=forth_high).contains(&diagonal) && x <= self.forward[at(diagonal)] {
                    return Ok((x, x - diagonal));
                }
                shell.count_pieces(&mut self.pieces, 2 + (start - x) as u64).await?;
                diagonal -= 2;
            }
            if cost >= MAX_COST {
                break;
            }
        }
        let reached = |diagonal: isize, x: isize| (x + x - diagonal, x, x - diagonal);
        let forth = (forth_low..=forth_high).step_by(2).map(|diagonal| {
            let x = self.forward[at(diagonal)].min(x_end).min(y_end + diagonal);
            reached(diagonal, x)
        });
        let back = (back_low..=back_high).step_by(2).map(|diagonal| {
            let x = self.backward[at(diagonal)].max(x_start).max(y_start + diagonal);
            reached(diagonal, x)
        });
        let forth = forth.max().unwrap_or_default();
        let back = back.min().unwrap_or_default();
        Ok(match forth.0 - (x_start + y_start) > (x_end + y_end) - back.0 {
            true => (forth.1, forth.2),
            false => (back.1, back.2),
        })
    }
}

/// Widens a range of diagonals by one on both sides, or narrows it where it meets the border.
fn widen(low: &mut isize, high: &mut isize, (first, last): (isize, isize), mut clear: impl FnMut(isize)) {
    if *low > first {
        *low -= 1;
        clear(*low - 1);
    } else {
        *low += 1;
    }
    if *high < last {
        *high += 1;
        clear(*high + 1);
    } else {
        *high -= 1;
    }
}
