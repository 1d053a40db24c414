//! Pages of a guest's memory that are its own: written since it was made from the image, or in an earlier life of its
//! slot. All other pages are the image's, shared by all guests.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::MmapMut;

/// Bytes of a page, here and in a checkpoint.
pub(crate) const PAGE: usize = 4096;
/// Number of pages looked at between two yields.
pub(crate) const PAGES_AT_ONCE: usize = 2048;

/// `struct pm_scan_arg` of `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_length: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// Kernel's `struct page_region`, of `PAGEMAP_SCAN`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong = 0xC060_6610;
const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
const IS_ZERO_PAGE: u64 = 1 << 5;

/// Page that nobody has written to.
const ZEROS: [u8; PAGE] = [0; PAGE];

/// Returns a page of a memory; where it ends before that, one of zeros, as it would have grown by.
pub(crate) fn page_of(memory: &[u8], page: usize) -> &[u8] {
    memory.get(page * PAGE..(page + 1) * PAGE).unwrap_or(&ZEROS)
}

/// Regions asked for at once.
const REGIONS: usize = 512;

/// Pages of a guest's memory that are mapped, as ranges of page numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// The guest's own.
    pub own: Vec<Range<usize>>,
    /// Pages of the image, shared by all guests. The kernel maps some around each that is read.
    pub shared: Vec<Range<usize>>,
}

/// Pages that the kernel is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagesAsked {
    /// The guest's own, which costs the kernel less.
    Own,
    /// All that are mapped.
    Mapped,
}

/// Returns which pages of the `bytes` bytes at `base` are the guest's own, with page numbers counted from there.
///
/// # Errors
/// Returns an error when the kernel does not tell: there is no `/proc`.
pub(crate) fn own_pages(base: *const u8, bytes: usize) -> io::Result<Vec<Range<usize>>> {
    let mapped = match scan(base, bytes, PagesAsked::Own) {
        // Before Linux 6.7.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => {
            read(pagemap()?, base as u64, bytes)
        }
        other => other,
    };
    Ok(mapped?.own)
}

/// Returns whether the kernel's pages are those that are counted here.
pub(crate) fn has_small_pages() -> bool {
    static SIZE: OnceLock<libc::c_long> = OnceLock::new();
    // SAFETY: the call reads a constant of the system.
    *SIZE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) == PAGE as libc::c_long
}

/// Has the kernel map nothing but small pages in this process. Where huge ones are allowed everywhere
/// (`transparent_hugepage/enabled` is `always`), a thread of the kernel puts them in the place of small ones, which makes all
/// that they span a memory's own, and nobody has a fault for it.
pub fn map_small_pages_only() {
    // SAFETY: this prctl takes numbers, and changes no byte of any memory.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } == 0 {
        ARE_ALL_SMALL.store(true, Ordering::Relaxed);
    }
}

/// True when the kernel maps small pages only.
static ARE_ALL_SMALL: AtomicBool = AtomicBool::new(false);

/// Returns the number of page faults that this process has had. While it stays the same, no page of a private mapping becomes
/// the mapping's own: the first write to a page is a fault, of whichever thread, in code or in the kernel on its behalf. None,
/// where the kernel does not count them, or may map huge pages ([`map_small_pages_only`]).
pub(crate) fn faults() -> Option<u64> {
    static ARE_COUNTED: OnceLock<bool> = OnceLock::new();
    let are_counted = ARE_COUNTED.get_or_init(|| {
        let before = counted_faults();
        let Ok(mut page) = MmapMut::map_anon(PAGE) else { return false };
        page[0] = 1;
        before < counted_faults()
    });
    if *are_counted && ARE_ALL_SMALL.load(Ordering::Relaxed) { counted_faults() } else { None }
}

fn counted_faults() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one `rusage` where there is room for one, and nothing else; zeros are one as well.
    let usage = unsafe { (libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) }?;
    u64::try_from(usage.ru_minflt + usage.ru_majflt).ok()
}

/// The kernel's list of this process's pages. It is opened once: a jailed worker can open nothing more.
///
/// # Errors
/// Returns an error when there is no `/proc`.
pub(crate) fn pagemap() -> io::Result<&'static File> {
    static PAGEMAP: OnceLock<File> = OnceLock::new();
    match PAGEMAP.get() {
        Some(file) => Ok(file),
        None => {
            let opened = File::open("/proc/self/pagemap")?;
            Ok(PAGEMAP.get_or_init(|| opened))
        }
    }
}

/// Returns which pages of the `bytes` bytes at `base` are mapped, with page numbers counted from there, where the kernel
/// names all at once.
///
/// # Errors
/// Returns an error when it does not: it is older than Linux 6.7, or there is no `/proc`.
pub(crate) fn scan(base: *const u8, bytes: usize, what: PagesAsked) -> io::Result<Mapped> {
    // Neither the image's nor the kernel's page of zeros: with these the kernel looks at the complement.
    let others = if what == PagesAsked::Own { IS_FILE | IS_ZERO_PAGE } else { 0 };
    let pagemap = pagemap()?;
    let (base, bytes) = (base as u64, bytes as u64);
    let mut found = Mapped::default();
    let mut regions = [Region::default(); REGIONS];
    let mut start = base;
    let end = base + bytes;
    while start < end {
        let mut asked = Scan {
            size: size_of::<Scan>() as u64,
            start,
            end,
            regions: regions.as_mut_ptr() as u64,
            regions_length: REGIONS as u64,
            inverted: others,
            all_of: others,
            any_of: IS_PRESENT | IS_SWAPPED,
            returned: IS_FILE | IS_ZERO_PAGE,
            ..Scan::default()
        };
        // SAFETY: `asked` has the layout that the kernel defines for this call, and outlives it; `regions` has room for
        // as many as it says. The kernel writes to these two only.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut asked) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for region in &regions[..count.min(REGIONS)] {
            let pages = page(region.start - base)..page(region.end - base);
            match region.categories {
                0 => add(&mut found.own, pages),
                categories if categories & IS_FILE != 0 => add(&mut found.shared, pages),
                _ => {}
            }
        }
        // It must come forward, whatever the kernel says.
        start = if count < REGIONS && asked.walk_end < end { end } else { asked.walk_end.max(start + PAGE as u64) };
    }
    Ok(found)
}

/// Makes the kernel map each of these pages by itself when it is read, and none of its neighbours: it maps pages around one
/// that is read no further than they have the same advice. So every second page has another one, from that before the first
/// to that behind the last. Without it more is mapped, and nothing else differs.
pub(crate) fn map_apart(memory: &mut [u8], Range { start, end }: Range<usize>) {
    for page in (start.saturating_sub(1)..=end).filter(|page| page % 2 == 1) {
        let Some(bytes) = memory.get_mut(page * PAGE..(page + 1) * PAGE) else { return };
        let Range { start, end } = bytes.as_mut_ptr_range();
        advise(start.addr()..end.addr(), libc::MADV_RANDOM);
    }
}

/// Undoes [`map_apart`] at these addresses, whatever is there now.
pub(crate) fn map_together(addresses: Range<usize>) {
    advise(addresses, libc::MADV_NORMAL);
}

fn advise(Range { start, end }: Range<usize>, how: libc::c_int) {
    // SAFETY: either advice says in which order memory will be read. It changes no byte and no right, wherever it is, and
    // fails where no memory is (`pages_are_mapped_one_by_one_where_that_is_wanted`).
    let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(start), end - start, how) };
}

/// Returns all that are mapped, from the list of pages that every kernel has.
fn read(pagemap: &File, base: u64, bytes: usize) -> io::Result<Mapped> {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const FILE: u64 = 1 << 61;
    let pages = bytes / PAGE;
    let mut found = Mapped::default();
    let mut entries = vec![0u8; 8 * pages.min(8192)];
    let mut first = 0;
    while first < pages {
        let count = (pages - first).min(8192);
        let entries = &mut entries[..8 * count];
        pagemap.read_exact_at(entries, (base / PAGE as u64 + first as u64) * 8)?;
        for (index, entry) in entries.chunks_exact(8).enumerate() {
            let entry = u64::from_le_bytes(std::array::from_fn(|byte| entry[byte]));
            if entry & (PRESENT | SWAPPED) != 0 {
                let kind = if entry & FILE == 0 { &mut found.own } else { &mut found.shared };
                add(kind, first + index..first + index + 1);
            }
        }
        first += count;
    }
    Ok(found)
}

fn page(offset: u64) -> usize {
    offset as usize / PAGE
}

fn add(found: &mut Vec<Range<usize>>, range: Range<usize>) {
    match found.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Maps a file of `pages` pages privately; returns it with the file.
    pub(crate) fn mapped(pages: usize) -> (File, *mut u8) {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(&vec![7; pages * PAGE], 0).expect("room for it");
        // SAFETY: a new mapping, wherever the kernel likes; it is leaked.
        let base = unsafe {
            let flags = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), pages * PAGE, flags, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED);
        (file, base.cast())
    }

    #[test]
    fn pages_that_were_written_are_found_and_those_that_were_read_are_not() {
        let (_file, base) = mapped(2000);
        let expected: Vec<Range<usize>> = (0..1500).step_by(2).map(|page| page..page + 1).collect();
        for range in &expected {
            // SAFETY: inside the mapping.
            unsafe { base.add(range.start * PAGE + 5).write_volatile(1) };
        }
        for page in 0..2000 {
            // SAFETY: inside the mapping.
            unsafe { base.add(page * PAGE).read_volatile() };
        }
        let between = (1..1499).step_by(2).map(|page| page..page + 1);
        let shared = between.chain(std::iter::once(1499..2000)).collect();
        assert_eq!(own_pages(base, 2000 * PAGE).expect("the kernel tells"), expected);
        let own = Mapped { own: expected, shared: Vec::new() };
        assert_eq!(scan(base, 2000 * PAGE, PagesAsked::Own).expect("the kernel tells"), own);
        let all = Mapped { shared, ..own };
        assert_eq!(scan(base, 2000 * PAGE, PagesAsked::Mapped).expect("the kernel tells"), all);
        let pagemap = File::open("/proc/self/pagemap").expect("there is /proc");
        assert_eq!(read(&pagemap, base as u64, 2000 * PAGE).expect("the kernel tells"), all);
    }

    #[test]
    fn pages_are_mapped_one_by_one_where_that_is_wanted() {
        let (_file, base) = mapped(64);
        // SAFETY: the mapping is that long, it is leaked, and nothing else knows of it.
        let memory = unsafe { std::slice::from_raw_parts_mut(base, 64 * PAGE) };
        let read = |memory: &mut [u8], page: usize| {
            std::hint::black_box(memory[page * PAGE]);
            let mapped = scan(memory.as_ptr(), memory.len(), PagesAsked::Mapped).expect("the kernel tells");
            mapped.shared.into_iter().flatten().collect::<Vec<_>>()
        };
        map_apart(memory, 2..32);
        map_apart(memory, 48..64);
        assert_eq!(read(memory, 3), [3]);
        assert_eq!(read(memory, 2), [2, 3], "the first one");
        assert_eq!(read(memory, 50), [2, 3, 50]);
        // Beyond its end there is none.
        map_apart(memory, 60..70);
        let Range { start, end } = memory.as_mut_ptr_range();
        map_together(start.addr()..end.addr());
        let together = read(memory, 20);
        assert!(together.contains(&20) && together.len() > 8, "{together:?}");
        assert!(memory.iter().all(|byte| *byte == 7), "bytes are as they were");
    }
}
