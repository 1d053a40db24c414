//! URLs that have no host: they hold what they lead to.

use std::ops::Range;

use super::span::is_of_scheme;
use super::{MAX_LENGTH, RuleHit};

/// `javascript:alert(1)`; in prose a space follows.
pub(super) fn script(text: &str, at: Range<usize>, from: usize) -> Option<(Range<usize>, RuleHit)> {
    let bytes = text.as_bytes();
    if bytes[from..at.start].last().is_some_and(|b| is_of_scheme(*b) || *b == b'_') {
        return None;
    }
    let code =
        bytes[at.end..].iter().take(MAX_LENGTH).take_while(|b| b.is_ascii_graphic() && !b"\"'<>`".contains(b)).count();
    let body = &text[at.end..at.end + code];
    let harmless = ["", ";", "//", "void(0)", "void(0);", "void", ",", ")", "[", "{"].contains(&body);
    let calls = body.contains(['(', '=', '.']) || body.contains("%28");
    if harmless || !calls {
        return None;
    }
    Some((at.start..at.end + code, ("dangerous_scheme", 0.8, "A URL that runs a script.")))
}

/// `data:text/html,…`; an image is fine.
pub(super) fn data(text: &str, at: Range<usize>, from: usize) -> Option<(Range<usize>, RuleHit)> {
    let bytes = text.as_bytes();
    if bytes[from..at.start].last().is_some_and(|b| is_of_scheme(*b) || *b == b'_') {
        return None;
    }
    let kind =
        bytes[at.end..].iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"/+-.;=".contains(b)).count();
    let media = text[at.end..at.end + kind].to_ascii_lowercase();
    let scripted = ["text/html", "text/javascript", "application/javascript", "application/x-javascript", "text/xml"];
    let program = ["application/x-msdownload", "application/x-sh", "application/x-msdos-program", "application/hta"];
    let end = at.end + kind;
    // A comma separates the type from the data.
    if bytes.get(end) != Some(&b',') {
        return None;
    }
    let is = |kinds: &[&str]| kinds.iter().any(|kind| media.starts_with(kind));
    match () {
        () if is(&scripted) => {
            Some((at.start..end, ("dangerous_scheme", 0.7, "A URL that holds a page with scripts.")))
        }
        () if is(&program) => Some((at.start..end, ("dangerous_scheme", 0.8, "A URL that holds a program."))),
        () if is(&["image/svg+xml"]) => {
            Some((at.start..end, ("svg_url", 0.3, "A URL that holds an image with scripts.")))
        }
        () => None,
    }
}
