//! A read-only layer: files every sandbox sees and none can change, such as installed packages. All belong to root.

use super::error::Fault;
use super::error::PathFault;
use super::path::{MAX_DEPTH, MAX_NAME};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Index of a layer's own root directory in it.
pub(super) const LAYER_ROOT: u32 = 0;

/// Files and directories that never change, made once and shared by every tree they are mounted in.
pub struct Layer {
    nodes: Vec<LayerNode>,
    modified: u64,
    /// Permission bits of its files.
    file_mode: u16,
}

struct LayerNode {
    name: Arc<str>,
    parent: u32,
    kind: LayerKind,
}

enum LayerKind {
    Directory(Names),
    File(Bytes),
    /// A file whose content is made when it is read.
    Live(LiveContent),
}

/// Makes the content of a file of the tree that was made at a time, in nanoseconds since 1970.
pub(super) type LiveContent = fn(born: u64) -> String;

impl LayerNode {
    fn root(kind: LayerKind) -> Self {
        Self { name: Arc::from(""), parent: LAYER_ROOT, kind }
    }
}

#[derive(Default)]
struct Names {
    /// Names in order, with their nodes.
    nodes: BTreeMap<Arc<str>, u32>,
    /// Number of directories among them.
    subdirectories: u64,
}

/// Most directories inside each other in one layer; with those above its mount they stay within [`MAX_DEPTH`].
const LAYER_DEPTH: usize = MAX_DEPTH / 2;

/// Reason for which a set of files makes no layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A path cannot be used.
    #[error("layer path {path:?}: {reason}")]
    BadPath {
        /// The path as it was given.
        path: String,
        /// Fault of the path.
        reason: PathFault,
    },
    /// Two paths contradict each other, or one is nested too deeply.
    #[error("layer path {path:?}: {fault}")]
    Conflict {
        /// The path that could not be added.
        path: String,
        /// Reason for the conflict.
        fault: Fault,
    },
    /// More files and directories than a layer can number.
    #[error("a layer holds at most {} files and directories", u32::MAX)]
    TooMany,
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Layer").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Layer {
    /// Makes a layer of files. Paths are relative to the directory the layer will be mounted at; directories on the way
    /// are made. `modified` (nanoseconds since 1970) is the time every entry shows.
    ///
    /// # Errors
    ///
    /// Returns an error for a path that is empty, absolute, climbs or is too long; the same file twice; a file where
    /// another path needs a directory.
    pub fn new<P: AsRef<str>>(
        files: impl IntoIterator<Item = (P, Bytes)>,
        modified: u64,
    ) -> Result<Arc<Self>, LayerError> {
        let mut layer = Self::of_directory(modified, 0o644);
        for (path, bytes) in files {
            layer.add(path.as_ref(), LayerKind::File(bytes))?;
        }
        Ok(Arc::new(layer))
    }

    fn of_directory(modified: u64, file_mode: u16) -> Self {
        Self { nodes: vec![LayerNode::root(LayerKind::Directory(Names::default()))], modified, file_mode }
    }

    /// Makes a layer of empty files that can be executed.
    pub(super) fn of_programs(names: &[&str]) -> Result<Arc<Self>, LayerError> {
        let mut layer = Self::of_directory(0, 0o755);
        for name in names {
            layer.add(name, LayerKind::File(Bytes::new()))?;
        }
        Ok(Arc::new(layer))
    }

    /// Makes a layer of files whose content is made when they are read.
    pub(super) fn of_live_files(files: &[(&str, LiveContent)]) -> Result<Arc<Self>, LayerError> {
        let mut layer = Self::of_directory(0, 0o444);
        for (path, content) in files {
            layer.add(path, LayerKind::Live(*content))?;
        }
        Ok(Arc::new(layer))
    }

    /// Makes a layer of one file, which is mounted as such.
    pub(super) fn of_file(content: String) -> Arc<Self> {
        let file = LayerNode::root(LayerKind::File(Bytes::from(content)));
        Arc::new(Self { nodes: vec![file], modified: 0, file_mode: 0o644 })
    }

    fn add(&mut self, path: &str, kind: LayerKind) -> Result<(), LayerError> {
        check(path).map_err(|reason| LayerError::BadPath { path: path.to_owned(), reason })?;
        let conflict = |fault| LayerError::Conflict { path: path.to_owned(), fault };
        let (directories, name) = match path.rsplit_once('/') {
            Some((directories, name)) => (Some(directories), name),
            None => (None, path),
        };
        let mut here = LAYER_ROOT;
        for (depth, name) in directories.iter().flat_map(|path| path.split('/')).enumerate() {
            if depth >= LAYER_DEPTH {
                return Err(conflict(Fault::TooDeep));
            }
            here = match self.child(here, name) {
                Some(node) => node,
                None => self.insert(here, name, LayerKind::Directory(Names::default()))?,
            };
            if !self.is_directory(here) {
                return Err(conflict(Fault::NotADirectory));
            }
        }
        if self.child(here, name).is_some() {
            return Err(conflict(Fault::Exists));
        }
        self.insert(here, name, kind)?;
        Ok(())
    }

    fn insert(&mut self, parent: u32, name: &str, kind: LayerKind) -> Result<u32, LayerError> {
        let node = u32::try_from(self.nodes.len()).map_err(|_| LayerError::TooMany)?;
        let name: Arc<str> = Arc::from(name);
        if let Some(LayerNode { kind: LayerKind::Directory(names), .. }) = self.nodes.get_mut(parent as usize) {
            names.nodes.insert(Arc::clone(&name), node);
            match kind {
                LayerKind::Directory(_) => names.subdirectories += 1,
                LayerKind::File(_) | LayerKind::Live(_) => {}
            }
        }
        self.nodes.push(LayerNode { name, parent, kind });
        Ok(node)
    }

    fn names(&self, directory: u32) -> Option<&Names> {
        match &self.nodes.get(directory as usize)?.kind {
            LayerKind::Directory(names) => Some(names),
            LayerKind::File(_) | LayerKind::Live(_) => None,
        }
    }

    pub(super) fn child(&self, directory: u32, name: &str) -> Option<u32> {
        self.names(directory)?.nodes.get(name).copied()
    }

    pub(super) fn is_directory(&self, node: u32) -> bool {
        self.names(node).is_some()
    }

    /// The content of a file in a tree made at `born`; none for a directory.
    pub(super) fn bytes(&self, node: u32, born: u64) -> Option<Bytes> {
        match &self.nodes.get(node as usize)?.kind {
            LayerKind::Directory(_) => None,
            LayerKind::File(bytes) => Some(bytes.clone()),
            LayerKind::Live(content) => Some(Bytes::from(content(born))),
        }
    }

    /// Size that a file shows; none for a directory. Live files have none to show, as in `/proc`.
    pub(super) fn size(&self, node: u32) -> Option<u64> {
        match &self.nodes.get(node as usize)?.kind {
            LayerKind::Directory(_) => None,
            LayerKind::File(bytes) => Some(bytes.len() as u64),
            LayerKind::Live(_) => Some(0),
        }
    }

    /// Permission bits of a node.
    pub(super) fn mode(&self, node: u32) -> u16 {
        match self.is_directory(node) {
            true => 0o755,
            false => self.file_mode,
        }
    }

    /// Returns whether the layer has such a node.
    pub(super) fn has(&self, node: u32) -> bool {
        (node as usize) < self.nodes.len()
    }

    /// The directory that holds `node`; the root is its own.
    pub(super) fn parent(&self, node: u32) -> u32 {
        match self.nodes.get(node as usize) {
            Some(node) => node.parent,
            None => LAYER_ROOT,
        }
    }

    pub(super) fn name(&self, node: u32) -> &str {
        match self.nodes.get(node as usize) {
            Some(node) => &node.name,
            None => "",
        }
    }

    pub(super) fn modified(&self) -> u64 {
        self.modified
    }

    /// Directories directly inside `node`.
    pub(super) fn subdirectories(&self, node: u32) -> u64 {
        self.names(node).map_or(0, |names| names.subdirectories)
    }

    /// The entries of a directory in the order of their names, which never changes.
    pub(super) fn children(&self, directory: u32) -> impl Iterator<Item = (&str, u32)> {
        self.names(directory).into_iter().flat_map(|names| &names.nodes).map(|(name, node)| (&**name, *node))
    }
}

fn check(path: &str) -> Result<(), PathFault> {
    if path.contains('\0') {
        return Err(PathFault::Nul);
    }
    if path.len() > super::path::MAX_PATH / 2 {
        return Err(PathFault::TooLong);
    }
    for name in path.split('/') {
        match name {
            "" | "." => return Err(PathFault::Empty),
            ".." => return Err(PathFault::AboveRoot),
            _ if name.len() > MAX_NAME => return Err(PathFault::NameTooLong),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(paths: &[&str]) -> Result<Arc<Layer>, LayerError> {
        Layer::new(paths.iter().map(|path| (*path, Bytes::from_static(b"x"))), 5)
    }

    #[test]
    fn directories_on_the_way_are_made_once() {
        let layer = layer(&["a/b/one.py", "a/two.py", "a/b/three.py"]).expect("paths agree");
        let a = layer.child(LAYER_ROOT, "a").expect("made");
        let names: Vec<&str> = layer.children(a).map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "two.py"]);
        assert_eq!(layer.subdirectories(a), 1);
    }

    #[test]
    fn paths_that_contradict_each_other_or_climb_make_no_layer() {
        let refused = |paths: &[&str]| layer(paths).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(refused(&["a", "a/b"]), Err("layer path \"a/b\": not a directory".to_owned()));
        assert_eq!(refused(&["a/b", "a"]), Err("layer path \"a\": already exists".to_owned()));
        assert_eq!(refused(&["../a"]), Err("layer path \"../a\": the path climbs above the root".to_owned()));
        assert!(refused(&["/a"]).is_err() && refused(&["a//b"]).is_err());
    }
}
