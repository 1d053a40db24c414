//! Marked blocks of an answer, and the prose between them.

use proofbox_types::completion::BlockForm;

use super::bare;

/// Number of marked blocks whose text is kept; further ones are only counted, except the last.
const MAX_KEPT: usize = 10_000;

/// Tags around a model's reasoning, which is no part of the answer.
const REASONING: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
];

/// Tags around code: opening, closing, and the language that they declare.
const TAGS: [(&str, &str, &str); 9] = [
    ("[PYTHON]", "[/PYTHON]", "python"),
    ("[CODE]", "[/CODE]", ""),
    ("[BEGIN]", "[DONE]", ""),
    ("<code", "</code>", ""),
    ("<pre", "</pre>", ""),
    ("<python", "</python>", "python"),
    ("<execute_ipython", "</execute_ipython>", "python"),
    ("<execute_bash", "</execute_bash>", "bash"),
    ("<execute", "</execute>", ""),
];

/// Tokens that models end or begin their turns with, where they were not removed.
const SPECIAL: [&str; 8] =
    ["</s>", "<s>", "<bos>", "<eos>", "<end_of_turn>", "<start_of_turn>", "<end_code>", "[DONE]"];

/// Part of an answer that is searched.
pub(crate) struct Answer<'a> {
    text: &'a str,
    /// Number of lines before the text.
    skipped: usize,
}

/// Lines of an answer that follow each other.
pub(crate) struct Prose<'a> {
    /// Lines, each with its end.
    pub lines: Vec<&'a str>,
    /// Number of the first line, from 1.
    pub first_line: usize,
    /// True when there is nothing else in the answer.
    pub is_all: bool,
}

/// Block between marks.
pub(crate) struct RawBlock<'a> {
    pub form: BlockForm,
    pub tag: Option<&'a str>,
    pub code: String,
    pub first_line: usize,
    pub last_line: usize,
    pub complete: bool,
}

/// Answer that is cut at its marks.
#[derive(Default)]
pub(crate) struct Cut<'a> {
    pub blocks: Vec<RawBlock<'a>>,
    pub blocks_dropped: usize,
    pub prose: Vec<Prose<'a>>,
}

/// Returns the answer without the reasoning before it, and without the special tokens around it.
pub(crate) fn answer_of(completion: &str) -> Answer<'_> {
    let mut text = completion;
    let start = trim_start(text);
    for (open, close) in REASONING {
        let begins = start.starts_with(open);
        match text.rfind(close) {
            // What was opened in the prompt has no opening tag here. A tag within a block is the block's own.
            Some(end) if begins || text[..end].matches("```").count().is_multiple_of(2) => {
                text = &text[end + close.len()..];
                break;
            }
            None if begins => {
                text = "";
                break;
            }
            _ => {}
        }
    }
    text = trim_start(text);
    let skipped = completion[..completion.len() - text.len()].matches('\n').count();
    Answer { text: trim_end(text), skipped }
}

/// Removes special tokens and the blank lines before them from the start.
fn trim_start(mut text: &str) -> &str {
    loop {
        let rest = text.trim_start();
        let Some(length) = special_length(rest) else { return text };
        text = &rest[length..];
        // The role stands after the token, on a line of its own.
        if let Some(rest) = text.strip_prefix("assistant").or_else(|| text.strip_prefix("model"))
            && rest.starts_with(['\n', '\r', '<'])
        {
            text = rest;
        }
    }
}

fn trim_end(mut text: &str) -> &str {
    loop {
        let rest = text.trim_end();
        let start = rest.rfind(['<', '[']).filter(|start| rest.len() - start <= MAX_SPECIAL);
        match start {
            Some(start) if special_length(&rest[start..]) == Some(rest.len() - start) => text = &rest[..start],
            _ => return text,
        }
    }
}

/// Longest special token, in bytes.
const MAX_SPECIAL: usize = 60;

/// Returns the length of the special token that a text starts with.
fn special_length(text: &str) -> Option<usize> {
    if let Some(token) = SPECIAL.iter().find(|token| text.starts_with(**token)) {
        return Some(token.len());
    }
    for (open, close) in [("<|", "|>"), ("<｜", "｜>")] {
        if let Some(rest) = text.strip_prefix(open) {
            let end = rest.char_indices().take(MAX_SPECIAL / 2).map(|(index, _)| index);
            let end = end.into_iter().find(|index| rest[*index..].starts_with(close))?;
            return Some(open.len() + end + close.len()).filter(|_| !rest[..end].contains(['\n', ' ']));
        }
    }
    None
}

/// Fence at the start of a line.
struct Fence<'a> {
    mark: char,
    length: usize,
    indent: usize,
    rest: &'a str,
}

/// Returns the fence of a line (CommonMark 0.31, 4.5; but for the indentation, which lists add to).
fn fence_of(line: &str) -> Option<Fence<'_>> {
    let trimmed = line.trim_start_matches([' ', '\t']);
    let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    let rest = trimmed[length..].trim();
    (length >= 3).then_some(Fence { mark, length, indent: line.len() - trimmed.len(), rest })
}

/// Returns the language that the text after a fence declares.
fn tag_of(rest: &str) -> &str {
    let rest = rest.trim_start_matches(['{', '.', ' ']);
    rest.split([' ', '{', '}', ',', ':', ';', '=', '\t']).next().unwrap_or("")
}

/// Block that is open.
struct Open<'a> {
    fence: Fence<'a>,
    tag: &'a str,
    code: String,
    first_line: usize,
    /// Fences that are open within a block of Markdown.
    depth: usize,
}

impl<'a> Open<'a> {
    fn new(fence: Fence<'a>, first_line: usize) -> Self {
        Self { tag: tag_of(fence.rest), fence, code: String::new(), first_line, depth: 0 }
    }

    fn block(self, last_line: usize, complete: bool) -> RawBlock<'a> {
        let tag = Some(self.tag);
        let (first_line, last_line) = (self.first_line, last_line.max(self.first_line));
        RawBlock { form: BlockForm::Fenced, tag, code: self.code, first_line, last_line, complete }
    }

    fn is_markdown(&self) -> bool {
        matches!(self.tag.to_ascii_lowercase().as_str(), "markdown" | "md")
    }
}

/// Cuts an answer at its fences and tags.
pub(crate) fn cut<'a>(answer: &Answer<'a>) -> Cut<'a> {
    let lines: Vec<&str> = answer.text.split_inclusive('\n').collect();
    let fences = lines.iter().filter(|line| fence_of(line).is_some()).count();
    let mut cut = Cutter { skipped: answer.skipped, cut: Cut::default() };
    let mut open: Option<Open<'a>> = None;
    // Start of the prose, and tags that are closed nowhere below.
    let (mut prose, mut unclosed) = (0, [false; TAGS.len()]);
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        let number = answer.skipped + index + 1;
        if let Some(block) = &mut open {
            match fence_of(line).filter(|fence| fence.mark == block.fence.mark && fence.length >= block.fence.length) {
                // What models write right after the fence are their own end marks.
                Some(fence) if fence.rest.is_empty() || fence.rest.starts_with(['<', '[']) => {
                    if block.depth > 0 {
                        block.depth -= 1;
                        block.code.push_str(line);
                    } else {
                        cut.keep(open.take().map(|block| block.block(number - 1, true)));
                        prose = index + 1;
                    }
                }
                Some(fence) if block.is_markdown() && !fence.rest.contains(fence.mark) => {
                    block.depth += 1;
                    block.code.push_str(line);
                }
                // A block that nobody closed ends where the next one is opened.
                Some(fence) if super::languages::is_known(tag_of(fence.rest)) && !fence.rest.contains(fence.mark) => {
                    cut.keep(open.take().map(|block| block.block(number - 1, false)));
                    open = Some(Open::new(fence, number + 1));
                }
                _ => {
                    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
                    block.code.push_str(&line[indent.min(block.fence.indent)..]);
                }
            }
            index += 1;
            continue;
        }
        if let Some(fence) = fence_of(line).filter(|fence| fence.mark == '~' || !fence.rest.contains('`')) {
            let before = &lines[prose..index];
            // The opening fence may have been the end of the prompt.
            let is_unopened = fences % 2 == 1 && cut.cut.blocks.is_empty() && fence.rest.is_empty();
            if is_unopened && bare::is_python(before) {
                let code = before.concat();
                let (first_line, last_line) = (answer.skipped + prose + 1, number - 1);
                let form = BlockForm::Fenced;
                cut.keep(Some(RawBlock { form, tag: None, code, first_line, last_line, complete: true }));
                prose = index + 1;
            } else {
                cut.keep_prose(&lines, prose, index);
                open = Some(Open::new(fence, number + 1));
            }
            index += 1;
            continue;
        }
        if let Some((tag, declared, rest)) = tag_at(line)
            && !unclosed[tag]
        {
            let close = TAGS[tag].1;
            match (index..lines.len())
                .find(|below| if *below == index { rest.contains(close) } else { lines[*below].contains(close) })
            {
                None => unclosed[tag] = true,
                Some(end) => {
                    cut.keep_prose(&lines, prose, index);
                    cut.keep(Some(tagged(&lines, (index, end), (rest, close), declared, answer.skipped)));
                    (index, prose) = (end + 1, end + 1);
                    continue;
                }
            }
        }
        index += 1;
    }
    match open {
        Some(block) => cut.keep(Some(block.block(answer.skipped + lines.len(), false))),
        None => cut.keep_prose(&lines, prose, lines.len()),
    }
    let is_all = cut.cut.blocks.is_empty();
    for prose in &mut cut.cut.prose {
        prose.is_all = is_all;
    }
    cut.cut
}

struct Cutter<'a> {
    skipped: usize,
    cut: Cut<'a>,
}

impl<'a> Cutter<'a> {
    fn keep(&mut self, block: Option<RawBlock<'a>>) {
        if self.cut.blocks.len() >= MAX_KEPT {
            self.cut.blocks.pop();
            self.cut.blocks_dropped += 1;
        }
        self.cut.blocks.extend(block);
    }

    fn keep_prose(&mut self, lines: &[&'a str], from: usize, to: usize) {
        if lines[from..to].iter().any(|line| !line.trim().is_empty()) {
            let lines = lines[from..to].to_vec();
            self.cut.prose.push(Prose { lines, first_line: self.skipped + from + 1, is_all: false });
        }
    }
}

/// Returns the opening tag that a line starts with: its index, the language that it declares, and what follows it.
fn tag_at(line: &str) -> Option<(usize, &str, &str)> {
    let trimmed = line.trim_start();
    TAGS.iter().enumerate().find_map(|(index, (open, _, language))| {
        let rest = trimmed.strip_prefix(open)?;
        if open.ends_with(']') {
            return Some((index, *language, rest));
        }
        let (attributes, rest) = rest.split_once('>')?;
        if !(attributes.is_empty() || attributes.starts_with(' ')) {
            return None;
        }
        let class = attributes.split_once("language-").map(|(_, class)| class);
        let class = class.map(|class| class.split(['"', '\'', ' ']).next().unwrap_or(""));
        Some((index, class.unwrap_or(language), rest))
    })
}

/// Makes the block between the tags on the lines `first` and `last`.
fn tagged<'a>(
    lines: &[&'a str],
    (first, last): (usize, usize),
    (rest, close): (&'a str, &str),
    declared: &'a str,
    skipped: usize,
) -> RawBlock<'a> {
    let before = |text: &'a str| text.split_once(close).map_or(text, |(before, _)| before);
    let mut code = String::new();
    if first == last {
        code.push_str(before(rest));
    } else {
        code.push_str(rest.trim_start_matches([' ', '\r', '\n']));
        code.extend(lines[first + 1..last].iter().copied());
        code.push_str(before(lines[last]).trim_end_matches([' ', '\t']));
    }
    // `<pre><code>` is one pair of tags.
    if let Some((_, _, inner)) = tag_at(&code) {
        code = inner.split("</code>").next().unwrap_or("").trim_start_matches('\n').to_owned();
    }
    let starts_below = first < last && rest.trim().is_empty();
    let first_line = skipped + first + 1 + usize::from(starts_below);
    RawBlock {
        form: BlockForm::Tagged,
        tag: Some(declared).filter(|declared| !declared.is_empty()),
        code,
        first_line,
        last_line: (skipped + last + 1 - usize::from(first < last && before(lines[last]).trim().is_empty()))
            .max(first_line),
        complete: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<String> {
        cut(&answer_of(text)).blocks.into_iter().map(|block| block.code).collect()
    }

    #[test]
    fn backquotes_inside_a_line_open_nothing() {
        assert!(codes("```x``` = 1").is_empty());
    }

    #[test]
    fn the_indentation_of_the_fence_is_taken_off() {
        assert_eq!(codes("1. so:\n\n   ```python\n   if x:\n       y()\n   ```\n"), ["if x:\n    y()\n"]);
    }

    #[test]
    fn a_longer_fence_may_hold_a_shorter_one() {
        assert_eq!(codes("````md\n```\nx\n```\n````\n"), ["```\nx\n```\n"]);
    }

    #[test]
    fn a_block_that_nobody_closed_ends_at_the_next() {
        assert_eq!(codes("```python\nx = 1\n\n```bash\nls\n```\n"), ["x = 1\n\n", "ls\n"]);
    }

    #[test]
    fn tags_are_marks_as_well() {
        assert_eq!(codes("[PYTHON]\nx = 1\n[/PYTHON]\n"), ["x = 1\n"]);
        assert_eq!(codes("<pre><code class=\"language-python\">\nx = 1\n</code></pre>"), ["x = 1\n"]);
        assert_eq!(codes("The <code> tag\n<code>\n"), Vec::<String>::new());
    }

    #[test]
    fn special_tokens_are_taken_off() {
        assert_eq!(answer_of("<s> x = 1</s>\n<|eot_id|>").text.trim(), "x = 1");
        assert_eq!(answer_of("<|im_start|>assistant\nx < y").text.trim(), "x < y");
        assert_eq!(answer_of("a <| b |> c").text, "a <| b |> c");
    }

    #[test]
    fn an_answer_within_unclosed_reasoning_is_empty() {
        assert_eq!(answer_of("<think>\nx = 1").text, "");
        assert_eq!(answer_of("so\n</think>\ny").text.trim(), "y");
    }
}
