//! Volumes that sessions have mounted: their trees go into the session at its start, and back to the store whenever the
//! session leaves its worker. Meanwhile the session's files are the content of the volume.

use std::sync::Arc;
use std::time::Duration;

use super::{LogEvent, Session, SessionAsked, SessionError, SessionManager, VolumeError};
use crate::sandbox::{RequestError, SessionCallError, SessionHandle};
use crate::service::volumes::{
    Mount, MountClaim, VOLUME_BOUNDS, VolumeAnswer, VolumeAsk, VolumeInfo, VolumePath, VolumeStat,
};
use proofbox_policy::{Pack, Refusal};
use proofbox_store::{VolumeAttributes, VolumeChange, VolumeConflict};
use proofbox_types::ids::SessionId;
use proofbox_types::program::File;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk, FileTrouble, Footprint, TreeNode};
use proofbox_types::user::User;

/// Times that an operation is tried on a volume which is about to be mounted or brought back, and the time between.
const TRIES: usize = 100;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Present place of a volume's content.
enum Content {
    /// Files of the session that has mounted the volume.
    Live(SessionId, Mount),
    /// Store, where clients may change it.
    Stored,
    /// Store, while the session that has mounted the volume is paused: nobody writes.
    Frozen(SessionId),
    /// Nowhere for now: the session that mounts the volume begins or ends.
    Moving(SessionId),
}

impl SessionManager {
    /// Claims the volumes that a session is to mount.
    ///
    /// # Errors
    /// Returns an error when one can't be mounted, or the policy lets no files out.
    pub(super) async fn claim_mounts(
        &self,
        session: &mut Session,
        asked: &SessionAsked,
        pack: &Pack,
    ) -> Result<MountClaim<'_>, SessionError> {
        if !asked.mounts.is_empty() && !pack.files.fetch {
            let message = "the policy lets no files out, and so mounts no volumes".to_owned();
            return Err(Refusal::File { field: "volumeMounts", message }.into());
        }
        let (mounts, claim) = self.volumes.claim(&asked.caller, session.id, &asked.mounts).await?;
        Arc::make_mut(&mut session.spec).mounts = mounts;
        Ok(claim)
    }

    /// Copies the volumes that a session has mounted into it, and returns what it takes then; none where it has mounted
    /// none.
    ///
    /// # Errors
    /// Returns an error when one can't be copied; then the session is closed.
    pub(super) async fn fill_mounts(
        &self,
        session: &Session,
        handle: SessionHandle,
        pack: &Pack,
    ) -> Result<Option<Footprint>, SessionError> {
        if session.spec.mounts.is_empty() {
            return Ok(None);
        }
        let filled = async {
            for mount in &session.spec.mounts {
                let _turn = self.volumes.copy_turn().await?;
                let entries = self.volumes.tree(mount.volume).await?;
                let is_let_in = |path: &str| {
                    let path = format!("{}/{path}", mount.path);
                    pack.files.upload.is_match(path.trim_start_matches('/'))
                };
                let files = entries.iter().filter(|entry| matches!(entry.node, TreeNode::File(_)));
                if let Some(file) = files.into_iter().find(|file| !is_let_in(&file.path)) {
                    let path: String = file.path.chars().take(100).collect();
                    let message = format!("the policy lets no file `{path}` in, which the volume has");
                    return Err(Refusal::File { field: "volumeMounts", message }.into());
                }
                self.sandbox.files(handle, FileAsk::ImportTree { path: mount.path.clone(), entries }).await?;
            }
            Ok(self.sandbox.footprint(handle).await?)
        };
        match filled.await {
            Ok(footprint) => Ok(Some(footprint)),
            Err(error) => {
                let _ = self.sandbox.close(handle).await;
                Err(error)
            }
        }
    }

    /// Brings the volumes that a session has mounted back to the store. One whose directory is gone stays as it was.
    ///
    /// # Errors
    /// Returns an error when one can't be stored; those before it are.
    pub(super) async fn write_back(&self, session: &Session, handle: SessionHandle) -> Result<(), SessionError> {
        for mount in &session.spec.mounts {
            self.write_back_one(session, mount, handle).await?;
        }
        Ok(())
    }

    async fn write_back_one(
        &self,
        session: &Session,
        mount: &Mount,
        handle: SessionHandle,
    ) -> Result<(), SessionError> {
        if self.volumes.mounted_by(mount.volume) != Some(session.id) {
            // Another session has it by now: a volume has one writer.
            return Ok(());
        }
        let _turn = self.volumes.copy_turn().await?;
        let ask = FileAsk::ExportTree {
            path: mount.path.clone(),
            most_bytes: VOLUME_BOUNDS.bytes,
            most_entries: VOLUME_BOUNDS.entries,
        };
        let tree = match self.sandbox.files(handle, ask).await {
            Ok(FileAnswer::Tree(tree)) => tree,
            Ok(_) => return Err(VolumeError::Malformed.into()),
            Err(SessionCallError::Refused(RequestError::File(refused))) => {
                if refused.trouble == FileTrouble::NoSpace {
                    let (allowed_bytes, allowed_entries) = (VOLUME_BOUNDS.bytes, VOLUME_BOUNDS.entries);
                    return Err(VolumeError::Full { allowed_bytes, allowed_entries }.into());
                }
                // Gone, or behind links of the guest's: that holds no session in its worker.
                let (session_id, volume) = (session.id, mount.volume);
                tracing::warn!(session = %session_id, %volume, "the directory of a volume is gone: the volume stays as it was");
                self.table.logs.note(session.spec.owner, session_id, LogEvent::VolumeLost { volume });
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let displaced = self.volumes.replace(mount.volume, tree, self.keys.disk_bytes(session.spec.owner)).await?;
        self.end_displaced(displaced.sessions);
        Ok(())
    }

    /// Brings the volumes of a session that ends back to the store. What there is no room for is lost, and the volume
    /// stays as it was.
    pub(super) async fn write_back_at_end(&self, session: &Session, handle: SessionHandle) {
        for mount in &session.spec.mounts {
            if let Err(error) = self.write_back_one(session, mount, handle).await {
                tracing::warn!(session = %session.id, %error, "a volume could not be brought back, and stays as it was");
                let event = LogEvent::VolumeLost { volume: mount.volume };
                self.table.logs.note(session.spec.owner, session.id, event);
            }
        }
    }

    /// Carries out an operation on the content of a volume: on the files of the session that has mounted it, else on
    /// those in the store. While that session is paused, the content can only be read.
    ///
    /// # Errors
    /// Returns an error for a missing volume or entry, want of room, and a change while nobody can make it.
    pub async fn volume_content(
        &self,
        volume: &VolumeInfo,
        path: &VolumePath,
        ask: VolumeAsk,
    ) -> Result<VolumeAnswer, SessionError> {
        for _ in 0..TRIES {
            match self.locate_content(volume, &ask) {
                Content::Live(session, mount) => match self.live_content(session, &mount, path, &ask).await {
                    // It ends, or is paused, this moment.
                    Err(SessionError::NotFound | SessionError::Lost | SessionError::Paused) => {}
                    other => return other,
                },
                Content::Frozen(session) if ask.is_change() => return Err(VolumeError::InUse { session }.into()),
                Content::Frozen(_) => return Ok(self.volumes.look(volume, path, &ask).await?),
                Content::Stored => {
                    let owner_bytes = self.keys.disk_bytes(volume.owner);
                    if let Some((answer, displaced)) = self.volumes.carry_out(volume, path, &ask, owner_bytes).await? {
                        self.end_displaced(displaced.sessions);
                        return Ok(answer);
                    }
                }
                Content::Moving(_) => {}
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
        match self.locate_content(volume, &ask) {
            Content::Live(session, _) | Content::Frozen(session) | Content::Moving(session) => {
                Err(VolumeError::InUse { session }.into())
            }
            Content::Stored => Err(VolumeError::Store.into()),
        }
    }

    fn locate_content(&self, volume: &VolumeInfo, ask: &VolumeAsk) -> Content {
        let is_change = ask.is_change();
        let Some(id) = self.volumes.mounted_by(volume.id) else { return Content::Stored };
        let Some(session) = self.table.all().get(&id).cloned() else { return Content::Moving(id) };
        // One that a call resumes is resumed by a change, and not by a look.
        let is_paused = session.times().paused && !(session.spec.auto_resume && is_change);
        let is_stored = session.residency.try_read().is_ok_and(|residency| residency.checkpoint().is_some());
        match session.spec.mounts.iter().find(|mount| mount.volume == volume.id) {
            Some(_) if is_paused && (is_stored || is_change) => Content::Frozen(id),
            // It is paused, and not on disk yet: the store has what was before.
            Some(_) if is_paused => Content::Moving(id),
            Some(mount) => Content::Live(id, mount.clone()),
            None => Content::Moving(id),
        }
    }

    async fn live_content(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
        ask: &VolumeAsk,
    ) -> Result<VolumeAnswer, SessionError> {
        let at = path.below(&mount.path);
        match ask {
            VolumeAsk::Stat => self.live_stat(session, mount, path).await.map(VolumeAnswer::Entry),
            VolumeAsk::List { depth } => {
                match self.live_files(session, mount, path, FileAsk::List { path: at, depth: *depth }).await? {
                    FileAnswer::Entries(entries) => {
                        Ok(VolumeAnswer::Entries(entries.into_iter().map(|entry| stat_of(mount, entry)).collect()))
                    }
                    _ => Err(strange()),
                }
            }
            VolumeAsk::Read { offset, length } => {
                let ask = FileAsk::Read { path: at, offset: *offset, length: *length };
                match self.live_files(session, mount, path, ask).await? {
                    FileAnswer::Bytes(part) => Ok(VolumeAnswer::Bytes(part.bytes.into(), part.whole)),
                    _ => Err(strange()),
                }
            }
            VolumeAsk::Change(VolumeChange::Write { content, attributes, conflict }) => {
                let there = self.live_kind(session, mount, path).await?;
                match there {
                    Some(EntryKind::Directory) => return Err(trouble(path, FileTrouble::IsADirectory)),
                    Some(_) if *conflict == VolumeConflict::Refuse => return Err(trouble(path, FileTrouble::Exists)),
                    Some(_) | None => {}
                }
                self.check_live_parent(session, mount, path).await?;
                let file = File { path: at, content: content.to_vec() };
                self.live_files(session, mount, path, FileAsk::Write(file)).await?;
                self.live_attributes(session, mount, path, *attributes).await
            }
            VolumeAsk::Change(VolumeChange::MakeDirectory { attributes, conflict }) => {
                match (self.live_kind(session, mount, path).await?, conflict) {
                    (Some(EntryKind::Directory), VolumeConflict::Resolve) => {
                        return self.live_stat(session, mount, path).await.map(VolumeAnswer::Entry);
                    }
                    (Some(_), _) => return Err(trouble(path, FileTrouble::Exists)),
                    (None, VolumeConflict::Refuse) => self.check_live_parent(session, mount, path).await?,
                    (None, VolumeConflict::Resolve) => {}
                }
                self.live_files(session, mount, path, FileAsk::MakeDirectory { path: at }).await?;
                self.live_attributes(session, mount, path, *attributes).await
            }
            VolumeAsk::Change(VolumeChange::SetAttributes(attributes)) => {
                self.live_attributes(session, mount, path, *attributes).await
            }
            VolumeAsk::Change(VolumeChange::Remove) => {
                if path.is_top() {
                    return Err(trouble(path, FileTrouble::NotFound));
                }
                self.live_files(session, mount, path, FileAsk::Remove { path: at, recursive: true }).await?;
                Ok(VolumeAnswer::Removed)
            }
        }
    }

    /// Performs an operation at a path of a volume on the files of the session that has mounted it. No link leads out of
    /// it. What is refused is refused as in the store.
    async fn live_files(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
        ask: FileAsk,
    ) -> Result<FileAnswer, SessionError> {
        let directory = mount.path.clone();
        let answer = self.files(session, FileAsk::Within { directory, ask: Box::new(ask) }).await;
        answer.map_err(|error| match error {
            SessionError::Refused(RequestError::File(refused)) => trouble(path, refused.trouble),
            other => other,
        })
    }

    async fn live_stat(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
    ) -> Result<VolumeStat, SessionError> {
        match self.live_files(session, mount, path, FileAsk::Stat { path: path.below(&mount.path) }).await? {
            FileAnswer::Entry(entry, _) => Ok(stat_of(mount, entry)),
            _ => Err(strange()),
        }
    }

    /// Returns the type of what is at a path; none where nothing is.
    async fn live_kind(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
    ) -> Result<Option<EntryKind>, SessionError> {
        match self.live_stat(session, mount, path).await {
            Ok(stat) => Ok(Some(stat.kind)),
            Err(SessionError::Volume(VolumeError::Path { trouble: FileTrouble::NotFound, .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn check_live_parent(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
    ) -> Result<(), SessionError> {
        let Some(parent) = path.parent() else { return Ok(()) };
        match self.live_kind(session, mount, &parent).await? {
            Some(EntryKind::Directory | EntryKind::Link) => Ok(()),
            Some(_) => Err(trouble(&parent, FileTrouble::NotADirectory)),
            None => Err(trouble(&parent, FileTrouble::NotFound)),
        }
    }

    async fn live_attributes(
        &self,
        session: SessionId,
        mount: &Mount,
        path: &VolumePath,
        VolumeAttributes { mode, uid, gid: _ }: VolumeAttributes,
    ) -> Result<VolumeAnswer, SessionError> {
        if mode.is_some() || uid.is_some() {
            let owner = uid.map(|uid| if uid == User::Root.id() { User::Root } else { User::User });
            let ask = FileAsk::SetAttributes { path: path.below(&mount.path), mode, owner };
            self.live_files(session, mount, path, ask).await?;
        }
        self.live_stat(session, mount, path).await.map(VolumeAnswer::Entry)
    }
}

fn strange() -> SessionError {
    SessionError::Failed("it answered what it was not asked".to_owned())
}

fn trouble(path: &VolumePath, trouble: FileTrouble) -> SessionError {
    VolumeError::at(&path.to_string(), trouble).into()
}

/// Converts an entry of a session to one of the volume that it has mounted.
fn stat_of(mount: &Mount, entry: Entry) -> VolumeStat {
    let Entry { path, kind, size, modified, mode, owner, link_target, .. } = entry;
    let relative = path.strip_prefix(&mount.path).unwrap_or_default().trim_start_matches('/');
    let modified = i64::try_from(modified).unwrap_or(i64::MAX);
    VolumeStat {
        path: format!("/{relative}"),
        kind,
        size: if kind == EntryKind::Directory { 0 } else { size },
        mode,
        uid: owner.id(),
        gid: owner.id(),
        modified,
        changed: modified,
        target: link_target,
    }
}
