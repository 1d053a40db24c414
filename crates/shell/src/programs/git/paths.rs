//! Subcommands for paths: `add`, `rm`, `mv`, `reset`, `restore`, `ls-files`.

use super::objects::Files;
use super::repository::{Repository, is_among};
use super::status::{compare, quote};
use super::{Failure, Git, Outcome, fatal, file_failure};
use crate::state::absolute;
use proofbox_vfs::lock;

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

    fn operands(&self, operands: &[String]) -> Outcome<Vec<String>> {
        operands.iter().map(|operand| self.relative(operand)).collect()
    }

    /// Brings the index up to date with the work tree.
    pub(super) async fn stage(&self, index: &mut Files, operands: &[String], also_new: bool) -> Outcome<()> {
        let scan = self.scan(&index.entries, operands).await?;
        index.entries.retain(|path, _| !is_among(path, operands) || scan.entries.contains_key(path));
        for (path, entry) in &scan.entries {
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
        let mut operands = self.operands(&given.operands)?;
        if operands.is_empty() {
            if !given.has('A') && !given.has('u') {
                self.shell.say("Nothing specified, nothing added.\n").await;
                return Ok(0);
            }
            operands.push(String::new());
        }
        let mut index = self.read_index().await?;
        for (operand, given) in operands.iter().zip(&given.operands) {
            let is_known = index.entries.keys().any(|path| is_among(path, std::slice::from_ref(operand)));
            let is_there = lock(&self.shell.tree).stat(&self.absolute(operand)?).is_ok();
            if !is_known && !is_there {
                return fatal(format!("pathspec '{given}' did not match any files"));
            }
        }
        self.stage(&mut index, &operands, !given.has('u')).await?;
        if !given.has('n') {
            self.write_index(&index.entries).await?;
        }
        Ok(0)
    }

    pub(super) async fn remove(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("cached", 'c'), ("force", 'f'), ("recursive", 'r'), ("quiet", 'q')];
        let given = self.git().options("rm", arguments, "cfrq", &long).await?;
        let mut index = self.read_index().await?;
        let head = self.files_of(self.head().await?).await?;
        let operands = self.operands(&given.operands)?;
        let scan = self.scan(&index.entries, &operands).await?;
        for (operand, shown) in operands.iter().zip(&given.operands) {
            let found: Vec<String> =
                index.entries.keys().filter(|path| is_among(path, std::slice::from_ref(operand))).cloned().collect();
            self.shell.step(1 + index.entries.len() as u64 / 16).await?;
            match found.as_slice() {
                [] => return fatal(format!("pathspec '{shown}' did not match any files")),
                [path] if path == operand => {}
                _ if !given.has('r') => return fatal(format!("not removing '{shown}' recursively without -r")),
                _ => {}
            }
            for path in found {
                let known = index.entries.get(&path);
                let is_changed = known != head.entries.get(&path)
                    || scan.entries.get(&path).is_some_and(|entry| Some(entry) != known);
                if is_changed && !given.has('f') && !given.has('c') {
                    return Err(Failure::Error(format!(
                        "the following file has local modifications:\n    {path}\n(use --cached to keep the file, or -f to force \
                         removal)"
                    )));
                }
                index.entries.remove(&path);
                if !given.has('c') {
                    self.take_away(&path).await?;
                }
                if !given.has('q') {
                    self.print(&format!("rm '{path}'\n")).await?;
                }
            }
        }
        self.write_index(&index.entries).await?;
        Ok(0)
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
        for source in sources {
            let from = self.relative(source)?;
            let name = from.rsplit('/').next().unwrap_or(&from);
            let to = self.relative(&if into { absolute(&target_path, name) } else { target_path.clone() })?;
            let operand = [from.clone()];
            let moved: Vec<String> = index.entries.keys().filter(|path| is_among(path, &operand)).cloned().collect();
            self.shell.step(1 + index.entries.len() as u64 / 16).await?;
            if from.is_empty() || moved.is_empty() {
                return fatal(format!("not under version control, source={source}, destination={target}"));
            }
            let (old, new) = (self.absolute(&from)?, self.absolute(&to)?);
            let renamed = {
                let mut tree = lock(&self.shell.tree);
                if tree.stat(&new).is_ok() && !given.has('f') {
                    return fatal(format!("destination exists, source={source}, destination={target}"));
                }
                tree.rename(&old, &new, self.shell.now())
            };
            renamed.map_err(|error| file_failure(source, &error))?;
            for path in moved {
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
            && let Ok(id) = self.resolve(first).await
        {
            target = Some(id);
            operands = rest;
        }
        let mut index = self.read_index().await?;
        let files = self.files_of(target).await?;
        if !operands.is_empty() {
            let among = self.operands(operands)?;
            let is_known = |operand: &String| {
                let one = std::slice::from_ref(operand);
                index.entries.keys().chain(files.entries.keys()).any(|path| is_among(path, one))
            };
            self.shell.step(1 + (among.len() * (index.entries.len() + files.entries.len())) as u64 / 16).await?;
            if let Some(at) = among.iter().position(|operand| !is_known(operand)) {
                let wrong = &operands[at];
                return fatal(format!(
                    "ambiguous argument '{wrong}': unknown revision or path not in the working tree."
                ));
            }
            index.entries.retain(|path, _| !is_among(path, &among));
            for (path, entry) in files.entries.iter().filter(|(path, _)| is_among(path, &among)) {
                index.insert(path.clone(), *entry)?;
            }
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
        let long = [("staged", 'S'), ("worktree", 'W'), ("source", 's'), ("quiet", 'q')];
        let given = self.git().options("restore", arguments, "SWs:q", &long).await?;
        if given.operands.is_empty() {
            return fatal("you must specify path(s) to restore");
        }
        let operands = self.operands(&given.operands)?;
        let mut index = self.read_index().await?;
        let source = match (given.value('s'), given.has('S')) {
            (Some(revision), _) => Some(self.files_of(Some(self.resolve(revision).await?)).await?),
            (None, true) => Some(self.files_of(self.head().await?).await?),
            (None, false) => None,
        };
        let files = &source.as_ref().unwrap_or(&index).entries;
        for (operand, shown) in operands.iter().zip(&given.operands) {
            let one = std::slice::from_ref(operand);
            self.shell.step(1 + (files.len() + index.entries.len()) as u64 / 16).await?;
            if !files.keys().chain(index.entries.keys()).any(|path| is_among(path, one)) {
                return Err(Failure::Error(format!("pathspec '{shown}' did not match any file(s) known to git")));
            }
        }
        if given.has('W') || !given.has('S') {
            for (path, entry) in files.iter().filter(|(path, _)| is_among(path, &operands)) {
                self.put(path, *entry).await?;
            }
            let gone = index.entries.keys().filter(|path| is_among(path, &operands) && !files.contains_key(*path));
            for path in gone {
                self.take_away(path).await?;
            }
        }
        if let (true, Some(source)) = (given.has('S'), &source) {
            index.entries.retain(|path, _| !is_among(path, &operands));
            for (path, entry) in source.entries.iter().filter(|(path, _)| is_among(path, &operands)) {
                index.insert(path.clone(), *entry)?;
            }
            self.write_index(&index.entries).await?;
        }
        Ok(0)
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
        let mut operands = self.operands(&given.operands)?;
        if operands.is_empty() {
            operands.push(self.relative("")?);
        }
        let end = if given.has('z') { '\0' } else { '\n' };
        let mut text = String::new();
        let scanned = if given.has('m') || given.has('d') || given.has('o') {
            Some(self.scan(&index.entries, &operands).await?)
        } else {
            None
        };
        let changes = scanned.as_ref().map(|scanned| compare(&index.entries, &scanned.entries)).unwrap_or_default();
        for (path, entry) in index.entries.iter().filter(|(path, _)| is_among(path, &operands)) {
            let letter = changes.get(path).map(|(letter, _)| *letter);
            let is_wanted = match letter {
                _ if scanned.is_none() || given.has('c') => true,
                Some('D') => given.has('d') || given.has('m'),
                Some(_) => given.has('m'),
                None => false,
            };
            if is_wanted {
                let stage = if given.has('s') { format!("{:06o} {} 0\t", entry.mode, entry.id) } else { String::new() };
                text.push_str(&format!("{stage}{}{end}", quote(path)));
            }
        }
        if let (true, Some(scanned)) = (given.has('o'), &scanned) {
            let others = scanned.entries.keys().filter(|path| !index.entries.contains_key(*path));
            others.for_each(|path| text.push_str(&format!("{}{end}", quote(path))));
        }
        self.print(&text).await
    }
}
