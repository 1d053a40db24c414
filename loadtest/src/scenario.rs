//! What is asked of the service, ready to send, each request with its right answer.

use anyhow::Context;
use serde_json::json;

use crate::answer::Expected;
use crate::cases::{Cases, Grading};
use crate::request::ExecuteRequest;
use crate::snippets::{ASSERTS, FUNCTION, PRINT, PRINTED, Snippet};

/// Requests that are sent in order, round and round.
pub(crate) struct Scenario {
    requests: Vec<ExecuteRequest>,
}

impl Scenario {
    /// The same request every time.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn of_snippet(snippet: Snippet, grading: Grading) -> anyhow::Result<Self> {
        Ok(Self { requests: vec![request_of_snippet(snippet, grading)?] })
    }

    /// Real cases; `None` when there are none.
    pub(crate) fn of_cases(cases: Cases) -> Option<Self> {
        (!cases.requests.is_empty()).then_some(Self { requests: cases.requests })
    }

    /// What people send: each second request is the small function, the others are real cases, all graded where the
    /// snippet is not.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn of_work(cases: Cases) -> anyhow::Result<Self> {
        let function = request_of_snippet(Snippet::Function, Grading::Isolated)?;
        let requests = cases.requests.into_iter().flat_map(|case| [function.clone(), case]).collect();
        Ok(Self { requests })
    }

    /// The request that is sent as number `index`, counted from 0.
    pub(crate) fn request(&self, index: u64) -> &ExecuteRequest {
        let length = self.requests.len() as u64;
        &self.requests[(index % length) as usize]
    }

    /// Different requests.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

/// The snippet as the service is asked for it.
///
/// # Errors
/// When it cannot be written as JSON.
pub(crate) fn request_of_snippet(snippet: Snippet, grading: Grading) -> anyhow::Result<ExecuteRequest> {
    let (name, body, expected) = match snippet {
        Snippet::Print => ("print", json!({"code": PRINT}), Expected::Prints(PRINTED)),
        Snippet::Function => (
            "function",
            json!({"code": FUNCTION, "tests": {"kind": "asserts", "asserts": ASSERTS}, "grading": grading.as_str()}),
            Expected::Grades { passed: ASSERTS.len() as u64, total: ASSERTS.len() as u64 },
        ),
    };
    let body = serde_json::to_vec(&body).context("writing a request")?;
    Ok(ExecuteRequest { name: name.to_owned(), body: body.into(), expected })
}
