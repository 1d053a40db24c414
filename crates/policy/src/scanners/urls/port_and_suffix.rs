//! Judgement of the parts of a URL besides its host: scheme, port, file.

use url::{Host, Url};

use super::{RuleHit, known};

/// Judgements of schemes, by name.
const SCHEMES: &[(&str, RuleHit)] = &[
    ("gopher", ("dangerous_scheme", 0.9, "gopher: URLs speak to any server.")),
    ("dict", ("dangerous_scheme", 0.85, "dict: URLs speak to any server.")),
    ("file", ("file_url", 0.6, "file: URLs read the machine's files.")),
    ("ldap", ("dangerous_scheme", 0.6, "ldap: URLs can load code.")),
    ("ldaps", ("dangerous_scheme", 0.6, "ldap: URLs can load code.")),
    ("rmi", ("dangerous_scheme", 0.8, "rmi: URLs load code.")),
    ("jar", ("dangerous_scheme", 0.7, "jar: URLs load code.")),
    ("netdoc", ("dangerous_scheme", 0.8, "netdoc: URLs read the machine's files.")),
    ("phar", ("dangerous_scheme", 0.8, "phar: URLs load code.")),
    ("expect", ("dangerous_scheme", 0.8, "expect: URLs run commands.")),
    ("php", ("dangerous_scheme", 0.7, "php: URLs read the machine's files.")),
    ("smb", ("dangerous_scheme", 0.6, "smb: URLs give credentials away.")),
    ("tftp", ("dangerous_scheme", 0.7, "tftp: URLs send packets to any server.")),
    ("ftp", ("ftp_url", 0.3, "ftp: URLs are not encrypted.")),
];

/// Of a scheme, in small letters.
pub(super) fn of_scheme(scheme: &str) -> Option<RuleHit> {
    SCHEMES.iter().find(|(name, _)| *name == scheme).map(|(_, hit)| *hit)
}

/// Of a file that a machine runs.
pub(super) fn executable(url: &Url, host: &Host) -> Option<RuleHit> {
    let name = url.path_segments()?.next_back()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    if stem.is_empty() || !known::EXECUTABLE.split_whitespace().any(|one| one == extension) {
        return None;
    }
    match host {
        Host::Ipv4(address) if address.is_loopback() => None,
        Host::Ipv4(_) | Host::Ipv6(_) => Some(("executable_download", 0.9, "A program to be loaded from an address.")),
        Host::Domain(name) if name == "localhost" => None,
        Host::Domain(_) => Some(("executable_download", 0.5, "A program to be loaded.")),
    }
}

/// Of a port that web servers do not use.
pub(super) fn odd_port(url: &Url, host: &Host) -> Option<RuleHit> {
    let local =
        matches!(host, Host::Domain(name) if name == "localhost") || matches!(host, Host::Ipv4(a) if a.is_loopback());
    let web = ["http", "https"].contains(&url.scheme());
    let odd = web && !local && url.port().is_some_and(|port| !known::ORDINARY_PORTS.contains(&port));
    odd.then_some(("odd_port", 0.3, "Web servers rarely listen on this port."))
}
