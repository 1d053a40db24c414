//! Credentials: the formats that providers give their keys, private keys, passwords in URLs, and texts that are
//! called a password or a key and look like one.
//!
//! One automaton looks for how a secret begins; only there is anything else asked. What documentation writes in the
//! place of a secret is a match of low confidence.

mod assignment;
mod formats;
mod placeholder;
mod shapes;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use self::formats::{Check, FORMATS};
use self::placeholder::{entropy, is_placeholder};
use super::fragment::{Fragment, FragmentKind, Match, Strongest};

/// Category of every match.
pub(super) const CATEGORY: &str = "credential";
/// Confidence in what documentation, or nobody, calls a secret.
const PLACEHOLDER: f64 = 0.2;
/// Shortest name that could hold a secret: an access key of AWS.
const SHORTEST_NAME: usize = 20;
/// Characters of a secret that [`mask`] shows, and stars for the rest.
const SHOWN: usize = 4;
const STARS: usize = 8;

/// Anchor of a secret: the beginning from which its kind follows.
#[derive(Clone, Copy)]
enum Anchor {
    Format(usize),
    Assignment,
    Jwt,
    Pem,
    Authority,
    Telegram,
}

/// Anchors to search for, in one automaton.
struct Anchors {
    automaton: AhoCorasick,
    /// Of each pattern of the automaton.
    kinds: Vec<Anchor>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let others =
        [("eyJ", Anchor::Jwt), ("-----BEGIN ", Anchor::Pem), ("://", Anchor::Authority), (":AA", Anchor::Telegram)];
    let formats = FORMATS.iter().enumerate().map(|(index, format)| (format.anchor, Anchor::Format(index)));
    let words = assignment::WORDS.iter().map(|word| (*word, Anchor::Assignment));
    let (texts, kinds): (Vec<_>, Vec<_>) = others.into_iter().chain(formats).chain(words).unzip();
    let automaton = AhoCorasickBuilder::new()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&texts)
        .expect("few short patterns make a small automaton");
    Anchors { automaton, kinds }
});

/// Scans a fragment for credentials.
pub(crate) fn scan(fragment: &Fragment, found: &mut Vec<Match>) {
    let text = fragment.text;
    if fragment.kind == FragmentKind::Identifier && text.len() < SHORTEST_NAME {
        return;
    }
    let mut found = Strongest::new(found);
    // Of what was recognised last: nothing in it is looked at again.
    let mut end = 0;
    // A value may turn out to have a format of its own, which says more than its name.
    let mut assigned: Option<Match> = None;
    let anchors = &*ANCHORS;
    for hit in anchors.automaton.find_overlapping_iter(text) {
        if hit.start() < end {
            continue;
        }
        if let Some(one) = assigned.take_if(|one| one.range.end <= hit.start()) {
            found.push(one);
        }
        let at = hit.range();
        let one = match anchors.kinds[hit.pattern()] {
            Anchor::Assignment => {
                assigned = assigned.or_else(|| assignment::in_text(fragment, at));
                continue;
            }
            Anchor::Format(index) => in_format(index, text, at),
            Anchor::Jwt => shapes::jwt(text, at.start),
            Anchor::Pem => shapes::private_key(text, at.start),
            Anchor::Authority => shapes::url_password(text, at),
            Anchor::Telegram => shapes::telegram(text, at.start),
        };
        if let Some(one) = one {
            if let Some(other) = assigned.take()
                && other.range.end <= one.range.start
            {
                found.push(other);
            }
            // A placeholder may be there to hide what it is put around.
            end = if one.confidence < 0.5 { hit.end() } else { one.range.end };
            found.push(one);
        }
    }
    if let Some(one) = assigned {
        end = one.range.end;
        found.push(one);
    }
    if end == 0
        && let FragmentKind::Literal | FragmentKind::Folded = fragment.kind
        && let Some(one) = shapes::discord(text).or_else(|| assignment::by_name(fragment))
    {
        found.push(one);
    }
}

/// Masks a secret: its first few characters, the rest as asterisks. The mask reveals neither the length nor more than a
/// quarter of a short secret.
pub(crate) fn mask(secret: &str) -> String {
    let shown = SHOWN.min(secret.chars().take(SHOWN * 4).count() / 4);
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    secret.chars().take(shown).map(visible).chain(std::iter::repeat_n('*', STARS)).collect()
}

fn credential(rule: &'static str, range: Range<usize>, confidence: f64, reason: &'static str) -> Match {
    Match { rule: rule.into(), category: CATEGORY.into(), range, confidence, reason: reason.into() }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether no longer word contains `range`.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.as_bytes()[..range.start].last();
    let after = text.as_bytes().get(range.end);
    !before.is_some_and(|b| is_word(*b)) && !after.is_some_and(|b| is_word(*b))
}

/// Bytes of `text` from `start` on that are `allowed`, at most `most`.
fn run(text: &str, start: usize, most: usize, allowed: impl Fn(u8) -> bool) -> usize {
    text.as_bytes()[start..].iter().take(most).take_while(|b| allowed(**b)).count()
}

/// A secret of the format with this index in [`FORMATS`], whose anchor is at `at`.
fn in_format(index: usize, text: &str, at: Range<usize>) -> Option<Match> {
    let format = &FORMATS[index];
    let start = at.start.checked_sub(format.lead)?;
    // The automaton does not mind case.
    if text[at] != *format.anchor || text.as_bytes()[..start].last().is_some_and(|b| is_word(*b)) {
        return None;
    }
    // Before the anchor there could be the middle of a character.
    let length = formats::regex(index).find(text.get(start..)?)?.end();
    let range = start..start + length;
    if !stands_alone(text, &range) {
        return None;
    }
    let secret = &text[range.clone()];
    // Where the anchor stands inside, it counts.
    let own = if format.lead == 0 { &secret[format.anchor.len()..] } else { secret };
    let written_for_people = is_placeholder(own) || entropy(own) < format.least_entropy;
    let (confidence, reason) = match format.check {
        Check::Checksum if checksum_holds(own) => (0.99, "A token with a valid checksum."),
        Check::Checksum => (0.3, "It looks like a token, but its checksum is wrong."),
        Check::None if written_for_people => (PLACEHOLDER, "A placeholder in the form of a secret."),
        Check::None => (format.confidence, format.reason),
    };
    Some(credential(format.rule, range, confidence, reason))
}

/// Returns whether the last six characters are the CRC-32 of those before, in base 62: GitHub's token format ("Behind
/// GitHub's new authentication token formats", 2021), taken over by npm.
fn checksum_holds(own: &str) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let Some((random, checksum)) = own.split_at_checked(own.len().saturating_sub(6)) else { return false };
    let mut rest = crc32fast::hash(random.as_bytes()) as usize;
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[rest % 62];
        rest /= 62;
    }
    checksum.as_bytes() == digits
}

#[cfg(test)]
mod tests {
    use super::super::fragment::tests::{check, literal, named, random_texts, takes_linear_time};
    use super::*;
    use base64::Engine as _;

    fn found(text: &str) -> Vec<(String, String, f64)> {
        let mut found = Vec::new();
        scan(&literal(text), &mut found);
        check(text, &found);
        found.into_iter().map(|one| (one.rule.into_owned(), text[one.range].to_owned(), one.confidence)).collect()
    }

    fn base64(text: &str) -> String {
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
    }

    fn jwt_of(header: &str, payload: &str) -> String {
        format!("{}.{}.{}", base64(header), base64(payload), "kQ7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaXoDqWi9fK2mQ")
    }

    #[test]
    fn a_mask_shows_little() {
        assert_eq!(mask("ghp_abcdefghijklmnopqrstuvwxyz"), "ghp_********");
        assert_eq!(mask("hunter22"), "hu********");
        assert_eq!(mask("abc"), "********");
        assert_eq!(mask(&"é\n".repeat(10_000)), "????********");
    }

    #[test]
    fn a_json_web_token_has_a_header_with_an_algorithm() {
        let token = jwt_of(r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"sub":"8831"}"#);
        assert_eq!(found(&format!("Bearer {token}")), [("json_web_token".to_owned(), token, 0.85)]);
        let documented = jwt_of(r#"{"alg":"HS256"}"#, r#"{"sub":"1234567890","name":"John Doe"}"#);
        assert_eq!(found(&documented)[0].2, PLACEHOLDER);
        assert_eq!(found(&(jwt_of(r#"{"alg":"none"}"#, r#"{"sub":"8831"}"#) + " "))[0].2, 0.5);
        for text in [jwt_of(r#"{"typ":"JWT"}"#, "{}{}{}"), jwt_of(r#"{"alg":1}"#, "{}{}{}"), "eyJhbGciOi".to_owned()] {
            assert_eq!(found(&text), [], "{text}");
        }
    }

    #[test]
    fn a_private_key_is_known_by_its_body() {
        let body = "MIIEowIBAAKCAQEA7bq98Zx0fKmQxLwRtZpVcYbNdHsGjTeUaXoDqWiBkCzErPo9\n".repeat(5);
        let pem = |label: &str| format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
        for label in
            ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
        {
            assert_eq!(found(&format!("a {} b", pem(label))), [("private_key".to_owned(), pem(label), 0.97)]);
        }
        assert_eq!(found(&pem("ENCRYPTED PRIVATE KEY"))[0].2, 0.7);
        assert_eq!(found(&pem("RSA PRIVATE KEY").replace('\n', "\\n"))[0].2, 0.97);
        assert!(found("if line == '-----BEGIN PRIVATE KEY-----':")[0].2 < 0.5);
        for label in ["PUBLIC KEY", "CERTIFICATE", "RSA PUBLIC KEY"] {
            assert_eq!(found(&pem(label)), [], "{label}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_one() {
        let at = |host: &str| found(&format!("postgres://app:Zk9-mQ2x@{host}:5432/db")).remove(0);
        assert_eq!(at("db.corp.test"), ("url_password".to_owned(), "Zk9-mQ2x".to_owned(), 0.85));
        assert_eq!(at("localhost").2, 0.5);
        for text in ["redis://:{password}@h.test", "http://user:pass@example.com", "amqp://guest:guest@rabbit.test"] {
            assert!(found(text).iter().all(|one| one.2 < 0.5), "{text}");
        }
        for text in ["https://h.test:8080/a@b", "https://user@h.test", "https://h.test/?a=b:c@d", "a://b c:d@e"] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_placeholder_hides_nothing() {
        let key = "AKIA".to_owned() + "Q7X2LWR3TZPV6CYB";
        let text = format!("-----BEGIN PRIVATE KEY----- example {key}");
        assert!(found(&text).iter().any(|one| one.1 == key && one.2 >= 0.9));
    }

    #[test]
    fn bots_tokens_are_known() {
        let own = "AAG7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaXoDq";
        assert_eq!(found(&format!("bot 483920175:{own}"))[0].0, "telegram_bot_token");
        assert_eq!(found(&format!("12:30:{own}")), []);
        let discord = format!("{}.Gk3xQ9.{}", base64("483920175663829104"), "fK2mQ7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaXoDqW");
        assert_eq!(found(&discord)[0].0, "discord_bot_token");
        assert_eq!(found("some.module.path.that.is.quite.long.and.has.several.parts.in.it"), []);
    }

    #[test]
    fn a_format_is_told_before_a_name() {
        let key = format!("AIza{}", "9fK2mQ7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaX");
        let mut matches = Vec::new();
        scan(&named("api_key", &key), &mut matches);
        assert_eq!(matches.iter().map(|one| one.rule.as_ref()).collect::<Vec<_>>(), ["google_api_key"]);
    }

    #[test]
    fn any_text_is_no_problem() {
        let pieces = [
            "ghp_",
            "sk-",
            "AKIA",
            "eyJ",
            ".",
            "é",
            "\u{1F600}",
            "://",
            ":",
            "@",
            "-----BEGIN ",
            "PRIVATE KEY",
            "-----",
            ":AA",
            "password",
            "=",
            "\"",
            " ",
            "Q~",
            "-us",
            ".atlasv1.",
            "A7",
            "x",
            "0123456789",
            "aGVsbG8",
            "token",
            "\n",
        ];
        for text in random_texts(&pieces, 3000) {
            found(&text);
        }
    }

    #[test]
    fn time_is_linear() {
        let texts = [
            "eyJ",
            "eyJ.",
            "eyJhbGciOiJIUzI1NiJ9.",
            "-----BEGIN PRIVATE KEY-----",
            "://",
            "://a:",
            "password=",
            "sk-",
            "sk-a",
            "token='a",
            "1:AA",
            "ghp_",
            "dop_v1_0 ",
            "xoxb-",
            "a",
            "-us",
            "Q~",
            "token",
        ];
        takes_linear_time(&texts, |text| {
            let mut found = Vec::new();
            scan(&literal(text), &mut found);
            check(text, &found);
        });
    }
}
