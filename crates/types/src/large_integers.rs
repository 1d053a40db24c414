//! Integers of JSON that [`serde_json`] would read as floats.

use std::borrow::Cow;

/// Names of the member whose values hold arguments and results of calls, and of the one that it stands in.
const CASES: &str = "cases";
const TESTS: &str = "tests";
/// Containers within each other that are read.
const MAX_DEPTH: usize = 1000;
/// Number of digits from which an integer may need more than 64 bits.
pub const DIGITS: usize = 19;

/// Writes the integers beyond 64 bits in a JSON text as [tagged JSON](super::value), so that none becomes a float.
pub fn tag_large_integers(text: &str) -> Cow<'_, str> {
    tag(text, Scope::Everywhere)
}

/// Like [`tag_large_integers`], but only within the members `cases` of members `tests`: elsewhere a number means itself.
pub fn tag_large_integers_of_cases(text: &str) -> Cow<'_, str> {
    if text.contains("\"cases\"") { tag(text, Scope::Cases) } else { Cow::Borrowed(text) }
}

/// Integers that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    /// Integers within members `cases` of members `tests`.
    Cases,
}

/// Scans `text` once. What is no JSON stays what it is.
fn tag(text: &str, scope: Scope) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut tagged = String::new();
    let (mut at, mut written) = (0, 0);
    // Of each container that is open, whether it is the value of a member `tests`.
    let mut open: Vec<bool> = Vec::new();
    // Number of containers around the value of a member `cases`.
    let mut inside = None;
    let mut name = None;
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        at += 1;
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                name = text.get(from + 1..at.saturating_sub(1));
                continue;
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'[' | b'{' => {
                if inside.is_none() && name == Some(CASES) && open.last() == Some(&true) {
                    inside = Some(open.len());
                }
                if open.len() == MAX_DEPTH {
                    // No parser reads on.
                    return Cow::Borrowed(text);
                }
                open.push(name == Some(TESTS));
            }
            b']' | b'}' => {
                open.pop();
                if inside == Some(open.len()) {
                    inside = None;
                }
            }
            b'-' | b'0'..=b'9' => {
                at += bytes[at..].iter().take_while(|byte| is_of_scalar(**byte)).count();
                let number = &text[from..at];
                if (scope == Scope::Everywhere || inside.is_some()) && is_large(number) {
                    tagged.push_str(&text[written..from]);
                    tagged.push_str(r#"{"$type":"int","value":""#);
                    tagged.push_str(number);
                    tagged.push_str(r#""}"#);
                    written = at;
                }
            }
            _ => {}
        }
        name = None;
    }
    if written == 0 {
        return Cow::Borrowed(text);
    }
    tagged.push_str(&text[written..]);
    Cow::Owned(tagged)
}

/// Returns whether a byte stands in numbers and words of JSON.
pub fn is_of_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Returns whether an integer of JSON has more than 64 bits.
fn is_large(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= DIGITS
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

/// Returns the index after the quote that ends a string of JSON.
pub fn string_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(offset) = text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        at += offset + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        at += 1;
        if at >= text.len() {
            break;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn integers_beyond_64_bits_keep_their_digits() {
        let large = "36893488147419103232";
        let tagged = json!({"$type": "int", "value": large});
        let read = |text: &str| serde_json::from_str::<Json>(&tag_large_integers(text)).expect("it is JSON");
        assert_eq!(read(large), tagged);
        assert_eq!(read(&format!("-{large}")), json!({"$type": "int", "value": format!("-{large}")}));
        assert_eq!(
            read(&format!(r#"[1, {{"a": {large}}}, "{large}", "\"{large}"]"#)),
            json!([1, {"a": tagged}, large, format!("\"{large}")])
        );
        for same in
            ["18446744073709551615", "-9223372036854775808", "3689348814741910323.5", "36893488147419103232e1", "007"]
        {
            assert!(matches!(tag_large_integers(same), Cow::Borrowed(text) if text == same), "{same}");
        }
    }

    #[test]
    fn only_cases_have_arguments() {
        let large = "36893488147419103232";
        let text = format!(
            r#"{{"a": {large}, "tests": {{"cases" : [{{"args": [{large}], "name": "cases"}}]}}, "b": ["cases", {large}], "c": {{"cases": [{large}]}}}}"#
        );
        let tagged = tag_large_integers_of_cases(&text);
        assert_eq!(tagged.matches("$type").count(), 1);
        let read: Json = serde_json::from_str(&tagged).expect("it is JSON");
        assert_eq!(read["tests"]["cases"][0]["args"][0], json!({"$type": "int", "value": large}));
        assert!(read["a"].is_f64() && read["b"][1].is_f64());
    }

    #[test]
    fn what_is_no_json_is_read_to_its_end() {
        for text in
            ["\"", "\"\\", "{\"cases\": 1", "]]}", "{\"cases\": [", "-", "\"cases\": [99999999999999999999é", "é"]
        {
            let _ = (tag_large_integers(text), tag_large_integers_of_cases(text));
        }
    }
}
