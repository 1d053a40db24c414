//! `POST /execute`: a cell, streamed line by line as it runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::error::{E2bError, Kind};
use super::lines::{KEEP_ALIVE, output, streamed, told};
use super::process::cut_note;
use super::{E2b, bash, body, contexts, json_ascii};
use crate::http::output::unquoted;
use crate::service::{
    CallEvent, CallItem, CallStream, CellAsked, CellExecution, SessionError, SessionManager, overflow_note,
};
use proofbox_types::grant::AskedLimits;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{CellEvent, DEFAULT_CONTEXT, Display, Raised};
use proofbox_types::status::Status;

#[derive(Deserialize)]
struct ExecuteRequest {
    code: String,
    #[serde(default)]
    context_id: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    env_vars: Option<BTreeMap<String, String>>,
}

/// Runs a cell. Errors before the first line have a status of their own; later ones are reported in the stream.
pub(super) async fn execute(State(e2b): State<E2b>, request: Request) -> Response {
    match begin(e2b, request).await {
        Ok(response) => response,
        Err(error) => error.into_text(),
    }
}

async fn begin(e2b: E2b, request: Request) -> Result<Response, E2bError> {
    let info = e2b.own_sandbox(request.headers(), request.uri())?;
    let ExecuteRequest { code, context_id, language, env_vars } = body::json(request).await?;
    let context = match (&context_id, &language) {
        (Some(_), Some(_)) => {
            return Err(E2bError::new(Kind::Bad, "Only one of context_id or language can be provided"));
        }
        (Some(id), None) => contexts::number_of(id).ok_or_else(|| contexts::unknown(id))?,
        (None, Some(language)) if language.eq_ignore_ascii_case("bash") => {
            return bash::execute(&e2b, info.id, code, env_vars.unwrap_or_default()).await;
        }
        (None, language) => {
            contexts::check_language(language.as_deref())?;
            DEFAULT_CONTEXT
        }
    };
    let env = env_vars.unwrap_or_default();
    super::control::check_env(&env)?;
    let asked = CellAsked {
        code,
        code_field: "code",
        context,
        env: env.into_iter().collect(),
        limits: AskedLimits::default(),
        value: None,
    };
    let sessions = &e2b.shared.service.sessions;
    let call = sessions.call_stream(info.id, asked);
    let call = call.map_err(|error| E2bError::of_sandbox(&info.id.simple(), error))?;
    let mut stream = CellStream::new(Arc::clone(sessions), info.id, call);
    let first = stream.step().await;
    stream.take(first).map_err(|error| match error {
        SessionError::Refused(crate::sandbox::RequestError::NoContext(_)) => {
            contexts::unknown(context_id.as_deref().unwrap_or("default"))
        }
        error => E2bError::of_sandbox(&info.id.simple(), error),
    })?;
    Ok(streamed(stream.lines()))
}

/// A cell on its way. Dropping it interrupts the cell.
struct CellStream {
    sessions: Arc<SessionManager>,
    sandbox: SessionId,
    call: CallStream,
    /// Lines that are ready.
    ready: VecDeque<Vec<u8>>,
    /// Output that has been sent or reported as left out, in bytes.
    told: u64,
    /// True once the first line has been sent.
    begun: bool,
    /// Exception that the code reported; sent only once it is known how the call ended.
    raised: Option<Raised>,
    state: StreamState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamState {
    Runs,
    Ended,
    /// The sandbox is gone: the stream is cut, and clients ask for its health.
    Aborted,
}

impl CellStream {
    fn new(sessions: Arc<SessionManager>, sandbox: SessionId, call: CallStream) -> Self {
        Self {
            sessions,
            sandbox,
            call,
            ready: VecDeque::new(),
            told: 0,
            begun: false,
            raised: None,
            state: StreamState::Runs,
        }
    }

    /// Waits for what happens next; none when nothing does for a while.
    async fn step(&mut self) -> Option<CallItem> {
        tokio::time::timeout(KEEP_ALIVE, self.call.next()).await.unwrap_or_default()
    }

    /// Notes what happened; an error when nothing was run.
    fn take(&mut self, step: Option<CallItem>) -> Result<(), SessionError> {
        match step {
            Some(CallItem::Event(event)) => self.event(event),
            None => self.tell(&json!({"type": "keepalive"})),
            Some(CallItem::Ended(ended)) => match *ended {
                Ok(execution) => self.end(execution),
                Err(error) => {
                    self.state = StreamState::Ended;
                    return Err(error);
                }
            },
        }
        Ok(())
    }

    fn tell(&mut self, line: &impl Serialize) {
        self.ready.push_back(json_ascii::line(line));
    }

    fn begin(&mut self, number: u64) {
        if !std::mem::replace(&mut self.begun, true) {
            self.tell(&json!({"type": "number_of_executions", "execution_count": number}));
        }
    }

    fn event(&mut self, event: CallEvent) {
        let event = match event {
            proofbox_memory::Next::Piece(event) => event,
            // Clients know no event for it.
            proofbox_memory::Next::Overflow(bytes) => {
                self.told += bytes;
                CellEvent::Stderr(overflow_note(bytes))
            }
        };
        if let CellEvent::Stdout(text) | CellEvent::Stderr(text) = &event {
            self.told += text.len() as u64;
        }
        match event {
            CellEvent::Began(number) => self.begin(number),
            CellEvent::Stdout(text) => self.tell(&output("stdout", &text)),
            CellEvent::Stderr(text) => self.tell(&output("stderr", &text)),
            CellEvent::Display(display) => self.tell(&result(display)),
            CellEvent::Raised(raised) => self.raised = Some(raised),
        }
    }

    fn end(&mut self, execution: CellExecution) {
        self.state = StreamState::Ended;
        // Who ends a sandbox ends what runs in it.
        if execution.interrupted && self.sessions.info(self.sandbox).is_err() {
            self.state = StreamState::Aborted;
            return;
        }
        self.begin(execution.number);
        let written = execution.execution.stdout.total_bytes + execution.execution.stderr.total_bytes;
        if let Some(note) = cut_note(written.saturating_sub(self.told)) {
            self.tell(&output("stderr", &note));
        }
        let raised = self.raised.take().or_else(|| execution.raised.clone());
        if let Some(error) = error_of(&execution, raised) {
            self.tell(&error);
        }
        self.tell(&json!({"type": "end_of_execution"}));
    }

    /// An error after the first line.
    fn fail(&mut self, error: SessionError) {
        match E2bError::of_sandbox(&self.sandbox.simple(), error) {
            E2bError::Dead { .. } => self.state = StreamState::Aborted,
            error => {
                self.begin(0);
                self.tell(&told("SandboxError", &error.message(), ""));
                self.tell(&json!({"type": "unexpected_end_of_execution"}));
            }
        }
    }

    fn lines(self) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut stream| async move {
            loop {
                if !stream.ready.is_empty() {
                    // Lines that are ready go together.
                    let lines = stream.ready.drain(..).collect::<Vec<_>>().concat();
                    return Some((Ok(Bytes::from(lines)), stream));
                }
                match stream.state {
                    StreamState::Ended => return None,
                    StreamState::Aborted => {
                        stream.state = StreamState::Ended;
                        return Some((Err(std::io::Error::other("the sandbox has ended")), stream));
                    }
                    StreamState::Runs => {}
                }
                let step = stream.step().await;
                if let Err(error) = stream.take(step) {
                    stream.fail(error);
                }
            }
        })
    }
}

/// Returns the error of a cell that did not succeed.
fn error_of(execution: &CellExecution, raised: Option<Raised>) -> Option<Json> {
    let verdict = &execution.execution.verdict;
    let message = || verdict.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    match verdict.status {
        Status::Blocked => return Some(told("PolicyBlocked", &message(), &message())),
        Status::InfrastructureError => return Some(told("InfrastructureError", &message(), &message())),
        _ => {}
    }
    if execution.restarted || execution.interrupted {
        let why = if execution.interrupted { String::new() } else { message() };
        return Some(told("ContextRestarting", "Context was restarted", &why));
    }
    // A limit that ended it is more than what it says itself of how that felt.
    let error = verdict.error.as_ref().filter(|_| verdict.status != Status::Ok);
    match (raised, error) {
        (Some(raised), Some(error)) if error.type_name.is_empty() => {
            Some(told(&camel(error.class.as_str()), &error.message, &raised.traceback))
        }
        (Some(raised), _) => Some(told(&raised.name, &raised.value, &raised.traceback)),
        (None, Some(error)) => {
            let name = if error.type_name.is_empty() { camel(error.class.as_str()) } else { error.type_name.clone() };
            Some(told(&name, &error.message, &error.message))
        }
        (None, None) => None,
    }
}

/// `memory_limit` as a name of an error: `MemoryLimit`.
fn camel(word: &str) -> String {
    let capital = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    word.split('_').filter(|part| !part.is_empty()).map(capital).collect()
}

/// A line that is made of what was shown.
#[derive(Default)]
struct Line(Vec<(String, Content)>);

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Value(Json),
    /// JSON text as the guest wrote it, so that numbers of any length stay exact.
    AsItCame(Box<RawValue>),
    Line(Line),
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, content)| (name, content)))
    }
}

/// Renders a display, by the names that clients have for formats.
fn result(display: Display) -> Line {
    let mut line = Line::default();
    let mut extra = Line::default();
    let mut add = |name: &str, content| line.0.push((name.to_owned(), content));
    add("type", Content::Value(json!("result")));
    add("is_main_result", Content::Value(json!(display.is_main_result)));
    for (mime, content) in display.data {
        let text = |content: String| Content::Value(Json::String(content));
        match mime.as_str() {
            "text/plain" => add("text", Content::Value(json!(unquoted(&content)))),
            "text/html" => add("html", text(content)),
            "text/markdown" => add("markdown", text(content)),
            "text/latex" => add("latex", text(content)),
            "image/svg+xml" => add("svg", text(content)),
            "image/png" => add("png", text(content)),
            "image/jpeg" => add("jpeg", text(content)),
            "application/pdf" => add("pdf", text(content)),
            "application/javascript" => add("javascript", text(content)),
            "application/json" => add("json", parsed(content)),
            "e2b/data" => add("data", parsed(content)),
            "e2b/chart" => add("chart", parsed(content)),
            _ => {
                let content = if mime.ends_with("+json") { parsed(content) } else { text(content) };
                extra.0.push((mime, content));
            }
        }
    }
    if !extra.0.is_empty() {
        line.0.push(("extra".to_owned(), Content::Line(extra)));
    }
    line
}

/// JSON in a text; what is none stays a text.
fn parsed(content: String) -> Content {
    // Only such text may stand in a line as it is.
    let fits = content.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    if fits && let Ok(raw) = serde_json::from_str::<&RawValue>(&content) {
        return Content::AsItCame(raw.to_owned());
    }
    Content::Value(serde_json::from_str(&content).unwrap_or(Json::String(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_names_that_clients_know() {
        let data = [
            ("text/plain", "'abc'"),
            ("application/json", "{\"a\":[1,null]}"),
            ("image/png", "iVBO"),
            ("e2b/data", "{\"c\":[1]}"),
            ("application/x-conf", "zz"),
            ("application/vnd.x+json", "[1]"),
        ];
        let data = data.map(|(mime, text)| (mime.to_owned(), text.to_owned())).to_vec();
        let line = json_ascii::line(&result(Display { data, is_main_result: true }));
        assert_eq!(
            serde_json::from_slice::<Json>(&line).expect("JSON"),
            json!({"type": "result", "is_main_result": true, "text": "abc", "json": {"a": [1, null]}, "png": "iVBO",
                "data": {"c": [1]}, "extra": {"application/x-conf": "zz", "application/vnd.x+json": [1]}})
        );
    }

    #[test]
    fn json_stands_in_one_ascii_line_with_numbers_as_they_are() {
        let line = |content: &str| {
            let data = vec![("application/json".to_owned(), content.to_owned())];
            let line = json_ascii::line(&result(Display { data, is_main_result: false }));
            let text = String::from_utf8(line).expect("ASCII");
            assert!(text.is_ascii() && text.matches('\n').count() == 1 && text.ends_with('\n'), "{text:?}");
            text.split_once("\"json\":").expect("there").1.trim_end().trim_end_matches('}').to_owned()
        };
        assert_eq!(line("[1180591620717411303424, 1.50]"), "[1180591620717411303424, 1.50]");
        assert_eq!(line("[1,\n2]"), "[1,2]");
        assert_eq!(line("\"\u{e9}\u{2028}\""), r#""\u00e9\u2028""#);
        assert_eq!(line("[1"), "\"[1\"");
    }

    #[test]
    fn only_a_pair_of_the_same_quotes_is_taken_off() {
        for (text, expected) in
            [("'a'", "a"), ("\"it's\"", "it's"), ("'", "'"), ("''", ""), ("'a\"", "'a\""), ("[1]", "[1]"), ("", "")]
        {
            assert_eq!(unquoted(text), expected);
        }
    }

    #[test]
    fn limits_have_names_like_errors() {
        assert_eq!(camel("memory_limit"), "MemoryLimit");
        assert_eq!(camel("timeout"), "Timeout");
    }
}
