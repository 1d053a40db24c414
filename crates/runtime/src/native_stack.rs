//! Stacks on which guests' code runs. wasmtime keeps one with each store, and has no call for what it holds: whoever runs
//! on it gives back what lies below.

use futures_util::FutureExt;
use wasmtime::{Func, Store};

use super::engine::WASM_STACK;
use super::pagemap::{self, PAGE};
use super::state::{HostState, StackRelease};

/// Number of pages of a stack that may stay in memory between two runs, or two calls that follow each other.
pub(crate) const KEPT_PAGES: usize = 24;

/// Distance within which two addresses are taken for ones of the same stack, if no more than a few calls lie between them.
const SAME_STACK: usize = 64 << 10;

/// Gives back what the stack of a guest holds that runs no code now, but for `kept_pages` pages at its upper end, of which
/// there must be one. Returns whether the kernel has taken it.
pub(crate) fn release(store: &mut Store<HostState>, kept_pages: usize) -> bool {
    // Of larger pages the kernel would take the one with the frames of who asks.
    if !pagemap::has_small_pages() {
        return false;
    }
    let release = match &store.data().release_stack {
        Some(release) => release.clone(),
        None => {
            let function = Func::wrap(&mut *store, |callers: u64, kept: u32| {
                u32::from(release_below(callers as usize, kept as usize))
            });
            let Ok(release) = function.typed(&mut *store) else { return false };
            store.data_mut().release_stack = Some(StackRelease::clone(&release));
            release
        }
    };
    let arguments = (address() as u64, kept_pages.max(1) as u32);
    release.call_async(store, arguments).now_or_never().is_some_and(|released| matches!(released, Ok(1)))
}

/// Gives back the stack that the caller runs on, from `kept_pages` pages below. `callers` is an address of the stack that
/// its caller runs on, which must be another one: else this is none of wasmtime's, and may be shorter.
fn release_below(callers: usize, kept_pages: usize) -> bool {
    let here = address();
    if here.abs_diff(callers) < SAME_STACK {
        return false;
    }
    // wasmtime's stacks are larger by what host functions may need, so that all of this is the stack.
    let (Some(start), Some(end)) = (here.checked_sub(WASM_STACK), here.checked_sub(kept_pages * PAGE)) else {
        return false;
    };
    let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
    // SAFETY: these are pages of the kernel, of the stack on which this very code runs. They lie below its frame by one, so that
    // no frame is in them, nor will be of what is called here: nothing reads what is there now. They stay mapped
    // (`tests::a_stack_is_given_back_below_who_asks`).
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), end - start, libc::MADV_DONTNEED) == 0 }
}

/// Returns an address on the stack that the caller runs on.
#[inline(never)]
fn address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::{self, PoolSize};
    use crate::packages;
    use crate::pagemap::{self, PagesAsked};
    use proofbox_vfs::{Credentials, Descriptors, FilesQuota, SharedTree, User};

    /// Bytes of the stack that the caller runs on which are written to here.
    const WRITTEN: usize = 512 << 10;

    /// Writes to the stack that it runs on, and returns an address of its upper end.
    #[inline(never)]
    fn write_to_stack() -> u64 {
        let bytes = [7_u8; WRITTEN];
        std::hint::black_box(&bytes).as_ptr_range().end.addr() as u64
    }

    fn own_pages(end: usize) -> usize {
        let start = (end - 2 * WRITTEN).next_multiple_of(PAGE);
        let mapped = pagemap::scan(std::ptr::without_provenance(start), 2 * WRITTEN, PagesAsked::Own);
        mapped.expect("the kernel tells").own.iter().map(ExactSizeIterator::len).sum()
    }

    #[test]
    fn a_stack_is_given_back_below_who_asks() {
        let engine = engine::pooled(PoolSize { slots: 1, memory_bytes: 1 << 20 }).expect("there is room");
        let no_files = SharedTree::new(packages::empty().tree(FilesQuota { bytes: 0, count: 0 }, 0));
        let descriptors = Descriptors::new(&no_files, Credentials::of(User::User));
        let mut store = Store::new(&engine, HostState::for_session(1 << 20, descriptors, Clock::real()));
        let write = Func::wrap(&mut store, write_to_stack).typed::<(), u64>(&store).expect("it is of that type");
        let call = |store: &mut Store<HostState>| {
            let end = write.call_async(store, ()).now_or_never().expect("it does not wait");
            end.expect("it returns") as usize
        };
        let end = call(&mut store);
        let written = WRITTEN / PAGE;
        assert!(own_pages(end) >= written, "{} pages", own_pages(end));
        assert!(release(&mut store, KEPT_PAGES));
        assert!((KEPT_PAGES - 2..KEPT_PAGES + 4).contains(&own_pages(end)), "{} pages", own_pages(end));
        assert!(release(&mut store, 1));
        assert!((1..4).contains(&own_pages(end)), "{} pages", own_pages(end));
        assert_eq!(call(&mut store), end, "it is the stack of the next call");
    }

    #[test]
    fn a_stack_that_is_not_wasmtimes_stays() {
        assert!(!release_below(address(), 1));
    }
}
