//! Transcripts of interactive interpreters.

use super::python::{self, Evidence};

/// Lines of a transcript's code that are looked at.
const MAX_LINES: usize = 80;

/// Returns whether lines have the prompts of an interactive interpreter before code.
pub(crate) fn is_transcript(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(is_prompt) && {
        let code = code_of_transcript(text);
        !code.trim().is_empty() && code.lines().take(MAX_LINES).any(|line| python::line_evidence(line) > Evidence::None)
    }
}

/// Returns whether a line is one with the prompt of a first line.
pub(crate) fn is_prompt(line: &str) -> bool {
    after_prompt(line).is_some_and(|(_, is_first)| is_first)
}

/// Returns what follows a prompt, and whether it is the prompt of a first line.
fn after_prompt(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_end_matches(['\n', '\r']);
    let text = line.trim_start();
    for (prompt, is_first) in [(">>>", true), ("...", false)] {
        if let Some(rest) = text.strip_prefix(prompt) {
            return match rest.strip_prefix(' ') {
                Some(rest) => Some((rest, is_first)),
                None if rest.is_empty() => Some((rest, is_first)),
                None => None,
            };
        }
    }
    // IPython's.
    if let Some(rest) = text.strip_prefix("In [") {
        let (number, rest) = rest.split_once("]:")?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return is_number.then(|| (rest.strip_prefix(' ').unwrap_or(rest), true));
    }
    let rest = text.strip_prefix("...:")?;
    Some((rest.strip_prefix(' ').unwrap_or(rest), false))
}

/// Returns the code of a transcript: prompts are taken off, output is left out.
pub(crate) fn code_of_transcript(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for (rest, _) in text.lines().filter_map(after_prompt) {
        code.push_str(rest);
        code.push('\n');
    }
    code
}
