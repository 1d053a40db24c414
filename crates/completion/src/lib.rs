//! Code in a model's answer: which blocks there are, in which languages, and which of them is the program.
//!
//! `fences` cuts the answer into marked blocks and what stands between them, `bare` and `inline` find code in that;
//! `python` and `languages` say what a text is. The answer is hostile input: everything takes time in proportion to its
//! length, and what is found is bounded.

mod bare;
mod fences;
mod inline;
mod judge;
mod languages;
mod prose;
mod python;
mod reasoning;
mod shell;
mod tested;
mod transcript;
mod version;

use proofbox_types::completion::{Block, BlockContent, BlockForm, ChoiceReason, CompletionReport};

pub use tested::names_tested;
use version::Label;

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
    /// Judgement of the text before the block.
    label: Label,
}

impl Found {
    fn is_code(&self) -> bool {
        matches!(self.block.content, BlockContent::Code | BlockContent::Transcript)
    }

    fn is_python(&self) -> bool {
        self.is_code() && self.block.language.as_deref() == Some(languages::PYTHON)
    }
}

/// Finds the code in `completion`, and chooses the program: of the blocks of Python those that define most of
/// `entry_points` (names that its tests use), else those that are declared to be Python, else those that were
/// recognised. The first of them is the program, unless the text calls it wrong or a later one right, or it does not
/// parse and a later one does. Blocks stand before transcripts, and those before code within a line. A model's
/// reasoning is not searched.
pub fn extract(completion: &str, entry_points: &[&str]) -> Extraction {
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
    let (chosen, reason) = choose(&found, entry_points);
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
    source.len() > MAX_BYTES || !matches!(judge::judge_declared(source), BlockContent::Empty | BlockContent::Text)
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
    let (content, language, code) = judge::judge(nature, raw.code);
    let block = Block {
        form: raw.form,
        content,
        language,
        declared,
        first_line: raw.first_line,
        last_line: raw.last_line,
        complete: raw.complete,
    };
    let label = match Label::of(raw.lead) {
        Label::None => Label::of_code(&code),
        label => label,
    };
    Found { block, code, label }
}

/// Most entry points that are looked for.
const MAX_ENTRY_POINTS: usize = 64;

fn choose(found: &[Found], entry_points: &[&str]) -> (Option<usize>, ChoiceReason) {
    let mut python: Vec<usize> = (0..found.len()).filter(|index| found[*index].is_python()).collect();
    let rank = |index: &usize| {
        let block = &found[*index].block;
        (block.form == BlockForm::Inline, block.content == BlockContent::Transcript, block.declared.is_none())
    };
    // Stable: within a rank the first stays first.
    python.sort_by_key(rank);
    let names = &entry_points[..entry_points.len().min(MAX_ENTRY_POINTS)];
    let defined: Vec<usize> =
        python.iter().map(|index| names.iter().filter(|name| defines(name, &found[*index].code)).count()).collect();
    let most = defined.iter().copied().max().unwrap_or(0);
    if most > 0 {
        let defining = python.iter().zip(&defined).filter(|(_, count)| **count == most).map(|(index, _)| *index);
        return (version_of(found, &defining.collect::<Vec<_>>()), ChoiceReason::EntryPoint);
    }
    if let Some(first) = python.first() {
        let first = rank(first);
        python.retain(|index| rank(index) == first);
    }
    match program_of(found, &python) {
        Some(index) if found[index].block.declared.is_some() => (Some(index), ChoiceReason::DeclaredPython),
        Some(index) => (Some(index), ChoiceReason::RecognisedPython),
        None if found.iter().any(Found::is_code) => (None, ChoiceReason::OtherLanguage),
        None => (None, ChoiceReason::NoCode),
    }
}

/// Chooses between versions of one program: those that the text calls wrong and those that don't parse stand behind the
/// others; of those that it calls right the last one is taken, else the first one.
fn version_of(found: &[Found], versions: &[usize]) -> Option<usize> {
    if versions.len() < 2 {
        return versions.first().copied();
    }
    let mut versions = versions.to_vec();
    let mut keep = |is_better: &dyn Fn(&Found) -> bool| {
        let better: Vec<usize> = versions.iter().copied().filter(|index| is_better(&found[*index])).collect();
        if !better.is_empty() {
            versions = better;
        }
    };
    keep(&|found| found.label != Label::Wrong);
    keep(&|found| bare::parse_whole(&found.code).is_some());
    let right = versions.iter().copied().filter(|index| found[*index].label == Label::Right).max();
    right.or(versions.first().copied())
}

/// Chooses the program where no name of it is known: the first block that does more than import, or a later version of
/// it.
fn program_of(found: &[Found], python: &[usize]) -> Option<usize> {
    let does_more = |index: &&usize| !version::only_imports(&found[**index].code);
    let first = *python.iter().find(does_more).or(python.first())?;
    let names = version::definitions(&found[first].code);
    let is_version = |index: &usize| {
        let again = version::definitions(&found[*index].code);
        *index == first
            || if names.is_empty() { again.is_empty() } else { names.iter().all(|name| again.contains(name)) }
    };
    let mut versions: Vec<usize> = python.iter().copied().filter(is_version).collect();
    // Scripts share no name: one replaces another where the text calls one wrong, or both read the input.
    if names.is_empty() && !versions.iter().any(|index| found[*index].label == Label::Wrong) {
        versions.retain(|index| *index == first || version::reads_input(&found[*index].code));
        if !version::reads_input(&found[first].code) {
            return Some(first);
        }
    }
    version_of(found, &versions)
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
        extract(completion, &[]).code
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
        let extraction = extract(text, &["f"]);
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
        let extraction = extract(text, &[]);
        assert_eq!((extraction.code, extraction.report.reason), (None, ChoiceReason::NoCode));
        let text = "<think>hm</think>\n```python\ny = 1\n```";
        assert_eq!(extract(text, &[]).report.blocks[0].first_line, 3);
    }

    #[test]
    fn other_languages_are_told_and_not_run() {
        let extraction = extract("```sql\nSELECT 1;\n```", &[]);
        assert_eq!((extraction.code, extraction.report.reason), (None, ChoiceReason::OtherLanguage));
        assert!(extraction.report.contains_code);
    }

    #[test]
    fn statements_that_parse_may_be_in_other_languages() {
        for text in ["fmt.Printf(\"%d\", n)\n", "A = rand(3);\nb = eig(A);\ndisp(b)\n", "    return a;\n"] {
            let extraction = extract(text, &[]);
            assert_eq!((extraction.code, extraction.report.contains_code), (None, true), "{text}");
        }
    }

    #[test]
    fn lines_that_a_traceback_quotes_are_no_program() {
        let text =
            "Traceback (most recent call last):\n  File \"a.py\", line 7, in f\n    total = sum(xs)\nTypeError: no\n";
        assert_eq!(extract(text, &[]).code, None);
        assert_eq!(code(&format!("{text}\ntotal = sum(ys)\n")).as_deref(), Some("total = sum(ys)\n"));
    }

    #[test]
    fn blocks_beyond_the_bound_are_counted() {
        let text = "```sh\nls -l\n```\n".repeat(150) + "```python\nx = 1\n```\n";
        let extraction = extract(&text, &[]);
        let report = extraction.report;
        assert_eq!((report.blocks.len(), report.blocks_dropped, report.chosen), (100, 51, Some(99)));
        assert_eq!(extraction.code.as_deref(), Some("x = 1\n"));
    }

    #[test]
    fn a_fence_in_a_docstring_ends_nothing() {
        for inner in ["```", "```python", "```py"] {
            let body =
                format!("def f(x):\n    \"\"\"D.\n\n    {inner}\n    f(2)\n    ```\n    \"\"\"\n    return 2*x\n");
            assert_eq!(code(&format!("So:\n```python\n{body}```\nDone.")).as_deref(), Some(&*body), "{inner}");
            assert_eq!(code(&format!("```python\n{body}")).as_deref(), Some(&*body), "{inner}");
            let (two, none) = (body.replace("    ", "  "), format!("\"\"\"M.\n{inner}\nf(2)\n```\n\"\"\"\nx = 1\n"));
            assert_eq!(code(&format!("```python\n{two}```\nDone.")).as_deref(), Some(&*two), "{inner}");
            assert_eq!(code(&format!("```python\n{none}```\nDone.")).as_deref(), Some(&*none), "{inner}");
            let listed: String = format!("```python\n{body}```").lines().map(|line| format!("   {line}\n")).collect();
            assert_eq!(code(&format!("1. So:\n\n{listed}\n2. Done.")).as_deref(), Some(&*body), "{inner}");
        }
    }

    #[test]
    fn a_closing_fence_may_be_indented_where_the_code_is_whole() {
        assert_eq!(code("```python\nx = 1\n    ```\nDone, I hope.").as_deref(), Some("x = 1\n"));
        assert_eq!(code("- So:\n    ```python\n    x = 1\n    ```\n- Done.").as_deref(), Some("x = 1\n"));
    }

    #[test]
    fn fences_share_lines_with_code_and_prose() {
        let program = "def f(x): return 2*x";
        for text in [
            format!("```python\n{program}```"),
            format!("```python\n{program}```\nIt doubles.\n```\n4\n```\n"),
            format!("```python\n{program}```\nUse:\n```python\nprint(f(2))\n```\n"),
            format!("Here:```python\n{program}```"),
            format!("Here:```python\n{program}\n```\nDone."),
            format!("Here:```\n{program}\n```\nDone."),
            format!("```python\n{program}\n```It doubles.\n\nSo it is."),
        ] {
            assert_eq!(code(&text).as_deref().map(str::trim_end), Some(program), "{text}");
        }
        assert_eq!(code("```python\nx = 1\n``").as_deref(), Some("x = 1\n"));
        assert_eq!(code("```python\n# ends with ```\nx = 1\n```").as_deref(), Some("# ends with ```\nx = 1\n"));
    }

    #[test]
    fn every_kind_of_reasoning_is_left_out() {
        let (thought, answer) = ("```python\nbad()\n```", "```python\ngood()\n```");
        for text in [
            format!(
                "<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{answer}"
            ),
            format!("analysis{thought}assistantfinal{answer}"),
            format!("◁think▷{thought}◁/think▷{answer}"),
            format!("[THINK]{thought}[/THINK]{answer}"),
            format!("<seed:think>{thought}</seed:think>{answer}"),
            format!("<|begin_of_thought|>{thought}<|end_of_thought|>{answer}"),
            format!("<think>{thought}\n\nstrip <think>…</think> and go on\n\n{thought}</think>\n{answer}"),
            format!("{thought}\n</think>\n\n{answer}"),
            format!("First.\n<think>\n{thought}\n</think>\n{answer}"),
            format!("<think>a</think>\n<think>\n{thought}\n</think>{answer}"),
        ] {
            assert_eq!(code(&text).as_deref(), Some("good()\n"), "{text}");
        }
        let strips = "import re\nx = re.sub(r\"<think>.*?</think>\", \"\", y)\n";
        assert_eq!(code(&format!("<think>Easy.</think>\n```python\n{strips}```")).as_deref(), Some(strips));
        assert_eq!(code(&format!("```python\n{strips}```")).as_deref(), Some(strips));
        assert_eq!(code("<|channel|>analysis<|message|>```python\nx = 1\n```"), None);
    }

    #[test]
    fn a_late_closing_tag_deletes_nothing() {
        assert_eq!(code("```python\nx = 1\n```\nI closed </think> late.").as_deref(), Some("x = 1\n"));
        assert_eq!(
            code("import os\nx = os.name\n# the end </think>").as_deref(),
            Some("import os\nx = os.name\n# the end ")
        );
        assert_eq!(code("```python\nx = 1\n```\n</think>").as_deref(), Some("x = 1\n"));
    }

    #[test]
    fn quotes_and_markdown_have_blocks_of_their_own() {
        assert_eq!(code("So:\n\n> ```python\n> if x:\n>     y()\n> ```\n\nDone.").as_deref(), Some("if x:\n    y()\n"));
        for mark in ["```", "````"] {
            let text = format!("{mark}markdown\n# Use\n\n```python\nx = 1\n```\n\nDone.\n{mark}\n");
            let extraction = extract(&text, &[]);
            assert_eq!(extraction.code.as_deref(), Some("x = 1\n"), "{text}");
            assert_eq!((extraction.report.blocks[1].first_line, extraction.report.blocks[1].last_line), (5, 5));
        }
        let extraction = extract("x\n> > ```python\n> > x = 1\n> > ```\n", &[]);
        assert_eq!((extraction.report.blocks[0].first_line, extraction.code.as_deref()), (3, Some("x = 1\n")));
    }

    #[test]
    fn an_answer_in_tags_may_have_words() {
        let program = "def f(x):\n    return x\n";
        for text in [
            format!("<answer>\n{program}</answer>"),
            format!("<answer>\nThe function:\n\n{program}\nIt returns its argument.\n</answer>"),
            format!("<solution>\nSo:\n```python\n{program}```\n</solution>"),
        ] {
            assert_eq!(code(&text).as_deref(), Some(program), "{text}");
        }
        assert!(!extract("<answer>B</answer>", &[]).report.contains_code);
    }

    #[test]
    fn other_languages_need_no_fence() {
        for (text, language) in [
            ("Run this:\n\ncurl -s https://example.org/a | jq .\n", "shell"),
            ("Run this:\n\n    sudo apt-get install -y jq\n\nThen go on.", "shell"),
            ("foreach (var x in xs)\n{\n    total += x;\n}", "csharp"),
            ("static int Double(int x) => 2 * x;", "csharp"),
            ("Console.WriteLine(\"x\");", "csharp"),
            ("cat a.log | grep x | wc -l", "shell"),
            ("openssl genrsa -out key.pem 2048", "shell"),
        ] {
            let report = extract(text, &[]).report;
            assert_eq!((report.contains_code, report.chosen), (true, None), "{text}");
            assert_eq!(report.blocks[0].language.as_deref(), Some(language), "{text}");
        }
        for text in
            ["Use the pattern `import x` at the top of the file.", "Write `import x as y`, or `from x import y`."]
        {
            assert!(!extract(text, &[]).report.contains_code, "{text}");
        }
    }

    #[test]
    fn bare_code_keeps_its_first_line() {
        let text = "x = 3\nmatch x:\n    case 1:\n        print(1)\n    case _:\n        print(2)\n";
        assert_eq!(code(text).as_deref(), Some(text));
        let text = &text["x = 3\n".len()..];
        assert_eq!(code(text).as_deref(), Some(text));
        assert_eq!(code(&format!("So it goes:\n\n{text}\nThat is all of it.")).as_deref(), Some(text));
        let broken = format!("{text}print((\n");
        assert_eq!(code(&format!("So it goes:\n\n{broken}")).as_deref(), Some(broken.as_str()));
    }

    #[test]
    fn names_that_tests_use_decide() {
        let text = "```python\nprint(f(2))\n```\nwith\n```python\ndef f(x): return x\n```";
        let names = names_tested("assert f(2) == 2");
        let extraction = extract(text, &names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(extraction.code.as_deref(), Some("def f(x): return x\n"));
        assert_eq!(extraction.report.reason, ChoiceReason::EntryPoint);
        let text = "```python\ndef f(x): return x\n```\n```python\ndef f(x): return x\ndef g(x): return x\n```";
        assert_eq!(extract(text, &["f", "g"]).report.chosen, Some(1));
        assert_eq!(extract(text, &["f"]).report.chosen, Some(0));
    }

    #[test]
    fn the_text_decides_between_versions() {
        let chosen = |text: &str| (extract(text, &["f"]).report.chosen, extract(text, &[]).report.chosen);
        let block = |body: &str| format!("```python\ndef f(x): {body}\n```\n");
        let (one, two, broken) = (block("return 1"), block("return 2"), block("return (1"));
        assert_eq!(chosen(&format!("{one}Or:\n{two}")), (Some(0), Some(0)));
        assert_eq!(chosen(&format!("Wrong:\n{one}Right:\n{two}")), (Some(1), Some(1)));
        assert_eq!(chosen(&format!("Correct:\n{one}Not so, it is wrong:\n{two}")), (Some(0), Some(0)));
        assert_eq!(chosen(&format!("{one}Here is the corrected version:\n{two}")), (Some(1), Some(1)));
        assert_eq!(chosen(&format!("{broken}{two}")), (Some(1), Some(1)));
        assert_eq!(chosen(&format!("{one}{broken}")), (Some(0), Some(0)));
        assert_eq!(chosen(&format!("{one}Correct use:\n```python\nprint(f(1))\n```")), (Some(0), Some(0)));
        assert_eq!(
            extract("```python\nimport os\n```\nThen:\n```python\nprint(os.name)\n```", &[]).report.chosen,
            Some(1)
        );
    }

    #[test]
    fn source_without_a_statement_is_no_code() {
        assert!(contains_code("x") && contains_code("print 1") && contains_code("def f("));
        assert!(!contains_code(" \n# only this\n") && !contains_code("I can't do that."));
    }
}
