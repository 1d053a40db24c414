//! Base64 as Judge0 reads and writes it (Ruby's `Base64.decode64` and `encode64`).

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};

/// Characters of a line.
const LINE: usize = 60;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Rendering of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// As Base64.
    Base64,
    /// As they are, where they are UTF-8.
    Plain,
}

/// Encodes in lines, each with its end.
pub(super) fn encode(bytes: &[u8]) -> String {
    let whole = LENIENT.encode(bytes);
    let mut lines = String::with_capacity(whole.len() + whole.len() / LINE + 1);
    let mut rest = whole.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(LINE.min(rest.len()));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

/// Decodes up to the first padding; what is no Base64 is left out.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut digits: Vec<u8> = text.bytes().take_while(|byte| *byte != b'=').filter(is_digit).collect();
    // A digit alone is less than a byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    LENIENT.decode(digits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_rubys() {
        assert_eq!(encode(b""), "");
        assert_eq!(encode(b"hello, Judge0\n"), "aGVsbG8sIEp1ZGdlMAo=\n");
        assert_eq!(encode(&[0; 46]), format!("{}\n{}\n", "A".repeat(60), "AA=="));
        for text in ["aGVsbG8=", "aGVsbG8", "aGVs\nbG8=\n", " aGVsbG8=eA==", "aGVsbG8_="] {
            assert_eq!(decode(text), b"hello", "{text}");
        }
        assert_eq!(decode("a"), b"");
        assert_eq!(decode("eB"), b"x");
    }
}
