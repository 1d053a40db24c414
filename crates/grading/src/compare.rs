//! Compares what a program printed with what is expected of it.

use super::number::{Decimal, Number, Tolerance};
use proofbox_types::submission::Compare;

/// Characters of a line that a difference shows.
const EXCERPT: usize = 120;

/// Compares two outputs.
///
/// # Errors
/// The first difference, in words.
pub(crate) fn output(expected: &str, got: &str, compare: Compare) -> Result<(), String> {
    match compare {
        Compare::Exact if expected == got => Ok(()),
        Compare::Exact => {
            Err(first_difference(expected.split('\n'), got.split('\n')).unwrap_or_else(|| "output differs".to_owned()))
        }
        Compare::Trimmed => difference(first_difference(lines(expected), lines(got))),
        Compare::Tokens => difference(first_difference(expected.split_whitespace(), got.split_whitespace())),
        Compare::Unordered => {
            let (mut expected, mut got): (Vec<_>, Vec<_>) = (lines(expected).collect(), lines(got).collect());
            expected.sort_unstable();
            got.sort_unstable();
            difference(first_difference(expected.into_iter(), got.into_iter()))
        }
        Compare::DecimalLines => difference(first_difference_by(stripped(expected), stripped(got), equals_decimally)),
        Compare::Close { rtol, atol } => {
            let close = |a: &str, b: &str| a == b || is_close(a, b, Tolerance { rtol, atol });
            difference(first_difference_by(expected.split_whitespace(), got.split_whitespace(), close))
        }
    }
}

fn difference(found: Option<String>) -> Result<(), String> {
    found.map_or(Ok(()), Err)
}

/// Splits a text into lines without trailing white space, without the blank lines at the end.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_end().lines().map(str::trim_end)
}

/// Splits a text into lines without white space around them, after it has been stripped as a whole.
fn stripped(text: &str) -> impl Iterator<Item = &str> {
    text.trim().lines().map(str::trim)
}

/// Returns whether two lines are equal as text, or as lists of decimal numbers, digit by digit.
fn equals_decimally(expected: &str, got: &str) -> bool {
    expected == got || {
        let (mut expected, mut got) = (expected.split_whitespace(), got.split_whitespace());
        loop {
            match (expected.next(), got.next()) {
                (None, None) => break true,
                (Some(a), Some(b)) if Decimal::parse(a).is_some_and(|a| Decimal::parse(b) == Some(a)) => {}
                _ => break false,
            }
        }
    }
}

/// Returns whether both words are numbers within the tolerance.
fn is_close(expected: &str, got: &str, tolerance: Tolerance) -> bool {
    matches!((Number::parse(expected), Number::parse(got)), (Some(a), Some(b)) if a.is_close(&b, tolerance))
}

fn first_difference<'a>(expected: impl Iterator<Item = &'a str>, got: impl Iterator<Item = &'a str>) -> Option<String> {
    first_difference_by(expected, got, |a, b| a == b)
}

fn first_difference_by<'a>(
    mut expected: impl Iterator<Item = &'a str>,
    mut got: impl Iterator<Item = &'a str>,
    same: impl Fn(&str, &str) -> bool,
) -> Option<String> {
    for place in 1.. {
        match (expected.next(), got.next()) {
            (None, None) => return None,
            (Some(expected), Some(got)) if same(expected, got) => {}
            (Some(expected), Some(got)) => {
                return Some(format!("at {place}: expected {}, got {}", excerpt(expected), excerpt(got)));
            }
            (Some(expected), None) => {
                return Some(format!("at {place}: expected {}, got no more output", excerpt(expected)));
            }
            (None, Some(got)) => return Some(format!("at {place}: expected no more output, got {}", excerpt(got))),
        }
    }
    None
}

fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(EXCERPT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_ignores_trailing_space_and_blank_lines_only() {
        assert!(output("a\nb", "a  \r\nb\n\n", Compare::Trimmed).is_ok());
        assert!(output("a\nb", " a\nb", Compare::Trimmed).is_err());
        assert!(output("a\n\nb", "a\nb", Compare::Trimmed).is_err());
    }

    #[test]
    fn exact_is_exact() {
        assert!(output("a\n", "a", Compare::Exact).is_err());
        assert!(output("a\n", "a\n", Compare::Exact).is_ok());
    }

    #[test]
    fn tokens_and_unordered_and_close() {
        assert!(output("1 2\n3", "1\n2 3 ", Compare::Tokens).is_ok());
        assert!(output("a\nb", "b\na", Compare::Unordered).is_ok());
        assert!(output("a\na\nb", "b\na", Compare::Unordered).is_err());
        let close = Compare::Close { rtol: 1e-6, atol: 1e-9 };
        assert!(output("x 0.3333333333", "x 0.33333333", close).is_ok());
        assert!(output("x 0.3333333333", "x 0.3334", close).is_err());
        assert!(output("y", "x", close).is_err());
    }

    #[test]
    fn decimal_lines_keep_lines_and_words_of_text() {
        let same = |expected: &str, got: &str| output(expected, got, Compare::DecimalLines).is_ok();
        for (expected, got) in
            [("1 2\n3\n", "\n 1.0   2 \r\n3.00"), ("a  b", " a  b "), ("", "\n"), ("1\n\n2", "1\n \n2")]
        {
            assert!(same(expected, got), "{expected:?} {got:?}");
        }
        for (expected, got) in [
            ("1\n2", "1 2"),
            ("1\n\n2", "1\n2"),
            ("a b", "a  b"),
            ("x 1", "x 1.0"),
            ("1 2", "1"),
            ("0.1", "0.10000000000000000001"),
            ("nan", "NaN"),
        ] {
            assert!(!same(expected, got), "{expected:?} {got:?}");
        }
        assert!(same("nan", "nan"));
    }

    #[test]
    fn nothing_is_not_something() {
        assert!(output("1", "", Compare::Trimmed).is_err());
        assert!(output("", "1", Compare::Trimmed).is_err());
    }

    const EXACT: Compare = Compare::Exact;
    const TRIMMED: Compare = Compare::Trimmed;
    const TOKENS: Compare = Compare::Tokens;
    const UNORDERED: Compare = Compare::Unordered;
    const CLOSE: Compare = Compare::Close { rtol: 1e-6, atol: 1e-9 };
    const ZERO: Compare = Compare::Close { rtol: 0.0, atol: 0.0 };
    const ALL: [Compare; 5] = [EXACT, TRIMMED, TOKENS, UNORDERED, CLOSE];

    /// Asserts that exactly these comparisons find the outputs equal.
    #[track_caller]
    fn equal_by(expected: &str, got: &str, equal: &[Compare]) {
        for compare in ALL {
            assert_eq!(
                output(expected, got, compare).is_ok(),
                equal.contains(&compare),
                "{compare:?} of {expected:?} and {got:?}"
            );
        }
    }

    #[test]
    fn infinity_is_close_to_itself_only() {
        for infinity in ["inf", "-inf", "INF", "-INF", "Infinity", "-Infinity", "infinity", "+inf", "1e999", "-1e999"] {
            for finite in ["0", "-1", "1e308", "179769313486231570000", "nan", "x"] {
                assert!(output(infinity, finite, CLOSE).is_err(), "{infinity} {finite}");
                assert!(output(finite, infinity, CLOSE).is_err(), "{finite} {infinity}");
            }
            assert!(output(infinity, infinity, CLOSE).is_ok(), "{infinity}");
        }
        equal_by("INF", "inf", &[CLOSE]);
        equal_by("Infinity", "+inf", &[CLOSE]);
        equal_by("inf", "-inf", &[]);
        // Too large for a float: no infinity.
        equal_by("1e999", "inf", &[]);
        equal_by("1e999", "1e1000", &[]);
        assert!(output("5 inf", "5 7", CLOSE).is_err());
    }

    #[test]
    fn nan_is_nan_only() {
        equal_by("nan", "NaN", &[CLOSE]);
        equal_by("nan", "-nan", &[CLOSE]);
        for other in ["0", "inf", "None", "", "null"] {
            equal_by("nan", other, &[]);
            equal_by(other, "nan", &[]);
        }
    }

    #[test]
    fn large_ints_are_compared_as_ints() {
        let (huge, other) = (format!("1{}", "0".repeat(350)), format!("1{}1", "0".repeat(349)));
        equal_by(&huge, &huge, &ALL);
        for compare in [CLOSE, ZERO] {
            assert!(output(&huge, &other, compare).is_err());
            assert!(output(&huge, "inf", compare).is_err());
            assert!(output("inf", &huge, compare).is_err());
        }
        assert!(output("9007199254740993", "9007199254740992", ZERO).is_err());
        assert!(output("9007199254740993", "9007199254740992", CLOSE).is_ok());
        assert!(output("9007199254740992", "9007199254740992.0", ZERO).is_ok());
        let longer = "7".repeat(5000);
        assert!(output(&longer, &longer, CLOSE).is_ok());
        assert!(output(&longer, &format!("{longer}.0"), CLOSE).is_err());
    }

    #[test]
    fn zero_has_no_sign_for_close_alone() {
        equal_by("0", "-0", &[CLOSE]);
        equal_by("0.0", "-0.0", &[CLOSE]);
        equal_by("-0", "-0", &ALL);
    }

    #[test]
    fn nothing_equals_only_nothing() {
        equal_by("", "", &ALL);
        equal_by("", "\n", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
        equal_by(" \n\t\n", "", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
        for something in ["0", "nan", "None", "[]", "\u{200b}", "\u{feff}", "\0"] {
            equal_by("", something, &[]);
            equal_by(something, "", &[]);
        }
    }

    #[test]
    fn each_line_and_word_counts_as_often_as_it_stands_there() {
        equal_by("a\na\nb", "b\na\na", &[UNORDERED]);
        equal_by("a\na\nb", "a\nb\nb", &[]);
        equal_by("a\na", "a", &[]);
        equal_by("a", "a\na", &[]);
        equal_by("1 1 2", "1 2", &[]);
        // Lines change places, words of a line do not.
        equal_by("a b\nc", "b a\nc", &[]);
        equal_by("a\n\nb", "\na\nb", &[TOKENS, UNORDERED, CLOSE]);
    }

    #[test]
    fn white_space_counts_where_the_comparison_says_so() {
        equal_by("a b", "a b \n", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
        equal_by("a b\n", "a b\r\n", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
        equal_by("a b", "a  b", &[TOKENS, CLOSE]);
        equal_by("a b", "a\tb", &[TOKENS, CLOSE]);
        equal_by("a b", "a\u{a0}b", &[TOKENS, CLOSE]);
        equal_by("a b", "a\nb", &[TOKENS, CLOSE]);
        equal_by("a b", " a b", &[TOKENS, CLOSE]);
        equal_by("ab", "a b", &[]);
        equal_by("a", "a\u{2003}", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
        // Without width, and no white space.
        equal_by("a", "a\u{200b}", &[]);
        equal_by("a b", "a\u{200b}b", &[]);
    }

    #[test]
    fn characters_are_never_normalised() {
        for (expected, got) in [
            ("\u{e9}", "e\u{301}"),
            ("\u{212b}", "\u{c5}"),
            ("\u{fb01}", "fi"),
            ("a", "\u{430}"),
            ("A", "a"),
            ("\u{130}", "i"),
            ("\u{df}", "ss"),
            ("1", "\u{ff11}"),
            ("1", "\u{661}"),
            ("-1", "\u{2212}1"),
            ("inf", "\u{221e}"),
            ("a", "a\u{301}"),
            ("a", "\u{202e}a"),
            ("a", "\u{feff}a"),
        ] {
            equal_by(expected, got, &[]);
            equal_by(got, expected, &[]);
            equal_by(got, got, &ALL);
        }
    }

    #[test]
    fn close_takes_numbers_alone_as_numbers() {
        equal_by("1", "1.0000000001", &[CLOSE]);
        equal_by("1e3", "1000", &[CLOSE]);
        equal_by("1,5", "1.5", &[]);
        equal_by("1_000", "1000", &[]);
        equal_by("0x10", "16", &[]);
        equal_by("[1.0,", "[1.0000000001,", &[]);
        equal_by("1", "True", &[]);
        equal_by("1", "1 ", &[TRIMMED, TOKENS, UNORDERED, CLOSE]);
    }

    #[test]
    fn hostile_output_takes_no_more_than_linear_time() {
        let lines = |text: &str| format!("{text}\n").repeat(200_000);
        let digits = "9".repeat(1 << 20);
        for (expected, got) in [
            (lines("a"), lines("a")),
            (lines("1e308"), lines("1e307")),
            (digits.clone(), format!("{digits}9")),
            (format!("0.{digits}"), format!("0.{digits}1")),
            (" ".repeat(1 << 20), "\n".repeat(1 << 20)),
        ] {
            for compare in ALL {
                let _ = output(&expected, &got, compare);
            }
        }
    }
}
