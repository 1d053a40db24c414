//! Values as errors show them.

use super::json::{COMPACT, compact, measure};
use super::value::Value;

/// Characters of a value that errors show.
const SHOWN: usize = 11;

/// A value as errors show it, with its kind.
pub(super) fn described(value: &Value) -> String {
    format!("{} ({})", value.kind(), shortened(value))
}

/// The beginning of a value's text.
pub(super) fn shortened(value: &Value) -> String {
    let text = match value {
        Value::String(text) => {
            let head: String = text.content.chars().take(2 * SHOWN).collect();
            format!("\"{head}\"")
        }
        value if measure(value, COMPACT, &mut 4096) => compact(value),
        value => match value {
            Value::Array(_) => "[...            ".to_owned(),
            _ => "{...            ".to_owned(),
        },
    };
    match text.chars().count() > SHOWN + 3 {
        true => format!("{}...", text.chars().take(SHOWN).collect::<String>()),
        false => text,
    }
}
