//! Evaluators that a request can name instead of bringing its own (`tests.preset`).

/// Evaluator that comes with proofbox.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name of the preset in a request.
    pub name: &'static str,
    /// Python source; its docstring says what it does, and what it takes from `app_params`.
    pub source: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset {
            name: $name,
            source: include_str!(concat!("../../../runtimes/python-3.13/evaluators/", $name, ".py")),
        }),*]
    };
}

/// Every preset, in alphabetical order.
pub const PRESETS: &[Preset] =
    presets!["contains", "exact_match", "json_equality", "latency_budget", "regex", "token_budget"];

/// The source of the one of this name.
pub fn source(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.source)
}

impl Preset {
    /// Returns the first docstring of the source, trimmed.
    pub fn description(&self) -> &'static str {
        self.source.split("\"\"\"").nth(1).unwrap_or_default().trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_does() {
        for preset in PRESETS {
            assert!(preset.description().len() > 20, "{}", preset.name);
        }
    }
}
