//! Errors of finding, building and loading images, and of writing their files.

use std::fs;
use std::path::{Path, PathBuf};

use super::recipe::RecipeError;

/// Error of finding, building or loading an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file could not be read or written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// Operation that was attempted.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// Failure of the recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// An image can't have this name.
    #[error(
        "an image can't be called {name:?}: a name has up to 64 lower-case letters, digits, dots, dashes and underscores, \
         begins with a letter or digit, and is not `default`"
    )]
    BadName {
        /// Name that was asked for.
        name: String,
    },
    /// No image has that name or hash.
    #[error("there is no image {asked:?}; `proofbox runtime list` tells which there are")]
    Unknown {
        /// The name or hash.
        asked: String,
    },
    /// The module is not an interpreter, or wasmtime refuses it.
    #[error("{what}: {reason}")]
    Engine {
        /// Operation that was attempted.
        what: &'static str,
        /// Error message of wasmtime.
        reason: String,
    },
}

pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ImageError {
    let path = path.to_owned();
    move |source| ImageError::Io { what, path, source }
}

pub(super) fn by_engine(what: &'static str) -> impl FnOnce(wasmtime::Error) -> ImageError {
    move |error| ImageError::Engine { what, reason: format!("{error:#}") }
}

/// Writes a file under another name, and renames it when it is whole.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), ImageError> {
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&partial);
        ImageError::Io { what: "writing", path: path.to_owned(), source }
    })
}
