//! No new privileges, no dumps, no capabilities.

use std::ffi::CStr;

use caps::{CapSet, Capability, CapsHashSet};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::LayerError;

/// Capabilities that stay, if the process had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetainedCapabilities {
    /// No capability at all.
    None,
    /// Capabilities for files of other users: root may have been given a directory of somebody else's.
    Files,
}

/// Closes all descriptors but the three standard ones: whoever started the service may have left some open.
pub(super) fn close_inherited() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: it is the first that this program does, so that nothing in it has opened any of them. Before Linux 5.9
    // they stay open, which is no worse than it was.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
}

/// Keeps the kernel from sharing this process's equal pages with others (KSM, where the service manager has turned it on): a
/// guest could tell by the time of a write what another one has, and a page of zeros that was written to looks like one that
/// was not (`runtime::pagemap`).
pub(super) fn share_no_equal_pages() {
    // SAFETY: this prctl takes numbers, and touches no memory. A kernel that does not know it (before 6.4, or without KSM)
    // shares nothing that is not asked for.
    unsafe { libc::prctl(libc::PR_SET_MEMORY_MERGE, 0, 0, 0, 0) };
}

/// Names the process, for those who list processes.
pub(super) fn set_name(name: &CStr) {
    // SAFETY: the kernel reads the name, which ends in a zero and outlives the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// execve grants nothing any more: set-user-ID bits and file capabilities are ignored.
pub(super) fn no_new() -> Result<Option<String>, LayerError> {
    // SAFETY: this prctl takes numbers, and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(None),
        _ => Err(LayerError::system("prctl")(std::io::Error::last_os_error())),
    }
}

/// Forbids core dumps; `/proc/<pid>/mem` and ptrace are closed to other processes of the same user.
pub(super) fn not_dumpable() -> Result<Option<String>, LayerError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map(|()| None).map_err(LayerError::system("prctl"))
}

/// Drops capabilities from all sets of this thread, and of those that it will start.
pub(super) fn drop_capabilities(kept: RetainedCapabilities) -> Result<Option<String>, LayerError> {
    let failed = |error: caps::errors::CapsError| LayerError::system("capset")(error);
    let had = caps::read(None, CapSet::Permitted).map_err(failed)?;
    // Needs a capability itself. Who has none has no use for the bounding set: no privileges can be gained by execve.
    if had.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::runtime::thread_all_supported() {
            caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
        }
    }
    let keep: CapsHashSet = match kept {
        RetainedCapabilities::None => CapsHashSet::new(),
        RetainedCapabilities::Files => {
            had.intersection(&CapsHashSet::from([Capability::CAP_DAC_OVERRIDE])).copied().collect()
        }
    };
    if caps::runtime::ambient_set_supported().is_ok() {
        caps::clear(None, CapSet::Ambient).map_err(failed)?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &keep).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &keep).map_err(failed)?;
    Ok((!keep.is_empty()).then(|| "keeps DAC_OVERRIDE".to_owned()))
}
