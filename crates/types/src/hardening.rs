//! Vocabulary of hardening: the level that is asked for, and the state of each layer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire_enum;

wire_enum! {
    /// Level of hardening that the operator asks for.
    #[derive(Default)]
    Hardening {
        /// Every layer that the kernel supports.
        #[default]
        BestEffort = "best-effort",
        /// Every layer; without one of them the service does not start.
        Require = "require",
        /// No hardening at all.
        Off = "off",
    }
}

/// Layer of hardening: one kind of privilege that a process drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// No program that it starts can have more rights than it has.
    NoNewPrivileges,
    /// No core dump, and nobody else of its user may read its memory.
    NotDumpable,
    /// No capabilities of the superuser.
    Capabilities,
    /// No core file; in workers no files, descriptors or processes.
    ResourceLimits,
    /// Landlock rules for files, TCP and signals.
    Landlock,
    /// Filter of system calls.
    Seccomp,
}

impl Layer {
    /// Returns the name of the layer in answers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoNewPrivileges => "no_new_privileges",
            Self::NotDumpable => "not_dumpable",
            Self::Capabilities => "capabilities",
            Self::ResourceLimits => "resource_limits",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

/// State of one layer of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerState {
    /// Layer that the state is about.
    pub layer: Layer,
    /// True when the layer is in force.
    pub in_force: bool,
    /// Reason why the layer is not in force, or the part of it that this kernel lacks.
    pub detail: Option<String>,
}

/// State of every layer of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardened(pub Vec<LayerState>);

impl Hardened {
    /// Iterates over the layers that are not in force.
    pub fn missing(&self) -> impl Iterator<Item = &LayerState> {
        self.0.iter().filter(|state| !state.in_force)
    }
}

/// `no_new_privileges, landlock (without …); missing: seccomp (why)`
impl fmt::Display for Hardened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |in_force: bool| {
            let states = self.0.iter().filter(|state| state.in_force == in_force);
            let words = states.map(|state| match &state.detail {
                Some(detail) => format!("{} ({detail})", state.layer.name()),
                None => state.layer.name().to_owned(),
            });
            words.collect::<Vec<_>>().join(", ")
        };
        let (held, missing) = (list(true), list(false));
        match (held.is_empty(), missing.is_empty()) {
            (true, true) => f.write_str("off"),
            (false, true) => f.write_str(&held),
            (true, false) => write!(f, "missing: {missing}"),
            (false, false) => write!(f, "{held}; missing: {missing}"),
        }
    }
}
