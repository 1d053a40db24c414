//! Bounds of a URL or a host in a text.

use std::ops::Range;

/// Longest scheme that is looked at.
const MAX_SCHEME: usize = 24;
/// Longest name of a host (RFC 1035), and a port.
pub(super) const MAX_HOST: usize = 263;

pub(super) fn is_of_scheme(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+.-".contains(&b)
}

/// The URL whose `://` is at `at`; nothing before `from` belongs to it, and at most `longest` bytes after.
pub(super) fn url_around(text: &str, at: Range<usize>, from: usize, longest: usize) -> Option<Range<usize>> {
    let before =
        text.as_bytes()[from..at.start].iter().rev().take(MAX_SCHEME).take_while(|b| is_of_scheme(**b)).count();
    let start = at.start - before;
    // A scheme begins with a letter: `12http` has one in it.
    let skipped = text.as_bytes()[start..at.start].iter().position(u8::is_ascii_alphabetic)?;
    let start = start + skipped;
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'<>`|^".contains(c);
    let rest = &text[at.end..];
    let rest = &rest[..rest.floor_char_boundary(longest)];
    let length = rest.find(ends).unwrap_or(rest.len());
    let url = without_what_follows(&rest[..length]);
    (!url.is_empty()).then_some(start..at.end + url.len())
}

/// `url` without what ends a sentence or closes a bracket around it; the bracket of an address stays.
fn without_what_follows(url: &str) -> &str {
    let mut url = url;
    // A text may end in thousands of them.
    for _ in 0..4 {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\\']);
        let closed = [('(', ')'), ('[', ']'), ('{', '}')]
            .iter()
            .any(|(open, close)| url.ends_with(*close) && !url.contains(*open));
        if !closed {
            break;
        }
        url = &url[..url.len() - 1];
    }
    url
}

/// The host of which `at` is the end, unless it goes on.
pub(super) fn host_around(text: &str, at: Range<usize>, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let of_label = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let goes_on = match bytes.get(at.end) {
        Some(b'.') => bytes.get(at.end + 1).is_some_and(|b| of_label(*b)),
        Some(b) => of_label(*b),
        None => false,
    };
    let onion = text[at.clone()].starts_with('.');
    let before = bytes[from..at.start].iter().rev().take(MAX_HOST).take_while(|b| of_label(**b) || **b == b'.').count();
    let start = at.start - before;
    // Another word, or another address: `0.169.254.169.254`.
    let part = !onion && before > 0 && (bytes[at.start - 1] != b'.' || bytes[at.start].is_ascii_digit());
    // A hidden service has a name of 16 or 56 characters.
    let no_service = onion && !matches!(text[start..at.start].rsplit('.').next().map(str::len), Some(16 | 56));
    (!goes_on && !part && !no_service).then_some(start..at.end)
}
