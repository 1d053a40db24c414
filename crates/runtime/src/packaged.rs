//! The image that is installed with the program: `image.wasm.zst`, as `cargo xtask dist` makes it.
//!
//! ```text
//! skippable frame   50 2A 4D 18, length as u32 (little-endian), {"recipe": …, "sha256": …}
//! zstd frame        image.wasm
//! ```
//!
//! zstd's own tools pass over the first frame (RFC 8878, 3.1.2). It says which image the file has without unpacking it,
//! and what the content must be once it is unpacked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::hashing::hash_file;
use super::recipe;

/// Name of the file of an interpreter.
pub fn file_of(interpreter: &str) -> String {
    match interpreter {
        recipe::DEFAULT => "image.wasm.zst".to_owned(),
        other => format!("{other}.wasm.zst"),
    }
}

/// Returns the images that are installed with the program, by their interpreters.
pub fn installed() -> BTreeMap<String, PathBuf> {
    let found = |name: &String| find(name).map(|path| (name.clone(), path));
    recipe::interpreters().iter().filter_map(found).collect()
}

/// First bytes of the skippable frame.
const MAGIC: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();

/// Maximum length of the JSON in the skippable frame, in bytes.
const MAX_HEAD: u32 = 4096;

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Head {
    /// Hash of the recipe that the image was made by.
    recipe: String,
    /// Hash of `image.wasm`.
    sha256: String,
}

/// Returns the image beside the program, or in `../share/proofbox` of it, if the recipe of this program made it.
fn find(interpreter: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    let installed = |path: &PathBuf| {
        let head = File::open(path).and_then(|mut file| read_head(&mut file));
        head.is_ok_and(|head| head.is_some_and(|head| head.recipe == recipe::hash(interpreter)))
    };
    let file = file_of(interpreter);
    [directory.join(&file), directory.parent()?.join("share/proofbox").join(&file)].into_iter().find(installed)
}

/// Returns the SHA-256 of `image.wasm`, which the file is or has in it.
pub(super) fn content_hash(path: &Path) -> io::Result<String> {
    match read_head(&mut File::open(path)?)? {
        Some(head) => Ok(head.sha256),
        None => hash_file(path),
    }
}

/// Reads `image.wasm`, unpacked if need be; says on standard error that it does so.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let Some(head) = read_head(&mut file)? else { return fs::read(path) };
    eprintln!("Unpacking the Python runtime from {}.", path.display());
    let content = zstd::decode_all(file)?;
    if recipe::hex(&Sha256::digest(&content)) != head.sha256 {
        return Err(io::Error::other("it is damaged: install it again"));
    }
    Ok(content)
}

/// Reads the head of a packed image and leaves the file behind it; none for any other file, which is rewound.
fn read_head(file: &mut (impl Read + Seek)) -> io::Result<Option<Head>> {
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start)?;
    let Some(length) = start.strip_prefix(&MAGIC).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes)
    else {
        file.seek(SeekFrom::Start(0))?;
        return Ok(None);
    };
    if length > MAX_HEAD {
        return Err(io::Error::other("its head is too long"));
    }
    let mut json = Vec::new();
    file.by_ref().take(length.into()).read_to_end(&mut json)?;
    let head: Head = serde_json::from_slice(&json)?;
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    // It becomes part of a path.
    if is_hash(&head.sha256) { Ok(Some(head)) } else { Err(io::Error::other("its head has no hash")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8], sha256: &str) -> Vec<u8> {
        let head = serde_json::json!({"recipe": recipe::hash(recipe::DEFAULT), "sha256": sha256}).to_string();
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&u32::try_from(head.len()).expect("it is short").to_le_bytes());
        file.extend_from_slice(head.as_bytes());
        file.extend(zstd::encode_all(content, 1).expect("it is in memory"));
        file
    }

    #[test]
    fn a_packed_image_is_verified_and_named_as_its_content_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let (plain, whole, other) =
            (directory.path().join("plain"), directory.path().join("whole"), directory.path().join("other"));
        let content = b"\0asm\x01\0\0\0 and so on";
        let sha256 = recipe::hex(&Sha256::digest(content));
        fs::write(&plain, content).expect("a file");
        fs::write(&whole, packed(content, &sha256)).expect("a file");
        fs::write(&other, packed(b"another", &sha256)).expect("a file");
        for path in [&plain, &whole] {
            assert_eq!(content_hash(path).expect("a hash"), sha256);
            assert_eq!(read(path).expect("its content"), content);
        }
        assert!(read(&other).is_err_and(|error| error.to_string().contains("damaged")));
    }

    #[test]
    fn a_head_that_is_none_is_refused() {
        let long = [&MAGIC[..], &(MAX_HEAD + 1).to_le_bytes()].concat();
        for bad in [packed(b"", "../../x"), packed(b"", ""), long, MAGIC.repeat(2)] {
            assert!(read_head(&mut io::Cursor::new(bad)).is_err());
        }
        for other in [&b""[..], b"\0asm", &MAGIC, b"\x28\xB5\x2F\xFD\0\0\0\0\0"] {
            assert_eq!(read_head(&mut io::Cursor::new(other)).expect("it can be read"), None);
        }
    }
}
