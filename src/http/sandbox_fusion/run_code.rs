//! `POST /run_code`: a program with its input.

use std::collections::BTreeMap;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::http::AppState;
use crate::http::programs::{
    DetailError, Ending, Failure, ProgramLimits, ReadBody, Run, TimeLimit, answer, read, stderr_with_reason,
};
use crate::service::Execution;
use proofbox_types::caller::Caller;
use proofbox_types::program::{File, Program};

/// Time limit of a request that names none, in seconds.
const DEFAULT_TIMEOUT: f64 = 10.0;
const MEBIBYTE: u64 = 1 << 20;
/// Languages that are run.
const LANGUAGES: [&str; 1] = ["python"];

#[derive(Deserialize)]
pub(super) struct RunCodeRequest {
    code: String,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    run_timeout: Option<f64>,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    files: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    fetch_files: Option<Vec<String>>,
}

/// Status of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum RunStatus {
    /// The program exited with code 0 in time.
    Success,
    /// The program did not.
    Failed,
    /// The program can't be run here at all, or the service failed.
    SandboxError,
}

/// Status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum CommandStatus {
    /// The program ended by itself, or a limit other than time ended it.
    Finished,
    /// The program's time was over.
    TimeLimitExceeded,
}

/// Result of a program.
#[derive(Debug, Serialize)]
pub(super) struct CommandResult {
    pub status: CommandStatus,
    /// CPU time and sleep, in seconds.
    pub execution_time: f64,
    pub return_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Facts about a run that SandboxFusion's protocol has no field for.
#[derive(Debug, Serialize)]
pub(super) struct RunFacts {
    /// Failure class of the run.
    stderr_class: &'static str,
    /// Separation of tests from the program. `none`: there were no tests apart from it, so its exit code and output are
    /// what it chose, and prove nothing by themselves.
    integrity: &'static str,
    fuel_used: u64,
    /// Time of waiting, which never counts against the program, in seconds.
    queue_seconds: f64,
    /// Name of the program's image.
    image: String,
}

/// Answer to `POST /run_code`.
#[derive(Debug, Serialize)]
pub(super) struct RunCodeAnswer {
    pub status: RunStatus,
    pub message: String,
    pub compile_result: Option<CommandResult>,
    pub run_result: Option<CommandResult>,
    pub executor_pod_name: Option<String>,
    pub files: BTreeMap<String, String>,
    /// Facts beyond the protocol; none where nothing was run.
    pub proofbox: Option<RunFacts>,
}

impl RunCodeAnswer {
    /// Makes the answer for what can't be run here, or could not be run after all.
    pub(super) fn unanswered(message: String) -> Self {
        Self {
            status: RunStatus::SandboxError,
            message,
            compile_result: None,
            run_result: None,
            executor_pod_name: None,
            files: BTreeMap::new(),
            proofbox: None,
        }
    }

    /// Makes the answer of a run, which may have been graded.
    pub(super) fn of(execution: Execution, time: TimeLimit) -> Self {
        let is_good = Ending::of(&execution, time) == Ending::Exited(0);
        let is_late = time.is_exceeded_by(&execution);
        let stderr = stderr_with_reason(&execution);
        let Execution { verdict, cost, stdout, files, image_choice, .. } = execution;
        let result = CommandResult {
            status: if is_late { CommandStatus::TimeLimitExceeded } else { CommandStatus::Finished },
            execution_time: cost.execution.as_secs_f64(),
            return_code: (!is_late).then_some(if is_good { 0 } else { verdict.exit_code.max(1) }),
            stdout: stdout.text(),
            stderr,
        };
        Self {
            status: if is_good { RunStatus::Success } else { RunStatus::Failed },
            message: String::new(),
            compile_result: None,
            run_result: Some(result),
            executor_pod_name: None,
            files: files.into_iter().map(|file| (file.path, BASE64.encode(file.content))).collect(),
            proofbox: Some(RunFacts {
                stderr_class: verdict.class.as_str(),
                integrity: verdict.integrity.level.as_str(),
                fuel_used: cost.fuel,
                queue_seconds: cost.queue.as_secs_f64(),
                image: image_choice.map(|(name, _)| name).unwrap_or_default(),
            }),
        }
    }

    /// Returns whether the run was a success.
    pub(super) fn is_success(&self) -> bool {
        self.status == RunStatus::Success
    }
}

/// Runs a program.
pub(super) async fn run_code(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move { run(&shared, &caller, request).await.map_err(DetailError::from) };
    answer(work, |error| RunCodeAnswer::unanswered(error.message().to_owned())).await
}

async fn run(shared: &AppState, caller: &Caller, request: Request) -> Result<RunCodeAnswer, Failure> {
    let ReadBody { body, digest, arrived } = read::<RunCodeRequest>(request).await?;
    if let Some(message) = unsupported(body.language.as_deref()) {
        return Ok(RunCodeAnswer::unanswered(message));
    }
    let time = TimeLimit::seconds(body.run_timeout.unwrap_or(DEFAULT_TIMEOUT));
    let run = Run {
        program: Program {
            code: body.code,
            stdin: body.stdin.unwrap_or_default().into_bytes(),
            files: files_of(body.files.unwrap_or_default())?,
            fetch_files: body.fetch_files.unwrap_or_default(),
            ..Program::default()
        },
        tests: None,
        limits: ProgramLimits { time, cpu: None, memory_bytes: memory_bytes(body.memory_limit_mb) },
        request: digest,
        arrived,
    };
    Ok(RunCodeAnswer::of(run.execute(shared, caller).await?, time))
}

/// Returns why a language can't be run, if it can't.
pub(super) fn unsupported(language: Option<&str>) -> Option<String> {
    let language = language.filter(|language| !LANGUAGES.contains(language))?;
    let shown: String = language.chars().take(50).collect();
    Some(format!("language `{shown}` is not supported here: this sandbox runs {}", LANGUAGES.join(", ")))
}

pub(super) fn memory_bytes(mebibytes: Option<i64>) -> Option<u64> {
    let mebibytes = mebibytes.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0)?;
    Some(mebibytes.saturating_mul(MEBIBYTE))
}

/// Decodes files; those without content are left out.
///
/// # Errors
/// Returns an error that names the file which is not base64.
pub(super) fn files_of(files: BTreeMap<String, Option<String>>) -> Result<Vec<File>, Failure> {
    let decode = |(path, content): (String, Option<String>)| {
        let content = BASE64.decode(content?.as_bytes());
        Some(content.map(|content| File { path: path.clone(), content }).map_err(|error| {
            Failure::Invalid(format!("file `{}` is not base64: {error}", path.chars().take(100).collect::<String>()))
        }))
    };
    files.into_iter().filter_map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_of_memory_is_a_negative_one() {
        assert_eq!(memory_bytes(Some(-1)), None);
        assert_eq!(memory_bytes(Some(1024)), Some(1 << 30));
        assert_eq!(memory_bytes(None), None);
    }

    #[test]
    fn languages_that_are_not_run_are_named() {
        assert_eq!(unsupported(None), None);
        assert_eq!(unsupported(Some("python")), None);
        assert!(unsupported(Some("cpp")).is_some_and(|message| message.contains("`cpp`")));
    }
}
