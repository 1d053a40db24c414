//! Volumes: trees of files in the store that outlive the sessions that mount them.
//!
//! - here: volumes of an owner, and who has mounted them;
//! - `content`: entries of a volume that no session has mounted;
//! - `error`: errors that clients see;
//! - `path`: paths in a volume.
//!
//! A volume has one writer: the session that has mounted it, or, where there is none, clients by way of the store.
//! Sessions take its tree with them and bring it back: see `sessions::mounts`.

mod content;
mod error;
mod path;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{RwLock, RwLockReadGuard, Semaphore, SemaphorePermit};

use super::sessions::{owner_name, token};
pub use content::{VolumeAnswer, VolumeAsk, VolumeStat};
pub use error::VolumeError;
pub use path::VolumePath;
use proofbox_store::{Displaced, Quota, Store, StoredVolume, VolumeBounds, VolumeRow};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, SessionId, VolumeId};
use proofbox_types::session::{TreeEntry, TreeNode};
use proofbox_types::token::Token;

/// Bounds on the volumes of one owner. A volume fits into the files of a session.
pub(super) const VOLUME_BOUNDS: VolumeBounds = VolumeBounds { volumes: 100, entries: 32_768, bytes: 256 << 20 };
/// Volumes that one session mounts.
pub(super) const MAX_MOUNTS: usize = 8;
/// Length of a volume's name, in bytes.
const MAX_NAME: usize = 128;
/// Trees that are copied at once: each is in memory as a whole.
const MAX_COPIES: usize = 2;

/// Volume as its owner sees it.
#[derive(Clone, Debug)]
pub struct VolumeInfo {
    /// Id of the volume.
    pub id: VolumeId,
    /// Key that owns the volume.
    pub owner: Option<KeyId>,
    /// Name of the volume, unique among those of its owner.
    pub name: String,
    /// Secret that gives access to its content.
    pub token: Token,
    /// Time at which the volume was made.
    pub created: Timestamp,
}

/// Request to mount a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountAsked {
    /// Name of the volume.
    pub volume: String,
    /// Absolute path of the directory in the session.
    pub path: String,
}

/// Volume that a session has mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Id of the volume.
    pub volume: VolumeId,
    /// Name that the volume had when it was mounted.
    pub name: String,
    /// Absolute path of the directory in the session, without `.` and `..`.
    pub path: String,
}

/// Volumes of a service, with the sessions that have mounted them.
pub struct VolumeManager {
    store: Option<Arc<Store>>,
    /// Size that everything beside jobs may have in the store, in bytes.
    store_bytes: u64,
    mounted: Mutex<HashMap<VolumeId, SessionId>>,
    /// Gate between changes by way of the store, which read-lock it, and mounts, which write-lock it.
    gate: RwLock<()>,
    copies: Semaphore,
}

/// Claim of a session on the volumes that it is about to mount: let go of on drop, unless it is kept.
pub(super) struct MountClaim<'a> {
    manager: &'a VolumeManager,
    session: SessionId,
    is_kept: bool,
}

impl MountClaim<'_> {
    /// Leaves the volumes with the session.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for MountClaim<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.manager.release(self.session);
        }
    }
}

impl VolumeManager {
    /// Creates the manager of the volumes in a store that may hold so many bytes.
    pub(super) fn new(store: Option<Arc<Store>>, store_bytes: u64) -> Self {
        Self {
            store,
            store_bytes,
            mounted: Mutex::default(),
            gate: RwLock::default(),
            copies: Semaphore::new(MAX_COPIES),
        }
    }

    fn store(&self) -> Result<&Store, VolumeError> {
        self.store.as_deref().ok_or(VolumeError::NoStore)
    }

    fn mounted(&self) -> MutexGuard<'_, HashMap<VolumeId, SessionId>> {
        self.mounted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn quota(&self, owner_bytes: Option<u64>) -> Quota {
        Quota { total_bytes: self.store_bytes, owner_bytes }
    }

    /// Makes an empty volume of the caller.
    ///
    /// # Errors
    /// Returns an error for a name that can't be or that another volume has, or too many volumes.
    pub async fn create(&self, caller: &Caller, name: &str) -> Result<VolumeInfo, VolumeError> {
        check_name(name)?;
        let row = VolumeRow {
            id: VolumeId::generate().uuid(),
            owner: owner_name(caller.owner()),
            name: name.to_owned(),
            token: token().map_err(|_| VolumeError::NoRandomness)?.to_string(),
            created_at: Timestamp::now().as_millisecond(),
        };
        self.store()?.put_volume(row.clone(), VOLUME_BOUNDS.volumes).await?;
        Ok(info_of(row))
    }

    /// Lists the volumes of the caller, by name.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<VolumeInfo>, VolumeError> {
        let found = self.store()?.list_volumes(owner_name(caller.owner()), None).await?;
        Ok(found.into_iter().map(|volume| info_of(volume.row)).collect())
    }

    /// Finds a volume, whoever owns it.
    ///
    /// # Errors
    /// Returns an error when there is no such volume.
    pub async fn find(&self, id: VolumeId) -> Result<VolumeInfo, VolumeError> {
        let found = self.store()?.find_volume(id.uuid()).await?;
        found.map(|volume| info_of(volume.row)).ok_or(VolumeError::NotFound)
    }

    /// Finds a volume of the caller.
    ///
    /// # Errors
    /// Returns an error when the caller has no such volume.
    pub async fn find_own(&self, caller: &Caller, id: VolumeId) -> Result<VolumeInfo, VolumeError> {
        let found = self.find(id).await?;
        if found.owner == caller.owner() { Ok(found) } else { Err(VolumeError::NotFound) }
    }

    /// Removes a volume of the caller with its content.
    ///
    /// # Errors
    /// Returns an error when the caller has no such volume, or a session has mounted it.
    pub async fn remove(&self, caller: &Caller, id: VolumeId) -> Result<(), VolumeError> {
        self.find_own(caller, id).await?;
        let _gate = self.gate.write().await;
        if let Some(session) = self.mounted_by(id) {
            return Err(VolumeError::InUse { session });
        }
        match self.store()?.delete_volume(id.uuid()).await? {
            true => Ok(()),
            false => Err(VolumeError::NotFound),
        }
    }

    /// Returns the session that has mounted a volume.
    pub(super) fn mounted_by(&self, id: VolumeId) -> Option<SessionId> {
        self.mounted().get(&id).copied()
    }

    /// Keeps sessions from mounting a volume while the guard lives; none where one has mounted it.
    async fn hold_unmounted(&self, id: VolumeId) -> Option<RwLockReadGuard<'_, ()>> {
        let gate = self.gate.read().await;
        self.mounted_by(id).is_none().then_some(gate)
    }

    /// Claims volumes of the caller for a session.
    ///
    /// # Errors
    /// Returns an error for too many, for paths that can't be or lie in each other, for volumes that are not there, and
    /// for those that another session has mounted; then none is claimed.
    pub(super) async fn claim(
        &self,
        caller: &Caller,
        session: SessionId,
        asked: &[MountAsked],
    ) -> Result<(Vec<Mount>, MountClaim<'_>), VolumeError> {
        let paths = mount_paths(asked)?;
        let mut mounts: Vec<Mount> = Vec::with_capacity(asked.len());
        for (MountAsked { volume, .. }, path) in asked.iter().zip(paths) {
            let name = (volume.len() <= MAX_NAME).then(|| volume.clone()).ok_or_else(|| unknown(volume))?;
            let mut found = self.store()?.list_volumes(owner_name(caller.owner()), Some(name)).await?;
            let StoredVolume { row, .. } = found.pop().ok_or_else(|| unknown(volume))?;
            if mounts.iter().any(|mount| mount.volume.uuid() == row.id) {
                return Err(VolumeError::BadMount { message: format!("the volume '{volume}' is mounted twice") });
            }
            mounts.push(Mount { volume: row.id.into(), name: row.name, path });
        }
        let claim = MountClaim { manager: self, session, is_kept: false };
        // Most sessions mount nothing, and wait for nobody.
        if mounts.is_empty() {
            return Ok((mounts, claim));
        }
        let _gate = self.gate.write().await;
        {
            let mut mounted = self.mounted();
            if let Some(session) = mounts.iter().find_map(|mount| mounted.get(&mount.volume).copied()) {
                return Err(VolumeError::InUse { session });
            }
            mounted.extend(mounts.iter().map(|mount| (mount.volume, session)));
        }
        // One that was removed meanwhile can't be any more.
        for mount in &mounts {
            self.find(mount.volume).await?;
        }
        Ok((mounts, claim))
    }

    /// Takes up what a session has mounted that an earlier service has left in the store. What another session has by
    /// now it keeps.
    pub(super) fn reclaim(&self, session: SessionId, mounts: &[Mount]) {
        let mut mounted = self.mounted();
        for mount in mounts {
            mounted.entry(mount.volume).or_insert(session);
        }
    }

    /// Lets go of the volumes that a session has mounted.
    pub(super) fn release(&self, session: SessionId) {
        self.mounted().retain(|_, holder| *holder != session);
    }

    /// Waits for the turn to copy a tree into a session, or out of it.
    pub(super) async fn copy_turn(&self) -> Result<SemaphorePermit<'_>, VolumeError> {
        self.copies.acquire().await.map_err(|_| VolumeError::Store)
    }

    /// Returns the whole content of a volume.
    ///
    /// # Errors
    /// Returns an error when there is no such volume, or it is damaged.
    pub(super) async fn tree(&self, id: VolumeId) -> Result<Vec<TreeEntry>, VolumeError> {
        Ok(self.store()?.volume_tree(id.uuid()).await?)
    }

    /// Replaces the content of a volume by what a session has made of it.
    ///
    /// # Errors
    /// Returns an error for want of room; then the content stays as it was.
    pub(super) async fn replace(
        &self,
        id: VolumeId,
        tree: Vec<TreeEntry>,
        owner_bytes: Option<u64>,
    ) -> Result<Displaced, VolumeError> {
        check_tree(&tree)?;
        let quota = self.quota(owner_bytes);
        Ok(self.store()?.replace_volume(id.uuid(), tree, now(), VOLUME_BOUNDS, quota).await?)
    }
}

/// Time in nanoseconds since 1970.
fn now() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

fn unknown(volume: &str) -> VolumeError {
    VolumeError::Unknown { name: volume.chars().take(MAX_NAME).collect() }
}

fn info_of(row: VolumeRow) -> VolumeInfo {
    VolumeInfo {
        id: row.id.into(),
        owner: KeyId::parse(&row.owner),
        name: row.name,
        token: Token::new(row.token),
        created: Timestamp::from_millisecond(row.created_at).unwrap_or(Timestamp::UNIX_EPOCH),
    }
}

fn check_name(name: &str) -> Result<(), VolumeError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed);
    if is_name { Ok(()) } else { Err(VolumeError::BadName { most: MAX_NAME }) }
}

/// Returns the paths of mounts without `.` and `..`.
fn mount_paths(asked: &[MountAsked]) -> Result<Vec<String>, VolumeError> {
    let bad = |message: String| VolumeError::BadMount { message };
    if asked.len() > MAX_MOUNTS {
        return Err(bad(format!("a sandbox mounts at most {MAX_MOUNTS} volumes")));
    }
    let mut paths: Vec<String> = Vec::with_capacity(asked.len());
    for MountAsked { path, .. } in asked {
        let shown: String = path.chars().take(100).collect();
        if !path.starts_with('/') {
            return Err(bad(format!("the mount path '{shown}' is not absolute")));
        }
        let plain = proofbox_vfs::absolute_path("/", path).map_err(|error| bad(error.to_string()))?;
        if plain == "/" {
            return Err(bad("a volume can't be mounted at '/'".to_owned()));
        }
        let lies_in = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        if paths.iter().any(|other| *other == plain || lies_in(other, &plain) || lies_in(&plain, other)) {
            return Err(bad(format!("the mount path '{shown}' lies in that of another volume, or the other in it")));
        }
        paths.push(plain);
    }
    Ok(paths)
}

/// Checks what a worker says that a tree is: every path once and in order, in a directory of the tree.
fn check_tree(tree: &[TreeEntry]) -> Result<(), VolumeError> {
    let mut nodes: BTreeMap<&str, &TreeNode> = BTreeMap::new();
    for entry in tree {
        let path = VolumePath::parse(&entry.path)?;
        let is_below = match entry.path.rsplit_once('/') {
            Some((above, _)) => nodes.get(above).is_some_and(|node| **node == TreeNode::Directory),
            None => true,
        };
        let is_plain = path.as_str() == entry.path && !entry.path.is_empty();
        if !is_plain || !is_below || nodes.insert(&entry.path, &entry.node).is_some() {
            return Err(VolumeError::Malformed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_types::user::User;

    fn paths(asked: &[&str]) -> Result<Vec<String>, String> {
        let mount = |path: &&str| MountAsked { volume: "v".to_owned(), path: (*path).to_owned() };
        mount_paths(&asked.iter().map(mount).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn mounts_lie_beside_each_other_at_absolute_paths() {
        assert_eq!(
            paths(&["/mnt/a/", "//mnt/./b", "/mnt/c/../ab"]),
            Ok(["/mnt/a", "/mnt/b", "/mnt/ab"].map(str::to_owned).to_vec())
        );
        for wrong in [
            &["mnt"][..],
            &["/"],
            &["/a/.."],
            &["/.."],
            &["/a", "/a"],
            &["/a/b", "/a"],
            &["/a", "/a/b/c"],
            &["/a\0"],
            &["~"],
        ] {
            assert!(paths(wrong).is_err(), "{wrong:?}");
        }
        let many: Vec<String> = (0..=MAX_MOUNTS).map(|number| format!("/m{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(paths(&many).is_err() && paths(&many[1..]).is_ok());
    }

    #[test]
    fn names_are_plain_words() {
        for name in ["a", "my-volume_1.2", &"x".repeat(MAX_NAME)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a/b", "ü", "a\n", &"x".repeat(MAX_NAME + 1)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_tree_of_a_worker_is_one_or_refused() {
        let entry =
            |path: &str, node| TreeEntry { path: path.to_owned(), node, mode: 0, owner: User::User, modified: 0 };
        let file = |path: &str| entry(path, TreeNode::File(Vec::new()));
        let directory = |path: &str| entry(path, TreeNode::Directory);
        assert!(check_tree(&[directory("a"), file("a-b"), file("a/b"), file("c")]).is_ok());
        for wrong in [
            vec![file("a/b")],
            vec![file("a"), file("a/b")],
            vec![entry("a", TreeNode::Link("/".to_owned())), file("a/b")],
            vec![file("a/b"), directory("a")],
            vec![file("a"), file("a")],
            vec![file("")],
            vec![file("/a")],
            vec![file("../a")],
            vec![directory("a"), file("a//b")],
            vec![file("a\0")],
        ] {
            assert!(check_tree(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[tokio::test]
    async fn a_volume_has_one_writer() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("store"), proofbox_store::DiskReserve::Bytes(0)).await;
        let manager = VolumeManager::new(Some(Arc::new(store.expect("a store"))), u64::MAX);
        let caller = Caller::keyless();
        let ids: Vec<VolumeId> = [
            manager.create(&caller, "one").await.expect("room").id,
            manager.create(&caller, "two").await.expect("room").id,
        ]
        .to_vec();
        let (first, second) = (SessionId::generate(), SessionId::generate());
        let mount = |volume: &str, path: &str| MountAsked { volume: volume.to_owned(), path: path.to_owned() };
        let both = [mount("one", "/a"), mount("two", "/b")];
        let (mounts, claim) = manager.claim(&caller, first, &both[..1]).await.expect("free");
        assert_eq!((mounts[0].volume, mounts[0].path.as_str()), (ids[0], "/a"));
        let refused = manager.claim(&caller, second, &both).await.map(drop);
        assert!(matches!(refused, Err(VolumeError::InUse { session }) if session == first));
        assert_eq!(manager.mounted_by(ids[1]), None, "none was claimed");
        assert!(matches!(manager.remove(&caller, ids[0]).await, Err(VolumeError::InUse { .. })));
        assert!(manager.hold_unmounted(ids[0]).await.is_none());
        drop(claim);
        let (_, claim) = manager.claim(&caller, second, &both).await.expect("free again");
        claim.keep();
        assert_eq!(manager.mounted_by(ids[1]), Some(second));
        manager.release(second);
        // While one is written to by way of the store nobody mounts it.
        let gate = manager.hold_unmounted(ids[0]).await.expect("free");
        let claiming = manager.claim(&caller, first, &both);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(20), claiming).await.is_err());
        drop(gate);
        assert!(matches!(
            manager.claim(&caller, first, &[mount("three", "/a")]).await,
            Err(VolumeError::Unknown { .. })
        ));
        let twice = [mount("one", "/a"), mount("one", "/b")];
        assert!(matches!(manager.claim(&caller, first, &twice).await, Err(VolumeError::BadMount { .. })));
        assert!(manager.mounted().is_empty());
        manager.remove(&caller, ids[0]).await.expect("free");
        assert!(matches!(manager.find(ids[0]).await, Err(VolumeError::NotFound)));
    }
}
