//! Making, showing and deleting submissions.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::form_urlencoded;

use super::Judge0;
use super::base64::Texts;
use super::error::Judge0Error;
use super::languages;
use super::record::{Done, Fields, View};
use super::request::{NewSubmission, Ranges};
use super::store::Submission;
use crate::http::body::{BodyError, BodyReader};
use crate::http::programs::{self, Failure, Run, answer_with, part, read_as};
use crate::service::RequestDigest;
use proofbox_types::caller::Caller;

/// Maximum number of submissions in a batch.
pub(super) const MAX_BATCH: usize = 20;
/// Maximum length of the texts of several submissions in one answer, in bytes. One alone is shown whatever its length.
const MAX_SHOWN: usize = 64 << 20;
/// Submissions on a page where a request says nothing else.
const PER_PAGE: usize = 20;

/// Parameters of a request.
struct Parameters {
    texts: Texts,
    is_waiting: bool,
    fields: Fields,
    tokens: String,
    page: Option<String>,
    per_page: Option<String>,
}

impl Parameters {
    fn read(uri: &Uri) -> Result<Self, Judge0Error> {
        let pairs: Vec<_> = form_urlencoded::parse(uri.query().unwrap_or("").as_bytes()).collect();
        let text = |name: &str| pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.to_string());
        let is_true = |name: &str| text(name).as_deref() == Some("true");
        Ok(Self {
            texts: if is_true("base64_encoded") { Texts::Base64 } else { Texts::Plain },
            is_waiting: is_true("wait"),
            fields: Fields::read(text("fields").as_deref())?,
            tokens: text("tokens").unwrap_or_default(),
            page: text("page"),
            per_page: text("per_page"),
        })
    }
}

#[derive(Deserialize)]
struct Batch {
    #[serde(default)]
    submissions: Vec<Map<String, Value>>,
}

fn raw(value: &Value) -> Result<Box<RawValue>, Judge0Error> {
    to_raw_value(value).map_err(|_| BodyError::Internal.into())
}

/// Submissions, as an answer shows them.
struct Shown {
    /// None for each that there is not.
    submissions: Vec<Option<Arc<Submission>>>,
    fields: Fields,
    texts: Texts,
    language: String,
}

impl Shown {
    fn render(&self) -> Result<Vec<Value>, Judge0Error> {
        let render = |submission: &Option<Arc<Submission>>| match submission {
            Some(submission) => self.with(submission, |view| view.render(&self.fields, self.texts)),
            None => Ok(Value::Null),
        };
        self.submissions.iter().map(render).collect()
    }

    /// Returns the length of the texts in it, in bytes.
    fn bytes(&self) -> usize {
        let bytes = |submission| self.with(submission, |view: View<'_>| view.bytes(&self.fields));
        self.submissions.iter().flatten().map(bytes).sum()
    }

    fn with<T>(&self, submission: &Arc<Submission>, look: impl FnOnce(View<'_>) -> T) -> T {
        look(View {
            token: &submission.token,
            asked: &submission.asked,
            created: submission.created,
            done: submission.done().as_deref(),
            language: &self.language,
        })
    }

    /// Makes the answer that `whole` makes of them, apart from the threads that serve everybody where it is large.
    async fn answer(
        self,
        reader: &BodyReader,
        whole: impl FnOnce(Vec<Value>) -> Value + Send + 'static,
    ) -> Result<Box<RawValue>, Judge0Error> {
        let bytes = self.bytes();
        if self.submissions.len() > 1 && bytes > MAX_SHOWN {
            let message =
                "these submissions are too large to be shown together; ask for fewer of them, or fewer fields";
            return Err(Failure::TooLarge(message.to_owned()).into());
        }
        let held = match self.texts {
            Texts::Base64 => bytes,
            // A control character takes six bytes as JSON.
            Texts::Plain => bytes.saturating_mul(3),
        };
        let make = move || raw(&whole(self.render()?));
        reader.make(held, make).await?
    }
}

impl Judge0 {
    fn shown(&self, submissions: Vec<Option<Arc<Submission>>>, fields: Fields, texts: Texts) -> Shown {
        Shown { submissions, fields, texts, language: languages::name(self) }
    }

    /// Shows one submission.
    async fn show(
        &self,
        submission: Arc<Submission>,
        fields: Fields,
        texts: Texts,
        reader: &BodyReader,
    ) -> Result<Box<RawValue>, Judge0Error> {
        let whole = |mut one: Vec<Value>| one.pop().unwrap_or_default();
        self.shown(vec![Some(submission)], fields, texts).answer(reader, whole).await
    }

    /// Starts a submission.
    fn start(
        &self,
        caller: &Caller,
        asked: NewSubmission,
        output: usize,
        (request, arrived): (RequestDigest, Instant),
    ) -> Result<Arc<Submission>, Judge0Error> {
        let (shared, caller) = (self.shared.clone(), caller.clone());
        self.store.add(caller.owner(), asked, output, |submission| async move {
            let asked = &submission.asked;
            let run = Run { program: asked.program(), tests: None, limits: asked.limits(), request, arrived };
            match run.execute(&shared, &caller).await {
                Ok(execution) => Done::of(asked, &execution),
                Err(error) => Done::failed(&Failure::from(error)),
            }
        })
    }

    fn find(&self, caller: &Caller, token: &str) -> Result<Arc<Submission>, Judge0Error> {
        self.store.find(caller.owner(), token).ok_or_else(Judge0Error::not_found)
    }
}

/// Makes a submission.
pub(super) async fn create(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move {
        let Parameters { texts, is_waiting, fields, .. } = Parameters::read(request.uri())?;
        let reader = BodyReader::of(request.extensions())?;
        let ranges = Ranges::of(&judge0.shared, &caller);
        let output = ranges.output;
        let read = move |fields: Map<String, Value>| NewSubmission::read(&fields, texts, &ranges);
        let programs::ReadBody { body: asked, digest, arrived } = read_as(request, read).await?;
        let submission = judge0.start(&caller, asked, output, (digest, arrived))?;
        let token = submission.token.clone();
        if !is_waiting {
            return raw(&json!({"token": token}));
        }
        submission.wait().await;
        match judge0.show(submission, fields, texts, &reader).await {
            Ok(shown) => Ok(shown),
            Err(error) => {
                let mut said = error.into_body();
                said["token"] = json!(token);
                raw(&said)
            }
        }
    };
    answer_with(StatusCode::CREATED, work, Judge0Error::into_body).await
}

/// Makes several submissions.
pub(super) async fn create_batch(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Judge0Error> {
    let Parameters { texts, .. } = Parameters::read(request.uri())?;
    let ranges = Ranges::of(&judge0.shared, &caller);
    let output = ranges.output;
    let read = move |Batch { submissions }: Batch| {
        check_batch(submissions.len())?;
        let read = |fields: &Map<String, Value>| NewSubmission::read(fields, texts, &ranges);
        Ok::<Vec<_>, Judge0Error>(submissions.iter().map(read).collect())
    };
    let programs::ReadBody { body: submissions, digest, arrived } = read_as(request, read).await?;
    let mut is_any_right = false;
    let mut said = Vec::new();
    for (index, asked) in submissions.into_iter().enumerate() {
        match asked.and_then(|asked| judge0.start(&caller, asked, output, (part(digest, index), arrived))) {
            Ok(submission) => {
                is_any_right = true;
                said.push(json!({"token": submission.token}));
            }
            Err(error) => said.push(error.into_body()),
        }
    }
    let status = if is_any_right { StatusCode::CREATED } else { StatusCode::UNPROCESSABLE_ENTITY };
    Ok((status, Json(said)).into_response())
}

fn check_batch(count: usize) -> Result<(), Judge0Error> {
    match count {
        0 => Err(Judge0Error::bad("there should be at least one submission in a batch")),
        1..=MAX_BATCH => Ok(()),
        _ => {
            let message = format!("number of submissions in a batch should be less than or equal to {MAX_BATCH}");
            Err(Judge0Error::bad(message))
        }
    }
}

/// Shows a submission.
pub(super) async fn show(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Json<Box<RawValue>>, Judge0Error> {
    let Parameters { texts, fields, .. } = Parameters::read(request.uri())?;
    let submission = judge0.find(&caller, &token)?;
    judge0.show(submission, fields, texts, &BodyReader::of(request.extensions())?).await.map(Json)
}

/// Shows several submissions: null for each that there is not.
pub(super) async fn show_batch(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<Box<RawValue>>, Judge0Error> {
    let Parameters { texts, fields, tokens, .. } = Parameters::read(request.uri())?;
    let tokens = request.headers().get("tokens").and_then(|value| value.to_str().ok()).unwrap_or(&tokens);
    let tokens: Vec<&str> = tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).collect();
    check_batch(tokens.len())?;
    let submissions = tokens.into_iter().map(|token| judge0.find(&caller, token).ok()).collect();
    let reader = BodyReader::of(request.extensions())?;
    let whole = |submissions| json!({"submissions": Value::Array(submissions)});
    judge0.shown(submissions, fields, texts).answer(&reader, whole).await.map(Json)
}

/// Shows a page of the caller's own submissions, the newest first.
pub(super) async fn list(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<Box<RawValue>>, Judge0Error> {
    let Parameters { texts, fields, page, per_page, .. } = Parameters::read(request.uri())?;
    let number = |text: Option<String>, default: usize, least: i64, name: &str| match text {
        None => Ok(default),
        Some(text) => {
            let number: i64 = text.trim().parse().unwrap_or(0);
            usize::try_from(number)
                .ok()
                .filter(|_| number >= least)
                .ok_or_else(|| Judge0Error::bad(format!("invalid {name}: {number}")))
        }
    };
    let page = number(page, 1, 1, "page")?;
    let per_page = number(per_page, PER_PAGE, 0, "per_page")?.clamp(1, MAX_BATCH);
    let (part, total) = judge0.store.list(caller.owner(), (page - 1).saturating_mul(per_page), per_page);
    let pages = total.div_ceil(per_page).max(1);
    let meta = json!({
        "current_page": page,
        "next_page": (page < pages).then(|| page + 1),
        "prev_page": (page > 1).then(|| page - 1),
        "total_pages": pages,
        "total_count": total,
    });
    let reader = BodyReader::of(request.extensions())?;
    let whole = move |submissions| json!({"submissions": Value::Array(submissions), "meta": meta});
    judge0.shown(part.into_iter().map(Some).collect(), fields, texts).answer(&reader, whole).await.map(Json)
}

/// Deletes a submission that has ended.
pub(super) async fn delete(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Json<Box<RawValue>>, Judge0Error> {
    let Parameters { fields, .. } = Parameters::read(request.uri())?;
    let submission = judge0.find(&caller, &token)?;
    if submission.done().is_none() {
        return Err(Judge0Error::bad("submission cannot be deleted because its status is 1 (In Queue)"));
    }
    let token = submission.token.clone();
    let shown = judge0.show(submission, fields, Texts::Base64, &BodyReader::of(request.extensions())?).await?;
    judge0.store.remove(caller.owner(), &token);
    Ok(Json(shown))
}
