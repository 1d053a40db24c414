//! Keys while the service runs: lookup of secrets, and use of quotas.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::metrics::Metrics;
use proofbox_store::{KeyFile, KeyRow, StoreError};
use proofbox_types::caller::{Caller, Key};
use proofbox_types::ids::KeyId;

/// Bytes of a secret.
const SECRET_BYTES: usize = 20;
/// Prefixes of a secret's digits: that of this service, and the one that E2B's clients insist on.
const PREFIXES: [&str; 2] = ["proofbox_", "e2b_"];
/// Interval at which the file is checked for changes, and use is written to it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Digits at a secret's end by which people know it again.
const HINT: usize = 4;

/// Secret that a client shows, and nobody else knows. Zeroed on drop.
pub struct Secret(Zeroizing<[u8; SECRET_BYTES]>);

impl Secret {
    /// Generates a new secret.
    ///
    /// # Errors
    /// Returns an error when the system has no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        getrandom::fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// The secret in this text, with either prefix; none where it can't be one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix))?;
        if digits.len() != SECRET_BYTES * 2 {
            return None;
        }
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(Self(bytes))
    }

    /// Returns the secret as clients show it.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(PREFIXES[0].len() + SECRET_BYTES * 2));
        text.push_str(PREFIXES[0]);
        for byte in self.0.iter() {
            let mut digits = format!("{byte:02x}");
            text.push_str(&digits);
            digits.zeroize();
        }
        text
    }

    /// Returns the last digits of the secret.
    pub fn hint(&self) -> String {
        let text = self.text();
        text[text.len() - HINT..].to_owned()
    }

    /// Returns the hash by which the secret is stored.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(*self.0).into()
    }
}

/// A key's quota is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverQuota {
    /// Requests in a minute.
    #[error("this key may send {allowed} requests a minute; try again in {} s", retry_after.as_secs())]
    Rate {
        /// Maximum number of requests a minute.
        allowed: u32,
        /// Time after which the next request is allowed, in whole seconds.
        retry_after: Duration,
    },
    /// Fuel in a day.
    #[error("this key has used its {allowed} of fuel for today; there is more from midnight (UTC)")]
    Fuel {
        /// Maximum fuel a day.
        allowed: u64,
        /// Time until the next day begins (UTC).
        retry_after: Duration,
    },
}

impl OverQuota {
    /// Returns the time after which the quota allows more.
    pub fn retry_after(self) -> Duration {
        match self {
            Self::Rate { retry_after, .. } | Self::Fuel { retry_after, .. } => retry_after,
        }
    }
}

/// Result of looking up a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A key in force.
    Caller(Caller),
    /// Key that has been revoked.
    Revoked,
    /// Secret that was never issued.
    Unknown,
}

/// The keys in force, and what they have used.
pub struct Keys {
    path: Option<PathBuf>,
    table: RwLock<Arc<Table>>,
    used: Mutex<Used>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Table {
    by_secret: HashMap<[u8; 32], Option<Caller>>,
    by_id: HashMap<KeyId, Caller>,
    limiters: HashMap<KeyId, Arc<DefaultDirectRateLimiter>>,
}

/// Fuel that was used today.
#[derive(Default)]
struct Used {
    day: i64,
    /// Fuel used by each key: as the file has it, and what is not yet in it.
    fuel: HashMap<KeyId, u64>,
    unsaved: HashMap<KeyId, u64>,
}

impl Used {
    /// Resets the use when a new day has begun.
    fn turn(&mut self, day: i64) {
        if self.day != day {
            *self = Self { day, ..Self::default() };
        }
    }
}

fn today() -> i64 {
    Timestamp::now().as_second().div_euclid(86_400)
}

impl Table {
    fn of(rows: Vec<KeyRow>, before: &Self) -> Self {
        let mut table = Self::default();
        for row in rows {
            if row.revoked_at.is_some() {
                table.by_secret.insert(row.sha256, None);
                continue;
            }
            let id = KeyId::from(row.id);
            if let Some(quota) = row.requests_per_minute.and_then(NonZeroU32::new) {
                let same = before.by_id.get(&id).and_then(Caller::key).map(|key| key.requests_per_minute);
                let kept = before.limiters.get(&id).filter(|_| same == Some(row.requests_per_minute)).cloned();
                let fresh = || Arc::new(RateLimiter::direct(Quota::per_minute(quota)));
                table.limiters.insert(id, kept.unwrap_or_else(fresh));
            }
            let key = Key {
                id,
                name: row.name,
                policies: row.policies,
                requests_per_minute: row.requests_per_minute,
                concurrency: row.concurrency,
                sessions: row.sessions,
                fuel_per_day: row.fuel_per_day,
                disk_bytes: row.disk_bytes,
            };
            let caller = Caller::of(Arc::new(key));
            table.by_secret.insert(row.sha256, Some(caller.clone()));
            table.by_id.insert(id, caller);
        }
        table
    }
}

impl Keys {
    /// Creates a store of keys that has none and never will.
    pub fn none(metrics: Arc<Metrics>) -> Self {
        Self { path: None, table: RwLock::default(), used: Mutex::default(), metrics }
    }

    /// The keys of this file.
    ///
    /// # Errors
    /// Returns an error when it can't be read.
    pub fn open(path: PathBuf, metrics: Arc<Metrics>) -> Result<Self, StoreError> {
        let file = KeyFile::open(&path)?;
        let day = today();
        let fuel = file.fuel_by_key(day)?.into_iter().map(|(id, fuel)| (KeyId::from(id), fuel)).collect();
        let used = Used { day, fuel, unsaved: HashMap::new() };
        let table = Table::of(file.list()?, &Table::default());
        Ok(Self { path: Some(path), table: RwLock::new(Arc::new(table)), used: Mutex::new(used), metrics })
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of keys in force.
    pub fn count(&self) -> usize {
        self.table().by_id.len()
    }

    /// Looks up the key whose secret `text` is.
    pub fn recognise(&self, text: &str) -> Recognised {
        let Some(secret) = Secret::parse(text) else { return Recognised::Unknown };
        match self.table().by_secret.get(&secret.sha256()) {
            Some(Some(caller)) => Recognised::Caller(caller.clone()),
            Some(None) => Recognised::Revoked,
            None => Recognised::Unknown,
        }
    }

    /// Returns the current caller of an owner; none when the key is revoked.
    pub fn caller_of(&self, owner: Option<KeyId>) -> Option<Caller> {
        match owner {
            None => Some(Caller::keyless()),
            Some(id) => self.table().by_id.get(&id).cloned(),
        }
    }

    /// Bytes that an owner may hold on disk, where its key says.
    pub fn disk_bytes(&self, owner: Option<KeyId>) -> Option<u64> {
        self.caller_of(owner)?.key()?.disk_bytes
    }

    /// Counts one request.
    ///
    /// # Errors
    /// Returns an error when there were as many as the key may send.
    pub fn count_request(&self, caller: &Caller) -> Result<(), OverQuota> {
        self.check_rate(caller).inspect_err(|_| self.metrics.refused.with_label_values(&["rate"]).inc())
    }

    fn check_rate(&self, caller: &Caller) -> Result<(), OverQuota> {
        let Some((key, allowed)) = caller.key().and_then(|key| Some((key, key.requests_per_minute?))) else {
            return Ok(());
        };
        let minute = OverQuota::Rate { allowed, retry_after: Duration::from_secs(60) };
        // Of a key that may send none there is no limiter.
        let table = self.table();
        let limiter = table.limiters.get(&key.id).ok_or(minute)?;
        limiter.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now()).as_secs_f64().ceil().max(1.0);
            OverQuota::Rate { allowed, retry_after: Duration::from_secs_f64(wait) }
        })
    }

    /// Checks that the key has fuel left for today. A run may use more than is left.
    ///
    /// # Errors
    /// Returns an error when the key has none left.
    pub fn has_fuel(&self, caller: &Caller) -> Result<(), OverQuota> {
        self.check_fuel(caller).inspect_err(|_| self.metrics.refused.with_label_values(&["fuel"]).inc())
    }

    fn check_fuel(&self, caller: &Caller) -> Result<(), OverQuota> {
        let Some((key, allowed)) = caller.key().and_then(|key| Some((key, key.fuel_per_day?))) else { return Ok(()) };
        let mut used = self.used();
        used.turn(today());
        if used.fuel.get(&key.id).copied().unwrap_or(0) < allowed {
            return Ok(());
        }
        let midnight = (used.day + 1) * 86_400 - Timestamp::now().as_second();
        Err(OverQuota::Fuel { allowed, retry_after: Duration::from_secs(midnight.max(1).unsigned_abs()) })
    }

    /// Notes fuel that was used.
    pub fn use_fuel(&self, owner: Option<KeyId>, fuel: u64) {
        let Some(id) = owner else { return };
        let mut used = self.used();
        used.turn(today());
        *used.fuel.entry(id).or_default() += fuel;
        *used.unsaved.entry(id).or_default() += fuel;
    }

    /// Writes down what was used since the last time, and reads the keys again where they have changed; `seen` is the
    /// version that was seen last.
    fn sync(&self, file: &mut KeyFile, seen: &mut Option<i64>) -> Result<(), StoreError> {
        let (day, unsaved) = {
            let mut used = self.used();
            (used.day, std::mem::take(&mut used.unsaved))
        };
        if !unsaved.is_empty() {
            let rows: Vec<_> = unsaved.iter().map(|(id, fuel)| (id.uuid(), *fuel)).collect();
            if let Err(error) = file.add_fuel(day, &rows) {
                let mut used = self.used();
                if used.day == day {
                    for (id, fuel) in unsaved {
                        *used.unsaved.entry(id).or_default() += fuel;
                    }
                }
                return Err(error);
            }
        }
        let version = file.version()?;
        if *seen != Some(version) {
            let table = Table::of(file.list()?, &self.table());
            *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
            *seen = Some(version);
        }
        Ok(())
    }

    /// Follows the file of keys for as long as they are used: a key that is made or revoked counts within a second.
    ///
    /// # Errors
    /// Returns an error when the file can't be opened, or no thread starts.
    pub fn follow(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let mut file = KeyFile::open(&path)?;
        let keys = Arc::downgrade(self);
        let follow = move || {
            let (mut seen, mut failing) = (None, false);
            while let Some(keys) = keys.upgrade() {
                match keys.sync(&mut file, &mut seen) {
                    Ok(()) => failing = false,
                    Err(error) if !failing => {
                        failing = true;
                        tracing::error!(%error, "the keys can't be followed; those that were known stay in force");
                    }
                    Err(_) => {}
                }
                drop(keys);
                std::thread::sleep(LOOK_EVERY);
            }
        };
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(follow)
            .map(drop)
            .map_err(|error| StoreError::Open { path, reason: error.to_string() })
    }

    /// Writes down what keys have used: the service ends.
    pub fn save(&self) {
        let Some(path) = self.path.as_deref() else { return };
        let saved = KeyFile::open(path).and_then(|mut file| self.sync(&mut file, &mut None));
        if let Err(error) = saved {
            tracing::warn!(%error, "the fuel that keys have used in the last moments is not written down");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, secret: &Secret) -> KeyRow {
        KeyRow {
            id: uuid::Uuid::now_v7(),
            name: name.to_owned(),
            sha256: secret.sha256(),
            hint: secret.hint(),
            created_at: 0,
            revoked_at: None,
            policies: None,
            requests_per_minute: Some(2),
            concurrency: None,
            sessions: None,
            fuel_per_day: Some(100),
            disk_bytes: None,
        }
    }

    #[test]
    fn a_secret_has_two_spellings_and_no_others() {
        let secret = Secret::generate().expect("randomness");
        let text = secret.text();
        let digits = text.strip_prefix("proofbox_").expect("our prefix");
        assert_eq!(digits.len(), 40);
        for same in [text.to_string(), format!("e2b_{digits}"), format!("e2b_{}", digits.to_uppercase())] {
            assert_eq!(Secret::parse(&same).expect("a secret").sha256(), secret.sha256());
        }
        let (short, long) = (&text[..text.len() - 1], format!("{}0", *text));
        let other = format!("proofbox_{}", "g".repeat(40));
        for wrong in ["", digits, short, &long, &other, "proofbox_", &format!("proofbox_{}", "é".repeat(20))] {
            assert!(Secret::parse(wrong).is_none(), "{wrong}");
        }
        assert!(text.ends_with(&secret.hint()));
    }

    #[test]
    fn a_key_counts_from_when_it_is_made_to_when_it_is_revoked() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keys.sqlite3");
        let keys = Keys::open(path.clone(), Arc::default()).expect("made");
        let mut file = KeyFile::open(&path).expect("opened");
        let command = KeyFile::open(&path).expect("opened");
        let secret = Secret::generate().expect("randomness");
        let text = secret.text();
        let mut seen = None;
        keys.sync(&mut file, &mut seen).expect("read");
        assert_eq!(keys.recognise(&text), Recognised::Unknown);
        command.create(&row("ci", &secret)).expect("kept");
        keys.sync(&mut file, &mut seen).expect("read");
        let Recognised::Caller(caller) = keys.recognise(&text) else { panic!("it is a key") };
        assert_eq!((caller.name(), keys.caller_of(caller.owner())), ("ci", Some(caller.clone())));
        command.revoke("ci", 1).expect("written");
        keys.sync(&mut file, &mut seen).expect("read");
        assert_eq!(keys.recognise(&text), Recognised::Revoked);
        assert_eq!(keys.caller_of(caller.owner()), None);
    }

    #[test]
    fn what_a_key_may_use_is_counted_and_outlives_the_service() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keys.sqlite3");
        let secret = Secret::generate().expect("randomness");
        let mut file = KeyFile::open(&path).expect("made");
        file.create(&row("ci", &secret)).expect("kept");
        let keys = Keys::open(path.clone(), Arc::default()).expect("opened");
        let Recognised::Caller(caller) = keys.recognise(&secret.text()) else { panic!("it is a key") };
        assert_eq!((keys.count_request(&caller), keys.count_request(&caller)), (Ok(()), Ok(())));
        let Err(OverQuota::Rate { allowed: 2, retry_after }) = keys.count_request(&caller) else { panic!("a third") };
        assert!((25..=30).contains(&retry_after.as_secs()), "{retry_after:?}");
        keys.use_fuel(caller.owner(), 99);
        assert_eq!(keys.has_fuel(&caller), Ok(()));
        keys.use_fuel(caller.owner(), 1);
        let Err(OverQuota::Fuel { allowed: 100, retry_after }) = keys.has_fuel(&caller) else { panic!("none is left") };
        assert!(retry_after <= Duration::from_secs(86_400));
        keys.sync(&mut file, &mut None).expect("written");
        assert!(keys.has_fuel(&caller).is_err());
        assert!(Keys::open(path, Arc::default()).expect("opened").has_fuel(&caller).is_err());
        assert_eq!((keys.has_fuel(&Caller::keyless()), keys.count_request(&Caller::keyless())), (Ok(()), Ok(())));
    }
}
