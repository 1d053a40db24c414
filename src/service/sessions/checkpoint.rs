//! Checkpoints: what is asked for, what they give the sessions that are made from them, and what is shown of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use proofbox_store::TagRow;
use proofbox_types::ids::{CheckpointId, SessionId};
use proofbox_types::user::User;

/// A checkpoint as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Id of the checkpoint.
    pub id: CheckpointId,
    /// The session that it was made of.
    pub session: Option<SessionId>,
    /// Name that the client gave.
    pub name: Option<String>,
    /// Time at which the checkpoint was made.
    pub created: Timestamp,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// The image that it belongs to.
    pub image_hash: String,
}

/// State that a pause saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedState {
    /// Interpreters and files.
    Whole,
    /// Files: every context gets a fresh interpreter.
    Files,
}

/// Defaults of commands of a session that name nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandDefaults {
    /// Absolute path of the working directory; none for the home directory of the user.
    pub cwd: Option<String>,
    /// User that runs them.
    pub user: User,
}

/// Settings that a checkpoint gives the sessions made from it, beside its state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Variables that are added to the environment.
    pub env: Vec<(String, String)>,
    /// Defaults of their commands.
    pub commands: CommandDefaults,
    /// Script that is started in the background as soon as the session is there.
    pub start: Option<String>,
}

/// Request for a checkpoint with tags.
#[derive(Clone, Debug)]
pub struct TaggedCheckpoint {
    /// Id that the checkpoint gets.
    pub id: CheckpointId,
    /// Name that its tags share.
    pub name: String,
    /// Tags, at least one.
    pub tags: Vec<String>,
    /// Setup of sessions that are made from it.
    pub setup: Setup,
}

impl TaggedCheckpoint {
    /// Returns the rows of its tags.
    pub(super) fn rows(&self, owner: &str, created: Timestamp) -> Vec<TagRow> {
        tag_rows(owner, &self.name, &self.tags, self.id, created)
    }
}

/// Returns the rows of tags.
pub(super) fn tag_rows(
    owner: &str,
    name: &str,
    tags: &[String],
    checkpoint: CheckpointId,
    created: Timestamp,
) -> Vec<TagRow> {
    let row = |tag: &String| TagRow {
        owner: owner.to_owned(),
        name: name.to_owned(),
        tag: tag.clone(),
        checkpoint: checkpoint.uuid(),
        created_at: created.as_millisecond(),
    };
    tags.iter().map(row).collect()
}
