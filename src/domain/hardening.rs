//! What a process has given up: the vocabulary of what is asked for, and of what came of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much hardening is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hardening {
    /// None.
    Off,
    /// What the kernel has.
    #[default]
    BestEffort,
    /// All layers, or no service.
    Require,
}

/// One thing that a process gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// No program that it starts can have more rights than it has.
    NoNewPrivileges,
    /// No core dump, and nobody else of its user may read its memory.
    NotDumpable,
    /// None of root's powers.
    Capabilities,
    /// No core file; in workers no files, descriptors or processes.
    ResourceLimits,
    /// Files, TCP, signals.
    Landlock,
    /// System calls.
    Seccomp,
}

impl Layer {
    /// Its name in answers, logs and metrics.
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

/// What came of one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerState {
    /// Which.
    pub layer: Layer,
    /// It holds.
    pub in_force: bool,
    /// Why not, or what of it this kernel lacks.
    pub detail: Option<String>,
}

/// What came of all layers of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardened(pub Vec<LayerState>);

impl Hardened {
    /// Those that do not hold.
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
