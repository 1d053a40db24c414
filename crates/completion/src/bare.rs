//! Code that stands between prose without any mark.

use proofbox_types::completion::{Block, BlockContent, BlockForm};

use super::languages::{self, ENOUGH, PYTHON, Recognised};
use super::prose::{Extent, Prose, is_prose};
use super::python::{self, Evidence, MAX_PARSED, Parsed};
use super::transcript::{code_of_transcript, is_prompt, is_transcript};
use super::version::Label;
use super::{Found, MAX_BLOCKS};

/// Longest text whose lines are parsed one by one, in bytes; of a longer one only the beginning is.
const MAX_SEARCHED: usize = MAX_PARSED;
/// Lines that an open bracket or string may take together.
const MAX_JOINED: usize = 80;
/// Width of the indentation by which Markdown marks code.
const INDENTED: usize = 4;

/// Part of a text that is Python.
#[derive(Debug)]
struct Segment {
    first: usize,
    last: usize,
    weight: usize,
    is_strong: bool,
}

impl Segment {
    fn is_python(&self) -> bool {
        self.is_strong && self.weight >= python::weight(Evidence::Strong)
    }
}

/// Finds the code in unmarked text.
pub(crate) fn find(prose: &Prose<'_>) -> Vec<Found> {
    let lines = searched(&prose.lines);
    if languages::is_settings(lines) {
        return Vec::new();
    }
    let text = prose.lines.concat();
    let other = languages::recognise(lines).filter(|other| other.weight >= ENOUGH);
    // Statements that end with semicolons are those of others, though they may parse.
    let is_other = |language| language == "diff" || ends_statements(lines);
    let is_whole = is_whole_python(&text, prose.extent);
    let ends_so = |line: &&str| line.trim_end().ends_with(';');
    if is_whole && other.is_none() && all_end_statements(lines) && lines.iter().any(ends_so) {
        return vec![found(prose, (0, prose.lines.len() - 1), languages::ANY, BlockForm::Bare)];
    }
    if is_whole && !other.is_some_and(|other| is_other(other.language) || is_short_other(lines, &other)) {
        return vec![found(prose, (0, prose.lines.len() - 1), PYTHON, BlockForm::Bare)];
    }
    let without_tracebacks = without_tracebacks(lines);
    let mut segments = segments(without_tracebacks.as_deref().unwrap_or(lines));
    segments.retain(Segment::is_python);
    // Prompts within code are examples in its docstrings.
    let first = segments.first().map_or(lines.len(), |segment| segment.first);
    if let Some(found) = find_transcript(prose, first) {
        return vec![found];
    }
    if let [segment] = &mut segments[..]
        && lines.len() == prose.lines.len()
        && [&lines[..segment.first], &lines[segment.last + 1..]].concat().iter().all(|line| line.trim().is_empty())
    {
        (segment.first, segment.last) = (0, lines.len() - 1);
    }
    segments.truncate(MAX_BLOCKS);
    let weight = segments.iter().map(|segment| segment.weight).sum();
    if let Some(other) = other
        && !languages::is_rather_python(weight, Some(&other))
    {
        return vec![found(prose, other.lines, other.language, BlockForm::Bare)];
    }
    // Beyond what was searched it goes on as it began.
    if lines.len() < prose.lines.len()
        && let Some(last) = segments.last_mut().filter(|last| last.last + 1 == lines.len())
    {
        last.last = prose.lines.len() - 1;
    }
    let block = |segment: Segment| {
        let range = (segment.first, segment.last);
        let mut indents = prose.lines[range.0..=range.1].iter().filter(|line| !line.trim().is_empty());
        // The body of a function is indented where the answer goes on from a prompt.
        let is_indented = range.0 > 0 && indents.all(|line| indent(line) >= INDENTED);
        found(prose, range, PYTHON, if is_indented { BlockForm::Indented } else { BlockForm::Bare })
    };
    segments.into_iter().map(block).collect()
}

fn found(prose: &Prose<'_>, (first, last): (usize, usize), language: &str, form: BlockForm) -> Found {
    let lines = &prose.lines[first..=last];
    let code = if form == BlockForm::Indented { dedent(lines) } else { lines.concat() };
    let block = Block {
        form,
        content: BlockContent::Code,
        language: Some(language.to_owned()),
        declared: None,
        first_line: prose.first_line + first,
        last_line: prose.first_line + last,
        complete: true,
    };
    let label = first.checked_sub(1).map_or(Label::None, |above| Label::of(prose.lines[above]));
    Found { block, code, label }
}

/// Finds a transcript that begins before the line `end`.
fn find_transcript(prose: &Prose<'_>, end: usize) -> Option<Found> {
    let first = prose.lines.iter().take(end).position(|line| is_prompt(line))?;
    let last = prose.lines.iter().rposition(|line| is_prompt(line))?;
    let text = prose.lines[first..=last].concat();
    if !is_transcript(&text) {
        return None;
    }
    let found = found(prose, (first, last), PYTHON, BlockForm::Bare);
    Some(Found {
        block: Block { content: BlockContent::Transcript, ..found.block },
        code: code_of_transcript(&text),
        ..found
    })
}

/// Judges a marked block that declares no language: its content, its language, and its code.
pub(crate) fn judge_unlabelled(code: String) -> (BlockContent, Option<String>, String) {
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    if lines.iter().all(|line| line.trim().is_empty()) {
        return (BlockContent::Empty, None, code);
    }
    if is_transcript(&code) {
        let code = code_of_transcript(&code);
        return (BlockContent::Transcript, Some(PYTHON.to_owned()), code);
    }
    let searched = searched(&lines);
    if languages::is_settings(searched) {
        return (BlockContent::Data, None, code);
    }
    let other = languages::recognise(searched).filter(|other| other.weight >= 2);
    let is_diff = other.is_some_and(|other| other.language == "diff");
    let is_whole = !is_diff && parse_whole(&code).is_some_and(|parsed| parsed.strongest >= Evidence::Weak);
    let without_tracebacks = without_tracebacks(searched);
    let segments = segments(without_tracebacks.as_deref().unwrap_or(searched));
    let weight: usize = segments.iter().filter(|segment| segment.is_python()).map(|segment| segment.weight).sum();
    let language = if is_whole || languages::is_rather_python(weight, other.as_ref()) {
        Some(PYTHON)
    } else {
        other.map(|other| other.language)
    };
    match language {
        Some(language) => (BlockContent::Code, Some(language.to_owned()), code),
        None if lines.iter().all(|line| is_prose(line)) => (BlockContent::Text, None, code),
        None => (BlockContent::Data, None, code),
    }
}

/// Returns whether unmarked lines are Python from the first to the last.
pub(crate) fn is_python(lines: &[&str]) -> bool {
    let text = lines.concat();
    if text.trim().is_empty() {
        return false;
    }
    let searched = searched(lines);
    is_whole_python(&text, Extent::Whole)
        || segments(searched).first().is_some_and(|segment| {
            let rest = &searched[segment.last + 1..];
            segment.is_python() && segment.first == 0 && rest.iter().all(|line| line.trim().is_empty())
        })
}

/// Lines that a text has at most whose statements of other languages may be Python as well.
const MAX_SHORT: usize = 8;

/// Returns whether a short text without strings of several lines, though it parses, is rather in another language.
fn is_short_other(lines: &[&str], other: &Recognised) -> bool {
    let texts = || lines.iter().filter(|line| !line.trim().is_empty());
    let is_short = texts().count() <= MAX_SHORT && !texts().any(|line| line.contains("\"\"\"") || line.contains("'''"));
    let weight = || texts().map(|line| python::weight(python::line_evidence(line))).sum();
    is_short && other.language != languages::ANY && !languages::is_rather_python(weight(), Some(other))
}

/// Returns whether every line ends as those of languages with braces do.
fn all_end_statements(lines: &[&str]) -> bool {
    lines.iter().map(|line| line.trim_end()).all(|line| line.is_empty() || line.ends_with([';', '{', '}']))
}

/// Returns whether lines end as those of languages with braces do: all of them so, or half of them with semicolons.
fn ends_statements(lines: &[&str]) -> bool {
    let lines_with = |end: &[char]| lines.iter().filter(|line| line.trim_end().ends_with(end)).count();
    let texts = lines.iter().filter(|line| !line.trim().is_empty()).count();
    all_end_statements(lines) || lines_with(&[';']) * 2 >= texts
}

/// Returns lines with those of tracebacks blanked, which quote the program; none where there is no traceback.
fn without_tracebacks<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    const HEADER: &str = "Traceback (most recent call last):";
    lines.iter().find(|line| line.trim_start().starts_with(HEADER))?;
    let mut lines = lines.to_vec();
    let mut header_indent = None;
    for line in &mut lines {
        if line.trim_start().starts_with(HEADER) {
            header_indent = Some(indent(line));
        } else if header_indent.is_none_or(|header| line.trim().is_empty() || indent(line) <= header) {
            header_indent = None;
            continue;
        }
        *line = "";
    }
    Some(lines)
}

/// Returns the lines that are searched.
fn searched<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let mut left = MAX_SEARCHED;
    let fits = |line: &&&str| {
        left = left.saturating_sub(line.len());
        left > 0
    };
    &lines[..lines.iter().take_while(fits).count()]
}

pub(crate) fn parse_whole(text: &str) -> Option<Parsed> {
    python::parse(text).or_else(|| python::parse_body(text))
}

/// Returns whether a whole text is Python.
fn is_whole_python(text: &str, extent: Extent) -> bool {
    let Some(parsed) = parse_whole(text) else { return false };
    let is_body = text.starts_with([' ', '\t']) && extent == Extent::Whole;
    match parsed.strongest {
        Evidence::Strong => true,
        // Lines without a word of prose, and more of them than an equation has.
        Evidence::Weak => parsed.weighty >= 3 || is_body || (parsed.is_pass && extent == Extent::Whole),
        Evidence::Neutral | Evidence::None => false,
    }
}

/// Finds the parts of a text that are Python, line by line.
fn segments(lines: &[&str]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let (length, evidence) = logical_line(lines, index);
        if evidence < Evidence::Weak {
            index += 1;
            continue;
        }
        let mut first = index;
        // Comments and decorators right above belong to it.
        let least = segments.last().map_or(0, |segment| segment.last + 1);
        while first > least && lines[first - 1].trim_start().starts_with(['#', '@']) {
            first -= 1;
        }
        // So does the header of the block that it is in.
        if first > least && indent(lines[first]) > indent(lines[first - 1]) && is_header(lines[first - 1]) {
            first -= 1;
        }
        let mut segment = Segment {
            first,
            last: index + length - 1,
            weight: python::weight(evidence),
            is_strong: evidence == Evidence::Strong,
        };
        let base = indent(lines[index]);
        let mut after_blank = false;
        index += length;
        while index < lines.len() {
            if lines[index].trim().is_empty() {
                after_blank = true;
                index += 1;
                continue;
            }
            let (length, evidence) = logical_line(lines, index);
            let is_inside = indent(lines[index]) > base;
            let goes_on = match evidence {
                Evidence::Weak | Evidence::Strong => true,
                Evidence::Neutral => {
                    is_inside || !after_blank || lines[index].starts_with(['#', ')', ']', '}', '"', '\''])
                }
                Evidence::None => (is_inside && !(after_blank && is_prose(lines[index]))) || !is_prose(lines[index]),
            };
            if !goes_on {
                break;
            }
            segment.weight += python::weight(evidence);
            segment.is_strong |= evidence == Evidence::Strong;
            segment.last = index + length - 1;
            after_blank = false;
            index += length;
        }
        // Headings of what follows look like comments.
        while segment.last > segment.first
            && (lines[segment.last].starts_with("##") || lines[segment.last].trim().is_empty())
        {
            segment.last -= 1;
        }
        // Statements of several lines may be stronger than each of them.
        if !segment.is_strong && segment.weight >= python::weight(Evidence::Strong) {
            let text = dedent(&lines[segment.first..=segment.last]);
            segment.is_strong = python::parse(&text).is_some_and(|parsed| parsed.strongest == Evidence::Strong);
        }
        segments.push(segment);
    }
    segments
}

/// Returns whether a line is the header of a compound statement.
fn is_header(line: &str) -> bool {
    line.trim_end().ends_with(':') && python::line_evidence(line) > Evidence::Neutral
}

/// Judges the line at `index` together with those that an open bracket or string adds: their number, and the evidence.
fn logical_line(lines: &[&str], index: usize) -> (usize, Evidence) {
    let mut state = Balance::default();
    state.read(lines[index]);
    if !state.is_open() {
        return (1, python::line_evidence(lines[index]));
    }
    let most = lines.len().min(index + MAX_JOINED);
    for last in index + 1..most {
        state.read(lines[last]);
        if !state.is_open() {
            let joined = lines[index..=last].concat();
            // Lines are joined for a while only: what they are then is decided at once.
            return match python::parse(joined.trim()) {
                Some(parsed) => (last - index + 1, parsed.strongest),
                None if state.is_sane() => (1, python::line_evidence(lines[index])),
                None => break,
            };
        }
    }
    (1, python::line_evidence(lines[index]))
}

/// Brackets and strings that are open at the end of a line.
#[derive(Default)]
pub(crate) struct Balance {
    depth: usize,
    string: Option<&'static str>,
    has_underflow: bool,
}

impl Balance {
    fn is_open(&self) -> bool {
        self.depth > 0 || self.string.is_some()
    }

    /// Returns whether a string of several lines is open.
    pub(crate) fn has_open_string(&self) -> bool {
        self.string.is_some()
    }

    fn is_sane(&self) -> bool {
        !self.has_underflow
    }

    pub(crate) fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(char) = rest.chars().next() {
            if let Some(quotes) = self.string {
                match rest.find(quotes) {
                    Some(end) => {
                        rest = &rest[end + 3..];
                        self.string = None;
                    }
                    None => return,
                }
                continue;
            }
            match char {
                '#' => return,
                '"' | '\'' => {
                    let triple = if char == '"' { "\"\"\"" } else { "'''" };
                    if let Some(after) = rest.strip_prefix(triple) {
                        self.string = Some(triple);
                        rest = after;
                        continue;
                    }
                    rest = after_string(rest, char);
                    continue;
                }
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => {
                    self.has_underflow |= self.depth == 0;
                    self.depth = self.depth.saturating_sub(1);
                }
                _ => {}
            }
            rest = &rest[char.len_utf8()..];
        }
    }
}

/// Returns what follows the string at the start of `text`; nothing where the line ends within it.
fn after_string(text: &str, quote: char) -> &str {
    let mut is_escaped = false;
    for (index, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            char if char == quote => return &text[index + 1..],
            _ => {}
        }
    }
    ""
}

pub(crate) fn indent(line: &str) -> usize {
    let mut width = 0;
    for char in line.chars() {
        match char {
            ' ' => width += 1,
            '\t' => width += INDENTED,
            _ => break,
        }
    }
    width
}

fn dedent(lines: &[&str]) -> String {
    let spaces = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| spaces(line)).min().unwrap_or(0);
    lines.iter().map(|line| &line[least.min(spaces(line))..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_may_take_several_lines() {
        let lines = ["x = foo(\n", "    1,\n", ")\n", "y = 2\n"];
        assert_eq!(logical_line(&lines, 0), (3, Evidence::Strong));
        assert_eq!(logical_line(&["(see\n", "below\n"], 0).0, 1);
    }
}
