//! JSON in the one form that is signed and hashed: RFC 8785 (JSON Canonicalization Scheme).
//!
//! Whole numbers beyond 2**53, which the RFC leaves out, keep all their digits.

use serde_json::Value;

/// The canonical text of `value`: no white space, keys sorted by UTF-16 code units, numbers as ECMAScript writes them.
pub fn to_canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => write_float(float, out),
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// ECMA-262, Number::toString: the shortest digits that give the number back, and where their point stands.
fn write_float(float: f64, out: &mut String) {
    if float == 0.0 {
        out.push('0');
        return;
    }
    if float < 0.0 {
        out.push('-');
    }
    let text = format!("{:e}", float.abs());
    let (digits, exponent) = text.split_once('e').expect("the exponent is always written");
    let digits = digits.replace('.', "");
    let point = exponent.parse::<i32>().expect("an exponent is a small number") + 1;
    let count = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    let at = |index: i32| usize::try_from(index).expect("it is positive in its range");
    match point {
        1..=21 if count <= point => {
            out.push_str(&digits);
            out.push_str(&"0".repeat(at(point - count)));
        }
        1..=21 => {
            out.push_str(&digits[..at(point)]);
            out.push('.');
            out.push_str(&digits[at(point)..]);
        }
        -5..=0 => {
            out.push_str("0.");
            out.push_str(&"0".repeat(at(-point)));
            out.push_str(&digits);
        }
        _ => {
            out.push_str(&digits[..1]);
            if count > 1 {
                out.push('.');
                out.push_str(&digits[1..]);
            }
            out.push_str(&format!("e{:+}", point - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        let value = json!({
            "numbers": [333_333_333.333_333_3, 1E30, 4.50, 2e-3, 0.000_000_000_000_000_000_000_000_001],
            "string": "\u{20ac}$\u{f}\nA'B\"\\\\\"/",
            "literals": [null, true, false],
        });
        assert_eq!(
            to_canonical_json(&value),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
    }

    #[test]
    fn keys_are_sorted_by_their_utf_16_units() {
        // U+1F600 begins with the unit D83D, which comes before FB33.
        let value = json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "\r": 4, "1": 5});
        assert_eq!(to_canonical_json(&value), "{\"\\r\":4,\"1\":5,\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        let cases: [(f64, &str); 12] = [
            (0.0, "0"),
            (-0.0, "0"),
            (30.0, "30"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
        ];
        for (number, expected) in cases {
            assert_eq!(to_canonical_json(&json!(number)), expected);
        }
        assert_eq!(to_canonical_json(&json!(u64::MAX)), "18446744073709551615");
    }
}
