//! From what a request asks to what it is granted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::file::{Pack, PackError};
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Grant, LimitRefused};

/// The packs that are part of the binary.
const BUILT_IN: [(&str, &str); 5] = [
    ("default", include_str!("../../../policies/default.toml")),
    ("eval", include_str!("../../../policies/eval.toml")),
    ("strict", include_str!("../../../policies/strict.toml")),
    ("agent", include_str!("../../../policies/agent.toml")),
    ("permissive", include_str!("../../../policies/permissive.toml")),
];

/// A request that policy does not admit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Name of a pack that does not exist.
    #[error("there is no policy `{asked}`; there are: {known}")]
    UnknownPolicy {
        /// The name it gave.
        asked: String,
        /// Names of the packs that exist.
        known: String,
    },
    /// Limit beyond the range that the pack allows.
    #[error(transparent)]
    Limit(#[from] LimitRefused),
    /// The pack is for certain keys, or the key is for certain packs.
    #[error("the policy `{asked}` is for certain keys, and this request has none of them")]
    NotForThis {
        /// The name it gave.
        asked: String,
    },
    /// A file that the pack does not let in, or files that it does not let out.
    #[error("{message}")]
    File {
        /// The field of the request.
        field: &'static str,
        /// Reason for the refusal.
        message: String,
    },
}

/// A file of packs, and the pack in it or what is wrong with it.
pub(crate) type Checked = (PathBuf, Result<Pack, PackError>);

/// The packs of one service.
#[derive(Clone, Debug)]
pub struct Policies {
    packs: BTreeMap<String, Pack>,
}

impl Policies {
    /// The built-in packs, and those of `directory` over them.
    ///
    /// # Errors
    /// Returns an error when a file can't be read or is not a pack.
    pub fn load(directory: Option<&Path>) -> Result<Self, PackError> {
        let mut packs = BTreeMap::new();
        for (name, text) in BUILT_IN {
            packs.insert(name.to_owned(), Pack::parse(name, Path::new(name), text)?);
        }
        if let Some(directory) = directory {
            for (path, pack) in Self::check(directory)? {
                packs.insert(name_of(&path).unwrap_or_default().to_owned(), pack?);
            }
        }
        Ok(Self { packs })
    }

    /// Checks each pack of `directory`, and lists what is wrong with it.
    ///
    /// # Errors
    /// Returns an error when the directory can't be read.
    pub fn check(directory: &Path) -> Result<Vec<Checked>, PackError> {
        let io = |path: &Path| {
            let path = path.display().to_string();
            move |source| PackError::Io { path, source }
        };
        let mut checked = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(io(directory))? {
            let path = entry.map_err(io(directory))?.path();
            let Some(name) = name_of(&path) else { continue };
            let pack = match std::fs::read_to_string(&path).map_err(io(&path)) {
                Ok(text) => Pack::parse(name, &path, &text),
                Err(error) => Err(error),
            };
            checked.push((path, pack));
        }
        checked.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(checked)
    }

    /// Grants what is asked for under the pack `name`.
    ///
    /// # Errors
    /// Returns an error when there is no such pack, or it does not allow so much.
    pub fn admit(&self, caller: &Caller, name: &str, asked: &AskedLimits) -> Result<Grant, Refusal> {
        Ok(self.pack(caller, name)?.ceiling.grant(asked)?)
    }

    /// The largest linear memory that any pack allows, in bytes.
    pub fn most_memory_bytes(&self) -> u64 {
        self.packs.values().map(|pack| pack.ceiling.most.memory_bytes).max().unwrap_or(0)
    }

    /// Checks that no pack allows more memory than workers were started with.
    ///
    /// # Errors
    /// Returns an error for the first pack that allows more.
    pub fn fit_memory(&self, allowed: u64) -> Result<(), PackError> {
        match self.packs.iter().find(|(_, pack)| pack.ceiling.most.memory_bytes > allowed) {
            None => Ok(()),
            Some((name, pack)) => {
                Err(PackError::Memory { path: name.clone(), asked: pack.ceiling.most.memory_bytes, allowed })
            }
        }
    }

    /// Every pack: name, description, limits.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Pack)> {
        self.packs.iter().map(|(name, pack)| (name.as_str(), pack))
    }

    /// The pack of that name.
    ///
    /// # Errors
    /// Returns an error when there is no such pack, or it is not for this caller.
    pub fn pack(&self, caller: &Caller, name: &str) -> Result<&Pack, Refusal> {
        let asked = || name.chars().take(100).collect();
        let pack = self.packs.get(name).ok_or_else(|| Refusal::UnknownPolicy {
            asked: asked(),
            known: self.packs.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        let named = |keys: &Vec<String>| caller.key().is_some_and(|key| keys.contains(&key.name));
        if caller.may_use(name) && pack.keys.as_ref().is_none_or(named) {
            Ok(pack)
        } else {
            Err(Refusal::NotForThis { asked: asked() })
        }
    }
}

/// A pack is called as its file.
fn name_of(path: &Path) -> Option<&str> {
    let toml = path.extension().is_some_and(|extension| extension == "toml");
    path.file_stem().and_then(|stem| stem.to_str()).filter(|_| toml)
}
