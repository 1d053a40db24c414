//! Output of cells and commands, on its way to clients.

use std::sync::Arc;

use crate::service::SessionCommand;
use proofbox_types::outcome::without_partial_end;
use proofbox_types::session::Signal;

/// Command that runs in a session. Dropping it ends the command.
pub(super) struct Running(pub Arc<SessionCommand>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill(Signal::Kill);
    }
}

/// Text of a stream of bytes that comes in pieces: a character that is cut between two of them comes with the second.
#[derive(Default)]
pub(super) struct TextPieces {
    /// Beginning of a character.
    rest: Vec<u8>,
}

impl TextPieces {
    /// Returns the text that is whole after this piece, with replacement characters for what is not UTF-8.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        self.rest = all.split_off(without_partial_end(&all).len());
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Returns the text of what is left at the end of the stream.
    pub(super) fn end(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

/// Returns the text of a string without its quotes, as E2B shows results.
pub(super) fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'').or_else(|| within('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_between_two_pieces() {
        let text = "aé✓😀z";
        for at in 0..=text.len() {
            let mut pieces = TextPieces::default();
            let (first, second) = text.as_bytes().split_at(at);
            let joined = [pieces.push(first), pieces.push(second), pieces.end()].concat();
            assert_eq!(joined, text, "cut at {at}");
        }
        let mut pieces = TextPieces::default();
        assert_eq!([pieces.push(b"\xffa\xc3"), pieces.end()], ["\u{fffd}a", "\u{fffd}"]);
    }
}
