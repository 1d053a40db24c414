//! Memory is refused at the limit, so that Python raises `MemoryError` where it can.

use wasmtime::ResourceLimiter;

/// Watches the growth of one guest's linear memory.
#[derive(Debug)]
pub struct MemoryLimiter {
    limit: usize,
    peak: usize,
    refused: bool,
}

impl MemoryLimiter {
    /// Makes a limiter that allows `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), peak: 0, refused: false }
    }

    /// Notes the size that the image has itself.
    pub fn started_with(&mut self, bytes: usize) {
        self.peak = self.peak.max(bytes);
    }

    /// The largest size so far, in bytes.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Returns the limit, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// Forgets refused growth of the last call: another call begins.
    pub fn forget_refusals(&mut self) {
        self.refused = false;
    }

    /// Returns whether growth was refused.
    pub fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.limit && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.peak = self.peak.max(desired);
        } else {
            self.refused = true;
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(maximum.is_none_or(|maximum| desired <= maximum))
    }
}
