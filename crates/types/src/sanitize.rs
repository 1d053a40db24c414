//! Text of strangers, made fit to be shown.

/// Control characters but newline and tab, in the notation of `cat -v`'s caret or as `\x9b`; what turns the direction
/// of writing around, as `\u{202e}`.
pub fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' => {
                out.push('^');
                out.push(char::from(c as u8 + 0x40));
            }
            '\u{7f}' => out.push_str("^?"),
            '\u{80}'..='\u{9f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            _ => out.push(c),
        }
    }
    out
}

/// The same on one line, and no longer than `longest` characters.
pub fn sanitize_line(text: &str, longest: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = sanitize(&line).chars().take(longest + 1).collect();
    if shown.chars().count() > longest {
        shown.pop();
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_it_is_obeyed() {
        assert_eq!(sanitize("a\x1b[2J\r\x7f\u{9b}\u{202e}\n\tb"), "a^[[2J^M^?\\x9b\\u{202e}\n\tb");
    }

    #[test]
    fn a_line_is_one_and_short() {
        assert_eq!(sanitize_line("a\nb\t\x1bc", 9), "a b ^[c");
        assert_eq!(sanitize_line("abcdef", 4), "abc…");
    }
}
