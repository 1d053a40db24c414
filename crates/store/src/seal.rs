//! The SHA-256 of a row: what is read back is what was written.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Takes a row's fields one after the other, each with its length, so that none can pass for another.
pub(super) struct Seal(Sha256);

impl Seal {
    pub(super) fn of(table: &str) -> Self {
        Self(Sha256::new()).field(table.as_bytes())
    }

    pub(super) fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn number(self, number: i64) -> Self {
        self.field(&number.to_le_bytes())
    }

    pub(super) fn id(self, id: Uuid) -> Self {
        self.field(id.as_bytes())
    }

    /// A field that may be absent, which is not the same as an empty one.
    pub(super) fn optional(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.number(1).field(bytes),
            None => self.number(0),
        }
    }

    pub(super) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
