//! Programs of others that tests run, installed below the cache directory, pinned, once for each set of versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::scratch;

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cache directory that the service under test has.
pub(crate) fn cache() -> PathBuf {
    let given = std::env::var_os("PROOFBOX_CACHE_DIR").map(PathBuf::from);
    given.unwrap_or_else(|| {
        directories::BaseDirs::new().expect("a home directory, or PROOFBOX_CACHE_DIR").cache_dir().join("proofbox")
    })
}

/// Runs to its end; with its last lines where it failed.
pub(crate) fn succeed(what: &str, command: &mut Command) -> String {
    eprintln!("{what}");
    // Many leave files behind.
    command.env("TMPDIR", scratch::directory());
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{what}: {error}"));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(80)..].join("\n");
    assert!(output.status.success(), "{what}: {}\n{last}", output.status);
    text
}

/// A directory for what `content` describes, filled by `fill` when it is not there yet.
pub(crate) fn installed(name: &str, content: &[u8], fill: impl FnOnce(&Path)) -> PathBuf {
    let hash: String = Sha256::digest(content).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let tools = cache().join("test-tools");
    let place = tools.join(format!("{name}-{hash}"));
    if !place.exists() {
        let partial = tools.join(format!("{name}-{hash}.{}", std::process::id()));
        std::fs::create_dir_all(&partial).expect("the cache directory can be written");
        fill(&partial);
        // Somebody may have been faster.
        if std::fs::rename(&partial, &place).is_err() {
            std::fs::remove_dir_all(&partial).expect("it is ours");
        }
    }
    place
}

/// What a requirements file pins, for this Python.
pub(crate) fn packages(name: &str, python: &str, requirements: &Path, more: &[&str]) -> PathBuf {
    let version =
        succeed("asking for Python's version", Command::new(python).args(["-c", "import sys; print(sys.version)"]));
    let mut content = std::fs::read(requirements).expect("it is in the repository");
    content.extend_from_slice(version.as_bytes());
    installed(name, &content, |place| {
        // Pip is the host's: the recipe's native Python has none.
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]);
        pip.args(more).arg("--target").arg(place).arg("-r").arg(requirements);
        succeed(&format!("installing {}", requirements.display()), &mut pip);
    })
}
