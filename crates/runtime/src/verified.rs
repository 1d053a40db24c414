//! The note that the files of an image were verified a moment ago. Each worker of a service would hash 200 MB again that
//! the front process has just hashed.
//!
//! It lies beside the files and is worth no more than the manifest there. It identifies them by device, inode, size and
//! the kernel's times, which change with any write, and it is void after [`MAX_AGE`]: whoever starts later, such as a
//! worker that takes another's place, hashes the files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Time for which a note holds.
const MAX_AGE: Duration = Duration::from_secs(30);

/// Least age of a file that a note may speak of: two writes within one tick of the kernel's clock have the same time.
const MIN_FILE_AGE: Duration = Duration::from_secs(2);

/// Returns what identifies files with the hashes that they must have; none if one can't be told from its next version.
pub(super) fn identify<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Option<String> {
    let mut text = String::new();
    for (path, hash) in files {
        let file = fs::metadata(path).ok()?;
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(file.ctime().try_into().ok()?);
        if changed.elapsed().ok()? < MIN_FILE_AGE {
            return None;
        }
        let (device, inode, size) = (file.dev(), file.ino(), file.size());
        let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
        text += &format!("{hash} {device} {inode} {size} {times:?}\n");
    }
    Some(text)
}

/// Writes the note where that is possible; `identity` is from before the files were read.
pub(super) fn note(path: &Path, identity: &str) {
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    if fs::write(&partial, identity).and_then(|()| fs::rename(&partial, path)).is_err() {
        let _ = fs::remove_file(&partial);
    }
}

/// Returns whether there is a note of these files that holds.
pub(super) fn is_noted(path: &Path, identity: &str) -> bool {
    let fresh = fs::metadata(path).and_then(|note| note.modified()).map(|written| written.elapsed());
    matches!(fresh, Ok(Ok(age)) if age <= MAX_AGE) && fs::read_to_string(path).is_ok_and(|noted| noted == identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_void_for_changed_files_and_with_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, path) = (directory.path().join("file"), directory.path().join("note"));
        fs::write(&file, "a").expect("a file");
        assert_eq!(identify([(file.as_path(), "hash")]), None, "it may be written again within the tick");
        std::thread::sleep(MIN_FILE_AGE + Duration::from_secs(1));
        let identity = identify([(file.as_path(), "hash")]).expect("it is old enough");
        assert!(!is_noted(&path, &identity), "there is none");
        note(&path, &identity);
        assert!(is_noted(&path, &identity));
        assert!(!is_noted(&path, &identify([(file.as_path(), "other")]).expect("it is old enough")));
        let old = SystemTime::now() - MAX_AGE - Duration::from_secs(1);
        fs::File::options().write(true).open(&path).expect("a file").set_modified(old).expect("it is ours");
        assert!(!is_noted(&path, &identity), "it is too old");
        // A change that keeps size and time of the content.
        note(&path, &identity);
        let time = fs::metadata(&file).and_then(|file| file.modified()).expect("it has one");
        fs::write(&file, "b").expect("a file");
        fs::File::options().write(true).open(&file).expect("a file").set_modified(time).expect("it is ours");
        std::thread::sleep(MIN_FILE_AGE + Duration::from_secs(1));
        assert!(!is_noted(&path, &identify([(file.as_path(), "hash")]).expect("it is old enough")));
    }
}
