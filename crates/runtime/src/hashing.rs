//! Hashes of files.

use std::fs::File;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::recipe;

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(super) fn hash_file(path: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(recipe::hex(&digest.finalize()))
}
