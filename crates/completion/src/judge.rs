//! Content of marked blocks.

use std::sync::LazyLock;

use proofbox_types::completion::BlockContent;
use regex::Regex;

use super::bare;
use super::languages::{self, Nature, PYTHON};
use super::prose::is_prose;
use super::python::{self, Evidence, MAX_PARSED};
use super::transcript::{code_of_transcript, is_transcript};

/// Judges a marked block: its content, its language, and its code.
pub(crate) fn judge(nature: Nature<'_>, code: String) -> (BlockContent, Option<String>, String) {
    let named = |name: &str| Some(name.to_ascii_lowercase());
    match nature {
        Nature::Python => {
            if is_installation(&code) {
                return (BlockContent::Code, named("shell"), code);
            }
            match judge_declared(&code) {
                BlockContent::Transcript => (BlockContent::Transcript, named(PYTHON), code_of_transcript(&code)),
                content => (content, named(PYTHON), code),
            }
        }
        Nature::Code(name) => (judge_other(&code), named(name), code),
        Nature::Data(name) => (BlockContent::Data, named(name), code),
        Nature::Console => {
            if is_transcript(&code) {
                return (BlockContent::Transcript, named(PYTHON), code_of_transcript(&code));
            }
            match languages::recognise(&code.lines().collect::<Vec<_>>()) {
                Some(found) => (BlockContent::Code, named(found.language), code),
                None => (BlockContent::Data, named("console"), code),
            }
        }
        Nature::Unknown | Nature::Other(_) => {
            let (content, language, code) = bare::judge_unlabelled(code);
            match nature {
                // A language that nobody here has heard of.
                Nature::Other(tag) if content == BlockContent::Data => (judge_other(&code), named(tag), code),
                _ => (content, language, code),
            }
        }
    }
}

fn judge_other(code: &str) -> BlockContent {
    let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_none() || !code.contains(char::is_alphanumeric) {
        return BlockContent::Empty;
    }
    BlockContent::Code
}

/// Returns whether every line installs packages, which people write into blocks of Python.
fn is_installation(code: &str) -> bool {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*[!%$]?\s*(python3? -m )?(pip3?|conda|uv|poetry) (install|add|pip install)\b")
            .expect("the pattern is a constant")
    });
    let mut lines =
        code.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')).peekable();
    lines.peek().is_some() && lines.all(|line| LINE.is_match(line))
}

/// Judges a text that is declared to be Python.
pub(crate) fn judge_declared(source: &str) -> BlockContent {
    let mut lines = source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    if lines.peek().is_none() || !source.contains(char::is_alphanumeric) {
        return BlockContent::Empty;
    }
    if is_transcript(source) {
        return BlockContent::Transcript;
    }
    let lines: Vec<&str> = lines.collect();
    let is_text = source.len() <= MAX_PARSED
        && lines.iter().all(|line| is_prose(line))
        && python::parse(source).is_none()
        && lines.iter().all(|line| python::line_evidence(line) == Evidence::None);
    if is_text { BlockContent::Text } else { BlockContent::Code }
}
