//! Judgement of IP addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::RuleHit;
use super::known;

/// Of an address of IPv4; `written` is how the program has it.
pub(super) fn v4(address: Ipv4Addr, written: &str) -> Option<RuleHit> {
    let hit = plain(address);
    let host = written.rsplit_once(':').map_or(written, |(host, _)| host);
    // A browser takes decimal, octal, hexadecimal and percent-encoded forms, and fewer parts than four.
    let usual = host.trim_end_matches('.') == address.to_string();
    let leads = hit.is_some() || !is_for_documentation(address);
    if !usual && leads {
        return Some(("disguised_address", 0.9, "An address that is written so that it is not seen."));
    }
    hit
}

fn plain(address: Ipv4Addr) -> Option<RuleHit> {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    if known::METADATA.contains(&address.to_string().as_str()) {
        return Some(("metadata_host", 0.95, "Clouds give credentials away at this host."));
    }
    if is_for_documentation(address) {
        return None;
    }
    if address.is_loopback() || address.is_unspecified() {
        return Some(("local_host", 0.2, "This host is the machine itself."));
    }
    if address.is_link_local() {
        return Some(("link_local_address", 0.7, "An address of the link the machine is on."));
    }
    if address.is_private() || shared {
        return Some(("private_address", 0.5, "An address inside a private network."));
    }
    if address.is_broadcast() || address.is_multicast() {
        return Some(("private_address", 0.5, "An address of many machines."));
    }
    Some(("address", 0.5, "A host without a name."))
}

/// Of an address of IPv6, or of one of IPv4 inside it.
pub(super) fn v6(address: Ipv6Addr) -> Option<RuleHit> {
    let [first, second, ..] = address.segments();
    let inside = address.to_ipv4_mapped().or_else(|| embedded(address));
    if let Some(inside) = inside {
        let hit = plain(inside)?;
        return Some(if hit.0 == "metadata_host" { hit } else { (hit.0, hit.1.max(0.7), hit.2) });
    }
    if address.is_loopback() || address.is_unspecified() {
        return Some(("local_host", 0.2, "This host is the machine itself."));
    }
    match first {
        // RFC 3849.
        0x2001 if second == 0x0db8 => None,
        0xfe80..=0xfebf => Some(("link_local_address", 0.7, "An address of the link the machine is on.")),
        0xfc00..=0xfdff => Some(("private_address", 0.5, "An address inside a private network.")),
        _ => Some(("address", 0.5, "A host without a name.")),
    }
}

/// Of 6to4 (RFC 3056) and NAT64 (RFC 6052).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, third, fourth, _, _, high, low] = address.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match (first, second) {
        (0x2002, _) => Some(of(second, third)),
        (0x64, 0xff9b) if third == 0 && fourth == 0 => Some(of(high, low)),
        _ => None,
    }
}

/// RFC 5737: they lead nowhere.
fn is_for_documentation(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _])
}
