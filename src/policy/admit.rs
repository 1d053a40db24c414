//! From what a request asks to what it is granted.

use std::collections::BTreeMap;
use std::path::Path;

use super::file::{Pack, PackError, RequestLimits};
use crate::domain::grant::{AskedLimits, Grant, LimitRefused};

/// The packs that are part of the binary.
const BUILT_IN: [(&str, &str); 1] = [("default", include_str!("../../policies/default.toml"))];

/// A request that policy does not admit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It names a pack that does not exist.
    #[error("there is no policy `{asked}`; there are: {known}")]
    UnknownPolicy {
        /// The name it gave.
        asked: String,
        /// Those that exist.
        known: String,
    },
    /// It asks for too much or too little.
    #[error(transparent)]
    Limit(#[from] LimitRefused),
}

/// The packs of one service.
#[derive(Clone, Debug)]
pub struct Policies {
    packs: BTreeMap<String, Pack>,
}

impl Policies {
    /// The built-in packs, and those of `directory` over them.
    ///
    /// # Errors
    /// When a file can't be read or is no pack.
    pub fn load(directory: Option<&Path>) -> Result<Self, PackError> {
        let mut packs = BTreeMap::new();
        for (name, text) in BUILT_IN {
            packs.insert(name.to_owned(), Pack::parse(Path::new(name), text)?);
        }
        let Some(directory) = directory else { return Ok(Self { packs }) };
        let io = |path: &Path| {
            let path = path.display().to_string();
            move |source| PackError::Io { path, source }
        };
        for entry in std::fs::read_dir(directory).map_err(io(directory))? {
            let path = entry.map_err(io(directory))?.path();
            let Some(name) = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .filter(|_| path.extension().is_some_and(|extension| extension == "toml"))
            else {
                continue;
            };
            let text = std::fs::read_to_string(&path).map_err(io(&path))?;
            packs.insert(name.to_owned(), Pack::parse(&path, &text)?);
        }
        Ok(Self { packs })
    }

    /// What a request under the pack `name` may hold.
    ///
    /// # Errors
    /// When there is no such pack.
    pub fn request_limits(&self, name: &str) -> Result<RequestLimits, Refusal> {
        Ok(self.pack(name)?.request)
    }

    /// Grants what is asked for under the pack `name`.
    ///
    /// # Errors
    /// When there is no such pack, or it does not allow so much.
    pub fn admit(&self, name: &str, asked: &AskedLimits) -> Result<Grant, Refusal> {
        Ok(self.pack(name)?.ceiling.grant(asked)?)
    }

    /// The largest linear memory that any pack allows, in bytes.
    pub fn most_memory_bytes(&self) -> u64 {
        self.packs.values().map(|pack| pack.ceiling.most.memory_bytes).max().unwrap_or(0)
    }

    /// Every pack: name, description, limits.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Pack)> {
        self.packs.iter().map(|(name, pack)| (name.as_str(), pack))
    }

    fn pack(&self, name: &str) -> Result<&Pack, Refusal> {
        self.packs.get(name).ok_or_else(|| Refusal::UnknownPolicy {
            asked: name.chars().take(100).collect(),
            known: self.packs.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}
