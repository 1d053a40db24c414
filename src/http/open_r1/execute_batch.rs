//! `POST /execute_batch`: a batch of scripts. The results have what both of open-r1's clients read.

use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::http::AppState;
use crate::http::output::unquoted;
use crate::http::programs::{
    CellError, DetailError, Failure, ProgramLimits, ReadBody, TimeLimit, answer, is_out_of_time, read, until,
};
use crate::service::{CellAsked, CellExecution, SessionAsked};
use proofbox_types::caller::Caller;
use proofbox_types::session::{DEFAULT_CONTEXT, Display};
use proofbox_types::status::Status;

/// Time limit of a request that names none, in seconds.
const DEFAULT_TIMEOUT: f64 = 300.0;
/// Longest time that a batch waits and runs.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Lifetime of a session that is not used: it ends by itself when its client has gone.
const IDLE: Duration = Duration::from_secs(30);
/// Maximum number of scripts of a batch.
const MAX_SCRIPTS: usize = 4096;
/// Scripts of a batch that run at once: one request must not fill the queue by itself.
const SCRIPTS_AT_ONCE: usize = 8;
/// Size of the results of a batch, in bytes, after which those of further scripts are left out.
const MAX_RESULTS: usize = 64 << 20;
/// Times that a script is run which fails for reasons of the service's own.
const MAX_RUNS: usize = 3;
/// Languages that are run.
const LANGUAGES: [&str; 1] = ["python"];

#[derive(Deserialize)]
struct BatchRequest {
    scripts: Vec<String>,
    languages: Vec<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

/// Result of a script.
#[derive(Debug, Default, Serialize)]
struct ScriptResult {
    /// What ran, as E2B's SDK has it; none for a script without a result.
    execution: Option<Execution>,
    /// Reason why there is no result.
    exception_str: Option<String>,
    /// Value of the last expression, or standard output: what the client for MorphCloud reads.
    text: String,
}

#[derive(Debug, Serialize)]
struct Execution {
    results: Vec<Value>,
    logs: Logs,
    error: Option<Value>,
    execution_count: u64,
}

#[derive(Debug, Serialize)]
struct Logs {
    stdout: Vec<String>,
    stderr: Vec<String>,
}

impl ScriptResult {
    fn without(reason: impl Into<String>) -> Self {
        Self { exception_str: Some(reason.into()), ..Self::default() }
    }

    fn of(ran: CellExecution) -> Self {
        let error = CellError::of(&ran);
        let lines = |text: String| if text.is_empty() { Vec::new() } else { vec![text] };
        let stdout = ran.execution.stdout.text();
        let main = ran.displays.iter().find(|display| display.is_main_result);
        let value = main.and_then(|display| display.data.iter().find(|(mime, _)| mime == "text/plain"));
        let text = value.map_or_else(|| stdout.clone(), |(_, text)| unquoted(text).to_owned());
        Self {
            exception_str: error.as_ref().map(|error| format!("{}: {}", error.name, error.value)),
            execution: Some(Execution {
                results: ran.displays.into_iter().map(result).collect(),
                logs: Logs { stdout: lines(stdout), stderr: lines(ran.execution.stderr.text()) },
                error: error.map(|CellError { name, value, traceback }| {
                    json!({"name": name, "value": value, "traceback": traceback})
                }),
                execution_count: ran.number,
            }),
            text,
        }
    }

    /// Returns about how large it is, in bytes.
    fn size(&self) -> usize {
        let said = self.exception_str.as_ref().map_or(0, String::len);
        let Some(Execution { results, logs, error, .. }) = &self.execution else { return said };
        let objects = results.iter().chain(error).filter_map(Value::as_object);
        let displayed: usize = objects.flat_map(Map::values).map(text_bytes).sum();
        said + self.text.len() + displayed + logs.stdout.iter().chain(&logs.stderr).map(String::len).sum::<usize>()
    }
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Object(_) | Value::Array(_) => value.to_string().len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Runs a batch of scripts.
pub(super) async fn execute_batch(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move { run(&shared, &caller, request).await.map_err(DetailError::from) };
    // That is no list of results, so nobody takes it for one.
    answer(work, |error| error.to_json()).await
}

async fn run(shared: &AppState, caller: &Caller, request: Request) -> Result<Vec<ScriptResult>, Failure> {
    let ReadBody { body: BatchRequest { scripts, languages, timeout }, arrived, .. } = read(request).await?;
    if scripts.len() > MAX_SCRIPTS {
        let message = format!("the batch has {} scripts; at most {MAX_SCRIPTS} are run", scripts.len());
        return Err(Failure::TooLarge(message));
    }
    let time = TimeLimit::seconds(timeout.unwrap_or(DEFAULT_TIMEOUT));
    let batch = Batch { shared, caller, time, deadline: arrived + MAX_WAIT };
    // Where one list is longer, its rest is left out, as open-r1 does.
    let runs = scripts.into_iter().zip(languages).map(|(script, language)| batch.script(script, language));
    let mut runs = stream::iter(runs).buffered(SCRIPTS_AT_ONCE);
    let (mut results, mut size) = (Vec::new(), 0);
    while let Some(mut result) = runs.next().await {
        size += result.size();
        if size > MAX_RESULTS {
            result = ScriptResult::without("the batch has more output than one answer holds");
        }
        results.push(result);
    }
    Ok(results)
}

struct Batch<'a> {
    shared: &'a AppState,
    caller: &'a Caller,
    time: TimeLimit,
    deadline: Instant,
}

impl Batch<'_> {
    async fn script(&self, script: String, language: String) -> ScriptResult {
        if !LANGUAGES.contains(&language.as_str()) {
            let shown: String = language.chars().take(50).collect();
            let message =
                format!("language `{shown}` is not supported here: this sandbox runs {}", LANGUAGES.join(", "));
            return ScriptResult::without(message);
        }
        for _ in 0..MAX_RUNS {
            match self.cell(&script).await {
                Ok(ran) if ran.execution.verdict.status == Status::InfrastructureError => {}
                // open-r1's router has no result of a script that took too long.
                Ok(ran) if is_out_of_time(&ran) => return ScriptResult::without("the script took too long"),
                Ok(ran) => return ScriptResult::of(ran),
                Err(failure) => return ScriptResult::without(failure.message()),
            }
        }
        ScriptResult::without("the service failed; send this again")
    }

    /// Runs a script as the only cell of a session.
    async fn cell(&self, script: &str) -> Result<CellExecution, Failure> {
        let sessions = &self.shared.service.sessions;
        let limits = ProgramLimits { time: self.time, cpu: None, memory_bytes: None };
        let asked = SessionAsked {
            caller: self.caller.clone(),
            limits: self.shared.limits_of(self.caller, limits),
            ttl: Some(MAX_WAIT + IDLE),
            idle: Some(IDLE),
            ..SessionAsked::default()
        };
        let session = until(self.deadline, || sessions.open_owned(asked.clone())).await?;
        let cell = CellAsked {
            code: script.to_owned(),
            code_field: "scripts",
            context: DEFAULT_CONTEXT,
            env: Vec::new(),
            limits: asked.limits,
            value: None,
        };
        let ran = until(self.deadline, || sessions.call(session.id(), cell.clone())).await;
        session.end().await;
        ran
    }
}

/// Renders a display by the names that E2B's SDK has for formats.
fn result(display: Display) -> Value {
    let mut result = Map::new();
    let mut extra = Map::new();
    for (mime, content) in display.data {
        let name = match mime.as_str() {
            "text/plain" => "text",
            "text/html" => "html",
            "text/markdown" => "markdown",
            "text/latex" => "latex",
            "image/svg+xml" => "svg",
            "image/png" => "png",
            "image/jpeg" => "jpeg",
            "application/pdf" => "pdf",
            "application/javascript" => "javascript",
            "application/json" => "json",
            "e2b/data" => "data",
            "e2b/chart" => "chart",
            _ => {
                extra.insert(mime, Value::String(content));
                continue;
            }
        };
        let content = match name {
            "text" => Value::String(unquoted(&content).to_owned()),
            "json" | "data" | "chart" => serde_json::from_str(&content).unwrap_or(Value::String(content)),
            _ => Value::String(content),
        };
        result.insert(name.to_owned(), content);
    }
    result.insert("is_main_result".to_owned(), display.is_main_result.into());
    result.insert("extra".to_owned(), if extra.is_empty() { Value::Null } else { Value::Object(extra) });
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_names_of_e2bs_sdk() {
        let data = [("text/plain", "'0.5'"), ("application/json", "[1]"), ("application/x-conf", "z")];
        let data = data.map(|(mime, text)| (mime.to_owned(), text.to_owned())).to_vec();
        assert_eq!(
            result(Display { data, is_main_result: true }),
            json!({"text": "0.5", "json": [1], "is_main_result": true, "extra": {"application/x-conf": "z"}})
        );
    }

    #[test]
    fn a_script_without_a_result_has_a_reason() {
        assert_eq!(
            serde_json::to_value(ScriptResult::without("why")).expect("JSON"),
            json!({"execution": null, "exception_str": "why", "text": ""})
        );
    }
}
