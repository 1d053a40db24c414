//! The disk below the file: what is to be written must leave some of it free.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::StoreError;

/// Part of the disk that is kept free, where the operator does not say.
const SHARE: u64 = 20;
/// Maximum of that part, in bytes: a large disk needs no larger reserve.
const MAX_SHARE: u64 = 1 << 30;
/// Time between two lines of the log that say that nothing is free: clients may ask again a thousand times a second.
const WARN_EVERY: Duration = Duration::from_mins(1);

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

/// Bytes of the disk that the store lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that are free.
    pub free_bytes: u64,
    /// Bytes of these that are left free.
    pub reserve_bytes: u64,
}

/// The disk that the file lies on.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    reserve: DiskReserve,
    warned: Mutex<Option<Instant>>,
}

impl Disk {
    /// Says in the log if no more than the reserve is free, so that an operator need not find out by what is refused.
    pub(super) fn new(path: &Path, reserve: DiskReserve) -> Self {
        let disk = Self { path: path.to_owned(), reserve, warned: Mutex::new(None) };
        // A disk that tells nothing of itself fails the first write.
        let _ = disk.check_free(0);
        disk
    }

    /// Checks that `bytes` more leave the reserve free.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Full`] if they do not, or a disk that tells nothing of itself.
    pub(super) fn check(&self, connection: &Connection, bytes: u64) -> Result<(), StoreError> {
        // What lies in the log of changes is written a second time, into the file: these bytes, and what earlier writes
        // have not moved there yet.
        let file = std::fs::metadata(&self.path).map_err(failed)?.len();
        let unmoved = length(connection)?.saturating_sub(file);
        self.check_free(bytes.saturating_mul(2).saturating_add(unmoved))
    }

    fn check_free(&self, wanted_bytes: u64) -> Result<(), StoreError> {
        let DiskSpace { free_bytes, reserve_bytes } = self.space()?;
        if wanted_bytes.saturating_add(reserve_bytes) <= free_bytes {
            return Ok(());
        }
        if self.may_warn(Instant::now()) {
            let path = self.path.display();
            tracing::warn!(%path, free_bytes, reserve_bytes, wanted_bytes, "the disk of the store is full");
        }
        Err(StoreError::Full)
    }

    pub(super) fn space(&self) -> Result<DiskSpace, StoreError> {
        let disk = rustix::fs::statvfs(&self.path).map_err(|error| failed(error.into()))?;
        Ok(DiskSpace {
            free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
            reserve_bytes: self.reserve.of(disk.f_blocks.saturating_mul(disk.f_frsize)),
        })
    }

    fn may_warn(&self, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let may = warned.is_none_or(|last| now.saturating_duration_since(last) >= WARN_EVERY);
        if may {
            *warned = Some(now);
        }
        may
    }
}

fn failed(error: std::io::Error) -> StoreError {
    StoreError::Engine { reason: error.to_string() }
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

    #[test]
    fn a_full_disk_is_told_of_once_a_minute() {
        let disk = Disk::new(Path::new("/"), DiskReserve::Bytes(0));
        let start = Instant::now();
        let told = [0, 1, 59, 60, 61, 121].map(|seconds| disk.may_warn(start + Duration::from_secs(seconds)));
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
