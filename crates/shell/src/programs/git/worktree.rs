//! Files of the work tree: what is there, what is ignored, and what a commit puts there.

use super::object::{EXECUTABLE, Entry, FILE, Files, Id, LINK};
use super::objects::MAX_OBJECT;
use super::repository::{Content, MAX_FILE, Operands, Repository, files_at};
use super::{Outcome, fatal, file_failure, grow};
use crate::bounds::Pace;
use crate::programs::ignore::{MAX_RULE_BYTES, MAX_RULES, RULE_MEMORY, Rule};
use crate::state::absolute;
use proofbox_vfs::{FileEntry, FileKind, Permission, lock};
use std::collections::{BTreeMap, BTreeSet};

/// Bit of a file that its owner may run.
const OWNER_EXECUTES: u16 = 0o100;

/// Files of the work tree whose content is read.
#[derive(Clone, Copy)]
pub(super) enum Looked<'f> {
    /// Every file. One that can't be read is an error.
    All,
    /// Every file, even one that is ignored.
    Ignored,
    /// Files that are among these. One that can't be read, or is too large to have been stored, is [`UNKNOWN`].
    In(&'f [&'f BTreeMap<String, Entry>]),
}

/// Entry of a file whose content was not read: it is that of no object.
const UNKNOWN: Entry = Entry { mode: FILE, id: Id([0; 20]) };

impl Repository<'_> {
    /// Lists the files of the work tree that operands name, with the objects that they would be.
    pub(super) async fn scan(
        &self,
        index: &BTreeMap<String, Entry>,
        operands: &Operands,
        looked: Looked<'_>,
    ) -> Outcome<Files> {
        let work_tree = self.work_tree()?.to_owned();
        let mut paths = Files::new(self.hold(0)?);
        let mut rules: Vec<Rule> = Vec::new();
        self.read_rules(&format!("{}/info/exclude", self.git_dir), "", &mut rules).await?;
        let mut held = self.hold(RULE_MEMORY)?;
        let mut pace = Pace::new();
        let mut open = vec![(String::new(), false)];
        while let Some((directory, ignored)) = open.pop() {
            // Rules of directories beside this one are of no use any more.
            rules.retain(|rule| directory.starts_with(&rule.directory));
            let here = absolute(&work_tree, &directory);
            let entries = lock(&self.shell.tree).list(&here, 1).unwrap_or_default();
            self.read_rules(&format!("{here}/.gitignore"), &directory, &mut rules).await?;
            for entry in entries.into_iter().rev() {
                self.shell.step(1 + rules.len() as u64 / 8).await?;
                let path = format!("{directory}{}", entry.name);
                if entry.name == ".git" || entry.path == self.git_dir {
                    continue;
                }
                let is_directory = entry.kind == FileKind::Directory;
                let ignored = ignored
                    || (!matches!(looked, Looked::Ignored)
                        && self.is_ignored(&rules, &path, entry.kind, &mut pace).await?);
                if is_directory {
                    let below = format!("{path}/");
                    let has_tracked =
                        index.range(below.clone()..).next().is_some_and(|(known, _)| known.starts_with(&below));
                    if !operands.reach_into(&below) {
                        continue;
                    }
                    let is_other = super::repository::is_repository(self.shell, &format!("{}/.git", entry.path));
                    if !is_other && (!ignored || has_tracked) {
                        grow(&mut held, below.len() + 50)?;
                        open.push((below, ignored));
                    }
                    continue;
                }
                let wanted = (!ignored || index.contains_key(&path)) && operands.have(&path);
                if wanted && !matches!(entry.kind, FileKind::Device | FileKind::NamedPipe) {
                    let is_known = match looked {
                        Looked::All | Looked::Ignored => true,
                        Looked::In(known) => {
                            known.iter().any(|files| files.contains_key(&path)) && self.is_storable(&entry)
                        }
                    };
                    let file = if is_known { self.work_entry(&path).await? } else { UNKNOWN };
                    paths.insert(path, file)?;
                }
            }
        }
        Ok(paths)
    }

    /// Returns whether the last rule that is about a path says that it is ignored.
    async fn is_ignored(&self, rules: &[Rule], path: &str, kind: FileKind, pace: &mut Pace) -> Outcome<bool> {
        for rule in rules.iter().rev() {
            self.shell.count_paced(pace).await?;
            if rule.is_about(path, kind) {
                return Ok(!rule.is_negated);
            }
        }
        Ok(false)
    }

    /// Returns the operands that name what is ignored and not in the index.
    pub(super) async fn ignored<'o>(
        &self,
        index: &BTreeMap<String, Entry>,
        operands: &'o [String],
    ) -> Outcome<Vec<&'o str>> {
        let _held = self.hold(RULE_MEMORY)?;
        let mut pace = Pace::new();
        // Rules for what is in one directory, and whether that is ignored itself.
        let mut known: Option<(String, Vec<Rule>, bool)> = None;
        let mut found = Vec::new();
        for operand in operands {
            self.shell.step(1).await?;
            let path = self.relative(operand)?;
            let directory = path.rfind('/').map_or("", |slash| &path[..=slash]);
            if path.is_empty() || files_at(index, &path).next().is_some() {
                continue;
            }
            let (_, rules, is_below) = match known.take().filter(|(known, ..)| known == directory) {
                Some(known) => known,
                None => {
                    let (rules, is_below) = self.rules_for(directory, &mut pace).await?;
                    (directory.to_owned(), rules, is_below)
                }
            };
            // One that is missing is taken for a file.
            let kind = self.shell.stat(&self.absolute(&path)?).map_or(FileKind::File, |entry| entry.kind);
            if is_below || self.is_ignored(&rules, &path, kind, &mut pace).await? {
                found.push(operand.as_str());
            }
            known = Some((directory.to_owned(), rules, is_below));
        }
        Ok(found)
    }

    /// Returns the rules for what is in a directory, and whether that is ignored itself.
    async fn rules_for(&self, directory: &str, pace: &mut Pace) -> Outcome<(Vec<Rule>, bool)> {
        let mut rules = Vec::new();
        self.read_rules(&format!("{}/info/exclude", self.git_dir), "", &mut rules).await?;
        let mut is_ignored = false;
        let ends = [0].into_iter().chain(directory.match_indices('/').map(|(at, _)| at + 1));
        for end in ends {
            let above = &directory[..end];
            is_ignored |=
                end > 0 && self.is_ignored(&rules, above.trim_end_matches('/'), FileKind::Directory, pace).await?;
            self.read_rules(&self.absolute(&format!("{above}.gitignore"))?, above, &mut rules).await?;
        }
        Ok((rules, is_ignored))
    }

    async fn read_rules(&self, path: &str, directory: &str, rules: &mut Vec<Rule>) -> Outcome<()> {
        let Some(content) = self.read_bytes(path, MAX_RULE_BYTES).await? else { return Ok(()) };
        let text = String::from_utf8_lossy(&content.bytes);
        for line in text.lines() {
            self.shell.step(1).await?;
            if let Some(rule) = Rule::parse(line, directory).filter(|_| rules.len() < MAX_RULES) {
                rules.push(rule);
            }
        }
        Ok(())
    }

    /// Returns whether a file can be read, and is no larger than one that was stored.
    fn is_storable(&self, entry: &FileEntry) -> bool {
        entry.kind == FileKind::Link
            || (entry.size <= MAX_OBJECT as u64
                && lock(&self.shell.tree).may(&entry.path, Permission::Read).unwrap_or(false))
    }

    /// Returns the object that a file of the work tree would be.
    async fn work_entry(&self, path: &str) -> Outcome<Entry> {
        let (mode, content) = self.work_content(path).await?;
        Ok(Entry { mode, id: self.hash("blob", &content.bytes).await? })
    }

    pub(super) async fn work_content(&self, path: &str) -> Outcome<(u32, Content)> {
        let full = self.absolute(path)?;
        let found = lock(&self.shell.tree).stat(&full).map_err(|error| file_failure(path, &error))?;
        if let Some(target) = found.link_target {
            let held = self.hold(target.len())?;
            return Ok((LINK, Content { bytes: target.into_bytes().into(), _held: held }));
        }
        match self.read_bytes(&full, MAX_FILE).await? {
            Some(content) => Ok((if found.mode & OWNER_EXECUTES == 0 { FILE } else { EXECUTABLE }, content)),
            None => fatal(format!("'{path}' is not a file")),
        }
    }

    /// Stores a file of the work tree as an object.
    pub(super) async fn store(&self, path: &str, entry: Entry) -> Outcome<()> {
        if !self.has_object(entry.id) {
            let (_, content) = self.work_content(path).await?;
            self.write_object("blob", &content.bytes).await?;
        }
        Ok(())
    }

    /// Puts a file into the work tree.
    pub(super) async fn put(&self, path: &str, entry: Entry) -> Outcome<()> {
        let full = self.absolute(path)?;
        if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return fatal(format!("invalid path '{path}'"));
        }
        self.shell.step(1 + path.matches('/').count() as u64).await?;
        if let Some(blocker) = self.blocker(path)? {
            self.remove_path(&self.absolute(blocker)?)?;
        }
        let object = self.read_object(entry.id).await?;
        let known = lock(&self.shell.tree).stat(&full);
        match known.map(|known| known.kind) {
            Ok(FileKind::Directory) => return fatal(format!("'{path}' is a directory")),
            Ok(FileKind::File) if entry.mode != LINK => {}
            Ok(_) => self.remove_path(&full)?,
            Err(_) => {}
        }
        if entry.mode == LINK {
            let target = String::from_utf8_lossy(&object.data).into_owned();
            let made = lock(&self.shell.tree).make_symbolic_link(&full, &target, self.shell.now());
            return made.map_err(|error| file_failure(path, &error));
        }
        self.write_bytes(&full, &object.data).await?;
        let mut tree = lock(&self.shell.tree);
        let found = tree.stat(&full).map_err(|error| file_failure(path, &error))?;
        let mode = match (entry.mode == EXECUTABLE, found.mode & OWNER_EXECUTES != 0) {
            (true, false) => found.mode | 0o111,
            (false, true) => found.mode & !0o111,
            _ => return Ok(()),
        };
        tree.set_mode(&full, mode & 0o777, self.shell.now()).map_err(|error| file_failure(path, &error))
    }

    fn remove_path(&self, full: &str) -> Outcome<()> {
        let removed = lock(&self.shell.tree).remove(full, self.shell.now());
        removed.map_err(|error| file_failure(full, &error))
    }

    /// Removes files from the work tree, and the directories that are empty then. A directory that is where one of the
    /// files was stays, with all it holds.
    pub(super) async fn take_away(&self, paths: &[&String]) -> Outcome<()> {
        let mut held = self.hold(0)?;
        // The deepest come last.
        let mut directories: BTreeSet<(usize, String)> = BTreeSet::new();
        for path in paths {
            let depth = path.matches('/').count();
            self.shell.step(1 + depth as u64).await?;
            if self.blocker(path)?.is_some() {
                continue;
            }
            let full = self.absolute(path)?;
            if lock(&self.shell.tree).stat(&full).is_ok_and(|entry| entry.kind != FileKind::Directory) {
                self.remove_path(&full)?;
            }
            let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
            for (at, directory) in above.enumerate() {
                // Those above one that is known are known too.
                if !directories.insert((depth - at, directory.to_owned())) {
                    break;
                }
                grow(&mut held, directory.len() + 80)?;
            }
        }
        while let Some((_, directory)) = directories.pop_last() {
            let full = self.absolute(&directory)?;
            let listed = lock(&self.shell.tree).list(&full, 1).unwrap_or_default();
            self.shell.step(1 + listed.len() as u64 / 16).await?;
            let is_directory = lock(&self.shell.tree).stat(&full).is_ok_and(|entry| entry.kind == FileKind::Directory);
            if is_directory && listed.is_empty() {
                self.remove_path(&full)?;
            }
        }
        Ok(())
    }

    /// Returns the path of the file or link that stands where a path has a directory.
    pub(super) fn blocker<'p>(&self, path: &'p str) -> Outcome<Option<&'p str>> {
        let work_tree = self.work_tree()?;
        let tree = lock(&self.shell.tree);
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let blocks =
            |path: &&str| tree.stat(&absolute(work_tree, path)).is_ok_and(|entry| entry.kind != FileKind::Directory);
        Ok(above.find(blocks))
    }

    /// Makes the work tree have these files instead of those of the index.
    pub(super) async fn replace_files(
        &self,
        index: &BTreeMap<String, Entry>,
        new: &BTreeMap<String, Entry>,
    ) -> Outcome<()> {
        let gone: Vec<&String> = index.keys().filter(|path| !new.contains_key(*path)).collect();
        self.take_away(&gone).await?;
        for (path, entry) in new {
            self.put(path, *entry).await?;
        }
        self.write_index(new).await
    }
}
