//! Templates: the default image, other images of this service, snapshots, and what clients have built, with its tags.

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::error::{E2bError, Kind};
use super::super::{E2b, ENVD_VERSION, body, time};
use super::builds::names::{Target, parse_tags};
use super::builds::table::Status;
use super::limits::limits;
use super::list::{page_of, with_next};
use super::snapshots;
use crate::service::CheckpointTag;
use proofbox_runtime::images;
use proofbox_types::caller::Caller;
use proofbox_types::ids::CheckpointId;

/// The template that E2B's SDK asks for by itself: the default image.
const BASE: &str = "base";
/// The template that its code interpreter asks for by itself: the image for data, where it was built.
const CODE_INTERPRETER: &str = "code-interpreter-v1";

/// Origin of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    /// The default image.
    Default,
    /// Image with this hash.
    Image(String),
    /// A checkpoint, whoever made it.
    Snapshot(CheckpointId),
}

/// Returns whether a name is that of a template which no client has built.
pub(crate) fn is_reserved(e2b: &E2b, name: &str) -> bool {
    let is_image = e2b.shared.service.images.find(name).is_some();
    is_image || name == BASE || name == CODE_INTERPRETER || CheckpointId::parse(name).is_some()
}

/// Finds the template that a client names. An id of a snapshot is not looked up.
///
/// # Errors
/// Returns an error when the store fails.
pub(crate) async fn find(e2b: &E2b, caller: &Caller, name: &str) -> Result<Option<Template>, E2bError> {
    if let Some(image) = e2b.shared.service.images.find(name) {
        return Ok(Some(Template::Image(image.image_hash.clone())));
    }
    if name == CODE_INTERPRETER
        && let Some(image) = e2b.shared.service.images.find(images::DATA)
    {
        return Ok(Some(Template::Image(image.image_hash.clone())));
    }
    if name == BASE || name == CODE_INTERPRETER {
        return Ok(Some(Template::Default));
    }
    if let Some(id) = CheckpointId::parse(name) {
        return Ok(Some(Template::Snapshot(id)));
    }
    let built = match Target::parse(name) {
        Ok(target) => find_built(e2b, caller, &target).await?,
        Err(_) => None,
    };
    let found = match built {
        Some(id) => Some(id),
        None => snapshots::find_named(e2b, caller, name).await?,
    };
    Ok(found.map(Template::Snapshot))
}

/// Returns what a template was last built to, under a tag.
async fn find_built(e2b: &E2b, caller: &Caller, target: &Target) -> Result<Option<CheckpointId>, E2bError> {
    let service = &e2b.shared.service;
    if !service.sessions.has_store() {
        return Ok(None);
    }
    let tags = service.sessions.tags(caller, Some(&target.name)).await?;
    Ok(tags.into_iter().find(|tag| tag.tag == target.tag()).map(|tag| tag.checkpoint))
}

/// Returns the tags of a template that the caller has built.
async fn tags_of(e2b: &E2b, caller: &Caller, name: &str) -> Result<Vec<CheckpointTag>, E2bError> {
    let none = || E2bError::new(Kind::NotFound, format!("there is no template '{name}' that was built here"));
    let target = Target::parse(name).map_err(|_| none())?;
    let tags = e2b.shared.service.sessions.tags(caller, Some(&target.name)).await?;
    if tags.is_empty() { Err(none()) } else { Ok(tags) }
}

/// `GET /templates/aliases/{alias}` shows that a template has this name.
pub(crate) async fn alias(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(alias): Path<String>,
) -> Result<Json<Value>, E2bError> {
    match find(&e2b, &caller, &alias).await? {
        Some(Template::Default | Template::Image(_)) => return Ok(Json(json!({"templateID": alias, "public": true}))),
        Some(Template::Snapshot(id)) if CheckpointId::parse(&alias).is_none() => {
            let built = Target::parse(&alias).ok();
            let built = match &built {
                Some(target) if find_built(&e2b, &caller, target).await? == Some(id) => Some(target.name.clone()),
                _ => None,
            };
            let template = built.unwrap_or_else(|| id.simple());
            return Ok(Json(json!({"templateID": template, "public": false})));
        }
        _ => {}
    }
    // Built, but not under the tag that no name means.
    if !alias.contains(':')
        && e2b.shared.service.sessions.has_store()
        && let Ok(tags) = tags_of(&e2b, &caller, &alias).await
        && let Some(tag) = tags.first()
    {
        return Ok(Json(json!({"templateID": tag.name, "public": false})));
    }
    Err(E2bError::new(Kind::NotFound, "no template has this name"))
}

/// Renders a `Template` of the API from the tags of one.
fn template_json(e2b: &E2b, caller: &Caller, tags: &[CheckpointTag]) -> Result<Value, E2bError> {
    const MIB: u64 = 1 << 20;
    let asked = limits(e2b, caller)?;
    let last = tags.iter().max_by_key(|tag| tag.created).ok_or_else(E2bError::internal)?;
    let first = tags.iter().min_by_key(|tag| tag.checkpoint).ok_or_else(E2bError::internal)?;
    let builds: std::collections::BTreeSet<CheckpointId> = tags.iter().map(|tag| tag.checkpoint).collect();
    Ok(json!({
        "templateID": last.name, "buildID": last.checkpoint, "public": false,
        "names": [last.name], "aliases": [last.name],
        "createdAt": time(first.created), "updatedAt": time(last.created), "createdBy": null,
        "lastSpawnedAt": null, "spawnCount": 0, "buildCount": builds.len(), "buildStatus": Status::Ready.word(),
        "cpuCount": 1, "memoryMB": asked.memory_bytes.unwrap_or(0) / MIB,
        "diskSizeMB": asked.files_bytes.unwrap_or(0) / MIB, "envdVersion": ENVD_VERSION,
    }))
}

/// `GET /v2/templates`, and the older `GET /templates`, list what the caller has built, by name.
pub(crate) async fn list(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, E2bError> {
    let tags = e2b.shared.service.sessions.tags(&caller, None).await?;
    let templates: Vec<&[CheckpointTag]> = tags.chunk_by(|one, other| one.name == other.name).collect();
    let (page, next) = page_of(&uri, &templates, |tags| tags[0].name.clone())?;
    let page: Result<Vec<Value>, E2bError> = page.iter().map(|tags| template_json(&e2b, &caller, tags)).collect();
    Ok(with_next(Json(page?).into_response(), next))
}

/// `GET /templates/{id}` shows a template with its builds.
pub(crate) async fn show(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Value>, E2bError> {
    let remembered = e2b.state.builds.of_template(caller.owner(), &name);
    let tags = match tags_of(&e2b, &caller, &name).await {
        Ok(tags) => tags,
        Err(_) if !remembered.is_empty() => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut builds: std::collections::BTreeMap<CheckpointId, Value> = std::collections::BTreeMap::new();
    let build = |id: CheckpointId, status: Status, created, updated| {
        json!({"buildID": id, "status": status.word(), "createdAt": time(created), "updatedAt": time(updated),
               "cpuCount": 1, "memoryMB": 0, "envdVersion": ENVD_VERSION})
    };
    for tag in &tags {
        builds.insert(tag.checkpoint, build(tag.checkpoint, Status::Ready, tag.created, tag.created));
    }
    for known in &remembered {
        let (status, updated) = known.status();
        // One that was ready and has lost its tags is not there any more.
        if status != Status::Ready || builds.contains_key(&known.id) {
            builds.insert(known.id, build(known.id, status, known.created, updated));
        }
    }
    let first = builds.values().next().ok_or_else(|| E2bError::new(Kind::NotFound, "there is no such template"))?;
    let last = builds.values().next_back().unwrap_or(first);
    Ok(Json(json!({
        "templateID": name, "public": false, "names": [name], "aliases": [name],
        "createdAt": first["createdAt"], "updatedAt": last["updatedAt"], "lastSpawnedAt": null, "spawnCount": 0,
        "builds": builds.values().rev().collect::<Vec<_>>(),
    })))
}

#[derive(Deserialize)]
struct Update {
    #[serde(default)]
    public: Option<bool>,
}

/// `PATCH /v2/templates/{id}`, and the older path, take the only thing that can be changed: that nobody else has it.
pub(crate) async fn update(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Value>, E2bError> {
    let Update { public } = body::json(request).await?;
    let tags = tags_of(&e2b, &caller, &name).await?;
    if public == Some(true) {
        return Err(E2bError::new(Kind::Bad, "templates belong to the key that has built them: none can be public"));
    }
    Ok(Json(json!({"names": [tags[0].name]})))
}

/// `DELETE /templates/{id}` removes a template with all its tags, or a snapshot.
pub(crate) async fn remove(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<StatusCode, E2bError> {
    let tags = match Target::parse(&name) {
        Ok(Target { name, tag: None }) if CheckpointId::parse(&name).is_none() => {
            e2b.shared.service.sessions.tags(&caller, Some(&name)).await?
        }
        _ => Vec::new(),
    };
    if let Some(first) = tags.first() {
        let name = first.name.clone();
        e2b.shared.service.sessions.remove_tags(&caller, &name, tags.into_iter().map(|tag| tag.tag).collect()).await?;
        return Ok(StatusCode::NO_CONTENT);
    }
    snapshots::remove(&e2b, &caller, &name).await
}

#[derive(Deserialize)]
struct Assignment {
    target: String,
    tags: Vec<String>,
}

/// `POST /templates/tags` gives what a tag means more tags.
pub(crate) async fn assign_tags(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let Assignment { target, tags } = body::json(request).await?;
    let target = Target::parse(&target)?;
    let tags = parse_tags(tags.iter().map(String::as_str))?;
    if tags.is_empty() {
        return Err(E2bError::new(Kind::Bad, "tags are missing"));
    }
    let none = || E2bError::new(Kind::NotFound, format!("there is no template '{}:{}'", target.name, target.tag()));
    let id = find_built(&e2b, &caller, &target).await?.ok_or_else(none)?;
    e2b.shared.service.sessions.assign_tags(&caller, id, &target.name, &tags).await?;
    Ok((StatusCode::CREATED, Json(json!({"buildID": id, "tags": tags}))))
}

#[derive(Deserialize)]
struct Removal {
    name: String,
    tags: Vec<String>,
}

/// `DELETE /templates/tags` takes tags away. What has none left is removed.
pub(crate) async fn remove_tags(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let Removal { name, tags } = body::json(request).await?;
    let Target { name, .. } = Target::parse(&name)?;
    let tags = parse_tags(tags.iter().map(String::as_str))?;
    if e2b.shared.service.sessions.remove_tags(&caller, &name, tags).await? == 0 {
        return Err(E2bError::new(Kind::NotFound, format!("the template '{name}' has none of these tags")));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /templates/{id}/tags` lists the tags of a template.
pub(crate) async fn tags(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<Value>>, E2bError> {
    let tags = tags_of(&e2b, &caller, &name).await?;
    let tag = |tag: &CheckpointTag| json!({"tag": tag.tag, "buildID": tag.checkpoint, "createdAt": time(tag.created)});
    Ok(Json(tags.iter().map(tag).collect()))
}
