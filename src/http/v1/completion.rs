//! Code in a model's answer, as the contract has it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use proofbox_completion::{extract, names_tested};
use proofbox_types::completion::{Block, CompletionReport};
use proofbox_types::program::PythonTests;
use proofbox_types::submission::Tests;

/// Report on the code in a model's answer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CompletionAnswer {
    /// True when there is code in any language.
    contains_code: bool,
    /// Blocks in the order of the answer, at most 100.
    blocks: Vec<BlockAnswer>,
    /// Number of blocks beyond those.
    blocks_dropped: usize,
    /// Index in `blocks` of the program; null where there is none.
    chosen: Option<usize>,
    /// Reason for the choice: `entry_point`, `declared_python`, `recognised_python`, `other_language`, `no_code`.
    #[schema(example = "declared_python")]
    reason: &'static str,
}

/// Block of a model's answer.
#[derive(Debug, Serialize, ToSchema)]
struct BlockAnswer {
    /// `fenced`, `tagged`, `bare`, `indented`, `inline`
    form: &'static str,
    /// `code`, `transcript`, `data`, `text`, `empty`
    content: &'static str,
    /// Language, declared or recognised, in lower case.
    language: Option<String>,
    /// Language that the answer declares, as it is written there.
    declared: Option<String>,
    /// First line of the content in the answer, from 1.
    first_line: usize,
    last_line: usize,
    /// False where the answer ends within the block.
    complete: bool,
}

impl From<CompletionReport> for CompletionAnswer {
    fn from(report: CompletionReport) -> Self {
        let block = |block: Block| BlockAnswer {
            form: block.form.as_str(),
            content: block.content.as_str(),
            language: block.language,
            declared: block.declared,
            first_line: block.first_line,
            last_line: block.last_line,
            complete: block.complete,
        };
        Self {
            contains_code: report.contains_code,
            blocks: report.blocks.into_iter().map(block).collect(),
            blocks_dropped: report.blocks_dropped,
            chosen: report.chosen,
            reason: report.reason.as_str(),
        }
    }
}

/// Returns the names that tests use of the program: their entry point, or what they call or import.
pub(super) fn entry_points(tests: &Tests) -> Vec<String> {
    let Tests::Python { tests, files, .. } = tests else { return Vec::new() };
    match tests {
        PythonTests::CheckFunction { entry_point, .. }
        | PythonTests::FunctionCases { entry_point, .. }
        | PythonTests::Complexity { entry_point, .. } => {
            // A method is called on an instance of its class.
            vec![entry_point.split(['(', '.']).next().unwrap_or_default().to_owned()]
        }
        PythonTests::Asserts { setup, asserts } => names_tested(&format!("{setup}\n{}", asserts.join("\n"))),
        PythonTests::Script { source } => names_tested(source),
        PythonTests::Unittest(tests) | PythonTests::Pytest(tests) => {
            let files = files.iter().filter(|file| file.path.ends_with(".py"));
            let sources =
                files.map(|file| String::from_utf8_lossy(&file.content).into_owned()).chain(tests.source.clone());
            sources.flat_map(|source| names_tested(&source)).collect()
        }
        PythonTests::Doctest | PythonTests::Evaluator(_) => Vec::new(),
    }
}

/// Snippet of a request.
pub(super) struct Snippet {
    /// Source; empty where an answer has none.
    pub code: String,
    /// Field of the request that it came in.
    pub field: &'static str,
    /// Report on the answer that it was taken out of.
    pub completion: Option<CompletionReport>,
}

impl Snippet {
    /// Returns the snippet of a request that has `code` or `completion`; none where it has neither.
    ///
    /// # Errors
    /// Returns an error when it has both.
    pub(super) fn of(
        code: Option<String>,
        completion: Option<&str>,
        entry_points: &[String],
    ) -> Result<Option<Self>, ApiError> {
        match (code, completion) {
            (Some(code), None) => Ok(Some(Self { code, field: "code", completion: None })),
            (None, Some(completion)) => {
                let names: Vec<&str> = entry_points.iter().map(String::as_str).collect();
                let extraction = extract(completion, &names);
                let code = extraction.code.unwrap_or_default();
                Ok(Some(Self { code, field: "completion", completion: Some(extraction.report) }))
            }
            (Some(_), Some(_)) => {
                Err(ApiError::meaningless("completion", "give either `code` or `completion`, not both"))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the error of a request that has neither `code` nor `completion`.
    pub(super) fn missing() -> ApiError {
        ApiError::malformed(Some("code".to_owned()), "missing field `code` (or `completion`)")
    }
}
