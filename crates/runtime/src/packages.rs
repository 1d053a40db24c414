//! Packages that are imported from files: one file beside the image has them all, and every sandbox sees them as a
//! read-only directory.
//!
//! ```text
//! length of the index, 8 bytes, little endian
//! index, JSON: {"sympy/__init__.pyc": [position, length], ...}
//! contents, to which positions refer
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;
use memmap2::Mmap;
use sha2::{Digest, Sha256};

use super::recipe;
use proofbox_vfs::{Base, Layer};

/// Directory in which sandboxes see packages.
pub(super) const DIRECTORY: &str = "/lib/python3.13/site-packages";
/// The directory of theirs that is read-only.
const MOUNT: &str = "/lib";

/// The file's name, beside what it belongs to.
pub(super) const FILE: &str = "packages.bin";

/// Paths of files, with their contents.
pub(super) type Files = Vec<(String, Bytes)>;

/// Returns the files that sandboxes start from with the packages in that file.
///
/// # Errors
/// Returns an error when it can't be read, or is not such a file.
pub(super) fn base(packages: Option<&Mapped>) -> wasmtime::Result<Base> {
    let programs = |base: Base| base.with_programs().map_err(|error| wasmtime::Error::msg(error.to_string()));
    let Some(packages) = packages else { return programs(Base::bare()) };
    let damaged = |what: String| damaged(&packages.path, &what);
    // With the directories above it, so that nothing can be put there, either.
    let below = DIRECTORY.strip_prefix(MOUNT).and_then(|below| below.strip_prefix('/')).expect("it lies there");
    let files = packages.files()?.into_iter().map(|(path, content)| (format!("{below}/{path}"), content));
    let layer = Layer::new(files, 0).map_err(|error| damaged(error.to_string()))?;
    Base::with_layers([(MOUNT.to_owned(), layer)]).map_err(|error| damaged(error.to_string())).and_then(programs)
}

/// Returns the same as `base` without a package, for those who only look whether files can be put beside them.
pub(super) fn empty() -> &'static Base {
    static EMPTY: LazyLock<Base> = LazyLock::new(|| {
        let layer = Layer::new(Files::new(), 0).expect("nothing contradicts nothing");
        let base = Base::with_layers([(MOUNT.to_owned(), layer)]).and_then(|base| base.with_programs());
        base.expect("their places are free")
    });
    &EMPTY
}

fn damaged(file: &Path, what: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("the packages {} are damaged: {what}", file.display()))
}

/// Returns the files in a packages file; their content stays on disk, and is read where it is used.
///
/// # Errors
/// Returns an error when it can't be read, or is not such a file.
pub(super) fn read(file: &Path) -> wasmtime::Result<Files> {
    Mapped::open(file)?.files()
}

/// A packages file whose content is read where it is used.
pub(super) struct Mapped {
    path: PathBuf,
    content: Bytes,
}

impl Mapped {
    /// Maps a packages file.
    ///
    /// # Errors
    /// Returns an error when it can't be opened.
    pub(crate) fn open(path: &Path) -> wasmtime::Result<Self> {
        let unread = |error| wasmtime::Error::msg(format!("reading the packages {}: {error}", path.display()));
        let open = File::open(path).map_err(unread)?;
        // SAFETY: nobody writes to the file while it is mapped. It lies in the user's own cache directory, where
        // `write_whole` makes such files under another name: an image that is made anew leaves this one as it was
        // (`packages_that_are_made_anew_leave_those_in_use_alone`).
        let content = unsafe { Mmap::map(&open) }.map_err(unread)?;
        Ok(Self { path: path.to_owned(), content: Bytes::from_owner(content) })
    }

    /// Returns the files in it.
    ///
    /// # Errors
    /// Returns an error when it is no packages file.
    pub(crate) fn files(&self) -> wasmtime::Result<Files> {
        parsed(&self.content).map_err(|what| damaged(&self.path, what))
    }
}

fn parsed(content: &Bytes) -> Result<Files, &'static str> {
    let (length, rest) = content.split_first_chunk::<8>().ok_or("it is too short")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= rest.len());
    let length = length.ok_or("its index is longer than the file")?;
    let index: BTreeMap<String, (usize, usize)> =
        serde_json::from_slice(&rest[..length]).map_err(|_| "its index can't be read")?;
    let contents = content.slice(8 + length..);
    let file = |(path, (position, length)): (String, (usize, usize))| {
        let end = position.checked_add(length).filter(|end| *end <= contents.len());
        Ok((path, contents.slice(position..end.ok_or("a file in it ends beyond it")?)))
    };
    index.into_iter().map(file).collect()
}

/// Returns the bytes of a packages file with these files.
pub(super) fn written(files: Files) -> Vec<u8> {
    let mut position = 0;
    let files: BTreeMap<String, Bytes> = files.into_iter().collect();
    let place = |(path, content): (&String, &Bytes)| {
        let place = (path.clone(), (position, content.len()));
        position += content.len();
        place
    };
    let index: BTreeMap<String, (usize, usize)> = files.iter().map(place).collect();
    let index = serde_json::to_vec(&index).expect("plain data");
    let mut written = (index.len() as u64).to_le_bytes().to_vec();
    written.extend_from_slice(&index);
    written.extend(files.values().flatten());
    written
}

/// The packages of `base` with `own` ones over them: what has the name of one of those is gone, whole.
pub(super) fn over(base: Files, own: Files) -> Files {
    let taken: BTreeSet<String> = own.iter().map(|(path, _)| claim(path)).collect();
    base.into_iter().filter(|(path, _)| !taken.contains(&claim(path))).chain(own).collect()
}

/// Returns the name that only one package may claim: a module at the top, by its name, or the description of a project.
fn claim(path: &str) -> String {
    let top = path.split('/').next().unwrap_or(path);
    match top.strip_suffix(".dist-info").and_then(|described| described.rsplit_once('-')) {
        Some((project, _)) => format!("project {}", project.to_lowercase().replace(['-', '.'], "_")),
        None => top.trim_end_matches(".pyc").to_owned(),
    }
}

/// Names of the modules at the top.
pub(super) fn top_level(files: &Files) -> Vec<String> {
    let name = |path: &str| {
        let module = path.strip_suffix(".pyc")?;
        let name = module.strip_suffix("/__init__").unwrap_or(module);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (!name.starts_with('_') && name.bytes().all(plain)).then(|| name.to_owned())
    };
    files.iter().filter_map(|(path, _)| name(path)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `sha256:…` of a list of packages.
pub(super) fn hash_of(packages: &BTreeMap<String, String>) -> String {
    format!("sha256:{}", recipe::hex(&Sha256::digest(format!("{packages:?}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(index: &str, contents: &[u8]) -> Bytes {
        let mut bytes = (index.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(index.as_bytes());
        bytes.extend_from_slice(contents);
        Bytes::from(bytes)
    }

    #[test]
    fn files_are_where_the_index_says() {
        let files = parsed(&archive(r#"{"a/b.py": [2, 3], "c": [0, 2]}"#, b"xyabc")).expect("whole");
        let shown: Vec<_> = files.iter().map(|(path, content)| (path.as_str(), &content[..])).collect();
        assert_eq!(shown, [("a/b.py", &b"abc"[..]), ("c", &b"xy"[..])]);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let whole = archive(r#"{"a": [0, 3]}"#, b"abc");
        for length in 0..whole.len() {
            assert!(parsed(&whole.slice(..length)).is_err(), "{length} of {} bytes", whole.len());
        }
        for index in ["[]", r#"{"a": [18446744073709551615, 2]}"#, r#"{"a": [1, 3]}"#, r#"{"a": [-1, 1]}"#] {
            assert!(parsed(&archive(index, b"abc")).is_err(), "{index}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let files = vec![("b/c".to_owned(), Bytes::from_static(b"xy")), ("a".to_owned(), Bytes::new())];
        let again = parsed(&Bytes::from(written(files))).expect("whole");
        assert_eq!(again, [("a".to_owned(), Bytes::new()), ("b/c".to_owned(), Bytes::from_static(b"xy"))]);
    }

    #[test]
    fn a_package_of_ones_own_takes_the_place_of_another_whole() {
        let files = |paths: &[&str], content: &'static [u8]| -> Files {
            paths.iter().map(|path| ((*path).to_owned(), Bytes::from_static(content))).collect()
        };
        let base = [
            "attr/__init__.pyc",
            "attr/old.pyc",
            "attrs-1.dist-info/METADATA",
            "six.pyc",
            "Typing.Ext-1.0.dist-info/METADATA",
        ];
        let own =
            ["attr/__init__.pyc", "attrs-2.dist-info/METADATA", "six/__init__.pyc", "typing_ext-2.dist-info/METADATA"];
        let all = over(files(&base, b"base"), files(&own, b"own"));
        assert_eq!(all, files(&own, b"own"));
        let beside = over(files(&base, b"base"), files(&["attr2.pyc", "si/x.pyc"], b"own"));
        assert_eq!(beside.len(), base.len() + 2);
    }

    #[test]
    fn modules_at_the_top_are_those_that_can_be_imported() {
        let paths =
            ["a/__init__.pyc", "a/b.pyc", "c.pyc", "d/data.json", "_e.pyc", "f-1.dist-info/METADATA", "g/h.pyc"];
        let files: Files = paths.iter().map(|path| ((*path).to_owned(), Bytes::new())).collect();
        assert_eq!(top_level(&files), ["a", "c"]);
    }

    #[test]
    fn packages_that_are_made_anew_leave_those_in_use_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(FILE);
        let file = |content: &'static [u8]| written(vec![("a".to_owned(), Bytes::from_static(content))]);
        crate::image_error::write_whole(&path, &file(b"one")).expect("room");
        let one = read(&path).expect("whole");
        crate::image_error::write_whole(&path, &file(b"")).expect("room");
        assert_eq!((&one[0].1[..], &read(&path).expect("whole")[0].1[..]), (&b"one"[..], &b""[..]));
    }

    #[test]
    fn an_image_without_packages_has_none() {
        assert!(base(None).is_ok());
        assert!(Mapped::open(Path::new("/nonexistent")).is_err());
    }
}
