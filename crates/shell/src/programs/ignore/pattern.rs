//! Patterns of file names, paths and branches, matched byte by byte in time that is at most the product of the lengths.

/// Longest pattern, in bytes. A longer one matches nothing.
pub(in crate::programs) const MAX_PATTERN: usize = 1024;

/// Returns whether a pattern matches a text, in which slashes are as other characters.
pub(in crate::programs) fn matches_name(pattern: &[u8], text: &[u8]) -> bool {
    if pattern.len() > MAX_PATTERN {
        return false;
    }
    let (mut at, mut read) = (0, 0);
    // Behind the last star, and where what it stands for ends.
    let mut star = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            star = Some((at, read));
            continue;
        }
        let Some(byte) = text.get(read) else { return at == pattern.len() };
        if let Some(next) = match_byte(pattern, at, *byte) {
            (at, read) = (next, read + 1);
            continue;
        }
        let Some((behind, end)) = star else { return false };
        (at, read) = (behind, end + 1);
        star = Some((behind, end + 1));
    }
}

/// Returns whether a pattern matches a path: `**` stands for any directories, other signs are within one name.
pub(in crate::programs) fn matches_path(pattern: &str, path: &str) -> bool {
    if pattern.len() > MAX_PATTERN {
        return false;
    }
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    let (mut at, mut read) = (0, 0);
    let mut stars = None;
    loop {
        if pattern.get(at) == Some(&"**") {
            at += 1;
            if at == pattern.len() {
                return read < path.len();
            }
            stars = Some((at, read));
            continue;
        }
        let Some(name) = path.get(read) else { return at == pattern.len() };
        if pattern.get(at).is_some_and(|part| matches_name(part.as_bytes(), name.as_bytes())) {
            (at, read) = (at + 1, read + 1);
            continue;
        }
        let Some((behind, end)) = stars else { return false };
        (at, read) = (behind, end + 1);
        stars = Some((behind, end + 1));
    }
}

/// Returns the offset behind the part of a pattern that matches a byte; none if it does not.
fn match_byte(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => {
            let (holds, end) = match_class(pattern, at + 1, byte)?;
            holds.then_some(end)
        }
        b'\\' => (pattern.get(at + 1) == Some(&byte)).then_some(at + 2),
        plain => (plain == byte).then_some(at + 1),
    }
}

/// Returns whether a class has a byte, and the offset behind the class; none if it is not closed.
fn match_class(pattern: &[u8], start: usize, byte: u8) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.get(start)?, b'!' | b'^');
    let mut at = start + usize::from(is_negated);
    let mut holds = false;
    let mut is_first = true;
    loop {
        let mut low = *pattern.get(at)?;
        if low == b']' && !is_first {
            return Some((holds != is_negated, at + 1));
        }
        is_first = false;
        if let Some(named) = pattern[at..].strip_prefix(b"[:") {
            let end = named.iter().position(|byte| *byte == b':')?;
            if named.get(end + 1) == Some(&b']') {
                holds |= is_of_class(&named[..end], byte);
                at += end + 4;
                continue;
            }
        }
        if low == b'\\' {
            at += 1;
            low = *pattern.get(at)?;
        }
        at += 1;
        let mut high = low;
        if pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|byte| *byte != b']') {
            at += if pattern[at + 1] == b'\\' { 2 } else { 1 };
            high = *pattern.get(at)?;
            at += 1;
        }
        holds |= (low..=high).contains(&byte);
    }
}

fn is_of_class(name: &[u8], byte: u8) -> bool {
    match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"digit" => byte.is_ascii_digit(),
        b"lower" => byte.is_ascii_lowercase(),
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace(),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, text: &str) -> bool {
        matches_name(pattern.as_bytes(), text.as_bytes())
    }

    #[test]
    fn names_are_matched() {
        assert!(is("*.py[co]", "a.pyc") && is("*", "") && is("a*b*c", "axbxbc") && is("?[!a-c][]x]", "zd]"));
        assert!(is("\\*", "*") && is("[[:digit:]-]*", "-") && is("[\\]]", "]") && is("[a\\-z]", "-"));
        assert!(!is("*.py[co]", "a.pyx") && !is("\\*", "x") && !is("[a", "[a") && !is("a*b", "axbx") && !is("", "a"));
    }

    #[test]
    fn paths_are_matched_name_by_name() {
        assert!(matches_path("a/**/b", "a/b") && matches_path("a/**/b", "a/x/y/b") && matches_path("**/b/c", "a/b/c"));
        assert!(matches_path("a/**", "a/b/c") && matches_path("*/x?", "a/xy"));
        assert!(!matches_path("a/*", "a/b/c") && !matches_path("a/**", "a") && !matches_path("a/**/b", "a/x/c"));
    }

    #[test]
    fn no_pattern_takes_long() {
        let started = std::time::Instant::now();
        assert!(!is(&"a*".repeat(MAX_PATTERN / 2), &("a".repeat(500) + &"b".repeat(3500))));
        assert!(!matches_path(&"**/a/".repeat(MAX_PATTERN / 5), &vec!["a"; 2000].join("/")));
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
        assert!(!is(&"a".repeat(MAX_PATTERN + 1), &"a".repeat(MAX_PATTERN + 1)));
    }
}
