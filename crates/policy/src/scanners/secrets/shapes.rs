//! Secrets that are known by how they are made, not by how they begin.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::placeholder::{entropy, is_placeholder};
use super::{PLACEHOLDER, credential, is_word, run, stands_alone};
use crate::scanners::fragment::Match;

/// Longest header and longest payload of a JWT that are looked at.
const MAX_JWT_PART: usize = 8 << 10;
/// Longest private key that is looked at; RSA of 16384 bits takes 13 KiB.
const MAX_PEM: usize = 16 << 10;
/// Longest `user:password@` that is looked at.
const MAX_USERINFO: usize = 512;
/// Longest label of a private key.
const MAX_LABEL: usize = 40;

/// Base64 variant of JSON Web Tokens. Bits that are left over do not matter.
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A JSON Web Token (RFC 7519) that begins at `start`. Its header must say an algorithm.
pub(super) fn jwt(text: &str, start: usize) -> Option<Match> {
    let of_base64 = |b: u8| is_word(b) || b == b'-';
    let bytes = text.as_bytes();
    if bytes[..start].last().is_some_and(|b| of_base64(*b)) || !text[start..].starts_with("eyJ") {
        return None;
    }
    let header = start..start + run(text, start, MAX_JWT_PART, of_base64);
    if bytes.get(header.end) != Some(&b'.') {
        return None;
    }
    let payload = header.end + 1;
    let payload = payload..payload + run(text, payload, MAX_JWT_PART, of_base64);
    if payload.len() < 4 || bytes.get(payload.end) != Some(&b'.') {
        return None;
    }
    let signature = payload.end + 1;
    let end = signature + run(text, signature, MAX_JWT_PART, of_base64);
    let decoded = BASE64_URL.decode(&text[header]).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&decoded).ok()?;
    let algorithm = header.get("alg")?.as_str()?;
    let payload = BASE64_URL.decode(&text[payload]).unwrap_or_default();
    // The example of RFC 7519, that of jwt.io, and those made after them.
    let is_example = [b"1234567890".as_slice(), b"John Doe", b"\"joe\"", b"example"]
        .iter()
        .any(|known| payload.windows(known.len()).any(|window| window == *known));
    let (confidence, reason) = match algorithm {
        _ if is_example => (PLACEHOLDER, "A JSON Web Token of documentation."),
        "none" => (0.5, "A JSON Web Token without a signature."),
        _ => (0.85, "A JSON Web Token."),
    };
    Some(credential("json_web_token", start..end, confidence, reason))
}

/// A private key in PEM (RFC 7468) or of PGP, whose first line begins at `start`.
pub(super) fn private_key(text: &str, start: usize) -> Option<Match> {
    const DASHES: &str = "-----";
    let label = start + "-----BEGIN ".len();
    let length = run(text, label, MAX_LABEL, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
    let body = label + length;
    let label = &text[label..body];
    if !(label.ends_with("PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK") || !text[body..].starts_with(DASHES) {
        return None;
    }
    let body = body + DASHES.len();
    // Lines may end as escapes do in JSON; `:` and `,` are those of headers.
    let of_key = |b: u8| b.is_ascii_alphanumeric() || b"+/=\\ \r\n\t\"',-:".contains(&b);
    let rest = &text[body..text.floor_char_boundary(body + MAX_PEM)];
    let (key, after) = rest.split_at(rest.find(DASHES).unwrap_or(rest.len()));
    let length = run(key, 0, key.len(), of_key);
    // What does not belong to a key ends it.
    let (key, after) = if length < key.len() { (&key[..length], "") } else { (key, after) };
    let last =
        after.strip_prefix("-----END ").and_then(|after| Some("-----END ".len() + after.find(DASHES)? + DASHES.len()));
    let longest = key.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c))).map(str::len).max();
    let (confidence, reason) = match longest {
        Some(40..) if is_placeholder(key) => (PLACEHOLDER, "A placeholder in the form of a private key."),
        Some(40..) if label.starts_with("ENCRYPTED") => (0.7, "A private key, encrypted."),
        Some(40..) => (0.97, "A private key."),
        _ => (0.3, "The first line of a private key, without the key."),
    };
    let end = if confidence < 0.5 { body } else { body + key.len() + last.unwrap_or_default() };
    Some(credential("private_key", start..end, confidence, reason))
}

/// The password of `scheme://user:password@host`; `at` is the `://`.
pub(super) fn url_password(text: &str, at: Range<usize>) -> Option<Match> {
    if !text.as_bytes()[..at.start].last().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let ends = |b: u8| b.is_ascii_whitespace() || b.is_ascii_control() || b"/?#\"'`<>\\".contains(&b);
    let length = run(text, at.end, MAX_USERINFO, |b| !ends(b));
    let authority = text.get(at.end..at.end + length)?;
    let (userinfo, host) = authority.rsplit_once('@')?;
    let (user, password) = userinfo.split_once(':')?;
    if password.is_empty() || host.is_empty() {
        return None;
    }
    let start = at.end + user.len() + 1;
    let weak = ["password", "pass", "passwd", "pwd", "secret", "postgres", "root", "guest", "admin", "pw", "user", "p"];
    let lower = password.to_ascii_lowercase();
    let nobody =
        is_placeholder(password) || weak.contains(&lower.as_str()) || password == user || host.contains("example");
    let near = host.starts_with("localhost") || host.starts_with("127.") || !host.contains('.');
    let confidence = match (nobody, near) {
        (true, _) => PLACEHOLDER,
        (false, true) => 0.5,
        (false, false) => 0.85,
    };
    Some(credential("url_password", start..start + password.len(), confidence, "A URL with a password in it."))
}

/// A token of a Telegram bot, `123456789:AA…` (core.telegram.org/bots/api); `colon` is in the middle.
pub(super) fn telegram(text: &str, colon: usize) -> Option<Match> {
    let digits = text.as_bytes()[..colon].iter().rev().take(11).take_while(|b| b.is_ascii_digit()).count();
    let own = colon + 1;
    let length = run(text, own, 36, |b| is_word(b) || b == b'-');
    let range = colon - digits..own + length;
    let secret = &text[own..range.end];
    let fits = (8..=10).contains(&digits) && length == 35 && secret.starts_with("AA") && stands_alone(text, &range);
    if !fits {
        return None;
    }
    let confidence = if is_placeholder(secret) || entropy(secret) < 3.5 { PLACEHOLDER } else { 0.9 };
    Some(credential("telegram_bot_token", range, confidence, "A token of a Telegram bot."))
}

/// A literal that is the token of a Discord bot: the bot's number in base64, a time, a signature
/// (docs.discord.com, "API Reference").
pub(super) fn discord(text: &str) -> Option<Match> {
    if !(58..=90).contains(&text.len()) {
        return None;
    }
    let mut parts = text.split('.');
    let (Some(id), Some(time), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let of_base64 = |part: &str| part.bytes().all(|b| is_word(b) || b == b'-');
    if time.len() != 6 || !(27..=40).contains(&signature.len()) || !of_base64(time) || !of_base64(signature) {
        return None;
    }
    let id = BASE64_URL.decode(id).ok()?;
    let is_number = (17..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit);
    let confidence = if entropy(signature) < 3.5 { PLACEHOLDER } else { 0.95 };
    is_number.then(|| credential("discord_bot_token", 0..text.len(), confidence, "A token of a Discord bot."))
}
