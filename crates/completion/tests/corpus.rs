//! Precision and recall of code presence, on answers that were written for it (`tests/answers`). Run with `--nocapture`
//! to see the figures and what is wrong.

#![expect(clippy::print_stdout, reason = "what a test measures is shown with `--nocapture`")]

use std::collections::BTreeMap;

use proofbox_completion::extract;
use proofbox_types::completion::ChoiceReason;

/// Least precision and recall.
const LEAST: f64 = 0.98;

/// Answer, and what is in it.
struct Answer {
    line: usize,
    style: String,
    /// `none`, `python`, or another language.
    code: String,
    text: String,
}

/// Reads answers: each after a line `@@ STYLE | CODE`.
fn read(name: &str) -> Vec<Answer> {
    let path = format!("{}/../../tests/answers/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("it is in the repository");
    let mut answers: Vec<Answer> = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        // Diffs have lines that begin so as well.
        if let Some((style, code)) = line.strip_prefix("@@ ").and_then(|head| head.trim().split_once(" | ")) {
            let (style, code) = (style.to_owned(), code.to_owned());
            answers.push(Answer { line: index + 1, style, code, text: String::new() });
        } else {
            answers.last_mut().expect("a head before it").text.push_str(line);
        }
    }
    answers
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
    for answer in read(name) {
        let extraction = extract(&answer.text, None);
        let (has_code, has_python) = (extraction.report.contains_code, extraction.code.is_some());
        let expected = (answer.code != "none", answer.code == "python");
        code.add(expected.0, has_code);
        python.add(expected.1, has_python);
        *styles.entry(answer.style.clone()).or_default() += 1;
        if (has_code, has_python) != expected {
            let blocks: Vec<_> =
                extraction.report.blocks.iter().map(|block| (block.form, block.content, &block.language)).collect();
            println!("{name}.txt:{}: {} ({}), and seen: {blocks:?}", answer.line, answer.code, answer.style);
        }
    }
    code.print(&format!("{name}, code"));
    python.print(&format!("{name}, Python to run"));
    for counts in [code, python] {
        assert!(counts.precision() >= LEAST && counts.recall() >= LEAST);
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
            let extraction = extract(&answer.text, None);
            assert_eq!(extraction.code.is_none(), extraction.report.reason != ChoiceReason::RecognisedPython);
        }
    }
}
