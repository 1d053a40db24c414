//! Output of cells and commands, on its way to clients.

use std::sync::Arc;

use crate::service::SessionCommand;
use proofbox_types::session::Signal;

/// Command that runs in a session. Dropping it ends the command.
pub struct Running(pub Arc<SessionCommand>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill(Signal::Kill);
    }
}

/// Text of a stream, whose characters may arrive in parts.
#[derive(Default)]
pub struct StreamText(Vec<u8>);

impl StreamText {
    /// Adds bytes, and returns what is whole.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.0.extend_from_slice(bytes);
        let mut whole = self.0.len();
        if let Some(last) = self.0.utf8_chunks().last()
            && std::str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none())
        {
            whole -= last.invalid().len();
        }
        let rest = self.0.split_off(whole);
        String::from_utf8_lossy(&std::mem::replace(&mut self.0, rest)).into_owned()
    }

    /// Returns the part of a character that the stream ended with.
    pub fn take_rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.0)).into_owned()
    }
}

/// Returns the text of a string without its quotes, as E2B shows results.
pub fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'').or_else(|| within('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        let mut text = StreamText::default();
        assert_eq!(text.push(b"a\xc3"), "a");
        assert_eq!(text.push(b"\xa4b\xff"), "äb\u{fffd}");
        assert_eq!(text.push(b"\xe2\x82"), "");
        assert_eq!(text.take_rest(), "\u{fffd}");
    }
}
