//! A text of the snippet, and what a scanner recognised in it.

use std::borrow::Cow;
use std::ops::Range;

/// A text of the snippet that scanners look at.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// Position of the text in the snippet's syntax.
    pub kind: FragmentKind,
    /// The text itself, escapes resolved.
    pub text: &'a str,
    /// Name of the text where it stands: a variable that it is assigned to, a keyword argument, a key of a dict.
    pub name: Option<&'a str>,
}

/// Position of a text in the snippet's syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentKind {
    /// A string or bytes literal.
    Literal,
    /// From `#` to the end of the line.
    Comment,
    /// Name in the source.
    Identifier,
    /// A text that only comes out by evaluating constants: `"AK" + "IA…"`.
    Folded,
    /// A source that does not parse, whole.
    Source,
}

/// Something that a scanner recognised.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Rule that matched, in snake_case: `github_token`.
    pub rule: Cow<'static, str>,
    /// Category of the match, in snake_case: `credential`.
    pub category: Cow<'static, str>,
    /// Bytes of [`Fragment::text`], on char boundaries.
    pub range: Range<usize>,
    /// Confidence from 0 to 1. Below 0.5 an honest program may well contain the match.
    pub confidence: f64,
    /// Reason in a short sentence, for people.
    pub reason: Cow<'static, str>,
}

/// Most matches that one call of a scanner adds.
pub(super) const MAX_MATCHES: usize = 64;

/// The matches of one call. Past [`MAX_MATCHES`] the weakest is replaced by a stronger one: a crowd of harmless ones
/// must not hide the one that matters.
pub(super) struct Strongest<'v> {
    all: &'v mut Vec<Match>,
    start: usize,
    weakest: Option<usize>,
}

impl<'v> Strongest<'v> {
    /// Adds to `all`; what it holds already is left alone.
    pub(super) fn new(all: &'v mut Vec<Match>) -> Self {
        let start = all.len();
        Self { all, start, weakest: None }
    }

    /// Adds `one` while there is room, or in place of a weaker one.
    pub(super) fn push(&mut self, one: Match) {
        if self.all.len() - self.start < MAX_MATCHES {
            self.all.push(one);
            return;
        }
        let weakest = *self.weakest.get_or_insert_with(|| {
            let added = self.all[self.start..].iter().enumerate();
            // The last of the weakest, so that the first ones stay.
            let least = added.rev().min_by(|(_, a), (_, b)| a.confidence.total_cmp(&b.confidence));
            self.start + least.expect("it is full").0
        });
        if self.all[weakest].confidence < one.confidence {
            self.all[weakest] = one;
            self.weakest = None;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A literal without a name.
    pub(in super::super) fn literal(text: &str) -> Fragment<'_> {
        Fragment { kind: FragmentKind::Literal, text, name: None }
    }

    /// A literal that is assigned to `name`.
    pub(in super::super) fn named<'a>(name: &'a str, text: &'a str) -> Fragment<'a> {
        Fragment { kind: FragmentKind::Literal, text, name: Some(name) }
    }

    /// Makes a fragment of a comment.
    pub(in super::super) fn comment(text: &str) -> Fragment<'_> {
        Fragment { kind: FragmentKind::Comment, text, name: None }
    }

    /// Asserts the invariants of the matches of `text`.
    pub(in super::super) fn check(text: &str, found: &[Match]) {
        assert!(found.len() <= MAX_MATCHES, "{} matches", found.len());
        for one in found {
            assert!(!one.range.is_empty() && text.get(one.range.clone()).is_some(), "{one:?} of {text:?}");
            assert!((0.0..=1.0).contains(&one.confidence), "{one:?}");
            let word = |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            assert!(word(&one.rule) && word(&one.category) && one.reason.ends_with('.'), "{one:?}");
        }
    }

    /// Texts of random pieces, the same ones each time.
    pub(in super::super) fn random_texts(pieces: &[&str], count: usize) -> Vec<String> {
        let mut state = 1_u64;
        let mut text = || {
            let pieces = (0..40).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                pieces[(state >> 33) as usize % pieces.len()]
            });
            pieces.collect()
        };
        (0..count).map(|_| text()).collect()
    }

    /// Time that `scan` takes for each of `texts`, repeated to 64 KiB and to 256 KiB: it is linear.
    pub(in super::super) fn takes_linear_time(texts: &[&str], scan: impl Fn(&str)) {
        let seconds = |text: &str, bytes: usize| {
            let text = text.repeat(bytes / text.len() + 1);
            let start = std::time::Instant::now();
            scan(&text);
            start.elapsed().as_secs_f64()
        };
        for text in texts {
            // Quadratic time would be 16 times as long; what is quick says nothing, and the machine may be busy.
            let tries = (0..5).map(|_| (seconds(text, 64 << 10), seconds(text, 256 << 10)));
            let mut tries = tries.inspect(|(_, long)| assert!(*long < 20.0, "{text:?}: {long} s"));
            assert!(
                tries.any(|(short, long)| long < 0.2 || long < short * 9.0),
                "{text:?} takes more than linear time"
            );
        }
    }

    fn match_of(confidence: f64) -> Match {
        Match { rule: "a".into(), category: "b".into(), range: 0..1, confidence, reason: "C.".into() }
    }

    #[test]
    fn weak_matches_give_way_to_strong_ones() {
        let mut all = vec![match_of(0.0)];
        let mut strongest = Strongest::new(&mut all);
        for _ in 0..1000 {
            strongest.push(match_of(0.1));
        }
        strongest.push(match_of(0.9));
        strongest.push(match_of(0.8));
        strongest.push(match_of(0.1));
        assert_eq!(all.len(), 1 + MAX_MATCHES);
        let count = |confidence: f64| all.iter().filter(|one| one.confidence == confidence).count();
        assert_eq!((count(0.0), count(0.9), count(0.8), count(0.1)), (1, 1, 1, MAX_MATCHES - 2));
    }
}
