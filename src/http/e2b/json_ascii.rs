//! JSON in ASCII: clients split lines at characters that JSON does not escape, and decode pieces of them by themselves.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// Formatter that escapes all characters outside ASCII.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        for (start, character) in fragment.char_indices().filter(|(_, character)| !is_plain(*character)) {
            writer.write_all(&fragment.as_bytes()[plain..start])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = start + character.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        CompactFormatter.begin_array(writer)
    }
}

/// Returns whether a character needs no escape. DEL needs none in JSON, but is escaped because terminals act on it.
fn is_plain(character: char) -> bool {
    character.is_ascii() && character != '\u{7f}'
}

/// Returns a line of JSON: a value and a line feed.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(128);
    let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut line, Ascii));
    written.expect("strings, numbers and maps with text for keys are JSON, and memory takes all");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_ascii_and_means_the_same() {
        let value = json!({"t\u{e9}": "a\u{2028}b\u{85}c\u{1F40D}d\u{7f}\n\"\u{c}", "list": [1, "\u{ffff}", null, {"x": -1.5}]});
        let line = line(&value);
        assert!(line.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte == b'\n'), "{line:?}");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(serde_json::from_slice::<Value>(&line).expect("JSON"), value);
        let text = String::from_utf8(line).expect("ASCII");
        assert!(text.contains(r"a\u2028b\u0085c\ud83d\udc0dd\u007f"), "{text}");
    }
}
