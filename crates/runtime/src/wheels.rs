//! Wheels that `pip` finds in sessions: those of a directory that the operator approves, packed into one file of the cache.
//!
//! Sandboxes see them below [`DIRECTORY`], read-only. Only wheels without native code are taken: nothing else can be
//! imported in a sandbox. The packed file never changes, so that workers can map it; the directory itself is read once,
//! at the start of the service.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::image_error::{ImageError, write_whole};
use super::packages::{self, Files};
use super::recipe;
use proofbox_vfs::Layer;

/// Directory in which sessions see the wheels.
pub const DIRECTORY: &str = "/usr/share/wheels";

/// Maximum size of all wheels together, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// End of the name of a wheel without native code, by the platform tags of the wheel's name
/// (<https://packaging.python.org/en/latest/specifications/binary-distribution-format/>).
const PURE: &str = "-none-any.whl";

/// Wheels that are ready for workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wheels {
    /// File with all of them.
    pub file: PathBuf,
    /// Hash of their names and contents.
    pub hash: String,
    /// Number of the wheels.
    pub count: usize,
    /// Names of files that were left out: they are no wheels, or have native code.
    pub left_out: Vec<String>,
}

/// Failure to read the approved wheels.
#[derive(Debug, thiserror::Error)]
pub enum WheelsError {
    /// The directory, or a file in it, can't be read.
    #[error("reading the wheels in {}: {source}", path.display())]
    Read {
        /// Path that can't be read.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// The wheels are too large.
    #[error("the wheels in {} have more than {MAX_BYTES} bytes together", .0.display())]
    TooLarge(PathBuf),
    /// The packed file can't be written.
    #[error(transparent)]
    Write(#[from] ImageError),
}

impl Wheels {
    /// Packs the wheels of a directory into a file in the first of the cache directories that can be written to.
    ///
    /// # Errors
    /// Returns an error when the directory can't be read, its wheels are too large, or no cache can be written to.
    pub fn pack(directory: &Path, caches: &[PathBuf]) -> Result<Self, WheelsError> {
        let read = |path: &Path| {
            let path = path.to_owned();
            move |source| WheelsError::Read { path, source }
        };
        let (mut files, mut left_out, mut bytes) = (Files::new(), Vec::new(), 0);
        for entry in fs::read_dir(directory).map_err(read(directory))? {
            let path = entry.map_err(read(directory))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.ends_with(PURE) || !path.is_file() {
                left_out.push(name);
                continue;
            }
            bytes += path.metadata().map_err(read(&path))?.len();
            if bytes > MAX_BYTES {
                return Err(WheelsError::TooLarge(directory.to_owned()));
            }
            files.push((name, Bytes::from(fs::read(&path).map_err(read(&path))?)));
        }
        left_out.sort_unstable();
        let count = files.len();
        let packed = packages::written(files);
        let hash = recipe::hex(&Sha256::digest(&packed));
        let mut failure = None;
        // Services that share a cache may have other wheels each.
        let place = recipe::hex(&Sha256::digest(directory.as_os_str().as_encoded_bytes())[..8]);
        for cache in caches {
            match write_into(&cache.join("wheels").join(&place), &hash, &packed) {
                Ok(file) => return Ok(Self { file, hash: format!("sha256:{hash}"), count, left_out }),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| {
            let source = std::io::Error::other("no cache directory is known");
            WheelsError::Read { path: directory.to_owned(), source }
        }))
    }
}

/// Writes the packed file of that hash into a directory, and removes those that were packed before.
fn write_into(directory: &Path, hash: &str, packed: &[u8]) -> Result<PathBuf, WheelsError> {
    let failed = |source| ImageError::Io { what: "making", path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let file = directory.join(format!("{hash}.bin"));
    write_whole(&file, packed)?;
    let packed = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    // Workers that have one mapped keep it.
    let others = packed.filter(|other| *other != file && other.extension().is_some_and(|extension| extension == "bin"));
    others.for_each(|other| drop(fs::remove_file(other)));
    Ok(file)
}

/// Returns the layer with the wheels of a packed file, or an empty one.
///
/// # Errors
/// Returns an error when the file can't be read, or is no such file.
pub(super) fn layer(packed: Option<&Path>) -> wasmtime::Result<Arc<Layer>> {
    let files = packed.map(packages::read).transpose()?.unwrap_or_default();
    Layer::new(files, 0).map_err(|error| wasmtime::Error::msg(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_without_native_code_are_packed_and_nothing_else() {
        let (wheels, cache) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        for (name, content) in [
            ("one-1.0-py3-none-any.whl", "one"),
            ("two-1.0-cp313-cp313-manylinux_2_17_x86_64.whl", "two"),
            ("three-1.0.tar.gz", "three"),
        ] {
            fs::write(wheels.path().join(name), content).expect("written");
        }
        let packed = Wheels::pack(wheels.path(), &[cache.path().to_owned()]).expect("packed");
        assert_eq!((packed.count, packed.left_out.len()), (1, 2), "{packed:?}");
        let files = packages::read(&packed.file).expect("read");
        assert_eq!(files, [("one-1.0-py3-none-any.whl".to_owned(), Bytes::from_static(b"one"))]);

        // Packed anew after a change: the old file goes, the hash differs.
        fs::write(wheels.path().join("one-1.0-py3-none-any.whl"), "other").expect("written");
        let again = Wheels::pack(wheels.path(), &[cache.path().to_owned()]).expect("packed");
        assert_ne!(again.hash, packed.hash);
        assert!(again.file.is_file() && !packed.file.exists());
    }

    #[test]
    fn a_cache_that_cannot_be_written_to_is_passed_over() {
        let (wheels, cache) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        let blocked = wheels.path().join("file");
        fs::write(&blocked, "").expect("written");
        let packed = Wheels::pack(wheels.path(), &[blocked, cache.path().to_owned()]).expect("packed");
        assert!(packed.file.starts_with(cache.path()));
        assert!(Wheels::pack(&wheels.path().join("none"), &[cache.path().to_owned()]).is_err());
    }
}
