//! Putting an interpreter's memory back to what its image has, after a run.
//!
//! The kernel names the pages that are the guest's own (`pagemap`). Those that every run of a kind writes to ("hot") are
//! copied from the image, and stay mapped: the next run takes no fault for them. All others are given back to the kernel,
//! and are the image's again: else each page that any run has ever written to would be copied at every later reset.
//!
//! Which pages are hot is learnt from the first runs of a kind, and then from those that many of the last runs have
//! written to.
//!
//! Pages that are only read cost something, too: the kernel looks at each that is mapped whenever it is asked. It maps 16
//! where one is read, and programs read more and more of the image. So one run now and then shows which pages are read,
//! in a memory whose pages the kernel maps one by one. Where many others are mapped, these are given back.

use std::collections::HashMap;
use std::ops::Range;

use super::pagemap::{self, Mapped, PAGE, PagesAsked};

/// Number of runs after which pages that half of them have written to become hot.
const LEARNING_RUNS: u32 = 16;
/// Number of pages of a run that are looked at for that: what writes to more is no short run.
const MAX_LEARNT_FROM: usize = 256;
/// Number of pages that may become hot after the first runs.
const MAX_LEARNT: usize = 512;
/// Number of runs after which those are forgotten, and pages that are read are looked at again: other programs come.
const FORGETTING_RUNS: u32 = 4096;
/// Number of stretches that are given back one by one; of more, those between two hot pages are given back as one.
const MAX_STRETCHES: usize = 64;

/// Number of resets before the first run that shows which pages are read: hot ones are known then. Else the kernel maps
/// others around those.
const OBSERVED_RUN: u32 = 2 * LEARNING_RUNS;
/// Number of runs after which that is tried again, where a run has shown nothing.
const OBSERVING_AGAIN: u32 = 256;
/// Number of resets at every one of which pages that were only read are counted.
const COUNTING_RUNS: u32 = LEARNING_RUNS;
/// Number of pages that may be mapped without being the guest's own or among those that runs read.
const MAX_OTHERS: usize = 512;
/// Number of pages that may be mapped one by one, which takes a call of the kernel for every second one.
const MAX_OBSERVED: usize = 4096;
/// Number of pages of a run that are taken for those that runs read: what reads more is no short run.
const MAX_READ: usize = 2048;

/// The hot pages of one kind of run, as page numbers of the linear memory.
#[derive(Debug, Default)]
pub(super) struct HotPages {
    /// Pages that the first runs have written to; in order, apart from each other.
    first: Vec<Range<usize>>,
    /// Hot pages: the first ones, and what was learnt since; likewise.
    hot: Vec<Range<usize>>,
    learnt: usize,
    /// Number of the last runs that have written to each page that is not hot.
    written: HashMap<usize, u32>,
    /// Number of resets.
    runs: u32,
    /// Pages that a run has read; in order, apart from each other.
    read: Vec<Range<usize>>,
    /// True when these are known of a run among the last [`FORGETTING_RUNS`].
    is_read_known: bool,
    /// Addresses of the memory in which the next run shows which pages are read.
    observed: Option<Range<usize>>,
    /// True when no run shows that: those of this kind may be long.
    is_unobserved: bool,
}

impl HotPages {
    /// Computes the hot pages of a kind of which the first runs have written to these.
    pub(crate) fn of(written: Vec<Range<usize>>) -> Self {
        let first = joined(written);
        Self { hot: first.clone(), first, ..Self::default() }
    }

    /// Lets no run of the kind show which pages are read, and keeps all that are.
    pub(crate) fn unobserved(self) -> Self {
        Self { is_unobserved: true, ..self }
    }

    /// Returns which pages the next reset must be told, if it is that of the memory at `base`.
    pub(crate) fn asks_for(&self, base: *const u8) -> PagesAsked {
        let counts = !self.is_unobserved && self.runs.is_multiple_of(COUNTING_RUNS);
        let is_observed = self.observed.as_ref().is_some_and(|observed| observed.start == base.addr());
        if counts || is_observed { PagesAsked::Mapped } else { PagesAsked::Own }
    }

    /// Makes `memory` equal to `image`, where `mapped` are all pages in which they may differ, and those that
    /// [`Self::asks_for`] asks for. Both have the same length. Returns the pages that are still the memory's own, and None
    /// where the kernel has not taken pages back.
    pub(crate) fn reset(&mut self, memory: &mut [u8], image: &[u8], mapped: &Mapped) -> Option<Vec<Range<usize>>> {
        let all = [Range { start: 0, end: memory.len() / PAGE }];
        self.end_observation(memory, mapped);
        let begins = !self.is_unobserved && !self.is_read_known && self.runs % OBSERVING_AGAIN == OBSERVED_RUN;
        let cold = without(&mapped.own, &self.hot);
        self.learn(&cold);
        let given_back = if begins {
            without(&all, &self.hot)
        } else if let Some(kept) = self.kept_of_many(&mapped.shared) {
            without(&all, &without(&kept, &cold))
        } else if cold.len() > MAX_STRETCHES {
            stretches(&cold, &self.hot, memory.len() / PAGE)
        } else {
            cold
        };
        let are_given_back = given_back.iter().all(|range| release(memory, range.clone()));
        let kept = without(&mapped.own, &given_back);
        for range in &kept {
            let bytes = range.start * PAGE..range.end * PAGE;
            memory[bytes.clone()].copy_from_slice(&image[bytes]);
        }
        if begins {
            self.begin_observation(memory, mapped);
        }
        are_given_back.then_some(kept)
    }

    /// Returns the pages that stay mapped, where many others are.
    fn kept_of_many(&self, shared: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
        if count(shared) <= MAX_OTHERS {
            return None;
        }
        let kept = joined(self.hot.iter().chain(&self.read).cloned().collect());
        (count(&without(shared, &kept)) > MAX_OTHERS).then_some(kept)
    }

    /// Notes that the memory at `base` will have no further reset.
    pub(crate) fn forget(&mut self, base: *const u8) {
        if let Some(observed) = self.observed.take_if(|observed| observed.start == base.addr()) {
            pagemap::map_together(observed);
        }
    }

    /// Lets the next run in a memory show which pages are read: but for hot ones, those that the run before it has mapped are
    /// not mapped any more, and will be one by one.
    fn begin_observation(&mut self, memory: &mut [u8], mapped: &Mapped) {
        // What was observed before has been dropped within a run, which leaves the kernel with a mapping for every page.
        if let Some(dropped) = self.observed.take() {
            pagemap::map_together(dropped);
        }
        let pages = joined(mapped.own.iter().chain(&mapped.shared).cloned().collect());
        if count(&pages) <= MAX_OBSERVED {
            for pages in pages {
                pagemap::map_apart(memory, pages);
            }
            self.observed = Some(addresses(memory));
        }
    }

    /// Takes the pages that the kernel has mapped for those that runs read, if it has mapped them one by one.
    fn end_observation(&mut self, memory: &mut [u8], mapped: &Mapped) {
        if let Some(observed) = self.observed.take_if(|observed| *observed == addresses(memory)) {
            pagemap::map_together(observed);
            if count(&mapped.shared) <= MAX_READ {
                self.read.clone_from(&mapped.shared);
                self.is_read_known = true;
            }
        }
    }

    /// Notes the pages that a run has written to beside the hot ones.
    fn learn(&mut self, cold: &[Range<usize>]) {
        if count(cold) <= MAX_LEARNT_FROM {
            for page in cold.iter().cloned().flatten() {
                *self.written.entry(page).or_default() += 1;
            }
        }
        self.runs += 1;
        if self.runs.is_multiple_of(FORGETTING_RUNS) {
            self.hot.clone_from(&self.first);
            self.learnt = 0;
            self.is_read_known = false;
        }
        if self.runs.is_multiple_of(LEARNING_RUNS) {
            let often = self.written.drain().filter(|(_, runs)| 2 * runs >= LEARNING_RUNS);
            let often: Vec<_> = often.map(|(page, _)| page..page + 1).take(MAX_LEARNT - self.learnt).collect();
            if !often.is_empty() {
                self.learnt += often.len();
                self.hot = joined(self.hot.drain(..).chain(often).collect());
            }
        }
    }
}

/// Pages of an interpreter's memory that a reset has left to be its own. They are still all, and its stack is as small as it
/// was, if this process has had no page fault since the interpreter's run began: the kernel need not be asked for them, which
/// would cost it more than all else of a reset.
#[derive(Debug)]
pub(crate) struct KeptPages {
    pages: Vec<Range<usize>>,
    /// Page faults of this process when the run began. None: it has not, or the kernel does not count them.
    faults: Option<u64>,
}

impl KeptPages {
    /// Makes those of an interpreter that waits.
    pub(crate) fn of(pages: Vec<Range<usize>>) -> Self {
        Self { pages, faults: None }
    }

    /// Notes that the interpreter's run begins.
    pub(crate) fn begun(self) -> Self {
        Self { faults: pagemap::faults(), ..self }
    }

    /// Returns the pages, whether or not others have come.
    pub(crate) fn into_pages(self) -> Vec<Range<usize>> {
        self.pages
    }

    /// Returns the pages that are the interpreter's own, if they must still be these.
    pub(crate) fn still_all(self) -> Option<Vec<Range<usize>>> {
        (self.faults.is_some() && self.faults == pagemap::faults()).then_some(self.pages)
    }
}

/// Releases pages of a linear memory: they are the image's again. Returns false where the kernel has not taken them back,
/// or there are no such pages.
pub(super) fn release(memory: &mut [u8], Range { start, end }: Range<usize>) -> bool {
    let Some(pages) = memory.get_mut(start * PAGE..end * PAGE) else { return false };
    // SAFETY: the range lies in `memory`, which is borrowed mutably, and starts at a page, as linear memories do.
    // It is a private mapping of the image, and of zeros beyond it: afterwards it reads as those, which are
    // bytes as good as any (`what_is_given_back_is_the_images_again` in tests/it/leaks.rs).
    let code = unsafe { libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_DONTNEED) };
    code == 0
}

fn addresses(memory: &mut [u8]) -> Range<usize> {
    let Range { start, end } = memory.as_mut_ptr_range();
    start.addr()..end.addr()
}

fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// Returns the ranges in order, those as one that touch or overlap.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
    ranges
}

/// Returns what of `ranges` is not in `others`. Both are in order, and their ranges apart from each other.
pub(super) fn without(ranges: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut rest = Vec::new();
    let mut others = others.iter().peekable();
    for range in ranges {
        let mut start = range.start;
        while let Some(other) = others.peek().filter(|other| other.start < range.end) {
            if start < other.start {
                rest.push(start..other.start);
            }
            start = start.max(other.end);
            if other.end > range.end {
                break;
            }
            others.next();
        }
        if start < range.end {
            rest.push(start..range.end);
        }
    }
    rest
}

/// Returns the stretches between hot pages in which some of `cold` lie, each from the first of these.
fn stretches(cold: &[Range<usize>], hot: &[Range<usize>], pages: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(hot.iter().map(|range| range.end));
    let ends = hot.iter().map(|range| range.start).chain(std::iter::once(pages));
    let mut cold = cold.iter().peekable();
    let mut found = Vec::new();
    for (start, end) in starts.zip(ends) {
        while cold.next_if(|range| range.end <= start).is_some() {}
        if let Some(first) = cold.peek()
            && first.start < end
        {
            found.push(start.max(first.start)..end);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pagemap;

    const PAGES: usize = 2000;

    fn ranges(all: &[(usize, usize)]) -> Vec<Range<usize>> {
        all.iter().map(|&(start, end)| start..end).collect()
    }

    fn hot(all: &[(usize, usize)]) -> HotPages {
        HotPages { runs: 1, read: ranges(&[(0, PAGES)]), ..HotPages::of(ranges(all)) }
    }

    /// A memory whose image has a 7 in each byte, and the image.
    fn memory() -> (&'static mut [u8], Vec<u8>) {
        let (_file, base) = pagemap::tests::mapped(PAGES);
        // SAFETY: the mapping is that long, it is leaked, and nothing else knows of it.
        let memory = unsafe { std::slice::from_raw_parts_mut(base, PAGES * PAGE) };
        (memory, vec![7; PAGES * PAGE])
    }

    fn mapped(memory: &[u8]) -> Mapped {
        pagemap::scan(memory.as_ptr(), memory.len(), PagesAsked::Mapped).expect("the kernel tells")
    }

    fn write(memory: &mut [u8], pages: impl IntoIterator<Item = usize>) {
        for page in pages {
            memory[page * PAGE + 9] = 1;
        }
    }

    #[test]
    fn what_is_left_of_ranges_is_in_order() {
        let left = |from: &[(usize, usize)], other: &[(usize, usize)]| without(&ranges(from), &ranges(other));
        assert_eq!(left(&[(0, 10)], &[]), ranges(&[(0, 10)]));
        assert_eq!(
            left(&[(0, 10), (20, 30)], &[(2, 4), (8, 22), (25, 26)]),
            ranges(&[(0, 2), (4, 8), (22, 25), (26, 30)])
        );
        assert!(left(&[(0, 3), (5, 6), (8, 9)], &[(0, 9)]).is_empty());
        assert_eq!(left(&[(5, 6), (8, 9)], &[(0, 1), (2, 3), (6, 7), (9, 12)]), ranges(&[(5, 6), (8, 9)]));
        assert!(left(&[], &[(1, 2)]).is_empty());
    }

    #[test]
    fn stretches_lie_between_hot_pages() {
        let found = |cold: &[(usize, usize)]| stretches(&ranges(cold), &ranges(&[(2, 4), (10, 12)]), 20);
        assert!(found(&[]).is_empty());
        assert_eq!(found(&[(0, 2), (6, 7), (8, 9), (12, 13)]), ranges(&[(0, 2), (6, 10), (12, 20)]));
        assert_eq!(found(&[(4, 5), (7, 8)]), ranges(&[(4, 10)]));
    }

    #[test]
    fn a_memory_is_the_images_again() {
        let (memory, image) = memory();
        let mut pages = hot(&[(10, 12), (40, 41)]);
        for round in 0..3 {
            write(memory, [0, 10, 11, 13, 40, 41, 42, 1999]);
            // More stretches than are given back one by one.
            write(memory, (100..100 + round * 3 * MAX_STRETCHES).step_by(2));
            let before = mapped(memory);
            let kept = pages.reset(memory, &image, &before).expect("the kernel takes them back");
            assert!(*memory == *image, "round {round}");
            assert_eq!(kept, ranges(&[(10, 12), (40, 41)]), "hot pages stay, others do not");
            assert_eq!(mapped(memory).own, kept);
        }
    }

    #[test]
    fn pages_that_the_kernel_does_not_take_back_are_told() {
        let (memory, image) = memory();
        assert!(release(memory, 3..5));
        assert!(!release(memory, PAGES - 1..PAGES + 1));
        // Not at the start of a page, as on a kernel whose pages are larger.
        let (_, within) = memory.split_at_mut(PAGE / 2);
        assert!(!release(within, 0..1));
        let all = Mapped { own: ranges(&[(7, 8)]), shared: Vec::new() };
        let within = &mut within[..(PAGES - 1) * PAGE];
        assert!(HotPages::default().reset(within, &image[..(PAGES - 1) * PAGE], &all).is_none());
    }

    #[test]
    fn pages_that_many_runs_write_to_become_hot_and_are_forgotten() {
        let (memory, image) = memory();
        let mut pages = hot(&[(10, 11)]);
        let mut run = |memory: &mut [u8], written: &[usize]| {
            write(memory, written.iter().copied());
            let before = mapped(memory);
            assert!(pages.reset(memory, &image, &before).is_some());
            mapped(memory).own
        };
        for number in 0..LEARNING_RUNS as usize {
            run(memory, if number % 2 == 0 { &[10, 50, 60] } else { &[10, 50] });
        }
        assert_eq!(run(memory, &[10, 50, 60, 70]), ranges(&[(10, 11), (50, 51), (60, 61)]));
        for _ in LEARNING_RUNS + 1..FORGETTING_RUNS {
            run(memory, &[]);
        }
        assert_eq!(run(memory, &[10, 50, 60]), ranges(&[(10, 11)]));
    }

    #[test]
    fn no_more_become_hot_than_are_worth_it() {
        let mut pages = HotPages::default();
        for first in (0..100).map(|part| part * 1000) {
            for _ in 0..LEARNING_RUNS {
                pages.learn(&ranges(&[(first, first + 100)]));
            }
        }
        assert_eq!(pages.hot.iter().map(ExactSizeIterator::len).sum::<usize>(), MAX_LEARNT);
        let mut pages = HotPages::default();
        for _ in 0..2 * LEARNING_RUNS {
            pages.learn(&ranges(&[(0, MAX_LEARNT_FROM + 1)]));
        }
        assert!(pages.hot.is_empty(), "what writes to so many pages is no short run");
    }

    #[test]
    fn pages_that_not_every_run_reads_are_given_back_where_they_are_many() {
        let (memory, image) = memory();
        // Where one is written to, the kernel maps none of its neighbours as a huge page.
        let first = ranges(&[(10, 11), (600, 601)]);
        write(memory, [10, 600]);
        let read = |memory: &[u8]| memory.iter().step_by(PAGE).map(|byte| u64::from(*byte)).sum::<u64>();
        let before = read(memory);
        let mut pages = HotPages { runs: 1, ..HotPages::of(first.clone()) };
        pages.read = ranges(&[(MAX_OTHERS + 1, PAGES)]);
        let now = mapped(memory);
        assert!(pages.reset(memory, &image, &now).is_some());
        assert_eq!(mapped(memory), now, "there are not too many yet");
        pages.read = ranges(&[(MAX_OTHERS + 2, 600), (700, PAGES)]);
        write(memory, [10, 20, 600, 800]);
        let now = mapped(memory);
        assert!(pages.reset(memory, &image, &now).is_some());
        let shared = ranges(&[(MAX_OTHERS + 2, 600), (700, 800), (801, PAGES)]);
        assert_eq!(mapped(memory), Mapped { own: first, shared });
        assert_eq!(read(memory), before);
    }

    #[test]
    fn pages_that_are_only_read_are_counted_now_and_then() {
        let mut pages = HotPages::default();
        let asked = |pages: &mut HotPages| {
            pages.learn(&[]);
            pages.asks_for(std::ptr::null())
        };
        let count = (0..3 * COUNTING_RUNS).filter(|_| asked(&mut pages) == PagesAsked::Mapped).count();
        assert_eq!(count, 3);
    }

    #[test]
    fn a_memory_that_is_observed_is_the_images_again() {
        let (memory, image) = memory();
        let mut pages = HotPages::of(ranges(&[(10, 12), (40, 41)]));
        for run in 0..OBSERVED_RUN + OBSERVING_AGAIN + 3 {
            write(memory, (0..PAGES).filter(|page| (page * (run as usize + 7)).is_multiple_of(43)));
            let now = pagemap::scan(memory.as_ptr(), memory.len(), pages.asks_for(memory.as_ptr()));
            assert!(pages.reset(memory, &image, &now.expect("the kernel tells")).is_some());
            assert_eq!(pages.observed.is_some(), run == OBSERVED_RUN, "run {run}");
            assert!(*memory == *image, "run {run}");
        }
        assert!(pages.is_read_known);
    }

    #[test]
    fn kept_pages_are_all_only_while_no_other_was_written_to() {
        pagemap::map_small_pages_only();
        let (memory, _) = memory();
        write(memory, [10, 40]);
        let own = mapped(memory).own;
        let begun = || KeptPages::of(own.clone()).begun();
        // Other tests have faults, too, but not all the time.
        let is_quiet = (0..100_000).any(|_| {
            let kept = begun();
            write(memory, [10, 40]);
            kept.still_all().is_some_and(|pages| pages == own)
        });
        assert!(is_quiet);
        for page in [11, 41, 900] {
            let kept = begun();
            write(memory, [page]);
            assert_eq!(kept.still_all(), None);
        }
        // Read for the first time, it is a page that must be looked for, too.
        let kept = begun();
        std::hint::black_box(memory[1500 * PAGE]);
        assert_eq!(kept.still_all(), None);
        assert_eq!(KeptPages::of(own).still_all(), None, "it has not begun");
    }

    #[test]
    fn a_run_now_and_then_shows_which_pages_are_read() {
        let (memory, image) = memory();
        let (other, _) = self::memory();
        let mut pages = HotPages::of(ranges(&[(10, 11)]));
        let read = |memory: &mut [u8]| {
            write(memory, [10, 60]);
            for page in [20, 21, 64, 90] {
                std::hint::black_box(memory[page * PAGE]);
            }
        };
        let reset = |pages: &mut HotPages, memory: &mut [u8]| {
            let asked = pages.asks_for(memory.as_ptr());
            let now = pagemap::scan(memory.as_ptr(), memory.len(), asked).expect("the kernel tells");
            assert!(pages.reset(memory, &image, &now).is_some());
            asked
        };
        while pages.runs < OBSERVED_RUN {
            reset(&mut pages, memory);
        }
        release(memory, 0..PAGES);
        read(memory);
        assert!(count(&mapped(memory).shared) > 8, "the kernel maps neighbours");
        assert_eq!(reset(&mut pages, memory), PagesAsked::Mapped);
        assert_eq!(mapped(memory), Mapped { own: ranges(&[(10, 11)]), shared: Vec::new() });
        read(other);
        assert_eq!(reset(&mut pages, other), PagesAsked::Own, "it is not observed");
        read(memory);
        assert_eq!(reset(&mut pages, memory), PagesAsked::Mapped);
        assert!(pages.is_read_known);
        assert_eq!(pages.read, ranges(&[(20, 22), (64, 65), (90, 91)]));
        assert_eq!(reset(&mut pages, memory), PagesAsked::Own);
        release(memory, 0..PAGES);
        read(memory);
        assert!(count(&mapped(memory).shared) > 8, "it maps neighbours again");

        // It is done again when other programs may have come.
        while pages.runs <= FORGETTING_RUNS + OBSERVED_RUN {
            reset(&mut pages, memory);
        }
        assert_eq!(pages.observed, Some(addresses(memory)));
        // One that is dropped within a run shows nothing, and another one does later.
        while pages.runs <= FORGETTING_RUNS + OBSERVED_RUN + OBSERVING_AGAIN {
            reset(&mut pages, other);
        }
        assert_eq!(pages.observed, Some(addresses(other)));
        let maps_neighbours = |memory: &mut [u8]| {
            release(memory, 0..PAGES);
            read(memory);
            count(&mapped(memory).shared) > 8
        };
        assert!(maps_neighbours(memory));
        // One that is dropped after it is forgotten at once.
        assert!(!maps_neighbours(other));
        pages.forget(other.as_ptr());
        assert_eq!(pages.observed, None);
        assert!(maps_neighbours(other));
    }
}
