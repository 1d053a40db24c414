//! The operator's own rules: regular expressions, matched in linear time.

use regex::{Regex, RegexBuilder};

use super::fragment::{Fragment, Match, Strongest};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 4096;
/// Memory of a compiled pattern, and of the automaton it becomes while it matches.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Maximum depth of brackets in brackets.
const MAX_NESTING: u32 = 50;
/// Matches of one rule in one fragment. Each may take a pass over the whole text.
const MAX_MATCHES: usize = 8;

/// Pattern rule of the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRule {
    /// Of its matches, a snake_case word.
    pub name: String,
    /// Pattern in the syntax of the `regex` crate: no look-around, no back-references.
    pub pattern: String,
    /// Of its matches, a snake_case word.
    pub category: String,
    /// Of its matches, 0 to 1.
    pub confidence: f64,
    /// Of its matches, one short sentence for people.
    pub reason: String,
}

/// A rule can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern rule `{rule}`: {problem}")]
pub struct PatternError {
    /// Name of the rule.
    pub rule: String,
    /// Description of the error.
    pub problem: String,
}

/// The operator's rules, compiled.
#[derive(Debug, Default)]
pub struct Patterns(Vec<(PatternRule, Regex)>);

impl Patterns {
    /// Compiles `rules`.
    ///
    /// # Errors
    /// Returns an error when a rule has no proper name, confidence or pattern.
    pub fn new(rules: &[PatternRule]) -> Result<Self, PatternError> {
        let compiled = rules.iter().map(|rule| {
            let regex = compile(rule).map_err(|problem| PatternError { rule: rule.name.clone(), problem })?;
            Ok((rule.clone(), regex))
        });
        Ok(Self(compiled.collect::<Result<_, _>>()?))
    }

    /// Looks for what the rules describe.
    pub fn scan(&self, fragment: &Fragment, found: &mut Vec<Match>) {
        let mut found = Strongest::new(found);
        for (rule, regex) in &self.0 {
            // A word boundary is a match without a text.
            let ranges = regex.find_iter(fragment.text).take(MAX_MATCHES).map(|one| one.range());
            for range in ranges.filter(|range| !range.is_empty()) {
                found.push(Match {
                    rule: rule.name.clone().into(),
                    category: rule.category.clone().into(),
                    range,
                    confidence: rule.confidence,
                    reason: rule.reason.clone().into(),
                });
            }
        }
    }
}

fn compile(rule: &PatternRule) -> Result<Regex, String> {
    let word = |word: &str| {
        let of_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.bytes().all(of_word) && word.len() <= 64
    };
    if !word(&rule.name) {
        return Err("its name must be a snake_case word".to_owned());
    }
    if !word(&rule.category) {
        return Err(format!("its category `{}` must be a snake_case word", rule.category));
    }
    if !(0.0..=1.0).contains(&rule.confidence) {
        return Err(format!("its confidence {} must be between 0 and 1", rule.confidence));
    }
    if rule.pattern.len() > MAX_PATTERN {
        return Err(format!("its pattern must have at most {MAX_PATTERN} bytes"));
    }
    let regex = RegexBuilder::new(&rule.pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|error| error.to_string())?;
    // Then it matches everywhere, and says nothing.
    if regex.is_match("") {
        return Err("its pattern matches the empty text".to_owned());
    }
    Ok(regex)
}

#[cfg(test)]
mod tests {
    use super::super::fragment::tests::{check, literal, takes_linear_time};
    use super::*;

    fn rule(name: &str, pattern: &str) -> PatternRule {
        let text = |text: &str| text.to_owned();
        PatternRule {
            name: text(name),
            pattern: text(pattern),
            category: text("house"),
            confidence: 0.7,
            reason: text("Ours."),
        }
    }

    fn found(patterns: &Patterns, text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        patterns.scan(&literal(text), &mut found);
        check(text, &found);
        found.into_iter().map(|one| (one.rule.into_owned(), text[one.range].to_owned())).collect()
    }

    #[test]
    fn every_rule_finds_its_own() {
        let rules = [rule("project", r"\bORCHID-\d{4}\b"), rule("colour", "(?i)r[oö]t")];
        let patterns = Patterns::new(&rules).expect("they are fine");
        let of = |rule: &str, text: &str| (rule.to_owned(), text.to_owned());
        assert_eq!(
            found(&patterns, "RÖT ORCHID-1234 rot"),
            [of("project", "ORCHID-1234"), of("colour", "RÖT"), of("colour", "rot")]
        );
        assert_eq!(found(&patterns, "orchid-1234"), []);
        assert_eq!(found(&Patterns::default(), "anything"), []);
    }

    #[test]
    fn a_bad_rule_is_refused_by_name() {
        let with =
            |confidence, category: &str| PatternRule { confidence, category: category.to_owned(), ..rule("r", "a") };
        for (bad, problem) in [
            (rule("open", "(a"), "unclosed group"),
            (rule("behind", "(?<=a)b"), "look-around"),
            (rule("empty", "a*"), "empty text"),
            (rule("huge", r"\w{500}{500}"), "size limit"),
            (rule("deep", &("(".repeat(60) + "a" + &")".repeat(60))), "nest"),
            (rule("long", &"a".repeat(5000)), "4096 bytes"),
            (rule("Not A Word", "a"), "snake_case"),
            (rule("", "a"), "snake_case"),
            (with(1.5, "c"), "between 0 and 1"),
            (with(f64::NAN, "c"), "between 0 and 1"),
            (with(0.5, "C c"), "category `C c`"),
        ] {
            let name = bad.name.clone();
            let error = Patterns::new(&[rule("fine", "a"), bad]).expect_err(&name);
            assert_eq!(error.rule, name);
            assert!(error.to_string().contains(problem) && error.to_string().contains(&name), "{error}");
        }
    }

    #[test]
    fn matches_of_a_rule_are_bounded() {
        let patterns = Patterns::new(&[rule("every", "a"), rule("other", "b")]).expect("they are fine");
        let text = "a".repeat(1000) + "b";
        assert_eq!(found(&patterns, &text).len(), MAX_MATCHES + 1);
        let anywhere = Patterns::new(&[rule("seldom", r"\b(?:x|$)")]).expect("it is fine");
        assert_eq!(found(&anywhere, "no"), []);
    }

    #[test]
    fn time_is_linear() {
        let patterns = Patterns::new(&[rule("nested", "(a+)+b"), rule("any", ".*x")]).expect("they are fine");
        takes_linear_time(&["a", "é", "ax"], |text| {
            found(&patterns, text);
        });
    }
}
