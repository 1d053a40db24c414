//! The operator's lists of hosts.

use globset::{Glob, GlobSet, GlobSetBuilder};
use url::Host;

/// Longest name of a host (RFC 1035), brackets and all.
const LONGEST: usize = 255;

/// A pattern is no pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host pattern `{pattern}`: {problem}")]
pub struct HostPatternError {
    /// As it was given.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Patterns as `example.com`, `*.example.com` (its subdomains, not itself), `10.0.*`, `[::1]`. A `*` stands for any
/// characters; case does not matter, and names are compared as a browser writes them (`xn--…`).
#[derive(Debug)]
pub(super) struct Hosts(GlobSet);

impl Hosts {
    pub(super) fn new(patterns: &[String]) -> Result<Self, HostPatternError> {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            let error = |problem: String| HostPatternError { pattern: pattern.clone(), problem };
            let ascii = ascii(pattern).map_err(|problem| error(problem.to_owned()))?;
            let glob: Vec<String> = ascii.split('*').map(globset::escape).collect();
            globs.add(Glob::new(&glob.join("*")).map_err(|problem| error(problem.to_string()))?);
        }
        let told =
            |problem: globset::Error| HostPatternError { pattern: "…".to_owned(), problem: problem.to_string() };
        Ok(Self(globs.build().map_err(told)?))
    }

    /// Whether a pattern matches `host`, as [`url::Url::host_str`] writes it.
    pub(super) fn contain(&self, host: &str) -> bool {
        self.0.is_match(host)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The pattern as hosts are compared.
fn ascii(pattern: &str) -> Result<String, &'static str> {
    if pattern.is_empty() {
        return Err("it is empty");
    }
    if pattern.len() > LONGEST {
        return Err("it is longer than the name of a host can be");
    }
    if pattern.contains(['/', '@']) || pattern.contains("://") {
        return Err("it is a URL; only the host is compared");
    }
    // The start of an address is no host of its own.
    if pattern.contains('*') && pattern.bytes().all(|b| b.is_ascii_hexdigit() || b"*.:[]".contains(&b)) {
        return Ok(pattern.to_ascii_lowercase());
    }
    match Host::parse(pattern) {
        Ok(host) => Ok(host.to_string()),
        Err(_) if pattern.contains(':') => Err("a port is not compared; an IPv6 address stands in brackets"),
        Err(_) => Err("it is not the name of a host or an address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(patterns: &[&str]) -> Result<Hosts, String> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Hosts::new(&patterns).map_err(|error| error.to_string())
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        let hosts = hosts(&["Example.com", "*.example.org", "10.0.*", "[::1]", "bücher.de"]).expect("patterns");
        for host in ["example.com", "a.example.org", "a.b.example.org", "10.0.0.1", "[::1]", "xn--bcher-kva.de"] {
            assert!(hosts.contain(host), "{host}");
        }
        for host in ["a.example.com", "example.org", "notexample.org", "example.comx", "110.0.0.1", "[::2]"] {
            assert!(!hosts.contain(host), "{host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        for (pattern, problem) in [
            ("", "empty"),
            ("https://example.com", "a URL"),
            ("example.com:80", "a port"),
            ("exa mple", "not the name"),
            (&"a".repeat(300), "longer"),
        ] {
            let error = hosts(&["fine.org", pattern]).expect_err(pattern);
            assert!(error.contains(problem) && error.contains(pattern), "{error}");
        }
    }
}
