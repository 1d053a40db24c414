//! A model's reasoning, which is no part of the answer: marked by tags, or by the channel that it stands in.

/// Tags around reasoning.
pub(crate) const TAGS: [(&str, &str); 10] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
];

/// Longest header of a channel's message, in bytes.
const MAX_HEADER: usize = 120;

/// Returns the index of the opening tag that a text starts with.
pub(crate) fn tag_at(text: &str) -> Option<usize> {
    TAGS.iter().position(|(open, _)| text.starts_with(open))
}

/// Returns a text without the closing tag at its end.
pub(crate) fn strip_close(text: &str) -> Option<&str> {
    TAGS.iter().find_map(|(_, close)| text.strip_suffix(close))
}

/// Returns the message of the channel `final` (Harmony), or what is said in another one than `analysis`; none where the
/// text has no channels.
pub(crate) fn final_message(text: &str) -> Option<&str> {
    const CHANNEL: &str = "<|channel|>";
    const MESSAGE: &str = "<|message|>";
    let start = text.trim_start();
    let has_channels =
        [CHANNEL, "<|start|>", "analysis<|message|>", "final<|message|>"].iter().any(|token| start.starts_with(token))
            || text.contains("<|start|>assistant<|channel|>");
    if !has_channels {
        // Where the tokens were dropped, their names stand in the text.
        let rest = start.strip_prefix("analysis")?;
        return rest.split_once("assistantfinal").map(|(_, answer)| answer);
    }
    let nothing = &text[..0];
    let mut said = start.starts_with("analysis<|message|>").then_some(nothing);
    if let Some(answer) = start.strip_prefix("final<|message|>") {
        return Some(message(answer));
    }
    for (index, _) in text.match_indices(CHANNEL) {
        let header = &text[index + CHANNEL.len()..];
        let near = &header.as_bytes()[..header.len().min(MAX_HEADER)];
        let Some(length) = near.windows(MESSAGE.len()).position(|window| window == MESSAGE.as_bytes()) else {
            continue;
        };
        let answer = &header[length + MESSAGE.len()..];
        if header.starts_with("final") {
            return Some(message(answer));
        }
        said = Some(if header.starts_with("analysis") { said.unwrap_or(nothing) } else { answer });
    }
    said.map(message)
}

/// Returns a message up to the token that ends it.
fn message(text: &str) -> &str {
    let ends = ["<|end|>", "<|return|>", "<|call|>", "<|start|>"];
    let end = ends.iter().filter_map(|token| text.find(token)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Place in lines: the index of a line, and the byte within it that follows the closing tag.
pub(crate) type End = (usize, usize);

/// Finds the end of the reasoning that the first line begins with. Tags that the reasoning mentions in pairs are
/// skipped; where they don't come in pairs, it ends at the first tag that stands for itself.
pub(crate) fn end_of(lines: &[&str], tag: usize) -> Option<(End, bool)> {
    let (mut depth, mut first_mark, mut first) = (0_usize, None, None);
    for (index, line) in lines.iter().enumerate() {
        for (start, is_open) in tags_in(line, tag) {
            if is_open {
                depth += 1;
                continue;
            }
            let end = (index, start + TAGS[tag].1.len());
            let is_mark = is_mark(&line[..start], &line[end.1..]);
            if is_mark && depth <= 1 {
                return Some((end, true));
            }
            if depth > 1 {
                depth -= 1;
            }
            first = first.or(Some(end));
            first_mark = first_mark.or(Some(end).filter(|_| is_mark));
        }
    }
    first_mark.or(first).map(|end| (end, false))
}

/// Finds the end of reasoning that was opened in the prompt: a closing tag that stands for itself, outside of blocks,
/// before something else.
pub(crate) fn unopened_end(text: &str) -> Option<usize> {
    let ends = (0..TAGS.len()).filter(|tag| text.contains(TAGS[*tag].1)).filter_map(|tag| unopened_end_by(text, tag));
    ends.max()
}

fn unopened_end_by(text: &str, tag: usize) -> Option<usize> {
    let (mut depth, mut offset, mut fences) = (0_usize, 0, 0_usize);
    for line in text.split_inclusive('\n') {
        let mut counted = 0;
        for (start, is_open) in tags_in(line, tag) {
            fences += line[counted..start].matches("```").count();
            counted = start;
            if is_open {
                depth += 1;
                continue;
            }
            if depth > 0 {
                depth -= 1;
                continue;
            }
            let end = start + TAGS[tag].1.len();
            let (before, after) = (&line[..start], &line[end..]);
            let is_alone = before.trim_end().is_empty() && after.trim_start().is_empty();
            let is_outside = fences.is_multiple_of(2);
            if is_mark(before, after) && (is_outside || is_alone) && !text[offset + end..].trim_start().is_empty() {
                return Some(offset + end);
            }
        }
        fences += line[counted..].matches("```").count();
        offset += line.len();
    }
    None
}

/// Returns where the tags of a pair stand in a line, and which of them open.
fn tags_in(line: &str, tag: usize) -> impl Iterator<Item = (usize, bool)> {
    let (open, close) = TAGS[tag];
    let first = open.chars().next().unwrap_or('<');
    line.match_indices(first).filter_map(move |(start, _)| {
        let rest = &line[start..];
        if rest.starts_with(close) { Some((start, false)) } else { rest.starts_with(open).then_some((start, true)) }
    })
}

/// Returns whether a closing tag between two parts of a line stands for itself, and is not only mentioned.
fn is_mark(before: &str, after: &str) -> bool {
    let ahead = before.trim_end();
    let is_quoted = ahead.ends_with(['`', '"', '\'']) && !ahead.ends_with("```");
    if ahead.is_empty() || after.trim_start().is_empty() {
        return !is_quoted;
    }
    let is_tight = ahead.len() == before.len() && !is_quoted && !ahead.ends_with(['(', '/', '…', '>']);
    let goes_on = after.starts_with(|char: char| char.is_alphanumeric() || matches!(char, '#' | '*' | '[' | '<'))
        || after.starts_with("```");
    (is_tight && goes_on) || ahead.ends_with(['.', '!', '?', '。', '！', '？'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_final_is_the_answer() {
        let text = "<|channel|>analysis<|message|>x = 1<|end|><|start|>assistant<|channel|>final<|message|>y<|return|>";
        assert_eq!(final_message(text), Some("y"));
        assert_eq!(final_message("analysisWe write x.assistantfinaly"), Some("y"));
        assert_eq!(final_message("<|channel|>analysis<|message|>x = 1"), Some(""));
        let call = "<|channel|>commentary to=python <|constrain|>code<|message|>y<|call|>";
        assert_eq!(final_message(call), Some("y"));
        assert_eq!(final_message("analysis of x"), None);
        assert_eq!(final_message("The token <|channel|>final<|message|> begins it."), None);
    }

    #[test]
    fn tags_that_are_mentioned_end_nothing() {
        let lines = ["<think>Strip <think>…</think> first.\n", "Then `</think>` alone.\n", "</think>y\n"];
        assert_eq!(end_of(&lines, 0), Some(((2, 8), true)));
        let lines = ["<think>A <think> tag.\n", "</think>\n", "y\n"];
        assert_eq!(end_of(&lines, 0), Some(((1, 8), false)));
        assert_eq!(unopened_end("y\nI closed </think> late.\n"), None);
        assert_eq!(unopened_end("x = 1\n# the end </think>\n"), None);
        assert_eq!(unopened_end("so\n</think>\ny"), Some(11));
        assert_eq!(unopened_end("So it is.</think>y"), Some(17));
    }
}
