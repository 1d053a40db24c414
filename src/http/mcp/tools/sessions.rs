//! `open_session`, `fork_session`, `checkpoint_session` and `close_session`.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, files_of};
use crate::http::mcp::call::{Call, Doing, ToolError};
use crate::service::{SessionAsked, SessionInfo};
use proofbox_types::ids::CheckpointId;

/// Longest name of a checkpoint, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Arguments of `open_session`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct OpenArguments {
    /// Text files to begin with, by path relative to /home/user.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Image with the packages: `default` has NumPy; `data`, where it is installed, pandas, Matplotlib and Pillow too.
    image: Option<String>,
    /// Name of the service's policy.
    policy: Option<String>,
    /// Lifetime in seconds; 3600 if absent.
    ttl_seconds: Option<f64>,
    /// Id from checkpoint_session: the session continues from there, with its files.
    from_checkpoint: Option<String>,
}

/// A session.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct SessionResult {
    /// Id for the other tools.
    session: String,
    /// Image that it runs in.
    image: String,
    python: String,
    policy: String,
    /// Time at which it ends by itself.
    expires_at: String,
}

/// Arguments of `fork_session`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct ForkArguments {
    /// Id of the session to copy.
    session: String,
    /// Number of copies; 1 if absent.
    count: Option<usize>,
}

/// Result of `fork_session`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ForkResult {
    sessions: Vec<SessionResult>,
}

/// Arguments of `checkpoint_session`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointArguments {
    /// Id of the session to save.
    session: String,
    /// Name for people.
    name: Option<String>,
}

/// Result of `checkpoint_session`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CheckpointResult {
    /// Id for open_session.
    checkpoint: String,
    /// Size on disk, in bytes.
    bytes: u64,
}

/// Arguments of `close_session`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct CloseArguments {
    /// Id of the session to end.
    session: String,
}

/// Result of `close_session`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CloseResult {
    closed: bool,
}

fn session_of(call: &Call, info: &SessionInfo) -> SessionResult {
    SessionResult {
        session: info.id.to_string(),
        image: call.service.images.name_of(&info.spec.image).to_owned(),
        python: info.spec.image.python.clone(),
        policy: info.spec.policy.clone(),
        expires_at: info.expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    }
}

/// Opens a session.
pub(super) async fn open(call: &Call, arguments: OpenArguments) -> Result<Answer, ToolError> {
    let OpenArguments { files, image, policy, ttl_seconds, from_checkpoint } = arguments;
    let from_checkpoint = from_checkpoint
        .map(|id| CheckpointId::parse(&id).ok_or_else(|| ToolError::new("`from_checkpoint` is no id of a checkpoint")));
    let ttl = ttl_seconds.map(|seconds| {
        let ttl = Duration::try_from_secs_f64(seconds).ok().filter(|ttl| !ttl.is_zero());
        ttl.ok_or_else(|| ToolError::new("`ttl_seconds` must be a number of seconds above 0"))
    });
    let files = files_of(files)?;
    if from_checkpoint.is_some() && !files.is_empty() {
        return Err(ToolError::new("a checkpoint has its own files: write others with write_file afterwards"));
    }
    let asked = SessionAsked {
        caller: call.caller.clone(),
        policy,
        image,
        files,
        ttl: ttl.transpose()?,
        from_checkpoint: from_checkpoint.transpose()?,
        ..SessionAsked::default()
    };
    // A call that is cancelled meanwhile leaves no session behind.
    let session = call.run(call.service.sessions.open_owned(asked), &Doing::new("opening")).await?;
    let info = call.service.sessions.info(session.id())?;
    session.release();
    Answer::new(session_of(call, &info))
}

/// Copies a session.
pub(super) async fn fork(call: &Call, arguments: ForkArguments) -> Result<Answer, ToolError> {
    let id = call.session(&arguments.session)?;
    let count = arguments.count.unwrap_or(1);
    let forks = call.run(call.service.sessions.fork(id, count, None), &Doing::new("forking")).await?;
    Answer::new(ForkResult { sessions: forks.iter().map(|info| session_of(call, info)).collect() })
}

/// Saves a session.
pub(super) async fn checkpoint(call: &Call, arguments: CheckpointArguments) -> Result<Answer, ToolError> {
    let id = call.session(&arguments.session)?;
    if arguments.name.as_ref().is_some_and(|name| name.len() > MAX_NAME_BYTES) {
        return Err(ToolError::new(format!("`name` may have {MAX_NAME_BYTES} bytes")));
    }
    let saved = call.run(call.service.sessions.checkpoint(id, arguments.name), &Doing::new("saving")).await?;
    Answer::new(CheckpointResult { checkpoint: saved.id.to_string(), bytes: saved.bytes })
}

/// Ends a session.
pub(super) async fn close(call: &Call, arguments: CloseArguments) -> Result<Answer, ToolError> {
    let id = call.session(&arguments.session)?;
    call.run(call.service.sessions.end(id), &Doing::new("closing")).await?;
    Answer::new(CloseResult { closed: true })
}
