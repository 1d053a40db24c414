//! Subcommands `branch`, `checkout`, `switch`, `tag`, `rev-parse` and `symbolic-ref`.

use super::object::Id;
use super::output::{Output, Rendered};
use super::repository::{Operands, Repository, files_at, is_name};
use super::worktree::Looked;
use super::{Failure, Outcome, fatal};
use crate::programs::ignore::{MAX_PATTERN, matches_name};
use crate::programs::options::Given;

/// Treatment of a branch that has the name of the one to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SameName {
    Refuse,
    Replace,
}

/// Treatment of a branch whose commits no other one has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unmerged {
    Refuse,
    Delete,
}

/// Treatment of files that have other content than the current commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalChanges {
    /// Kept; where the other commit has other content, too, nothing is done.
    Protect,
    /// Given the content of the other commit.
    Overwrite,
}

impl LocalChanges {
    /// Reads `-f` of `checkout` and `switch`.
    fn of(given: &Given) -> Self {
        if given.has('f') { Self::Overwrite } else { Self::Protect }
    }
}

/// Adds a branch to a text by a format of `for-each-ref`. `head`: mark of the current branch, or of another one.
async fn render(text: &mut Rendered<'_>, format: &str, name: &str, id: Id, head: &str) -> Outcome<()> {
    let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/remotes/")).unwrap_or(name);
    let mut rest = format;
    while let Some((plain, after)) = rest.split_once('%') {
        text.push(plain).await?;
        let Some(after) = after.strip_prefix('(') else {
            text.push("%").await?;
            rest = after.strip_prefix('%').unwrap_or(after);
            continue;
        };
        let Some((field, more)) = after.split_once(')') else {
            return fatal(format!("malformed format string %({after}"));
        };
        rest = more;
        match field {
            "refname:short" => text.push(short).await?,
            "refname" => text.push(name).await?,
            "HEAD" => text.push(head).await?,
            "objectname:short" => text.push(&id.short()).await?,
            "objectname" => text.push(&id.to_string()).await?,
            field => return fatal(format!("unknown field name: {field}")),
        }
    }
    text.push(rest).await
}

impl Repository<'_> {
    pub(super) async fn branch(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("format", 'φ'),
            ("list", 'l'),
            ("all", 'a'),
            ("remotes", 'r'),
            ("delete", 'd'),
            ("move", 'm'),
            ("force", 'f'),
            ("show-current", 'c'),
            ("set-upstream-to", 'u'),
            ("verbose", 'v'),
            ("quiet", 'q'),
            ("no-color", 'n'),
        ];
        let given = self.git().options("branch", arguments, "φ:lardDmMfu:vq", &long).await?;
        let operands: Vec<&str> = given.operands.iter().map(String::as_str).collect();
        let current = self.current_branch().await?;
        if given.has('c') {
            return self.print(&current.map_or(String::new(), |branch| branch + "\n")).await;
        }
        if let Some(upstream) = given.value('u') {
            let branch = operands.first().map(|name| (*name).to_owned()).or(current);
            let Some(branch) = branch else {
                return fatal("could not set upstream of HEAD when it does not point to any branch");
            };
            return self.follow(&branch, upstream).await;
        }
        if given.has('d') || given.has('D') {
            let unmerged = if given.has('D') || given.has('f') { Unmerged::Delete } else { Unmerged::Refuse };
            for name in operands {
                self.delete_branch(name, unmerged, current.as_deref()).await?;
            }
            return Ok(0);
        }
        if given.has('m') || given.has('M') {
            let (old, new) = match (operands.as_slice(), current.as_deref()) {
                ([old, new], _) => (*old, *new),
                ([new], Some(current)) => (current, *new),
                _ => return fatal("branch name required"),
            };
            let same_name = if given.has('M') { SameName::Replace } else { SameName::Refuse };
            return self.rename_branch(old, new, same_name, current.as_deref()).await;
        }
        let same_name = if given.has('f') { SameName::Replace } else { SameName::Refuse };
        match (operands.as_slice(), given.has('l')) {
            ([name], false) => self.create_branch(name, "HEAD", same_name).await,
            ([name, start], false) => self.create_branch(name, start, same_name).await,
            _ => {
                let mut text = Rendered::new(self.shell, self.hold(0)?);
                let mut names = Vec::new();
                if !given.has('r') {
                    names.push(self.references("refs/heads/").await?);
                }
                if given.has('r') || given.has('a') {
                    names.push(self.references("refs/remotes/").await?);
                }
                for (name, id) in names.iter().flat_map(|references| &references.by_name) {
                    let id = *id;
                    let short = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
                    if !given.operands.is_empty() && !self.is_of(&short, &given.operands).await? {
                        continue;
                    }
                    let is_current = name.starts_with("refs/heads/") && current.as_deref() == Some(&short);
                    let (head, default) =
                        if is_current { ("*", "* %(refname:short)") } else { (" ", "  %(refname:short)") };
                    render(&mut text, given.value('φ').unwrap_or(default), name, id, head).await?;
                    if given.has('v') {
                        let subject = self.read_commit(id).await?.message;
                        text.push(&format!(" {} {}", id.short(), subject.lines().next().unwrap_or(""))).await?;
                    }
                    text.push("\n").await?;
                }
                self.print(&text.text).await
            }
        }
    }

    /// Returns whether a name matches one of these patterns.
    async fn is_of(&self, name: &str, patterns: &[String]) -> Outcome<bool> {
        for pattern in patterns {
            self.shell.step(1 + (pattern.len().min(MAX_PATTERN) * name.len()) as u64 / 4096).await?;
            if matches_name(pattern.as_bytes(), name.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn create_branch(&self, name: &str, start: &str, same_name: SameName) -> Outcome<i32> {
        if !is_name(name) {
            return fatal(format!("'{name}' is not a valid branch name"));
        }
        let full = format!("refs/heads/{name}");
        if same_name == SameName::Refuse && self.reference(&full).await?.is_some() {
            return fatal(format!("a branch named '{name}' already exists"));
        }
        if start == "HEAD" && self.head().await?.is_none() {
            let branch = self.current_branch().await?.unwrap_or_default();
            return fatal(format!("not a valid object name: '{branch}'"));
        }
        let id = self.resolve_commit(start).await?;
        self.write_reference(&full, id).await?;
        if self.full_name(start).await?.is_some_and(|name| name.starts_with("refs/remotes/")) {
            self.follow(name, start).await?;
        }
        Ok(0)
    }

    async fn delete_branch(&self, name: &str, unmerged: Unmerged, current: Option<&str>) -> Outcome<()> {
        let full = format!("refs/heads/{name}");
        let Some(id) = self.reference(&full).await?.filter(|_| is_name(name)) else {
            return Err(Failure::Error(format!("branch '{name}' not found")));
        };
        if current == Some(name) {
            let place = self.work_tree.clone().unwrap_or_default();
            return Err(Failure::Error(format!("cannot delete branch '{name}' used by worktree at '{place}'")));
        }
        if unmerged == Unmerged::Refuse {
            let merged = match self.head().await? {
                Some(head) => self.ancestors(head).await?.ids.contains(&id),
                None => true,
            };
            if !merged {
                return Err(Failure::Error(format!("the branch '{name}' is not fully merged")));
            }
        }
        self.delete_reference(&full)?;
        let mut config = self.config().await?;
        if config.remove_section(&format!("branch.{name}")) {
            self.write_config(&config).await?;
        }
        self.print(&format!("Deleted branch {name} (was {}).\n", id.short())).await?;
        Ok(())
    }

    async fn rename_branch(&self, old: &str, new: &str, same_name: SameName, current: Option<&str>) -> Outcome<i32> {
        let (from, to) = (format!("refs/heads/{old}"), format!("refs/heads/{new}"));
        if !is_name(old) || !is_name(new) {
            return fatal(format!("'{new}' is not a valid branch name"));
        }
        if same_name == SameName::Refuse && self.reference(&to).await?.is_some() {
            return fatal(format!("a branch named '{new}' already exists"));
        }
        match self.reference(&from).await? {
            Some(id) if from != to => {
                self.delete_reference(&from)?;
                self.write_reference(&to, id).await?;
            }
            Some(_) => {}
            // A branch without a commit has no reference yet.
            None if current == Some(old) => {}
            None => return fatal(format!("no branch named '{old}'")),
        }
        if current == Some(old) {
            self.write_bytes(&format!("{}/HEAD", self.git_dir), format!("ref: {to}\n").as_bytes()).await?;
        }
        Ok(0)
    }

    /// Makes a branch follow another one.
    async fn follow(&self, branch: &str, upstream: &str) -> Outcome<i32> {
        let Some(full) = self.full_name(upstream).await? else {
            return fatal(format!("the requested upstream branch '{upstream}' does not exist"));
        };
        let remote = full.strip_prefix("refs/remotes/").and_then(|rest| rest.split_once('/'));
        let (remote, merge) = match remote {
            Some((remote, name)) => (remote.to_owned(), format!("refs/heads/{name}")),
            None => (".".to_owned(), full.clone()),
        };
        self.set_upstream(branch, &remote, &merge).await?;
        self.print(&format!("branch '{branch}' set up to track '{upstream}'.\n")).await
    }

    pub(super) async fn set_upstream(&self, branch: &str, remote: &str, merge: &str) -> Outcome<()> {
        let mut config = self.config().await?;
        config.set(&format!("branch.{branch}.remote"), remote);
        config.set(&format!("branch.{branch}.merge"), merge);
        self.write_config(&config).await
    }

    pub(super) async fn checkout(&self, arguments: &[String]) -> Outcome<i32> {
        if let Some(at) = arguments.iter().position(|word| word == "--") {
            let paths = &arguments[at + 1..];
            let mut restore: Vec<String> = vec!["--worktree".to_owned()];
            if let Some(revision) = arguments[..at].iter().find(|word| !word.starts_with('-')) {
                restore.extend(["--staged", "--overlay"].map(str::to_owned));
                restore.push(format!("--source={revision}"));
            }
            restore.push("--".to_owned());
            restore.extend_from_slice(paths);
            return self.restore(&restore).await;
        }
        let long = [("quiet", 'q'), ("detach", 'd'), ("force", 'f'), ("track", 't'), ("orphan", 'ω')];
        let given = self.git().options("checkout", arguments, "qdftb:B:ω:", &long).await?;
        let operands = given.operands.as_slice();
        match (given.value('b').or(given.value('B')), operands) {
            (Some(name), [] | [_]) => {
                let start = operands.first().map(String::as_str);
                self.switch_to_new(name, start, &given).await
            }
            (None, [name]) if self.is_switchable(name).await? => self.switch_to(name, &given).await,
            (None, [first, rest @ ..]) if !given.has('d') && !given.has('ω') => {
                let mut restore = vec!["--worktree".to_owned()];
                let is_revision = !rest.is_empty() && self.try_resolve(first).await?.is_some();
                if is_revision {
                    restore.extend(["--staged", "--overlay"].map(str::to_owned));
                    restore.push(format!("--source={first}"));
                }
                restore.push("--".to_owned());
                restore.extend_from_slice(if is_revision { rest } else { operands });
                self.restore(&restore).await
            }
            _ => fatal("usage: git checkout [-b] <branch> [<start-point>], or git checkout [<revision>] -- <path>..."),
        }
    }

    pub(super) async fn switch(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("create", 'c'), ("force-create", 'C'), ("detach", 'd'), ("quiet", 'q'), ("discard-changes", 'f')];
        let given = self.git().options("switch", arguments, "c:C:dqf", &long).await?;
        match (given.value('c').or(given.value('C')), given.operands.as_slice()) {
            (Some(name), start @ ([] | [_])) => {
                self.switch_to_new(name, start.first().map(String::as_str), &given).await
            }
            (None, [name]) => self.switch_to(name, &given).await,
            _ => fatal("missing branch or commit argument"),
        }
    }

    async fn is_switchable(&self, name: &str) -> Outcome<bool> {
        Ok(self.resolve(name).await.is_ok() || self.remote_branch(name).await?.is_some())
    }

    /// Returns the one remote branch of this name, as `origin/name`.
    async fn remote_branch(&self, name: &str) -> Outcome<Option<String>> {
        let all = self.references("refs/remotes/").await?;
        let short = all.by_name.keys().filter_map(|full| full.strip_prefix("refs/remotes/"));
        let mut found = short.filter(|short| short.split_once('/').is_some_and(|(_, branch)| branch == name));
        let one = found.next().map(str::to_owned);
        Ok(one.filter(|_| found.next().is_none()))
    }

    async fn switch_to_new(&self, name: &str, start: Option<&str>, given: &Given) -> Outcome<i32> {
        if !is_name(name) {
            return fatal(format!("'{name}' is not a valid branch name"));
        }
        if self.head().await?.is_some() || start.is_some() {
            let start = start.unwrap_or("HEAD");
            let full = format!("refs/heads/{name}");
            if !given.has('B') && !given.has('C') && self.reference(&full).await?.is_some() {
                return fatal(format!("a branch named '{name}' already exists"));
            }
            let id = self.resolve_commit(start).await?;
            self.move_files(id, LocalChanges::of(given)).await?;
            self.create_branch(name, start, SameName::Replace).await?;
        }
        self.point_head(&format!("ref: refs/heads/{name}")).await?;
        self.say_unless_quiet(given, &format!("Switched to a new branch '{name}'\n")).await;
        Ok(0)
    }

    async fn switch_to(&self, name: &str, given: &Given) -> Outcome<i32> {
        let (full, detach) = (format!("refs/heads/{name}"), given.has('d'));
        if !detach && self.reference(&full).await?.is_some() {
            let id = self.resolve_commit(&full).await?;
            if self.current_branch().await?.as_deref() == Some(name) && !given.has('f') {
                self.say_unless_quiet(given, &format!("Already on '{name}'\n")).await;
                return Ok(0);
            }
            self.move_files(id, LocalChanges::of(given)).await?;
            self.point_head(&format!("ref: {full}")).await?;
            self.say_unless_quiet(given, &format!("Switched to branch '{name}'\n")).await;
            return Ok(0);
        }
        if let (Some(remote), false, true) = (self.remote_branch(name).await?, detach, is_name(name)) {
            return self.switch_to_new(name, Some(&remote), given).await;
        }
        let id = match self.resolve_commit(name).await {
            Ok(id) => id,
            Err(Failure::Fatal(_)) => {
                return Err(Failure::Error(format!("pathspec '{name}' did not match any file(s) known to git")));
            }
            Err(failure) => return Err(failure),
        };
        self.move_files(id, LocalChanges::of(given)).await?;
        self.point_head(&id.to_string()).await?;
        let subject = self.read_commit(id).await?.message;
        let told = format!("HEAD is now at {} {}\n", id.short(), subject.lines().next().unwrap_or(""));
        self.say_unless_quiet(given, &told).await;
        Ok(0)
    }

    async fn say_unless_quiet(&self, given: &Given, text: &str) {
        if !given.has('q') {
            self.shell.say(text).await;
        }
    }

    async fn point_head(&self, text: &str) -> Outcome<()> {
        self.write_bytes(&format!("{}/HEAD", self.git_dir), format!("{text}\n").as_bytes()).await
    }

    /// Replaces the files of the current commit by those of another one; what was changed beside it stays, or refuses.
    pub(super) async fn move_files(&self, id: Id, local: LocalChanges) -> Outcome<()> {
        let new = self.files_of(Some(id)).await?;
        let mut index = self.read_index().await?;
        if local == LocalChanges::Overwrite {
            return self.replace_files(&index.entries, &new.entries).await;
        }
        let old = self.files_of(self.head().await?).await?;
        let present = self.scan(&index.entries, &Operands::all(), Looked::In(&[&index.entries, &new.entries])).await?;
        let paths = old.entries.keys().chain(new.entries.keys());
        let mut changed: Vec<&String> = paths.filter(|path| old.entries.get(*path) != new.entries.get(*path)).collect();
        changed.sort_unstable();
        changed.dedup();
        self.shell.step(1 + (old.entries.len() + new.entries.len()) as u64).await?;
        let mut in_the_way: Vec<&str> = Vec::new();
        for path in &changed {
            self.shell.step(1 + path.matches('/').count() as u64).await?;
            let (known, there) = (index.entries.get(*path), present.entries.get(*path));
            let is_clean = known == old.entries.get(*path) && there == known;
            let is_other = |path: &str| !old.entries.contains_key(path);
            // Nothing that no commit has is removed for a file.
            let is_blocked = new.entries.contains_key(*path)
                && (self.blocker(path)?.is_some_and(is_other)
                    || files_at(&present.entries, path).any(|below| below != *path && is_other(below)));
            if is_blocked || (!is_clean && there != new.entries.get(*path)) {
                in_the_way.push(path);
            }
        }
        if !in_the_way.is_empty() {
            return Err(Failure::Error(format!(
                "Your local changes to the following files would be overwritten by checkout:\n\t{}\nPlease commit your changes or \
                 stash them before you switch branches.\nAborting",
                in_the_way.join("\n\t")
            )));
        }
        let gone: Vec<&String> = changed.iter().copied().filter(|path| !new.entries.contains_key(*path)).collect();
        for path in &gone {
            index.entries.remove(*path);
        }
        self.take_away(&gone).await?;
        // A file may take the place of a directory that is gone now.
        for path in changed {
            if let Some(entry) = new.entries.get(path) {
                index.insert(path.clone(), *entry)?;
                self.put(path, *entry).await?;
            }
        }
        self.write_index(&index.entries).await
    }

    pub(super) async fn tag(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("delete", 'd'), ("force", 'f'), ("list", 'l'), ("message", 'm'), ("annotate", 'a')];
        let given = self.git().options("tag", arguments, "dflam:n", &long).await?;
        match given.operands.as_slice() {
            patterns if patterns.is_empty() || given.has('l') => {
                let tags = self.references("refs/tags/").await?;
                let mut output = Output::new(self.shell);
                for name in tags.by_name.keys() {
                    let short = name.strip_prefix("refs/tags/").unwrap_or(name);
                    if patterns.is_empty() || self.is_of(short, patterns).await? {
                        output.push(&format!("{short}\n")).await?;
                    }
                }
                output.finish().await
            }
            [name] if given.has('d') => {
                let full = format!("refs/tags/{name}");
                let Some(id) = self.reference(&full).await?.filter(|_| is_name(name)) else {
                    return Err(Failure::Error(format!("tag '{name}' not found.")));
                };
                self.delete_reference(&full)?;
                self.print(&format!("Deleted tag '{name}' (was {})\n", id.short())).await
            }
            [name] | [name, _] if is_name(name) => {
                let full = format!("refs/tags/{name}");
                if !given.has('f') && self.reference(&full).await?.is_some() {
                    return fatal(format!("tag '{name}' already exists"));
                }
                let mut id = self.resolve(given.operands.get(1).map_or("HEAD", String::as_str)).await?;
                if given.has('a') && !given.has('m') {
                    return Err(Failure::Error("there is no editor here: give the message with -m".to_owned()));
                }
                if let Some(message) = given.value('m') {
                    let tagger = self.signature("COMMITTER").await?;
                    let kind = self.read_object(id).await?.kind;
                    let text =
                        format!("object {id}\ntype {kind}\ntag {name}\ntagger {tagger}\n\n{}\n", message.trim_end());
                    id = self.write_object("tag", text.as_bytes()).await?;
                }
                self.write_reference(&full, id).await?;
                Ok(0)
            }
            _ => fatal("usage: git tag [-d | -f | -m <message>] [<name> [<commit>]]"),
        }
    }

    pub(super) async fn parse_revisions(&self, arguments: &[String]) -> Outcome<i32> {
        let (mut text, mut abbreviates, mut shortens, mut names) = (String::new(), false, false, false);
        for word in arguments {
            let shown = match word.as_str() {
                "--abbrev-ref" => {
                    abbreviates = true;
                    continue;
                }
                "--symbolic-full-name" => {
                    names = true;
                    continue;
                }
                "--short" => {
                    shortens = true;
                    continue;
                }
                "--verify" | "-q" | "--quiet" => continue,
                "--show-toplevel" => self.work_tree()?.to_owned(),
                "--git-dir" | "--absolute-git-dir" | "--git-common-dir" => self.git_dir.clone(),
                "--is-inside-work-tree" => self.work_tree.is_some().to_string(),
                "--is-bare-repository" => self.work_tree.is_none().to_string(),
                "--show-prefix" => match self.relative("")? {
                    prefix if prefix.is_empty() => prefix,
                    prefix => prefix + "/",
                },
                word if word.starts_with("--") => return fatal(format!("unknown option: {word}")),
                word if abbreviates || names => {
                    let full = match word.strip_suffix("@{u}").or_else(|| word.strip_suffix("@{upstream}")) {
                        Some(branch) => {
                            let (_, full) = self.upstream_name(branch).await?;
                            self.resolve(word).await?;
                            Some(full)
                        }
                        None => {
                            self.resolve(word).await?;
                            self.full_name(word).await?
                        }
                    };
                    let full = match full.as_deref() {
                        Some("HEAD") => self.head_reference().await?.or(full),
                        _ => full,
                    };
                    let full = full.unwrap_or_default();
                    let beginnings = ["refs/heads/", "refs/remotes/", "refs/tags/"];
                    let short = beginnings.iter().find_map(|beginning| full.strip_prefix(beginning));
                    short.filter(|_| abbreviates).map_or(full.clone(), str::to_owned)
                }
                word => {
                    let id = self.resolve(word).await?;
                    if shortens { id.short() } else { id.to_string() }
                }
            };
            text.push_str(&shown);
            text.push('\n');
        }
        self.print(&text).await
    }

    pub(super) async fn symbolic_reference(&self, arguments: &[String]) -> Outcome<i32> {
        let given = self.git().options("symbolic-ref", arguments, "q", &[("short", 's'), ("quiet", 'q')]).await?;
        match given.operands.as_slice() {
            [name] if name == "HEAD" => {
                let Some(full) = self.head_reference().await? else { return fatal("ref HEAD is not a symbolic ref") };
                let short = full.strip_prefix("refs/heads/").filter(|_| given.has('s'));
                self.print(&format!("{}\n", short.unwrap_or(&full))).await
            }
            [name, target] if name == "HEAD" && target.strip_prefix("refs/heads/").is_some_and(is_name) => {
                self.point_head(&format!("ref: {target}")).await?;
                Ok(0)
            }
            _ => fatal("usage: git symbolic-ref [--short] HEAD [refs/heads/<branch>]"),
        }
    }
}
