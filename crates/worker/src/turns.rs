//! Time slices on a worker's core, recorded in a page of memory that the worker shares with the front process. The
//! front process reads the page of a worker that has fallen silent or died and can't be asked any more.

use std::fs::File;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use super::protocol::RunId;

/// Size of two words: the run on the core (its id plus one; 0 for none), and how many time slices have begun.
const BYTES: usize = 2 * size_of::<u64>();

/// Time slices of one worker process. What the front process reads is the claim of a worker that may be compromised: an
/// id of nothing that waits means nothing.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<MmapRaw>);

/// Time slice as the front process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The run or session call that has it.
    pub holder: RunId,
    /// Sequence number: distinguishes time slices of the same holder.
    number: u64,
}

impl Turns {
    /// Makes the page for a worker that is to be started, and the file that gives the worker the same page.
    ///
    /// # Errors
    /// Returns an error when the system has no memory file or address space left.
    pub(crate) fn create() -> std::io::Result<(Self, OwnedFd)> {
        let file = memfd_create("proofbox-turns", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, BYTES as u64)?;
        // A worker that made it shorter would end the front with SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let file = File::from(file);
        Ok((Self::map(&file)?, file.into()))
    }

    /// Opens the page that a worker was started with.
    ///
    /// # Errors
    /// Returns an error when `file` is not one of [`Turns::create`].
    pub(crate) fn open(file: OwnedFd) -> std::io::Result<Self> {
        Self::map(&File::from(file))
    }

    fn map(file: &File) -> std::io::Result<Self> {
        let map = MmapRaw::map_raw(file)?;
        if map.len() != BYTES {
            return Err(std::io::Error::other("it is no page of turns"));
        }
        Ok(Self(Arc::new(map)))
    }

    #[expect(clippy::cast_ptr_alignment, reason = "a mapping starts at a page")]
    fn word(&self, index: usize) -> &AtomicU64 {
        let words = self.0.as_mut_ptr().cast::<u64>();
        assert!(index < BYTES / size_of::<u64>());
        // SAFETY: the mapping has BYTES (checked in `map`), starts at a page, so words are aligned, and lives as long as
        // `self`; the file can't shrink (sealed in `create`; `a_worker_cannot_shrink_it` below); everyone who maps it,
        // in this process and the other, uses atomics only.
        unsafe { AtomicU64::from_ptr(words.add(index)) }
    }

    /// Polls `future`, recording each poll as a time slice of `id`.
    pub(crate) async fn during<F: Future>(&self, id: RunId, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _turn = self.begin(id);
            future.as_mut().poll(context)
        })
        .await
    }

    fn begin(&self, id: RunId) -> Begun<'_> {
        self.word(1).fetch_add(1, Ordering::Relaxed);
        self.word(0).store(id.wrapping_add(1), Ordering::Release);
        Begun(self)
    }

    /// Returns the time slice under way.
    pub(crate) fn current(&self) -> Option<Turn> {
        let holder = self.word(0).load(Ordering::Acquire).checked_sub(1)?;
        Some(Turn { holder, number: self.word(1).load(Ordering::Relaxed) })
    }
}

/// Ends a time slice when dropped, also by a panic.
struct Begun<'a>(&'a Turns);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.word(0).store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[tokio::test]
    async fn the_other_side_sees_whose_turn_it_is() {
        let (front, file) = Turns::create().expect("a page");
        let worker = Turns::open(file).expect("the same");
        assert_eq!(front.current(), None);
        let seen = worker.during(7, async { front.current() }).await.expect("a turn");
        let next = worker.during(7, async { front.current() }).await.expect("a turn");
        assert_eq!((seen.holder, next.holder), (7, 7));
        assert_ne!(seen, next, "each turn is another");
        assert_eq!(front.current(), None, "it has ended");
        let panics = || {
            let _turn = worker.begin(3);
            panic!("on purpose")
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(front.current(), None, "a panic ends it, too");
    }

    #[test]
    fn a_worker_cannot_shrink_it() {
        let (turns, file) = Turns::create().expect("a page");
        assert!(ftruncate(&file, 0).is_err() && ftruncate(&file, 1 << 20).is_err());
        assert_eq!(turns.current(), None);
    }

    #[test]
    fn another_file_is_refused() {
        let file = memfd_create("other", MemfdFlags::CLOEXEC).expect("a file");
        ftruncate(&file, 4096).expect("room");
        assert!(Turns::open(file).is_err());
    }
}
