//! Subcommands for other repositories, which are directories of the sandbox: `remote`, `clone`, `fetch`, `push`, `pull`,
//! `merge`.

use super::branches::LocalChanges;
use super::object::Id;
use super::repository::{Repository, is_name, is_repository};
use super::settings::Layout;
use super::{Failure, Git, Outcome, fatal};
use crate::programs::options::Given;
use crate::state::absolute;
use proofbox_vfs::lock;

impl<'s> Git<'s> {
    /// Opens the repository at an address.
    fn other(&self, url: &str) -> Outcome<Repository<'s>> {
        let path = match url.split_once("://") {
            Some(("file", path)) => path,
            Some((_, rest)) => {
                let host = rest.split(['/', ':']).next().unwrap_or("").rsplit('@').next().unwrap_or("");
                return fatal(format!(
                    "unable to access '{url}': Could not resolve host: {host} (there is no network)"
                ));
            }
            None => url,
        };
        let path = absolute(&self.cwd, path);
        for git_dir in [format!("{path}/.git"), path.clone(), format!("{path}.git")] {
            if is_repository(self.shell, &git_dir) {
                let work_tree = git_dir.strip_suffix("/.git").map(str::to_owned);
                return self.open(&git_dir, work_tree);
            }
        }
        fatal(format!("'{url}' does not appear to be a git repository"))
    }

    pub(super) async fn clone_repository(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("branch", 'b'),
            ("single-branch", 's'),
            ("depth", 'δ'),
            ("bare", 'B'),
            ("quiet", 'q'),
            ("origin", 'o'),
            ("local", 'l'),
            ("no-hardlinks", 'l'),
        ];
        let given = self.options("clone", arguments, "b:δ:qo:l", &long).await?;
        let (url, target) = match given.operands.as_slice() {
            [url] => {
                let name = url.trim_end_matches('/').trim_end_matches("/.git");
                let name = name.rsplit(['/', ':']).next().unwrap_or(name);
                (url, name.strip_suffix(".git").unwrap_or(name).to_owned())
            }
            [url, target] => (url, target.clone()),
            _ => return fatal("You must specify a repository to clone."),
        };
        let remote = given.value('o').unwrap_or("origin");
        if !is_name(remote) {
            return fatal(format!("'{remote}' is not a valid remote name"));
        }
        let source = self.other(url)?;
        let path = absolute(&self.cwd, &target);
        let found = lock(&self.shell.tree).list(&path, 1);
        if found.is_ok_and(|entries| !entries.is_empty()) {
            return fatal(format!("destination path '{target}' already exists and is not an empty directory."));
        }
        if !given.has('q') {
            self.shell.say(&format!("Cloning into '{target}'...\n")).await;
        }
        let branch = match given.value('b') {
            Some(branch) => {
                if source.reference(&format!("refs/heads/{branch}")).await?.is_none() {
                    return fatal(format!("Remote branch {branch} not found in upstream origin"));
                }
                branch.to_owned()
            }
            None => source.current_branch().await?.filter(|name| is_name(name)).unwrap_or_else(|| "master".to_owned()),
        };
        let git_dir = if given.has('B') { path.clone() } else { format!("{path}/.git") };
        let layout = if given.has('B') { Layout::Bare } else { Layout::WorkTree };
        let new = self.create(&git_dir, layout, &branch).await?;
        let address = if url.contains("://") { url.clone() } else { absolute(&self.cwd, url) };
        if given.has('B') {
            for (name, id) in &source.references("refs/").await?.by_name {
                if !name.strip_prefix("refs/").is_some_and(is_name) {
                    continue;
                }
                new.copy_objects(&source, *id).await?;
                new.write_reference(name, *id).await?;
            }
            return Ok(0);
        }
        new.add_remote(remote, &address).await?;
        new.fetch_from(&source, remote).await?;
        if let Some(id) = source.reference(&format!("refs/heads/{branch}")).await? {
            new.write_reference(&format!("refs/heads/{branch}"), id).await?;
            let head = format!("ref: refs/remotes/{remote}/{branch}\n");
            new.write_bytes(&format!("{git_dir}/refs/remotes/{remote}/HEAD"), head.as_bytes()).await?;
            let files = new.files_of(Some(id)).await?;
            new.replace_files(&Default::default(), &files.entries).await?;
        } else {
            self.shell.say("warning: You appear to have cloned an empty repository.\n").await;
        }
        new.set_upstream(&branch, remote, &format!("refs/heads/{branch}")).await?;
        Ok(0)
    }
}

impl<'s> Repository<'s> {
    async fn add_remote(&self, name: &str, url: &str) -> Outcome<()> {
        let mut config = self.config().await?;
        config.set(&format!("remote.{name}.url"), url);
        config.set(&format!("remote.{name}.fetch"), &format!("+refs/heads/*:refs/remotes/{name}/*"));
        self.write_config(&config).await
    }

    async fn remote_url(&self, name: &str) -> Outcome<Option<String>> {
        let config = self.config().await?;
        Ok(config.values(&format!("remote.{name}.url")).last().map(|url| (*url).to_owned()))
    }

    pub(super) async fn remote(&self, arguments: &[String]) -> Outcome<i32> {
        let given = self.git().options("remote", arguments, "vf", &[("verbose", 'v'), ("fetch", 'f')]).await?;
        let words: Vec<&str> = given.operands.iter().map(String::as_str).collect();
        let missing = |name: &str| format!("No such remote '{name}'");
        match words.as_slice() {
            [] => {
                let config = self.config().await?;
                let names = config.settings().filter_map(|(key, url)| {
                    let name = key.strip_prefix("remote.")?.strip_suffix(".url")?.to_owned();
                    Some((name, url.to_owned()))
                });
                let shown = |(name, url): (String, String)| match given.has('v') {
                    true => format!("{name}\t{url} (fetch)\n{name}\t{url} (push)\n"),
                    false => format!("{name}\n"),
                };
                self.print(&names.map(shown).collect::<String>()).await
            }
            ["add", name, url] => {
                if !is_name(name) {
                    return fatal(format!("'{name}' is not a valid remote name"));
                }
                if self.remote_url(name).await?.is_some() {
                    self.shell.error("error", &format!("remote {name} already exists.")).await;
                    return Ok(3);
                }
                self.add_remote(name, url).await?;
                if given.has('f') {
                    return self.fetch(&[(*name).to_owned()]).await;
                }
                Ok(0)
            }
            ["get-url", name] => match self.remote_url(name).await? {
                Some(url) => self.print(&format!("{url}\n")).await,
                None => {
                    self.shell.error("error", &missing(name)).await;
                    Ok(2)
                }
            },
            ["set-url", name, url] => {
                if self.remote_url(name).await?.is_none() {
                    self.shell.error("error", &missing(name)).await;
                    return Ok(2);
                }
                let mut config = self.config().await?;
                config.set(&format!("remote.{name}.url"), url);
                self.write_config(&config).await?;
                Ok(0)
            }
            ["remove" | "rm", name] if is_name(name) => {
                let mut config = self.config().await?;
                if !config.remove_section(&format!("remote.{name}")) {
                    self.shell.error("error", &missing(name)).await;
                    return Ok(2);
                }
                self.write_config(&config).await?;
                for reference in self.references(&format!("refs/remotes/{name}/")).await?.by_name.keys() {
                    self.delete_reference(reference)?;
                }
                Ok(0)
            }
            _ => fatal(
                "usage: git remote [-v] [add <name> <url> | get-url <name> | set-url <name> <url> | remove <name>]",
            ),
        }
    }

    /// Returns the remote that an operand or the current branch names, and its repository.
    async fn open_remote(&self, given: Option<&String>) -> Outcome<(String, Repository<'s>)> {
        let name = match given {
            Some(name) => name.clone(),
            None => {
                let branch = self.current_branch().await?.unwrap_or_default();
                self.upstream(&branch).await?.map_or_else(|| "origin".to_owned(), |(remote, _)| remote)
            }
        };
        let mut git = self.git();
        // Addresses of remotes are relative to the work tree.
        git.cwd = self.work_tree.clone().unwrap_or_else(|| self.git_dir.clone());
        let source = match self.remote_url(&name).await? {
            Some(url) => git.other(&url)?,
            None => self.git().other(&name)?,
        };
        Ok((name, source))
    }

    /// Copies the branches of another repository, as those of a remote of this name, and its tags.
    async fn fetch_from(&self, source: &Repository<'_>, remote: &str) -> Outcome<()> {
        for (name, id) in &source.references("refs/heads/").await?.by_name {
            // What it has is another's.
            let Some(short) = name.strip_prefix("refs/heads/").filter(|short| is_name(short)) else { continue };
            self.copy_objects(source, *id).await?;
            self.write_reference(&format!("refs/remotes/{remote}/{short}"), *id).await?;
        }
        for (name, id) in &source.references("refs/tags/").await?.by_name {
            let is_tag = name.strip_prefix("refs/tags/").is_some_and(is_name);
            if is_tag && self.reference(name).await?.is_none() {
                self.copy_objects(source, *id).await?;
                self.write_reference(name, *id).await?;
            }
        }
        Ok(())
    }

    /// Fetches from a remote with all its branches, or from a path just one of them, which `FETCH_HEAD` then names.
    async fn fetch_branch(&self, source: &Repository<'_>, remote: &str, branch: Option<&str>) -> Outcome<Option<Id>> {
        if is_name(remote) && self.remote_url(remote).await?.is_some() {
            self.fetch_from(source, remote).await?;
        }
        let found = match branch {
            None => source.head().await?,
            Some(name) => match source.reference(&format!("refs/heads/{name}")).await? {
                None => source.reference(&format!("refs/tags/{name}")).await?,
                id => id,
            },
        };
        if let Some(id) = found {
            self.copy_objects(source, id).await?;
            let name = branch.map_or(String::new(), |branch| format!("branch '{branch}' of "));
            let text = format!("{id}\t\t{name}{}\n", source.git_dir);
            self.write_bytes(&format!("{}/FETCH_HEAD", self.git_dir), text.as_bytes()).await?;
        }
        Ok(found)
    }

    pub(super) async fn fetch(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("all", 'a'), ("prune", 'p'), ("quiet", 'q'), ("tags", 't'), ("force", 'f'), ("depth", 'δ')];
        let given = self.git().options("fetch", arguments, "pqtfδ:", &long).await?;
        let (remote, source) = self.open_remote(given.operands.first()).await?;
        let branch = given.operands.get(1).map(String::as_str);
        if self.fetch_branch(&source, &remote, branch).await?.is_none()
            && let Some(branch) = branch
        {
            return fatal(format!("couldn't find remote ref {branch}"));
        }
        Ok(0)
    }

    pub(super) async fn push(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("set-upstream", 'u'), ("force", 'f'), ("quiet", 'q'), ("delete", 'd'), ("all", 'a')];
        let given = self.git().options("push", arguments, "ufqd", &long).await?;
        let current = self.current_branch().await?;
        let refspecs = match given.operands.get(1..).unwrap_or_default() {
            [] => {
                let Some(branch) = current else { return fatal("You are not currently on a branch.") };
                if !given.has('u') && self.upstream(&branch).await?.is_none() {
                    return fatal(format!(
                        "The current branch {branch} has no upstream branch.\nTo push the current branch and set the remote as \
                         upstream, use\n\n    git push --set-upstream origin {branch}\n"
                    ));
                }
                vec![branch]
            }
            refspecs => refspecs.to_vec(),
        };
        let (remote, target) = self.open_remote(given.operands.first()).await?;
        for refspec in &refspecs {
            self.push_one(&given, &remote, &target, refspec).await?;
        }
        Ok(0)
    }

    /// Pushes what one operand names.
    async fn push_one(&self, given: &Given, remote: &str, target: &Repository<'_>, branch: &str) -> Outcome<()> {
        let forced = given.has('f') || branch.starts_with('+');
        let branch = branch.trim_start_matches('+');
        let (from, to) = branch.split_once(':').unwrap_or((branch, branch));
        let deletes = given.has('d') || from.is_empty();
        // A tag stays one.
        let named = if deletes { target.full_name(to).await? } else { self.full_name(from).await? };
        let is_tag = to.starts_with("refs/tags/")
            || (!to.starts_with("refs/") && named.is_some_and(|name| name.starts_with("refs/tags/")));
        let directory = if is_tag { "refs/tags/" } else { "refs/heads/" };
        let to = to.strip_prefix(directory).unwrap_or(to);
        if !is_name(to) || to.starts_with("refs/") {
            return fatal(format!("invalid refspec '{branch}'"));
        }
        let full = format!("{directory}{to}");
        if deletes {
            if target.reference(&full).await?.is_none() {
                self.shell.error("error", &format!("unable to delete '{to}': remote ref does not exist")).await;
                return Err(Failure::Error(format!("failed to push some refs to '{remote}'")));
            }
            target.delete_reference(&full)?;
            if !given.has('q') {
                self.shell.say(&format!("To {remote}\n - [deleted]         {to}\n")).await;
            }
            return Ok(());
        }
        let found = if is_tag { self.resolve(from).await } else { self.resolve_commit(from).await };
        let id = match found {
            Ok(id) => id,
            Err(Failure::Fatal(_)) => {
                return Err(Failure::Error(format!("src refspec {from} does not match any")));
            }
            Err(failure) => return Err(failure),
        };
        let before = target.reference(&full).await?;
        if before == Some(id) {
            self.shell.say("Everything up-to-date\n").await;
        } else {
            if let (Some(before), false) = (before, forced)
                && (is_tag || !self.has_object(before) || !self.ancestors(id).await?.ids.contains(&before))
            {
                let why = if is_tag { "already exists" } else { "non-fast-forward" };
                self.shell.say(&format!(" ! [rejected]        {from} -> {to} ({why})\n")).await;
                return Err(Failure::Error(format!("failed to push some refs to '{remote}'")));
            }
            let checked_out =
                !is_tag && target.work_tree.is_some() && target.current_branch().await?.as_deref() == Some(to);
            if checked_out {
                self.shell
                    .say(&format!(" ! [remote rejected] {from} -> {to} (branch is currently checked out)\n"))
                    .await;
                return Err(Failure::Error(format!("failed to push some refs to '{remote}'")));
            }
            target.copy_objects(self, id).await?;
            target.write_reference(&full, id).await?;
            let range = before.map_or(if is_tag { "[new tag]" } else { "[new branch]" }.to_owned(), |before| {
                format!("{}..{}", before.short(), id.short())
            });
            if !given.has('q') {
                self.shell.say(&format!("To {remote}\n   {range}  {from} -> {to}\n")).await;
            }
        }
        if !is_tag && is_name(remote) && self.remote_url(remote).await?.is_some() {
            self.write_reference(&format!("refs/remotes/{remote}/{to}"), id).await?;
            if given.has('u') {
                self.set_upstream(from, remote, &full).await?;
                self.print(&format!("branch '{from}' set up to track '{remote}/{to}'.\n")).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn pull(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("ff-only", 'F'), ("rebase", 'r'), ("no-rebase", 'n'), ("quiet", 'q')];
        let given = self.git().options("pull", arguments, "rq", &long).await?;
        let branch = self.current_branch().await?.unwrap_or_default();
        let name = match (given.operands.get(1), self.upstream(&branch).await?) {
            (Some(name), _) => name.clone(),
            (None, Some((_, merge))) => merge.strip_prefix("refs/heads/").unwrap_or(&merge).to_owned(),
            (None, None) => {
                self.shell
                    .say(
                        "There is no tracking information for the current branch.\nPlease specify which branch you want to merge \
                         with.\n",
                    )
                    .await;
                return Ok(1);
            }
        };
        let (remote, source) = self.open_remote(given.operands.first()).await?;
        let Some(id) = self.fetch_branch(&source, &remote, Some(&name)).await? else {
            return fatal(format!("couldn't find remote ref {name}"));
        };
        self.go_forward(self.require_commit(id).await?).await
    }

    pub(super) async fn merge(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("ff-only", 'F'), ("ff", 'f'), ("quiet", 'q'), ("no-edit", 'e')];
        let given = self.git().options("merge", arguments, "q", &long).await?;
        let [name] = given.operands.as_slice() else { return fatal("one commit to merge is needed") };
        self.go_forward(self.resolve_commit(name).await?).await
    }

    /// Moves the current branch forward to a commit that comes after it. Others can't be merged here.
    async fn go_forward(&self, id: Id) -> Outcome<i32> {
        let head = self.head().await?;
        if let Some(head) = head {
            if self.ancestors(head).await?.ids.contains(&id) {
                return self.print("Already up to date.\n").await;
            }
            if !self.ancestors(id).await?.ids.contains(&head) {
                return fatal("Not possible to fast-forward, aborting. (Histories that diverge can't be merged here.)");
            }
        }
        self.move_files(id, LocalChanges::Protect).await?;
        self.keep_head(head).await?;
        self.move_head(id).await?;
        let from = head.map_or(String::new(), |head| format!("{}..", head.short()));
        self.print(&format!("Updating {from}{}\nFast-forward\n", id.short())).await
    }
}
