//! Metadata of files as programs show it: mode, size, blocks.

use proofbox_vfs::{FileEntry, FileKind};

/// `4.0K`, as `-h` shows sizes.
pub(super) fn human(size: u64) -> String {
    let mut value = size as f64;
    for unit in ["", "K", "M", "G"] {
        if value < 1024.0 {
            return match unit {
                "" => size.to_string(),
                unit if value < 10.0 => format!("{:.1}{unit}", (value * 10.0).ceil() / 10.0),
                unit => format!("{:.0}{unit}", value.ceil()),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.0}T")
}

/// Kind and permission bits, as `-rw-r--r--`.
pub(super) fn mode(entry: &FileEntry) -> String {
    let kind = match entry.kind {
        FileKind::Directory => 'd',
        FileKind::Link => 'l',
        FileKind::Device => 'c',
        FileKind::NamedPipe => 'p',
        FileKind::File => '-',
    };
    format!("{kind}{}", super::modes::letters(entry.mode))
}

/// Blocks of 1 KiB.
pub(super) fn blocks(entry: &FileEntry) -> u64 {
    match entry.kind {
        FileKind::Link | FileKind::Device | FileKind::NamedPipe => 0,
        FileKind::File | FileKind::Directory => entry.size.div_ceil(4096) * 4,
    }
}
