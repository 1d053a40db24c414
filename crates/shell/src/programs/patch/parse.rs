//! Patches in unified format, and in that without context.

/// Changes of one file.
#[derive(Debug)]
pub(super) struct FilePatch<'p> {
    pub(super) old: String,
    pub(super) new: String,
    /// True when the file is not there before, or after.
    pub(super) is_new: bool,
    pub(super) is_gone: bool,
    pub(super) hunks: Vec<Hunk<'p>>,
    /// Number of the line of `---`, and the lines from there to the first hunk.
    pub(super) line: usize,
    pub(super) header: Vec<&'p [u8]>,
}

/// A hunk: lines with what becomes of them.
#[derive(Debug, Clone)]
pub(super) struct Hunk<'p> {
    pub(super) old_start: usize,
    pub(super) new_start: usize,
    pub(super) lines: Vec<(Side, &'p [u8])>,
}

/// Sides of a patch that have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Both,
    Old,
    New,
}

impl<'p> FilePatch<'p> {
    /// Makes the patch of a file whose hunks have no header. None: there are no hunks.
    pub(super) fn plain(name: &str, hunks: Vec<Hunk<'p>>) -> Option<Self> {
        let name = name.to_owned();
        let patch =
            Self { old: name.clone(), new: name, is_new: false, is_gone: false, hunks, line: 1, header: Vec::new() };
        (!patch.hunks.is_empty()).then_some(patch)
    }
}

impl<'p> Hunk<'p> {
    /// Lines that are there before the hunk is applied.
    pub(super) fn old(&self) -> impl Iterator<Item = &'p [u8]> {
        self.lines.iter().filter(|(side, _)| *side != Side::New).map(|(_, line)| *line)
    }

    /// Lines that are unchanged at its beginning and at its end.
    pub(super) fn context(&self) -> (usize, usize) {
        let both = |line: &&(Side, &[u8])| line.0 == Side::Both;
        (self.lines.iter().take_while(both).count(), self.lines.iter().rev().take_while(both).count())
    }

    /// The hunk that takes back what this one does.
    pub(super) fn reversed(&self) -> Self {
        let turned = |side: Side| match side {
            Side::Both => Side::Both,
            Side::Old => Side::New,
            Side::New => Side::Old,
        };
        let lines = self.lines.iter().map(|(side, line)| (turned(*side), *line)).collect();
        Self { old_start: self.new_start, new_start: self.old_start, lines }
    }
}

/// Reads the patches of a text. Err: the number of the line where one is malformed.
pub(super) fn parse<'p>(lines: &[&'p [u8]]) -> Result<Vec<FilePatch<'p>>, usize> {
    let mut found: Vec<FilePatch<'p>> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        if let (Some(old), Some(new)) = (lines[at].strip_prefix(b"--- "), next.strip_prefix(b"+++ ")) {
            found.push(FilePatch {
                old: name(old),
                new: name(new),
                is_new: is_absent(old),
                is_gone: is_absent(new),
                hunks: Vec::new(),
                line: at + 1,
                header: vec![lines[at], next],
            });
            at += 2;
            continue;
        }
        match (found.last_mut(), range(lines[at])) {
            (Some(patch), Some(sizes)) => {
                let (hunk, after) = hunk(lines, at + 1, sizes)?;
                patch.hunks.push(hunk);
                at = after;
            }
            _ => at += 1,
        }
    }
    found.retain(|patch| !patch.hunks.is_empty());
    Ok(found)
}

/// The name in a line of `---` or `+++`.
fn name(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    match text.split_once('\t') {
        Some((name, _)) => name.to_owned(),
        None => text.trim_end().to_owned(),
    }
}

/// Returns whether a line of `---` or `+++` means that there is no file: by its name, or a time at the epoch.
fn is_absent(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let time = text.split_once('\t').map(|(_, time)| time.trim());
    name(line) == "/dev/null" || time.is_some_and(|time| time.starts_with("1970-01-01 00:00:00"))
}

/// Reads the hunks of a text in the format without context, which names no file.
pub(super) fn parse_plain<'p>(lines: &[&'p [u8]]) -> Result<Vec<Hunk<'p>>, usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((verb, [(old_start, old), (new_start, new)])) = plain_range(lines[at]) else {
            at += 1;
            continue;
        };
        at += 1;
        let mut hunk = Hunk { old_start, new_start, lines: Vec::new() };
        for (side, sign, count) in [(Side::Old, b'<', old), (Side::New, b'>', new)] {
            if verb == 'c' && side == Side::New {
                at += usize::from(lines.get(at).is_some_and(|line| line.starts_with(b"---")));
            }
            for _ in 0..count {
                let line = lines.get(at).and_then(|line| line.strip_prefix(&[sign, b' '])).ok_or(at + 1)?;
                hunk.lines.push((side, line));
                at += 1;
            }
            if let (Some([b'\\', ..]), Some((_, last))) = (lines.get(at), hunk.lines.last_mut()) {
                *last = last.strip_suffix(b"\n").unwrap_or(last);
                at += 1;
            }
        }
        found.push(hunk);
    }
    Ok(found)
}

/// `1,2c3`: the verb, and start and length of both sides.
fn plain_range(line: &[u8]) -> Option<(char, [(usize, usize); 2])> {
    let text = std::str::from_utf8(line).ok()?.trim_end_matches(['\n', '\r']);
    let middle = text.find(['a', 'c', 'd'])?;
    let (old, rest) = text.split_at(middle);
    let verb = rest.chars().next()?;
    let part = |text: &str| -> Option<(usize, usize)> {
        let (from, to) = text.split_once(',').unwrap_or((text, text));
        let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
        Some((from, to.checked_sub(from)?.checked_add(1)?))
    };
    let (old, new) = (part(old)?, part(&rest[1..])?);
    Some(match verb {
        'a' => (verb, [(old.0, 0), new]),
        'd' => (verb, [old, (new.0, 0)]),
        _ => (verb, [old, new]),
    })
}

/// `@@ -1,2 +3 @@`: start and length of both sides.
fn range(line: &[u8]) -> Option<[(usize, usize); 2]> {
    let text = std::str::from_utf8(line.strip_prefix(b"@@ -")?).unwrap_or_default();
    let text = text.split(" @@").next()?;
    let (old, new) = text.split_once(" +")?;
    let part = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some([part(old)?, part(new)?])
}

/// The hunk whose lines begin at `from`, and where it ends.
fn hunk<'p>(
    lines: &[&'p [u8]],
    from: usize,
    [(old_start, mut old), (new_start, mut new)]: [(usize, usize); 2],
) -> Result<(Hunk<'p>, usize), usize> {
    let mut hunk = Hunk { old_start, new_start, lines: Vec::new() };
    let mut at = from;
    loop {
        let line = lines.get(at).copied();
        if let (Some([b'\\', ..]), Some((_, last))) = (line, hunk.lines.last_mut()) {
            *last = last.strip_suffix(b"\n").unwrap_or(last);
            at += 1;
            continue;
        }
        if old == 0 && new == 0 {
            return Ok((hunk, at));
        }
        let (side, text) = match line {
            Some([b'-', text @ ..]) => (Side::Old, text),
            Some([b'+', text @ ..]) => (Side::New, text),
            Some([b' ', text @ ..]) => (Side::Both, text),
            // A blank at the end of a line is easily lost.
            Some(text @ ([b'\n'] | [b'\r', b'\n'])) => (Side::Both, text),
            Some(_) | None => return Err(at + 1),
        };
        for (counted, left) in [(Side::Old, &mut old), (Side::New, &mut new)] {
            if side == Side::Both || side == counted {
                *left = left.checked_sub(1).ok_or(at + 1)?;
            }
        }
        hunk.lines.push((side, text));
        at += 1;
    }
}
