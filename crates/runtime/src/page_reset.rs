//! Pages of a slot that stay in memory between runs.
//!
//! Between two runs in one slot the pages that were written to are put back to what the image has, by copying: wasmtime
//! asks the kernel for them (`PAGEMAP_SCAN`) and takes the first 32 regions that it names (`MAX_REGIONS` in its
//! `pagemap.rs`). What lies beyond is given back instead, and each page of it costs the next run a fault. Every run
//! writes to the same few dozen pages, here and there; where the gaps between them are small they are written to as
//! well, which leaves fewer regions, and some of the 32 for what programs write to. Where that leaves too many, the
//! smallest are given back after each run: some faults, where otherwise all that lies beyond the 32 would be.
//!
//! Programs that are graded, and their tests, write to more pages than those that are only run, so each of the two kinds
//! has pages of its own.
//!
//! A page that was written to once is one of those that are named ever after, for as long as it stays. What only some
//! runs write to is therefore given back at their end ([`Resident::give_back`]): else a slot ages, as the pages of all
//! programs that it ever had are copied at each reset, and take the places of those that every run needs.
//!
//! Pages that are only read age a slot, too: the kernel looks at each that is mapped whenever it is asked, and programs
//! map more and more of the image. Where they have become many more than a first program left, all are given back.

use std::ops::Range;

use super::pagemap::{self, Mapped};

/// Regions that stay, at most: the rest of the 32 is for what a program writes to.
const REGIONS: usize = 26;
/// Pages in gaps that are filled, at most: each is copied at each reset.
const FILLED: usize = 96;

/// The pages of a slot that stay in memory, as page numbers of the linear memory.
#[derive(Debug, Default)]
pub(super) struct Resident {
    /// Written to by every run, or filled; in order, apart from each other.
    kept: Vec<Range<usize>>,
    /// Pages in gaps, written to at the start of a run.
    pub predirtied_pages: Vec<usize>,
    /// Written to by every run, too, but alone: given back after each run.
    returned: Vec<Range<usize>>,
    /// Number of the image's pages that may be mapped before they are given back.
    max_shared: usize,
}

impl Resident {
    /// Computes the pages of a machine on which short runs leave these mapped.
    pub(crate) fn of(runs: &[Mapped]) -> Self {
        let written = joined(runs.iter().flat_map(|mapped| mapped.own.iter().cloned()).collect());
        let predirtied_pages = gaps(&written);
        let filled = predirtied_pages.iter().map(|page| *page..page + 1);
        let mut kept = joined(written.into_iter().chain(filled).collect());
        kept.sort_by_key(|range| std::cmp::Reverse(range.len()));
        let mut returned = kept.split_off(kept.len().min(REGIONS));
        for ranges in [&mut kept, &mut returned] {
            ranges.sort_by_key(|range| range.start);
        }
        let shared = runs.iter().map(|mapped| mapped.shared).max().unwrap_or_default();
        Self { kept, predirtied_pages, returned, max_shared: shared + shared / 2 }
    }

    /// Releases the pages that each run writes to, but that are too many regions to stay. The guest must not go on.
    pub(crate) fn give_back_known(&self, memory: &mut [u8]) {
        for range in &self.returned {
            release(memory, range.clone());
        }
    }

    /// Releases all other pages that a guest has written to, and those that it has read where they are many. Its memory
    /// is then the image's but for the resident pages: the guest must not go on.
    pub(crate) fn give_back(&self, memory: &mut [u8]) {
        let Ok(mapped) = pagemap::mapped_pages(memory.as_ptr(), memory.len()) else { return };
        let pages = memory.len() / pagemap::PAGE;
        let others = match mapped.shared > self.max_shared {
            true => self.others(std::slice::from_ref(&(0..pages)), pages),
            false => self.others(&mapped.own, pages),
        };
        for range in others {
            release(memory, range);
        }
    }

    /// Returns the stretches between resident pages in which some of `own` lie.
    fn others(&self, own: &[Range<usize>], pages: usize) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.kept.iter().map(|range| range.end));
        let ends = self.kept.iter().map(|range| range.start).chain(std::iter::once(pages));
        let mut own = own.iter().peekable();
        let mut others = Vec::new();
        for (start, end) in starts.zip(ends) {
            while own.next_if(|range| range.end <= start).is_some() {}
            if let Some(first) = own.peek()
                && first.start < end
            {
                others.push(start.max(first.start)..end);
            }
        }
        others
    }
}

/// Releases pages of a linear memory, of those that there are: they are the image's again.
pub(super) fn release(memory: &mut [u8], Range { start, end }: Range<usize>) {
    let Some(pages) = memory.get_mut(start * pagemap::PAGE..end * pagemap::PAGE) else { return };
    // SAFETY: the range lies in `memory`, which is borrowed mutably, and starts at a page, as linear memories do.
    // It is a private mapping of the image, and of zeros beyond it: afterwards it reads as those, which are
    // bytes as good as any (`what_is_given_back_is_the_images_again` in tests/it/leaks.rs).
    let _ = unsafe { libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_DONTNEED) };
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

/// The pages to write to as well, when a run writes to these: the smallest gaps first, until there are few enough
/// regions.
pub(super) fn gaps(written: &[Range<usize>]) -> Vec<usize> {
    let between = written.windows(2).map(|pair| pair[0].end..pair[1].start);
    let mut between: Vec<Range<usize>> = between.filter(|gap| !gap.is_empty()).collect();
    between.sort_by_key(ExactSizeIterator::len);
    let too_many = (between.len() + 1).saturating_sub(REGIONS);
    let mut pages = Vec::new();
    for gap in between.into_iter().take(too_many) {
        if pages.len() + gap.len() > FILLED {
            break;
        }
        pages.extend(gap);
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regions of one page, with gaps of these lengths between them.
    fn regions(gaps: impl IntoIterator<Item = usize>) -> Vec<Range<usize>> {
        let first = 0..1;
        let mut found = vec![first];
        for gap in gaps {
            let start = found[found.len() - 1].end + gap;
            found.push(start..start + 1);
        }
        found
    }

    #[test]
    fn all_but_what_every_run_writes_to_is_given_back() {
        let resident = Resident { kept: vec![2..4, 10..12], ..Resident::default() };
        assert!(resident.others(&[2..4, 11..12], 20).is_empty());
        assert_eq!(resident.others(&[0..3, 6..7, 8..9, 11..13], 20), [0..2, 6..10, 12..20]);
        assert_eq!(resident.others(&[3..5, 7..11], 20), [Range { start: 4, end: 10 }]);
        assert_eq!(Resident::default().others(&[5..6, 8..9], 20), [Range { start: 5, end: 20 }]);
        assert!(resident.others(&[], 20).is_empty());
    }

    #[test]
    fn the_smallest_of_too_many_regions_are_returned() {
        let mut written = regions([2 * FILLED; REGIONS + 2]);
        written[1].end += 2;
        written[REGIONS + 2].end += 1;
        let resident = Resident::of(&[Mapped { own: written.clone(), shared: 0 }]);
        assert!(resident.predirtied_pages.is_empty());
        assert_eq!(resident.kept.len(), REGIONS);
        assert_eq!(resident.returned.len(), 3);
        assert!(resident.kept.contains(&written[1]) && resident.kept.contains(&written[REGIONS + 2]));
        assert!(resident.kept.is_sorted_by_key(|range| range.start));
        let all = joined(resident.kept.iter().chain(&resident.returned).cloned().collect());
        assert_eq!(all, written);
    }

    #[test]
    fn what_several_runs_write_to_is_kept_as_one() {
        let of = |own: &[Range<usize>]| Mapped { own: own.to_vec(), shared: own.len() };
        let resident = Resident::of(&[of(&[2..4, 8..9]), of(&[3..6, 20..21])]);
        assert_eq!(resident.kept, [2..6, 8..9, 20..21]);
        assert_eq!(resident.max_shared, 3);
    }

    #[test]
    fn filled_gaps_are_kept() {
        let mut lengths = vec![1000; REGIONS - 1];
        lengths.insert(3, 2);
        let written = regions(lengths);
        let resident = Resident::of(&[Mapped { own: written.clone(), shared: 0 }]);
        assert_eq!(resident.kept.len(), REGIONS);
        let pages = |ranges: &[Range<usize>]| ranges.iter().map(ExactSizeIterator::len).sum::<usize>();
        assert_eq!(pages(&resident.kept), pages(&written) + resident.predirtied_pages.len());
    }

    #[test]
    fn pages_that_were_read_are_given_back_where_they_are_many() {
        const PAGES: usize = 2000;
        let (_file, base) = crate::pagemap::tests::mapped(PAGES);
        // SAFETY: the mapping is that long, it is leaked, and nothing else knows of it.
        let memory = unsafe { std::slice::from_raw_parts_mut(base, PAGES * pagemap::PAGE) };
        let shared =
            |memory: &[u8]| pagemap::mapped_pages(memory.as_ptr(), memory.len()).expect("the kernel tells").shared;
        memory[10 * pagemap::PAGE] = 1;
        let resident = Resident::of(&[Mapped { own: vec![Range { start: 10, end: 11 }], shared: PAGES }]);
        let read = |memory: &[u8]| memory.iter().step_by(pagemap::PAGE).map(|byte| u64::from(*byte)).sum::<u64>();
        let before = read(memory);
        resident.give_back(memory);
        assert_eq!(shared(memory), PAGES - 1, "there are not too many yet");
        Resident { max_shared: PAGES / 2, ..resident }.give_back(memory);
        assert_eq!(shared(memory), 0);
        assert_eq!(read(memory), before, "what every run writes to stays");
    }

    #[test]
    fn few_regions_are_left_as_they_are() {
        assert!(gaps(&[]).is_empty());
        assert!(gaps(&regions([1; REGIONS - 1])).is_empty());
    }

    #[test]
    fn the_smallest_gaps_are_filled() {
        let mut lengths = vec![1000; REGIONS - 1];
        lengths.insert(3, 2);
        lengths.insert(9, 1);
        let written = regions(lengths);
        let filled = gaps(&written);
        assert_eq!(filled.len(), 3);
        assert!(filled.iter().all(|page| !written.iter().any(|region| region.contains(page))));
    }

    #[test]
    fn no_more_is_filled_than_pays() {
        assert_eq!(gaps(&regions([60; 3 * REGIONS])).len(), 60);
        assert!(gaps(&regions([FILLED + 1; 3 * REGIONS])).is_empty());
    }
}
