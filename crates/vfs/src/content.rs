//! The bytes of one file, in pages shared between copies until one of them is written.

use std::sync::Arc;

/// Bytes of one page: what a write to a shared file copies at most. Small enough that a byte changed in a forked file
/// of 64 MiB costs microseconds, large enough that such a file has only a thousand pages.
pub(super) const PAGE: usize = 64 * 1024;

/// A file's bytes. A clone shares every page; a page is copied when one side writes to it.
///
/// A page that was never written is absent and reads as zeros, as does the space between a page's end and the file's.
/// So what is held never exceeds the file's length by more than the growth room of its pages.
#[derive(Clone, Default)]
pub(super) struct Content {
    pages: Vec<Option<Arc<Vec<u8>>>>,
    length: u64,
}

impl Content {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The pages that were written, each with its number.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u32, &Arc<Vec<u8>>)> {
        (0..).zip(&self.pages).filter_map(|(number, page)| Some((number, page.as_ref()?)))
    }

    /// Content put together again; none if the pages are out of order, too long, or reach past `length`.
    pub(super) fn from_pages(length: u64, saved: impl ExactSizeIterator<Item = (u32, Arc<Vec<u8>>)>) -> Option<Self> {
        let mut pages = Vec::with_capacity(saved.len());
        for (number, page) in saved {
            let absent = (number as usize).checked_sub(pages.len())?;
            let end = u64::from(number) * PAGE as u64 + page.len() as u64;
            if page.len() > PAGE || end > length {
                return None;
            }
            pages.resize(pages.len() + absent, None);
            pages.push(Some(page));
        }
        Some(Self { pages, length })
    }

    /// Copies bytes from `offset` on into `out`; returns how many there were.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let wanted = self.length.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < wanted {
            let (index, start) = position(offset + done as u64);
            let take = (PAGE - start).min(wanted - done);
            let part = &mut out[done..done + take];
            let held = match self.pages.get(index) {
                Some(Some(page)) => page.get(start..).unwrap_or_default(),
                Some(None) | None => &[],
            };
            let held = &held[..held.len().min(take)];
            part[..held.len()].copy_from_slice(held);
            part[held.len()..].fill(0);
            done += take;
        }
        wanted
    }

    /// Puts `bytes` at `offset`, growing the file where it must. The caller has checked the quota.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (index, start) = position(offset + done as u64);
            let take = (PAGE - start).min(bytes.len() - done);
            if self.pages.len() <= index {
                self.pages.resize(index + 1, None);
            }
            write_page(&mut self.pages[index], start, &bytes[done..done + take]);
            done += take;
        }
        if !bytes.is_empty() {
            self.length = self.length.max(offset + bytes.len() as u64);
        }
    }

    /// Cuts the file or lengthens it with zeros. The caller has checked the quota.
    pub(super) fn resize(&mut self, length: u64) {
        if length < self.length {
            let (whole, rest) = position(length);
            if let Some(Some(page)) = self.pages.get_mut(whole)
                && page.len() > rest
            {
                match Arc::get_mut(page) {
                    Some(own) => {
                        own.truncate(rest);
                        own.shrink_to_fit();
                    }
                    None => *page = Arc::new(page[..rest].to_vec()),
                }
            }
            self.pages.truncate(if rest == 0 { whole } else { whole + 1 });
            self.pages.shrink_to_fit();
        }
        self.length = length;
    }
}

/// The page that holds `offset`, and where in it.
fn position(offset: u64) -> (usize, usize) {
    let page = PAGE as u64;
    ((offset / page) as usize, (offset % page) as usize)
}

fn write_page(slot: &mut Option<Arc<Vec<u8>>>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    let page = slot.get_or_insert_default();
    if start == 0 && end >= page.len() && Arc::get_mut(page).is_none() {
        *page = Arc::new(bytes.to_vec());
        return;
    }
    let page = Arc::make_mut(page);
    if page.capacity() < end {
        // Doubling keeps appends cheap; the page's full size is the most it ever needs.
        let room = end.max(page.capacity() * 2).min(PAGE);
        page.reserve_exact(room - page.len());
    }
    if page.len() < start {
        page.resize(start, 0);
    }
    let overlap = bytes.len().min(page.len() - start);
    page[start..start + overlap].copy_from_slice(&bytes[..overlap]);
    page.extend_from_slice(&bytes[overlap..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0xee; content.length() as usize];
        assert_eq!(content.read(0, &mut bytes), bytes.len());
        bytes
    }

    #[test]
    fn a_write_past_the_end_leaves_zeros_between_and_holds_only_what_was_written() {
        let mut content = Content::default();
        content.write(5 * PAGE as u64 - 2, b"abcd");
        assert_eq!(content.length(), 5 * PAGE as u64 + 2);
        let bytes = all(&content);
        assert!(bytes[..5 * PAGE - 2].iter().all(|byte| *byte == 0));
        assert_eq!(&bytes[5 * PAGE - 2..], b"abcd");
        assert!(content.pages[..4].iter().all(Option::is_none));
    }

    #[test]
    fn a_cut_file_grows_again_with_zeros_not_with_its_old_bytes() {
        let mut content = Content::default();
        content.write(0, &vec![7; 2 * PAGE]);
        let mut shared = content.clone();
        for cut in [&mut shared, &mut content] {
            cut.resize(3);
            cut.resize(8);
            assert_eq!(all(cut), [7, 7, 7, 0, 0, 0, 0, 0]);
        }
    }

    #[test]
    fn a_cut_file_gives_its_memory_back() {
        let mut content = Content::default();
        content.write(0, &vec![7; 3 * PAGE]);
        content.resize(1);
        let held: usize = content.pages.iter().flatten().map(|page| page.capacity()).sum();
        assert!(held < 64 && content.pages.capacity() < 4, "{held}");
    }

    #[test]
    fn a_copy_keeps_its_bytes_when_the_original_is_written_or_cut() {
        let mut content = Content::default();
        content.write(0, &vec![1; PAGE + 10]);
        let copy = content.clone();
        content.write(5, &[2; 3]);
        content.write(0, &vec![3; PAGE]);
        content.resize(2);
        assert_eq!(all(&copy), vec![1; PAGE + 10]);
        assert_eq!(all(&content), [3, 3]);
    }

    #[test]
    fn a_write_to_a_shared_file_copies_one_page_only() {
        let mut content = Content::default();
        content.write(0, &vec![1; 4 * PAGE]);
        let copy = content.clone();
        content.write(PAGE as u64, b"x");
        let shared = content
            .pages
            .iter()
            .zip(&copy.pages)
            .filter(|(own, other)| match (own, other) {
                (Some(own), Some(other)) => Arc::ptr_eq(own, other),
                (None, _) | (_, None) => false,
            })
            .count();
        assert_eq!(shared, 3);
    }

    #[test]
    fn pages_never_hold_more_than_a_page() {
        let mut content = Content::default();
        for offset in 0..PAGE as u64 + 100 {
            content.write(offset, b"y");
        }
        assert!(content.pages.iter().flatten().all(|page| page.capacity() <= PAGE));
        assert_eq!(all(&content), vec![b'y'; PAGE + 100]);
    }
}
