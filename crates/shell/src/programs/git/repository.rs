//! A repository: its directory, references and revisions.

use super::config::Config;
use super::objects::Id;
use super::{Failure, Git, Outcome, fatal, file_failure};
use crate::bounds::Held;
use crate::state::{Shell, absolute};
use bytes::Bytes;
use proofbox_vfs::{FileKind, lock};
use std::collections::BTreeMap;

/// Largest file of the repository's own, in bytes.
const MAX_FILE: u64 = 64 << 20;
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
    pub(super) async fn read_bytes(&self, path: &str) -> Outcome<Option<(Bytes, Held)>> {
        let found = lock(&self.shell.tree).stat_followed(path);
        let Some(entry) = found.ok().filter(|entry| entry.kind == FileKind::File) else { return Ok(None) };
        if entry.size > MAX_FILE {
            return fatal(format!("'{path}' is too large"));
        }
        let held = self.hold(usize::try_from(entry.size).unwrap_or(usize::MAX))?;
        self.shell.step(1 + entry.size / 4096).await?;
        let bytes = lock(&self.shell.tree).read_file(path).map_err(|error| file_failure(path, &error))?;
        Ok(Some((bytes, held)))
    }

    async fn read_text(&self, path: &str) -> Outcome<Option<String>> {
        Ok(self.read_bytes(path).await?.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) async fn config(&self) -> Outcome<Config> {
        Ok(Config::parse(&self.read_text(&format!("{}/config", self.git_dir)).await?.unwrap_or_default()))
    }

    pub(super) async fn write_config(&self, config: &Config) -> Outcome<()> {
        self.write_bytes(&format!("{}/config", self.git_dir), config.render().as_bytes()).await
    }

    /// Returns the value of a key: of `-c`, of the repository, or of the user.
    pub(super) async fn setting(&self, key: &str) -> Outcome<Option<String>> {
        if let Some((_, value)) = self.given_settings.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(key)) {
            return Ok(Some(value.clone()));
        }
        if let Some(value) = self.config().await?.values(key).last() {
            return Ok(Some((*value).to_owned()));
        }
        let text = self.read_text(&super::settings::global_path(self.shell)).await?.unwrap_or_default();
        Ok(Config::parse(&text).values(key).last().map(|value| (*value).to_owned()))
    }

    /// Returns the reference that `HEAD` leads to, as `refs/heads/main`; none where it is detached.
    pub(super) async fn head_reference(&self) -> Outcome<Option<String>> {
        let text = self.read_text(&format!("{}/HEAD", self.git_dir)).await?.unwrap_or_default();
        Ok(text.trim().strip_prefix("ref: ").map(|name| name.trim().to_owned()))
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
            let Some(text) = self.read_text(&format!("{}/{name}", self.git_dir)).await? else {
                return self.packed_reference(&name).await;
            };
            match text.trim().strip_prefix("ref: ") {
                Some(next) => next.trim().clone_into(&mut name),
                None => return Ok(Id::parse(text.trim())),
            }
        }
        Ok(None)
    }

    async fn packed_reference(&self, name: &str) -> Outcome<Option<Id>> {
        let text = self.read_text(&format!("{}/packed-refs", self.git_dir)).await?.unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        Ok(lines.find(|(_, known)| *known == name).and_then(|(id, _)| Id::parse(id)))
    }

    /// Lists the references below `refs/` with this beginning, by full name.
    pub(super) async fn references(&self, beginning: &str) -> Outcome<BTreeMap<String, Id>> {
        let mut found = BTreeMap::new();
        let mut held = self.hold(0)?;
        let mut open = vec![beginning.trim_end_matches('/').to_owned()];
        while let Some(name) = open.pop() {
            let listed = lock(&self.shell.tree).list(&format!("{}/{name}", self.git_dir), 1);
            for entry in listed.unwrap_or_default() {
                self.shell.step(1).await?;
                let name = format!("{name}/{}", entry.name);
                if !held.grow(2 * name.len() + 100) {
                    return fatal("out of memory");
                }
                if entry.kind == FileKind::Directory {
                    open.push(name);
                } else if let Some(id) = self.reference(&name).await? {
                    found.insert(name, id);
                }
            }
        }
        let packed = self.read_text(&format!("{}/packed-refs", self.git_dir)).await?.unwrap_or_default();
        for (id, name) in packed.lines().filter_map(|line| line.split_once(' ')) {
            if let Some(id) = Id::parse(id).filter(|_| name.starts_with(beginning)) {
                found.entry(name.to_owned()).or_insert(id);
            }
        }
        Ok(found)
    }

    pub(super) async fn write_reference(&self, name: &str, id: Id) -> Outcome<()> {
        self.write_bytes(&format!("{}/{name}", self.git_dir), format!("{id}\n").as_bytes()).await
    }

    /// Moves `HEAD`, or the branch that it leads to.
    pub(super) async fn move_head(&self, id: Id) -> Outcome<()> {
        let name = self.head_reference().await?.unwrap_or_else(|| "HEAD".to_owned());
        self.write_reference(&name, id).await
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

    /// Returns the commit that a revision names, with its steps back (`~2`, `^`).
    pub(super) async fn resolve(&self, revision: &str) -> Outcome<Id> {
        let unknown = || {
            Failure::Fatal(format!(
                "ambiguous argument '{revision}': unknown revision or path not in the working tree."
            ))
        };
        let start = revision.find(['~', '^']).unwrap_or(revision.len());
        let (name, mut steps) = revision.split_at(start);
        let mut id = self.resolve_name(name).await?.ok_or_else(unknown)?;
        while let Some(step) = steps.chars().next() {
            steps = &steps[1..];
            if let Some(rest) = steps.strip_prefix("{commit}").or_else(|| steps.strip_prefix("{}")) {
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
                    for _ in 0..count {
                        id = *self.read_commit(id).await?.parents.first().ok_or_else(unknown)?;
                    }
                }
                '^' if count > 0 => id = *self.read_commit(id).await?.parents.get(count - 1).ok_or_else(unknown)?,
                '^' => {}
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

    /// Returns a path below the work tree as an absolute one.
    pub(super) fn absolute(&self, path: &str) -> Outcome<String> {
        Ok(absolute(self.work_tree()?, path))
    }

    pub(super) async fn print(&self, text: &str) -> Outcome<i32> {
        self.shell.out("git", text.as_bytes()).await?;
        Ok(0)
    }
}

/// Returns whether a path is one of these, or below it; the empty path has all below it.
pub(super) fn is_among(path: &str, operands: &[String]) -> bool {
    operands.iter().any(|operand| {
        operand.is_empty()
            || path.strip_prefix(operand.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
