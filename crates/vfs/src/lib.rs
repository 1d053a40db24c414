//! The files of a sandbox: a tree in memory, shared by all its interpreters, and the file calls of WASI preview 1 on
//! it. Nothing here touches the host's file system, and nothing here knows wasmtime.
//!
//! [`Base`] is made once a process; [`Base::tree`] starts each sandbox's [`Tree`]. The service works on it by path.
//! Each interpreter has its own [`Descriptors`] over the [`SharedTree`]; their methods are the calls the guest makes,
//! and note in [`Attempts`] what it tried to reach.
//!
//! [`fork_sandbox`] copies a sandbox in memory, [`save_sandbox`] makes plain data of it that [`SandboxFiles::load`]
//! takes back in any process. [`Tree::watch`] tells what changes in a directory.

mod access;
mod base;
mod boundary;
mod content;
mod descriptors;
mod errno;
mod error;
mod fd_calls;
mod guest_memory;
mod inodes;
mod io_calls;
mod layer;
mod load;
mod mount;
mod names;
mod open_call;
mod open_file;
mod path;
mod path_calls;
mod patterns;
mod permissions;
mod records;
mod requests;
mod saved;
mod stdio;
mod system;
#[cfg(test)]
mod test_guest;
#[cfg(test)]
mod test_model;
#[cfg(test)]
mod test_nonsense;
#[cfg(test)]
mod test_saved;
mod transfer;
mod tree;
mod walk;
mod watch;
mod watches;

pub use base::Base;
pub use boundary::{Access, Attempts, MAX_ATTEMPTS, MAX_TARGET, Refusals};
pub use descriptors::{Call, Descriptors, MAX_DESCRIPTORS, fork_sandbox};
pub use errno::{Errno, status};
pub use error::{Fault, FilesError, PathFault};
pub use guest_memory::Part;
pub use layer::{Layer, LayerError};
pub use load::DamagedFiles;
pub use open_call::OpenHow;
pub use open_file::{FileUse, OpenFile};
pub use path::{HOME, MAX_DEPTH, MAX_NAME, MAX_PATH, TEMPORARY, absolute_path};
pub use path_calls::PathAt;
pub use permissions::{Credentials, DEFAULT_MASK, MODE_BITS, Permission, User};
pub use requests::FileEntry;
pub use saved::{SandboxFiles, save_sandbox};
pub use stdio::{Output, Stdio};
pub use system::{HOST_NAME, PROGRAMS};
pub use tree::{FileKind, FilesQuota, FilesUsage, SharedTree, Tree, View, lock};
pub use watches::{Change, ChangeKind, Changes, MAX_CHANGES, MAX_WATCHES, WatchDepth, WatchId};
