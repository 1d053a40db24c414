//! Directory for what outlives the test that makes it: gone with the test process, however that ends.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// Minimum of free bytes: for all that tests write at once, and for what a service leaves free of a large disk.
const FREE_BYTES: u64 = 3 << 30;

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

struct Scratch {
    path: PathBuf,
    /// Removes it when its input ends, which the kernel closes with the test process, and its servers have ended, too.
    _remover: Child,
}

impl Scratch {
    fn new() -> Self {
        let path = tempfile::Builder::new().prefix("proofbox-tests-").tempdir().expect("a temporary directory").keep();
        let mut remover = Command::new("sh");
        remover.args(["-c", r#"cat >/dev/null; sleep 1; rm -rf -- "$1""#, "sh"]).arg(&path);
        // What ends the tests from a terminal must not end it, and nobody waits for what it could say.
        remover.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let remover = remover.spawn().expect("there is a shell");
        // Without it a hundred tests fail, each by something else that the service refuses.
        let disk = rustix::fs::statvfs(&path).expect("a disk");
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let at = path.display();
        assert!(free >= FREE_BYTES, "tests need {FREE_BYTES} bytes free at {at} (TMPDIR says where): {free} are");
        Self { path, _remover: remover }
    }
}

/// The directory. Others that tests make in it may go earlier.
///
/// # Panics
///
/// Panics if the disk has too little space for the tests.
pub(crate) fn directory() -> &'static Path {
    &SCRATCH.path
}
