//! Making, showing and deleting submissions.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::form_urlencoded;

use super::Judge0;
use super::about;
use super::error::Judge0Error;
use super::record::{Done, Fields, Texts, View};
use super::request::{Asked, Ranges};
use super::store::Submission;
use crate::http::programs::{self, Failure, Run, answer_with, part, read};
use crate::service::RequestDigest;
use proofbox_types::caller::Caller;

/// Maximum number of submissions in a batch.
pub const MAX_BATCH: usize = 20;
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

impl Judge0 {
    fn render(&self, submission: &Submission, fields: &Fields, texts: Texts) -> Result<Value, Judge0Error> {
        let done = submission.done();
        let view = View {
            token: &submission.token,
            asked: &submission.asked,
            created: submission.created,
            done: done.as_deref(),
            language: &about::name(self),
        };
        view.render(fields, texts)
    }

    /// Starts a submission.
    fn start(
        &self,
        caller: &Caller,
        fields: &Map<String, Value>,
        texts: Texts,
        (request, arrived): (RequestDigest, Instant),
    ) -> Result<std::sync::Arc<Submission>, Judge0Error> {
        let ranges = Ranges::of(&self.shared, caller);
        let asked = Asked::read(fields, texts == Texts::Base64, &ranges)?;
        let (shared, caller) = (self.shared.clone(), caller.clone());
        self.store.add(caller.owner(), asked, ranges.output, |submission| async move {
            let asked = &submission.asked;
            let run = Run { program: asked.program(), tests: None, limits: asked.limits(), request, arrived };
            match run.execute(&shared, &caller).await {
                Ok(execution) => Done::of(asked, &execution),
                Err(error) => Done::failed(&Failure::from(error)),
            }
        })
    }

    fn find(&self, caller: &Caller, token: &str) -> Result<std::sync::Arc<Submission>, Judge0Error> {
        self.store.find(caller.owner(), token).ok_or_else(Judge0Error::not_found)
    }
}

/// Makes a submission.
pub async fn create(State(judge0): State<Judge0>, Extension(caller): Extension<Caller>, request: Request) -> Response {
    let work = async move {
        let Parameters { texts, is_waiting, fields, .. } = Parameters::read(request.uri())?;
        let programs::Asked { body, digest, arrived } = read::<Map<String, Value>>(request).await?;
        let submission = judge0.start(&caller, &body, texts, (digest, arrived))?;
        if !is_waiting {
            return Ok(json!({"token": submission.token}));
        }
        submission.wait().await;
        Ok(judge0.render(&submission, &fields, texts).unwrap_or_else(|error| {
            let mut said = error.into_body();
            said["token"] = json!(submission.token);
            said
        }))
    };
    answer_with(StatusCode::CREATED, work, Judge0Error::into_body).await
}

/// Makes several submissions.
pub async fn create_batch(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Judge0Error> {
    let Parameters { texts, .. } = Parameters::read(request.uri())?;
    let programs::Asked { body: Batch { submissions }, digest, arrived } = read(request).await?;
    check_batch(submissions.len())?;
    let mut is_any_right = false;
    let mut said = Vec::new();
    for (index, fields) in submissions.iter().enumerate() {
        match judge0.start(&caller, fields, texts, (part(digest, index), arrived)) {
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
pub async fn show(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Judge0Error> {
    let Parameters { texts, fields, .. } = Parameters::read(&uri)?;
    let submission = judge0.find(&caller, &token)?;
    Ok(Json(judge0.render(&submission, &fields, texts)?))
}

/// Shows several submissions: null for each that there is not.
pub async fn show_batch(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, Judge0Error> {
    let Parameters { texts, fields, tokens, .. } = Parameters::read(&uri)?;
    let tokens = headers.get("tokens").and_then(|value| value.to_str().ok()).unwrap_or(&tokens);
    let tokens: Vec<&str> = tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).collect();
    check_batch(tokens.len())?;
    let shown = tokens.into_iter().map(|token| match judge0.find(&caller, token) {
        Ok(submission) => judge0.render(&submission, &fields, texts),
        Err(_) => Ok(Value::Null),
    });
    Ok(Json(json!({"submissions": shown.collect::<Result<Vec<_>, _>>()?})))
}

/// Shows a page of the caller's own submissions, the newest first.
pub async fn list(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<Value>, Judge0Error> {
    let Parameters { texts, fields, page, per_page, .. } = Parameters::read(&uri)?;
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
    let shown = part.iter().map(|submission| judge0.render(submission, &fields, texts));
    let pages = total.div_ceil(per_page).max(1);
    Ok(Json(json!({
        "submissions": shown.collect::<Result<Vec<_>, _>>()?,
        "meta": {
            "current_page": page,
            "next_page": (page < pages).then_some(page + 1),
            "prev_page": (page > 1).then(|| page - 1),
            "total_pages": pages,
            "total_count": total,
        },
    })))
}

/// Deletes a submission that has ended.
pub async fn delete(
    State(judge0): State<Judge0>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
    uri: Uri,
) -> Result<Json<Value>, Judge0Error> {
    let Parameters { fields, .. } = Parameters::read(&uri)?;
    let submission = judge0.find(&caller, &token)?;
    if submission.done().is_none() {
        return Err(Judge0Error::bad("submission cannot be deleted because its status is 1 (In Queue)"));
    }
    judge0.store.remove(caller.owner(), &submission.token);
    Ok(Json(judge0.render(&submission, &fields, Texts::Base64)?))
}
