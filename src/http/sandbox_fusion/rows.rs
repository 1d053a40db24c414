//! Rows of data sets, as they come with a request: what is read of them by the class of their data set, their prompts,
//! and the comparison of output with theirs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::run_code::files_of;
use crate::http::programs::Failure;
use proofbox_types::program::File;

/// Relative tolerance of numbers in output.
const TOLERANCE: f64 = 1e-5;
/// Mark in a test where the answer's code stands.
const INSERT_MARK: &str = "#<INSERT>";

/// Settings of a request.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TestConfig {
    #[serde(default)]
    pub dataset_type: Option<String>,
    #[serde(default)]
    pub language: Option<String>,
    #[serde(default)]
    pub is_fewshot: Option<bool>,
    #[serde(default)]
    pub run_timeout: Option<f64>,
    #[serde(default)]
    pub custom_extract_logic: Option<String>,
    #[serde(default)]
    pub provided_data: Option<Value>,
    #[serde(default)]
    pub extra: Option<Map<String, Value>>,
}

impl TestConfig {
    /// Returns an entry of `extra`.
    pub(super) fn extra(&self, name: &str) -> Option<&Value> {
        self.extra.as_ref()?.get(name)
    }

    /// Returns whether an entry of `extra` is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.extra(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Class of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Programs that read standard input and write standard output.
    CommonOj,
    /// Functions that a script of the row tests.
    AutoEval,
    /// Functions that `check` tests.
    HumanEval,
    /// Functions that assert statements test.
    Mbpp,
}

impl Class {
    /// Returns the class that a request names.
    ///
    /// # Errors
    /// Returns an error when it names none that is known here.
    pub(super) fn of(config: &TestConfig) -> Result<Self, Failure> {
        match config.dataset_type.as_deref() {
            Some("CommonOJDataset") => Ok(Self::CommonOj),
            Some("AutoEvalDataset" | "AutoEvalV4Dataset" | "AutoEvalV5Dataset" | "AutoEvalV6Dataset") => {
                Ok(Self::AutoEval)
            }
            Some("HumanEvalDataset") => Ok(Self::HumanEval),
            Some("MBPPDataset") => Ok(Self::Mbpp),
            other => Err(Failure::Unsupported(format!(
                "dataset_type {} is not known here: there are CommonOJDataset, AutoEvalDataset, HumanEvalDataset and \
                 MBPPDataset",
                other.map_or("null".to_owned(), |name| format!("`{}`", name.chars().take(50).collect::<String>()))
            ))),
        }
    }
}

/// A row, whose fields are read as they are needed.
pub(super) struct Row(Map<String, Value>);

impl Row {
    /// Takes the only row of a request.
    ///
    /// # Errors
    /// Returns an error when it does not come with one row.
    pub(super) fn only(config: &mut TestConfig) -> Result<Self, Failure> {
        match config.provided_data.take() {
            Some(Value::Object(row)) => Ok(Self(row)),
            _ => Err(missing_data("an object")),
        }
    }

    /// Takes all rows of a request.
    ///
    /// # Errors
    /// Returns an error when it does not come with a list of rows.
    pub(super) fn all(config: &mut TestConfig) -> Result<Vec<Self>, Failure> {
        let Some(Value::Array(rows)) = config.provided_data.take() else { return Err(missing_data("a list")) };
        let row = |row| match row {
            Value::Object(row) => Ok(Self(row)),
            _ => Err(missing_data("a list of objects")),
        };
        rows.into_iter().map(row).collect()
    }

    /// Returns a text of the row.
    ///
    /// # Errors
    /// Returns an error when there is no such text.
    pub(super) fn text(&self, field: &str) -> Result<&str, Failure> {
        self.0.get(field).and_then(Value::as_str).ok_or_else(|| missing(field, "text"))
    }

    /// Returns a field that is an object or a list, or JSON of one in a text.
    fn structure(&self, field: &str) -> Result<Value, Failure> {
        parsed(self.0.get(field).cloned().unwrap_or(Value::Null)).map_err(|()| missing(field, "JSON"))
    }

    /// Returns the id of the row.
    pub(super) fn id(&self) -> Value {
        ["id", "task_id", "name"].iter().find_map(|field| self.0.get(*field).cloned()).unwrap_or(Value::Null)
    }

    /// Returns the labels of the row.
    ///
    /// # Errors
    /// Returns an error when they are no object.
    pub(super) fn labels(&self) -> Result<Map<String, Value>, Failure> {
        match self.structure("labels")? {
            Value::Object(labels) => Ok(labels),
            Value::Null => Ok(Map::new()),
            _ => Err(missing("labels", "an object")),
        }
    }

    /// Returns a list of texts.
    ///
    /// # Errors
    /// Returns an error when there is no such list.
    pub(super) fn texts(&self, field: &str) -> Result<Vec<String>, Failure> {
        serde_json::from_value(self.structure(field)?).map_err(|_| missing(field, "a list of texts"))
    }

    /// Returns the cases of a row of `CommonOJDataset`.
    ///
    /// # Errors
    /// Returns an error when there are none of their form.
    pub(super) fn cases(&self) -> Result<Vec<Case>, Failure> {
        serde_json::from_value(self.structure("test")?)
            .map_err(|error| Failure::Invalid(format!("`test` of the row is no list of {{input, output}}: {error}")))
    }

    /// Returns the test of a row of `AutoEvalDataset`.
    ///
    /// # Errors
    /// Returns an error when it has another form.
    pub(super) fn script(&self) -> Result<Script, Failure> {
        let Value::Object(mut test) = self.structure("test")? else { return Err(missing("test", "an object")) };
        let Some(Value::String(code)) = test.remove("code") else { return Err(missing("test.code", "text")) };
        let asset = parsed(test.remove("asset").unwrap_or(Value::Null)).map_err(|()| missing("test.asset", "JSON"))?;
        let asset: Option<BTreeMap<String, Option<String>>> =
            serde_json::from_value(asset).map_err(|_| missing("test.asset", "an object of texts"))?;
        Ok(Script { code, files: files_of(asset.unwrap_or_default())? })
    }

    /// Returns the prompt of the row.
    ///
    /// # Errors
    /// Returns an error when a field is missing.
    pub(super) fn prompt(&self, class: Class, config: &TestConfig) -> Result<Value, Failure> {
        let prompt = match class {
            Class::CommonOj => {
                let language = config.language.as_deref().unwrap_or("python");
                format!(
                    "{}\n\nWrite a whole program in {language}. It reads its input from standard input and prints its \
                     output to standard output.",
                    self.text("content")?
                )
            }
            Class::AutoEval => self.filled(config)?,
            Class::HumanEval if config.flag("is_freeform") => format!(
                "```python\n{}\n```\n\nComplete the code above as its docstring says. Answer with the whole code in a \
                 Markdown block.",
                self.text("prompt")?
            ),
            Class::HumanEval => self.text("prompt")?.to_owned(),
            Class::Mbpp => format!(
                "Write Python code for this task: {} It must pass these tests:\n\n{}",
                self.text("content")?,
                self.texts("test_list")?.join("\n")
            ),
        };
        let labels = match class {
            Class::HumanEval => {
                self.0.iter().filter(|(name, _)| *name != "prompt").map(|(n, v)| (n.clone(), v.clone())).collect()
            }
            Class::CommonOj | Class::AutoEval | Class::Mbpp => self.labels()?,
        };
        Ok(json!({"id": self.id(), "prompt": prompt, "labels": labels}))
    }

    /// Fills the template of a row of `AutoEvalDataset`; without one, context, examples and question stand in order.
    fn filled(&self, config: &TestConfig) -> Result<String, Failure> {
        let labels = self.labels()?;
        let question = self.text("content")?;
        let part = |name: &str| {
            let given = config.extra(name).or_else(|| labels.get(name)).and_then(Value::as_str);
            given.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let context = part("context");
        let examples = part("fewshot").filter(|_| config.is_fewshot == Some(true));
        if let Some(template) = part("prompt_template") {
            let (context, examples) = (context.unwrap_or_default(), examples.unwrap_or_default());
            let parts = [("question", question), ("fewshot", &examples), ("context", &context)];
            return Ok(parts.iter().fold(template, |text, (name, value)| {
                text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
            }));
        }
        let before: Vec<String> = context.into_iter().chain(examples).collect();
        if before.is_empty() {
            return Ok(question.to_owned());
        }
        Ok(format!("{}\n\nQuestion:{question}\n\nAnswer:\n", before.join("\n\n----------------\n\n")))
    }
}

fn parsed(value: Value) -> Result<Value, ()> {
    match value {
        Value::String(text) => serde_json::from_str(&text).map_err(|_| ()),
        value => Ok(value),
    }
}

fn missing(field: &str, kind: &str) -> Failure {
    Failure::Invalid(format!("`{field}` of the row is not {kind}"))
}

fn missing_data(kind: &str) -> Failure {
    Failure::Unsupported(format!(
        "there are no data sets here: `config.provided_data` must be {kind}, the row or rows that the request is about"
    ))
}

/// Case of a program that reads standard input.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub input: BTreeMap<String, String>,
    pub output: BTreeMap<String, String>,
}

/// Test of a function by a script.
pub(super) struct Script {
    pub code: String,
    pub files: Vec<File>,
}

impl Script {
    /// Returns whether the test can stand apart from the answer's code: then the code can't reach it.
    pub(super) fn is_apart(&self) -> bool {
        !self.code.contains(INSERT_MARK)
    }

    /// Joins the test with an answer's code to one program.
    pub(super) fn joined(&self, code: &str) -> String {
        match self.code.split_once(INSERT_MARK) {
            // What stands behind a second mark is left out, as in SandboxFusion.
            Some((before, after)) => {
                format!("{before}{code}{}", after.split(INSERT_MARK).next().unwrap_or_default())
            }
            None => format!("{code}\n{}", self.code),
        }
    }
}

/// Cuts the part of a program that runs only when it is the main one.
pub(super) fn without_main(code: &str) -> &str {
    code.find("if __name__ ==").map_or(code, |start| &code[..start])
}

/// Compares output as `CommonOJDataset` does: line by line without the white space around lines, in either case; lines
/// that are numbers may differ a little.
#[expect(clippy::str_split_at_newline, reason = "as Python splits: of an empty text there is one line")]
pub(super) fn is_same_output(actual: &str, expected: &str) -> bool {
    let lines = |text: &str| text.trim().split('\n').map(|line| line.trim().to_lowercase()).collect::<Vec<_>>();
    let (actual, expected) = (lines(actual), lines(expected));
    let number = |line: &str| line.parse::<f64>().ok();
    actual.len() == expected.len()
        && actual.iter().zip(&expected).all(|(actual, expected)| {
            actual == expected
                || number(actual)
                    .zip(number(expected))
                    .is_some_and(|(actual, expected)| (actual - expected).abs() / expected.abs().max(1e-10) < TOLERANCE)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_compared_by_lines() {
        for (actual, expected) in
            [("YES\n", "yes"), (" 1 2 \n3\n\n", "1 2\n3"), ("0.3333333", "0.3333334"), ("", "\n"), ("1e3", "1000")]
        {
            assert!(is_same_output(actual, expected), "{actual:?} {expected:?}");
        }
        for (actual, expected) in [("1", "1.1"), ("1\n2", "1 2"), ("nan", "1"), ("", "0"), ("1  2", "1 2")] {
            assert!(!is_same_output(actual, expected), "{actual:?} {expected:?}");
        }
    }

    #[test]
    fn a_test_with_a_mark_is_one_program_with_the_answer() {
        let script = |code: &str| Script { code: code.to_owned(), files: Vec::new() };
        assert_eq!(script("a\n#<INSERT>\nb").joined("x"), "a\nx\nb");
        assert!(!script("a\n#<INSERT>\nb").is_apart());
        assert_eq!(script("b").joined("x"), "x\nb");
        assert!(script("b").is_apart());
        assert_eq!(without_main("x = 1\nif __name__ == '__main__':\n    x\n"), "x = 1\n");
    }

    #[test]
    fn templates_are_filled_with_the_row() {
        let Value::Object(row) = json!({"content": "Q", "labels": "{\"prompt_template\": \"<$context|${question}>\"}"})
        else {
            unreachable!("it is an object")
        };
        let Value::Object(extra) = json!({"context": "C"}) else { unreachable!("it is an object") };
        let config = TestConfig { extra: Some(extra), ..TestConfig::default() };
        assert_eq!(Row(row).filled(&config), Ok("<C|Q>".to_owned()));
    }
}
