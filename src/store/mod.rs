//! What must outlive a request.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use jiff::Timestamp;
use uuid::Uuid;

/// Why a checkpoint is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A client asked for it.
    Named,
    /// Its session makes room for others.
    Evicted,
    /// Its session is paused.
    Paused,
}

/// A checkpoint but for its bytes.
#[derive(Clone, Debug)]
pub struct CheckpointRow {
    /// Its name.
    pub id: Uuid,
    /// The session that it was made of.
    pub session: Option<Uuid>,
    /// As it was given.
    pub name: Option<String>,
    /// Why it is kept.
    pub kind: CheckpointKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// How long it is kept.
    pub expires_at: Option<Timestamp>,
    /// The image that it belongs to.
    pub image_hash: String,
    /// Whose it is.
    pub owner: Option<String>,
    /// What goes with it.
    pub meta: Vec<u8>,
}

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing in it.
    #[error("not found")]
    NotFound,
    /// What is in it is not what was put there.
    #[error("damaged")]
    Damaged,
}

/// What must outlive a request.
#[derive(Default)]
pub struct Store(Mutex<BTreeMap<Uuid, (CheckpointRow, Vec<u8>)>>);

#[allow(clippy::unused_async)]
impl Store {
    /// Opens it.
    ///
    /// # Errors
    /// When it can't be had.
    pub async fn open(_: &Path) -> Result<Self, StoreError> {
        Ok(Self::default())
    }

    /// Puts a checkpoint in.
    ///
    /// # Errors
    /// When it fails.
    pub async fn put_checkpoint(&self, row: CheckpointRow, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.0.lock().expect("no panic").insert(row.id, (row, bytes));
        Ok(())
    }

    /// Gets a checkpoint.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get_checkpoint(&self, id: Uuid) -> Result<(CheckpointRow, Vec<u8>), StoreError> {
        self.0.lock().expect("no panic").get(&id).cloned().ok_or(StoreError::NotFound)
    }

    /// Removes a checkpoint.
    ///
    /// # Errors
    /// When it fails.
    pub async fn delete_checkpoint(&self, id: Uuid) -> Result<bool, StoreError> {
        Ok(self.0.lock().expect("no panic").remove(&id).is_some())
    }

    /// Lists checkpoints.
    ///
    /// # Errors
    /// When it fails.
    pub async fn list_checkpoints(&self, kind: CheckpointKind) -> Result<Vec<(CheckpointRow, u64)>, StoreError> {
        let all = self.0.lock().expect("no panic");
        Ok(all
            .values()
            .rev()
            .filter(|(row, _)| row.kind == kind)
            .map(|(row, bytes)| (row.clone(), bytes.len() as u64))
            .collect())
    }
}
