//! Subcommands `commit`, `log` and `show`.

use super::objects::{Commit, Id};
use super::output::Rendered;
use super::repository::{Operands, Repository};
use super::status::compare;
use super::{Failure, Outcome, fatal};
use crate::programs::input::Content;
use std::collections::{BinaryHeap, HashSet};

impl<'s> Repository<'s> {
    /// Returns name, address and time of who acts as `AUTHOR` or `COMMITTER`.
    pub(super) async fn signature(&self, role: &str) -> Outcome<String> {
        let given = |name: &str| self.shell.text_of(&format!("GIT_{role}_{name}")).map(|text| text.to_string());
        let name = match given("NAME") {
            Some(name) => Some(name),
            None => self.setting("user.name").await?,
        };
        let email = match given("EMAIL") {
            Some(email) => Some(email),
            None => self.setting("user.email").await?,
        };
        let (Some(name), Some(email)) = (name, email) else {
            self.shell
                .say(
                    "Author identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n  git config --global user.email \
                     \"you@example.com\"\n  git config --global user.name \"Your Name\"\n\nto set your account's default \
                     identity.\n\n",
                )
                .await;
            return fatal("unable to auto-detect email address");
        };
        let clean = |text: &str| text.replace(['<', '>', '\n', '\0'], "").trim().to_owned();
        let seconds = self.shell.now() / 1_000_000_000;
        let time = given("DATE").filter(|date| is_raw_date(date)).unwrap_or_else(|| format!("{seconds} +0000"));
        Ok(format!("{} <{}> {}", clean(&name), clean(&email), time.trim_start_matches('@')))
    }

    pub(super) async fn commit(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("message", 'm'),
            ("all", 'a'),
            ("allow-empty", 'e'),
            ("allow-empty-message", 'E'),
            ("amend", 'A'),
            ("no-edit", 'n'),
            ("no-verify", 'n'),
            ("no-gpg-sign", 'n'),
            ("quiet", 'q'),
            ("file", 'F'),
            ("author", 'u'),
        ];
        let given = self.git().options("commit", arguments, "m:aeEAnqF:u:", &long).await?;
        let mut index = self.read_index().await?;
        if given.has('a') {
            self.stage(&mut index, &Operands::all(), false).await?;
        }
        if !given.operands.is_empty() {
            return fatal("paths can't be given to commit here: use git add");
        }
        let head = self.head().await?;
        let amended = match (head, given.has('A')) {
            (Some(id), true) => Some(self.read_commit(id).await?),
            (None, true) => return fatal("You have nothing to amend."),
            (_, false) => None,
        };
        let parents = match (&amended, head) {
            (Some(commit), _) => commit.parents.clone(),
            (None, head) => head.into_iter().collect(),
        };
        let before = self.files_of(parents.first().copied()).await?;
        let changes = compare(&before.entries, &index.entries);
        if changes.is_empty() && amended.is_none() && !given.has('e') {
            if !given.has('q') {
                self.status(&[]).await?;
            }
            return Ok(1);
        }
        let message = match (given.values('m').as_slice(), given.value('F'), &amended) {
            ([], Some(path), _) => {
                let reader = crate::programs::input::open(self.shell, "git", path).await.ok_or(Failure::Quiet(128))?;
                String::from_utf8_lossy(&Content::read(self.shell, "git", reader).await?.bytes).into_owned()
            }
            ([], None, Some(commit)) => commit.message.clone(),
            ([], None, None) => {
                return Err(Failure::Error("there is no editor here: give the message with -m".to_owned()));
            }
            (messages, _, _) => messages.join("\n\n"),
        };
        let message = message.trim();
        if message.is_empty() && !given.has('E') {
            self.shell.say("Aborting commit due to empty commit message.\n").await;
            return Ok(1);
        }
        let committer = self.signature("COMMITTER").await?;
        let author = match (given.value('u'), &amended) {
            (Some(author), _) => {
                let time = committer.rsplitn(3, ' ').take(2).collect::<Vec<_>>();
                format!(
                    "{} {} {}",
                    author.replace('\n', ""),
                    time.get(1).unwrap_or(&"0"),
                    time.first().unwrap_or(&"+0000")
                )
            }
            (None, Some(commit)) => commit.author.clone(),
            (None, None) => self.signature("AUTHOR").await?,
        };
        let tree = self.write_tree(&index.entries).await?;
        let above = parents.iter().fold(String::new(), |text, id| text + &format!("parent {id}\n"));
        let text = format!("tree {tree}\n{above}author {author}\ncommitter {committer}\n\n{message}\n");
        let id = self.write_object("commit", text.as_bytes()).await?;
        self.write_index(&index.entries).await?;
        self.move_head(id).await?;
        if given.has('q') {
            return Ok(0);
        }
        let branch = self.current_branch().await?.unwrap_or_else(|| "detached HEAD".to_owned());
        let root = if parents.is_empty() { " (root-commit)" } else { "" };
        let (count, subject) = (changes.len(), message.lines().next().unwrap_or(""));
        let files = if count == 1 { "1 file changed".to_owned() } else { format!("{count} files changed") };
        self.print(&format!("[{branch}{root} {}] {subject}\n {files}\n", id.short())).await
    }

    /// Renders a commit by a format of `log`.
    async fn render(&self, id: Id, commit: &Commit, format: &str) -> Outcome<Rendered<'s>> {
        let (subject, body) = commit.message.split_once('\n').unwrap_or((&commit.message, ""));
        let mut text = Rendered::new(self.shell, self.hold(0)?);
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            text.push(&rest[..at]).await?;
            let mut characters = rest[at + 1..].chars();
            let mut letter = characters.next().unwrap_or('%');
            let signature = match letter {
                'a' => Some(&commit.author),
                'c' => Some(&commit.committer),
                _ => None,
            };
            if signature.is_some() {
                letter = characters.next().unwrap_or(' ');
            }
            rest = characters.as_str();
            if let Some(signature) = signature {
                let (name, address) = signature.split_once(" <").unwrap_or((signature, ""));
                match letter {
                    'n' | 'N' => text.push(name).await?,
                    'e' | 'E' => text.push(address.split('>').next().unwrap_or("")).await?,
                    't' => text.push(&Commit::seconds(signature).to_string()).await?,
                    'd' => text.push(&render_time(signature, "%a %b %-d %H:%M:%S %Y +0000")).await?,
                    's' => text.push(&render_time(signature, "%Y-%m-%d")).await?,
                    'I' => text.push(&render_time(signature, "%Y-%m-%dT%H:%M:%S+00:00")).await?,
                    'i' => text.push(&render_time(signature, "%Y-%m-%d %H:%M:%S +0000")).await?,
                    _ => {}
                }
                continue;
            }
            match letter {
                'H' => text.push(&id.to_string()).await?,
                'h' => text.push(&id.short()).await?,
                'T' => text.push(&commit.tree.to_string()).await?,
                'P' | 'p' => {
                    for (at, id) in commit.parents.iter().enumerate() {
                        text.push(if at == 0 { "" } else { " " }).await?;
                        text.push(&if letter == 'P' { id.to_string() } else { id.short() }).await?;
                    }
                }
                's' => text.push(subject).await?,
                'b' => text.push(body.trim_start_matches('\n')).await?,
                'B' => text.push(&commit.message).await?,
                'n' => text.push("\n").await?,
                'd' => text.push(&self.decoration(id).await?).await?,
                'D' => text.push(self.decoration(id).await?.trim_matches([' ', '(', ')'])).await?,
                '%' => text.push("%").await?,
                other => text.push(&format!("%{other}")).await?,
            }
        }
        text.push(rest).await?;
        Ok(text)
    }

    async fn decoration(&self, id: Id) -> Outcome<String> {
        let mut names = Vec::new();
        if self.head().await? == Some(id) {
            names.push(match self.current_branch().await? {
                Some(branch) => format!("HEAD -> {branch}"),
                None => "HEAD".to_owned(),
            });
        }
        let current = self.head_reference().await?;
        for (name, target) in &self.references("refs/").await?.by_name {
            if *target == id && current.as_deref() != Some(name) {
                let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/remotes/"));
                let tag = name.strip_prefix("refs/tags/").map(|tag| format!("tag: {tag}"));
                names.push(tag.unwrap_or_else(|| short.unwrap_or(name).to_owned()));
            }
        }
        Ok(if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) })
    }

    async fn render_long(&self, id: Id, commit: &Commit, decorates: bool) -> Outcome<Rendered<'s>> {
        let names = if decorates { "%d" } else { "" };
        let merge = match commit.parents.as_slice() {
            [_, _, ..] => "Merge: %p\n",
            _ => "",
        };
        let mut text =
            self.render(id, commit, &format!("commit %H{names}\n{merge}Author: %an <%ae>\nDate:   %ad\n\n")).await?;
        for line in commit.message.trim_end().lines() {
            text.push(format!("    {line}").trim_end()).await?;
            text.push("\n").await?;
        }
        Ok(text)
    }

    pub(super) async fn log(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("max-count", 'n'),
            ("oneline", 'o'),
            ("pretty", 'p'),
            ("format", 'f'),
            ("all", 'a'),
            ("reverse", 'r'),
            ("name-only", 'N'),
            ("name-status", 'S'),
            ("no-color", 'c'),
            ("no-merges", 'm'),
            ("decorate", 'D'),
            ("skip", 's'),
            ("abbrev-commit", 'c'),
            ("first-parent", '1'),
        ];
        // `-3` is `-n3`.
        let is_count =
            |word: &str| word.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let words: Vec<String> = arguments
            .iter()
            .map(|word| if is_count(word) { format!("-n{}", &word[1..]) } else { word.clone() })
            .collect();
        let given = self.git().options("log", &words, "n:op:f:arNScms:1D", &long).await?;
        let number = |letter| given.value(letter).map_or(Ok(None), |text| text.parse::<usize>().map(Some));
        let (Ok(most), Ok(skip)) = (number('n'), number('s')) else { return fatal("that is no number of commits") };
        let (mut starts, mut hidden, mut paths) = (Vec::new(), HashSet::new(), Vec::<String>::new());
        for operand in &given.operands {
            match operand.split_once("..") {
                Some((from, to)) => {
                    let from = self.resolve(if from.is_empty() { "HEAD" } else { from }).await?;
                    hidden.extend(self.ancestors(from).await?);
                    starts.push(self.resolve(if to.is_empty() { "HEAD" } else { to }).await?);
                }
                None => match self.resolve(operand).await {
                    Ok(id) if paths.is_empty() => starts.push(id),
                    Err(Failure::Stop(stop)) => return Err(stop.into()),
                    _ => paths.push(operand.clone()),
                },
            }
        }
        let paths = self.operands(&paths).await?;
        if given.has('a') {
            starts.extend(self.references("refs/").await?.by_name.into_values());
        }
        if starts.is_empty() {
            let Some(head) = self.head().await? else {
                let branch = self.current_branch().await?.unwrap_or_default();
                return fatal(format!("your current branch '{branch}' does not have any commits yet"));
            };
            starts.push(head);
        }
        let format = given.value('f').map(str::to_owned).or_else(|| given.value('p').map(str::to_owned));
        let decorates = given.has('D') || self.shell.shared.terminal.is_some();
        let (format, ends_lines) = match format.as_deref() {
            _ if given.has('o') && decorates => (Some("%h%d %s".to_owned()), true),
            _ if given.has('o') => (Some("%h %s".to_owned()), true),
            None | Some("medium" | "") => (None, false),
            Some("oneline") => (Some("%H %s".to_owned()), true),
            Some(format) => {
                let separated = format.strip_prefix("format:");
                let plain = separated.or_else(|| format.strip_prefix("tformat:")).unwrap_or(format);
                (Some(plain.to_owned()), separated.is_none())
            }
        };
        let mut open: BinaryHeap<(i64, Id)> = BinaryHeap::new();
        let mut seen = HashSet::new();
        let mut held = self.hold(0)?;
        for id in starts {
            open.push((Commit::seconds(&self.read_commit(id).await?.committer), id));
        }
        let (mut shown, mut left_out) = (Vec::new(), 0);
        while let Some((_, id)) = open.pop() {
            if !seen.insert(id) || hidden.contains(&id) {
                continue;
            }
            let commit = self.read_commit(id).await?;
            if !held.grow(300 + commit.message.len()) {
                return fatal("out of memory");
            }
            let followed = if given.has('1') { 1 } else { usize::MAX };
            for parent in commit.parents.iter().take(followed) {
                open.push((Commit::seconds(&self.read_commit(*parent).await?.committer), *parent));
            }
            let needs_changes = !paths.is_empty() || given.has('N') || given.has('S');
            let mut names = String::new();
            if needs_changes {
                let before = self.files_of(commit.parents.first().copied()).await?;
                let changes = compare(&before.entries, &self.files_of(Some(id)).await?.entries);
                let wanted = |path: &String| paths.is_empty() || paths.have(path);
                if !paths.is_empty() && !changes.keys().any(wanted) {
                    continue;
                }
                for (path, (letter, _)) in changes.iter().filter(|(path, _)| wanted(path)) {
                    let status = if given.has('S') { format!("{letter}\t") } else { String::new() };
                    names.push_str(&format!("{status}{path}\n"));
                }
                if !given.has('N') && !given.has('S') {
                    names.clear();
                }
            }
            if given.has('m') && commit.parents.len() > 1 {
                continue;
            }
            if left_out < skip.unwrap_or(0) {
                left_out += 1;
                continue;
            }
            if shown.len() >= most.unwrap_or(usize::MAX) {
                break;
            }
            let mut text = match &format {
                Some(format) => self.render(id, &commit, format).await?,
                None => self.render_long(id, &commit, decorates).await?,
            };
            if format.is_some() && (ends_lines || !names.is_empty()) {
                text.push("\n").await?;
            }
            if !names.is_empty() {
                text.push(if format.is_none() { "\n" } else { "" }).await?;
                text.push(&names).await?;
            }
            shown.push(text);
        }
        if given.has('r') {
            shown.reverse();
        }
        for (at, text) in shown.iter().enumerate() {
            if at > 0 && !(format.is_some() && ends_lines) {
                self.print("\n").await?;
            }
            self.print(&text.text).await?;
        }
        Ok(0)
    }

    pub(super) async fn show(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("name-only", 'N'),
            ("name-status", 'S'),
            ("format", 'f'),
            ("pretty", 'f'),
            ("no-color", 'c'),
            ("no-patch", 's'),
        ];
        let given = self.git().options("show", arguments, "NSf:cs", &long).await?;
        let revision = given.operands.first().map_or("HEAD", String::as_str);
        if let Some((revision, path)) = revision.split_once(':') {
            let files =
                self.files_of(Some(self.resolve(if revision.is_empty() { "HEAD" } else { revision }).await?)).await?;
            let Some(entry) = files.entries.get(path) else {
                return fatal(format!("path '{path}' does not exist in '{revision}'"));
            };
            let object = self.read_object(entry.id).await?;
            self.shell.out("git", &object.data).await?;
            return Ok(0);
        }
        let id = self.resolve(revision).await?;
        let commit = self.read_commit(id).await?;
        let mut head = match given.value('f') {
            Some(format) => {
                let plain =
                    format.strip_prefix("format:").or_else(|| format.strip_prefix("tformat:")).unwrap_or(format);
                self.render(id, &commit, plain).await?
            }
            None => self.render_long(id, &commit, false).await?,
        };
        if given.has('f') {
            head.push("\n").await?;
        }
        self.print(&head.text).await?;
        if given.has('s') {
            return Ok(0);
        }
        self.print("\n").await?;
        let (before, after) = (self.files_of(commit.parents.first().copied()).await?, self.files_of(Some(id)).await?);
        self.write_changes(&before.entries, &after.entries, &given, &Operands::default()).await
    }
}

/// Returns whether a date is given as seconds and zone, the one form that is read.
fn is_raw_date(text: &str) -> bool {
    let Some((seconds, zone)) = text.trim_start_matches('@').split_once(' ') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.len() < 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(seconds) && zone.len() == 5 && zone.strip_prefix(['+', '-']).is_some_and(is_number)
}

fn render_time(signature: &str, format: &str) -> String {
    let time = jiff::Timestamp::from_second(Commit::seconds(signature));
    time.map_or_else(|_| String::new(), |time| time.strftime(format).to_string())
}
