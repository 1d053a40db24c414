//! Excerpts of a source: bounded, secrets masked, invisible characters escaped.

use std::ops::Range;

/// Characters of an excerpt.
const MAX_EXCERPT: usize = 120;

/// Locator of positions in a source, in the units of people: lines, columns, characters.
pub(crate) struct SourceLocator<'a> {
    source: &'a str,
    ascii: bool,
    /// Byte at which each line begins; made when it is first asked for.
    lines: Vec<usize>,
    /// Characters before each line.
    characters: Vec<usize>,
    masked: Vec<Range<usize>>,
}

/// Range of a source in the units of people.
pub(crate) struct SourceLocation {
    /// Line number, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 0.
    pub column: usize,
    /// Characters of the source, from 0.
    pub start: usize,
    /// Characters of the source.
    pub end: usize,
    /// Excerpt of the source around the position.
    pub excerpt: String,
}

impl<'a> SourceLocator<'a> {
    /// Prepares the locator for a source.
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, ascii: source.is_ascii(), lines: Vec::new(), characters: Vec::new(), masked: Vec::new() }
    }

    /// Masks a range in all excerpts from now on.
    pub(crate) fn mask(&mut self, range: Range<usize>) {
        self.masked.push(range);
    }

    /// Locates a range of bytes.
    pub(crate) fn locate(&mut self, range: Range<usize>) -> SourceLocation {
        if self.lines.is_empty() {
            self.index();
        }
        let line = self.lines.partition_point(|start| *start <= range.start).max(1) - 1;
        let line_start = self.lines[line];
        SourceLocation {
            line: line + 1,
            column: self.count(line_start..range.start),
            start: self.characters_before(range.start),
            end: self.characters_before(range.end),
            excerpt: self.excerpt(line, &range),
        }
    }

    fn index(&mut self) {
        let (mut start, mut characters) = (0, 0);
        self.lines.push(0);
        self.characters.push(0);
        while let Some(at) = self.source[start..].find(['\n', '\r']) {
            let mut next = start + at + 1;
            if self.source[start + at..].starts_with("\r\n") {
                next += 1;
            }
            characters += self.count(start..next);
            self.lines.push(next);
            self.characters.push(characters);
            start = next;
        }
    }

    fn count(&self, range: Range<usize>) -> usize {
        if self.ascii { range.len() } else { self.source[range].chars().count() }
    }

    fn characters_before(&self, byte: usize) -> usize {
        let line = self.lines.partition_point(|start| *start <= byte).max(1) - 1;
        self.characters[line] + self.count(self.lines[line]..byte)
    }

    fn excerpt(&self, line: usize, range: &Range<usize>) -> String {
        let end = self.lines.get(line + 1).copied().unwrap_or(self.source.len());
        let mut start = self.lines[line];
        // Of a long line, what is around the finding.
        if end - start > 4 * MAX_EXCERPT {
            start = self.source.floor_char_boundary(range.start.saturating_sub(MAX_EXCERPT / 3).max(start));
        }
        let near = |masked: &&Range<usize>| masked.start < start + 16 * MAX_EXCERPT && start < masked.end;
        let near: Vec<&Range<usize>> = self.masked.iter().filter(near).take(64).collect();
        let mut text = String::new();
        for (at, char) in self.source[start..end].char_indices().take(4 * MAX_EXCERPT) {
            let hidden = near.iter().any(|masked| masked.contains(&(start + at)));
            text.push(if hidden { '*' } else { char });
        }
        shown(text.trim(), MAX_EXCERPT)
    }
}

/// A text of at most so many characters, with what can't be seen escaped.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut made = String::new();
    for (count, char) in text.chars().enumerate() {
        if count >= most {
            made.push('…');
            break;
        }
        let visible = char == ' ' || char.is_ascii_graphic() || (!char.is_ascii() && char.is_alphanumeric());
        if visible || (char as u32 > 0x2000 && !hides(char)) {
            made.push(char);
        } else {
            made.extend(char.escape_unicode());
        }
    }
    made
}

/// Characters that are not seen, or move others.
fn hides(char: char) -> bool {
    char.is_control()
        || char.is_whitespace()
        || matches!(
            char as u32,
            0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
                | 0xfff0..=0xfffb | 0xe000..=0xf8ff | 0xe0000..=0x10ffff
        )
}
