//! URLs: those that lead where a program has no business, and those that are not what they seem.
//!
//! A URL is parsed as a browser does (url.spec.whatwg.org), so every way to write an address is the same address. Hosts
//! that matter without a URL around them are found alone, too. The operator's denials beat the allowances, and those beat
//! everything that is guessed here.

mod address;
mod hosts;
mod known;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use unicode_security::confusable_detection::skeleton;
use url::{Host, Url};

pub use self::hosts::HostPatternError;
use self::hosts::Hosts;
use super::fragment::{Fragment, FragmentKind, Match, Strongest};

/// Of every match.
const CATEGORY: &str = "url";
/// Longest URL that is parsed; of a longer one the start is.
const LONGEST: usize = 2048;
/// Longest scheme that is looked at.
const LONGEST_SCHEME: usize = 24;
/// Longest literal that could be a host and a port.
const LONGEST_HOST: usize = 263;

/// What is wrong with a URL or a host: rule, confidence, reason.
type Told = (&'static str, f64, &'static str);

/// Rules about schemes, for URLs that have no host or whose host says nothing.
const SCHEMES: &[(&str, Told)] = &[
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

#[derive(Clone, Copy)]
enum Anchor {
    /// `://`
    Authority,
    /// `javascript:`
    Script,
    /// `data:`
    Data,
    Metadata,
    Drop,
    Onion,
}

struct Anchors {
    automaton: AhoCorasick,
    kinds: Vec<Anchor>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let schemes = [
        ("://", Anchor::Authority),
        ("javascript:", Anchor::Script),
        ("vbscript:", Anchor::Script),
        ("data:", Anchor::Data),
    ];
    let metadata = known::METADATA.iter().map(|host| (host.trim_matches(['[', ']']), Anchor::Metadata));
    let drops = known::DROPS.split_whitespace().map(|host| (host, Anchor::Drop));
    let (texts, kinds): (Vec<_>, Vec<_>) =
        schemes.into_iter().chain(metadata).chain(drops).chain([(".onion", Anchor::Onion)]).unzip();
    let automaton = AhoCorasickBuilder::new()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        // One of Google's names begins as another does.
        .match_kind(MatchKind::LeftmostLongest)
        .build(&texts)
        .expect("few short patterns make a small automaton");
    Anchors { automaton, kinds }
});

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

static METADATA: LazyLock<HashSet<&str>> = LazyLock::new(|| known::METADATA.iter().copied().collect());
static DROPS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::DROPS));
static SHORTENERS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::SHORTENERS));
static WILDCARD_DNS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::WILDCARD_DNS));
static GATEWAYS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::GATEWAYS));
static WELL_KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| set(known::WELL_KNOWN));
static WELL_KNOWN_BY_LOOKS: LazyLock<HashSet<String>> =
    LazyLock::new(|| known::WELL_KNOWN.split_whitespace().map(|host| skeleton(host).collect()).collect());

/// Looks for URLs and hosts.
#[derive(Debug)]
pub struct Urls {
    allow: Hosts,
    deny: Hosts,
}

impl Urls {
    /// Patterns are hosts as `example.com` or `*.example.com`, whose `*` stands for any characters.
    ///
    /// # Errors
    /// When a pattern is none.
    pub fn new(allow: &[String], deny: &[String]) -> Result<Self, HostPatternError> {
        Ok(Self { allow: Hosts::new(allow)?, deny: Hosts::new(deny)? })
    }

    /// Looks for URLs that lead where a program has no business. A password in a URL is never part of a match.
    pub fn scan(&self, fragment: &Fragment, found: &mut Vec<Match>) {
        if fragment.kind == FragmentKind::Identifier {
            return;
        }
        let text = fragment.text;
        let mut found = Strongest::new(found);
        let mut end = 0;
        for hit in ANCHORS.automaton.find_iter(text) {
            if hit.start() < end {
                continue;
            }
            let at = hit.range();
            match ANCHORS.kinds[hit.pattern()] {
                Anchor::Authority => {
                    let Some(range) = url_around(text, at, end) else { continue };
                    end = range.end;
                    self.in_url(text, range, &mut found);
                }
                Anchor::Script => push(script(text, at, end), &mut found),
                Anchor::Data => push(data(text, at, end), &mut found),
                Anchor::Metadata | Anchor::Drop | Anchor::Onion => {
                    if let Some(range) = host_around(text, at, end) {
                        end = range.end;
                        self.in_host(fragment, range, &mut found);
                    }
                }
            }
        }
        if end == 0
            && let FragmentKind::Literal | FragmentKind::Folded = fragment.kind
        {
            self.alone(text, &mut found);
        }
    }

    /// The URL at `range`.
    fn in_url(&self, text: &str, range: Range<usize>, found: &mut Strongest) {
        let written = &text[range.clone()];
        let Ok(url) = Url::parse(written) else { return };
        let authority = written.find("://").map_or(0, |at| at + 3);
        let after = &written[authority..];
        let length = after.find(['/', '?', '#', '\\']).unwrap_or(after.len());
        let userinfo = after[..length].rfind('@').map_or(0, |at| at + 1);
        // What stands before the host may be a password.
        let shown = if userinfo == 0 { range } else { range.start + authority + userinfo..range.end };
        if shown.is_empty() {
            return;
        }
        let host_as_written = &after[userinfo..length];
        // A template is no host.
        let templates = ["{", "}", "$", "*", "%s", "%d", "%("];
        if templates.iter().any(|template| host_as_written.contains(template)) {
            return push(scheme(url.scheme()).map(|told| (shown, told)), found);
        }
        // Schemes that the specification does not know keep the host as it is written.
        let Some(host) = url.host_str().and_then(|host| Host::parse(host).ok()) else {
            return push(scheme(url.scheme()).map(|told| (shown, told)), found);
        };
        if let Some(listed) = self.listed(&host) {
            return push(listed.map(|told| (shown, told)), found);
        }
        if leads_nowhere(&host) {
            return push(scheme(url.scheme()).map(|told| (shown, told)), found);
        }
        let told = [
            of_host(&host, host_as_written),
            scheme(url.scheme()),
            disguised_host(&after[..userinfo]),
            executable(&url, &host),
            odd_port(&url, &host),
        ];
        push(strongest(told).map(|told| (shown, told)), found);
    }

    /// The host at `range`, which stands alone in the text.
    fn in_host(&self, fragment: &Fragment, range: Range<usize>, found: &mut Strongest) {
        let Ok(host) = Host::parse(&in_brackets(&fragment.text[range.clone()])) else { return };
        let told = match self.listed(&host) {
            Some(listed) => listed,
            None => of_host(&host, &fragment.text[range.clone()]).map(|(rule, confidence, reason)| {
                // Somebody writes about it.
                let factor = if fragment.kind == FragmentKind::Comment { 0.5 } else { 1.0 };
                let factor = if rule == "metadata_host" { factor } else { factor * 0.8 };
                (rule, confidence * factor, reason)
            }),
        };
        push(told.map(|told| (range, told)), found);
    }

    /// A literal that is a host, perhaps with a port, and nothing else.
    fn alone(&self, text: &str, found: &mut Strongest) {
        let of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b) || !b.is_ascii();
        if text.len() > LONGEST_HOST || text.len() < 4 || !text.bytes().all(of_host) {
            return;
        }
        let without_port = text.rsplit_once(':').filter(|(host, port)| {
            port.bytes().all(|b| b.is_ascii_digit()) && (!host.contains(':') || host.ends_with(']'))
        });
        let name = without_port.map_or(text, |(host, _)| host);
        let digits = name.bytes().all(|b| b.is_ascii_digit());
        let is_address = digits || name.bytes().all(|b| b.is_ascii_hexdigit() || b".:[]xX".contains(&b));
        if !is_address && (!name.contains('.') || self.deny.is_empty()) {
            return;
        }
        let Ok(host) = Host::parse(&in_brackets(name)) else { return };
        let range = 0..name.len();
        let told = match (self.listed(&host), &host) {
            (Some(listed), _) => listed,
            (None, Host::Domain(_)) => None,
            (None, Host::Ipv4(_) | Host::Ipv6(_)) => {
                let told = self::of_host(&host, name);
                match told {
                    Some(("metadata_host", ..)) => told,
                    // Any number is an address to a browser; a version has dots as well.
                    Some((_, _, reason)) if name.matches('.').count() == 3 || name.contains(':') => {
                        Some(("address", 0.3, reason))
                    }
                    Some(_) | None => None,
                }
            }
        };
        push(told.map(|told| (range, told)), found);
    }

    /// None when no list has `host`; otherwise what the list says of it.
    fn listed(&self, host: &Host) -> Option<Option<Told>> {
        let name = host.to_string();
        let name = name.strip_suffix('.').unwrap_or(&name);
        if self.deny.contain(name) {
            return Some(Some(("denied_host", 1.0, "The operator denies this host.")));
        }
        self.allow.contain(name).then_some(None)
    }
}

fn push(told: Option<(Range<usize>, Told)>, found: &mut Strongest) {
    if let Some((range, (rule, confidence, reason))) = told {
        found.push(Match { rule: rule.into(), category: CATEGORY.into(), range, confidence, reason: reason.into() });
    }
}

fn strongest(told: impl IntoIterator<Item = Option<Told>>) -> Option<Told> {
    told.into_iter().flatten().max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))
}

/// An IPv6 address stands in brackets in a URL.
fn in_brackets(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

fn scheme(scheme: &str) -> Option<Told> {
    SCHEMES.iter().find(|(name, _)| *name == scheme).map(|(_, told)| *told)
}

/// What is known of a host; `written` is how the program has it.
fn of_host(host: &Host, written: &str) -> Option<Told> {
    let name = host.to_string();
    let name = name.strip_suffix('.').unwrap_or(&name);
    if METADATA.contains(name) {
        return Some(("metadata_host", 0.95, "Clouds give credentials away at this host."));
    }
    match host {
        Host::Ipv4(address) => address::v4(*address, written),
        Host::Ipv6(address) => address::v6(*address),
        Host::Domain(_) => of_domain(name, written),
    }
}

/// Names that are kept for examples (RFC 2606, RFC 6761).
fn leads_nowhere(host: &Host) -> bool {
    let Host::Domain(name) = host else { return false };
    let mut labels = name.trim_end_matches('.').rsplit('.');
    let (top, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    ["example", "test", "invalid"].contains(&top) || (second == "example" && ["com", "net", "org"].contains(&top))
}

fn of_domain(name: &str, written: &str) -> Option<Told> {
    // The host itself and every domain it is under.
    let parents = || std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent));
    let under = |known: &HashSet<&str>| parents().any(|parent| known.contains(parent));
    let last = parents().find(|parent| parent.matches('.').count() == 1).unwrap_or(name);
    let top = name.rsplit('.').next().unwrap_or(name);
    if METADATA.contains(name) || under(&METADATA) {
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

/// Whether `domain` looks like one of the well-known: `paypa1.com`, and with letters of other scripts.
fn lookalike(domain: &str) -> bool {
    let (unicode, _) = idna::domain_to_unicode(domain);
    let looks: String = skeleton(&unicode).collect();
    WELL_KNOWN_BY_LOOKS.contains(&looks) || WELL_KNOWN_BY_LOOKS.contains(&looks.replace('O', "o"))
}

/// `https://google.com@evil.test`: what stands before the `@` is not where it leads.
fn disguised_host(userinfo: &str) -> Option<Told> {
    let user = userinfo.trim_end_matches('@');
    let user = user.split(':').next().unwrap_or(user);
    let domain = user.rsplit('.').take(2).collect::<Vec<_>>();
    let is_domain = domain.len() == 2 && WELL_KNOWN.contains(format!("{}.{}", domain[1], domain[0]).as_str());
    is_domain.then_some(("disguised_host", 0.9, "The host that a reader sees is only the name of a user."))
}

fn executable(url: &Url, host: &Host) -> Option<Told> {
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

fn odd_port(url: &Url, host: &Host) -> Option<Told> {
    let local =
        matches!(host, Host::Domain(name) if name == "localhost") || matches!(host, Host::Ipv4(a) if a.is_loopback());
    let web = ["http", "https"].contains(&url.scheme());
    let odd = web && !local && url.port().is_some_and(|port| !known::ORDINARY_PORTS.contains(&port));
    odd.then_some(("odd_port", 0.3, "Web servers rarely listen on this port."))
}

fn of_scheme(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+.-".contains(&b)
}

/// The URL whose `://` is at `at`; nothing before `from` belongs to it.
fn url_around(text: &str, at: Range<usize>, from: usize) -> Option<Range<usize>> {
    let before =
        text.as_bytes()[from..at.start].iter().rev().take(LONGEST_SCHEME).take_while(|b| of_scheme(**b)).count();
    let start = at.start - before;
    // A scheme begins with a letter: `12http` has one in it.
    let skipped = text.as_bytes()[start..at.start].iter().position(u8::is_ascii_alphabetic)?;
    let start = start + skipped;
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'<>`|^".contains(c);
    let rest = &text[at.end..];
    let limit = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= LONGEST);
    let mut length = 0;
    for (end, c) in limit.zip(rest.chars()) {
        if ends(c) {
            break;
        }
        length = end;
    }
    let url = without_what_follows(&rest[..length]);
    (!url.is_empty()).then_some(start..at.end + url.len())
}

/// `url` without what ends a sentence or closes a bracket around it; the bracket of an address stays.
fn without_what_follows(url: &str) -> &str {
    let mut url = url;
    // A text may end in thousands of them.
    for _ in 0..4 {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\\']);
        let closed = [('(', ')'), ('[', ']'), ('{', '}')]
            .iter()
            .any(|(open, close)| url.ends_with(*close) && !url.contains(*open));
        if !closed {
            break;
        }
        url = &url[..url.len() - 1];
    }
    url
}

/// The host of which `at` is the end, unless it goes on.
fn host_around(text: &str, at: Range<usize>, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let of_label = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let goes_on = match bytes.get(at.end) {
        Some(b'.') => bytes.get(at.end + 1).is_some_and(|b| of_label(*b)),
        Some(b) => of_label(*b),
        None => false,
    };
    let onion = text[at.clone()].starts_with('.');
    let before =
        bytes[from..at.start].iter().rev().take(LONGEST_HOST).take_while(|b| of_label(**b) || **b == b'.').count();
    let start = at.start - before;
    // Another word, or another address: `0.169.254.169.254`.
    let part = !onion && before > 0 && (bytes[at.start - 1] != b'.' || bytes[at.start].is_ascii_digit());
    // A hidden service has a name of 16 or 56 characters.
    let no_service = onion && !matches!(text[start..at.start].rsplit('.').next().map(str::len), Some(16 | 56));
    (!goes_on && !part && !no_service).then_some(start..at.end)
}

/// `javascript:alert(1)`; in prose a space follows.
fn script(text: &str, at: Range<usize>, from: usize) -> Option<(Range<usize>, Told)> {
    let bytes = text.as_bytes();
    if bytes[from..at.start].last().is_some_and(|b| of_scheme(*b) || *b == b'_') {
        return None;
    }
    let code =
        bytes[at.end..].iter().take(LONGEST).take_while(|b| b.is_ascii_graphic() && !b"\"'<>`".contains(b)).count();
    let body = &text[at.end..at.end + code];
    let harmless = ["", ";", "//", "void(0)", "void(0);", "void", ",", ")", "[", "{"].contains(&body);
    let calls = body.contains(['(', '=', '.']) || body.contains("%28");
    if harmless || !calls {
        return None;
    }
    Some((at.start..at.end + code, ("dangerous_scheme", 0.8, "A URL that runs a script.")))
}

/// `data:text/html,…`; an image is fine.
fn data(text: &str, at: Range<usize>, from: usize) -> Option<(Range<usize>, Told)> {
    let bytes = text.as_bytes();
    if bytes[from..at.start].last().is_some_and(|b| of_scheme(*b) || *b == b'_') {
        return None;
    }
    let kind =
        bytes[at.end..].iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"/+-.;=".contains(b)).count();
    let media = text[at.end..at.end + kind].to_ascii_lowercase();
    let scripted = ["text/html", "text/javascript", "application/javascript", "application/x-javascript", "text/xml"];
    let program = ["application/x-msdownload", "application/x-sh", "application/x-msdos-program", "application/hta"];
    let end = at.end + kind;
    // A comma separates the type from the data.
    if bytes.get(end) != Some(&b',') {
        return None;
    }
    let is = |kinds: &[&str]| kinds.iter().any(|kind| media.starts_with(kind));
    match () {
        () if is(&scripted) => {
            Some((at.start..end, ("dangerous_scheme", 0.7, "A URL that holds a page with scripts.")))
        }
        () if is(&program) => Some((at.start..end, ("dangerous_scheme", 0.8, "A URL that holds a program."))),
        () if is(&["image/svg+xml"]) => {
            Some((at.start..end, ("svg_url", 0.3, "A URL that holds an image with scripts.")))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fragment::tests::{check, comment, literal, random_texts, takes_linear_time};
    use super::*;

    fn of(urls: &Urls, fragment: &Fragment) -> Vec<(String, String, f64)> {
        let mut found = Vec::new();
        urls.scan(fragment, &mut found);
        check(fragment.text, &found);
        found
            .into_iter()
            .map(|one| {
                (one.rule.into_owned(), fragment.text[one.range].to_owned(), (one.confidence * 100.0).round() / 100.0)
            })
            .collect()
    }

    fn lists(allow: &[&str], deny: &[&str]) -> Urls {
        let owned = |list: &[&str]| list.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
        Urls::new(&owned(allow), &owned(deny)).expect("the patterns are fine")
    }

    fn found(text: &str) -> Vec<(String, String, f64)> {
        of(&lists(&[], &[]), &literal(text))
    }

    /// Rule and confidence of the one match in `text`.
    fn one(text: &str) -> (String, f64) {
        let found = found(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        (found[0].0.clone(), found[0].2)
    }

    #[test]
    fn ordinary_urls_are_fine() {
        for text in [
            "https://docs.python.org/3/library/re.html#re.compile",
            "http://www.google.com",
            "See https://github.com/a/b.",
            "https://example.com:9999/a.exe",
            "http://api.example.org/v1?q=1",
            "https://host.test/x",
            "http://192.0.2.1/a",
            "http://{host}:{port}/api",
            "https://%s/%s",
            "https://bücher.example/",
            "mailto:a@b.org",
            "https://",
            "https://www.kaggle.com/data.zip",
            "a://b",
            "://",
            "http://[2001:db8::1]/",
            "https://en.wikipedia.org/wiki/A_(b)",
            "https://user@github.com/a/b.git",
            "postgresql://user@host.corp/db",
            "1:2",
            "12:30:00",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn schemes_that_do_harm_are_found() {
        for (text, rule, least) in [
            ("javascript:alert(1)", "dangerous_scheme", 0.8),
            ("JavaScript:fetch('//x')", "dangerous_scheme", 0.8),
            ("vbscript:msgbox(1)", "dangerous_scheme", 0.8),
            ("data:text/html;base64,PHNjcmlwdD4=", "dangerous_scheme", 0.7),
            ("data:text/html,<script>", "dangerous_scheme", 0.7),
            ("gopher://host.corp:70/_x", "dangerous_scheme", 0.9),
            ("dict://host.corp:11211/stat", "dangerous_scheme", 0.85),
            ("ldap://host.corp/cn=a", "dangerous_scheme", 0.6),
            ("file:///etc/passwd", "file_url", 0.6),
            ("ftp://ftp.host.corp/a", "ftp_url", 0.3),
        ] {
            let found = one(text);
            assert!(found.0 == rule && found.1 >= least, "{text}: {found:?}");
        }
        for text in [
            "JavaScript: the good parts",
            "javascript:void(0)",
            "data:image/png;base64,iVBOR",
            "data: {a}",
            "metadata:text/html,",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn metadata_is_found_however_it_is_written() {
        for text in [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://0xA9FEA9FE/",
            "http://0251.0376.0251.0376/",
            "http://169.254.43518/",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/latest",
            "http://metadata.google.internal/computeMetadata/v1/",
            "http://METADATA.google.internal./",
            "http://100.100.100.200/",
            "169.254.169.254",
            "curl 169.254.169.254/latest",
            "metadata.google.internal",
            "fd00:ec2::254",
            "169.254.169.254:80",
            "0xA9FEA9FE",
            "2852039166",
            "http://%31%36%39.254.169.254/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://169.254.169.254",
            "http://①⑥⑨.254.169.254/",
        ] {
            let found = one(text);
            let known = ["metadata_host", "disguised_address"].contains(&found.0.as_str());
            assert!(known && found.1 >= 0.9, "{text}: {found:?}");
        }
        for text in
            ["1169.254.169.254", "169.254.169.2540", "169.254.169.254.1.2", "2852039165", "xmetadata.google.internal"]
        {
            assert!(found(text).iter().all(|one| one.2 < 0.5), "{text}: {:?}", found(text));
        }
        assert!(of(&lists(&[], &[]), &comment("# not 169.254.169.254"))[0].2 < 0.5);
    }

    #[test]
    fn addresses_are_told_by_where_they_lead() {
        for (text, expected) in [
            ("http://8.8.8.8/", ("address", 0.5)),
            ("http://10.1.2.3:8080/", ("private_address", 0.5)),
            ("http://192.168.0.1", ("private_address", 0.5)),
            ("http://169.254.1.1/", ("link_local_address", 0.7)),
            ("http://127.0.0.1:5000/", ("local_host", 0.2)),
            ("http://localhost:8000/", ("local_host", 0.2)),
            ("http://0.0.0.0/", ("local_host", 0.2)),
            ("http://[::1]:80/", ("local_host", 0.2)),
            ("http://[fe80::1]/", ("link_local_address", 0.7)),
            ("http://[fd12::1]/", ("private_address", 0.5)),
            ("http://[2a00:1450::1]/", ("address", 0.5)),
            ("http://[::ffff:10.0.0.1]/", ("private_address", 0.7)),
            ("http://017700000001/", ("disguised_address", 0.9)),
            ("http://2130706433/", ("disguised_address", 0.9)),
            ("http://127.1/", ("disguised_address", 0.9)),
            ("192.168.0.1", ("address", 0.3)),
            ("8.8.8.8:53", ("address", 0.3)),
        ] {
            assert_eq!(one(text), (expected.0.to_owned(), expected.1), "{text}");
        }
        for text in ["1.2.3", "3.14", "1234567", "0x7f", "::", "a.b.c.d", "[1]", "dead.beef", "1:2:3"] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn hosts_that_are_used_for_harm_are_found() {
        for (text, rule, least) in [
            ("https://webhook.site/0b1", "drop_host", 0.8),
            ("https://abc.ngrok-free.app/x", "drop_host", 0.8),
            ("http://x1.oast.fun/?d=", "drop_host", 0.8),
            ("curl -T f transfer.sh", "drop_host", 0.6),
            ("abc.interact.sh", "drop_host", 0.6),
            ("https://pastebin.com/raw/x", "drop_host", 0.8),
            ("https://bit.ly/3xyz", "shortened_url", 0.6),
            ("http://10.0.0.1.nip.io/", "wildcard_dns", 0.7),
            ("http://ipfs.io/ipfs/Qm", "gateway_host", 0.5),
            ("http://facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion/", "onion_host", 0.8),
            ("facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion", "onion_host", 0.6),
            ("http://45.9.148.3/x.sh", "executable_download", 0.9),
            ("https://host.corp/setup.exe", "executable_download", 0.5),
            ("https://host.corp:4444/", "odd_port", 0.3),
        ] {
            let found = one(text);
            assert!(found.0 == rule && found.1 >= least, "{text}: {found:?}");
        }
        for text in [
            "mywebhook.site",
            "webhook.sites",
            "file.iota",
            "https://notbit.ly/x",
            "x.onion",
            "a profile.io_text",
            "transfer.sh.py",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn hosts_that_are_not_what_they_seem_are_found() {
        for text in [
            "https://paypa1.com/login",
            "https://www.аррӏе.com/",
            "https://gооgle.com/",
            "https://g00gle.com",
            "http://xn--80ak6aa92e.com/",
        ] {
            assert_eq!(one(text), ("lookalike_host".to_owned(), 0.9), "{text}");
        }
        assert_eq!(one("https://github.com@evil.corp/x").0, "disguised_host");
        assert_eq!(one("https://xn--bcher-kva.de/").0, "punycode_host");
        assert!(one("https://bücher.de/").1 < 0.5);
    }

    #[test]
    fn a_password_is_no_part_of_a_match() {
        let found = found("see http://admin:s3cret@10.0.0.5/x, and");
        assert_eq!(found, [("private_address".to_owned(), "10.0.0.5/x".to_owned(), 0.5)]);
    }

    #[test]
    fn a_match_is_the_url_without_what_is_around_it() {
        for (text, url) in [
            ("(see http://8.8.8.8/a.)", "http://8.8.8.8/a"),
            ("<a href='http://8.8.8.8/b'>", "http://8.8.8.8/b"),
            ("[x](http://8.8.8.8/c)", "http://8.8.8.8/c"),
            ("é http://8.8.8.8/é ü", "http://8.8.8.8/é"),
        ] {
            assert_eq!(found(text)[0].1, url, "{text}");
        }
    }

    #[test]
    fn denials_beat_allowances_and_those_beat_guesses() {
        let urls = lists(&["*.corp", "10.*", "webhook.site", "169.254.169.254"], &["evil.corp", "*.bad.test"]);
        let of = |text: &str| of(&urls, &literal(text)).into_iter().map(|one| (one.0, one.2)).next();
        let denied = Some(("denied_host".to_owned(), 1.0));
        for text in ["https://evil.corp/", "https://a.bad.test", "evil.corp", "x.bad.test:443", "ftp://evil.corp/"] {
            assert_eq!(of(text), denied, "{text}");
        }
        for text in [
            "http://10.1.2.3/x.sh",
            "https://webhook.site/a",
            "http://169.254.169.254/",
            "gopher://good.corp/",
            "webhook.site",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_ne!(of("http://11.1.2.3/"), None);
    }

    #[test]
    fn any_text_is_no_problem() {
        let pieces = [
            "http",
            "://",
            "169.254.169.254",
            ".",
            "é",
            "😀",
            "@",
            ":",
            "[",
            "]",
            "::",
            "ngrok.io",
            "%",
            "/",
            "javascript:",
            "data:",
            "text/html",
            ",",
            ".onion",
            " ",
            "xn--",
            "-",
            "0x7f",
            "\\",
            "\n",
            "a",
            "1",
            "?",
            "#",
        ];
        let urls = lists(&["*.a"], &["b.*"]);
        for text in random_texts(&pieces, 5000) {
            of(&urls, &literal(&text));
        }
    }

    #[test]
    fn time_is_linear() {
        let urls = lists(&[], &["*.corp"]);
        let texts = [
            "://",
            "a://",
            "http://a",
            "http://8.8.8.8/ ",
            "javascript:",
            "data:text/html,",
            ".onion",
            "a.",
            "ngrok.io ",
            "😀",
            "a",
        ];
        takes_linear_time(&texts, |text| {
            of(&urls, &literal(text));
        });
    }
}
