//! Cost of JSON once it is parsed, estimated from its text.

use proofbox_types::large_integers::{DIGITS, is_of_scalar, string_end};

/// JSON values of one request. One takes some hundred bytes, however short its text.
pub const MAX_VALUES: usize = 1_000_000;

/// Bytes that a value may take while a request is read: as JSON, with its name and what the maps around it keep free
/// for more, and as a value of Python beside that.
const VALUE_BYTES: usize = 320;
/// Bytes that a value takes once the request is read.
const READ_VALUE_BYTES: usize = 96;
/// Copies of the text while a request is read: as it came, as strings, decoded.
const COPIES: usize = 4;
/// Copies of the text once it is read.
const READ_COPIES: usize = 2;

/// A text with more values than one request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request has more than {MAX_VALUES} JSON values")]
pub struct TooManyValues;

/// Memory that a JSON text takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonCost {
    bytes: usize,
    values: usize,
}

impl JsonCost {
    /// Returns the cost of a text of so many bytes and values.
    pub fn new(bytes: usize, values: usize) -> Self {
        Self { bytes, values }
    }

    /// Bytes that the text takes while it is parsed.
    pub fn text(self) -> usize {
        self.bytes.saturating_mul(COPIES)
    }

    /// Bytes that the text takes once it is parsed.
    pub fn parsed_text(self) -> usize {
        self.bytes.saturating_mul(READ_COPIES)
    }

    /// Bytes that a copy of the parsed text takes.
    pub fn copy_text(self) -> usize {
        self.bytes
    }

    /// Bytes that the values take while they are made.
    pub fn values(self) -> usize {
        self.values.saturating_mul(VALUE_BYTES)
    }

    /// Bytes that the values take once they are made.
    pub fn parsed_values(self) -> usize {
        self.values.saturating_mul(READ_VALUE_BYTES)
    }

    /// Bytes while it is parsed.
    pub fn parsing(self) -> usize {
        self.text().saturating_add(self.values())
    }

    /// Bytes once it is parsed.
    pub fn parsed_bytes(self) -> usize {
        self.parsed_text().saturating_add(self.parsed_values())
    }
}

/// Length behind its first character above which a number may be read as an object with its digits.
const LONG_NUMBER: usize = DIGITS - 2;
/// Values of such an object: itself, and two strings with what their names need.
const TAGGED: usize = 4;

/// Counts the values of a JSON text, or of several in a row; names of members are none. Of a text that is no JSON what
/// comes before the mistake is counted right, and a parser reads no further.
///
/// # Errors
/// Returns an error at the first value that is too many.
pub fn count_values(text: &[u8]) -> Result<usize, TooManyValues> {
    let mut count = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => count += 1,
            b'"' => {
                at = string_end(text, at);
                count += 1;
            }
            // The string before it was a name.
            b':' => count = count.saturating_sub(1),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                let length = text[at..].iter().take_while(|byte| is_of_scalar(**byte)).count();
                at += length;
                count += if length > LONG_NUMBER { TAGGED } else { 1 };
            }
            _ => {}
        }
        // A name counts until its colon.
        if count > MAX_VALUES + 1 {
            return Err(TooManyValues);
        }
    }
    if count > MAX_VALUES { Err(TooManyValues) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn values(json: &Value) -> usize {
        1 + match json {
            Value::Array(items) => items.iter().map(values).sum(),
            Value::Object(members) => members.values().map(values).sum(),
            _ => 0,
        }
    }

    #[test]
    fn values_are_counted_as_a_parser_finds_them() {
        for json in [
            json!(1),
            json!("a"),
            json!([]),
            json!({}),
            json!([1, -2.5e+3, true, false, null, "x", [], {}, [[1]]]),
            json!({"a": 1, "b:c,[]{}": "d,e:f", "\"\\": ["\\\"", "\\"]}),
            json!({"nested": {"nested": {"nested": [1, {"a": null}]}}}),
        ] {
            assert_eq!(count_values(json.to_string().as_bytes()), Ok(values(&json)), "{json}");
            let pretty = serde_json::to_string_pretty(&json).expect("JSON");
            assert_eq!(count_values(pretty.as_bytes()), Ok(values(&json)), "{pretty}");
        }
        assert_eq!(count_values(b"{\"a\": 1}\n[1, 2]\n\"x\"\n"), Ok(6));
        assert_eq!(count_values(b""), Ok(0));
    }

    #[test]
    fn long_numbers_count_as_what_they_may_become() {
        assert_eq!(count_values(b"[12345678901234567, 36893488147419103232]"), Ok(2 + TAGGED));
    }

    #[test]
    fn one_value_too_many_is_refused() {
        let list = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
        assert_eq!(count_values(list(MAX_VALUES - 1).as_bytes()), Ok(MAX_VALUES));
        assert_eq!(count_values(list(MAX_VALUES).as_bytes()), Err(TooManyValues));
    }

    #[test]
    fn what_follows_a_mistake_hides_nothing() {
        let text = format!("[{}]{}", "1,".repeat(MAX_VALUES + 1), ":".repeat(2 * MAX_VALUES));
        assert_eq!(count_values(text.as_bytes()), Err(TooManyValues));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let alphabet = b"[]{}\",:\\1-tn \xff";
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    alphabet[(state >> 33) as usize % alphabet.len()]
                })
                .collect();
            assert!(count_values(&text).is_ok());
        }
    }
}
