//! Subcommand `status`, and the differences between commit, index and work tree.

use super::objects::{Entry, Files, Id};
use super::repository::{Operands, Repository};
use super::worktree::Looked;
use super::{Outcome, fatal};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Differences between two sets of files: a letter for each path, and where a renamed one was.
pub(super) type Changes = BTreeMap<String, (char, Option<String>)>;

/// State of a work tree.
pub(super) struct Status {
    pub(super) staged: Changes,
    pub(super) unstaged: Changes,
    pub(super) untracked: BTreeSet<String>,
}

/// Compares files. A file that is gone and one that is new with the same content are one that was renamed.
pub(super) fn compare(old: &BTreeMap<String, Entry>, new: &BTreeMap<String, Entry>) -> Changes {
    let mut changes = Changes::new();
    for (path, entry) in new {
        match old.get(path) {
            None => changes.insert(path.clone(), ('A', None)),
            Some(known) if known == entry => None,
            Some(known) if known.mode & 0o170_000 != entry.mode & 0o170_000 => {
                changes.insert(path.clone(), ('T', None))
            }
            Some(_) => changes.insert(path.clone(), ('M', None)),
        };
    }
    let gone = || old.iter().filter(|(path, _)| !new.contains_key(*path));
    let mut by_id: BTreeMap<Id, Vec<&String>> = BTreeMap::new();
    gone().for_each(|(path, entry)| by_id.entry(entry.id).or_default().push(path));
    changes.extend(gone().map(|(path, _)| (path.clone(), ('D', None))));
    for (path, entry) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
        if let Some(from) = by_id.get_mut(&entry.id).and_then(Vec::pop) {
            changes.remove(from);
            changes.insert(path.clone(), ('R', Some(from.clone())));
        }
    }
    changes
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

impl Repository<'_> {
    /// Lists the files of a commit; none for no commit.
    pub(super) async fn files_of(&self, commit: Option<Id>) -> Outcome<Files> {
        match commit {
            Some(id) => {
                let tree = self.read_commit(id).await?.tree;
                self.flatten(tree).await
            }
            None => Files::new(self),
        }
    }

    pub(super) async fn look(&self) -> Outcome<Status> {
        let index = self.read_index().await?;
        let head = self.files_of(self.head().await?).await?;
        let mut present = self.scan(&index.entries, &Operands::all(), Looked::In(&[&index.entries])).await?;
        self.shell.step(1 + (index.entries.len() + head.entries.len()) as u64).await?;
        let mut untracked = BTreeSet::new();
        for path in present.entries.keys().filter(|path| !index.entries.contains_key(*path)) {
            untracked.insert(self.untracked_name(path, &index.entries));
        }
        present.entries.retain(|path, _| index.entries.contains_key(path));
        Ok(Status {
            staged: compare(&head.entries, &index.entries),
            unstaged: compare(&index.entries, &present.entries),
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
        Ok((ours.difference(&theirs).count(), theirs.difference(&ours).count()))
    }

    /// Returns a commit and all before it.
    pub(super) async fn ancestors(&self, id: Id) -> Outcome<HashSet<Id>> {
        let mut found = HashSet::new();
        let mut held = self.hold(0)?;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            self.shell.step(1).await?;
            if found.insert(id) {
                let parents = self.read_commit(id).await?.parents;
                if !held.grow(100 + 32 * parents.len()) {
                    return fatal("out of memory");
                }
                open.extend(parents);
            }
        }
        Ok(found)
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
        let given = git.options("status", &words, "psbLi", &long).await?;
        let mut status = self.look().await?;
        if hides_untracked {
            status.untracked.clear();
        }
        let branch = self.current_branch().await?;
        if !given.has('p') && !given.has('s') {
            return self.long_status(&status, branch.as_deref()).await;
        }
        let mut text = String::new();
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
            text.push('\n');
        }
        let quoted = |path: &str| match quote(path) {
            name if name.contains(' ') && !name.starts_with('"') => format!("\"{name}\""),
            name => name,
        };
        let paths: BTreeSet<&String> = status.staged.keys().chain(status.unstaged.keys()).collect();
        for path in paths {
            let letter = |changes: &Changes| changes.get(path).map_or(' ', |(letter, _)| *letter);
            text.extend([letter(&status.staged), letter(&status.unstaged), ' ']);
            if let Some((_, Some(from))) = status.staged.get(path) {
                text.push_str(&format!("{} -> ", quoted(from)));
            }
            text.push_str(&format!("{}\n", quoted(path)));
        }
        for path in &status.untracked {
            text.push_str(&format!("?? {}\n", quoted(path)));
        }
        self.print(&text).await
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
        let mut list = |title: &str, hint: &str, changes: &Changes| {
            if changes.is_empty() {
                return;
            }
            text.push_str(&format!("\n{title}\n  (use {hint})\n"));
            for (path, (letter, from)) in changes {
                let from = from.as_ref().map_or(String::new(), |from| format!("{} -> ", quote(from)));
                text.push_str(&format!("\t{}{from}{}\n", label(*letter), quote(path)));
            }
        };
        list("Changes to be committed:", "\"git restore --staged <file>...\" to unstage", &status.staged);
        list(
            "Changes not staged for commit:",
            "\"git add <file>...\" to update what will be committed",
            &status.unstaged,
        );
        if !status.untracked.is_empty() {
            text.push_str("\nUntracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n");
            status.untracked.iter().for_each(|path| text.push_str(&format!("\t{}\n", quote(path))));
        }
        text.push_str(match (status.staged.is_empty(), status.unstaged.is_empty(), status.untracked.is_empty()) {
            (true, true, true) => "\nnothing to commit, working tree clean\n",
            (true, true, false) => "\nnothing added to commit but untracked files present (use \"git add\" to track)\n",
            (true, false, _) => "\nno changes added to commit (use \"git add\" and/or \"git commit -a\")\n",
            (false, _, _) => "",
        });
        self.print(&text).await
    }
}
