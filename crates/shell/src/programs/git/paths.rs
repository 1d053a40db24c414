//! Subcommands for paths: `add`, `rm`, `mv`, `reset`, `restore`, `ls-files`.

use super::object::Files;
use super::objects::is_file_path;
use super::output::Output;
use super::repository::{Operands, Repository, files_at};
use super::status::quote;
use super::worktree::Looked;
use super::{Failure, Git, Outcome, fatal, file_failure};
use crate::state::absolute;
use proofbox_vfs::lock;
use std::collections::HashSet;

/// Files that are staged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Staged {
    /// Files of the index alone.
    Known,
    /// New files too, but for those that are ignored.
    New,
    /// New files, even those that are ignored.
    Ignored,
}

impl<'s> Repository<'s> {
    /// The call of `git`, for reading options.
    pub(super) fn git(&self) -> Git<'s> {
        Git {
            shell: self.shell,
            cwd: self.cwd.clone(),
            git_dir: None,
            work_tree: None,
            settings: self.given_settings.clone(),
        }
    }

    /// Brings the index up to date with the work tree.
    pub(super) async fn stage(&self, index: &mut Files, operands: &Operands, staged: Staged) -> Outcome<()> {
        let known = [&index.entries];
        let also_new = staged != Staged::Known;
        let looked = match staged {
            Staged::Known => Looked::In(&known),
            Staged::New => Looked::All,
            Staged::Ignored => Looked::Ignored,
        };
        let scan = self.scan(&index.entries, operands, looked).await?;
        self.retain(index, |path| !operands.have(path) || scan.entries.contains_key(path)).await?;
        for (path, entry) in &scan.entries {
            self.shell.step(1).await?;
            if (also_new || index.entries.contains_key(path)) && index.entries.get(path) != Some(entry) {
                self.store(path, *entry).await?;
                index.insert(path.clone(), *entry)?;
            }
        }
        Ok(())
    }

    pub(super) async fn add(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("all", 'A'), ("update", 'u'), ("verbose", 'v'), ("force", 'f'), ("dry-run", 'n')];
        let given = self.git().options("add", arguments, "Auvfn", &long).await?;
        if given.operands.is_empty() && !given.has('A') && !given.has('u') {
            self.shell.say("Nothing specified, nothing added.\n").await;
            return Ok(0);
        }
        let operands = if given.operands.is_empty() { Operands::all() } else { self.operands(&given.operands).await? };
        let mut index = self.read_index().await?;
        for operand in &given.operands {
            self.shell.step(1).await?;
            let path = self.relative(operand)?;
            let is_known = files_at(&index.entries, &path).next().is_some();
            let is_there = lock(&self.shell.tree).stat(&self.absolute(&path)?).is_ok();
            if !is_known && !is_there {
                return fatal(format!("pathspec '{operand}' did not match any files"));
            }
        }
        let staged = match (given.has('u'), given.has('f')) {
            (true, _) => Staged::Known,
            (false, true) => Staged::Ignored,
            (false, false) => Staged::New,
        };
        let ignored = match staged {
            Staged::New if !given.operands.is_empty() => self.ignored(&index.entries, &given.operands).await?,
            _ => Vec::new(),
        };
        self.stage(&mut index, &operands, staged).await?;
        if !given.has('n') {
            self.write_index(&index.entries).await?;
        }
        if ignored.is_empty() {
            return Ok(0);
        }
        self.shell
            .say(&format!(
                "The following paths are ignored by one of your .gitignore files:\n{}\nhint: Use -f if you really want to add \
                 them.\nhint: Disable this message with \"git config advice.addIgnoredFile false\"\n",
                ignored.join("\n")
            ))
            .await;
        Ok(1)
    }

    pub(super) async fn remove(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("cached", 'c'), ("force", 'f'), ("recursive", 'r'), ("quiet", 'q')];
        let given = self.git().options("rm", arguments, "frq", &long).await?;
        let mut index = self.read_index().await?;
        let head = self.files_of(self.head().await?).await?;
        if given.operands.is_empty() {
            return fatal("No pathspec was given. Which files should I remove?");
        }
        let operands = self.operands(&given.operands).await?;
        let scan = self.scan(&index.entries, &operands, Looked::In(&[&index.entries])).await?;
        for operand in &given.operands {
            self.shell.step(1).await?;
            let path = self.relative(operand)?;
            match files_at(&index.entries, &path).next() {
                None => return fatal(format!("pathspec '{operand}' did not match any files")),
                Some(found) if *found != path && !given.has('r') => {
                    return fatal(format!("not removing '{operand}' recursively without -r"));
                }
                Some(_) => {}
            }
        }
        let mut found = Files::new(self.hold(0)?);
        for (path, entry) in &index.entries {
            self.shell.step(1).await?;
            if !operands.have(path) {
                continue;
            }
            let is_changed =
                Some(entry) != head.entries.get(path) || scan.entries.get(path).is_some_and(|there| there != entry);
            if is_changed && !given.has('f') && !given.has('c') {
                return Err(Failure::Error(format!(
                    "the following file has local modifications:\n    {path}\n(use --cached to keep the file, or -f to force \
                     removal)"
                )));
            }
            found.insert(path.clone(), *entry)?;
        }
        let mut output = Output::new(self.shell);
        for path in found.entries.keys() {
            index.entries.remove(path);
            if !given.has('q') {
                output.push(&format!("rm '{path}'\n")).await?;
            }
        }
        if !given.has('c') {
            let found: Vec<&String> = found.entries.keys().collect();
            self.take_away(&found).await?;
        }
        self.write_index(&index.entries).await?;
        output.finish().await
    }

    pub(super) async fn rename(&self, arguments: &[String]) -> Outcome<i32> {
        let given = self.git().options("mv", arguments, "fkv", &[("force", 'f'), ("verbose", 'v')]).await?;
        let [sources @ .., target] = given.operands.as_slice() else {
            return fatal("usage: git mv <source> <destination>");
        };
        let target_path = absolute(&self.cwd, target);
        let into = self.shell.is_directory(&target_path);
        if sources.is_empty() || (sources.len() > 1 && !into) {
            return fatal(format!("destination '{target}' is not a directory"));
        }
        let mut index = self.read_index().await?;
        let mut moves: Vec<(&String, String, String)> = Vec::new();
        let mut targets = HashSet::new();
        for source in sources {
            self.shell.step(1).await?;
            let from = self.relative(source)?;
            let name = from.rsplit('/').next().unwrap_or(&from);
            let to = self.relative(&if into { absolute(&target_path, name) } else { target_path.clone() })?;
            let wrong = |what: &str| fatal(format!("{what}, source={source}, destination={target}"));
            if from.is_empty() || files_at(&index.entries, &from).next().is_none() {
                return wrong("not under version control");
            }
            if lock(&self.shell.tree).stat(&self.absolute(&from)?).is_err() {
                return wrong("bad source");
            }
            if to == from || to.strip_prefix(&from).is_some_and(|rest| rest.starts_with('/')) {
                return wrong("can not move directory into itself");
            }
            if !is_file_path(&to) {
                return wrong("invalid path");
            }
            if lock(&self.shell.tree).stat(&self.absolute(&to)?).is_ok() && !given.has('f') {
                return wrong("destination exists");
            }
            if !targets.insert(to.clone()) {
                return wrong("multiple sources for the same target");
            }
            moves.push((source, from, to));
        }
        for (source, from, to) in moves {
            let renamed = lock(&self.shell.tree).rename(&self.absolute(&from)?, &self.absolute(&to)?, self.shell.now());
            renamed.map_err(|error| file_failure(source, &error))?;
            let moved: Vec<String> = files_at(&index.entries, &from).cloned().collect();
            let _held = self.hold(moved.iter().map(|path| path.len() + 30).sum())?;
            for path in moved {
                self.shell.step(1).await?;
                if let Some(entry) = index.entries.remove(&path) {
                    index.insert(format!("{to}{}", &path[from.len()..]), entry)?;
                }
            }
        }
        self.write_index(&index.entries).await?;
        Ok(0)
    }

    pub(super) async fn reset(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("soft", 's'), ("mixed", 'm'), ("hard", 'h'), ("keep", 'k'), ("merge", 'k'), ("quiet", 'q')];
        let given = self.git().options("reset", arguments, "q", &long).await?;
        let mut operands = given.operands.as_slice();
        let mut target = self.head().await?;
        let is_separated = arguments.iter().any(|word| word == "--")
            && arguments.iter().position(|word| word == "--") == Some(arguments.len() - operands.len() - 1);
        if let ([first, rest @ ..], false) = (operands, is_separated)
            && let Ok(id) = self.resolve_commit(first).await
        {
            target = Some(id);
            operands = rest;
        }
        let mut index = self.read_index().await?;
        let files = self.files_of(target).await?;
        if !operands.is_empty() {
            let among = self.operands(operands).await?;
            for operand in operands {
                self.shell.step(1).await?;
                let path = self.relative(operand)?;
                if files_at(&index.entries, &path).chain(files_at(&files.entries, &path)).next().is_none() {
                    return fatal(format!(
                        "ambiguous argument '{operand}': unknown revision or path not in the working tree."
                    ));
                }
            }
            self.retain(&mut index, |path| !among.have(path)).await?;
            self.insert_among(&mut index, &files, &among).await?;
            self.write_index(&index.entries).await?;
            return Ok(0);
        }
        match given.last_of("smhk") {
            Some('s') => {}
            Some('h') => self.replace_files(&index.entries, &files.entries).await?,
            Some('k') => return fatal("reset --keep and --merge do not exist here"),
            _ => self.write_index(&files.entries).await?,
        }
        if let Some(id) = target {
            self.keep_head(self.head().await?).await?;
            self.move_head(id).await?;
            if given.has('h') && !given.has('q') {
                let subject = self.read_commit(id).await?.message;
                let subject = subject.lines().next().unwrap_or("").to_owned();
                self.print(&format!("HEAD is now at {} {subject}\n", id.short())).await?;
            }
        }
        Ok(0)
    }

    pub(super) async fn restore(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("staged", 'S'), ("worktree", 'W'), ("source", 's'), ("quiet", 'q'), ("overlay", 'o')];
        let given = self.git().options("restore", arguments, "SWs:q", &long).await?;
        if given.operands.is_empty() {
            return fatal("you must specify path(s) to restore");
        }
        let operands = self.operands(&given.operands).await?;
        let mut index = self.read_index().await?;
        let source = match (given.value('s'), given.has('S')) {
            (Some(revision), _) => Some(self.files_of(Some(self.resolve(revision).await?)).await?),
            (None, true) => Some(self.files_of(self.head().await?).await?),
            (None, false) => None,
        };
        let files = &source.as_ref().unwrap_or(&index).entries;
        // Files that the source lacks stay, as `checkout` leaves them.
        let keeps = given.has('o');
        for operand in &given.operands {
            self.shell.step(1).await?;
            let path = self.relative(operand)?;
            let known = (!keeps).then_some(&index.entries);
            if known.into_iter().chain([files]).all(|files| files_at(files, &path).next().is_none()) {
                return Err(Failure::Error(format!("pathspec '{operand}' did not match any file(s) known to git")));
            }
        }
        if given.has('W') || !given.has('S') {
            for (path, entry) in files {
                self.shell.step(1).await?;
                if operands.have(path) {
                    self.put(path, *entry).await?;
                }
            }
            let gone = index.entries.keys().filter(|path| !files.contains_key(*path));
            let gone: Vec<&String> = gone.filter(|path| !keeps && operands.have(path)).collect();
            self.take_away(&gone).await?;
        }
        if let (true, Some(source)) = (given.has('S'), &source) {
            self.retain(&mut index, |path| keeps || !operands.have(path)).await?;
            self.insert_among(&mut index, source, &operands).await?;
            self.write_index(&index.entries).await?;
        }
        Ok(0)
    }

    /// Adds those of some files that operands name.
    async fn insert_among(&self, index: &mut Files, files: &Files, operands: &Operands) -> Outcome<()> {
        for (path, entry) in &files.entries {
            self.shell.step(1).await?;
            if operands.have(path) {
                index.insert(path.clone(), *entry)?;
            }
        }
        Ok(())
    }

    pub(super) async fn list_files(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("cached", 'c'),
            ("modified", 'm'),
            ("deleted", 'd'),
            ("others", 'o'),
            ("stage", 's'),
            ("exclude-standard", 'x'),
            ("error-unmatch", 'e'),
        ];
        let given = self.git().options("ls-files", arguments, "cmdosz", &long).await?;
        let index = self.read_index().await?;
        let here = [String::new()];
        let operands = if given.operands.is_empty() { &here[..] } else { &given.operands };
        let operands = self.operands(operands).await?;
        let end = if given.has('z') { '\0' } else { '\n' };
        let mut output = Output::new(self.shell);
        let scanned = if given.has('m') || given.has('d') || given.has('o') {
            Some(self.scan(&index.entries, &operands, Looked::In(&[&index.entries])).await?)
        } else {
            None
        };
        let changes = match &scanned {
            Some(scanned) => Some(self.compare(&index.entries, &scanned.entries).await?),
            None => None,
        };
        for (path, entry) in &index.entries {
            self.shell.step(1).await?;
            if !operands.have(path) {
                continue;
            }
            let letter = changes.as_ref().and_then(|changes| changes.get(path)).map(|(letter, _)| *letter);
            let is_wanted = match letter {
                _ if scanned.is_none() || given.has('c') => true,
                Some('D') => given.has('d') || given.has('m'),
                Some(_) => given.has('m'),
                None => false,
            };
            if is_wanted {
                let stage = if given.has('s') { format!("{:06o} {} 0\t", entry.mode, entry.id) } else { String::new() };
                output.push(&format!("{stage}{}{end}", quote(path))).await?;
            }
        }
        if let (true, Some(scanned)) = (given.has('o'), &scanned) {
            for path in scanned.entries.keys() {
                if !index.entries.contains_key(path) {
                    output.push(&format!("{}{end}", quote(path))).await?;
                }
            }
        }
        output.finish().await
    }
}
