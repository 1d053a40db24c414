//! Code in a model's answer: which blocks there are, in which languages, and which of them is the program.
//!
//! `fences` cuts the answer into marked blocks and what stands between them, `bare` and `inline` find code in that;
//! `python` and `languages` say what a text is. The answer is hostile input: everything takes time in proportion to its
//! length, and what is found is bounded.

mod bare;
mod fences;
mod inline;
mod languages;
mod python;

use proofbox_types::completion::{Block, BlockContent, BlockForm, ChoiceReason, CompletionReport};

/// Maximum size of an answer that is searched, in bytes. A longer one is a program as a whole: far larger than those
/// that policies let run.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of blocks that are looked at and told.
const MAX_BLOCKS: usize = 100;
/// Longest declared language that is told, in characters.
const MAX_DECLARED: usize = 40;

/// Code of an answer, and the report on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extraction {
    /// Program; none where the answer has no Python.
    pub code: Option<String>,
    /// Report on all blocks.
    pub report: CompletionReport,
}

/// Block that was found, with its code.
struct Found {
    block: Block,
    code: String,
}

impl Found {
    fn is_code(&self) -> bool {
        matches!(self.block.content, BlockContent::Code | BlockContent::Transcript)
    }

    fn is_python(&self) -> bool {
        self.is_code() && self.block.language.as_deref() == Some(languages::PYTHON)
    }
}

/// Finds the code in `completion`, and chooses the program: of the blocks of Python the first that defines
/// `entry_point`, else the first that is declared to be Python, else the first that was recognised. Blocks stand before
/// transcripts, and those before code within a line. A model's reasoning is not searched.
pub fn extract(completion: &str, entry_point: Option<&str>) -> Extraction {
    if completion.len() > MAX_BYTES {
        return unsearched(completion);
    }
    let answer = fences::answer_of(completion);
    let cut = fences::cut(&answer);
    let mut found: Vec<Found> = cut.blocks.into_iter().map(judge).collect();
    if !found.iter().any(Found::is_code) {
        found.extend(cut.prose.iter().flat_map(|prose| bare::find(prose)));
        if !found.iter().any(Found::is_code) {
            found.extend(cut.prose.iter().flat_map(|prose| inline::find(prose)));
        }
        found.sort_by_key(|found| found.block.first_line);
    }
    let (chosen, reason) = choose(&found, entry_point);
    let contains_code = found.iter().any(Found::is_code);
    // What is chosen is told, however many blocks stand before it.
    let mut blocks_dropped = cut.blocks_dropped + found.len().saturating_sub(MAX_BLOCKS);
    let mut told = chosen;
    if let Some(index) = chosen.filter(|index| *index >= MAX_BLOCKS) {
        found.swap(index, MAX_BLOCKS - 1);
        told = Some(MAX_BLOCKS - 1);
        blocks_dropped = blocks_dropped.max(1);
    }
    let code = told.map(|index| std::mem::take(&mut found[index].code));
    let blocks = found.into_iter().take(MAX_BLOCKS).map(|found| found.block).collect();
    Extraction { code, report: CompletionReport { contains_code, blocks, blocks_dropped, chosen: told, reason } }
}

/// Returns whether a text that is given as Python source has code in it: more than white space, comments and prose.
pub fn contains_code(source: &str) -> bool {
    source.len() > MAX_BYTES || !matches!(python::judge_declared(source), BlockContent::Empty | BlockContent::Text)
}

fn unsearched(completion: &str) -> Extraction {
    let block = Block {
        form: BlockForm::Bare,
        content: BlockContent::Code,
        language: Some(languages::PYTHON.to_owned()),
        declared: None,
        first_line: 1,
        last_line: completion.lines().count(),
        complete: true,
    };
    let report = CompletionReport {
        contains_code: true,
        blocks: vec![block],
        blocks_dropped: 0,
        chosen: Some(0),
        reason: ChoiceReason::RecognisedPython,
    };
    Extraction { code: Some(completion.to_owned()), report }
}

/// Judges the content of a marked block by its declared language and its text.
fn judge(raw: fences::RawBlock<'_>) -> Found {
    let declared = raw.tag.map(|tag| tag.chars().take(MAX_DECLARED).collect::<String>()).filter(|tag| !tag.is_empty());
    let nature = raw.tag.map_or(languages::Nature::Unknown, languages::nature);
    let (content, language, code) = languages::judge(nature, raw.code);
    let block = Block {
        form: raw.form,
        content,
        language,
        declared,
        first_line: raw.first_line,
        last_line: raw.last_line,
        complete: raw.complete,
    };
    Found { block, code }
}

fn choose(found: &[Found], entry_point: Option<&str>) -> (Option<usize>, ChoiceReason) {
    let mut python: Vec<usize> = (0..found.len()).filter(|index| found[*index].is_python()).collect();
    let rank = |index: &usize| {
        let block = &found[*index].block;
        (block.form == BlockForm::Inline, block.content == BlockContent::Transcript, block.declared.is_none())
    };
    // Stable: within a rank the first stays first.
    python.sort_by_key(rank);
    let defining = entry_point.and_then(|name| python.iter().copied().find(|index| defines(name, &found[*index].code)));
    if let Some(index) = defining {
        return (Some(index), ChoiceReason::EntryPoint);
    }
    match python.first() {
        Some(index) if found[*index].block.declared.is_some() => (Some(*index), ChoiceReason::DeclaredPython),
        Some(index) => (Some(*index), ChoiceReason::RecognisedPython),
        None if found.iter().any(Found::is_code) => (None, ChoiceReason::OtherLanguage),
        None => (None, ChoiceReason::NoCode),
    }
}

/// Returns whether `code` defines `name` as a function, class or variable, as far as its text tells.
fn defines(name: &str, code: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    code.lines().any(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").map_or(line, str::trim_start);
        let (rest, is_keyword) = match line.strip_prefix("def ").or_else(|| line.strip_prefix("class ")) {
            Some(rest) => (rest.trim_start(), true),
            None => (line, false),
        };
        rest.strip_prefix(name).is_some_and(|rest| {
            let next = rest.trim_start();
            if is_keyword { !rest.starts_with(is_word) } else { next.starts_with('=') && !next.starts_with("==") }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(completion: &str) -> Option<String> {
        extract(completion, None).code
    }

    #[test]
    fn a_fenced_block_is_taken_out() {
        assert_eq!(code("Sure!\n```python\nx = 1\n```\nDone.").as_deref(), Some("x = 1\n"));
    }

    #[test]
    fn an_unfinished_fence_ends_with_the_text() {
        assert_eq!(code("Sure!\n```python\nx = 1\ny = ").as_deref(), Some("x = 1\ny = "));
    }

    #[test]
    fn bare_code_is_the_whole_text() {
        let text = "import os\nx = os.getcwd()\n";
        assert_eq!(code(text).as_deref(), Some(text));
    }

    #[test]
    fn python_is_preferred_and_the_entry_point_decides() {
        let text = "```sh\npip install x\n```\n```python\nprint(1)\n```\n~~~py\ndef f():\n    pass\n~~~\n";
        assert_eq!(code(text).as_deref(), Some("print(1)\n"));
        let extraction = extract(text, Some("f"));
        assert_eq!(extraction.code.as_deref(), Some("def f():\n    pass\n"));
        assert_eq!((extraction.report.chosen, extraction.report.reason), (Some(2), ChoiceReason::EntryPoint));
        let languages: Vec<_> = extraction.report.blocks.iter().map(|block| block.language.as_deref()).collect();
        assert_eq!(languages, [Some("shell"), Some("python"), Some("python")]);
    }

    #[test]
    fn the_entry_point_is_a_whole_word() {
        assert!(defines("f", "async def f (x): pass") && defines("f", "class f(A):") && defines("f", "f = int"));
        assert!(!defines("f", "def ff(x): pass") && !defines("f", "f == 1") && !defines("f", "class fx: pass"));
    }

    #[test]
    fn bare_code_is_taken_out_of_prose() {
        let text = "The function:\n\ndef f(x):\n    return x\n\nIt returns its argument.\n";
        assert_eq!(code(text).as_deref(), Some("def f(x):\n    return x\n"));
        let text = "As follows:\n\n    def f(x):\n        return x\n\nThat is all of it.\n";
        assert_eq!(code(text).as_deref(), Some("def f(x):\n    return x\n"));
    }

    #[test]
    fn a_broken_line_of_bare_code_stays_in_it() {
        let text = "x = int(input())\ny = (1 +\nprint(x, y)\n";
        assert_eq!(code(text).as_deref(), Some(text));
    }

    #[test]
    fn prompts_and_output_of_a_transcript_are_left_out() {
        let text = "```\n>>> def f(x):\n...     return x\n...\n>>> f(1)\n1\n```";
        assert_eq!(code(text).as_deref(), Some("def f(x):\n    return x\n\nf(1)\n"));
    }

    #[test]
    fn examples_in_docstrings_are_no_transcript() {
        let text = "\ndef f(x):\n    \"\"\"Doc.\n    >>> f(1)\n    1\n    \"\"\"\n    return x\n";
        assert_eq!(code(text).as_deref(), Some(text));
        let broken = text.replace("return x", "return (x");
        assert_eq!(code(&broken).as_deref(), Some(broken.as_str()));
    }

    #[test]
    fn reasoning_is_not_searched() {
        let text = "<think>\n```python\nx = 1\n```\n</think>\nI would rather not.";
        let extraction = extract(text, None);
        assert_eq!((extraction.code, extraction.report.reason), (None, ChoiceReason::NoCode));
        let text = "<think>hm</think>\n```python\ny = 1\n```";
        assert_eq!(extract(text, None).report.blocks[0].first_line, 3);
    }

    #[test]
    fn other_languages_are_told_and_not_run() {
        let extraction = extract("```sql\nSELECT 1;\n```", None);
        assert_eq!((extraction.code, extraction.report.reason), (None, ChoiceReason::OtherLanguage));
        assert!(extraction.report.contains_code);
    }

    #[test]
    fn blocks_beyond_the_bound_are_counted() {
        let text = "```sh\nls -l\n```\n".repeat(150) + "```python\nx = 1\n```\n";
        let extraction = extract(&text, None);
        let report = extraction.report;
        assert_eq!((report.blocks.len(), report.blocks_dropped, report.chosen), (100, 51, Some(99)));
        assert_eq!(extraction.code.as_deref(), Some("x = 1\n"));
    }

    #[test]
    fn source_without_a_statement_is_no_code() {
        assert!(contains_code("x") && contains_code("print 1") && contains_code("def f("));
        assert!(!contains_code(" \n# only this\n") && !contains_code("I can't do that."));
    }
}
