//! Marked blocks of an answer, and the prose between them.

use proofbox_types::completion::BlockForm;

use super::bare::{self, Balance};
use super::languages::{self, Nature};
use super::prose::{Extent, Prose};
use super::reasoning;
use super::version::Label;

/// Number of marked blocks whose text is kept; further ones are only counted, except the last. As many parts of prose
/// are searched.
const MAX_KEPT: usize = 10_000;

/// Tags around code: opening, closing, and the language that they declare.
const TAGS: [(&str, &str, &str); 11] = [
    ("[PYTHON]", "[/PYTHON]", "python"),
    ("[CODE]", "[/CODE]", ""),
    ("[BEGIN]", "[DONE]", ""),
    ("<code", "</code>", ""),
    ("<pre", "</pre>", ""),
    ("<python", "</python>", "python"),
    ("<execute_ipython", "</execute_ipython>", "python"),
    ("<execute_bash", "</execute_bash>", "bash"),
    ("<execute", "</execute>", ""),
    ("<answer", "</answer>", ""),
    ("<solution", "</solution>", ""),
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

/// Block between marks.
pub(crate) struct RawBlock<'a> {
    pub form: BlockForm,
    pub tag: Option<&'a str>,
    pub code: String,
    /// Text that introduces it.
    pub lead: &'a str,
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

/// Returns the answer without the reasoning that was opened in the prompt, and without the special tokens around it.
pub(crate) fn answer_of(completion: &str) -> Answer<'_> {
    let mut text = reasoning::final_message(completion).unwrap_or(completion);
    // Both are parts of the same text.
    let mut start = text.as_ptr().addr() - completion.as_ptr().addr();
    let whole = text.len();
    text = trim_start(text);
    if reasoning::tag_at(text.trim_start()).is_none()
        && let Some(end) = reasoning::unopened_end(text)
    {
        text = trim_start(&text[end..]);
    }
    start += whole - text.len();
    let skipped = completion[..start].matches('\n').count();
    let is_opened = reasoning::tag_at(text.trim_start()).is_some();
    let text = trim_end(text);
    let text = reasoning::strip_close(text.trim_end()).filter(|_| !is_opened).unwrap_or(text);
    Answer { text, skipped }
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
    if reasoning::tag_at(text).is_some() || reasoning::TAGS.iter().any(|(_, close)| text.starts_with(close)) {
        return None;
    }
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

impl Fence<'_> {
    /// Returns whether nothing stands behind the fence but end marks of models.
    fn is_bare(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(['<', '['])
    }
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

/// End of a block.
#[derive(Clone, Copy)]
struct End<'a> {
    /// Index of the line that ends it.
    line: usize,
    /// Code before the fence on that line.
    rest: &'a str,
    kind: EndKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EndKind {
    /// Fence, as Markdown wants it.
    Close,
    /// Fence that is indented too far, follows code on its line, or has text behind it.
    Loose,
    /// Fence that opens the next block.
    Reopen,
    /// End of the text.
    Missing,
}

/// Ways of reading a block other than Markdown's that are tried.
const MAX_READINGS: usize = 4;
/// Bytes that may be read once more to find the end of a block.
const MAX_REREAD: usize = 1 << 20;
/// Bytes whose reading costs as much as one more parse does at least.
const PARSE_COST: usize = 200;
/// Levels of quotes and Markdown within Markdown.
const MAX_LEVEL: usize = 3;

/// Cuts an answer at its fences and tags.
pub(crate) fn cut<'a>(answer: &Answer<'a>) -> Cut<'a> {
    let lines = answer.text.split_inclusive('\n').collect();
    let mut cutter = Cutter { cut: Cut::default(), left: MAX_REREAD };
    cutter.cut_lines(lines, answer.skipped, 0);
    let mut cut = cutter.cut;
    let extent = if cut.blocks.is_empty() { Extent::Whole } else { Extent::Part };
    for prose in &mut cut.prose {
        prose.extent = extent;
    }
    cut
}

struct Cutter<'a> {
    cut: Cut<'a>,
    /// Bytes that may still be read once more.
    left: usize,
}

impl<'a> Cutter<'a> {
    /// Cuts lines, of which `skipped` others stand before.
    fn cut_lines(&mut self, mut lines: Vec<&'a str>, skipped: usize, level: usize) {
        let fences = lines.iter().filter(|line| fence_of(line).is_some()).count();
        // Start of the prose, and tags that are closed nowhere below.
        let (mut prose, mut unclosed) = (0, [false; TAGS.len()]);
        let mut thoughts = [Thoughts::Paired; reasoning::TAGS.len()];
        // Lines before this one stand in an answer with words.
        let mut words_until = 0;
        let (mut index, mut is_start) = (0, true);
        while index < lines.len() {
            let line = lines[index];
            if let Some(tag) = reasoning::tag_at(line.trim_start()) {
                if let Some((last, byte)) = thoughts[tag].end(&lines[index..], tag) {
                    lines[index..index + last].fill("");
                    index += last;
                    lines[index] = &lines[index][byte..];
                    continue;
                }
                if is_start {
                    return;
                }
            }
            is_start &= line.trim().is_empty();
            if level < MAX_LEVEL
                && let Some(length) = quoted_length(&lines[index..])
            {
                self.keep_prose(&lines, prose, index, skipped);
                let quoted = lines[index..index + length].iter().map(|line| unquoted(line).unwrap_or(line)).collect();
                self.cut_lines(quoted, skipped + index, level + 1);
                index += length;
                prose = index;
                continue;
            }
            if let Some((before, fence)) = opening_of(line) {
                // The opening fence may have been the end of the prompt.
                let is_unopened = fences % 2 == 1 && self.cut.blocks.is_empty() && line.trim() == "```";
                if is_unopened && bare::is_python(&lines[prose..index]) {
                    let code = lines[prose..index].concat();
                    let (first_line, last_line) = (skipped + prose + 1, skipped + index);
                    let (form, tag, lead) = (BlockForm::Fenced, None, "");
                    self.keep(RawBlock { form, tag, code, lead, first_line, last_line, complete: true });
                    index += 1;
                } else {
                    let lead = lead_of(&lines[prose..index], before);
                    self.keep_prose(&lines, prose, index, skipped);
                    index = self.fenced(&lines, index + 1, &fence, lead, (skipped, level));
                }
                prose = index;
                continue;
            }
            if let Some((tag, declared, rest)) = tag_at(line)
                && !unclosed[tag]
                && !(is_answer(tag) && index < words_until)
            {
                let close = TAGS[tag].1;
                match (index..lines.len())
                    .find(|below| if *below == index { rest.contains(close) } else { lines[*below].contains(close) })
                {
                    None => unclosed[tag] = true,
                    // An answer may have words around its code.
                    Some(end) if is_answer(tag) && !is_python_between(&lines[index..=end], rest, close) => {
                        words_until = end + 1;
                        if end > index {
                            lines[index] = rest;
                            lines[end] = lines[end].split(close).next().unwrap_or("");
                            continue;
                        }
                    }
                    // What has fences is cut at them.
                    Some(end) if lines[index + 1..=end].iter().any(|line| opening_of(line).is_some()) => {}
                    Some(end) => {
                        self.keep_prose(&lines, prose, index, skipped);
                        self.keep(tagged(&lines, (index, end), (rest, close), declared, skipped));
                        (index, prose) = (end + 1, end + 1);
                        continue;
                    }
                }
            }
            index += 1;
        }
        self.keep_prose(&lines, prose, lines.len(), skipped);
    }

    /// Keeps the block whose content starts at the line `first`, and returns the line after it.
    fn fenced(
        &mut self,
        lines: &[&'a str],
        first: usize,
        fence: &Fence<'a>,
        lead: &'a str,
        (skipped, level): (usize, usize),
    ) -> usize {
        let tag = tag_of(fence.rest);
        let is_markdown = matches!(tag.to_ascii_lowercase().as_str(), "markdown" | "md" | "mdx");
        let end = if is_markdown { end_of_markdown(lines, first, fence) } else { self.end_of(lines, first, fence) };
        let mut content = content(lines, first, end, fence.indent);
        let complete = matches!(end.kind, EndKind::Close | EndKind::Loose);
        // The text may be cut within the closing fence.
        if end.kind == EndKind::Missing && content.last().is_some_and(|line| matches!(line.trim_end(), "`" | "``")) {
            content.pop();
        }
        let last_line = (skipped + end.line + usize::from(!end.rest.is_empty())).max(skipped + first + 1);
        let (form, first_line) = (BlockForm::Fenced, skipped + first + 1);
        let code = content.concat();
        self.keep(RawBlock { form, tag: Some(tag), code, lead, first_line, last_line, complete });
        // Markdown has blocks of its own.
        if (is_markdown || (fence.length > 3 && tag.is_empty()))
            && level < MAX_LEVEL
            && content.iter().any(|line| fence_of(line).is_some())
        {
            let prose = self.cut.prose.len();
            self.cut_lines(content, skipped + first, level + 1);
            self.cut.prose.truncate(prose);
        }
        end.line + usize::from(complete)
    }

    /// Finds the end of a block. Where Markdown's reading gives code that is no Python, and another one does, the other
    /// one is taken: a fence within a string, or one that is indented too far or follows code on its line.
    fn end_of(&mut self, lines: &[&'a str], first: usize, fence: &Fence<'a>) -> End<'a> {
        let mut string = Balance::default();
        let mut loose: Vec<(End<'a>, bool)> = Vec::new();
        let mut natural = End { line: lines.len(), rest: "", kind: EndKind::Missing };
        for (line, text) in lines.iter().enumerate().skip(first) {
            if !loose.is_empty() {
                self.left = self.left.saturating_sub(text.len());
            }
            if let Some((kind, rest)) = end_at(text, fence) {
                let end = End { line, rest, kind };
                if kind != EndKind::Loose || (self.left == 0 && loose.is_empty()) {
                    natural = end;
                    break;
                }
                if loose.len() < MAX_READINGS {
                    loose.push((end, string.has_open_string()));
                }
                if self.left == 0 {
                    break;
                }
            }
            string.read(text);
        }
        let nature = languages::nature(tag_of(fence.rest));
        if !matches!(nature, Nature::Python | Nature::Unknown) {
            return match loose.first() {
                Some((end, _)) if natural.kind != EndKind::Close => *end,
                _ => natural,
            };
        }
        let is_in_string = string.has_open_string() && natural.kind != EndKind::Missing;
        if (loose.is_empty() && !is_in_string) || self.parses(lines, first, natural, fence) {
            return natural;
        }
        if let Some((end, _)) =
            loose.iter().find(|(end, in_string)| !in_string && self.parses(lines, first, *end, fence))
        {
            return *end;
        }
        if is_in_string && let Some(end) = self.end_after_string(lines, first, natural, string, fence) {
            return end;
        }
        match loose.iter().find(|(_, in_string)| !in_string) {
            Some((end, _)) if natural.kind != EndKind::Close => *end,
            _ => natural,
        }
    }

    /// Finds the end of a block whose first fences stand in a string.
    fn end_after_string(
        &mut self,
        lines: &[&'a str],
        first: usize,
        natural: End<'a>,
        mut string: Balance,
        fence: &Fence<'a>,
    ) -> Option<End<'a>> {
        let mut tried = 0;
        for (line, text) in lines.iter().enumerate().skip(natural.line) {
            self.left = self.left.saturating_sub(text.len());
            if self.left == 0 {
                return None;
            }
            if !string.has_open_string()
                && let Some((kind, rest)) = end_at(text, fence)
            {
                let end = End { line, rest, kind };
                if self.parses(lines, first, end, fence) {
                    return Some(end);
                }
                tried += 1;
                if tried == MAX_READINGS {
                    return None;
                }
            }
            string.read(text);
        }
        None
    }

    /// Returns whether the content of a block is Python; false where no more may be read.
    fn parses(&mut self, lines: &[&'a str], first: usize, end: End<'a>, fence: &Fence<'a>) -> bool {
        let code = content(lines, first, end, fence.indent).concat();
        let is_readable = self.left > code.len();
        self.left = self.left.saturating_sub(code.len() + PARSE_COST);
        is_readable && bare::parse_whole(&code).is_some()
    }

    fn keep(&mut self, block: RawBlock<'a>) {
        if self.cut.blocks.len() >= MAX_KEPT {
            self.cut.blocks.pop();
            self.cut.blocks_dropped += 1;
        }
        self.cut.blocks.push(block);
    }

    fn keep_prose(&mut self, lines: &[&'a str], from: usize, to: usize, skipped: usize) {
        if self.cut.prose.len() < MAX_KEPT && lines[from..to].iter().any(|line| !line.trim().is_empty()) {
            let lines = lines[from..to].to_vec();
            self.cut.prose.push(Prose { lines, first_line: skipped + from + 1, extent: Extent::Part });
        }
    }
}

/// State of the tags around reasoning below a line.
#[derive(Clone, Copy)]
enum Thoughts {
    /// Opening and closing ones may come in pairs.
    Paired,
    /// Pairs are broken: only the next closing one is looked for.
    Unpaired,
    /// No tag below closes.
    Unclosed,
}

impl Thoughts {
    /// Finds the end of the reasoning that the first line begins with.
    fn end(&mut self, lines: &[&str], tag: usize) -> Option<reasoning::End> {
        let close = reasoning::TAGS[tag].1;
        let end = match self {
            Self::Paired => {
                let found = reasoning::end_of(lines, tag);
                if found.is_some_and(|(_, is_paired)| !is_paired) {
                    *self = Self::Unpaired;
                }
                found.map(|(end, _)| end)
            }
            Self::Unpaired => lines
                .iter()
                .enumerate()
                .find_map(|(index, line)| line.find(close).map(|start| (index, start + close.len()))),
            Self::Unclosed => None,
        };
        if end.is_none() {
            *self = Self::Unclosed;
        }
        end
    }
}

/// Returns the fence that opens a block, and the text before it on its line.
fn opening_of(line: &str) -> Option<(&str, Fence<'_>)> {
    for (mark, quotes) in [('\'', "'''"), ('"', "\"\"\"")] {
        if let Some(rest) = line.strip_prefix(quotes).map(str::trim)
            && languages::nature(rest) == Nature::Python
        {
            return Some(("", Fence { mark, length: quotes.len(), indent: 0, rest }));
        }
    }
    if let Some(fence) = fence_of(line) {
        return (fence.mark == '~' || !fence.rest.contains('`')).then_some(("", fence));
    }
    let start = line.find("```")?;
    let (before, rest) = line.split_at(start);
    let fence = fence_of(rest).filter(|fence| !before.contains('`') && !fence.rest.contains(['`', ' ']))?;
    let is_opening = match tag_of(fence.rest) {
        "" => before.trim_end().ends_with([':', '：']),
        tag => languages::is_known(tag),
    };
    is_opening.then_some((before, Fence { indent: 0, ..fence }))
}

/// Returns how a line ends the block of a fence, and the code before the end.
fn end_at<'a>(line: &'a str, fence: &Fence<'_>) -> Option<(EndKind, &'a str)> {
    /// Spaces that a closing fence may have in front, besides those of the opening one.
    const INDENT: usize = 3;
    if matches!(fence.mark, '\'' | '"') {
        let text = line.trim_end();
        return (text.len() == fence.length && text.starts_with(fence.mark) && text.ends_with(fence.mark))
            .then_some((EndKind::Close, ""));
    }
    let Some(other) = fence_of(line) else {
        // After code on its line.
        let text = line.trim_end();
        let code = text.trim_end_matches(fence.mark);
        let is_end = fence.mark == '`' && text.len() - code.len() == fence.length && !code.contains('`');
        return is_end.then_some((EndKind::Loose, code));
    };
    if other.mark != fence.mark || other.length < fence.length || other.rest.contains(other.mark) {
        return None;
    }
    let is_near = bare::indent(line) <= fence.indent + INDENT;
    // What models write right after the fence are their own end marks.
    if other.is_bare() {
        return Some((if is_near { EndKind::Close } else { EndKind::Loose }, ""));
    }
    if languages::is_known(tag_of(other.rest)) {
        // A block that nobody closed ends where the next one is opened.
        return is_near.then_some((EndKind::Reopen, ""));
    }
    Some((EndKind::Loose, ""))
}

/// Finds the end of a block of Markdown: its own blocks are opened with a language.
fn end_of_markdown<'a>(lines: &[&'a str], first: usize, fence: &Fence<'_>) -> End<'a> {
    let mut depth = 0_usize;
    for (line, text) in lines.iter().enumerate().skip(first) {
        let Some(other) = fence_of(text).filter(|other| other.mark == fence.mark && other.length >= fence.length)
        else {
            continue;
        };
        if other.is_bare() {
            if depth == 0 {
                return End { line, rest: "", kind: EndKind::Close };
            }
            depth -= 1;
        } else if !other.rest.contains(other.mark) {
            depth += 1;
        }
    }
    End { line: lines.len(), rest: "", kind: EndKind::Missing }
}

/// Returns the lines of a block, without the indentation of its fence.
fn content<'a>(lines: &[&'a str], first: usize, end: End<'a>, indent: usize) -> Vec<&'a str> {
    let rest = Some(end.rest).filter(|rest| !rest.trim().is_empty());
    let dedent = |line: &'a str| {
        let spaces = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[spaces.min(indent)..]
    };
    lines[first..end.line].iter().copied().chain(rest).map(dedent).collect()
}

/// Returns a line without the mark of a quote in front; none where it has none.
fn unquoted(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ').strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// Returns the number of lines of the quote that begins with a fence.
fn quoted_length(lines: &[&str]) -> Option<usize> {
    let mut rest = unquoted(lines.first()?)?;
    // Quotes of quotes; the prompt of an interpreter is none.
    for _ in 1..MAX_LEVEL {
        rest = unquoted(rest).unwrap_or(rest);
    }
    if lines[0].trim_start().starts_with(">>>") || fence_of(rest).is_none() {
        return None;
    }
    Some(lines.iter().take_while(|line| unquoted(line).is_some()).count())
}

/// Returns the text that introduces a block: what stands before it on its line, else the line above, or the heading
/// above that one.
fn lead_of<'a>(lines: &[&'a str], before: &'a str) -> &'a str {
    let mut above = lines.iter().rev().take(MAX_LEAD).map(|line| line.trim()).filter(|line| !line.is_empty());
    if !before.trim().is_empty() {
        return before;
    }
    let last = above.next().unwrap_or("");
    match above.next() {
        Some(heading) if heading.starts_with(['#', '*']) && Label::of(last) == Label::None => heading,
        _ => last,
    }
}

/// Number of lines above a block among which its introduction is looked for.
const MAX_LEAD: usize = 6;

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

/// Returns whether a tag stands around an answer of any kind.
fn is_answer(tag: usize) -> bool {
    matches!(TAGS[tag].1, "</answer>" | "</solution>")
}

/// Returns whether the text between tags is Python from the first line to the last.
fn is_python_between(lines: &[&str], rest: &str, close: &str) -> bool {
    let text = [rest, &lines[1..].concat()].concat();
    let text = text.split(close).next().unwrap_or("");
    bare::is_python(&text.split_inclusive('\n').collect::<Vec<_>>())
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
        lead: lead_of(&lines[first.saturating_sub(MAX_LEAD)..first], ""),
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
        assert_eq!(codes("````md\n```\nx\n```\n````\n"), ["```\nx\n```\n", "x\n"]);
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
        assert!(cut(&answer_of("<think>\nx = 1")).prose.is_empty());
        assert_eq!(answer_of("so\n</think>\ny").text.trim(), "y");
    }
}
