//! Tests of a request: a list, JSON of a list, or a list as open-instruct packs it (Base64 of zlib of pickle).

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use serde::Deserialize;
use serde_json::Value;

use super::pickle;
use crate::http::body::BodyReader;
use crate::http::extract::Object;
use crate::http::programs::Failure;
use proofbox_types::submission::StdinCase;

/// Maximum size of tests that were packed, in bytes.
const MAX_UNPACKED: u64 = 64 << 20;
/// Maximum number of tests of a request.
const MAX_TESTS: usize = 10_000;

/// Returns the list of a request's tests.
///
/// # Errors
/// Returns an error when there is no such list, or no memory for it.
pub(super) async fn list(tests: Value, reader: &BodyReader) -> Result<Vec<Value>, Failure> {
    let tests = match tests {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Array(tests) => tests,
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) if text.trim_start().starts_with(['[', '{', '"']) => {
            let read = |text: &[u8]| serde_json::from_slice(text).map_err(|error| unreadable(&error.to_string()));
            reader.parse(text.into(), read).await?
        }
        Value::String(text) => {
            let packed = BASE64.decode(text.trim()).map_err(|_| unreadable("they are neither JSON nor Base64"))?;
            let measure = move || unpacked_size(&packed).map(|size| (packed, size));
            let (packed, size) = reader.make(text.len(), measure).await?.map_err(unreadable)?;
            reader.make(size + pickle::cost(size), move || unpacked(&packed)).await?.map_err(unreadable)?
        }
        _ => return Err(unreadable("they are a list, or a text that has one")),
    };
    if tests.len() > MAX_TESTS {
        return Err(Failure::TooLarge(format!("there are {} tests; at most {MAX_TESTS} are run", tests.len())));
    }
    Ok(tests)
}

fn unreadable(reason: &str) -> Failure {
    Failure::Invalid(format!("`tests` can't be read: {reason}"))
}

/// Returns the size that packed tests have when they are unpacked, in bytes.
fn unpacked_size(packed: &[u8]) -> Result<usize, &'static str> {
    let mut unpacking = ZlibDecoder::new(packed).take(MAX_UNPACKED + 1);
    let size = std::io::copy(&mut unpacking, &mut std::io::sink()).map_err(|_| "they are not packed by zlib")?;
    if size > MAX_UNPACKED {
        return Err("they are too large");
    }
    Ok(size as usize)
}

fn unpacked(packed: &[u8]) -> Result<Vec<Value>, &'static str> {
    let mut pickled = Vec::new();
    ZlibDecoder::new(packed).take(MAX_UNPACKED).read_to_end(&mut pickled).map_err(|_| "they are not packed by zlib")?;
    match pickle::read(&pickled)? {
        Value::Array(tests) => Ok(tests),
        _ => Err("they are no list"),
    }
}

/// Returns a test as the Python source that it is.
///
/// # Errors
/// Returns an error when it is none.
pub(super) fn source(test: Value) -> Result<String, Failure> {
    match test {
        Value::String(source) => Ok(source),
        _ => Err(unreadable("a test is a text of Python")),
    }
}

#[derive(Deserialize)]
struct InputOutput {
    input: Input,
    output: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Lines(Vec<String>),
}

/// Returns a test as input and expected output.
///
/// # Errors
/// Returns an error when it is none.
pub(super) fn case(test: Value) -> Result<StdinCase, Failure> {
    let Object(InputOutput { input, output }) = serde_json::from_value(test)
        .map_err(|_| unreadable("a test has `input`, a text or a list of lines, and `output`, a text"))?;
    let stdin = match input {
        Input::Text(text) => text,
        Input::Lines(lines) => lines.join("\n"),
    };
    Ok(StdinCase { stdin, expected_stdout: output, ..StdinCase::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packed_tests_are_unpacked() {
        // encode_tests(["assert f(1) == 2"])
        let packed = BASE64.decode("eJxrYJkqzgABsVN6BBKLi1OLShTSNAw1FWxtFYymJOoBAIbICGc=").expect("Base64");
        assert_eq!(unpacked_size(&packed), Ok(34));
        assert_eq!(unpacked(&packed), Ok(vec![json!("assert f(1) == 2")]));
        assert!(unpacked_size(b"AAAA").is_err());
    }

    #[test]
    fn input_may_be_a_list_of_lines() {
        let read = |test| case(test).map(|case| (case.stdin, case.expected_stdout));
        let expected = Ok(("1\n2".to_owned(), "3".to_owned()));
        assert_eq!(read(json!({"input": ["1", "2"], "output": "3"})), expected);
        assert_eq!(read(json!({"input": "1\n2", "output": "3", "more": 1})), expected);
        assert!(read(json!({"input": "1"})).is_err() && read(json!(["1", "3"])).is_err());
    }
}
