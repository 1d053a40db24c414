//! Directions of branches: counts of a module (`count.rs`), kept so that they fit the next one.
//!
//! A function is known by a hash of its code without what changes when a module is linked anew: indices of functions,
//! globals and types, constants and addresses. A branch is known by its place among the branches of its function. A
//! function that was changed is known no longer, and has no hints.
//!
//! ```text
//! magic                 8 bytes
//! number of functions   LEB128
//! each function         hash, 8 bytes, lowest first; in ascending order
//!                       heat, 1 byte: binary digits of how often its most frequent part was reached; 128 more, if short
//!                       runs reach it
//!                       number of branches, LEB128
//!                       2 bits a branch, from the lowest: 0 not known, 1 rarely taken, 2 mostly taken
//! ```

use std::collections::BTreeMap;

use wasm_encoder::Encode;
use wasmparser::{BlockType, FunctionBody, Operator};

use crate::Error;

const MAGIC: &[u8; 8] = b"\0branch1";
/// Bits that tell of one branch.
const BITS: usize = 2;
/// Added to the heat of functions that short runs reach: they lie together, before all others.
const IN_SHORT_RUNS: u8 = 128;
/// Branches that one byte tells of.
const PER_BYTE: usize = 8 / BITS;

/// Hint for a branch: the way that it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Rarely taken, to code that is rarely reached.
    Rarely,
    /// Taken most of the times.
    Mostly,
}

impl Hint {
    /// Value in the section of hints.
    pub(crate) fn value(self) -> u32 {
        match self {
            Self::Rarely => 0,
            Self::Mostly => 1,
        }
    }
}

/// Hints for the branches of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchProfile {
    functions: BTreeMap<u64, Known>,
}

/// Heat and hints of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    /// Binary digits of how often its most frequent part was reached; [`IN_SHORT_RUNS`] more, if short runs reach it.
    heat: u8,
    /// Hints for its branches.
    hints: Vec<Option<Hint>>,
}

/// Reason why a profile can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Beginning that is not the magic number.
    #[error("it is no profile of branches, or one of another version")]
    Magic,
    /// Bytes that end too early.
    #[error("the profile of branches is cut off")]
    Truncated,
    /// Bytes behind the last function.
    #[error("the profile of branches has {0} bytes too many")]
    TooLong(usize),
    /// Functions are not in order.
    #[error("functions in the profile of branches are not in ascending order")]
    Order,
    /// A branch has a value that means nothing.
    #[error("a branch in the profile of branches is neither rarely nor mostly taken")]
    Hint,
}

impl BranchProfile {
    /// Reads a profile.
    ///
    /// # Errors
    /// Returns an error when it is not one, whole.
    pub fn read(bytes: &[u8]) -> Result<Self, ProfileError> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(ProfileError::Magic)?;
        let mut functions = BTreeMap::new();
        for _ in 0..number(&mut rest)? {
            let hash = u64::from_le_bytes(*take(&mut rest, 8)?.as_array().ok_or(ProfileError::Truncated)?);
            if functions.last_key_value().is_some_and(|(last, _)| *last >= hash) {
                return Err(ProfileError::Order);
            }
            let heat = take(&mut rest, 1)?[0];
            let count = number(&mut rest)?;
            let packed = take(&mut rest, count.div_ceil(PER_BYTE))?;
            let at = |branch: usize| packed[branch / PER_BYTE] >> (branch % PER_BYTE * BITS) & 3;
            if (count..packed.len() * PER_BYTE).any(|beyond| at(beyond) != 0) {
                return Err(ProfileError::Hint);
            }
            let hints = (0..count).map(|branch| match at(branch) {
                0 => Ok(None),
                1 => Ok(Some(Hint::Rarely)),
                2 => Ok(Some(Hint::Mostly)),
                _ => Err(ProfileError::Hint),
            });
            functions.insert(hash, Known { heat, hints: hints.collect::<Result<_, _>>()? });
        }
        if rest.is_empty() { Ok(Self { functions }) } else { Err(ProfileError::TooLong(rest.len())) }
    }

    /// Writes the profile.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        self.functions.len().encode(&mut bytes);
        for (hash, Known { heat, hints }) in &self.functions {
            bytes.extend_from_slice(&hash.to_le_bytes());
            bytes.push(*heat);
            hints.len().encode(&mut bytes);
            for hints in hints.chunks(PER_BYTE) {
                let bits = |hint: &Option<Hint>| match hint {
                    None => 0,
                    Some(Hint::Rarely) => 1,
                    Some(Hint::Mostly) => 2,
                };
                bytes.push(hints.iter().rev().fold(0, |byte, hint| byte << BITS | bits(hint)));
            }
        }
        bytes
    }

    /// Returns the number of functions that it knows.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the hints for the branches of a function, in their order; nothing, where the function is not known.
    ///
    /// # Errors
    /// Returns an error when its code can't be read.
    pub fn hints_of(&self, body: &FunctionBody<'_>) -> Result<&[Option<Hint>], Error> {
        Ok(self.known(body)?.map_or(&[], |known| &known.hints))
    }

    /// Returns how much a function is used, in binary digits; zero, where it is not known.
    pub(crate) fn heat_of(&self, body: &FunctionBody<'_>) -> Result<u8, Error> {
        Ok(self.known(body)?.map_or(0, |known| known.heat))
    }

    fn known(&self, body: &FunctionBody<'_>) -> Result<Option<&Known>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let (hash, branches) = fingerprint(body)?;
        Ok(self.functions.get(&hash).filter(|known| known.hints.len() == branches))
    }

    /// Notes a function whose most frequent part was reached so often.
    pub(crate) fn insert(&mut self, hash: u64, most: u64, hints: Vec<Option<Hint>>) {
        let heat = (u64::BITS - most.leading_zeros()) as u8;
        self.functions.insert(hash, Known { heat, hints });
    }

    /// Notes that short runs reach a function with so many branches.
    pub(crate) fn note_in_short_runs(&mut self, hash: u64, branches: usize) {
        let unknown = || Known { heat: 0, hints: vec![None; branches] };
        self.functions.entry(hash).or_insert_with(unknown).heat |= IN_SHORT_RUNS;
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], ProfileError> {
    rest.split_off(..length).ok_or(ProfileError::Truncated)
}

/// Reads a number of at most 28 bits.
fn number(rest: &mut &[u8]) -> Result<usize, ProfileError> {
    let mut value = 0;
    for shift in [0, 7, 14, 21] {
        let byte = take(rest, 1)?[0];
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ProfileError::Truncated)
}

/// Returns whether hints can be given for an operator.
pub(crate) fn is_branch(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::If { .. } | Operator::BrIf { .. })
}

/// Returns the hash that a function is known by, and the number of its branches.
pub(crate) fn fingerprint(body: &FunctionBody<'_>) -> Result<(u64, usize), Error> {
    let mut hash = Fnv::default();
    let mut branches = 0;
    let code = body.as_bytes();
    let start = body.range().start;
    for operator in body.get_operators_reader()?.into_iter_with_offsets() {
        let (operator, offset) = operator?;
        let opcode = &code[offset - start..];
        // Prefixes of two parts: what follows says which operator it is, a number of up to two bytes.
        let length = match opcode {
            [0xFB..=0xFE, second, ..] if *second >= 0x80 => 3,
            [0xFB..=0xFE, ..] => 2,
            _ => 1,
        };
        opcode.iter().take(length).for_each(|byte| hash.add(u32::from(*byte)));
        match &operator {
            Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index } => {
                hash.add(*local_index);
            }
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } => hash.add(*relative_depth),
            Operator::BrTable { targets } => {
                for target in targets.targets() {
                    hash.add(target?);
                }
                hash.add(targets.default());
            }
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                hash.add(u32::from(matches!(blockty, BlockType::Empty)));
            }
            _ => {}
        }
        branches += usize::from(is_branch(&operator));
    }
    Ok((hash.0, branches))
}

/// FNV-1a, <https://datatracker.ietf.org/doc/html/rfc9923>: the same wherever and whenever it is computed.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, number: u32) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}
