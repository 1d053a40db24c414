//! Texts that are called a password, a token or a key: `db_password = "…"`, and `password=…` inside a text.

use std::ops::Range;

use super::placeholder::{entropy, is_placeholder};
use super::{credential, is_word, run};
use crate::scanners::fragment::{Fragment, FragmentKind, Match};

/// Endings of names that promise a secret; each is looked for regardless of case.
pub(super) const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "access-key",
    "accountkey",
    "secret_key",
    "secretkey",
    "secret-key",
    "sharedaccesskey",
    "bearer",
];
/// Longest value that is looked at.
const MAX_LENGTH: usize = 512;
/// Longest name that is looked at.
const MAX_NAME: usize = 128;

/// Kind of value that a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// Something that a person chose.
    Password,
    /// Something drawn at random.
    Key,
}

/// Returns the promise of the words in `name`: `dbPassword`, `API_KEY`, `client-secret`; not `max_tokens` or
/// `password_field`.
fn promise(name: &str) -> Option<Promise> {
    if name.len() > MAX_NAME {
        return None;
    }
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_ascii_lowercase();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let ends = |words: &[&str]| words.iter().any(|word| name.ends_with(word));
    if ends(&["password", "passwd", "passphrase", "passcode", "pwd", "passwort"]) {
        return Some(Promise::Password);
    }
    let keys = [
        "secret",
        "token",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authkey",
        "accountkey",
        "encryptionkey",
        "signingkey",
        "masterkey",
        "servicekey",
        "credential",
        "credentials",
        "authorization",
        "bearer",
        "apisecret",
    ];
    ends(&keys).then_some(Promise::Key)
}

/// The literal of `fragment`, when its name promises a secret and it looks like one.
pub(super) fn by_name(fragment: &Fragment) -> Option<Match> {
    let name = fragment.name?;
    let promise = promise(name)?;
    let text = fragment.text;
    let value = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("Basic ")).unwrap_or(text);
    let start = text.len() - value.len();
    if is_aws_secret(name, value) {
        return Some(credential("aws_secret_key", start..text.len(), 0.95, "A secret access key of AWS."));
    }
    judge(promise, value).map(|(rule, confidence, reason)| credential(rule, start..text.len(), confidence, reason))
}

/// The value that is given in the text itself to the name that ends at `word`.
pub(super) fn in_text(fragment: &Fragment, word: Range<usize>) -> Option<Match> {
    let text = fragment.text;
    let bytes = text.as_bytes();
    let quote_of_name = run(text, word.end, 1, |b| b == b'"' || b == b'\'');
    let mut at = word.end + quote_of_name;
    let blanks = |at: usize| run(text, at, 3, |b| b == b' ' || b == b'\t');
    let before = blanks(at);
    at += before;
    let operator = run(text, at, 2, |b| b == b'=' || b == b':' || b == b'>');
    let is_header = operator == 0 && before == 1 && text[word.clone()].eq_ignore_ascii_case("bearer");
    if bytes[at..at + operator] == *b"==" || (operator == 0 && !is_header) {
        return None;
    }
    at += operator;
    at += blanks(at);
    let quote = bytes.get(at).filter(|b| **b == b'"' || **b == b'\'').copied();
    // In a program a value without quotes is a name or a call.
    if quote.is_none() && fragment.kind == FragmentKind::Source {
        return None;
    }
    at += usize::from(quote.is_some());
    let of_value = |b: u8| b.is_ascii_alphanumeric() || b"+/=_.~!@#$%^*-".contains(&b);
    let length = run(text, at, MAX_LENGTH, of_value);
    let end = at + length;
    let closes = bytes.get(end).is_none_or(|b| b.is_ascii_whitespace() || b"\"'`;,&})]<\\".contains(b));
    if length == 0 || !closes || quote.is_some_and(|quote| bytes.get(end) != Some(&quote)) {
        return None;
    }
    let value = text.get(at..end)?;
    let start_of_name =
        word.start - bytes[..word.start].iter().rev().take(MAX_NAME).take_while(|b| is_word(**b)).count();
    let name = &text[start_of_name..word.end];
    if is_aws_secret(name, value) {
        return Some(credential("aws_secret_key", at..end, 0.95, "A secret access key of AWS."));
    }
    let account_key = name.eq_ignore_ascii_case("accountkey") || name.eq_ignore_ascii_case("sharedaccesskey");
    if account_key && value.len() >= 44 && value.ends_with('=') && entropy(value) > 4.0 && !is_placeholder(value) {
        return Some(credential("azure_account_key", at..end, 0.95, "An account key of Azure."));
    }
    let (rule, confidence, reason) = judge(promise(name)?, value)?;
    // Prose and test data have such texts as well.
    Some(credential(rule, at..end, confidence - 0.1, reason))
}

/// 40 characters of base64 (docs.aws.amazon.com, "Manage access keys for IAM users").
fn is_aws_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let of_base64 = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
    let called_so = name.contains("secret") && (name.contains("aws") || name.contains("access"));
    value.len() == 40 && of_base64 && called_so && entropy(value) > 4.0 && !is_placeholder(value)
}

/// Judges a `value` whose name promises this; returns rule, confidence and reason.
fn judge(promise: Promise, value: &str) -> Option<(&'static str, f64, &'static str)> {
    if value.len() > MAX_LENGTH || is_placeholder(value) || is_reference(value) {
        return None;
    }
    let any = |of: fn(&u8) -> bool| usize::from(value.bytes().any(|b| of(&b)));
    let digits = any(u8::is_ascii_digit);
    let classes = any(u8::is_ascii_lowercase) + any(u8::is_ascii_uppercase) + digits + any(u8::is_ascii_punctuation);
    let entropy = entropy(value);
    match promise {
        Promise::Password if value.len() >= 6 => {
            let confidence = match (classes, value.len()) {
                (3.., 12..) if entropy > 3.2 => 0.75,
                (3.., 8..) => 0.6,
                (2.., 8..) if digits == 1 => 0.5,
                _ => 0.3,
            };
            Some(("hardcoded_password", confidence, "A password in the program."))
        }
        Promise::Key if value.len() >= 16 && digits == 1 && !is_made_of_words(value) => {
            let hex = value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            let confidence = match value.len() {
                24.. if !hex && entropy >= 4.0 => 0.85,
                32.. if hex && entropy >= 3.2 && !value.contains('-') => 0.75,
                20.. if !hex && entropy >= 3.7 => 0.75,
                _ if entropy >= if hex { 3.0 } else { 3.5 } => 0.5,
                _ => return None,
            };
            Some(("hardcoded_key", confidence, "A key or token in the program."))
        }
        Promise::Password | Promise::Key => None,
    }
}

/// Returns whether `value` says where the secret is, rather than what: prose, a path, a URL, a name, a template.
fn is_reference(value: &str) -> bool {
    let odd = value.bytes().any(|b| !b.is_ascii_graphic() || b"(){}[]<>|\\\"'`,;".contains(&b));
    let is_path = value.starts_with(['/', '.', '~']) || value.contains("://");
    let is_name = value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        || value.to_ascii_lowercase().split(['_', '-', '.']).any(|part| {
            ["password", "passwd", "pwd", "secret", "token", "key", "pass", "env", "none", "null"].contains(&part)
        });
    odd || is_path || is_name || value.starts_with(['$', '%', '@'])
}

/// `refresh-token-2024`, `NUMBER_10`: every part is letters of one case, perhaps with a capital, or a number.
fn is_made_of_words(value: &str) -> bool {
    value.split(['_', '-', '.', ':', '/', ' ']).all(|part| {
        let tail = part.get(1..).unwrap_or_default();
        part.len() < 16
            && (part.bytes().all(|b| b.is_ascii_digit())
                || tail.bytes().all(|b| b.is_ascii_lowercase())
                || part.bytes().all(|b| b.is_ascii_uppercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;
    use crate::scanners::fragment::tests::{comment, literal, named};

    fn found(fragment: &Fragment) -> Vec<(String, String, f64)> {
        let mut found = Vec::new();
        scan(fragment, &mut found);
        found.into_iter().map(|m| (m.rule.into_owned(), fragment.text[m.range].to_owned(), m.confidence)).collect()
    }

    /// Looks random, and is nobody's.
    fn random(length: usize) -> String {
        "9fK2mQ7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaXoDqWi".chars().cycle().take(length).collect()
    }

    #[test]
    fn the_end_of_a_name_makes_its_promise() {
        for name in ["password", "DB_PASSWORD", "dbPassword", "passwd", "password2", "userPwd"] {
            assert_eq!(promise(name), Some(Promise::Password), "{name}");
        }
        for name in ["api_key", "API_KEY", "apiKey", "x-api-key", "client_secret", "authToken", "SECRET_KEY_"] {
            assert_eq!(promise(name), Some(Promise::Key), "{name}");
        }
        for name in
            ["key", "tokens", "max_tokens", "password_hash", "token_pattern", "public_key", "tokenizer", "keyword"]
        {
            assert_eq!(promise(name), None, "{name}");
        }
    }

    #[test]
    fn a_random_text_called_a_key_is_a_secret() {
        let secret = random(40);
        assert_eq!(found(&named("api_key", &secret)), [("hardcoded_key".to_owned(), secret.clone(), 0.85)]);
        let header = format!("Bearer {secret}");
        assert_eq!(found(&named("Authorization", &header))[0].1, secret);
    }

    #[test]
    fn a_strong_password_is_told_from_a_weak_one() {
        let confidence = |password: &str| found(&named("password", password)).first().map_or(0.0, |one| one.2);
        assert!(confidence("Tr0ub4dor&3-xKq") >= 0.75);
        assert!(confidence("letmein") < 0.5);
        assert!(confidence("summer2024") <= 0.5);
    }

    #[test]
    fn what_says_where_the_secret_is_is_none() {
        let random = random(40);
        for (name, value) in [
            ("password", "changeme"),
            ("password", "<password>"),
            ("password", "your-password-here"),
            ("password", ""),
            ("password", "Enter your password: "),
            ("password", "DB_PASSWORD"),
            ("password", "user_password"),
            ("token", "NUMBER"),
            ("token", "IDENTIFIER_OR_KEYWORD_42"),
            ("token", "refresh-token-2024"),
            ("api_key", "https://example.org/keys/1"),
            ("api_key", "/run/secrets/api_key_2"),
            ("api_key", "${API_KEY_12}"),
            ("secret", "xxxxxxxxxxxxxxxxxxxx1"),
            ("secret", "sk_test_placeholder_1"),
            ("color", random.as_str()),
            ("token", "the quick brown fox 12 jumps"),
            ("token", "aaaaaaaaaaaaaaaaaaa1"),
        ] {
            assert_eq!(found(&named(name, value)), [], "{name} {value}");
        }
    }

    #[test]
    fn an_assignment_inside_a_text_is_one() {
        let secret = random(40);
        for text in [
            format!("export API_KEY={secret}"),
            format!("api_key: '{secret}'"),
            format!("{{\"token\": \"{secret}\"}}"),
            format!("https://h.test/?access_token={secret}&x=1"),
            format!("-H 'Authorization: Bearer {secret}'"),
        ] {
            assert_eq!(found(&comment(&text)).first().map(|one| one.1.clone()), Some(secret.clone()), "{text}");
        }
        for text in [
            "token = tokens[i]",
            "password: the password of the user",
            "if token == 'NUMBER12345678901':",
            "api_key = os.environ['API_KEY']",
            "password=%s",
            "secret: str",
            "tokens: 12345678901234567890",
        ] {
            assert_eq!(found(&comment(text)), [], "{text}");
        }
    }

    #[test]
    fn the_secret_keys_of_clouds_are_known_by_their_context() {
        let key = random(40);
        assert_eq!(found(&named("aws_secret_access_key", &key))[0].0, "aws_secret_key");
        assert_eq!(found(&literal(&format!("aws_secret_access_key = {key}")))[0].0, "aws_secret_key");
        let documented = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY".to_owned() + "EXAMPLEKEY";
        assert_eq!(found(&named("aws_secret_access_key", &documented)), []);
        let account = format!("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;", random(86));
        assert_eq!(found(&literal(&account))[0].0, "azure_account_key");
    }
}
