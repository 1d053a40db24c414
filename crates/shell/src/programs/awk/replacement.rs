//! Replacements of matches.

use super::value::RuntimeError;
use crate::bounds::MAX_TEXT;
use regex::bytes::Captures;

/// Texts and groups that a replacement may consist of.
const MAX_PARTS: usize = 20_000;

/// Parts of what takes the place of a match.
#[derive(Debug)]
pub(super) enum Part {
    Text(Vec<u8>),
    Group(usize),
}

/// Groups that a replacement can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// The whole match, as `&`.
    Whole,
    /// Each group too, as `\1`.
    Numbered,
}

/// Reads what takes the place of matches.
pub(super) fn replacement(text: &[u8], groups: Groups) -> Result<Vec<Part>, RuntimeError> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let group = match (&text[at..], groups) {
            ([b'\\', b'&', ..], _) => {
                plain.push(b'&');
                at += 2;
                continue;
            }
            ([b'\\', b'\\', ..], _) => {
                plain.push(b'\\');
                at += 2;
                continue;
            }
            ([b'\\', digit @ b'0'..=b'9', ..], Groups::Numbered) => {
                at += 2;
                usize::from(digit - b'0')
            }
            ([b'&', ..], _) => {
                at += 1;
                0
            }
            _ => {
                plain.push(text[at]);
                at += 1;
                continue;
            }
        };
        if parts.len() >= MAX_PARTS {
            return Err(RuntimeError("a replacement has too many parts".to_owned()));
        }
        parts.push(Part::Text(std::mem::take(&mut plain)));
        parts.push(Part::Group(group));
    }
    parts.push(Part::Text(plain));
    Ok(parts)
}

/// Appends what takes the place of a match.
pub(super) fn put(parts: &[Part], found: &Captures<'_>, out: &mut Vec<u8>) {
    for part in parts {
        // The caller refuses what is too long.
        if out.len() > MAX_TEXT {
            return;
        }
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Group(number) => out.extend_from_slice(found.get(*number).map_or(&b""[..], |group| group.as_bytes())),
        }
    }
}
