//! Policy packs in force.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use proofbox_policy::{PackError, Policies};

/// Packs in force, and the directory that they are read from again.
pub struct PolicyStore {
    current: RwLock<Arc<Policies>>,
    directory: Option<PathBuf>,
    /// Maximum memory of a run that the workers were started for, in bytes.
    most_memory_bytes: u64,
}

impl PolicyStore {
    /// Reads the packs of proofbox, and those of the directory.
    ///
    /// # Errors
    /// Returns an error when a pack can't be used.
    pub fn open(directory: Option<PathBuf>) -> Result<Self, PackError> {
        let policies = Policies::load(directory.as_deref())?;
        let most_memory_bytes = policies.most_memory_bytes();
        Ok(Self { current: RwLock::new(Arc::new(policies)), directory, most_memory_bytes })
    }

    /// Returns the packs in force.
    pub fn current(&self) -> Arc<Policies> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the packs again. Requests that are being served keep those that they began with.
    ///
    /// # Errors
    /// Returns an error when a pack can't be used: then the packs in force stay.
    pub fn reload(&self) -> Result<(), PackError> {
        let policies = Policies::load(self.directory.as_deref())?;
        policies.fit_memory(self.most_memory_bytes)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policies);
        Ok(())
    }
}
