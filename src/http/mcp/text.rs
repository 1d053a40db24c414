//! Bounds of what a model is to read: the beginning and the end of long texts.

use proofbox_types::outcome::Captured;

/// Size of a text in a result, in bytes: a model reads it as a whole.
pub(super) const MAX_TEXT_BYTES: usize = 48 << 10;
/// Size of a message in a result, in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// Cuts the middle out of a text that is longer than `most` bytes, and notes there how much was left out.
pub(super) fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n[... {} bytes cut ...]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Renders a stream, and tells whether something of it is left out.
pub(super) fn stream(captured: &Captured) -> (String, bool) {
    let text = captured.text();
    let truncated = captured.is_truncated() || text.len() > MAX_TEXT_BYTES;
    (cut(text, MAX_TEXT_BYTES), truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out_between_characters() {
        assert_eq!(cut("abc".to_owned(), 3), "abc");
        assert_eq!(cut("abcdef".to_owned(), 4), "ab\n[... 2 bytes cut ...]\nef");
        assert_eq!(cut("éééé".to_owned(), 3), "\n[... 8 bytes cut ...]\n");
        assert_eq!(cut("éééé".to_owned(), 5), "é\n[... 4 bytes cut ...]\né");
    }
}
