//! Values that stand for a secret but are none: placeholders, examples, and texts that hold too little to be random.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words, and runs that nobody draws at random. In 40 random characters of base 62 any given one of four letters
/// turns up once in ten thousand.
const WORDS: &[&str] = &[
    "example",
    "sample",
    "dummy",
    "changeme",
    "change_me",
    "change-me",
    "your",
    "placeholder",
    "redacted",
    "insert",
    "replace",
    "todo",
    "fixme",
    "xxxx",
    "****",
    "....",
    "<",
    ">",
    "${",
    "{{",
    "{",
    "%s",
    "fake",
    "mock",
    "secret_here",
    "-here",
    "_here",
    "not-a-real",
    "notreal",
    "12345678",
    "23456789",
    "0123456",
    "abcdefg",
    "deadbeef",
    "qwerty",
    "asdf",
    "lorem",
    "foobar",
    "aaaaaa",
    "000000",
    "111111",
    "------",
    "______",
    "1234567890",
    "abc123",
    "hunter2",
    "test-",
    "test_",
    "-test",
    "_test",
    "default",
];

static PLACEHOLDERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).expect("few short patterns make a small automaton")
});

/// Returns whether `text` was written to be replaced, or as an example.
pub(super) fn is_placeholder(text: &str) -> bool {
    PLACEHOLDERS.is_match(text)
}

/// Shannon's entropy of the bytes of `text`, in bits a byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let all = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / all;
            -share * share.log2()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_be_replaced_is_a_placeholder() {
        for text in ["<token>", "your-api-key-here", "Xxxxxxxxxxxx", "changeme", "AKIAIOSFODNN7EXAMPLE", "${TOKEN}"] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["9fK2mQ7xLw3Rt8Zp", "correct horse battery staple"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn entropy_is_that_of_the_bytes() {
        let about = |text: &str| (entropy(text) * 100.0).round() / 100.0;
        assert_eq!([about(""), about("aaaa"), about("abab"), about("abcd")], [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(about("0123456789abcdef"), 4.0);
    }
}
