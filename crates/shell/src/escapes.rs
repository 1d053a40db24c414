//! Backslash escapes: of `$'…'`, `echo -e`, `printf`'s format and its `%b`.

/// Origin of escapes; the rules differ in little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Quoted text of the form `$'…'`.
    Quoted,
    /// `echo -e` and `printf %b`: octal numbers begin with a zero, and `\c` ends all output.
    Echo,
    /// The format of `printf`.
    Format,
}

/// The text with its escapes carried out, and whether `\c` ended it.
pub(super) fn unescape(text: &str, kind: Kind) -> (Vec<u8>, bool) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(backslash) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..backslash]);
        rest = &rest[backslash + 1..];
        let Some(c) = rest.chars().next() else {
            bytes.push(b'\\');
            break;
        };
        rest = &rest[c.len_utf8()..];
        let simple = match c {
            'a' => Some(7),
            'b' => Some(8),
            'e' | 'E' => Some(27),
            'f' => Some(12),
            'n' => Some(b'\n'),
            'r' => Some(b'\r'),
            't' => Some(b'\t'),
            'v' => Some(11),
            '\\' => Some(b'\\'),
            '\'' | '"' | '?' if kind != Kind::Echo => Some(c as u8),
            _ => None,
        };
        if let Some(byte) = simple {
            bytes.push(byte);
            continue;
        }
        match c {
            'c' if kind == Kind::Echo => return (bytes, true),
            '0'..='7' => {
                let most = if kind == Kind::Echo && c == '0' { 3 } else { 2 };
                let first = c as u32 - '0' as u32;
                let (value, taken) = number(rest, 8, most);
                bytes.push(((first << (3 * taken as u32)) | value) as u8);
                rest = &rest[taken..];
            }
            'x' | 'u' | 'U' => {
                let most = match c {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let (value, taken) = number(rest, 16, most);
                match (taken, c) {
                    (0, _) => bytes.extend([b'\\', c as u8]),
                    (_, 'x') => bytes.push(value as u8),
                    _ => {
                        let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                rest = &rest[taken..];
            }
            c => {
                bytes.push(b'\\');
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    (bytes, false)
}

/// The number that `text` begins with, of at most so many digits, and how many there are.
fn number(text: &str, base: u32, most: usize) -> (u32, usize) {
    let digits = text.chars().take(most).map_while(|c| c.to_digit(base));
    digits.fold((0, 0), |(value, taken), digit| (value.wrapping_mul(base) | digit, taken + 1))
}
