//! Precision and recall of code presence, on answers that were written for it (`tests/answers`). Run with `--nocapture`
//! to see the figures and what is wrong.

#![expect(clippy::print_stdout, reason = "what a test measures is shown with `--nocapture`")]

use std::collections::BTreeMap;

use proofbox_completion::extract;
use proofbox_types::completion::{BlockContent, ChoiceReason};

/// Least precision and recall.
const LEAST: f64 = 0.98;

/// Least share of right languages and programs.
const LEAST_RIGHT: f64 = 0.97;

/// Answer, and what is in it.
struct Answer {
    line: usize,
    style: String,
    /// `none`, `python`, or another language.
    code: String,
    /// Names that the tests of the program use.
    entry_points: Vec<String>,
    text: String,
    /// Program, where it is marked.
    program: Option<String>,
}

/// Reads answers: each after a line `@@ STYLE | CODE`, or `@@ STYLE | CODE | ENTRY POINTS`. The program may stand
/// between `⟦` and `⟧`, which are no part of the answer.
fn read(name: &str) -> Vec<Answer> {
    let path = format!("{}/../../tests/answers/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("it is in the repository");
    let mut answers: Vec<Answer> = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        // Diffs have lines that begin so as well.
        if let Some((style, rest)) = line.strip_prefix("@@ ").and_then(|head| head.trim().split_once(" | ")) {
            let (code, names) = rest.split_once(" | ").unwrap_or((rest, ""));
            let entry_points = names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let (style, code) = (style.to_owned(), code.to_owned());
            answers.push(Answer { line: index + 1, style, code, entry_points, text: String::new(), program: None });
        } else {
            answers.last_mut().expect("a head before it").text.push_str(line);
        }
    }
    for answer in &mut answers {
        if let Some((before, (program, after))) =
            answer.text.split_once('⟦').and_then(|(before, rest)| Some((before, rest.split_once('⟧')?)))
        {
            (answer.text, answer.program) = (format!("{before}{program}{after}"), Some(program.to_owned()));
        }
    }
    answers
}

/// Returns a program without what its end and its indentation have no meaning for.
fn normal(program: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = program.lines().map(str::trim).collect();
    lines.retain(|line| !line.is_empty());
    lines
}

/// Number of answers of which something was told, and of those of which it was right.
#[derive(Default)]
struct Share {
    all: usize,
    right: usize,
}

impl Share {
    fn add(&mut self, is_right: bool) {
        self.all += 1;
        self.right += usize::from(is_right);
    }

    fn value(&self) -> f64 {
        self.right as f64 / self.all as f64
    }
}

/// Right and wrong answers to one question.
#[derive(Default)]
struct Counts {
    true_positives: usize,
    false_positives: usize,
    false_negatives: usize,
    true_negatives: usize,
}

impl Counts {
    fn add(&mut self, expected: bool, seen: bool) {
        *match (expected, seen) {
            (true, true) => &mut self.true_positives,
            (false, true) => &mut self.false_positives,
            (true, false) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    fn precision(&self) -> f64 {
        self.true_positives as f64 / (self.true_positives + self.false_positives) as f64
    }

    fn recall(&self) -> f64 {
        self.true_positives as f64 / (self.true_positives + self.false_negatives) as f64
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: {} with and {} without, precision {:.3}, recall {:.3}",
            self.true_positives + self.false_negatives,
            self.true_negatives + self.false_positives,
            self.precision(),
            self.recall()
        );
    }
}

fn measure(name: &str) {
    let (mut code, mut python) = (Counts::default(), Counts::default());
    let mut styles: BTreeMap<String, usize> = BTreeMap::new();
    let (mut language, mut program) = (Share::default(), Share::default());
    for answer in read(name) {
        let names: Vec<&str> = answer.entry_points.iter().map(String::as_str).collect();
        let extraction = extract(&answer.text, &names);
        let report = &extraction.report;
        let (has_code, has_python) = (report.contains_code, extraction.code.is_some());
        let expected = (answer.code != "none", answer.code == "python");
        code.add(expected.0, has_code);
        python.add(expected.1, has_python);
        *styles.entry(answer.style.clone()).or_default() += 1;
        let mut is_right = (has_code, has_python) == expected;
        if is_right && expected.0 {
            let told = match report.chosen {
                Some(index) => Some(&report.blocks[index]),
                None => report.blocks.iter().find(|block| block.content == BlockContent::Code),
            };
            let is_told = told.is_some_and(|block| block.language.as_deref() == Some(&answer.code));
            language.add(is_told);
            is_right &= is_told;
        }
        if let Some(expected) = &answer.program {
            let is_chosen = extraction.code.as_deref().is_some_and(|code| normal(code) == normal(expected));
            program.add(is_chosen);
            is_right &= is_chosen;
        }
        if !is_right {
            let blocks: Vec<_> =
                report.blocks.iter().map(|block| (block.form, block.content, &block.language)).collect();
            let (line, chosen) = (answer.line, extraction.code.as_deref().unwrap_or(""));
            println!("{name}.txt:{line}: {} ({}), and seen: {blocks:?} {chosen:?}", answer.code, answer.style);
        }
    }
    code.print(&format!("{name}, code"));
    python.print(&format!("{name}, Python to run"));
    for (of, share) in [("language", &language), ("program", &program)] {
        println!("{name}, {of}: {} of {} right, {:.3}", share.right, share.all, share.value());
    }
    for counts in [code, python] {
        assert!(counts.precision() >= LEAST && counts.recall() >= LEAST);
    }
    for share in [language, program] {
        assert!(share.value() >= LEAST_RIGHT);
    }
    assert!(styles.len() >= 20, "{styles:?}");
}

#[test]
fn code_is_found_in_answers_that_the_rules_were_made_with() {
    measure("development");
}

#[test]
fn code_is_found_in_answers_that_the_rules_were_not_made_with() {
    measure("held_out");
}

#[test]
fn an_answer_without_code_has_no_program() {
    for name in ["development", "held_out"] {
        for answer in read(name).iter().filter(|answer| answer.code == "none") {
            let extraction = extract(&answer.text, &[]);
            assert_eq!(extraction.code, None, "{name}.txt:{}", answer.line);
            assert_ne!(extraction.report.reason, ChoiceReason::RecognisedPython, "{name}.txt:{}", answer.line);
        }
    }
}
