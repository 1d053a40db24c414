//! Requests with their right answers.

use hyper::body::Bytes;

use crate::answer::Expected;

/// Request to `POST /v1/execute`.
#[derive(Clone, Debug)]
pub(crate) struct ExecuteRequest {
    /// For people, when its answer is wrong.
    pub name: String,
    /// JSON
    pub body: Bytes,
    pub expected: Expected,
}
