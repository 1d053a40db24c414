//! Names of templates and their tags.

use super::super::super::error::{E2bError, Kind};

/// Tag of a build that is given none, and of a template that is named without one.
pub(crate) const DEFAULT_TAG: &str = "default";
/// Longest name or tag, in bytes.
const MAX_BYTES: usize = 128;
/// Number of tags in one request.
const MAX_TAGS: usize = 64;

/// Template as a client names it: `name` or `name:tag`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Name of the template.
    pub name: String,
    /// Tag behind the name.
    pub tag: Option<String>,
}

impl Target {
    /// Reads a name with or without a tag. Capital letters count as small ones.
    ///
    /// # Errors
    /// Returns an error for any other form.
    pub(crate) fn parse(text: &str) -> Result<Self, E2bError> {
        let (name, tag) = match text.split_once(':') {
            Some((name, tag)) => (name, Some(parse_tag(tag)?)),
            None => (text, None),
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > MAX_BYTES || !name.bytes().all(is_allowed) {
            let message = format!("a template's name has 1 to {MAX_BYTES} of a-z, 0-9, - and _");
            return Err(E2bError::new(Kind::Bad, message));
        }
        Ok(Self { name: name.to_ascii_lowercase(), tag })
    }

    /// Returns the tag that is meant.
    pub(crate) fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(DEFAULT_TAG)
    }
}

fn parse_tag(text: &str) -> Result<String, E2bError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(is_allowed) {
        return Err(E2bError::new(Kind::Bad, format!("a tag has 1 to {MAX_BYTES} of a-z, 0-9, -, _ and .")));
    }
    Ok(text.to_ascii_lowercase())
}

/// Reads tags, in order and each once.
///
/// # Errors
/// Returns an error for a tag of another form, or too many.
pub(crate) fn parse_tags<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, E2bError> {
    let mut tags = texts.into_iter().map(parse_tag).collect::<Result<Vec<_>, _>>()?;
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > MAX_TAGS {
        return Err(E2bError::new(
            Kind::Bad,
            format!("there are {} tags; at most {MAX_TAGS} are possible", tags.len()),
        ));
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_named_with_or_without_a_tag() {
        let parsed = |text: &str| Target::parse(text).map(|target| (target.name.clone(), target.tag().to_owned()));
        let named = |name: &str, tag: &str| Ok((name.to_owned(), tag.to_owned()));
        assert_eq!(parsed("My-env_1"), named("my-env_1", "default"));
        assert_eq!(parsed("env:v1.0-RC"), named("env", "v1.0-rc"));
        let long = "x".repeat(MAX_BYTES + 1);
        for wrong in ["", ":v1", "env:", "a:b:c", "a b", "a/b", "ä", &long, &format!("a:{long}"), "a.b", "a:b/c"] {
            assert_eq!(parsed(wrong).expect_err(wrong).kind(), Kind::Bad);
        }
    }

    #[test]
    fn tags_count_once_and_have_one_form() {
        assert_eq!(parse_tags(["b", "a", "B"]), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert!(parse_tags([":a"]).is_err() && parse_tags(["env:a"]).is_err() && parse_tags([""]).is_err());
        let many: Vec<String> = (0..=MAX_TAGS).map(|number| number.to_string()).collect();
        assert!(parse_tags(many.iter().map(String::as_str)).is_err());
    }
}
