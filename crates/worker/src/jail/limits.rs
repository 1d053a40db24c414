//! Resource limits. None on address space: the pool of a worker reserves terabytes of it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::LayerError;

/// More descriptors than this are of no use, and some systems allow a billion.
const DESCRIPTORS: u64 = 1 << 20;

fn at_most(resource: Resource, most: u64) -> Result<(), LayerError> {
    let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(resource, limit).map_err(LayerError::system(format!("setrlimit {resource:?}")))
}

/// Limits a worker to what it has open: nothing new can be opened, written to disk, locked or started.
pub(super) fn worker() -> Result<Option<String>, LayerError> {
    let none = [
        Resource::Core,
        Resource::Fsize,
        Resource::Nofile,
        Resource::Nproc,
        Resource::Memlock,
        Resource::Msgqueue,
        Resource::Locks,
    ];
    none.into_iter().try_for_each(|resource| at_most(resource, 0)).map(|()| None)
}

/// No core file: it would hold keys and what users sent.
pub(super) fn front() -> Result<Option<String>, LayerError> {
    at_most(Resource::Core, 0).map(|()| None)
}

/// Raises the limit on open descriptors to the hard limit, at most 2^20.
pub(super) fn raise_descriptors() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let most = maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if current.is_some_and(|current| current < most) {
        // What was there will do when it can't be raised.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    }
}
