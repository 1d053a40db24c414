//! Memory of the front process that clients can make it take: budgets in bytes, shared out between keys.

mod json;
mod queue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use json::{JsonCost, MAX_VALUES, TooManyValues, count_values};
pub use queue::{Next, Piece, Receiver, Sender, queue};

use proofbox_types::ids::KeyId;

/// Unit of a budget, in bytes.
const UNIT: usize = 1 << 10;

/// Key whose bytes are counted; those of all clients without one count together.
pub type Owner = Option<KeyId>;

/// No room within the time that a client may wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what clients have sent or not yet read holds all the memory that it may")]
pub struct Full;

/// Bytes that may be held at once. One owner holds at most half of them.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shares>);

#[derive(Debug)]
struct Shares {
    all: Arc<Semaphore>,
    /// Units that one owner may hold.
    share: usize,
    owners: Mutex<HashMap<Owner, Arc<Semaphore>>>,
}

impl Budget {
    /// Makes a budget of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).max(2);
        Self(Arc::new(Shares { all: Arc::new(Semaphore::new(units)), share: units / 2, owners: Mutex::default() }))
    }

    /// Returns an owner's part of it.
    pub fn account(&self, owner: Owner) -> Account {
        // Operators make keys, so there are never many.
        let mut owners = self.0.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let own = owners.entry(owner).or_insert_with(|| Arc::new(Semaphore::new(self.0.share)));
        Account { budget: self.clone(), own: Arc::clone(own) }
    }
}

/// Part of a budget that belongs to an owner.
#[derive(Clone, Debug)]
pub struct Account {
    budget: Budget,
    own: Arc<Semaphore>,
}

impl Account {
    /// Makes a lease that holds nothing yet.
    pub fn lease(&self) -> Lease {
        Lease { account: self.clone(), held: None }
    }
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub struct Lease {
    account: Account,
    /// Permits of the owner's part, and of the whole.
    held: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Lease {
    fn units(&self) -> usize {
        self.held.as_ref().map_or(0, |(own, _)| own.num_permits())
    }

    fn share(&self) -> usize {
        self.account.budget.0.share
    }

    /// Returns how many units to add to hold `units` in all.
    fn missing(&self, units: usize) -> u32 {
        u32::try_from(units.saturating_sub(self.units())).unwrap_or(u32::MAX)
    }

    fn add(&mut self, own: OwnedSemaphorePermit, all: OwnedSemaphorePermit) {
        match &mut self.held {
            Some((held_own, held_all)) => {
                held_own.merge(own);
                held_all.merge(all);
            }
            None => self.held = Some((own, all)),
        }
    }

    /// Holds at least `bytes` in all; waits for them as long as it takes. What is larger than the owner's part counts
    /// as all of it: alone it may be served.
    pub async fn grow(&mut self, bytes: usize) {
        let missing = self.missing(bytes.div_ceil(UNIT).min(self.share()));
        if missing == 0 {
            return;
        }
        let (own, all) = (Arc::clone(&self.account.own), Arc::clone(&self.account.budget.0.all));
        let own = own.acquire_many_owned(missing).await.expect("the semaphore is never closed");
        let all = all.acquire_many_owned(missing).await.expect("the semaphore is never closed");
        self.add(own, all);
    }

    /// Holds at least `bytes` in all, within `patience`.
    ///
    /// # Errors
    /// Returns an error when others hold them for longer.
    pub async fn grow_within(&mut self, bytes: usize, patience: Duration) -> Result<(), Full> {
        tokio::time::timeout(patience, self.grow(bytes)).await.map_err(|_| Full)
    }

    /// Holds at least `bytes` in all, at once.
    ///
    /// # Errors
    /// Returns an error when others hold them, or they are more than the owner's part.
    pub fn try_grow(&mut self, bytes: usize) -> Result<(), Full> {
        let units = bytes.div_ceil(UNIT);
        if units > self.share() {
            return Err(Full);
        }
        let missing = self.missing(units);
        if missing == 0 {
            return Ok(());
        }
        let (own, all) = (Arc::clone(&self.account.own), Arc::clone(&self.account.budget.0.all));
        let own = own.try_acquire_many_owned(missing).map_err(|_| Full)?;
        let all = all.try_acquire_many_owned(missing).map_err(|_| Full)?;
        self.add(own, all);
        Ok(())
    }

    /// Holds at most `bytes` in all; gives the rest back.
    pub fn shrink(&mut self, bytes: usize) {
        let excess = self.units().saturating_sub(bytes.div_ceil(UNIT));
        if let Some((own, all)) = &mut self.held {
            drop((own.split(excess), all.split(excess)));
        }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.units() * UNIT
    }

    /// Tells whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.units() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(number: u128) -> Owner {
        Some(uuid::Uuid::from_u128(number).into())
    }

    #[test]
    fn one_owner_holds_at_most_half() {
        let budget = Budget::new(1000 * UNIT);
        let (mut first, mut second) = (budget.account(None).lease(), budget.account(None).lease());
        assert_eq!(first.try_grow(400 * UNIT), Ok(()));
        assert_eq!(second.try_grow(200 * UNIT), Err(Full));
        assert!(second.is_empty());
        assert_eq!(budget.account(owner(1)).lease().try_grow(500 * UNIT), Ok(()));
        first.shrink(100 * UNIT);
        assert_eq!(second.try_grow(400 * UNIT), Ok(()));
        drop(first);
        assert_eq!(second.try_grow(500 * UNIT), Ok(()));
    }

    #[tokio::test]
    async fn what_is_larger_than_a_share_counts_as_all_of_it_where_it_is_waited_for() {
        let budget = Budget::new(10 * UNIT);
        let mut large = budget.account(None).lease();
        assert_eq!(large.try_grow(usize::MAX), Err(Full));
        large.grow(usize::MAX).await;
        assert_eq!(budget.account(None).lease().try_grow(1), Err(Full));
        drop(large);
        assert_eq!(budget.account(None).lease().try_grow(1), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_in_time_and_takes_nothing() {
        let budget = Budget::new(10 * UNIT);
        let (mut first, mut second) = (budget.account(None).lease(), budget.account(None).lease());
        assert_eq!(first.try_grow(5 * UNIT), Ok(()));
        assert_eq!(second.grow_within(UNIT, Duration::from_secs(5)).await, Err(Full));
        drop(first);
        assert_eq!(second.grow_within(5 * UNIT, Duration::from_secs(5)).await, Ok(()));
    }
}
