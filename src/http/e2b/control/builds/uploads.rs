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
pub struct Archive {
    /// The archive: tar, packed with gzip or not.
    pub bytes: Bytes,
    _lease: Lease,
}

/// Owner of an archive, and the name that the client gives it.
type Name = (Option<KeyId>, String);

#[derive(Debug)]
struct Place {
    /// Secret part of the address.
    token: String,
    archive: Option<Arc<Archive>>,
    used: Instant,
}

/// Archives for builds, as far as they are there.
#[derive(Debug)]
pub struct Uploads {
    places: Mutex<HashMap<Name, Place>>,
    budget: Budget,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { places: Mutex::default(), budget: Budget::new(ALL_BYTES) }
    }
}

impl Uploads {
    fn places(&self) -> MutexGuard<'_, HashMap<Name, Place>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, place| place.used.elapsed() < MAX_AGE);
        places
    }

    /// Returns whether an archive is there, and the secret part of the address to upload it to.
    ///
    /// # Errors
    /// Returns an error for a name that no client gives, or when there are too many.
    pub fn place(&self, owner: Option<KeyId>, hash: &str) -> Result<(bool, String), E2bError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if hash.is_empty() || hash.len() > MAX_HASH || !hash.bytes().all(is_allowed) {
            return Err(E2bError::new(Kind::Bad, "the hash of files is one of letters and digits"));
        }
        let mut places = self.places();
        let name = (owner, hash.to_owned());
        if !places.contains_key(&name) {
            if places.keys().filter(|(other, _)| *other == owner).count() >= MAX_OF_OWNER {
                remove_oldest(&mut places, owner, None);
            }
            if places.len() >= MAX_ALL {
                return Err(E2bError::new(Kind::NoSpace, "there are too many files for builds; try again later"));
            }
            places.insert(name.clone(), Place { token: token()?, archive: None, used: Instant::now() });
        }
        let place = places.get_mut(&name).ok_or_else(E2bError::internal)?;
        place.used = Instant::now();
        Ok((place.archive.is_some(), place.token.clone()))
    }

    /// Returns the archive that an address is for.
    ///
    /// # Errors
    /// Returns an error when there is no such address, or no longer.
    pub fn find(&self, token: &str) -> Result<Name, E2bError> {
        let places = self.places();
        let found = places.iter().find(|(_, place)| secrets_equal(place.token.as_bytes(), token.as_bytes()));
        found.map(|(name, _)| name.clone()).ok_or_else(|| {
            E2bError::new(Kind::Forbidden, "this address for files is not in force, or not any more: ask for another one")
        })
    }

    /// Keeps an archive. Older ones of the same owner make room for it.
    ///
    /// # Errors
    /// Returns an error when there is no room.
    pub fn keep(&self, name: &Name, bytes: Bytes) -> Result<(), E2bError> {
        let mut places = self.places();
        if let Some(place) = places.get_mut(name) {
            place.archive = None;
        }
        let mut lease = self.budget.account(name.0).lease();
        while lease.try_grow(bytes.len()).is_err() {
            if !remove_oldest(&mut places, name.0, Some(name)) {
                return Err(E2bError::new(Kind::NoSpace, "there is no room for more files of builds; try again later"));
            }
        }
        let place = places.get_mut(name).ok_or_else(E2bError::internal)?;
        place.archive = Some(Arc::new(Archive { bytes, _lease: lease }));
        place.used = Instant::now();
        Ok(())
    }

    /// Returns an archive, if it is there.
    pub fn archive(&self, owner: Option<KeyId>, hash: &str) -> Option<Arc<Archive>> {
        let mut places = self.places();
        let place = places.get_mut(&(owner, hash.to_owned()))?;
        place.used = Instant::now();
        place.archive.clone()
    }
}

/// Removes what an owner has not used for longest; where `kept` is given, an archive other than that one. Returns whether
/// there was any.
fn remove_oldest(places: &mut HashMap<Name, Place>, owner: Option<KeyId>, kept: Option<&Name>) -> bool {
    let may_go = |name: &Name, place: &Place| {
        name.0 == owner && kept.is_none_or(|kept| kept != name && place.archive.is_some())
    };
    let candidates = places.iter().filter(|(name, place)| may_go(name, place));
    let oldest = candidates.min_by_key(|(_, place)| place.used).map(|(name, _)| name.clone());
    oldest.is_some_and(|oldest| places.remove(&oldest).is_some())
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
        let (_, token) = uploads.place(owner, hash).expect("a place");
        uploads.keep(&uploads.find(&token).expect("its place"), Bytes::from(vec![0; bytes]))
    }

    #[test]
    fn an_archive_is_found_by_its_owner() {
        let (uploads, key) = (Uploads::default(), Some(KeyId::from(uuid::Uuid::from_u128(1))));
        assert_eq!(kept(&uploads, key, "a", 3), Ok(()));
        assert!(uploads.place(key, "a").expect("a place").0);
        assert!(!uploads.place(None, "a").expect("a place").0, "it is another one");
        assert!(uploads.archive(key, "a").is_some() && uploads.archive(None, "a").is_none());
        assert_eq!(uploads.find("no such token").expect_err("none").kind(), Kind::Forbidden);
        assert!(uploads.place(key, "../a").is_err() && uploads.place(key, "").is_err());
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
            uploads.place(None, &number.to_string()).expect("a place");
        }
        assert_eq!(uploads.places().len(), MAX_OF_OWNER);
    }
}
