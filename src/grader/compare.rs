//! Compares what a program printed with what is expected of it.

use crate::domain::submission::Compare;

/// Characters of a line that a difference shows.
const EXCERPT: usize = 120;

/// Compares two outputs.
///
/// # Errors
/// The first difference, in words.
pub fn output(expected: &str, got: &str, compare: Compare) -> Result<(), String> {
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
        Compare::Close { rtol, atol } => {
            let close = |a: &str, b: &str| {
                a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if is_close(a, b, rtol, atol))
            };
            difference(first_difference_by(expected.split_whitespace(), got.split_whitespace(), close))
        }
    }
}

fn difference(found: Option<String>) -> Result<(), String> {
    found.map_or(Ok(()), Err)
}

/// Each line without trailing white space; blank lines at the end left out.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_end().lines().map(str::trim_end)
}

/// As NumPy's `allclose` has it, with `b` what is expected; two NaNs are close.
fn is_close(expected: f64, got: f64, rtol: f64, atol: f64) -> bool {
    expected == got || (expected.is_nan() && got.is_nan()) || (expected - got).abs() <= atol + rtol * expected.abs()
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
    fn nothing_is_not_something() {
        assert!(output("1", "", Compare::Trimmed).is_err());
        assert!(output("", "1", Compare::Trimmed).is_err());
    }
}
