//! How many runs at once, and how many may wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all places are taken and the queue is full; try again in {} s", retry_after.as_secs())]
pub struct Busy {
    /// When it is worth trying again.
    pub retry_after: Duration,
}

/// Places for runs, and a bounded queue before them.
pub struct Capacity {
    places: Semaphore,
    most_running: usize,
    queued: AtomicUsize,
    most_queued: usize,
}

impl Capacity {
    /// `places` runs at once, `most_queued` waiting.
    pub fn new(places: usize, most_queued: usize) -> Self {
        Self { places: Semaphore::new(places), most_running: places, queued: AtomicUsize::new(0), most_queued }
    }

    /// Submissions that wait now.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Runs at once.
    pub fn places(&self) -> usize {
        self.most_running
    }

    /// Whether a submission that came now would be taken.
    pub fn has_room(&self) -> bool {
        self.places.available_permits() > 0 || self.queued() < self.most_queued
    }

    /// A place, at once or after waiting in the queue.
    ///
    /// # Errors
    /// When the queue is full.
    pub async fn enter(&self) -> Result<SemaphorePermit<'_>, Busy> {
        if let Ok(permit) = self.places.try_acquire() {
            return Ok(permit);
        }
        let queued = Queued::enter(&self.queued);
        if queued.place > self.most_queued {
            return Err(Busy { retry_after: Duration::from_secs(1) });
        }
        Ok(self.places.acquire().await.expect("the semaphore is never closed"))
    }
}

/// One place in the queue, left on drop.
struct Queued<'a> {
    counter: &'a AtomicUsize,
    place: usize,
}

impl<'a> Queued<'a> {
    fn enter(counter: &'a AtomicUsize) -> Self {
        let place = counter.fetch_add(1, Ordering::Relaxed) + 1;
        Self { counter, place }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_at_once() {
        let capacity = Capacity::new(1, 0);
        let first = capacity.enter().await.expect("there is a place");
        assert!(capacity.enter().await.is_err());
        drop(first);
        assert!(capacity.enter().await.is_ok());
        assert_eq!(capacity.queued(), 0);
    }
}
