//! The operator's lists of hosts.

use globset::{Glob, GlobSet, GlobSetBuilder};
use url::Host;

/// Longest name of a host (RFC 1035), brackets and all.
const MAX_LENGTH: usize = 255;

/// A pattern is no pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host pattern `{pattern}`: {problem}")]
pub struct HostPatternError {
    /// Pattern as it was given.
    pub pattern: String,
    /// Description of the error.
    pub problem: String,
}

/// Patterns as `example.com`, `*.example.com` (its subdomains, not itself), `10.0.*`, `[fd00:*`. A `*` stands for any
/// characters; case does not matter, and names are compared as a browser writes them (`xn--…`).
#[derive(Debug)]
pub(super) struct Hosts {
    names: GlobSet,
    /// Apart: `10.*` must not match `10.example.com`.
    addresses: GlobSet,
}

impl Hosts {
    pub(super) fn new(patterns: &[String]) -> Result<Self, HostPatternError> {
        let (mut names, mut addresses) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let error = |problem: String| HostPatternError { pattern: pattern.clone(), problem };
            let (ascii, kind) = match are_addresses(pattern) {
                true => (pattern.to_ascii_lowercase(), &mut addresses),
                false => (ascii(pattern).map_err(|problem| error(problem.to_owned()))?, &mut names),
            };
            let glob: Vec<String> = ascii.split('*').map(globset::escape).collect();
            kind.add(Glob::new(&glob.join("*")).map_err(|problem| error(problem.to_string()))?);
        }
        let told =
            |problem: globset::Error| HostPatternError { pattern: "…".to_owned(), problem: problem.to_string() };
        Ok(Self { names: names.build().map_err(told)?, addresses: addresses.build().map_err(told)? })
    }

    /// Returns whether a pattern matches `host`.
    pub(super) fn contain(&self, host: &Host) -> bool {
        let name = host.to_string();
        // The dot of the root makes no other host.
        let name = name.strip_suffix('.').unwrap_or(&name);
        let is_address = match host {
            Host::Domain(_) => false,
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        };
        self.names.is_match(name) || (is_address && self.addresses.is_match(name))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.addresses.is_empty()
    }
}

/// Returns whether `pattern` stands for several addresses. A pattern for a single address is parsed as a host.
fn are_addresses(pattern: &str) -> bool {
    let of_version_4 = |b: u8| b.is_ascii_digit() || b".*".contains(&b);
    let of_version_6 = |b: u8| b.is_ascii_hexdigit() || b"*:[]".contains(&b);
    let in_brackets = pattern.starts_with('[') && pattern.bytes().all(of_version_6);
    let has_digit = pattern.bytes().any(|b| b.is_ascii_digit());
    pattern.len() <= MAX_LENGTH
        && pattern.contains('*')
        && (in_brackets || (has_digit && pattern.bytes().all(of_version_4)))
}

/// The pattern as hosts are compared.
fn ascii(pattern: &str) -> Result<String, &'static str> {
    if pattern.is_empty() {
        return Err("it is empty");
    }
    if pattern.len() > MAX_LENGTH {
        return Err("it is longer than the name of a host can be");
    }
    if pattern.contains(['/', '@']) {
        return Err("it is a URL or a network; only the host is compared");
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
        let patterns = ["Example.com", "*.example.org", "10.0.*", "[::1]", "[fd*", "bücher.de"];
        let hosts = hosts(&patterns).expect("they are fine");
        let contain = |host: &str| hosts.contain(&Host::parse(host).expect("a host"));
        let names = ["example.com", "EXAMPLE.com.", "a.example.org", "a.b.example.org", "xn--bcher-kva.de"];
        for host in names.into_iter().chain(["10.0.0.1", "[::1]", "[fd00:ec2::254]"]) {
            assert!(contain(host), "{host}");
        }
        let names = ["a.example.com", "example.org", "notexample.org", "example.comx", "10.0.example.net"];
        for host in names.into_iter().chain(["110.0.0.1", "[::2]"]) {
            assert!(!contain(host), "{host}");
        }
        let all = super::tests::hosts(&["*"]).expect("everything");
        assert!(all.contain(&Host::parse("a.example").expect("a host")));
        assert!(all.contain(&Host::parse("[::1]").expect("a host")));
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        for (pattern, problem) in [
            ("", "empty"),
            ("https://example.com", "a URL"),
            ("example.com:80", "a port"),
            ("10.0.0.0/8", "a network"),
            ("exa mple", "not the name"),
            (&"a".repeat(300), "longer"),
        ] {
            let error = hosts(&["fine.org", pattern]).expect_err(pattern);
            assert!(error.contains(problem) && error.contains(pattern), "{error}");
        }
    }
}
