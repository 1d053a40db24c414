//! Connection to a grader: a server, or the service in this process. Both take requests of `POST /v1/suites`.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, header};
use futures_util::{Stream, StreamExt};
use serde_json::{Map, Value as Json, json};
use tower::ServiceExt;

use super::suite::{Item, Suite};
use crate::app::App;
use crate::config::{Config, MetricsAccess};
use crate::http;
use crate::telemetry::Telemetry;

/// Maximum size of a request, in bytes: far below the 32 MiB that a server takes by default.
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of items in a request.
const MAX_ITEMS: usize = 5000;
/// Number of times that an item is sent which came back without a verdict through no fault of its own.
const ATTEMPTS: usize = 3;
/// Settings of the service in this process, which accepts every request.
const OURS: http::RouterSettings = http::RouterSettings {
    body_bytes: 1 << 32,
    keyless: http::KeylessRequests::Served,
    metrics_access: MetricsAccess::Open,
    scheme: http::Scheme::Http,
    idle_timeout: Duration::from_secs(3600),
};

type Chunks = Pin<Box<dyn Stream<Item = anyhow::Result<Bytes>> + Send>>;

/// Server that grades, in this process or remote.
pub(super) enum Server {
    /// Workers of our own. The app owns them.
    Local(Router, #[expect(dead_code, reason = "it ends its workers when it is dropped")] App),
    /// The address of a server.
    Remote(reqwest::Client, String),
}

impl Server {
    /// The server at `url`, which is shown the key, or one in this process.
    ///
    /// # Errors
    /// Returns an error when the address is not a URL, or no worker starts.
    pub(super) async fn find(url: Option<&str>, key: Option<&str>, config: &Config) -> anyhow::Result<Self> {
        let Some(url) = url else {
            let app = App::new(config).await?;
            let router =
                http::router(std::sync::Arc::clone(app.service()), Telemetry::off(), OURS, http::Draining::default());
            return Ok(Self::Local(router, app));
        };
        let url = url.trim_end_matches('/');
        let has_scheme = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        let url = if has_scheme { url.to_owned() } else { format!("http://{url}") };
        let mut headers = header::HeaderMap::new();
        if let Some(key) = key {
            let mut value = header::HeaderValue::from_str(key).context("--api-key (PROOFBOX_API_KEY) is no key")?;
            value.set_sensitive(true);
            headers.insert("x-api-key", value);
        }
        let client = reqwest::Client::builder().connect_timeout(Duration::from_secs(10)).default_headers(headers);
        let client = client.build()?;
        Ok(Self::Remote(client, url))
    }

    /// Status and body of the answer.
    async fn send(&self, body: Vec<u8>) -> anyhow::Result<(u16, Chunks)> {
        match self {
            Self::Local(router, _) => {
                let request = Request::post("/v1/suites").header(header::CONTENT_TYPE, "application/json");
                let answer = router.clone().oneshot(request.body(Body::from(body))?).await?;
                let status = answer.status().as_u16();
                Ok((status, Box::pin(answer.into_body().into_data_stream().map(|chunk| chunk.map_err(Into::into)))))
            }
            Self::Remote(client, url) => {
                let url = format!("{url}/v1/suites");
                let request = client.post(&url).header(header::CONTENT_TYPE, "application/json").body(body);
                let answer = request.send().await.with_context(|| format!("asking {url}"))?;
                let status = answer.status().as_u16();
                Ok((status, Box::pin(answer.bytes_stream().map(|chunk| chunk.map_err(Into::into)))))
            }
        }
    }

    /// Has every item graded, and returns the answers' lines in the order of the items. `done` is called for each.
    ///
    /// # Errors
    /// Returns an error when the server refuses the suite or can't be reached, or lines are missing in the end.
    pub(super) async fn grade(&self, suite: &Suite, done: impl Fn(&Json)) -> anyhow::Result<Vec<Json>> {
        let mut answers: Vec<Option<Json>> = vec![None; suite.items.len()];
        let mut broken = None;
        for _ in 0..ATTEMPTS {
            let waiting: Vec<usize> = (0..answers.len()).filter(|index| is_open(answers[*index].as_ref())).collect();
            if waiting.is_empty() {
                break;
            }
            // Last first: it is a stack.
            let mut chunks = chunks(&suite.items, &waiting);
            chunks.reverse();
            while let Some(chunk) = chunks.pop() {
                match self.grade_chunk(suite, &chunk, &mut answers, &done).await? {
                    Chunk::Done => broken = None,
                    Chunk::Broken(reason) => broken = Some(reason),
                    Chunk::TooLarge => {
                        let (first, second) = chunk.split_at(chunk.len() / 2);
                        chunks.extend([second.to_vec(), first.to_vec()]);
                    }
                }
            }
        }
        let count = answers.len();
        let answers: Vec<Json> = answers.into_iter().flatten().collect();
        if answers.len() < count {
            let reason = broken.map_or_else(String::new, |reason| format!(": {reason}"));
            bail!("the server left {} of {count} items without an answer{reason}", count - answers.len());
        }
        Ok(answers)
    }

    async fn grade_chunk(
        &self,
        suite: &Suite,
        chunk: &[usize],
        answers: &mut [Option<Json>],
        done: &impl Fn(&Json),
    ) -> anyhow::Result<Chunk> {
        let items: Vec<&Map<String, Json>> = chunk.iter().map(|index| &suite.items[*index].fields).collect();
        let body = serde_json::to_vec(&json!({"defaults": suite.defaults, "items": items}))?;
        let (status, mut stream) = self.send(body).await?;
        if status == 413 && chunk.len() > 1 {
            return Ok(Chunk::TooLarge);
        }
        if status != 200 {
            bail!("{}", refusal(status, &whole(stream).await, suite, chunk));
        }
        let places: std::collections::HashMap<&str, usize> =
            chunk.iter().map(|index| (suite.items[*index].id.as_str(), *index)).collect();
        let mut rest = Vec::new();
        let mut is_whole = false;
        while let Some(bytes) = stream.next().await {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(error) => return Ok(Chunk::Broken(format!("{error:#}"))),
            };
            rest.extend_from_slice(&bytes);
            let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            for line in rest[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line: Json =
                    serde_json::from_slice(line).context("the server's answer is not as /v1/suites has it")?;
                is_whole |= line.get("report").is_some();
                let Some(index) = line["id"].as_str().and_then(|id| places.get(id)) else { continue };
                if answers[*index].is_none() {
                    done(&line);
                }
                answers[*index] = Some(line);
            }
            rest.drain(..=end);
        }
        Ok(if is_whole { Chunk::Done } else { Chunk::Broken("its answer ended early".to_owned()) })
    }
}

enum Chunk {
    Done,
    /// The answer ended before its end.
    Broken(String),
    /// Request that the server refuses as too large; nothing was run.
    TooLarge,
}

/// Returns whether an item has no verdict yet.
fn is_open(answer: Option<&Json>) -> bool {
    answer.is_none_or(|answer| answer["status"] == "infrastructure_error")
}

fn chunks(items: &[Item], waiting: &[usize]) -> Vec<Vec<usize>> {
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for index in waiting {
        let size = items[*index].fields.values().map(|value| value.to_string().len()).sum::<usize>();
        match chunks.last_mut() {
            Some(chunk) if bytes + size <= MAX_BYTES && chunk.len() < MAX_ITEMS => chunk.push(*index),
            _ => {
                chunks.push(vec![*index]);
                bytes = 0;
            }
        }
        bytes += size;
    }
    chunks
}

/// Maximum number of bytes that are read of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

async fn whole(mut stream: Chunks) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(Ok(bytes)) = stream.next().await {
        all.extend_from_slice(&bytes);
        if all.len() > MAX_REFUSAL_BYTES {
            break;
        }
    }
    all
}

/// Renders the server's message, with the position in the file that it is about.
fn refusal(status: u16, body: &[u8], suite: &Suite, chunk: &[usize]) -> String {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let message = answer["error"]["message"].as_str().unwrap_or("no reason was given");
    let field = answer["error"]["field"].as_str().unwrap_or("");
    let place = field.strip_prefix("items[").and_then(|rest| rest.split_once(']'));
    let item = place.and_then(|(index, rest)| {
        Some((&suite.items[*chunk.get(index.parse::<usize>().ok()?)?], rest.trim_start_matches('.')))
    });
    let place = match item {
        Some((item, "")) => format!("{}: ", item.origin),
        Some((item, field)) => format!("{}: {field}: ", item.origin),
        None if field.is_empty() => String::new(),
        None => format!("{field}: "),
    };
    format!("{place}{message} ({status})")
}
