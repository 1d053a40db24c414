//! The record of what a guest tried to reach, and which file operations belong in it.

use super::errno::Errno;
use super::inodes::ROOT;
use super::mount::Purpose;
use super::path::{HOME, TEMPORARY, is_within};
use super::tree::Tree;
use super::walk::LastLink;
use proofbox_types::outcome::{Attempt, AttemptKind};
use serde::{Deserialize, Serialize};

/// Maximum number of different attempts in the list; what a guest does more of is only counted.
pub const MAX_ATTEMPTS: usize = 128;
/// Bytes kept of a target.
pub const MAX_TARGET: usize = 256;
/// Bytes kept of an operation's name.
const MAX_OPERATION: usize = 64;

/// Attempts of one run: at most [`MAX_ATTEMPTS`] different things, in the order they were first tried.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attempts {
    attempts: Vec<Attempt>,
    dropped: u64,
}

/// Decision of the boundary on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The attempt reached what it was for.
    Allowed,
    /// The attempt was refused.
    Refused,
}

impl Attempts {
    /// Notes one attempt. Once the list is full, those not in it are only counted, but a refused one still takes the
    /// place of an allowed one: a thousand files of its own must not hide what a program tried to reach.
    pub fn record(&mut self, kind: AttemptKind, operation: &str, target: &str, access: Access) {
        let allowed = access == Access::Allowed;
        let operation = cut(operation, MAX_OPERATION);
        let target = cut(target, MAX_TARGET);
        let known = self.attempts.iter_mut().find(|known| {
            known.kind == kind && known.allowed == allowed && known.target == target && known.operation == operation
        });
        if let Some(known) = known {
            known.count = known.count.saturating_add(1);
        } else if self.attempts.len() < MAX_ATTEMPTS || (!allowed && self.drop_allowed()) {
            self.attempts.push(Attempt {
                kind,
                operation: operation.to_owned(),
                target: target.to_owned(),
                allowed,
                count: 1,
            });
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Makes room by dropping the last attempt that was allowed, if there is one.
    fn drop_allowed(&mut self) -> bool {
        match self.attempts.iter().rposition(|attempt| attempt.allowed) {
            Some(position) => {
                let count = self.attempts.remove(position).count;
                self.dropped = self.dropped.saturating_add(count);
                true
            }
            None => false,
        }
    }

    /// The attempts, in the order they were first made.
    #[must_use]
    pub fn list(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns the number of attempts that are missing because the list was full.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        self.dropped
    }

    /// Notes a file operation, if it belongs in the record.
    pub(super) fn record_file(&mut self, area: Area, act: Act, target: &str, result: Result<(), Errno>) {
        let access = if result.is_ok() { Access::Allowed } else { Access::Refused };
        if is_recorded(area, act.weight(), access) {
            self.record(AttemptKind::File, act.name(), target, access);
        }
    }
}

/// Refused attempts of a record.
pub struct Refusals<'a> {
    tree: &'a Tree,
    attempts: &'a [Attempt],
    dropped: u64,
}

impl<'a> Refusals<'a> {
    /// Takes the refusals among `attempts`, of which `dropped` more are not listed.
    pub fn new(tree: &'a Tree, attempts: &'a [Attempt], dropped: u64) -> Self {
        Self { tree, attempts, dropped }
    }

    /// Returns whether refusals may be missing. A refusal takes the place of what was allowed, so long as there is any.
    fn are_dropped(&self) -> bool {
        let is_use = |attempt: &Attempt| matches!(attempt.kind, AttemptKind::Time | AttemptKind::Entropy);
        self.dropped > 0 && self.attempts.iter().all(|attempt| !attempt.allowed || is_use(attempt))
    }

    /// Returns whether a refused attempt would have reached beyond the sandbox. True of a record full of refusals,
    /// which can't rule that out.
    pub fn of_reaching_out(&self) -> bool {
        let reaches_out = |kind| matches!(kind, AttemptKind::Network | AttemptKind::Process);
        self.are_dropped() || self.attempts.iter().any(|attempt| !attempt.allowed && reaches_out(attempt.kind))
    }

    /// Returns whether a refused operation was on what the absolute `path` leads to, links followed as they are now.
    pub fn on_path(&self, path: &str) -> bool {
        let target = match path.trim_start_matches('/') {
            "" => "/".to_owned(),
            relative => match self.tree.walk(ROOT, relative, LastLink::Follow) {
                Ok(reached) => self.tree.reached_path(&reached),
                Err(stuck) => stuck.target,
            },
        };
        let software = self.tree.mounts.iter().filter(|mount| mount.purpose == Purpose::Software);
        let outside = || Area::of(&target, software.map(|mount| &*mount.path)) == Area::Outside;
        let kept = cut(&target, MAX_TARGET);
        let listed =
            |attempt: &Attempt| attempt.kind == AttemptKind::File && !attempt.allowed && attempt.target == kept;
        self.attempts.iter().any(listed) || self.are_dropped() && outside()
    }
}

/// `text` up to the last whole character that fits.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Part of the tree that a path is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    /// The working directory and `/tmp`: the program's own.
    Own,
    /// A read-only layer of packages or programs: imports look around here.
    Layer,
    /// Paths of neither kind: a program that keeps to itself has no business here.
    Outside,
}

impl Area {
    /// The area an absolute plain path is in; `layers` are the paths layers are mounted at.
    pub(super) fn of<'a>(path: &str, layers: impl IntoIterator<Item = &'a str>) -> Self {
        if is_within(path, HOME) || is_within(path, TEMPORARY) {
            return Area::Own;
        }
        match layers.into_iter().any(|layer| is_within(path, layer)) {
            true => Area::Layer,
            false => Area::Outside,
        }
    }
}

/// A file operation as the record names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Stat,
    ReadLink,
    Open,
    OpenToWrite,
    OpenDirectory,
    Create,
    MakeDirectory,
    Link,
    Symlink,
    Delete,
    RemoveDirectory,
    Rename,
    SetTimes,
    SetMode,
    SetOwner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Queries without reading, such as `stat`.
    Look,
    /// Lists the entries of a directory.
    List,
    /// Gets at the content of a file.
    Open,
    /// Changes files, names or times.
    Change,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Act::Stat => "stat",
            Act::ReadLink => "readlink",
            Act::Open | Act::OpenToWrite | Act::OpenDirectory => "open",
            Act::Create => "create",
            Act::MakeDirectory => "mkdir",
            Act::Link => "link",
            Act::Symlink => "symlink",
            Act::Delete => "delete",
            Act::RemoveDirectory => "rmdir",
            Act::Rename => "rename",
            Act::SetTimes => "utime",
            Act::SetMode => "chmod",
            Act::SetOwner => "chown",
        }
    }

    fn weight(self) -> Weight {
        match self {
            Act::Stat | Act::ReadLink => Weight::Look,
            Act::OpenDirectory => Weight::List,
            Act::Open => Weight::Open,
            Act::OpenToWrite
            | Act::Create
            | Act::MakeDirectory
            | Act::Link
            | Act::Symlink
            | Act::Delete
            | Act::RemoveDirectory
            | Act::Rename
            | Act::SetTimes
            | Act::SetMode
            | Act::SetOwner => Weight::Change,
        }
    }
}

/// Decides whether an operation is recorded. Operations that imports do all the time are not: looking for modules in
/// the program's own directories and in layers.
fn is_recorded(area: Area, weight: Weight, access: Access) -> bool {
    match (area, weight) {
        (Area::Own, Weight::Look | Weight::List) => false,
        (Area::Own, Weight::Open | Weight::Change) => access == Access::Allowed,
        (Area::Layer, Weight::Look | Weight::List | Weight::Open) => false,
        (Area::Outside, Weight::Look) => access == Access::Refused,
        (Area::Layer, Weight::Change) | (Area::Outside, Weight::List | Weight::Open | Weight::Change) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_attempt_again_is_counted_not_listed_again() {
        let mut attempts = Attempts::default();
        for _ in 0..3 {
            attempts.record(AttemptKind::Network, "connect", "example.com:80", Access::Refused);
        }
        attempts.record(AttemptKind::Network, "connect", "example.com:80", Access::Allowed);
        let counts: Vec<u64> = attempts.list().iter().map(|attempt| attempt.count).collect();
        assert_eq!(counts, [3, 1]);
    }

    #[test]
    fn a_million_different_attempts_keep_the_first_128_and_count_the_rest() {
        let mut attempts = Attempts::default();
        for number in 0..1_000 {
            attempts.record(AttemptKind::File, "open", &format!("/etc/{number}"), Access::Refused);
        }
        attempts.record(AttemptKind::File, "open", "/etc/0", Access::Refused);
        assert_eq!(attempts.list().len(), 128);
        assert_eq!((attempts.list()[0].count, attempts.dropped_count()), (2, 872));
    }

    #[test]
    fn what_was_refused_is_not_hidden_by_what_was_allowed() {
        let mut attempts = Attempts::default();
        for number in 0..500 {
            attempts.record(AttemptKind::File, "create", &format!("/tmp/{number}"), Access::Allowed);
        }
        attempts.record(AttemptKind::File, "open", "/etc/shadow", Access::Refused);
        let last = &attempts.list()[127];
        assert_eq!((&*last.target, attempts.list().len()), ("/etc/shadow", 128));
        assert_eq!(attempts.dropped_count(), 500 + 1 - 128);
    }

    #[test]
    fn a_long_target_is_cut_between_characters() {
        let mut attempts = Attempts::default();
        attempts.record(AttemptKind::File, "open", &"€".repeat(100), Access::Refused);
        assert_eq!(attempts.list()[0].target, "€".repeat(85));
    }

    #[test]
    fn a_record_full_of_refusals_may_have_dropped_one_and_another_has_not() {
        let tree = super::super::base::Base::bare().tree(super::super::FilesQuota { bytes: 0, count: 0 }, 0);
        let refused_of = |allowed: usize, refused: usize| {
            let mut attempts = Attempts::default();
            (0..allowed)
                .for_each(|n| attempts.record(AttemptKind::File, "create", &format!("/tmp/{n}"), Access::Allowed));
            (0..refused)
                .for_each(|n| attempts.record(AttemptKind::File, "open", &format!("/etc/{n}"), Access::Refused));
            let refusals = Refusals::new(&tree, attempts.list(), attempts.dropped_count());
            let on = |path| refusals.on_path(path);
            (refusals.of_reaching_out(), on("/etc/0"), on("/etc/other"), on("/home/user/other"))
        };
        assert_eq!(refused_of(200, 1), (false, true, false, false));
        assert_eq!(refused_of(200, 200), (true, true, true, false));
    }

    #[test]
    fn an_attempt_reads_as_the_contract_says() {
        let area = Area::of("/etc/passwd", ["/usr/lib"]);
        let mut attempts = Attempts::default();
        attempts.record_file(area, Act::Open, "/etc/passwd", Err(Errno::NoEnt));
        let attempt = &attempts.list()[0];
        assert_eq!(
            (attempt.kind, &*attempt.operation, &*attempt.target, attempt.allowed, attempt.count),
            (AttemptKind::File, "open", "/etc/passwd", false, 1)
        );
    }

    #[test]
    fn in_its_own_directories_only_opens_and_changes_that_happen_are_recorded() {
        let own = |act: Act, access| is_recorded(Area::of("/tmp/x", []), act.weight(), access);
        assert!(own(Act::Create, Access::Allowed));
        assert!(own(Act::Open, Access::Allowed));
        assert!(!own(Act::Open, Access::Refused));
        assert!(!own(Act::Stat, Access::Refused));
        assert!(!own(Act::OpenDirectory, Access::Allowed));
    }

    #[test]
    fn outside_everything_but_a_successful_look_is_recorded() {
        let outside = |act: Act, access| is_recorded(Area::of("/etc/x", []), act.weight(), access);
        assert!(outside(Act::Stat, Access::Refused));
        assert!(!outside(Act::Stat, Access::Allowed));
        assert!(outside(Act::OpenDirectory, Access::Allowed));
        assert!(outside(Act::Create, Access::Allowed));
        assert!(outside(Act::Delete, Access::Refused));
    }

    #[test]
    fn in_a_layer_only_attempts_to_change_it_are_recorded() {
        let layer = |act: Act, access| is_recorded(Area::of("/usr/lib/x", ["/usr/lib"]), act.weight(), access);
        assert!(!layer(Act::Open, Access::Allowed));
        assert!(!layer(Act::Stat, Access::Refused));
        assert!(layer(Act::Create, Access::Refused));
        assert!(layer(Act::OpenToWrite, Access::Refused));
    }
}
