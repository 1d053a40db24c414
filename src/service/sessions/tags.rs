//! Checkpoints that sessions are made from by name: each name has tags, and each tag means one checkpoint, until it is
//! given to another. A checkpoint that loses its last tag is removed.

use jiff::Timestamp;

use super::checkpoint::tag_rows;
use super::error::store_failed;
use super::eviction::{self, Saving, owner_name};
use super::{CheckpointInfo, CommandAsked, SessionError, SessionManager, Setup, TaggedCheckpoint};
use proofbox_store::{MAX_LISTED, StoredCheckpoint, TagRow};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{CheckpointId, SessionId};
use proofbox_types::session::Command;

/// Number of tags that one owner may have: as many as one list of the store has.
const MAX_TAGS: usize = MAX_LISTED;

/// Tag of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointTag {
    /// Name that several tags share.
    pub name: String,
    /// Tag below the name.
    pub tag: String,
    /// Checkpoint that the tag means.
    pub checkpoint: CheckpointId,
    /// Time at which the tag was given.
    pub created: Timestamp,
}

impl SessionManager {
    /// Returns whether this service stores anything.
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// Stores the state of a session as a checkpoint with tags, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when there is no such session, its state can't be saved, or its owner has too many tags.
    pub async fn tag(&self, id: SessionId, asked: TaggedCheckpoint) -> Result<CheckpointInfo, SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter_anyway(&session).await?;
        self.put(&session, in_use.handle, Saving::Tagged { asked, most: MAX_TAGS }).await
    }

    /// Lists the tags of the caller, or those of one name, in order.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn tags(&self, caller: &Caller, name: Option<&str>) -> Result<Vec<CheckpointTag>, SessionError> {
        let listed = self.store()?.list_tags(owner_name(caller.owner()), name.map(str::to_owned)).await;
        let tag = |row: TagRow| CheckpointTag {
            name: row.name,
            tag: row.tag,
            checkpoint: row.checkpoint.into(),
            created: Timestamp::from_millisecond(row.created_at).unwrap_or(Timestamp::UNIX_EPOCH),
        };
        Ok(listed.map_err(store_failed)?.into_iter().map(tag).collect())
    }

    /// Gives a checkpoint of the caller more tags.
    ///
    /// # Errors
    /// Returns an error when there is no such checkpoint, or the caller has too many tags.
    pub async fn assign_tags(
        &self,
        caller: &Caller,
        checkpoint: CheckpointId,
        name: &str,
        tags: &[String],
    ) -> Result<(), SessionError> {
        let rows = tag_rows(&owner_name(caller.owner()), name, tags, checkpoint, Timestamp::now());
        self.store()?.put_tags(rows, MAX_TAGS).await.map_err(store_failed)
    }

    /// Takes tags of the caller away; returns how many there were.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn remove_tags(&self, caller: &Caller, name: &str, tags: Vec<String>) -> Result<usize, SessionError> {
        let removed = self.store()?.delete_tags(owner_name(caller.owner()), name.to_owned(), tags).await;
        removed.map_err(store_failed)
    }

    /// Returns the setup of sessions that are made from a checkpoint of the caller.
    ///
    /// # Errors
    /// Returns an error when there is no such checkpoint.
    pub async fn checkpoint_setup(&self, caller: &Caller, id: CheckpointId) -> Result<Setup, SessionError> {
        let found = self.store()?.find_checkpoint(id.uuid()).await.map_err(store_failed)?;
        let found = found.filter(|found| eviction::is_own(&found.row, caller));
        let StoredCheckpoint { row, .. } = found.ok_or(SessionError::NoCheckpoint)?;
        Ok(eviction::meta_of(&row)?.setup)
    }

    /// Starts the script that a session begins with. What becomes of it is the session's affair.
    pub(super) async fn start_script(&self, id: SessionId, script: String) {
        let Some(manager) = self.weak_self.upgrade() else { return };
        let command = Command { script, ..Command::default() };
        if let Err(error) = manager.start_command(id, CommandAsked { command, ..CommandAsked::default() }).await {
            tracing::info!(session = %id, %error, "the script that a session begins with could not start");
        }
    }
}
