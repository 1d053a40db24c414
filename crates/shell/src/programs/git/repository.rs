//! A repository: its directory, references and revisions.

use super::config::{Config, MAX_SETTINGS, check_settings, global_path};
use super::object::{Entry, Files, Id};
use super::{Failure, Git, Outcome, fatal, file_failure, grow};
use crate::bounds::Held;
use crate::state::{Shell, absolute};
use bytes::Bytes;
use proofbox_vfs::{FileKind, lock};
use std::collections::{BTreeMap, BTreeSet};

/// Largest file of the repository's own, in bytes.
pub(super) const MAX_FILE: u64 = 64 << 20;
/// Largest file of a reference, in bytes.
const MAX_REFERENCE: u64 = 4096;
/// Largest file of packed references, in bytes.
const MAX_PACKED: u64 = 16 << 20;
/// Number of bytes of a text that cost a step to look through.
const BYTES_A_STEP: u64 = 512;
/// Symbolic references that lead to each other.
const MAX_LINKS: usize = 5;
/// Steps back that one revision may name.
const MAX_BACK: usize = 100_000;

/// Repository, with where it is used from.
pub(super) struct Repository<'s> {
    pub(super) shell: &'s Shell,
    pub(super) git_dir: String,
    /// Directory of its files; none for a bare one.
    pub(super) work_tree: Option<String>,
    /// Working directory.
    pub(super) cwd: String,
    /// Values of `-c`.
    pub(super) given_settings: Vec<(String, String)>,
}

/// Content of a file, in memory that is counted.
pub(super) struct Content {
    pub(super) bytes: Bytes,
    pub(super) _held: Held,
}

/// References by full name, in memory that is counted.
pub(super) struct References {
    pub(super) by_name: BTreeMap<String, Id>,
    _held: Held,
}

/// Text of a file, in memory that is counted.
struct Text {
    text: String,
    _held: Held,
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<'s> Git<'s> {
    /// Finds the repository that the working directory is in.
    pub(super) fn repository(&self) -> Outcome<Repository<'s>> {
        if let Some(git_dir) = &self.git_dir {
            let work_tree = self.work_tree.clone().or_else(|| (!git_dir.ends_with(".git")).then(|| self.cwd.clone()));
            let work_tree = work_tree.or_else(|| git_dir.strip_suffix("/.git").map(str::to_owned));
            return self.open(git_dir, work_tree);
        }
        let mut directory = self.cwd.clone();
        loop {
            let inner = absolute(&directory, ".git");
            if is_repository(self.shell, &inner) {
                return self.open(&inner, Some(self.work_tree.clone().unwrap_or(directory)));
            }
            if is_repository(self.shell, &directory) {
                return self.open(&directory, self.work_tree.clone());
            }
            if directory == "/" {
                return fatal("not a git repository (or any of the parent directories): .git");
            }
            directory = absolute(&directory, "..");
        }
    }

    pub(super) fn open(&self, git_dir: &str, work_tree: Option<String>) -> Outcome<Repository<'s>> {
        if !is_repository(self.shell, git_dir) {
            return fatal(format!("not a git repository: '{git_dir}'"));
        }
        Ok(Repository {
            shell: self.shell,
            git_dir: git_dir.to_owned(),
            work_tree,
            cwd: self.cwd.clone(),
            given_settings: self.settings.clone(),
        })
    }
}

/// Returns whether a directory is that of a repository.
pub(super) fn is_repository(shell: &Shell, path: &str) -> bool {
    let is_directory = |name: &str| shell.is_directory(&format!("{path}/{name}"));
    is_directory("objects") && is_directory("refs") && shell.stat(&format!("{path}/HEAD")).is_ok()
}

/// Commits that an operand names.
pub(super) enum Revisions {
    One(Id),
    /// Commit that is left out with all before it: `^x`.
    Excluded(Id),
    /// Commits of the second history that the first does not have: `x..y`.
    Range(Id, Id),
    /// Commits that one of two histories has: `x...y`.
    Symmetric(Id, Id),
}

fn unknown(operand: &str) -> Failure {
    Failure::Fatal(format!(
        "ambiguous argument '{operand}': unknown revision or path not in the working tree.\nUse '--' to separate paths from \
         revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
    ))
}

/// Returns whether this can be the name of a branch or tag.
pub(super) fn is_name(name: &str) -> bool {
    let parts = || name.split('/');
    !name.is_empty()
        && name.len() <= 200
        && name != "HEAD"
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(|c| !c.is_control() && !" ~^:?*[\\".contains(c))
        && parts()
            .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock"))
}

impl Repository<'_> {
    pub(super) fn hold(&self, bytes: usize) -> Outcome<Held> {
        self.shell.shared.used.hold(bytes).ok_or_else(|| Failure::Fatal("out of memory".to_owned()))
    }

    /// Reads a file, in memory that is counted; none if it is not there.
    pub(super) async fn read_bytes(&self, path: &str, most: u64) -> Outcome<Option<Content>> {
        let found = lock(&self.shell.tree).stat_followed(path);
        let Some(entry) = found.ok().filter(|entry| entry.kind == FileKind::File) else { return Ok(None) };
        if entry.size > most {
            return fatal(format!("'{path}' is too large"));
        }
        let held = self.hold(usize::try_from(entry.size).unwrap_or(usize::MAX))?;
        self.shell.step(1 + entry.size / 4096).await?;
        let bytes = lock(&self.shell.tree).read_file(path).map_err(|error| file_failure(path, &error))?;
        Ok(Some(Content { bytes, _held: held }))
    }

    /// Reads a file of text, in memory that is counted; none if it is not there.
    async fn read_text(&self, path: &str, most: u64) -> Outcome<Option<Text>> {
        let Some(content) = self.read_bytes(path, most).await? else { return Ok(None) };
        self.shell.step(content.bytes.len() as u64 / BYTES_A_STEP).await?;
        let held = self.hold(content.bytes.len())?;
        Ok(Some(Text { text: String::from_utf8_lossy(&content.bytes).into_owned(), _held: held }))
    }

    pub(super) async fn config(&self) -> Outcome<Config> {
        self.read_config(&format!("{}/config", self.git_dir)).await
    }

    async fn read_config(&self, path: &str) -> Outcome<Config> {
        match self.read_text(path, MAX_SETTINGS as u64).await? {
            Some(text) => Config::parse(self.shell, path, &text).await,
            None => Ok(Config::default()),
        }
    }

    pub(super) async fn write_config(&self, config: &Config) -> Outcome<()> {
        let path = format!("{}/config", self.git_dir);
        let text = config.render();
        check_settings(&path, &text)?;
        self.write_bytes(&path, text.as_bytes()).await
    }

    /// Returns the value of a key: of `-c`, of the repository, or of the user.
    pub(super) async fn setting(&self, key: &str) -> Outcome<Option<String>> {
        if let Some((_, value)) = self.given_settings.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(key)) {
            return Ok(Some(value.clone()));
        }
        if let Some(value) = self.config().await?.values(key).last() {
            return Ok(Some((*value).to_owned()));
        }
        let config = self.read_config(&global_path(self.shell)).await?;
        Ok(config.values(key).last().map(|value| (*value).to_owned()))
    }

    /// Returns the reference that `HEAD` leads to, as `refs/heads/main`; none where it is detached.
    pub(super) async fn head_reference(&self) -> Outcome<Option<String>> {
        let text = self.read_text(&format!("{}/HEAD", self.git_dir), MAX_REFERENCE).await?;
        Ok(text.and_then(|text| Some(text.trim().strip_prefix("ref: ")?.trim().to_owned())))
    }

    /// Returns the branch that is checked out; none where `HEAD` is detached.
    pub(super) async fn current_branch(&self) -> Outcome<Option<String>> {
        Ok(self.head_reference().await?.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned)))
    }

    /// Returns the commit that is checked out; none before the first.
    pub(super) async fn head(&self) -> Outcome<Option<Id>> {
        self.reference("HEAD").await
    }

    /// Returns the object of a reference with this full name.
    pub(super) async fn reference(&self, name: &str) -> Outcome<Option<Id>> {
        let mut name = name.to_owned();
        for _ in 0..MAX_LINKS {
            if name.split('/').any(|part| part == "..") {
                return Ok(None);
            }
            let Some(text) = self.read_text(&format!("{}/{name}", self.git_dir), MAX_REFERENCE).await? else {
                return self.packed_reference(&name).await;
            };
            match text.trim().strip_prefix("ref: ") {
                Some(next) => next.trim().clone_into(&mut name),
                // `FETCH_HEAD` has more behind it.
                None => return Ok(text.split_whitespace().next().and_then(Id::parse)),
            }
        }
        Ok(None)
    }

    async fn packed_reference(&self, name: &str) -> Outcome<Option<Id>> {
        let Some(text) = self.read_text(&format!("{}/packed-refs", self.git_dir), MAX_PACKED).await? else {
            return Ok(None);
        };
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        Ok(lines.find(|(_, known)| *known == name).and_then(|(id, _)| Id::parse(id)))
    }

    /// Lists the references below `refs/` with this beginning, by full name.
    pub(super) async fn references(&self, beginning: &str) -> Outcome<References> {
        let mut found = BTreeMap::new();
        let mut held = self.hold(0)?;
        let mut open = vec![beginning.trim_end_matches('/').to_owned()];
        while let Some(name) = open.pop() {
            let listed = lock(&self.shell.tree).list(&format!("{}/{name}", self.git_dir), 1);
            for entry in listed.unwrap_or_default() {
                self.shell.step(1).await?;
                let name = format!("{name}/{}", entry.name);
                grow(&mut held, 2 * name.len() + 100)?;
                if entry.kind == FileKind::Directory {
                    open.push(name);
                } else if let Some(id) = self.reference(&name).await? {
                    found.insert(name, id);
                }
            }
        }
        let packed = self.read_text(&format!("{}/packed-refs", self.git_dir), MAX_PACKED).await?;
        for line in packed.as_deref().unwrap_or_default().lines() {
            self.shell.step(1).await?;
            let Some((id, name)) = line.split_once(' ') else { continue };
            if let Some(id) = Id::parse(id).filter(|_| name.starts_with(beginning)) {
                grow(&mut held, name.len() + 100)?;
                found.entry(name.to_owned()).or_insert(id);
            }
        }
        Ok(References { by_name: found, _held: held })
    }

    pub(super) async fn write_reference(&self, name: &str, id: Id) -> Outcome<()> {
        self.write_bytes(&format!("{}/{name}", self.git_dir), format!("{id}\n").as_bytes()).await
    }

    /// Moves `HEAD`, or the branch that it leads to.
    pub(super) async fn move_head(&self, id: Id) -> Outcome<()> {
        let name = self.head_reference().await?.unwrap_or_else(|| "HEAD".to_owned());
        self.write_reference(&name, id).await
    }

    /// Writes the commit that `HEAD` is moved from to `ORIG_HEAD`.
    pub(super) async fn keep_head(&self, head: Option<Id>) -> Outcome<()> {
        match head {
            Some(head) => self.write_reference("ORIG_HEAD", head).await,
            None => Ok(()),
        }
    }

    pub(super) fn delete_reference(&self, name: &str) -> Outcome<()> {
        let path = format!("{}/{name}", self.git_dir);
        let removed = lock(&self.shell.tree).remove(&path, self.shell.now());
        removed.map_err(|error| file_failure(&path, &error))
    }

    /// Returns the remote and the reference there that a branch follows.
    pub(super) async fn upstream(&self, branch: &str) -> Outcome<Option<(String, String)>> {
        let config = self.config().await?;
        let value =
            |name: &str| config.values(&format!("branch.{branch}.{name}")).last().map(|value| (*value).to_owned());
        Ok(value("remote").zip(value("merge")))
    }

    /// Returns the full name of the reference that a short name means.
    pub(super) async fn full_name(&self, name: &str) -> Outcome<Option<String>> {
        if name == "HEAD" || name == "@" {
            return Ok(Some("HEAD".to_owned()));
        }
        for beginning in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            let full = format!("{beginning}{name}");
            if (full.starts_with("refs/") || full == "FETCH_HEAD" || full == "ORIG_HEAD")
                && self.reference(&full).await?.is_some()
            {
                return Ok(Some(full));
            }
        }
        Ok(None)
    }

    /// Returns the commit that a revision names, or the tag that it names leads to.
    pub(super) async fn resolve_commit(&self, revision: &str) -> Outcome<Id> {
        self.require_commit(self.resolve(revision).await?).await
    }

    /// Returns the commit that an object is, or that a tag leads to.
    pub(super) async fn require_commit(&self, id: Id) -> Outcome<Id> {
        let id = self.peel(id).await?;
        self.read_commit(id).await?;
        Ok(id)
    }

    /// Returns the object that a revision names, with its steps back (`~2`, `^`).
    pub(super) async fn resolve(&self, revision: &str) -> Outcome<Id> {
        let unknown = || unknown(revision);
        let start = revision.find(['~', '^']).unwrap_or(revision.len());
        let (name, mut steps) = revision.split_at(start);
        let mut id = self.resolve_name(name).await?.ok_or_else(unknown)?;
        while let Some(step) = steps.chars().next() {
            steps = &steps[step.len_utf8()..];
            if let (Some((kind, rest)), '^') = (steps.strip_prefix('{').and_then(|inner| inner.split_once('}')), step) {
                id = match kind {
                    "" => self.peel(id).await?,
                    "commit" => self.require_commit(id).await?,
                    "tree" => self.read_commit(id).await?.tree,
                    _ => return Err(unknown()),
                };
                steps = rest;
                continue;
            }
            let end = steps.find(|c: char| !c.is_ascii_digit()).unwrap_or(steps.len());
            let count = if end == 0 { 1 } else { steps[..end].parse::<usize>().map_err(|_| unknown())? };
            steps = &steps[end..];
            if count > MAX_BACK {
                return Err(unknown());
            }
            match step {
                '~' => {
                    id = self.require_commit(id).await?;
                    for _ in 0..count {
                        id = *self.read_commit(id).await?.parents.first().ok_or_else(unknown)?;
                    }
                }
                '^' if count > 0 => id = *self.read_commit(id).await?.parents.get(count - 1).ok_or_else(unknown)?,
                '^' => id = self.require_commit(id).await?,
                _ => return Err(unknown()),
            }
        }
        Ok(id)
    }

    async fn resolve_name(&self, name: &str) -> Outcome<Option<Id>> {
        if let Some(branch) = name.strip_suffix("@{u}").or_else(|| name.strip_suffix("@{upstream}")) {
            let (_, full) = self.upstream_name(branch).await?;
            return self.reference(&full).await;
        }
        if let Some(full) = self.full_name(name).await? {
            return self.reference(&full).await;
        }
        if let Some(id) = Id::parse(name) {
            return Ok(self.has_object(id).then_some(id));
        }
        if !(4..40).contains(&name.len()) || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let name = name.to_ascii_lowercase();
        let directory = format!("{}/objects/{}", self.git_dir, &name[..2]);
        let entries = lock(&self.shell.tree).list(&directory, 1).unwrap_or_default();
        self.shell.step(1 + entries.len() as u64 / 16).await?;
        let mut found = entries.iter().filter(|entry| entry.name.starts_with(&name[2..]));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(Id::parse(&format!("{}{}", &name[..2], one.name))),
            _ => Ok(None),
        }
    }

    /// Returns the branch, the current one if it is empty, and the full name of the reference here that it follows.
    pub(super) async fn upstream_name(&self, branch: &str) -> Outcome<(String, String)> {
        let branch = match branch {
            "" => self.current_branch().await?,
            branch => Some(branch.to_owned()),
        };
        let Some(branch) = branch else { return fatal("HEAD does not point to a branch") };
        let Some((remote, merge)) = self.upstream(&branch).await? else {
            return fatal(format!("no upstream configured for branch '{branch}'"));
        };
        let name = merge.strip_prefix("refs/heads/").unwrap_or(&merge);
        let full = if remote == "." { merge.clone() } else { format!("refs/remotes/{remote}/{name}") };
        Ok((branch, full))
    }

    /// Returns the work tree of a repository that has one.
    pub(super) fn work_tree(&self) -> Outcome<&str> {
        match &self.work_tree {
            Some(work_tree) => Ok(work_tree),
            None => fatal("this operation must be run in a work tree"),
        }
    }

    /// Returns an operand's path below the work tree; empty for all of it.
    pub(super) fn relative(&self, operand: &str) -> Outcome<String> {
        let work_tree = self.work_tree()?;
        let path = absolute(&self.cwd, operand);
        let inner = if work_tree == "/" { path.strip_prefix('/') } else { path.strip_prefix(work_tree) };
        match inner {
            Some("") => Ok(String::new()),
            Some(inner) if work_tree == "/" => Ok(inner.to_owned()),
            Some(inner) if inner.starts_with('/') => Ok(inner[1..].to_owned()),
            _ => fatal(format!("{operand}: '{operand}' is outside repository at '{work_tree}'")),
        }
    }

    /// Returns the commits that an operand names; none if it names none, and may be a path.
    async fn parse_revisions_in(&self, operand: &str) -> Outcome<Option<Revisions>> {
        if operand == ".." {
            return Ok(None);
        }
        let range = match operand.split_once("...") {
            Some(ends) => Some((ends, true)),
            None => operand.split_once("..").map(|ends| (ends, false)),
        };
        if let Some(((from, to), is_symmetric)) = range {
            let [from, to] = [from, to].map(|name| if name.is_empty() { "HEAD" } else { name });
            let (from, to) = (self.try_resolve(from).await?, self.try_resolve(to).await?);
            let kind = if is_symmetric { Revisions::Symmetric } else { Revisions::Range };
            return Ok(from.zip(to).map(|(from, to)| kind(from, to)));
        }
        match operand.strip_prefix('^') {
            Some(name) => Ok(self.try_resolve(name).await?.map(Revisions::Excluded)),
            None => Ok(self.try_resolve(operand).await?.map(Revisions::One)),
        }
    }

    /// Returns the commit that a revision names; none if there is none.
    pub(super) async fn try_resolve(&self, revision: &str) -> Outcome<Option<Id>> {
        match self.resolve_commit(revision).await {
            Ok(id) => Ok(Some(id)),
            Err(Failure::Fatal(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Splits operands into commits and paths. `after`: the separator and the paths after it.
    pub(super) async fn revisions_and_paths(
        &self,
        operands: &[String],
        after: &[String],
    ) -> Outcome<(Vec<Revisions>, Operands)> {
        let (mut revisions, mut paths) = (Vec::new(), Vec::new());
        for operand in operands {
            self.shell.step(1).await?;
            let named = if paths.is_empty() { self.parse_revisions_in(operand).await? } else { None };
            let is_path = || lock(&self.shell.tree).stat(&absolute(&self.cwd, operand)).is_ok();
            match named {
                Some(named) => revisions.push(named),
                None if !after.is_empty() => return fatal(format!("bad revision '{operand}'")),
                None if is_path() => paths.push(operand.clone()),
                None => return Err(unknown(operand)),
            }
        }
        paths.extend(after.iter().skip(1).cloned());
        Ok((revisions, self.operands(&paths).await?))
    }

    /// Returns the paths that operands name.
    pub(super) async fn operands(&self, given: &[String]) -> Outcome<Operands> {
        let mut held = self.hold(0)?;
        let mut paths = BTreeSet::new();
        for operand in given {
            self.shell.step(1 + operand.len() as u64 / BYTES_A_STEP).await?;
            let path = self.relative(operand)?;
            grow(&mut held, path.len() + 100)?;
            paths.insert(path);
        }
        Ok(Operands { paths, _held: Some(held) })
    }

    /// Removes the files that are not to be kept.
    pub(super) async fn retain(&self, files: &mut Files, keeps: impl Fn(&str) -> bool) -> Outcome<()> {
        for (path, entry) in std::mem::take(&mut files.entries) {
            self.shell.step(1).await?;
            if keeps(&path) {
                files.entries.insert(path, entry);
            }
        }
        Ok(())
    }

    /// Returns a path below the work tree as an absolute one.
    pub(super) fn absolute(&self, path: &str) -> Outcome<String> {
        Ok(absolute(self.work_tree()?, path))
    }

    pub(super) async fn print(&self, text: &str) -> Outcome<i32> {
        self.shell.out("git", text.as_bytes()).await?;
        Ok(0)
    }
}

/// Paths below the work tree that a command is told to work on, each with all that is below it.
#[derive(Default)]
pub(super) struct Operands {
    paths: BTreeSet<String>,
    _held: Option<Held>,
}

impl Operands {
    /// Names all paths.
    pub(super) fn all() -> Self {
        Self { paths: BTreeSet::from([String::new()]), _held: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns whether a path is named, or one above it.
    pub(super) fn have(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        self.paths.contains("") || self.paths.contains(path) || above.into_iter().any(|path| self.paths.contains(path))
    }

    /// Returns whether a path below a directory, which ends in a slash, may be named.
    pub(super) fn reach_into(&self, directory: &str) -> bool {
        let next = self.paths.range(directory.to_owned()..).next();
        next.is_some_and(|path| path.starts_with(directory)) || self.have(directory.trim_end_matches('/'))
    }
}

/// Returns the files at a path, or below it.
pub(super) fn files_at<'f>(files: &'f BTreeMap<String, Entry>, path: &str) -> impl Iterator<Item = &'f String> {
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let one = files.get_key_value(path).map(|(path, _)| path);
    let others = files.range(below.clone()..).map(|(path, _)| path);
    one.into_iter().chain(others.take_while(move |path| path.starts_with(&below)))
}
