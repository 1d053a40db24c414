//! A pack: one TOML file in `policies/`.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::domain::grant::{Ceiling, Limits};

/// A pack can't be used; the process does not start.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The file can't be read.
    #[error("reading policy {path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a pack; the message has line and column.
    #[error("policy {path}: {source}")]
    Parse {
        /// The file.
        path: String,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// A range has no value in it.
    #[error("policy {path}: limits.{field}: it must hold that least <= default <= most")]
    Range {
        /// The file.
        path: String,
        /// The limit.
        field: &'static str,
    },
}

/// One pack.
#[derive(Clone, Debug)]
pub struct Pack {
    /// For people.
    pub description: String,
    /// What a run may use.
    pub ceiling: Ceiling,
    /// What a request may hold.
    pub request: RequestLimits,
}

/// What a request may hold.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLimits {
    /// Bytes of the snippet, and of the tests' source.
    pub code_bytes: usize,
    /// Test cases.
    pub cases: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    description: String,
    limits: LimitsFile,
    request: RequestLimits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    fuel: Range<u64>,
    wall_seconds: Range<f64>,
    memory_bytes: Range<u64>,
    output_bytes: Range<u64>,
    files_bytes: Range<u64>,
    files_count: Range<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range<T> {
    default: T,
    least: T,
    most: T,
}

impl<T: PartialOrd + Copy> Range<T> {
    fn holds(&self) -> bool {
        self.least <= self.default && self.default <= self.most
    }
}

impl Pack {
    /// Parses the text of the pack at `path`.
    ///
    /// # Errors
    /// When it is not a pack, or a range is empty.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PackError> {
        let path = path.display().to_string();
        let file: PackFile =
            toml::from_str(text).map_err(|source| PackError::Parse { path: path.clone(), source: Box::new(source) })?;
        let l = &file.limits;
        let wall_holds = l.wall_seconds.holds() && l.wall_seconds.least > 0.0 && l.wall_seconds.most < 1e9;
        let checks = [
            ("fuel", l.fuel.holds()),
            ("wall_seconds", wall_holds),
            ("memory_bytes", l.memory_bytes.holds() && l.memory_bytes.most <= 1 << 32),
            ("output_bytes", l.output_bytes.holds()),
            ("files_bytes", l.files_bytes.holds()),
            ("files_count", l.files_count.holds()),
        ];
        if let Some((field, _)) = checks.iter().find(|(_, holds)| !holds) {
            return Err(PackError::Range { path, field });
        }
        let limits = |of: fn(&Range<u64>) -> u64, wall: f64| Limits {
            fuel: of(&l.fuel),
            wall: Duration::from_secs_f64(wall),
            memory_bytes: of(&l.memory_bytes),
            output_bytes: of(&l.output_bytes),
            files_bytes: of(&l.files_bytes),
            files_count: of(&l.files_count),
        };
        let ceiling = Ceiling {
            default: limits(|range| range.default, l.wall_seconds.default),
            least: limits(|range| range.least, l.wall_seconds.least),
            most: limits(|range| range.most, l.wall_seconds.most),
        };
        Ok(Self { description: file.description, ceiling, request: file.request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: &str = include_str!("../../policies/default.toml");

    fn parse(text: &str) -> Result<Pack, String> {
        Pack::parse(Path::new("p.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let error = parse(&DEFAULT.replace("[limits.fuel]", "[limits.fule]")).expect_err("fule is unknown");
        assert!(error.contains("fule") && error.contains("line"), "{error}");
    }

    #[test]
    fn an_empty_range_is_refused_by_name() {
        let error = parse(&DEFAULT.replace("default = 30.0", "default = 1000.0")).expect_err("1000 is above 600");
        assert!(error.contains("limits.wall_seconds"), "{error}");
    }
}
