//! Paths in a volume.

use super::VolumeError;
use proofbox_types::session::FileTrouble;
use proofbox_vfs::{MAX_DEPTH, MAX_NAME, MAX_PATH};

/// Path in a volume, relative to its top: names between slashes, without `.` and `..`. The top itself is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePath(String);

impl VolumePath {
    /// Parses a path, which begins at the top of the volume, with a slash or without.
    ///
    /// # Errors
    /// Returns an error for a path that leads out of the volume, or that no file can have.
    pub fn parse(text: &str) -> Result<Self, VolumeError> {
        let bad = |message: &str| {
            let shown: String = text.chars().take(100).collect();
            VolumeError::Path { trouble: FileTrouble::BadPath, message: format!("the path {shown:?} {message}") }
        };
        if text.contains('\0') {
            return Err(bad("has a NUL"));
        }
        if text.len() > MAX_PATH {
            return Err(bad("is too long"));
        }
        let mut names = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop().ok_or_else(|| bad("leads out of the volume"))?),
                _ if name.len() > MAX_NAME => return Err(bad("has a name that is too long")),
                _ => names.push(name),
            }
        }
        if names.len() > MAX_DEPTH {
            return Err(bad("is too deep"));
        }
        Ok(Self(names.join("/")))
    }

    /// Returns the path without a slash at its beginning.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the path is the top of the volume.
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path of what it means in a session that has the volume at `mount`.
    pub fn below(&self, mount: &str) -> String {
        if self.is_top() { mount.to_owned() } else { format!("{mount}/{}", self.0) }
    }

    /// Returns the directory that the path lies in; none for the top, and what lies in it.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(above, _)| Self(above.to_owned()))
    }
}

impl std::fmt::Display for VolumePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_top_and_stay_below_it() {
        for (text, path) in [("", ""), ("/", ""), ("a", "a"), ("/a//b/./c/", "a/b/c"), ("a/../b", "b"), ("..a", "..a")]
        {
            assert_eq!(VolumePath::parse(text).map(|path| path.0).ok().as_deref(), Some(path), "{text}");
        }
        let (long, deep) = ("x".repeat(MAX_NAME + 1), "d/".repeat(MAX_DEPTH + 1));
        for text in ["..", "/../a", "a/../../b", "a\0", &long, &deep, &"x/".repeat(MAX_PATH)] {
            assert!(VolumePath::parse(text).is_err(), "{text:?}");
        }
        let path = VolumePath::parse("/a/b").expect("right");
        assert_eq!((path.below("/mnt").as_str(), path.to_string().as_str()), ("/mnt/a/b", "/a/b"));
        assert_eq!(path.parent().map(|above| above.below("/mnt")).as_deref(), Some("/mnt/a"));
        assert_eq!(VolumePath::parse("a").expect("right").parent(), None);
        assert_eq!(VolumePath::parse("").expect("right").below("/mnt"), "/mnt");
    }
}
