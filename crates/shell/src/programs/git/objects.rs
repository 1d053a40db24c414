//! Objects: loose ones, compressed, by the SHA-1 of their content.

use super::object::{DIRECTORY, Entry, Files, Id, Object};
use super::repository::{MAX_FILE, Repository};
use super::{Failure, Outcome, fatal, file_failure, grow};
use crate::bounds::{Held, MAX_TEXT};
use crate::state::Shell;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use proofbox_vfs::{MAX_NAME, MAX_PATH, lock};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

/// Largest object, in bytes.
pub(super) const MAX_OBJECT: usize = MAX_TEXT;
/// Largest commit or tag, in bytes.
pub(super) const MAX_COMMIT: usize = 4 << 20;
/// Tags that lead to each other.
const MAX_TAGS: usize = 10;
/// Directories of a tree below each other.
const MAX_DEPTH: usize = 128;
/// Number of bytes that are compressed or hashed at a time.
const BLOCK: usize = 64 << 10;
/// Number of bytes that cost a step to compress.
const PACKED_A_STEP: u64 = 64;
/// Number of bytes that cost a step to unpack or to hash.
const BYTES_A_STEP: u64 = 512;

/// Mode of a commit of another repository.
const SUBMODULE: u32 = 0o160_000;

/// Tree that is gone through, entry by entry.
pub(super) struct Tree {
    id: Id,
    object: Object,
    /// Offset of the next entry.
    at: usize,
}

impl Tree {
    /// Returns mode, name and object of the next entry; none at the end.
    pub(super) async fn next(&mut self, shell: &Shell) -> Outcome<Option<TreeEntry>> {
        shell.step(1).await?;
        let rest = &self.object.data[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let parsed = parse_tree_entry(rest).filter(|((_, name, _), _)| is_file_name(name));
        let Some((entry, length)) = parsed else { return fatal(format!("{} is not a valid tree", self.id)) };
        self.at += length;
        Ok(Some(entry))
    }
}

/// Commit, as far as it is looked at.
pub(super) struct Commit {
    pub(super) tree: Id,
    pub(super) parents: Vec<Id>,
    /// Name, address in angle brackets, seconds since 1970, and zone.
    pub(super) author: String,
    pub(super) committer: String,
    pub(super) message: String,
    _held: Held,
}

impl Commit {
    fn parse(data: &[u8], held: Held) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let values = |name: &str| {
            let name = format!("{name} ");
            head.lines().filter_map(move |line| line.strip_prefix(name.as_str()).map(str::to_owned)).collect::<Vec<_>>()
        };
        Some(Self {
            tree: Id::parse(values("tree").first()?)?,
            parents: values("parent").iter().map(|text| Id::parse(text)).collect::<Option<_>>()?,
            author: values("author").into_iter().next()?,
            committer: values("committer").into_iter().next()?,
            message: message.to_owned(),
            _held: held,
        })
    }

    /// Seconds since 1970 of a signature's time.
    pub(super) fn seconds(signature: &str) -> i64 {
        let mut words = signature.rsplit(' ');
        words.nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(0)
    }
}

impl Repository<'_> {
    fn object_path(&self, id: Id) -> String {
        let name = id.to_string();
        format!("{}/objects/{}/{}", self.git_dir, &name[..2], &name[2..])
    }

    pub(super) fn has_object(&self, id: Id) -> bool {
        lock(&self.shell.tree).stat(&self.object_path(id)).is_ok()
    }

    pub(super) async fn read_object(&self, id: Id) -> Outcome<Object> {
        let Some(packed) = self.read_bytes(&self.object_path(id), MAX_FILE).await? else {
            return fatal(format!("bad object {id} (packs are not read here)"));
        };
        let bad = || Failure::Fatal(format!("loose object {id} is corrupt"));
        let mut held = self.hold(0)?;
        let mut unpacker = ZlibDecoder::new(&packed.bytes[..]);
        let mut data = Vec::new();
        loop {
            let before = data.len();
            if !held.grow(BLOCK) {
                return fatal("out of memory");
            }
            let read = (&mut unpacker).take(BLOCK as u64).read_to_end(&mut data).map_err(|_| bad())?;
            self.shell.step(1 + read as u64 / BYTES_A_STEP).await?;
            if data.len() > MAX_OBJECT {
                return fatal(format!("object {id} is too large"));
            }
            if data.len() == before {
                break;
            }
        }
        let end = data.iter().take(40).position(|byte| *byte == 0).ok_or_else(bad)?;
        let head = String::from_utf8_lossy(&data[..end]).into_owned();
        data.drain(..=end);
        let (kind, length) = head.split_once(' ').ok_or_else(bad)?;
        if length.parse() != Ok(data.len()) {
            return Err(bad());
        }
        Ok(Object { kind: kind.to_owned(), data, held })
    }

    /// Returns the name that content has as an object.
    pub(super) async fn hash(&self, kind: &str, data: &[u8]) -> Outcome<Id> {
        let mut digest = Sha1::new_with_prefix(format!("{kind} {}\0", data.len()));
        for block in data.chunks(BLOCK) {
            digest.update(block);
            self.shell.step(1 + block.len() as u64 / BYTES_A_STEP).await?;
        }
        Ok(Id(digest.finalize().into()))
    }

    pub(super) async fn write_object(&self, kind: &str, data: &[u8]) -> Outcome<Id> {
        if data.len() > MAX_OBJECT {
            return fatal(format!("a file has at most {MAX_OBJECT} bytes here"));
        }
        // What could not be read again.
        if matches!(kind, "commit" | "tag") && data.len() > MAX_COMMIT {
            return fatal(format!("a {kind} has at most {MAX_COMMIT} bytes here"));
        }
        let id = self.hash(kind, data).await?;
        if self.has_object(id) {
            return Ok(id);
        }
        let _held = self.hold(data.len() + (1 << 20))?;
        let failed = |_| Failure::Fatal("an object could not be compressed".to_owned());
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::new(1));
        packer.write_all(format!("{kind} {}\0", data.len()).as_bytes()).map_err(failed)?;
        for block in data.chunks(BLOCK) {
            packer.write_all(block).map_err(failed)?;
            self.shell.step(1 + block.len() as u64 / PACKED_A_STEP).await?;
        }
        self.write_bytes(&self.object_path(id), &packer.finish().map_err(failed)?).await?;
        Ok(id)
    }

    pub(super) async fn read_commit(&self, id: Id) -> Outcome<Commit> {
        let (id, object) = self.read_peeled(id).await?;
        // Lists of lines, and the texts that they are made of.
        let held = self.hold(4 * object.data.len())?;
        match Commit::parse(&object.data, held) {
            Some(commit) if object.kind == "commit" => Ok(commit),
            _ => fatal(format!("{id} is not a commit")),
        }
    }

    /// Returns the object that a tag leads to; that object itself for any other.
    pub(super) async fn peel(&self, id: Id) -> Outcome<Id> {
        Ok(self.read_peeled(id).await?.0)
    }

    /// Reads an object, or that which a tag with a message leads to.
    async fn read_peeled(&self, id: Id) -> Outcome<(Id, Object)> {
        let mut id = id;
        for _ in 0..MAX_TAGS {
            let object = self.read_object(id).await?;
            if matches!(object.kind.as_str(), "commit" | "tag") && object.data.len() > MAX_COMMIT {
                return fatal(format!("object {id} is too large"));
            }
            if object.kind != "tag" {
                return Ok((id, object));
            }
            id = tag_target(&object.data).ok_or_else(|| Failure::Fatal(format!("tag {id} is corrupt")))?;
        }
        fatal(format!("{id}: too many tags lead to each other"))
    }

    pub(super) async fn read_tree(&self, id: Id) -> Outcome<Tree> {
        let object = self.read_object(id).await?;
        if object.kind != "tree" {
            return fatal(format!("{id} is not a valid tree"));
        }
        Ok(Tree { id, object, at: 0 })
    }

    /// Lists the files of a tree, with those of the trees below it.
    pub(super) async fn flatten(&self, tree: Id) -> Outcome<Files> {
        let mut files = Files::new(self.hold(0)?);
        let mut held = self.hold(0)?;
        let mut open = vec![(String::new(), tree, 0)];
        while let Some((above, id, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return fatal("the tree is too deep");
            }
            let mut tree = self.read_tree(id).await?;
            while let Some((mode, name, id)) = tree.next(self.shell).await? {
                if above.len() + name.len() >= MAX_PATH {
                    return fatal("the tree has a path that is too long");
                }
                match mode {
                    DIRECTORY => {
                        let below = format!("{above}{name}/");
                        grow(&mut held, below.len() + 100)?;
                        open.push((below, id, depth + 1));
                    }
                    mode => files.insert(format!("{above}{name}"), Entry { mode, id })?,
                }
            }
        }
        Ok(files)
    }

    /// Writes the trees of these files, and returns that of the root.
    pub(super) async fn write_tree(&self, files: &BTreeMap<String, Entry>) -> Outcome<Id> {
        let mut directories: BTreeMap<(usize, String), Vec<TreeEntry>> = BTreeMap::new();
        let key = |path: &str| (path.matches('/').count(), path.to_owned());
        // The root's path is empty, those of others end in a slash.
        directories.insert(key(""), Vec::new());
        let mut held = self.hold(0)?;
        for (path, entry) in files {
            self.shell.step(1).await?;
            grow(&mut held, 2 * path.len() + 200)?;
            let (directory, name) = path.rfind('/').map_or(("", path.as_str()), |slash| path.split_at(slash + 1));
            directories.entry(key(directory)).or_default().push((entry.mode, name.to_owned(), entry.id));
            let mut above = directory;
            while let Some(slash) = above.strip_suffix('/').and_then(|above| above.rfind('/')) {
                above = &above[..=slash];
                self.shell.step(1).await?;
                // Those above one that is known are known too.
                if directories.contains_key(&key(above)) {
                    break;
                }
                grow(&mut held, above.len() + 200)?;
                directories.insert(key(above), Vec::new());
            }
        }
        loop {
            let Some(((_, path), mut entries)) = directories.pop_last() else {
                return fatal("a tree is missing");
            };
            self.shell.step(1 + entries.len() as u64 / 16).await?;
            // A directory is sorted as if a slash followed its name.
            entries.sort_by_cached_key(
                |(mode, name, _)| if *mode == DIRECTORY { format!("{name}/") } else { name.clone() },
            );
            let length = entries.iter().map(|(_, name, _)| name.len() + 30).sum();
            let _held = self.hold(length)?;
            let mut data = Vec::with_capacity(length);
            for (mode, name, id) in &entries {
                data.extend_from_slice(format!("{mode:o} {name}\0").as_bytes());
                data.extend_from_slice(&id.0);
            }
            let id = self.write_object("tree", &data).await?;
            let Some(inner) = path.strip_suffix('/') else { return Ok(id) };
            let (above, name) = inner.rfind('/').map_or(("", inner), |slash| inner.split_at(slash + 1));
            directories.entry(key(above)).or_default().push((DIRECTORY, name.to_owned(), id));
        }
    }

    /// Copies the objects that a commit needs from another repository, and are not here. An object is written after all
    /// that it needs, so that none is missing of one that is here.
    pub(super) async fn copy_objects(&self, from: &Repository<'_>, id: Id) -> Outcome<()> {
        let mut held = self.hold(0)?;
        let mut open = vec![(id, Visit::First)];
        while let Some((id, visit)) = open.pop() {
            self.shell.step(1).await?;
            if self.has_object(id) {
                continue;
            }
            let object = from.read_object(id).await?;
            if matches!(visit, Visit::First) && self.hash(&object.kind, &object.data).await? != id {
                return fatal(format!("loose object {id} is corrupt"));
            }
            let is_small = object.data.len() <= MAX_COMMIT;
            if matches!(visit, Visit::Last) || object.kind == "blob" {
                self.write_object(&object.kind, &object.data).await?;
                continue;
            }
            let before = open.len();
            open.push((id, Visit::Last));
            match object.kind.as_str() {
                "commit" => {
                    let commit = from.read_commit(id).await?;
                    open.extend(commit.parents.iter().map(|id| (*id, Visit::First)));
                    open.push((commit.tree, Visit::First));
                }
                "tag" if is_small => {
                    let target = tag_target(&object.data);
                    open.push((target.ok_or_else(|| Failure::Fatal(format!("tag {id} is corrupt")))?, Visit::First));
                }
                "tree" => {
                    let mut tree = Tree { id, object, at: 0 };
                    while let Some((mode, _, id)) = tree.next(self.shell).await? {
                        grow(&mut held, 48)?;
                        // What another repository has is none of this one's.
                        if mode != SUBMODULE {
                            open.push((id, Visit::First));
                        }
                    }
                }
                _ => return fatal(format!("loose object {id} is corrupt")),
            }
            grow(&mut held, (open.len() - before) * 48)?;
        }
        Ok(())
    }

    /// Writes content to a path of the work tree.
    pub(super) async fn write_bytes(&self, path: &str, bytes: &[u8]) -> Outcome<()> {
        self.shell.step(1 + bytes.len() as u64 / 4096).await?;
        let written = lock(&self.shell.tree).write_file(path, bytes, self.shell.now());
        written.map_err(|error| file_failure(path, &error))
    }
}

/// Returns the object that a tag names.
fn tag_target(data: &[u8]) -> Option<Id> {
    Id::parse(std::str::from_utf8(data.strip_prefix(b"object ")?.get(..40)?).ok()?)
}

/// Visit of an object that is copied.
#[derive(Clone, Copy)]
enum Visit {
    /// Visit before the objects that it needs.
    First,
    /// Visit after them.
    Last,
}

/// Mode, name and object of an entry of a tree.
type TreeEntry = (u32, String, Id);

/// Bytes of a tree's entry before its object: mode, blank, name and what ends it.
const MAX_ENTRY: usize = MAX_NAME + 16;

/// Parses `MODE NAME\0ID`, and returns it with its length.
fn parse_tree_entry(rest: &[u8]) -> Option<(TreeEntry, usize)> {
    let end = rest.iter().take(MAX_ENTRY).position(|byte| *byte == 0)?;
    let (mode, name) = std::str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
    let id = Id(rest.get(end + 1..end + 21)?.try_into().ok()?);
    Some(((u32::from_str_radix(mode, 8).ok()?, name.to_owned(), id), end + 21))
}

/// Returns whether a path may stand in the index: names of a tree, not too many, and not too long.
pub(super) fn is_file_path(path: &str) -> bool {
    path.len() < MAX_PATH && path.split('/').count() <= MAX_DEPTH && path.split('/').all(is_file_name)
}

/// Returns whether a name may stand in a tree.
fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.contains('/')
        && name != "."
        && name != ".."
        && !name.eq_ignore_ascii_case(".git")
}
