//! Hashes of files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::recipe;

const READ_BYTES: usize = 1 << 18;

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(super) fn hash_file(path: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    std::io::copy(&mut BufReader::with_capacity(READ_BYTES, File::open(path)?), &mut digest)?;
    Ok(recipe::hex(&digest.finalize()))
}
