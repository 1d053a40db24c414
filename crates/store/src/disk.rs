//! The disk below the file: what is to be written must leave some of it free.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::StoreError;

/// Part of the disk that is kept free, where the operator does not say.
const SHARE: u64 = 20;
/// Maximum of that part, in bytes: a large disk needs no larger reserve.
const MAX_SHARE: u64 = 1 << 30;

/// Bytes that are left free on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskReserve {
    /// A twentieth of the disk, at most 1 GiB.
    Share,
    /// Fixed number of bytes.
    Bytes(u64),
}

impl DiskReserve {
    fn of(self, disk: u64) -> u64 {
        match self {
            DiskReserve::Share => (disk / SHARE).min(MAX_SHARE),
            DiskReserve::Bytes(bytes) => bytes,
        }
    }
}

/// The disk that the file lies on.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    reserve: DiskReserve,
}

impl Disk {
    pub(super) fn new(path: &Path, reserve: DiskReserve) -> Self {
        Self { path: path.to_owned(), reserve }
    }

    /// Checks that `bytes` more leave the reserve free.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Full`] if they do not, or a disk that tells nothing of itself.
    pub(super) fn check(&self, connection: &Connection, bytes: u64) -> Result<(), StoreError> {
        let failed = |error: std::io::Error| StoreError::Engine { reason: error.to_string() };
        let disk = rustix::fs::statvfs(&self.path).map_err(|error| failed(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let all = disk.f_blocks.saturating_mul(disk.f_frsize);
        // What lies in the log of changes is written a second time, into the file: these bytes, and what earlier writes
        // have not moved there yet.
        let file = std::fs::metadata(&self.path).map_err(failed)?.len();
        let unmoved = length(connection)?.saturating_sub(file);
        let wanted = bytes.saturating_mul(2).saturating_add(unmoved);
        if wanted.saturating_add(self.reserve.of(all)) > free { Err(StoreError::Full) } else { Ok(()) }
    }
}

/// Length that the file has once all changes are in it.
fn length(connection: &Connection) -> Result<u64, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (pages, size) = (number("page_count")?, number("page_size")?);
    Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_disk_keeps_a_gibibyte_and_a_small_one_a_twentieth() {
        assert_eq!(DiskReserve::Share.of(8 << 20), (8 << 20) / 20);
        assert_eq!(DiskReserve::Share.of(1 << 40), 1 << 30);
        assert_eq!(DiskReserve::Bytes(7).of(1 << 40), 7);
    }
}
