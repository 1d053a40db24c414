//! Random bytes for the guest, from the kernel or a seed.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// Source of random bytes.
#[derive(Debug)]
pub(crate) enum Entropy {
    /// The kernel's random numbers.
    Host,
    /// A generator of which every byte follows from its seed.
    Seeded(Box<ChaCha12Rng>),
}

impl Entropy {
    /// The kernel's, without a seed.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        seed.map_or(Self::Host, |seed| Self::Seeded(Box::new(ChaCha12Rng::seed_from_u64(seed))))
    }

    /// Fills `bytes`.
    ///
    /// # Errors
    /// Returns an error when the kernel has none to give.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        match self {
            Self::Host => getrandom::fill(bytes),
            Self::Seeded(generator) => {
                generator.fill_bytes(bytes);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: Option<u64>) -> [u8; 32] {
        let mut bytes = [0; 32];
        Entropy::new(seed).fill(&mut bytes).expect("there is some");
        bytes
    }

    #[test]
    fn a_seed_gives_the_same_bytes_and_the_kernel_never_does() {
        assert_eq!(drawn(Some(7)), drawn(Some(7)));
        assert_ne!(drawn(Some(7)), drawn(Some(8)));
        assert_ne!(drawn(None), drawn(None));
    }
}
