//! Finding a node by its path: names, `.` and `..`, symbolic links, and the directory a path may not leave.

use super::error::Fault;
use super::inodes::{NodeId, PARENT_POSITION, ROOT, SELF_POSITION};
use super::path::{MAX_NAME, plain};
use super::tree::{FileKind, Tree, View};
use proofbox_types::program::TESTS_DIRECTORY;

/// Symbolic links followed for one path, as on Linux.
const MAX_LINKS: u32 = 40;
/// Names looked up for one path, those of followed links included: forty links of the longest length would otherwise
/// keep the host busy for milliseconds.
const MAX_STEPS: u32 = 4096;

/// Treatment of a symbolic link at the very end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    /// Go where it leads.
    Follow,
    /// Stop at the link, unless a slash after it asks for the directory it leads to.
    Keep,
    /// Stop at the link; a slash after it is an error. For removing and renaming.
    Never,
}

/// End of the walk along a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached<'a> {
    /// An existing entry, by the name it has in its directory.
    Entry { parent: NodeId, name: &'a str, node_id: NodeId },
    /// A name its directory does not have.
    Missing {
        parent: NodeId,
        name: &'a str,
        /// The path asks for a directory.
        slash: bool,
    },
    /// A directory the path calls `.` or `..`.
    Itself { node_id: NodeId },
}

impl Reached<'_> {
    /// Returns the node of an existing file or directory.
    pub(super) fn node_id(&self) -> Result<NodeId, Fault> {
        match self {
            Reached::Entry { node_id, .. } | Reached::Itself { node_id } => Ok(*node_id),
            Reached::Missing { .. } => Err(Fault::NotFound),
        }
    }
}

/// A path that leads nowhere, with the absolute path of what it tried to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) fault: Fault,
    pub(super) target: String,
}

/// An entry of a directory as a program reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed<'a> {
    /// Reading goes on after this.
    pub(super) position: u64,
    pub(super) number: u64,
    pub(super) kind: FileKind,
    pub(super) name: &'a str,
    pub(super) node_id: NodeId,
}

/// Remaining text of a path, and of the paths whose links were followed to get here.
struct Rest<'a> {
    now: &'a str,
    later: Vec<&'a str>,
}

impl<'a> Rest<'a> {
    /// Takes the next name. `slash`: one came after it. Never called on an empty rest.
    fn next(&mut self) -> (&'a str, bool) {
        match self.now.split_once('/') {
            Some((name, rest)) => {
                self.now = rest.trim_start_matches('/');
                (name, true)
            }
            None => (std::mem::take(&mut self.now), false),
        }
    }

    /// Goes on with the path a followed link was in, if this one is used up. False: all are.
    fn refill(&mut self) -> bool {
        if self.now.is_empty() {
            self.now = self.later.pop().unwrap_or_default();
        }
        !self.now.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.now.is_empty() && self.later.is_empty()
    }

    /// Goes on with a link's text first.
    fn follow(&mut self, text: &'a str) {
        let before = std::mem::replace(&mut self.now, text);
        if !before.is_empty() {
            self.later.push(before);
        }
    }
}

impl Tree {
    /// Follows `path`, which is relative, not empty, and may not leave `base`. Climbing above the root stays there.
    pub(super) fn walk<'a>(&'a self, base: NodeId, path: &'a str, last: LastLink) -> Result<Reached<'a>, Stuck> {
        let mut rest = Rest { now: path, later: Vec::new() };
        let mut here = base;
        let mut links = 0;
        let mut linked_from_outside = false;
        let mut wants_directory = false;
        for _ in 0..MAX_STEPS {
            let (name, slash) = rest.next();
            let at_end = rest.is_empty();
            wants_directory |= at_end && slash;
            let stuck = |fault| self.stuck(fault, here, name, &rest);
            self.check_search(here).map_err(stuck)?;
            match name {
                "." => {}
                ".." if here == ROOT => {}
                ".." if here == base => return Err(stuck(Fault::Escapes)),
                ".." => here = self.parent(here),
                _ if name.len() > MAX_NAME => return Err(stuck(Fault::NameTooLong)),
                // Whoever made the link may not see what is there.
                _ if linked_from_outside && self.is_tests_directory(here, name) => return Err(stuck(Fault::NotFound)),
                _ => {
                    let Some(node_id) = self.child(here, name) else {
                        if !at_end {
                            return Err(stuck(Fault::NotFound));
                        }
                        return Ok(Reached::Missing { parent: here, name, slash: wants_directory });
                    };
                    let follow = match last {
                        LastLink::Follow => true,
                        LastLink::Keep => !at_end || wants_directory,
                        LastLink::Never => !at_end,
                    };
                    if follow && let Some(text) = self.link_text(node_id) {
                        links += 1;
                        linked_from_outside |= !self.is_within_tests(here);
                        if links > MAX_LINKS {
                            return Err(stuck(Fault::LinkLoop));
                        }
                        if text.starts_with('/') {
                            if base != ROOT {
                                rest.follow(text);
                                return Err(self.stuck(Fault::Escapes, ROOT, ".", &rest));
                            }
                            here = ROOT;
                        }
                        match text.trim_start_matches('/') {
                            "" => rest.follow("."),
                            relative => rest.follow(relative),
                        }
                        continue;
                    }
                    let directory = self.is_directory(node_id);
                    if !directory && (!at_end || wants_directory) {
                        return Err(stuck(Fault::NotADirectory));
                    }
                    if at_end {
                        return Ok(Reached::Entry { parent: here, name, node_id });
                    }
                    here = node_id;
                }
            }
            if !rest.refill() {
                return Ok(Reached::Itself { node_id: here });
            }
        }
        Err(self.stuck(Fault::LinkLoop, here, ".", &rest))
    }

    fn stuck(&self, fault: Fault, here: NodeId, name: &str, rest: &Rest<'_>) -> Stuck {
        let mut target = self.path_of(here);
        for part in [name, rest.now].into_iter().chain(rest.later.iter().rev().copied()) {
            target.push('/');
            target.push_str(part);
        }
        Stuck { fault, target: plain(&target) }
    }

    /// The absolute path of an entry.
    pub(super) fn entry_path(&self, parent: NodeId, name: &str) -> String {
        let mut path = self.path_of(parent);
        if parent != ROOT {
            path.push('/');
        }
        path.push_str(name);
        path
    }

    /// The absolute path of what was reached.
    pub(super) fn reached_path(&self, reached: &Reached<'_>) -> String {
        match reached {
            Reached::Entry { parent, name, .. } | Reached::Missing { parent, name, .. } => {
                self.entry_path(*parent, name)
            }
            Reached::Itself { node_id } => self.path_of(*node_id),
        }
    }

    fn child(&self, directory: NodeId, name: &str) -> Option<NodeId> {
        if self.hides(directory, name) {
            return None;
        }
        match directory {
            NodeId::Own(index) => self.inodes.directory(index)?.get(name),
            NodeId::Layer { mount, node } => {
                let node = self.layer(mount)?.layer.child(node, name)?;
                Some(NodeId::Layer { mount, node })
            }
        }
    }

    /// Returns whether that entry is hidden from the view that is set now.
    pub(super) fn hides(&self, directory: NodeId, name: &str) -> bool {
        self.view == View::WithoutTests && self.is_tests_directory(directory, name)
    }

    fn is_tests_directory(&self, directory: NodeId, name: &str) -> bool {
        directory == ROOT && name == TESTS_DIRECTORY
    }

    fn is_within_tests(&self, directory: NodeId) -> bool {
        let path = self.path_of(directory);
        path.trim_start_matches('/').split('/').next() == Some(TESTS_DIRECTORY)
    }

    /// The entries of a directory after `position`; zero is the start, with `.` and `..`.
    pub(super) fn listed_after(&self, directory: NodeId, position: u64) -> impl Iterator<Item = Listed<'_>> {
        let dots = [(SELF_POSITION, ".", directory), (PARENT_POSITION, "..", self.parent(directory))];
        let entries = self.entries_after(directory, position).filter(move |(_, name, _)| !self.hides(directory, name));
        dots.into_iter().filter(move |(dot, _, _)| *dot > position).chain(entries).map(|(position, name, node_id)| {
            Listed { position, number: self.number(node_id), kind: self.kind(node_id), name, node_id }
        })
    }

    fn entries_after(&self, directory: NodeId, position: u64) -> impl Iterator<Item = (u64, &str, NodeId)> {
        let (own, layer) = match directory {
            NodeId::Own(index) => (self.inodes.directory(index), None),
            NodeId::Layer { mount, node } => (None, self.layer(mount).map(|at| (mount, &at.layer, node))),
        };
        let own = own.into_iter().flat_map(move |own| own.after(position));
        let layer = layer.into_iter().flat_map(move |(mount, layer, node)| {
            // Entries of a layer never change, so their positions are simply counted.
            let first = PARENT_POSITION + 1;
            let skipped = (position + 1).saturating_sub(first);
            layer
                .children(node)
                .zip(first..)
                .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
                .map(move |((name, node), position)| (position, name, NodeId::Layer { mount, node }))
        });
        own.chain(layer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, USER};
    use super::super::tree::View;
    use super::super::{Descriptors, Errno};

    #[test]
    fn climbing_above_the_root_stays_at_the_root() {
        let mut guest = Guest::new();
        let root = guest.stat(".").expect("there").number;
        assert_eq!(guest.stat("home/user/../../../..").map(|stat| stat.number), Ok(root));
        assert_eq!(guest.stat("../../tmp/../home/user/.").map(|stat| stat.file_type), Ok(3));
        assert_eq!(guest.stat("home/user/../../../etc/passwd"), Err(Errno::NoEnt));
    }

    #[test]
    fn links_from_elsewhere_never_lead_into_the_tests() {
        let mut tests = Guest::new();
        let mut candidate =
            Guest::with_descriptors(Descriptors::new(&tests.tree().with_view(View::WithoutTests), USER));
        tests.mkdir("tests").expect("free");
        tests.mkdir("tests/data").expect("free");
        tests.open("tests/data/want", "w").expect("created");
        tests.symlink("/tests/data", "tests/own").expect("free");
        candidate.symlink("/tests/data/want", "tmp/file").expect("free");
        candidate.symlink("../tests/data", "tmp/directory").expect("free");
        candidate.symlink("/", "tmp/root").expect("free");
        for path in ["tmp/file", "tmp/directory/want", "tmp/directory", "tmp/root/tests/data/want", "tests/../tmp/file"]
        {
            assert_eq!(tests.open(path, "r"), Err(Errno::NoEnt), "{path}");
            assert_eq!(tests.open(path, "w"), Err(Errno::NoEnt), "{path}");
        }
        assert!(tests.open("tests/own/want", "r").is_ok() && tests.open("tmp/../tests/data/want", "r").is_ok());
        assert!(tests.stat("tmp/root/tmp/root").is_ok());
    }

    #[test]
    fn a_path_never_leaves_the_directory_it_is_relative_to() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        guest.mkdir("tmp/d/e").expect("free");
        guest.symlink("/tmp", "tmp/d/absolute").expect("free");
        guest.symlink("../..", "tmp/d/climbing").expect("free");
        guest.symlink("e/../e", "tmp/d/staying").expect("free");
        let fd = guest.open("tmp/d", "d").expect("there");
        for path in ["..", "e/../..", "absolute", "climbing", "absolute/d"] {
            assert_eq!(guest.open_in(fd, path, "d"), Err(Errno::NotCapable), "{path}");
        }
        for path in [".", "e/..", "staying"] {
            assert!(guest.open_in(fd, path, "d").is_ok(), "{path}");
        }
    }

    #[test]
    fn links_lead_on_absolute_and_relative_and_through_each_other() {
        let mut guest = Guest::new();
        guest.mkdir("home/user/d").expect("free");
        guest.open("home/user/d/f", "w").expect("created");
        guest.symlink("d", "home/user/one").expect("free");
        guest.symlink("/home/user/one", "tmp/two").expect("free");
        guest.symlink("two/../d/./f", "tmp/three").expect("free");
        let file = guest.stat("home/user/d/f").expect("there").number;
        for path in ["tmp/two/f", "tmp/three", "home/user/one/../d/f"] {
            assert_eq!(guest.stat(path).map(|stat| stat.number), Ok(file), "{path}");
        }
        assert_eq!(guest.stat_with("tmp/three", 0).map(|stat| stat.file_type), Ok(7));
        assert_eq!(guest.stat_with("tmp/two/", 0).map(|stat| stat.file_type), Ok(3));
    }

    #[test]
    fn links_in_a_circle_or_too_long_a_chain_end_in_eloop() {
        let mut guest = Guest::new();
        guest.symlink("b", "tmp/a").expect("free");
        guest.symlink("a", "tmp/b").expect("free");
        assert_eq!(guest.stat("tmp/a"), Err(Errno::Loop));
        assert_eq!(guest.stat("tmp/a/x"), Err(Errno::Loop));
        assert_eq!(guest.open("tmp/a", "w"), Err(Errno::Loop));
        guest.symlink("self/self", "tmp/self").expect("free");
        assert_eq!(guest.stat("tmp/self"), Err(Errno::Loop));
        for number in 0..45 {
            let text = format!("{}", number + 1);
            guest.symlink(&text, &format!("tmp/{number}")).expect("free");
        }
        guest.mkdir("tmp/45").expect("free");
        assert_eq!(guest.stat("tmp/5").map(|stat| stat.file_type), Ok(3));
        assert_eq!(guest.stat("tmp/4"), Err(Errno::Loop));
    }

    #[test]
    fn one_path_looks_up_a_bounded_number_of_names() {
        let mut guest = Guest::new();
        let long = "./".repeat(2000);
        guest.symlink(&format!("{long}b"), "tmp/a").expect("free");
        guest.symlink(&format!("{long}c"), "tmp/b").expect("free");
        guest.symlink(&format!("{long}."), "tmp/c").expect("free");
        assert_eq!(guest.stat("tmp/b").map(|stat| stat.file_type), Ok(3));
        assert_eq!(guest.stat("tmp/a"), Err(Errno::Loop));
    }

    #[test]
    fn names_paths_and_their_bytes_are_checked() {
        let mut guest = Guest::new();
        let long = "n".repeat(256);
        assert_eq!(guest.stat(&format!("tmp/{long}")), Err(Errno::NameTooLong));
        assert_eq!(guest.mkdir(&format!("tmp/{long}")), Err(Errno::NameTooLong));
        assert_eq!(guest.mkdir(&format!("tmp/{}", &long[1..])), Ok(()));
        assert_eq!(guest.stat(&"a/".repeat(2049)), Err(Errno::NameTooLong));
        assert_eq!(guest.stat(""), Err(Errno::NoEnt));
        assert_eq!(guest.stat("tmp/a\0b"), Err(Errno::Inval));
        assert_eq!(guest.stat("/tmp"), Err(Errno::NotCapable));
    }

    #[test]
    fn a_slash_after_a_file_asks_for_a_directory() {
        let mut guest = Guest::new();
        guest.open("tmp/f", "w").expect("created");
        guest.symlink("f", "tmp/l").expect("free");
        for path in ["tmp/f/", "tmp/f/.", "tmp/f/x", "tmp/l/", "tmp/f///"] {
            assert_eq!(guest.stat(path), Err(Errno::NotDir), "{path}");
        }
        assert_eq!(guest.stat("tmp///").map(|stat| stat.file_type), Ok(3));
        assert_eq!(guest.open("tmp/new/", "w"), Err(Errno::IsDir));
        assert_eq!(guest.mkdir("tmp/new/"), Ok(()));
    }
}
