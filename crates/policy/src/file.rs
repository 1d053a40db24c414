//! A pack: one TOML file in `policies/`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::engine::{Aggregation, Gate, Imports, ScannerRules};
use super::names::{NamePattern, NamePatternError};
use super::report::Action;
use super::scanners::patterns::{PatternRule, Patterns};
use super::scanners::urls::Urls;
use super::scanners::{Capability, Scanner};
use proofbox_types::grant::{Ceiling, Limits};
use proofbox_types::outcome::AttemptKind;
use proofbox_types::submission::Grading;

/// A pack can't be used; the process does not start.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The file can't be read.
    #[error("reading policy {path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// File that is not a pack; the message has line and column.
    #[error("policy {path}: {source}{hint}")]
    Parse {
        /// Path of the file.
        path: String,
        /// Parser's error, with its position.
        source: Box<toml::de::Error>,
        /// Suggestion of a key that may have been meant, or empty.
        hint: String,
    },
    /// A range has no value in it.
    #[error("policy {path}: limits.{field}: it must hold that least <= default <= most")]
    Range {
        /// Path of the file.
        path: String,
        /// Name of the limit.
        field: &'static str,
    },
    /// A value that means nothing.
    #[error("policy {path}: {field}: {message}")]
    Value {
        /// Path of the file.
        path: String,
        /// Name of the key.
        field: String,
        /// Description of the error.
        message: String,
    },
    /// More memory than the workers were started with.
    #[error(
        "policy {path}: limits.memory_bytes.most is {asked}; this process was started for at most {allowed}: restart it"
    )]
    Memory {
        /// Name of the pack.
        path: String,
        /// Maximum of memory that the pack allows, in bytes.
        asked: u64,
        /// Maximum of memory that the workers can give, in bytes.
        allowed: u64,
    },
}

/// Pack: limits, defaults and rules under one name.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Description for people.
    pub description: String,
    /// Limits of a run: default and range.
    pub ceiling: Ceiling,
    /// Limits of the request itself.
    pub request: RequestLimits,
    /// Defaults for what the request leaves out.
    pub defaults: Defaults,
    /// Rules for files that come with a request or go with its answer.
    pub files: FileRules,
    /// Consequences of attempts to reach outside the sandbox, by kind.
    pub boundary: BTreeMap<AttemptKind, BoundaryRule>,
    /// Names of the keys whose requests may use it; none means everybody's.
    pub keys: Option<Vec<String>>,
    /// Gate that scans the snippet.
    pub gate: Gate,
}

/// Limits of the request itself.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLimits {
    /// Bytes of the snippet, and of the tests' source.
    pub code_bytes: usize,
    /// Maximum number of test cases.
    pub cases: usize,
    /// Bytes of the code of one call of a session.
    pub cell_bytes: usize,
}

/// Defaults for what a request leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Interpreter in which Python tests run.
    pub grading: Grading,
    /// True when the answer reveals nothing of the tests.
    pub hidden: bool,
}

/// Rules for files that come with a request or go with its answer, as globs of their paths.
#[derive(Clone, Debug)]
pub struct FileRules {
    /// Globs of the paths in `files`.
    pub upload: GlobSet,
    /// True when files may be fetched, by `fetch_files` or from a session.
    pub fetch: bool,
}

/// Consequence of an attempt to reach outside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryRule {
    /// Report of the attempt, and nothing more.
    Report,
    /// Failure of the run, whatever else it did.
    Fail,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    description: String,
    limits: LimitsFile,
    request: RequestLimits,
    defaults: DefaultsFile,
    files: FilesFile,
    boundary: BoundaryFile,
    access: AccessFile,
    aggregation: AggregationFile,
    scanners: ScannersFile,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultsFile {
    grading: GradingWord,
    visibility: VisibilityWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum GradingWord {
    Isolated,
    InProcess,
    Auto,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum VisibilityWord {
    Full,
    Hidden,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesFile {
    upload: Vec<String>,
    fetch: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundaryFile {
    file: BoundaryRule,
    network: BoundaryRule,
    process: BoundaryRule,
    thread: BoundaryRule,
    environment: BoundaryRule,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessFile {
    keys: KeysFile,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "keys are \"everybody\", or a list of names of keys")]
enum KeysFile {
    Word(EverybodyWord),
    Names(Vec<String>),
}

#[derive(Deserialize)]
enum EverybodyWord {
    #[serde(rename = "everybody")]
    Everybody,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AggregationFile {
    mode: AggregationWord,
    /// Threshold of the rule `weighted`.
    threshold: Option<f64>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum AggregationWord {
    Any,
    All,
    Majority,
    Weighted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScannersFile {
    imports: ImportsFile,
    calls: CallsFile,
    capabilities: CapabilitiesFile,
    secrets: ScannerFile,
    malicious_url: UrlsFile,
    invisible_characters: ScannerFile,
    injection: ScannerFile,
    regex: RegexFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScannerFile {
    action: Action,
    threshold: f64,
    #[serde(default = "one")]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportsFile {
    action: Action,
    allow: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    #[serde(default = "one")]
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallsFile {
    action: Action,
    /// Reasons of denials, by pattern.
    deny: BTreeMap<String, String>,
    #[serde(default = "one")]
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilitiesFile {
    threshold: f64,
    #[serde(default = "one")]
    weight: f64,
    process: CapabilityFile,
    network: CapabilityFile,
    file_read: CapabilityFile,
    file_write: CapabilityFile,
    environment: CapabilityFile,
    dynamic_code: CapabilityFile,
    introspection: CapabilityFile,
    grader_tampering: CapabilityFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilityFile {
    action: Action,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlsFile {
    action: Action,
    threshold: f64,
    #[serde(default = "one")]
    weight: f64,
    allow: Vec<String>,
    deny: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegexFile {
    action: Action,
    threshold: f64,
    #[serde(default = "one")]
    weight: f64,
    rules: Vec<RegexRuleFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegexRuleFile {
    name: String,
    pattern: String,
    category: String,
    confidence: f64,
    reason: String,
}

impl Pack {
    /// Parses the text of the pack at `path`, to be called `name`.
    ///
    /// # Errors
    /// Returns an error when the text is not a pack, or a value in it means nothing.
    pub fn parse(name: &str, path: &Path, text: &str) -> Result<Self, PackError> {
        let path = path.display().to_string();
        let file: PackFile = toml::from_str(text).map_err(|source| {
            let hint = hint(source.message());
            PackError::Parse { path: path.clone(), source: Box::new(source), hint }
        })?;
        let ceiling = ceiling(&file.limits).map_err(|field| PackError::Range { path: path.clone(), field })?;
        let wrong =
            |field: &str, message: String| PackError::Value { path: path.clone(), field: field.to_owned(), message };
        let keys = match file.access.keys {
            KeysFile::Word(EverybodyWord::Everybody) => None,
            KeysFile::Names(names) => Some(names),
        };
        let mut upload = GlobSetBuilder::new();
        for glob in &file.files.upload {
            upload.add(Glob::new(glob).map_err(|error| wrong("files.upload", error.to_string()))?);
        }
        let upload = upload.build().map_err(|error| wrong("files.upload", error.to_string()))?;
        let boundary = &file.boundary;
        let boundary = BTreeMap::from([
            (AttemptKind::File, boundary.file),
            (AttemptKind::Network, boundary.network),
            (AttemptKind::Process, boundary.process),
            (AttemptKind::Thread, boundary.thread),
            (AttemptKind::Environment, boundary.environment),
        ]);
        let defaults = Defaults {
            grading: match file.defaults.grading {
                GradingWord::Isolated => Grading::Isolated,
                GradingWord::InProcess => Grading::InProcess,
                GradingWord::Auto => Grading::Auto,
            },
            hidden: matches!(file.defaults.visibility, VisibilityWord::Hidden),
        };
        let gate = gate(name, file.scanners, &file.aggregation).map_err(|(field, message)| wrong(&field, message))?;
        Ok(Self {
            description: file.description,
            ceiling,
            request: file.request,
            defaults,
            files: FileRules { upload, fetch: file.files.fetch },
            boundary,
            keys,
            gate,
        })
    }
}

fn ceiling(l: &LimitsFile) -> Result<Ceiling, &'static str> {
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
        return Err(field);
    }
    let limits = |of: fn(&Range<u64>) -> u64, wall: f64| Limits {
        fuel: of(&l.fuel),
        wall: Duration::from_secs_f64(wall),
        memory_bytes: of(&l.memory_bytes),
        output_bytes: of(&l.output_bytes),
        files_bytes: of(&l.files_bytes),
        files_count: of(&l.files_count),
    };
    Ok(Ceiling {
        default: limits(|range| range.default, l.wall_seconds.default),
        least: limits(|range| range.least, l.wall_seconds.least),
        most: limits(|range| range.most, l.wall_seconds.most),
    })
}

/// A key, and what is wrong with it.
type Wrong = (String, String);

fn gate(name: &str, scanners: ScannersFile, aggregation: &AggregationFile) -> Result<Gate, Wrong> {
    let ScannersFile { imports, calls, capabilities, secrets, malicious_url, invisible_characters, injection, regex } =
        scanners;
    let rules = |scanner: Scanner, action: Action, threshold: f64, weight: f64| {
        let field = |key: &str| format!("scanners.{}.{key}", scanner.as_str());
        if !(0.0..=1.0).contains(&threshold) {
            return Err((field("threshold"), "a confidence lies between 0 and 1".to_owned()));
        }
        if !(0.0..=1000.0).contains(&weight) {
            return Err((field("weight"), "a weight lies between 0 and 1000".to_owned()));
        }
        let texts = !matches!(scanner, Scanner::Imports | Scanner::Calls | Scanner::Capabilities);
        if action == Action::Redact && !texts {
            return Err((field("action"), "only texts can be redacted: take flag or block".to_owned()));
        }
        Ok((scanner, ScannerRules { action, threshold, weight }))
    };
    let plain = |scanner: Scanner, file: &ScannerFile| rules(scanner, file.action, file.threshold, file.weight);
    let rules = BTreeMap::from([
        rules(Scanner::Imports, imports.action, 0.0, imports.weight)?,
        rules(Scanner::Calls, calls.action, 0.0, calls.weight)?,
        rules(Scanner::Capabilities, Action::Flag, capabilities.threshold, capabilities.weight)?,
        plain(Scanner::Secrets, &secrets)?,
        rules(Scanner::MaliciousUrl, malicious_url.action, malicious_url.threshold, malicious_url.weight)?,
        plain(Scanner::InvisibleCharacters, &invisible_characters)?,
        plain(Scanner::Injection, &injection)?,
        rules(Scanner::Regex, regex.action, regex.threshold, regex.weight)?,
    ]);
    let c = capabilities;
    let words = [
        (Capability::Process, c.process),
        (Capability::Network, c.network),
        (Capability::FileRead, c.file_read),
        (Capability::FileWrite, c.file_write),
        (Capability::Environment, c.environment),
        (Capability::DynamicCode, c.dynamic_code),
        (Capability::Introspection, c.introspection),
        (Capability::GraderTampering, c.grader_tampering),
    ];
    if let Some((capability, _)) = words.iter().find(|(_, file)| file.action == Action::Redact) {
        let field = format!("scanners.capabilities.{}.action", capability.as_str());
        return Err((field, "only texts can be redacted: take flag or block".to_owned()));
    }
    let capabilities = words.into_iter().map(|(word, file)| (word, (file.action, file.reason))).collect();
    let names = |field: &str, texts: Vec<String>| -> Result<Vec<NamePattern>, Wrong> {
        let parsed: Result<_, NamePatternError> = texts.iter().map(|text| NamePattern::parse(text)).collect();
        parsed.map_err(|error| (field.to_owned(), error.to_string()))
    };
    let imports = match (imports.allow, imports.deny) {
        (Some(allow), None) => Imports::Allow(names("scanners.imports.allow", allow)?),
        (None, Some(deny)) => Imports::Deny(names("scanners.imports.deny", deny)?),
        _ => {
            return Err(("scanners.imports".to_owned(), "give either `allow` or `deny`, a list of modules".to_owned()));
        }
    };
    let mut denied = Vec::new();
    for (pattern, reason) in calls.deny {
        let pattern = NamePattern::parse(&pattern).map_err(|e| ("scanners.calls.deny".to_owned(), e.to_string()))?;
        denied.push((pattern, reason));
    }
    let urls = Urls::new(&malicious_url.allow, &malicious_url.deny)
        .map_err(|error| ("scanners.malicious_url".to_owned(), error.to_string()))?;
    let patterns: Vec<PatternRule> = regex
        .rules
        .into_iter()
        .map(|RegexRuleFile { name, pattern, category, confidence, reason }| PatternRule {
            name,
            pattern,
            category,
            confidence,
            reason,
        })
        .collect();
    let patterns = Patterns::new(&patterns).map_err(|error| ("scanners.regex.rules".to_owned(), error.to_string()))?;
    let aggregation = match (&aggregation.mode, aggregation.threshold) {
        (AggregationWord::Any, None) => Aggregation::Any,
        (AggregationWord::All, None) => Aggregation::All,
        (AggregationWord::Majority, None) => Aggregation::Majority,
        (AggregationWord::Weighted, Some(threshold)) if (0.0..=1.0).contains(&threshold) => {
            Aggregation::Weighted(threshold)
        }
        _ => {
            let message = "mode \"weighted\" takes a threshold between 0 and 1, the others none".to_owned();
            return Err(("aggregation".to_owned(), message));
        }
    };
    let (urls, patterns) = (Arc::new(urls), Arc::new(patterns));
    Ok(Gate { name: name.to_owned(), rules, imports, calls: denied, capabilities, urls, patterns, aggregation })
}

/// Suggests the key that may have been meant by an unknown one; empty where nothing comes near.
fn hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.starts_with("unknown")) else { return String::new() };
    let nearest = quoted
        .map(|known| (strsim::damerau_levenshtein(unknown, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
    nearest.map_or(String::new(), |(_, known)| format!("\ndid you mean `{known}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: &str = include_str!("../../../policies/default.toml");

    fn parse(text: &str) -> Result<Pack, String> {
        Pack::parse("p", Path::new("p.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let error = parse(&DEFAULT.replace("[limits.fuel]", "[limits.fule]")).expect_err("fule is unknown");
        assert!(error.contains("fule") && error.contains("line") && error.contains("did you mean `fuel`?"), "{error}");
    }

    #[test]
    fn an_empty_range_is_refused_by_name() {
        let error = parse(&DEFAULT.replace("default = 30.0", "default = 1000.0")).expect_err("1000 is above 600");
        assert!(error.contains("limits.wall_seconds"), "{error}");
    }
}
