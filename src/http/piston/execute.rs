//! `POST /execute`: a program with its files.

use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::PistonError;
use super::version::selects;
use super::{ALIASES, LANGUAGE, python};
use crate::http::AppState;
use crate::http::programs::{
    Ending, ProgramLimits, ReadBody, Run, TimeLimit, answer, read_as, signal_name, stderr_with_reason,
};
use crate::service::Execution;
use proofbox_types::caller::Caller;
use proofbox_types::grant::Limits;
use proofbox_types::program::{File, Program};

/// Limit on time and on computing where a request names none, in milliseconds: Piston's own.
const DEFAULT_TIME: f64 = 3000.0;

/// Request to run a program.
#[derive(Deserialize)]
pub(super) struct ExecuteRequest {
    #[serde(default)]
    language: Value,
    #[serde(default)]
    version: Value,
    #[serde(default)]
    files: Value,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    args: Option<Vec<Value>>,
    /// What is left, with the limits.
    #[serde(flatten)]
    limits: Map<String, Value>,
}

/// Answer to `POST /execute`.
#[derive(Serialize)]
struct ExecuteAnswer {
    run: Stage,
    language: &'static str,
    version: String,
}

/// Result of a stage: there is only that of running.
#[derive(Default, Serialize)]
struct Stage {
    stdout: String,
    stderr: String,
    /// Exit code; none when a signal ended the program.
    code: Option<i32>,
    signal: Option<&'static str>,
    /// Standard output, then standard error: their order is not known.
    output: String,
    memory: Option<u64>,
    message: Option<String>,
    status: Option<&'static str>,
    /// CPU time, in milliseconds.
    cpu_time: Option<u64>,
    /// CPU time and sleep, in milliseconds: waiting for a core is not the program's.
    wall_time: Option<u64>,
}

impl Stage {
    fn of(execution: Execution, time: TimeLimit) -> Self {
        let ending = Ending::of(&execution, time);
        let (code, signal, status, message) = match ending {
            Ending::Exited(0) => (Some(0), None, None, None),
            Ending::Exited(code) => (Some(code), None, Some("RE"), Some(format!("Exited with error status {code}"))),
            Ending::Signalled(signal) => {
                (None, signal_name(signal), Some("SG"), Some(format!("Caught fatal signal {signal}")))
            }
            Ending::OutOfTime => (None, Some("SIGKILL"), Some("TO"), Some("Time limit exceeded".to_owned())),
            Ending::OutOfMemory => (None, Some("SIGKILL"), Some("SG"), Some("Caught fatal signal 9".to_owned())),
            Ending::TooMuchOutput => (None, Some("SIGKILL"), Some("OL"), Some("stdout length exceeded".to_owned())),
        };
        let (stdout, stderr) = (execution.stdout.text(), stderr_with_reason(&execution));
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).ok();
        Self {
            output: format!("{stdout}{stderr}"),
            stdout,
            stderr,
            code,
            signal,
            memory: Some(execution.cost.peak_memory_bytes),
            message,
            status,
            cpu_time: milliseconds(execution.cost.cpu),
            wall_time: milliseconds(execution.cost.execution),
        }
    }

    /// Makes the stage of a program that could not be run after all.
    fn failed(message: &str) -> Self {
        Self { status: Some("XX"), message: Some(message.to_owned()), ..Self::default() }
    }
}

/// Runs a program.
pub(super) async fn execute(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let version = python(&shared).to_owned();
    let whole = move |run| ExecuteAnswer { run, language: LANGUAGE, version };
    let late = whole.clone();
    let work = async move { run(&shared, &caller, request).await.map(whole) };
    answer(work, |error: PistonError| late(Stage::failed(error.message()))).await
}

async fn run(shared: &AppState, caller: &Caller, request: Request) -> Result<Stage, PistonError> {
    let python = python(shared).to_owned();
    let most = most(shared, caller);
    let read = move |body: ExecuteRequest| program_of(&python, most.as_ref(), body);
    let ReadBody { body: (program, limits), digest, arrived } = read_as(request, read).await?;
    let run = Run { program, tests: None, limits, request: digest, arrived };
    Ok(Stage::of(run.execute(shared, caller).await?, limits.time))
}

/// Returns the largest limits that a caller may have; none where it may have none.
pub(super) fn most(shared: &AppState, caller: &Caller) -> Option<Limits> {
    let policies = shared.service.policies.current();
    policies.pack(caller, crate::http::programs::POLICY).map(|pack| pack.ceiling.most).ok()
}

/// Returns the program of a request, and its limits.
///
/// # Errors
/// Returns an error when it is no such request, or another language than this one's.
pub(super) fn program_of(
    python: &str,
    most: Option<&Limits>,
    body: ExecuteRequest,
) -> Result<(Program, ProgramLimits), PistonError> {
    check_language(python, &body)?;
    let (code, files) = files_of(&body.files)?;
    let limits = limits_of(&body.limits, most)?;
    let program = Program {
        code,
        stdin: stdin_of(body.stdin.unwrap_or_default()),
        args: body.args.unwrap_or_default().into_iter().map(argument).collect(),
        files,
        ..Program::default()
    };
    Ok((program, limits))
}

/// Returns standard input with the end of its last line, which Piston adds: a program that reads a line where there is
/// none reads an empty one.
fn stdin_of(mut text: String) -> Vec<u8> {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}

fn check_language(python: &str, body: &ExecuteRequest) -> Result<(), PistonError> {
    let text = |value: &Value, field: &str| {
        let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        text.ok_or_else(|| PistonError::bad(format!("{field} is required as a string")))
    };
    let language = text(&body.language, "language")?;
    let version = text(&body.version, "version")?;
    let is_known = language == LANGUAGE || ALIASES.contains(&language.as_str());
    if is_known && selects(&version, python) {
        return Ok(());
    }
    let short = |text: &str| text.chars().take(50).collect::<String>();
    Err(PistonError::bad(format!("{}-{} runtime is unknown", short(&language), short(&version))))
}

/// Returns the program, the first file that is text, and all files that have names.
fn files_of(files: &Value) -> Result<(String, Vec<File>), PistonError> {
    let Value::Array(files) = files else { return Err(PistonError::bad("files is required as an array")) };
    let mut code = None;
    let mut named = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let Some(content) = file.get("content").and_then(Value::as_str) else {
            return Err(PistonError::bad(format!("files[{index}].content is required as a string")));
        };
        let decoded = match file.get("encoding").and_then(Value::as_str) {
            Some("base64") => BASE64.decode(content).ok(),
            Some("hex") => unhex(content),
            // What Piston does not know is text to it.
            _ => {
                code.get_or_insert_with(|| content.to_owned());
                Some(content.as_bytes().to_vec())
            }
        };
        let Some(content) = decoded else {
            return Err(PistonError::bad(format!("files[{index}].content is not of the encoding that it names")));
        };
        let name = file.get("name").and_then(Value::as_str).unwrap_or_default().trim_start_matches('/');
        if leaves_directory(name) {
            return Err(PistonError::bad(format!("files[{index}].name leads out of the program's directory")));
        }
        if !name.is_empty() {
            named.push(File { path: name.to_owned(), content });
        }
    }
    let code = code.ok_or_else(|| PistonError::bad("files must include at least one utf8 encoded file"))?;
    Ok((code, named))
}

/// Returns whether a relative path leads out of the directory that it begins in.
fn leaves_directory(path: &str) -> bool {
    let mut depth = 0_usize;
    path.split('/').any(|part| match part {
        "" | "." => false,
        ".." => depth.checked_sub(1).map(|left| depth = left).is_none(),
        _ => {
            depth += 1;
            false
        }
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn argument(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns the limits of a request; those of compiling are checked alone.
fn limits_of(limits: &Map<String, Value>, most: Option<&Limits>) -> Result<ProgramLimits, PistonError> {
    let most_time = most.map(|most| most.wall.as_millis() as f64);
    let time = |name: &str| number(limits, name, most_time);
    let memory = |name: &str| number(limits, name, None);
    time("compile_timeout")?;
    time("compile_cpu_time")?;
    memory("compile_memory_limit")?;
    let limit = |milliseconds: Option<f64>| TimeLimit::seconds(milliseconds.unwrap_or(DEFAULT_TIME) / 1000.0);
    let memory = memory("run_memory_limit")?.filter(|bytes| *bytes > 0.0);
    Ok(ProgramLimits {
        time: limit(time("run_timeout")?),
        cpu: Some(limit(time("run_cpu_time")?)),
        // Beyond the range of u64 it is the largest number.
        memory_bytes: memory.map(|bytes| bytes as u64),
    })
}

/// Returns a number of a request, none where it is 0 or absent. Where there is no `most`, negative ones are no limit.
fn number(limits: &Map<String, Value>, name: &str, most: Option<f64>) -> Result<Option<f64>, PistonError> {
    let number = match limits.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => return Ok(None),
        Some(value) => value.as_f64(),
    };
    let Some(number) = number else {
        return Err(PistonError::bad(format!("If specified, {name} must be a number")));
    };
    if let Some(most) = most.filter(|most| number > *most) {
        return Err(PistonError::bad(format!("{name} cannot exceed the configured limit of {most}")));
    }
    if number < 0.0 && most.is_some() {
        return Err(PistonError::bad(format!("{name} must be non-negative")));
    }
    Ok(Some(number).filter(|number| *number != 0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_text_is_the_program() {
        let files = json!([
            {"name": "/data.bin", "content": "00fF", "encoding": "hex"},
            {"content": "print(1)"},
            {"name": "a/b.py", "content": "x = 1", "encoding": "utf8"},
            {"name": "c", "content": "eA==", "encoding": "base64"},
            {"name": "d", "content": "x", "encoding": "utf-8"},
        ]);
        let (code, files) = files_of(&files).expect("they are right");
        assert_eq!(code, "print(1)");
        let file = |path: &str, content: &[u8]| File { path: path.to_owned(), content: content.to_vec() };
        assert_eq!(files, [file("data.bin", &[0, 255]), file("a/b.py", b"x = 1"), file("c", b"x"), file("d", b"x")]);
    }

    #[test]
    fn standard_input_ends_with_its_line() {
        assert_eq!(
            [stdin_of(String::new()), stdin_of("a".to_owned()), stdin_of("a\n".to_owned())],
            [&b"\n"[..], b"a\n", b"a\n"]
        );
    }

    #[test]
    fn files_that_are_none_are_named() {
        for (files, said) in [
            (json!(null), "files is required as an array"),
            (json!([]), "files must include at least one utf8 encoded file"),
            (json!([{"content": "eA==", "encoding": "base64"}]), "files must include at least one utf8 encoded file"),
            (json!([{"content": "x"}, {}]), "files[1].content is required as a string"),
            (json!([{"content": "xyz", "encoding": "hex"}]), "files[0].content is not of the encoding that it names"),
            (json!([{"content": "", "name": "../x"}]), "files[0].name leads out of the program's directory"),
            (json!([{"content": "", "name": "a/../../x"}]), "files[0].name leads out of the program's directory"),
        ] {
            assert_eq!(files_of(&files).expect_err("they are wrong").message(), said);
        }
    }

    #[test]
    fn limits_have_pistons_words() {
        let most = Limits {
            fuel: 1,
            wall: Duration::from_secs(20),
            memory_bytes: 1,
            output_bytes: 1,
            files_bytes: 1,
            files_count: 1,
        };
        let limits = |value: Value| {
            let Value::Object(map) = value else { unreachable!("it is an object") };
            limits_of(&map, Some(&most))
        };
        let said = |value: Value| limits(value).expect_err("it is wrong").message().to_owned();
        let right = limits(json!({"run_timeout": 500, "run_memory_limit": -1, "compile_timeout": 10_000}));
        let right = right.expect("they are right");
        assert_eq!((right.time, right.memory_bytes), (TimeLimit::seconds(0.5), None));
        assert_eq!(right.cpu, Some(TimeLimit::seconds(3.0)));
        assert_eq!(said(json!({"run_timeout": 20_001})), "run_timeout cannot exceed the configured limit of 20000");
        assert_eq!(said(json!({"run_cpu_time": "1"})), "If specified, run_cpu_time must be a number");
        assert_eq!(said(json!({"compile_timeout": -1})), "compile_timeout must be non-negative");
    }
}
