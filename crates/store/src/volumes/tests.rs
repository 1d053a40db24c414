//! Rules of volumes in a store.

use super::super::{CheckpointFilter, CheckpointKind, CheckpointRow, DiskReserve, Quota, Store, StoreUsage};
use super::*;

const BOUNDS: VolumeBounds = VolumeBounds { volumes: 2, entries: 6, bytes: 4 << 20 };
const PLENTY: Quota = Quota { total_bytes: u64::MAX, owner_bytes: None };
const RESOLVE: VolumeConflict = VolumeConflict::Resolve;
const REFUSE: VolumeConflict = VolumeConflict::Refuse;

struct Opened {
    store: Store,
    directory: tempfile::TempDir,
}

impl Opened {
    async fn new(reserve: DiskReserve) -> Self {
        let directory = tempfile::tempdir().expect("a directory for tests");
        let store = Store::open(&directory.path().join("store"), reserve).await.expect("a store");
        Self { store, directory }
    }

    /// A store with a volume.
    async fn with_volume() -> (Self, Uuid) {
        let opened = Self::new(DiskReserve::Bytes(0)).await;
        let row = volume(1, "one");
        opened.store.put_volume(row.clone(), BOUNDS.volumes).await.expect("room");
        (opened, row.id)
    }

    async fn again(self) -> Self {
        let Self { store, directory } = self;
        drop(store);
        let store = Store::open(&directory.path().join("store"), DiskReserve::Bytes(0)).await.expect("a store");
        Self { store, directory }
    }

    async fn change(&self, id: Uuid, path: &str, change: VolumeChange) -> Result<Option<VolumeEntry>, StoreError> {
        let changed = self.store.change_volume(id, path.to_owned(), change, 7, BOUNDS, PLENTY).await;
        changed.map(|(entry, _)| entry)
    }

    async fn write(&self, id: Uuid, path: &str, content: &[u8]) -> Result<VolumeEntry, StoreError> {
        Ok(self.change(id, path, write(content, RESOLVE)).await?.expect("it is written"))
    }

    async fn paths(&self, id: Uuid) -> Vec<String> {
        let entries = self.store.volume_entries(id, String::new(), usize::MAX).await.expect("a volume");
        entries.into_iter().map(|entry| entry.path).collect()
    }
}

fn volume(number: u128, name: &str) -> VolumeRow {
    let token = format!("secret {number}");
    VolumeRow { id: Uuid::from_u128(number), owner: "me".to_owned(), name: name.to_owned(), token, created_at: 5 }
}

fn write(content: &[u8], conflict: VolumeConflict) -> VolumeChange {
    let attributes = VolumeAttributes::default();
    VolumeChange::Write { content: Bytes::copy_from_slice(content), attributes, conflict }
}

fn directory(conflict: VolumeConflict) -> VolumeChange {
    VolumeChange::MakeDirectory { attributes: VolumeAttributes::default(), conflict }
}

fn fault<T: std::fmt::Debug>(result: Result<T, StoreError>) -> FileTrouble {
    match result {
        Err(StoreError::VolumePath { trouble, .. }) => trouble,
        other => panic!("not refused: {other:?}"),
    }
}

fn file(path: &str, content: &[u8]) -> TreeEntry {
    let node = TreeNode::File(content.to_vec());
    TreeEntry { path: path.to_owned(), node, mode: 0o644, owner: User::User, modified: 9 }
}

fn checkpoint(number: u128, owner: &str) -> CheckpointRow {
    CheckpointRow {
        id: Uuid::from_u128(number),
        session: None,
        name: "n".to_owned(),
        kind: CheckpointKind::Named,
        created_at: 1,
        expires_at: None,
        image_hash: "h".to_owned(),
        owner: Some(owner.to_owned()),
        meta: Vec::new(),
    }
}

#[tokio::test]
async fn what_is_written_into_a_volume_is_there_after_a_restart() {
    let (opened, id) = Opened::with_volume().await;
    let large: Vec<u8> = (0..(2 << 20) + 17_u32).map(|index| (index % 251) as u8).collect();
    opened.change(id, "a/b", directory(RESOLVE)).await.expect("free");
    let attributes = VolumeAttributes { mode: Some(0o600), uid: Some(0), gid: Some(7) };
    let content = Bytes::from(large.clone());
    let written = opened.change(id, "a/b/f", VolumeChange::Write { content, attributes, conflict: REFUSE }).await;
    let entry = written.expect("free").expect("written");
    assert_eq!((entry.mode, entry.uid, entry.gid, entry.node.size()), (0o600, 0, 7, large.len() as u64));
    let opened = opened.again().await;
    assert_eq!(opened.paths(id).await, ["a", "a/b", "a/b/f"]);
    assert_eq!(opened.store.volume_entry(id, "a/b/f".to_owned()).await, Ok(entry));
    let whole = opened.store.read_volume_file(id, "a/b/f".to_owned(), 0, u64::MAX).await.expect("there");
    assert!(whole.bytes == large && whole.size == large.len() as u64);
    let piece = opened.store.read_volume_file(id, "a/b/f".to_owned(), (1 << 20) - 1, 3).await.expect("there");
    assert_eq!(piece.bytes, large[(1 << 20) - 1..(1 << 20) + 2]);
    let beyond = opened.store.read_volume_file(id, "a/b/f".to_owned(), 3 << 20, 1).await.expect("there");
    assert!(beyond.bytes.is_empty());
    let tree = opened.store.volume_tree(id).await.expect("sound");
    assert_eq!((tree.len(), tree[2].owner, tree[2].mode), (3, User::Root, 0o600));
    assert!(tree[2].node == TreeNode::File(large));
}

#[tokio::test]
async fn what_is_in_the_way_is_refused_or_resolved() {
    let (opened, id) = Opened::with_volume().await;
    opened.write(id, "f", b"1").await.expect("free");
    assert_eq!(fault(opened.change(id, "f", write(b"2", REFUSE)).await), FileTrouble::Exists);
    opened.write(id, "f", b"22").await.expect("overwritten");
    assert_eq!(fault(opened.write(id, "d/f", b"").await), FileTrouble::NotFound);
    assert_eq!(fault(opened.write(id, "f/g", b"").await), FileTrouble::NotADirectory);
    assert_eq!(fault(opened.change(id, "d/e", directory(REFUSE)).await), FileTrouble::NotFound);
    opened.change(id, "d/e", directory(RESOLVE)).await.expect("free");
    opened.change(id, "d/e", directory(RESOLVE)).await.expect("there");
    assert_eq!(fault(opened.change(id, "d/e", directory(REFUSE)).await), FileTrouble::Exists);
    assert_eq!(fault(opened.change(id, "f", directory(RESOLVE)).await), FileTrouble::Exists);
    assert_eq!(fault(opened.change(id, "f/x", directory(RESOLVE)).await), FileTrouble::NotADirectory);
    assert_eq!(fault(opened.write(id, "d", b"").await), FileTrouble::IsADirectory);
    assert_eq!(fault(opened.write(id, "", b"").await), FileTrouble::IsADirectory);
    assert_eq!(fault(opened.store.read_volume_file(id, "d".to_owned(), 0, 1).await), FileTrouble::IsADirectory);
    assert_eq!(fault(opened.store.volume_entries(id, "f".to_owned(), 1).await), FileTrouble::NotADirectory);
    let missing = Uuid::from_u128(9);
    assert_eq!(opened.write(missing, "f", b"").await, Err(StoreError::NoVolume { id: missing }));
    // What only begins like it stays.
    opened.write(id, "d.txt", b"").await.expect("free");
    assert_eq!(opened.change(id, "d", VolumeChange::Remove).await, Ok(None));
    assert_eq!(opened.paths(id).await, ["d.txt", "f"]);
    assert_eq!(fault(opened.change(id, "d", VolumeChange::Remove).await), FileTrouble::NotFound);
    assert_eq!(fault(opened.change(id, "", VolumeChange::Remove).await), FileTrouble::NotFound);
}

#[tokio::test]
async fn a_listing_goes_as_deep_as_asked() {
    let (opened, id) = Opened::with_volume().await;
    opened.change(id, "a/b", directory(RESOLVE)).await.expect("free");
    for path in ["a/b/f", "a/g", "h"] {
        opened.write(id, path, b"").await.expect("free");
    }
    let listed = async |path: &str, depth| -> Vec<String> {
        let entries = opened.store.volume_entries(id, path.to_owned(), depth).await.expect("a directory");
        entries.into_iter().map(|entry| entry.path).collect()
    };
    assert_eq!(listed("", 1).await, ["a", "h"]);
    assert_eq!(listed("", 2).await, ["a", "a/b", "a/g", "h"]);
    assert_eq!(listed("a", 1).await, ["a/b", "a/g"]);
    assert_eq!(listed("a", 2).await, ["a/b", "a/b/f", "a/g"]);
}

#[tokio::test]
async fn volumes_have_names_of_their_own_and_are_bounded() {
    let (opened, id) = Opened::with_volume().await;
    let put = async |row: VolumeRow| opened.store.put_volume(row, BOUNDS.volumes).await;
    assert_eq!(put(volume(2, "one")).await, Err(StoreError::VolumeNameTaken { name: "one".to_owned() }));
    put(volume(2, "two")).await.expect("room");
    assert_eq!(put(volume(3, "three")).await, Err(StoreError::TooManyVolumes { allowed: 2 }));
    let other = VolumeRow { owner: "other".to_owned(), ..volume(3, "one") };
    put(other.clone()).await.expect("another owner's");
    let names = async |name: Option<&str>| -> Vec<String> {
        let found = opened.store.list_volumes("me".to_owned(), name.map(str::to_owned)).await.expect("a list");
        found.into_iter().map(|volume| volume.row.name).collect()
    };
    assert_eq!((names(None).await.len(), names(Some("two")).await.len(), names(Some("x")).await.len()), (2, 1, 0));
    assert_eq!(opened.store.delete_volume(id).await, Ok(true));
    assert_eq!(opened.store.delete_volume(id).await, Ok(false));
    assert_eq!(opened.store.find_volume(id).await, Ok(None));
    let found = opened.store.find_volume(other.id).await.expect("sound");
    assert_eq!(found, Some(StoredVolume { row: other, bytes: 0, entries: 0 }));
}

#[tokio::test]
async fn a_listing_is_bounded() {
    let (opened, id) = Opened::with_volume().await;
    let bounds = VolumeBounds { volumes: 2, entries: 10_000, bytes: 1 << 30 };
    let link =
        |number: usize| TreeEntry { node: TreeNode::Link("x".repeat(4000)), ..file(&format!("d/{number}"), b"") };
    let count = MAX_LISTING / (LISTED_BYTES + 4000) + 10;
    let tree = std::iter::once(TreeEntry { node: TreeNode::Directory, ..file("d", b"") }).chain((0..count).map(link));
    opened.store.replace_volume(id, tree.collect(), 8, bounds, PLENTY).await.expect("room");
    let all = opened.store.volume_entries(id, String::new(), usize::MAX).await;
    assert_eq!(all.map(drop), Err(StoreError::VolumeListing { allowed_bytes: MAX_LISTING }));
    assert_eq!(opened.store.volume_entries(id, String::new(), 1).await.expect("one entry").len(), 1);
}

#[tokio::test]
async fn a_volume_is_bounded_in_entries_and_bytes() {
    let (opened, id) = Opened::with_volume().await;
    let full = Err(StoreError::VolumeFull { allowed_bytes: BOUNDS.bytes, allowed_entries: BOUNDS.entries });
    let most = (BOUNDS.bytes - TreeEntry::cost(1, 0)) as usize;
    assert_eq!(opened.write(id, "f", &vec![0; most + 1]).await, full);
    opened.write(id, "f", &vec![0; most]).await.expect("it fits");
    assert_eq!(opened.write(id, "g", b"").await, full);
    opened.write(id, "f", b"").await.expect("smaller");
    for name in ["1", "2", "3", "4", "5"] {
        opened.write(id, name, b"").await.expect("room");
    }
    assert_eq!(opened.write(id, "6", b"").await, full);
    assert_eq!(opened.change(id, "a/b", directory(RESOLVE)).await.map(drop), full.clone().map(|_: VolumeEntry| ()));
    let many = (0..7).map(|number| file(&number.to_string(), b"")).collect();
    assert_eq!(opened.store.replace_volume(id, many, 8, BOUNDS, PLENTY).await.map(drop), full.clone().map(drop));
    let large = vec![file("f", &vec![0; most + 1])];
    assert_eq!(opened.store.replace_volume(id, large, 8, BOUNDS, PLENTY).await.map(drop), full.map(drop));
    assert_eq!(opened.paths(id).await.len(), 6, "nothing changed");
}

#[tokio::test]
async fn a_tree_replaces_what_differs_from_it_and_leaves_the_rest() {
    let (opened, id) = Opened::with_volume().await;
    let attributes = VolumeAttributes { uid: Some(1001), gid: Some(1002), mode: None };
    let content = Bytes::from_static(b"same");
    opened.change(id, "same", VolumeChange::Write { content, attributes, conflict: REFUSE }).await.expect("free");
    opened.write(id, "changes", b"before").await.expect("free");
    opened.write(id, "goes", b"").await.expect("free");
    opened.write(id, "turns", b"into a directory").await.expect("free");
    let directory = TreeEntry { node: TreeNode::Directory, mode: 0o755, ..file("turns", b"") };
    let link = TreeEntry { node: TreeNode::Link("/x".to_owned()), mode: 0o777, ..file("turns/link", b"") };
    let tree = vec![file("changes", b"after"), file("same", b"same"), directory, link];
    opened.store.replace_volume(id, tree.clone(), 8, BOUNDS, PLENTY).await.expect("room");
    assert_eq!(opened.store.volume_tree(id).await, Ok(tree.clone()));
    let same = opened.store.volume_entry(id, "same".to_owned()).await.expect("there");
    assert_eq!((same.uid, same.gid, same.modified_at), (1001, 1002, 9));
    // Again: nothing is written.
    let before = opened.store.volume_entries(id, String::new(), 9).await.expect("there");
    opened.store.replace_volume(id, tree, 9, BOUNDS, PLENTY).await.expect("room");
    assert_eq!(opened.store.volume_entries(id, String::new(), 9).await.expect("there"), before);
    // Whoever it was given to in a session has it now.
    let given = vec![TreeEntry { owner: User::Root, ..file("same", b"same") }];
    opened.store.replace_volume(id, given, 10, BOUNDS, PLENTY).await.expect("room");
    let same = opened.store.volume_entry(id, "same".to_owned()).await.expect("there");
    assert_eq!((same.uid, same.changed_at), (0, 10));
    assert_eq!(opened.paths(id).await, ["same"]);
}

#[tokio::test]
async fn volumes_count_in_their_owners_quota_and_nothing_of_it_goes_for_them() {
    let (opened, id) = Opened::with_volume().await;
    let put = async |number, owner, bytes: usize, quota| {
        opened.store.put_checkpoint(checkpoint(number, owner), vec![1; bytes].into(), quota).await
    };
    put(1, "me", 1000, PLENTY).await.expect("room");
    let write_within = async |content: usize, quota| {
        let change = write(&vec![2; content], RESOLVE);
        opened.store.change_volume(id, "f".to_owned(), change, 7, BOUNDS, quota).await.map(drop)
    };
    let quota = Quota { total_bytes: u64::MAX, owner_bytes: Some(3000) };
    let asked = 1000 + TreeEntry::cost(1, 2000);
    assert_eq!(write_within(2000, quota).await, Err(StoreError::OverQuota { asked, allowed: 3000 }));
    write_within(1000, quota).await.expect("it fits");
    // So do checkpoints beside them.
    assert!(matches!(put(2, "me", 1000, quota).await, Err(StoreError::OverQuota { .. })));
    let small = Quota { total_bytes: 4000, owner_bytes: None };
    assert_eq!(write_within(4000, small).await, Err(StoreError::NoRoom));
    let tree = vec![file("f", &[3; 4000])];
    assert_eq!(opened.store.replace_volume(id, tree, 8, BOUNDS, small).await.map(drop), Err(StoreError::NoRoom));
    let kept = opened.store.list_checkpoints(CheckpointFilter::default(), 9, None).await.expect("a list");
    assert_eq!(kept.len(), 1, "the owner's own checkpoint stays");
    // Of a neighbour who holds more, it goes.
    put(3, "neighbour", 3000, PLENTY).await.expect("room");
    write_within(1500, small).await.expect("the neighbour makes room");
    let kept = opened.store.list_checkpoints(CheckpointFilter::default(), 9, None).await.expect("a list");
    assert_eq!(kept.len(), 1);
    let bytes = 1000 + TreeEntry::cost(1, 1500);
    let usage = StoreUsage { named: 1, volumes: 1, bytes, ..StoreUsage::default() };
    assert_eq!(opened.store.usage().await, Ok(usage));
    // Counted anew it is the same, and a volume that is removed counts no more.
    let opened = opened.again().await;
    let quota = Quota { total_bytes: u64::MAX, owner_bytes: Some(bytes + 10) };
    let beyond = opened.store.put_checkpoint(checkpoint(4, "me"), vec![1; 11].into(), quota).await;
    assert_eq!(beyond, Err(StoreError::OverQuota { asked: bytes + 11, allowed: bytes + 10 }));
    opened.store.delete_volume(id).await.expect("removed");
    let after = opened.store.put_checkpoint(checkpoint(4, "me"), vec![1; 11].into(), quota).await;
    assert!(after.is_ok());
}

#[tokio::test]
async fn nothing_is_written_into_the_disks_reserve() {
    let opened = Opened::new(DiskReserve::Bytes(u64::MAX)).await;
    assert_eq!(opened.store.put_volume(volume(1, "one"), 2).await, Err(StoreError::Full));
    let (opened, id) = Opened::with_volume().await;
    opened.write(id, "f", b"1").await.expect("room");
    let path = opened.directory.path().join("store");
    drop(opened.store);
    let store = Store::open(&path, DiskReserve::Bytes(u64::MAX)).await.expect("a store");
    let changed = store.change_volume(id, "f".to_owned(), write(b"2", RESOLVE), 7, BOUNDS, PLENTY).await;
    assert_eq!(changed.map(drop), Err(StoreError::Full));
    let replaced = store.replace_volume(id, vec![file("f", b"2")], 7, BOUNDS, PLENTY).await;
    assert_eq!(replaced.map(drop), Err(StoreError::Full));
    // Nothing to write, and removals, need no room.
    store
        .replace_volume(id, vec![TreeEntry { modified: 7, ..file("f", b"1") }], 7, BOUNDS, PLENTY)
        .await
        .expect("same");
    store.change_volume(id, "f".to_owned(), VolumeChange::Remove, 7, BOUNDS, PLENTY).await.expect("removed");
}

#[tokio::test]
async fn damage_is_told_and_never_read() {
    let (opened, id) = Opened::with_volume().await;
    opened.write(id, "f", b"content").await.expect("room");
    opened.write(id, "g", b"content").await.expect("room");
    let path = opened.directory.path().join("store");
    let spoil = |statement: &str| {
        let connection = rusqlite::Connection::open(&path).expect("a database");
        assert_eq!(connection.execute(statement, []).expect("writable"), 1);
    };
    spoil("UPDATE volume_chunks SET data = x'00' WHERE entry = 1");
    let read = opened.store.read_volume_file(id, "f".to_owned(), 0, 9).await;
    assert!(matches!(read, Err(StoreError::Damaged { .. })));
    assert!(matches!(opened.store.volume_tree(id).await, Err(StoreError::Damaged { .. })));
    spoil("UPDATE volume_entries SET mode = 4095 WHERE path = 'g'");
    assert!(matches!(opened.store.volume_entry(id, "g".to_owned()).await, Err(StoreError::Damaged { .. })));
    spoil("UPDATE volumes SET token = 'known'");
    assert!(matches!(opened.store.find_volume(id).await, Err(StoreError::Damaged { .. })));
}
