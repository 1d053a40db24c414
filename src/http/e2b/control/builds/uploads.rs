//! Files for builds: archives that clients upload to an address that they are given, and that is a secret.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;

use super::super::super::error::{E2bError, Kind};
use super::super::super::secrets_equal;
use proofbox_memory::{Budget, Lease};
use proofbox_types::ids::KeyId;

/// Archives of all owners, in bytes; one of them may have half of it.
const ALL_BYTES: usize = 512 << 20;
/// Archives that one owner may have announced.
const MAX_OF_OWNER: usize = 256;
/// Archives that all may have announced.
const MAX_ALL: usize = 4096;
/// Time for which an archive or its address is kept without being used.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// Longest name of an archive, in bytes.
const MAX_HASH: usize = 128;

/// An archive that was uploaded, and its memory.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The archive: tar, packed with gzip or not.
    pub bytes: Bytes,
    _lease: Lease,
}

/// Owner of an archive, and the name that the client gives it.
type Name = (Option<KeyId>, String);

#[derive(Debug)]
struct Slot {
    /// Secret part of the address.
    token: String,
    archive: Option<Arc<Archive>>,
    used: Instant,
}

/// Archives for builds, as far as they are there.
#[derive(Debug)]
pub(crate) struct Uploads {
    slots: Mutex<HashMap<Name, Slot>>,
    budget: Budget,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { slots: Mutex::default(), budget: Budget::new(ALL_BYTES) }
    }
}

impl Uploads {
    fn slots(&self) -> MutexGuard<'_, HashMap<Name, Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| slot.used.elapsed() < MAX_AGE);
        slots
    }

    /// Returns whether an archive is there, and the secret part of the address to upload it to.
    ///
    /// # Errors
    /// Returns an error for a name that no client gives, or when there are too many.
    pub(crate) fn reserve(&self, owner: Option<KeyId>, hash: &str) -> Result<(bool, String), E2bError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if hash.is_empty() || hash.len() > MAX_HASH || !hash.bytes().all(is_allowed) {
            return Err(E2bError::new(Kind::Bad, "the hash of files is one of letters and digits"));
        }
        let mut slots = self.slots();
        let name = (owner, hash.to_owned());
        if !slots.contains_key(&name) {
            if slots.keys().filter(|(other, _)| *other == owner).count() >= MAX_OF_OWNER {
                remove_oldest(&mut slots, owner, None);
            }
            if slots.len() >= MAX_ALL {
                return Err(E2bError::new(Kind::NoSpace, "there are too many files for builds; try again later"));
            }
            slots.insert(name.clone(), Slot { token: token()?, archive: None, used: Instant::now() });
        }
        let slot = slots.get_mut(&name).ok_or_else(E2bError::internal)?;
        slot.used = Instant::now();
        Ok((slot.archive.is_some(), slot.token.clone()))
    }

    /// Returns the archive that an address is for.
    ///
    /// # Errors
    /// Returns an error when there is no such address, or no longer.
    pub(crate) fn find(&self, token: &str) -> Result<Name, E2bError> {
        let slots = self.slots();
        let found = slots.iter().find(|(_, slot)| secrets_equal(slot.token.as_bytes(), token.as_bytes()));
        found.map(|(name, _)| name.clone()).ok_or_else(|| {
            E2bError::new(
                Kind::Forbidden,
                "this address for files is not in force, or not any more: ask for another one",
            )
        })
    }

    /// Keeps an archive. Older ones of the same owner make room for it.
    ///
    /// # Errors
    /// Returns an error when there is no room.
    pub(crate) fn keep(&self, name: &Name, bytes: Bytes) -> Result<(), E2bError> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get_mut(name) {
            slot.archive = None;
        }
        let mut lease = self.budget.account(name.0).lease();
        while lease.try_grow(bytes.len()).is_err() {
            if !remove_oldest(&mut slots, name.0, Some(name)) {
                return Err(E2bError::new(Kind::NoSpace, "there is no room for more files of builds; try again later"));
            }
        }
        let slot = slots.get_mut(name).ok_or_else(E2bError::internal)?;
        slot.archive = Some(Arc::new(Archive { bytes, _lease: lease }));
        slot.used = Instant::now();
        Ok(())
    }

    /// Returns an archive, if it is there.
    pub(crate) fn archive(&self, owner: Option<KeyId>, hash: &str) -> Option<Arc<Archive>> {
        let mut slots = self.slots();
        let slot = slots.get_mut(&(owner, hash.to_owned()))?;
        slot.used = Instant::now();
        slot.archive.clone()
    }
}

/// Removes what an owner has not used for longest; where `kept` is given, an archive other than that one. Returns whether
/// there was any.
fn remove_oldest(slots: &mut HashMap<Name, Slot>, owner: Option<KeyId>, kept: Option<&Name>) -> bool {
    let may_go =
        |name: &Name, slot: &Slot| name.0 == owner && kept.is_none_or(|kept| kept != name && slot.archive.is_some());
    let candidates = slots.iter().filter(|(name, slot)| may_go(name, slot));
    let oldest = candidates.min_by_key(|(_, slot)| slot.used).map(|(name, _)| name.clone());
    oldest.is_some_and(|oldest| slots.remove(&oldest).is_some())
}

/// Makes the secret part of an address.
fn token() -> Result<String, E2bError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|_| E2bError::internal())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = ALL_BYTES / 8;

    fn kept(uploads: &Uploads, owner: Option<KeyId>, hash: &str, bytes: usize) -> Result<(), E2bError> {
        let (_, token) = uploads.reserve(owner, hash).expect("a slot");
        uploads.keep(&uploads.find(&token).expect("its slot"), Bytes::from(vec![0; bytes]))
    }

    #[test]
    fn an_archive_is_found_by_its_owner() {
        let (uploads, key) = (Uploads::default(), Some(KeyId::from(uuid::Uuid::from_u128(1))));
        assert_eq!(kept(&uploads, key, "a", 3), Ok(()));
        assert!(uploads.reserve(key, "a").expect("a slot").0);
        assert!(!uploads.reserve(None, "a").expect("a slot").0, "it is another one");
        assert!(uploads.archive(key, "a").is_some() && uploads.archive(None, "a").is_none());
        assert_eq!(uploads.find("no such token").expect_err("none").kind(), Kind::Forbidden);
        assert!(uploads.reserve(key, "../a").is_err() && uploads.reserve(key, "").is_err());
    }

    #[test]
    fn an_owners_older_archives_make_room_and_nobody_elses() {
        let (uploads, key) = (Uploads::default(), Some(KeyId::from(uuid::Uuid::from_u128(1))));
        for hash in ["a", "b", "c", "d"] {
            assert_eq!(kept(&uploads, key, hash, PIECE), Ok(()));
        }
        assert!(uploads.archive(key, "a").is_some(), "used later than b");
        assert_eq!(kept(&uploads, key, "e", PIECE), Ok(()), "half of all is full");
        assert!(uploads.archive(key, "a").is_some() && uploads.archive(key, "b").is_none());
        assert_eq!(kept(&uploads, None, "a", PIECE), Ok(()));
        assert_eq!(kept(&uploads, key, "f", ALL_BYTES / 2 + 1).expect_err("too large").kind(), Kind::NoSpace);
    }

    #[test]
    fn archives_that_builds_use_keep_their_memory() {
        let uploads = Uploads::default();
        assert_eq!(kept(&uploads, None, "a", ALL_BYTES / 2), Ok(()));
        let used = uploads.archive(None, "a").expect("it is there");
        assert_eq!(kept(&uploads, None, "b", PIECE).expect_err("it is used").kind(), Kind::NoSpace);
        drop(used);
        assert_eq!(kept(&uploads, None, "b", PIECE), Ok(()));
    }

    #[test]
    fn places_of_an_owner_are_bounded() {
        let uploads = Uploads::default();
        for number in 0..2 * MAX_OF_OWNER {
            uploads.reserve(None, &number.to_string()).expect("a slot");
        }
        assert_eq!(uploads.slots().len(), MAX_OF_OWNER);
    }
}
