//! Memory is refused at the limit, so that Python raises `MemoryError` where it can.

use wasmtime::ResourceLimiter;

/// Watches the growth of one guest's linear memory.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    limit: usize,
    /// Bytes of every size that are not counted.
    uncounted: usize,
    peak: usize,
    refused: bool,
}

impl MemoryLimiter {
    /// Makes a limiter that allows `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), uncounted: 0, peak: 0, refused: false }
    }

    /// Leaves the first `bytes` of the memory uncounted: what an image has beyond the default one.
    pub(crate) fn leave_uncounted(&mut self, bytes: u64) {
        self.uncounted = usize::try_from(bytes).unwrap_or(usize::MAX);
    }

    /// Notes the size that the image has itself.
    pub(crate) fn started_with(&mut self, bytes: usize) {
        self.peak = self.peak.max(bytes.saturating_sub(self.uncounted));
    }

    /// The largest size so far, in bytes that count.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Returns the limit, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// Forgets refused growth of the last call: another call begins.
    pub(crate) fn forget_refusals(&mut self) {
        self.refused = false;
    }

    /// Returns whether growth was refused.
    pub(crate) fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let counted = desired.saturating_sub(self.uncounted);
        let allowed = counted <= self.limit && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.peak = self.peak.max(counted);
        } else {
            self.refused = true;
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(maximum.is_none_or(|maximum| desired <= maximum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_image_has_beyond_the_default_one_is_not_counted() {
        let mut limiter = MemoryLimiter::new(100);
        limiter.leave_uncounted(30);
        assert!(limiter.memory_growing(0, 130, None).expect("an answer"));
        assert_eq!((limiter.peak(), limiter.refused()), (100, false));
        assert!(!limiter.memory_growing(130, 131, None).expect("an answer"));
        assert_eq!((limiter.peak(), limiter.refused()), (100, true));
        let mut plain = MemoryLimiter::new(100);
        plain.started_with(40);
        assert!(!plain.memory_growing(40, 101, None).expect("an answer"));
        assert_eq!(plain.peak(), 40);
    }
}
