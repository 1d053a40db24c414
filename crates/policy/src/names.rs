//! Patterns of qualified names.

/// `os`, `os.*`, `*`, `pathlib.Path().write_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

/// A pattern that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no pattern of names: write a dotted name, with * for what may stand there")]
pub struct NamePatternError(String);

impl NamePattern {
    /// Takes a pattern.
    ///
    /// # Errors
    /// Returns an error when the pattern is empty or has characters that no name has.
    pub fn parse(text: &str) -> Result<Self, NamePatternError> {
        let fits = !text.is_empty()
            && text.len() <= 200
            && text.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '.' | '*' | '(' | ')'));
        if fits { Ok(Self(text.to_owned())) } else { Err(NamePatternError(text.chars().take(100).collect())) }
    }

    /// Returns the pattern as it was written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns whether the pattern allows a module to be imported, as smolagents' `authorized_imports` has it: `a` is
    /// that module, `a.*` also what lies below it, `*` everything.
    pub fn authorizes(&self, module: &str) -> bool {
        match self.0.strip_suffix(".*") {
            Some(package) => is_or_below(module, package),
            None => self.0 == "*" || self.0 == module,
        }
    }

    /// Returns whether a refusal of this pattern covers a module: what lies below it is refused as well.
    pub fn covers(&self, module: &str) -> bool {
        let package = self.0.strip_suffix(".*").unwrap_or(&self.0);
        package == "*" || is_or_below(module, package)
    }

    /// Returns whether the pattern matches a name; `*` stands for any characters.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

fn is_or_below(module: &str, package: &str) -> bool {
    module.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> NamePattern {
        NamePattern::parse(text).expect("it is one")
    }

    #[test]
    fn a_package_is_authorized_with_what_is_below_it_only_where_that_is_said() {
        assert!(pattern("numpy").authorizes("numpy"));
        assert!(!pattern("numpy").authorizes("numpy.random"));
        assert!(pattern("numpy.*").authorizes("numpy") && pattern("numpy.*").authorizes("numpy.random"));
        assert!(!pattern("numpy.*").authorizes("numpyro"));
        assert!(pattern("*").authorizes("anything.at.all"));
    }

    #[test]
    fn a_refused_package_is_refused_with_what_is_below_it() {
        assert!(pattern("os").covers("os.path") && pattern("os.*").covers("os"));
        assert!(!pattern("os").covers("ossaudiodev"));
    }

    #[test]
    fn stars_stand_for_any_characters() {
        assert!(pattern("os.exec*").matches("os.execv") && !pattern("os.exec*").matches("os.system"));
        assert!(pattern("*.write_*").matches("pathlib.Path().write_text"));
        assert!(pattern("os.system").matches("os.system") && !pattern("os.system").matches("os.system2"));
    }

    #[test]
    fn what_no_name_has_is_refused() {
        assert!(NamePattern::parse("").is_err() && NamePattern::parse("os; rm").is_err());
    }
}
