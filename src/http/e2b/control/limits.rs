//! Limits of sandboxes.

use super::super::E2b;
use super::super::error::E2bError;
use crate::service::SessionError;
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Ceiling};

/// Memory that a sandbox may use where the policy allows it, in bytes.
const MEMORY_BYTES: u64 = 512 << 20;

/// Limits that clients of this API flavour expect, as the pack allows: they set time limits themselves, and end a call
/// by disconnecting.
pub(super) fn limits(e2b: &E2b, caller: &Caller) -> Result<AskedLimits, E2bError> {
    let policies = e2b.shared.service.policies.current();
    let pack = policies.pack(caller, "default").map_err(SessionError::from)?;
    let Ceiling { least, most, .. } = pack.ceiling;
    let memory_bytes = Some(MEMORY_BYTES.clamp(least.memory_bytes, most.memory_bytes));
    Ok(AskedLimits { memory_bytes, ..AskedLimits::from(&most) })
}
