//! Strings that must not come out of a run.

/// A string that must not appear in any output. Secret: it is never shown, not even to a debugger's log.
#[derive(Clone, PartialEq, Eq)]
pub struct Canary(String);

impl Canary {
    /// Canaries in one request.
    pub const MAX_COUNT: usize = 32;
    /// Shorter ones are found by chance.
    pub const SHORTEST: usize = 4;
    /// In bytes, as the one above.
    pub const MAX_LENGTH: usize = 1024;

    /// A canary of a length that can be looked for.
    pub fn new(text: String) -> Option<Self> {
        (Self::SHORTEST..=Self::MAX_LENGTH).contains(&text.len()).then_some(Self(text))
    }

    /// Returns the string that is searched for.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Canary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Canary(…)")
    }
}
