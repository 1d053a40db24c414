//! Files that fresh sandboxes start from: the initial directories and the read-only layers.

use super::error::{Fault, FilesError};
use super::inodes::{Inodes, NodeId};
use super::layer::{LAYER_ROOT, Layer};
use super::mount::{Mount, Purpose};
use super::path::{HostPath, MAX_DEPTH};
use super::permissions::User;
use super::tree::{FilesQuota, Tree};
use std::sync::{Arc, LazyLock};

/// Files that fresh sandboxes start from: the initial directories and the read-only layers. Made once per process; the
/// system's files are in `system`.
#[derive(Clone)]
pub struct Base {
    pub(super) inodes: Arc<Inodes>,
    pub(super) mounts: Arc<[Mount]>,
}

impl Base {
    /// `/home/user`, `/tmp` and `/dev/null`, no layers.
    #[must_use]
    pub fn bare() -> Self {
        static BARE: LazyLock<Base> =
            LazyLock::new(|| Base { inodes: Arc::new(Inodes::initial()), mounts: Arc::from([]) });
        BARE.clone()
    }

    /// A base with layers, each at the absolute path it is given with. The order is part of what a checkpoint refers
    /// to.
    ///
    /// # Errors
    ///
    /// Returns an error for a path that is taken, lies inside another layer, or cannot be used.
    pub fn with_layers(layers: impl IntoIterator<Item = (String, Arc<Layer>)>) -> Result<Self, FilesError> {
        let mut made = BaseBuilder { inodes: Inodes::initial(), mounts: Vec::new() };
        for (path, layer) in layers {
            made.mount(&path, layer, Purpose::Software)?;
        }
        Ok(made.finish())
    }

    /// The same base with one more layer, at an absolute path.
    ///
    /// # Errors
    ///
    /// Returns an error for a path that is taken, or lies inside another layer.
    pub fn with_layer(&self, path: &str, layer: &Arc<Layer>) -> Result<Self, FilesError> {
        let mut base = self.extend();
        base.mount(path, Arc::clone(layer), Purpose::Software)?;
        Ok(base.finish())
    }

    /// Returns a builder of a base that has more than this one.
    pub(super) fn extend(&self) -> BaseBuilder {
        let mounts = self.mounts.iter().map(Mount::share).collect();
        BaseBuilder { inodes: Inodes::clone(&self.inodes), mounts }
    }

    /// Returns whether a mount shows a directory, and not a single file.
    pub(super) fn is_directory_mount(&self, mount: u16) -> bool {
        self.mounts.get(usize::from(mount)).is_none_or(|mount| mount.layer.is_directory(LAYER_ROOT))
    }

    /// A tree for a fresh sandbox; costs two reference counts. `now` (nanoseconds since 1970) is the time its
    /// directories show.
    #[must_use]
    pub fn tree(&self, quota: FilesQuota, now: u64) -> Tree {
        Tree::start(Arc::clone(&self.inodes), Arc::clone(&self.mounts), quota, now)
    }
}

impl Tree {
    /// A tree without layers; see [`Base::tree`].
    #[must_use]
    pub fn new(quota: FilesQuota, now: u64) -> Self {
        Base::bare().tree(quota, now)
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Base").field("layers", &self.mounts.len()).finish_non_exhaustive()
    }
}

/// A base in the making.
pub(super) struct BaseBuilder {
    pub(super) inodes: Inodes,
    mounts: Vec<Mount>,
}

impl BaseBuilder {
    /// Mounts a layer.
    pub(super) fn mount(&mut self, path: &str, layer: Arc<Layer>, purpose: Purpose) -> Result<(), FilesError> {
        let path = HostPath::parse("mount a layer at", path)?;
        let refused =
            |fault| FilesError::Refused { attempted: "mount a layer at", path: path.as_str().to_owned(), fault };
        let number = u16::try_from(self.mounts.len())
            .map_err(|_| refused(Fault::TooManyEntries { allowed: u64::from(u16::MAX) }))?;
        let parent = insert_mount(&mut self.inodes, &path, number, &layer).map_err(refused)?;
        self.mounts.push(Mount { layer, path: path.as_str().to_owned(), parent, purpose });
        Ok(())
    }

    /// Makes a directory at a path of which only the last name is new.
    pub(super) fn directory(&mut self, path: &str, owned: (u16, User)) -> Result<(), FilesError> {
        let (parent, name) = self.free_place(path)?;
        self.inodes.add_fixed_directory(parent, &name, owned);
        Ok(())
    }

    /// Makes a symbolic link at a path of which only the last name is new.
    pub(super) fn link(&mut self, path: &str, text: &str) -> Result<(), FilesError> {
        let (parent, name) = self.free_place(path)?;
        self.inodes.add_fixed_link(parent, &name, text);
        Ok(())
    }

    fn free_place(&self, path: &str) -> Result<(u32, String), FilesError> {
        let path = HostPath::parse("make", path)?;
        let refused = |fault| FilesError::Refused { attempted: "make", path: path.as_str().to_owned(), fault };
        let (above, name) = path.as_str().rsplit_once('/').unwrap_or_default();
        let mut here = 0;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            here = match self.inodes.directory(here).and_then(|directory| directory.get(name)) {
                Some(NodeId::Own(index)) => index,
                Some(NodeId::Layer { .. }) | None => return Err(refused(Fault::NotFound)),
            };
        }
        match self.inodes.directory(here).map(|directory| directory.get(name)) {
            Some(None) => Ok((here, name.to_owned())),
            Some(Some(_)) => Err(refused(Fault::Exists)),
            None => Err(refused(Fault::NotADirectory)),
        }
    }

    pub(super) fn finish(self) -> Base {
        Base { inodes: Arc::new(self.inodes), mounts: Arc::from(self.mounts) }
    }
}

/// Makes the directories above a mount and its entry; returns the directory it is in.
fn insert_mount(inodes: &mut Inodes, path: &HostPath, mount: u16, layer: &Layer) -> Result<u32, Fault> {
    let (above, name) = match path.relative_to_root().rsplit_once('/') {
        Some((above, name)) => (Some(above), name),
        None => (None, path.relative_to_root()),
    };
    let mut here = 0;
    for (depth, name) in above.iter().flat_map(|path| path.split('/')).enumerate() {
        if depth >= MAX_DEPTH / 2 {
            return Err(Fault::TooDeep);
        }
        here = match inodes.directory(here).and_then(|here| here.get(name)) {
            Some(NodeId::Own(index)) => index,
            Some(NodeId::Layer { .. }) => return Err(Fault::ReadOnly),
            None => inodes.add_fixed_directory(here, name, (0o755, User::Root)),
        };
    }
    let parent = inodes.directory_mut(here).ok_or(Fault::NotADirectory)?;
    if name == "." || parent.get(name).is_some() {
        return Err(Fault::Exists);
    }
    let root = NodeId::Layer { mount, node: LAYER_ROOT };
    parent.insert(Arc::from(name), root);
    parent.subdirectories += u32::from(layer.is_directory(LAYER_ROOT));
    Ok(here)
}

#[cfg(test)]
mod tests {
    use super::super::{FileKind, HOME, TEMPORARY};
    use super::*;
    use bytes::Bytes;

    const QUOTA: FilesQuota = FilesQuota { bytes: 10, count: 10 };

    fn layer() -> Arc<Layer> {
        Layer::new([("f", Bytes::from_static(b"x"))], 3).expect("one path")
    }

    #[test]
    fn a_fresh_tree_has_its_directories_with_the_time_it_was_made() {
        let tree = Base::bare().tree(QUOTA, 42);
        for path in [HOME, TEMPORARY, "/"] {
            let entry = tree.stat(path).expect("in every tree");
            assert_eq!((entry.kind, entry.modified), (FileKind::Directory, 42));
        }
        assert_eq!(tree.stat("/dev/null").map(|null| null.kind), Ok(FileKind::Device));
        assert_eq!(tree.usage().count, 0);
    }

    #[test]
    fn trees_of_one_base_do_not_see_each_others_files() {
        let base = Base::bare();
        let (mut one, two) = (base.tree(QUOTA, 1), base.tree(QUOTA, 2));
        one.write_file("f", b"x", 3).expect("room");
        assert!(two.stat("f").is_err() && base.tree(QUOTA, 3).stat("f").is_err());
    }

    #[test]
    fn a_layer_needs_a_free_place_outside_other_layers() {
        let mount = |paths: &[&str]| {
            let layers = paths.iter().map(|path| ((*path).to_owned(), layer()));
            Base::with_layers(layers).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(mount(&["/usr/a", "/usr/b"]), Ok(()));
        for taken in [&["/tmp"][..], &["/"], &["/a", "/a"], &["/a", "/a/b"], &["/dev/null/x"], &["/a/b", "/a"]] {
            assert!(mount(taken).is_err(), "{taken:?}");
        }
        assert_eq!(mount(&["/tmp"]), Err("could not mount a layer at \"/tmp\": already exists".to_owned()));
    }
}
