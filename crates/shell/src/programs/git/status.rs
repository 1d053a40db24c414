//! Subcommand `status`, and the differences between commit, index and work tree.

use super::object::{Entry, Files, Id};
use super::objects::Commit;
use super::output::Output;
use super::repository::{Operands, Repository};
use super::worktree::Looked;
use super::{Outcome, fatal, grow};
use crate::bounds::Held;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Deref;

/// Differences between two sets of files, in memory that is counted: a letter for each path, and where a renamed one was.
pub(super) struct Changes {
    by_path: BTreeMap<String, (char, Option<String>)>,
    _held: Held,
}

impl Deref for Changes {
    type Target = BTreeMap<String, (char, Option<String>)>;

    fn deref(&self) -> &Self::Target {
        &self.by_path
    }
}

/// Set of commits, in memory that is counted.
pub(super) struct Commits {
    pub(super) ids: HashSet<Id>,
    _held: Held,
}

/// State of a work tree.
pub(super) struct Status {
    pub(super) staged: Changes,
    pub(super) unstaged: Changes,
    pub(super) untracked: BTreeSet<String>,
}

/// Returns a path as it is shown: quoted where it has characters that could be taken for others.
pub(super) fn quote(path: &str) -> String {
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(is_plain) {
        return path.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', byte as char]),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            byte if is_plain(byte) => quoted.push(byte as char),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "\""
}

/// Returns a path as it is seen from a directory; both are below the work tree.
fn seen_from(directory: &str, path: &str) -> String {
    let (mut directory, mut rest) = (directory, path);
    while let (false, Some((name, below))) = (directory.is_empty(), rest.split_once('/')) {
        let (first, others) = directory.split_once('/').unwrap_or((directory, ""));
        if first != name {
            break;
        }
        (directory, rest) = (others, below);
    }
    let ups = if directory.is_empty() { 0 } else { 1 + directory.matches('/').count() };
    let seen = "../".repeat(ups) + rest;
    if seen.is_empty() { "./".to_owned() } else { seen }
}

impl Repository<'_> {
    /// Compares files. A file that is gone and one that is new with the same content are one that was renamed.
    pub(super) async fn compare(
        &self,
        old: &BTreeMap<String, Entry>,
        new: &BTreeMap<String, Entry>,
    ) -> Outcome<Changes> {
        let mut held = self.hold(0)?;
        let mut changes = BTreeMap::new();
        let mut gone: BTreeMap<Id, Vec<&String>> = BTreeMap::new();
        for (path, entry) in old {
            self.shell.step(1).await?;
            if !new.contains_key(path) {
                grow(&mut held, path.len() + 250)?;
                gone.entry(entry.id).or_default().push(path);
                changes.insert(path.clone(), ('D', None));
            }
        }
        for (path, entry) in new {
            self.shell.step(1).await?;
            let change = match old.get(path) {
                Some(known) if known == entry => continue,
                Some(known) if known.mode & 0o170_000 != entry.mode & 0o170_000 => ('T', None),
                Some(_) => ('M', None),
                None => match gone.get_mut(&entry.id).and_then(Vec::pop) {
                    Some(from) => {
                        changes.remove(from);
                        ('R', Some(from.clone()))
                    }
                    None => ('A', None),
                },
            };
            grow(&mut held, path.len() + change.1.as_ref().map_or(0, String::len) + 150)?;
            changes.insert(path.clone(), change);
        }
        Ok(Changes { by_path: changes, _held: held })
    }

    /// Lists the files of a commit; none for no commit.
    pub(super) async fn files_of(&self, commit: Option<Id>) -> Outcome<Files> {
        match commit {
            Some(id) => {
                let tree = self.read_commit(id).await?.tree;
                self.flatten(tree).await
            }
            None => Ok(Files::new(self.hold(0)?)),
        }
    }

    pub(super) async fn look(&self) -> Outcome<Status> {
        let index = self.read_index().await?;
        let head = self.files_of(self.head().await?).await?;
        let mut present = self.scan(&index.entries, &Operands::all(), Looked::In(&[&index.entries])).await?;
        self.shell.step(1 + (index.entries.len() + head.entries.len()) as u64).await?;
        let mut untracked = BTreeSet::new();
        for path in present.entries.keys() {
            self.shell.step(1).await?;
            if !index.entries.contains_key(path) {
                untracked.insert(self.untracked_name(path, &index.entries));
            }
        }
        self.retain(&mut present, |path| index.entries.contains_key(path)).await?;
        Ok(Status {
            staged: self.compare(&head.entries, &index.entries).await?,
            unstaged: self.compare(&index.entries, &present.entries).await?,
            untracked,
        })
    }

    /// Returns the highest directory around a path that has no file of the index, or the path.
    fn untracked_name(&self, path: &str, index: &BTreeMap<String, Entry>) -> String {
        let above = path.match_indices('/').map(|(at, _)| &path[..=at]);
        let is_untracked = |above: &&str| {
            let next = index.range((*above).to_owned()..).next();
            next.is_none_or(|(known, _)| !known.starts_with(above))
        };
        above.into_iter().find(is_untracked).unwrap_or(path).to_owned()
    }

    /// Counts the commits of each of two histories that the other does not have.
    pub(super) async fn ahead_and_behind(&self, here: Id, there: Id) -> Outcome<(usize, usize)> {
        let (ours, theirs) = (self.ancestors(here).await?, self.ancestors(there).await?);
        Ok((ours.ids.difference(&theirs.ids).count(), theirs.ids.difference(&ours.ids).count()))
    }

    /// Returns a commit and all before it.
    pub(super) async fn ancestors(&self, id: Id) -> Outcome<Commits> {
        let mut found = HashSet::new();
        let mut held = self.hold(0)?;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            self.shell.step(1).await?;
            if found.insert(id) {
                let parents = self.read_commit(id).await?.parents;
                grow(&mut held, 100 + 32 * parents.len())?;
                open.extend(parents);
            }
        }
        Ok(Commits { ids: found, _held: held })
    }

    /// Returns the latest commit that two histories share.
    pub(super) async fn merge_base(&self, here: Id, there: Id) -> Outcome<Option<Id>> {
        let (mut common, theirs) = (self.ancestors(here).await?, self.ancestors(there).await?);
        common.ids.retain(|id| theirs.ids.contains(id));
        // No other of them has it as a parent.
        let mut parents = HashSet::new();
        let mut held = self.hold(0)?;
        for id in &common.ids {
            let commit = self.read_commit(*id).await?;
            grow(&mut held, 64 * commit.parents.len())?;
            parents.extend(commit.parents);
        }
        let mut latest: Option<(i64, Id)> = None;
        for id in common.ids.difference(&parents) {
            let seconds = Commit::seconds(&self.read_commit(*id).await?.committer);
            latest = latest.max(Some((seconds, *id)));
        }
        Ok(latest.map(|(_, id)| id))
    }

    /// Returns `...upstream [ahead 1]`, where the branch follows another.
    async fn tracking(&self, branch: &str) -> Outcome<String> {
        let Ok((_, full)) = self.upstream_name(branch).await else { return Ok(String::new()) };
        let short = full.strip_prefix("refs/remotes/").or_else(|| full.strip_prefix("refs/heads/")).unwrap_or(&full);
        let (Some(here), Some(there)) = (self.head().await?, self.reference(&full).await?) else {
            return Ok(format!("...{short} [gone]"));
        };
        let counts = match self.ahead_and_behind(here, there).await? {
            (0, 0) => String::new(),
            (ahead, 0) => format!(" [ahead {ahead}]"),
            (0, behind) => format!(" [behind {behind}]"),
            (ahead, behind) => format!(" [ahead {ahead}, behind {behind}]"),
        };
        Ok(format!("...{short}{counts}"))
    }

    pub(super) async fn status(&self, arguments: &[String]) -> Outcome<i32> {
        let git = self.git();
        let long = [
            ("porcelain", 'p'),
            ("short", 's'),
            ("branch", 'b'),
            ("long", 'L'),
            ("untracked-files", 'u'),
            ("ignored", 'i'),
            ("null", 'z'),
            ("verbose", 'v'),
        ];
        // `--porcelain` may have a value.
        let words: Vec<String> = arguments.iter().map(|word| word.replace("--porcelain=v", "--porcelain=")).collect();
        if words.iter().any(|word| word == "--porcelain=2") {
            return fatal("porcelain version 2 is not written here");
        }
        let words: Vec<String> = words
            .into_iter()
            .map(|word| if word == "--porcelain=1" { "--porcelain".to_owned() } else { word })
            .collect();
        let hides_untracked = words.iter().any(|word| word == "-uno" || word == "--untracked-files=no");
        let words: Vec<String> =
            words.into_iter().filter(|word| !word.starts_with("-u") && !word.starts_with("--untracked")).collect();
        let given = git.options("status", &words, "sbzv", &long).await?;
        let mut status = self.look().await?;
        if hides_untracked {
            status.untracked.clear();
        }
        let branch = self.current_branch().await?;
        if !given.has('p') && !given.has('s') && !given.has('z') {
            return self.long_status(&status, branch.as_deref()).await;
        }
        let mut text = String::new();
        let (end, is_plain) = if given.has('z') { ('\0', true) } else { ('\n', false) };
        if given.has('b') {
            text.push_str("## ");
            match &branch {
                None => text.push_str("HEAD (no branch)"),
                Some(branch) => {
                    if self.head().await?.is_none() {
                        text.push_str("No commits yet on ");
                    }
                    text.push_str(branch);
                    text.push_str(&self.tracking(branch).await?);
                }
            }
            text.push(end);
        }
        // Programs read paths from the top, people from where they are.
        let here = if given.has('p') || is_plain { String::new() } else { self.relative("")? };
        let quoted = |path: &str| match quote(&seen_from(&here, path)) {
            _ if is_plain => path.to_owned(),
            name if name.contains(' ') && !name.starts_with('"') => format!("\"{name}\""),
            name => name,
        };
        let mut output = Output::new(self.shell);
        output.push(&text).await?;
        let paths: BTreeSet<&String> = status.staged.keys().chain(status.unstaged.keys()).collect();
        for path in paths {
            let letter = |changes: &Changes| changes.get(path).map_or(' ', |(letter, _)| *letter);
            let letters = format!("{}{}", letter(&status.staged), letter(&status.unstaged));
            let line = match status.staged.get(path) {
                Some((_, Some(from))) if is_plain => format!("{letters} {path}{end}{from}{end}"),
                Some((_, Some(from))) => format!("{letters} {} -> {}{end}", quoted(from), quoted(path)),
                _ => format!("{letters} {}{end}", quoted(path)),
            };
            output.push(&line).await?;
        }
        for path in &status.untracked {
            output.push(&format!("?? {}{end}", quoted(path))).await?;
        }
        output.finish().await
    }

    async fn long_status(&self, status: &Status, branch: Option<&str>) -> Outcome<i32> {
        let mut text = match (branch, self.head().await?) {
            (Some(branch), _) => format!("On branch {branch}\n"),
            (None, Some(id)) => format!("HEAD detached at {}\n", id.short()),
            (None, None) => String::new(),
        };
        if self.head().await?.is_none() {
            text.push_str("\nNo commits yet\n");
        }
        let label = |letter| match letter {
            'A' => "new file:   ",
            'D' => "deleted:    ",
            'R' => "renamed:    ",
            'T' => "typechange: ",
            _ => "modified:   ",
        };
        let mut output = Output::new(self.shell);
        output.push(&text).await?;
        let here = self.relative("")?;
        let shown = |path: &str| quote(&seen_from(&here, path));
        let staged = ("Changes to be committed:", "\"git restore --staged <file>...\" to unstage", &status.staged);
        let hint = "\"git add <file>...\" to update what will be committed";
        for (title, hint, changes) in [staged, ("Changes not staged for commit:", hint, &status.unstaged)] {
            if !changes.is_empty() {
                output.push(&format!("\n{title}\n  (use {hint})\n")).await?;
            }
            for (path, (letter, from)) in changes.iter() {
                let from = from.as_ref().map_or(String::new(), |from| format!("{} -> ", shown(from)));
                output.push(&format!("\t{}{from}{}\n", label(*letter), shown(path))).await?;
            }
        }
        if !status.untracked.is_empty() {
            let hint = "to include in what will be committed";
            output.push(&format!("\nUntracked files:\n  (use \"git add <file>...\" {hint})\n")).await?;
            for path in &status.untracked {
                output.push(&format!("\t{}\n", shown(path))).await?;
            }
        }
        let end = match (status.staged.is_empty(), status.unstaged.is_empty(), status.untracked.is_empty()) {
            (true, true, true) => "\nnothing to commit, working tree clean\n",
            (true, true, false) => "\nnothing added to commit but untracked files present (use \"git add\" to track)\n",
            (true, false, _) => "\nno changes added to commit (use \"git add\" and/or \"git commit -a\")\n",
            (false, _, _) => "",
        };
        output.push(end).await?;
        output.finish().await
    }
}
