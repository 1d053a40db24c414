//! Interrupting a guest that is to go on afterwards: it raises `KeyboardInterrupt` at its next check, as on Ctrl-C.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// Reason of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A client asked for the interrupt, or nobody waits for the call any more.
    Requested,
    /// The fuel of the call is used up.
    Fuel,
    /// The time of the call is used up.
    Wall,
}

/// A wish to interrupt, shared between who has it and who carries it out.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    /// 0, or one more than the index of the reason in `Reason`.
    reason: AtomicU8,
    changed: Notify,
}

impl Interrupt {
    /// Wishes it. The first reason stays.
    pub(crate) fn ask(&self, reason: Reason) {
        let code = match reason {
            Reason::Requested => 1,
            Reason::Fuel => 2,
            Reason::Wall => 3,
        };
        // All on one thread, or at rest: the order of other memory does not hang on it.
        let _ = self.reason.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// Returns the reason of a pending interrupt.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self.reason.load(Ordering::Relaxed) {
            1 => Some(Reason::Requested),
            2 => Some(Reason::Fuel),
            3 => Some(Reason::Wall),
            _ => None,
        }
    }

    /// Forgets the wish: another call begins.
    pub(crate) fn forget(&self) {
        self.reason.store(0, Ordering::Relaxed);
    }

    /// Waits until it is wished.
    pub(crate) async fn requested(&self) {
        loop {
            let changed = self.changed.notified();
            if self.reason().is_some() {
                return;
            }
            changed.await;
        }
    }
}

/// Memory in which the guest's interpreter looks for signals (`guest/interrupt.c`): address and bits of three words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalWords([(usize, u32); 3]);

impl SignalWords {
    /// Reads the list at `address`; none when it points outside the guest's memory.
    pub(crate) fn read(memory: &[u8], address: u32) -> Option<Self> {
        let start = address as usize;
        let list = memory.get(start..start.checked_add(24)?)?;
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| list[4 * index + byte]));
        let places = Self(std::array::from_fn(|index| (word(2 * index) as usize, word(2 * index + 1))));
        places.0.iter().all(|(at, _)| at.checked_add(4).is_some_and(|end| end <= memory.len())).then_some(places)
    }

    /// Takes the signal back, where the guest has ended its call before it looked: the next one has nothing to do with
    /// it.
    pub(crate) fn clear(&self, memory: &mut [u8]) {
        for (at, bits) in self.0 {
            let Some(word) = memory.get_mut(at..at + 4) else { return };
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]) & !bits;
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Trips the signal in `memory`, which is that of the guest at rest or in a call of the host's.
    pub(crate) fn trip(&self, memory: &mut [u8]) {
        for (at, bits) in self.0 {
            // A memory never shrinks, and `read` has checked the end.
            let Some(word) = memory.get_mut(at..at + 4) else { return };
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]) | bits;
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// A guest's memory, to be written to while its code is suspended and the store is borrowed by the suspended call.
pub(crate) struct Window {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: the pointer is used by whoever polls the guest's call, and by nobody else; see `Window::trip`.
unsafe impl Send for Window {}
// SAFETY: as above; sharing it allows no more than `trip` does.
unsafe impl Sync for Window {}

impl Window {
    /// Takes a memory of `bytes` bytes at `base`, that neither moves nor shrinks while this is used.
    pub(crate) fn new(base: *mut u8, bytes: usize) -> Self {
        Self { base, bytes }
    }

    /// Trips the signal.
    ///
    /// # Safety
    /// The guest whose memory this is must be alive and suspended: between two polls of the future that runs it, on the
    /// thread that polls it. The memory must not have moved (memories of the pool never do).
    pub(crate) unsafe fn trip(&self, places: &SignalWords) {
        // SAFETY: by the promise above nothing else reads or writes the memory now: guest code does not run, and host
        // functions hold no reference to it while they wait (`HostState::split` is called anew after each await).
        let memory = unsafe { std::slice::from_raw_parts_mut(self.base, self.bytes) };
        places.trip(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: [u32; 6]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).chain([0; 40]).collect()
    }

    #[test]
    fn places_outside_the_memory_are_refused() {
        assert!(SignalWords::read(&list([24, 1, 28, 1, 32, 2]), 0).is_some());
        for (words, address) in [([61, 1, 0, 1, 0, 1], 0), ([u32::MAX, 1, 0, 1, 0, 1], 0), ([24, 1, 28, 1, 32, 2], 41)]
        {
            assert!(SignalWords::read(&list(words), address).is_none());
        }
        assert!(SignalWords::read(&list([24, 1, 28, 1, 32, 2]), u32::MAX).is_none());
    }

    #[test]
    fn tripping_sets_bits_and_keeps_the_others() {
        let mut memory = list([24, 1, 28, 1, 32, 2]);
        memory[32] = 8;
        let places = SignalWords::read(&memory, 0).expect("inside");
        places.trip(&mut memory);
        assert_eq!((memory[24], memory[28], memory[32]), (1, 1, 10));
        places.clear(&mut memory);
        assert_eq!((memory[24], memory[28], memory[32]), (0, 0, 8));
    }

    #[test]
    fn the_first_reason_stays_until_it_is_forgotten() {
        let interrupt = Interrupt::default();
        interrupt.ask(Reason::Fuel);
        interrupt.ask(Reason::Requested);
        assert_eq!(interrupt.reason(), Some(Reason::Fuel));
        interrupt.forget();
        assert_eq!(interrupt.reason(), None);
    }
}
