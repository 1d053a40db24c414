//! Which pages stay in memory between runs.
//!
//! Between two runs in one slot the pages that were written to are put back to what the image has, by copying: wasmtime asks
//! the kernel for them (`PAGEMAP_SCAN`) and takes the first 32 regions that it names (`MAX_REGIONS` in its `pagemap.rs`).
//! What lies beyond is given back instead, and each page of it costs the next run a fault. Every run writes to the same few
//! dozen pages, here and there; where the gaps between them are small they are written to as well, which leaves fewer
//! regions, and some of the 32 for what programs write to.

use std::ops::Range;

/// Regions that all runs may have in common.
const REGIONS: usize = 16;
/// Pages in gaps that are filled, at most: each is copied at each reset.
const FILLED: usize = 96;

/// The pages to write to as well, when a run writes to these: the smallest gaps first, until there are few enough regions.
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
