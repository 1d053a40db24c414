//! Judgement of domain names.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_security::confusable_detection::skeleton;
use url::Host;

use super::{RuleHit, known};

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

pub(super) static METADATA: LazyLock<HashSet<&str>> = LazyLock::new(|| known::METADATA.iter().copied().collect());
static DROPS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::DROPS));
static SHORTENERS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::SHORTENERS));
static WILDCARD_DNS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::WILDCARD_DNS));
static GATEWAYS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::GATEWAYS));
static WELL_KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::WELL_KNOWN));
static WELL_KNOWN_BY_LOOKS: LazyLock<HashSet<String>> =
    LazyLock::new(|| known::WELL_KNOWN.split_whitespace().map(|host| skeleton(host).collect()).collect());

/// Names that are kept for examples (RFC 2606, RFC 6761).
pub(super) fn leads_nowhere(host: &Host) -> bool {
    let Host::Domain(name) = host else { return false };
    let mut labels = name.trim_end_matches('.').rsplit('.');
    let (top, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    ["example", "test", "invalid"].contains(&top) || (second == "example" && ["com", "net", "org"].contains(&top))
}

pub(super) fn of_domain(name: &str, written: &str) -> Option<RuleHit> {
    // The host itself and every domain it is under.
    let parents = || std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent));
    let under = |known: &HashSet<&str>| parents().any(|parent| known.contains(parent));
    let last = parents().find(|parent| parent.matches('.').count() == 1).unwrap_or(name);
    let top = name.rsplit('.').next().unwrap_or(name);
    if under(&METADATA) {
        return Some(("metadata_host", 0.95, "Clouds give credentials away at this host."));
    }
    if top == "localhost" {
        return Some(("local_host", 0.2, "This host is the machine itself."));
    }
    if top == "onion" {
        return Some(("onion_host", 0.85, "This host is in the Tor network."));
    }
    if under(&DROPS) {
        return Some(("drop_host", 0.8, "This host is used to get data out or code in."));
    }
    if under(&WILDCARD_DNS) {
        return Some(("wildcard_dns", 0.7, "This name leads to any address."));
    }
    if !WELL_KNOWN.contains(last) && lookalike(last) {
        return Some(("lookalike_host", 0.9, "This host looks like a well-known one and is another one."));
    }
    if name.split('.').any(|label| label.starts_with("xn--")) && !written.is_ascii() {
        // Written out it deceives less than in punycode, but a reader still can't tell similar letters.
        return Some(("international_host", 0.3, "This host has letters that others look like."));
    }
    if name.split('.').any(|label| label.starts_with("xn--")) {
        return Some(("punycode_host", 0.5, "This host hides its letters."));
    }
    if under(&SHORTENERS) {
        return Some(("shortened_url", 0.6, "This URL hides where it leads."));
    }
    if under(&GATEWAYS) {
        return Some(("gateway_host", 0.5, "This host gives what nobody answers for."));
    }
    None
}

/// Returns whether `domain` imitates a well-known domain: `paypa1.com`, and with letters of other scripts.
fn lookalike(domain: &str) -> bool {
    let (unicode, _) = idna::domain_to_unicode(domain);
    let looks: String = skeleton(&unicode).collect();
    WELL_KNOWN_BY_LOOKS.contains(&looks) || WELL_KNOWN_BY_LOOKS.contains(&looks.replace('O', "o"))
}

/// `https://google.com@evil.test`: what stands before the `@` is not where it leads.
pub(super) fn disguised_host(userinfo: &str) -> Option<RuleHit> {
    let user = userinfo.trim_end_matches('@');
    let user = user.split(':').next().unwrap_or(user);
    let domain = user.rsplit('.').take(2).collect::<Vec<_>>();
    let is_domain = domain.len() == 2 && WELL_KNOWN.contains(format!("{}.{}", domain[1], domain[0]).as_str());
    is_domain.then_some(("disguised_host", 0.9, "The host that a reader sees is only the name of a user."))
}
