//! Subcommands `commit`, `log` and `show`.

use super::diff::CHANGES;
use super::object::Id;
use super::objects::Commit;
use super::output::Rendered;
use super::paths::Staged;
use super::repository::{Operands, Repository, Revisions};
use super::{Failure, Outcome, fatal, grow};
use crate::bounds::Held;
use crate::programs::input::Content;
use crate::programs::options::Given;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Names of branches and tags by the commits that they lead to, in memory that is counted.
struct Decorations {
    by_id: HashMap<Id, Vec<String>>,
    held: Held,
}

impl Decorations {
    fn add(&mut self, id: Id, name: String) -> Outcome<()> {
        grow(&mut self.held, name.len() + 100)?;
        self.by_id.entry(id).or_default().push(name);
        Ok(())
    }

    /// Returns the names of a commit with commas between them.
    fn of(&self, id: Id) -> String {
        self.by_id.get(&id).map_or_else(String::new, |names| names.join(", "))
    }
}

/// Form in which commits are shown.
enum Style {
    /// Form without a format: several lines, with an empty one between commits.
    Long,
    /// Format of `--oneline`, right below which changes stand.
    Oneline(String),
    /// Format of lines.
    Lines(String),
    /// Format whose texts have an end of line between them only.
    Separated(String),
}

/// Names of branches and tags after a commit (`--decorate`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decoration {
    Short,
    No,
}

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
            ("author", 'ψ'),
        ];
        let given = self.git().options("commit", arguments, "m:anqF:ψ:", &long).await?;
        let mut index = self.read_index().await?;
        if given.has('a') {
            self.stage(&mut index, &Operands::all(), Staged::Known).await?;
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
        let changes = self.compare(&before.entries, &index.entries).await?;
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
        let author = match (given.value('ψ'), &amended) {
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
    async fn render(&self, id: Id, commit: &Commit, format: &str, names: &Decorations) -> Outcome<Rendered<'s>> {
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
                'd' => {
                    let names = names.of(id);
                    text.push(&if names.is_empty() { names } else { format!(" ({names})") }).await?;
                }
                'D' => text.push(&names.of(id)).await?,
                '%' => text.push("%").await?,
                other => text.push(&format!("%{other}")).await?,
            }
        }
        text.push(rest).await?;
        Ok(text)
    }

    fn default_decoration(&self) -> Decoration {
        if self.shell.shared.terminal.is_some() { Decoration::Short } else { Decoration::No }
    }

    /// Returns the names of commits, if they are shown. `default`: for styles that are no formats.
    async fn decorations(&self, style: &Style, default: Decoration) -> Outcome<Decorations> {
        let mut decorations = Decorations { by_id: HashMap::new(), held: self.hold(0)? };
        let is_needed = match style {
            Style::Long | Style::Oneline(_) => default == Decoration::Short,
            Style::Lines(format) | Style::Separated(format) => format.contains("%d") || format.contains("%D"),
        };
        if !is_needed {
            return Ok(decorations);
        }
        let current = self.head_reference().await?;
        if let Some(id) = self.head().await? {
            let branch = current.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
            decorations.add(id, branch.map_or("HEAD".to_owned(), |branch| format!("HEAD -> {branch}")))?;
        }
        let references = self.references("refs/").await?;
        let is_tag = |name: &str| name.starts_with("refs/tags/");
        for tags in [true, false] {
            for (name, id) in references.by_name.iter().rev() {
                if is_tag(name) != tags || current.as_deref() == Some(name) {
                    continue;
                }
                let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/remotes/"));
                match name.strip_prefix("refs/tags/") {
                    Some(tag) => decorations.add(self.peel(*id).await?, format!("tag: {tag}"))?,
                    None => decorations.add(*id, short.unwrap_or(name).to_owned())?,
                }
            }
        }
        Ok(decorations)
    }

    async fn render_long(&self, id: Id, commit: &Commit, names: &Decorations) -> Outcome<Rendered<'s>> {
        let merge = match commit.parents.as_slice() {
            [_, _, ..] => "Merge: %p\n",
            _ => "",
        };
        let head = format!("commit %H%d\n{merge}Author: %an <%ae>\nDate:   %ad\n\n");
        let mut text = self.render(id, commit, &head, names).await?;
        for line in commit.message.trim_end().lines() {
            text.push("    ").await?;
            text.push(line).await?;
            text.push("\n").await?;
        }
        Ok(text)
    }

    /// Returns the form in which commits are shown.
    fn style(&self, given: &Given) -> Outcome<Style> {
        if given.has('o') {
            return Ok(Style::Oneline("%h%d %s".to_owned()));
        }
        let format = given.value('φ').unwrap_or("medium");
        Ok(match (format, format.strip_prefix("format:"), format.strip_prefix("tformat:")) {
            ("medium" | "", _, _) => Style::Long,
            ("oneline", _, _) => Style::Oneline("%H%d %s".to_owned()),
            (_, Some(plain), _) => Style::Separated(plain.to_owned()),
            (_, _, Some(plain)) => Style::Lines(plain.to_owned()),
            (plain, _, _) if plain.contains('%') => Style::Lines(plain.to_owned()),
            _ => return fatal(format!("invalid --pretty format: {format}")),
        })
    }

    pub(super) async fn log(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("max-count", 'n'),
            ("oneline", 'o'),
            ("pretty", 'φ'),
            ("format", 'φ'),
            ("all", 'a'),
            ("reverse", 'r'),
            ("no-color", 'c'),
            ("no-merges", 'm'),
            ("decorate", 'd'),
            ("no-decorate", 'D'),
            ("skip", 'κ'),
            ("abbrev-commit", 'c'),
            ("first-parent", 'f'),
        ];
        let long = [&long[..], &CHANGES].concat();
        let separator = arguments.iter().position(|word| word == "--");
        let (words, after) = arguments.split_at(separator.unwrap_or(arguments.len()));
        // `-3` is `-n3`.
        let is_count =
            |word: &str| word.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let words: Vec<String> =
            words.iter().map(|word| if is_count(word) { format!("-n{}", &word[1..]) } else { word.clone() }).collect();
        let given = self.git().options("log", &words, "n:φ:κ:psU:", &long).await?;
        let number = |letter| given.value(letter).map_or(Ok(None), |text| text.parse::<usize>().map(Some));
        let (Ok(most), Ok(skip)) = (number('n'), number('κ')) else { return fatal("that is no number of commits") };
        let style = self.style(&given)?;
        let (revisions, paths) = self.revisions_and_paths(&given.operands, after).await?;
        let (mut starts, mut hidden) = (Vec::new(), Vec::new());
        for revision in revisions {
            match revision {
                Revisions::One(id) => starts.push(id),
                Revisions::Excluded(id) => hidden.push(self.ancestors(id).await?),
                Revisions::Range(from, to) => {
                    hidden.push(self.ancestors(from).await?);
                    starts.push(to);
                }
                Revisions::Symmetric(from, to) => {
                    let (mut common, other) = (self.ancestors(from).await?, self.ancestors(to).await?);
                    common.ids.retain(|id| other.ids.contains(id));
                    hidden.push(common);
                    starts.extend([from, to]);
                }
            }
        }
        if given.has('a') {
            for id in self.references("refs/").await?.by_name.into_values() {
                starts.push(self.require_commit(id).await?);
            }
        }
        if starts.is_empty() && hidden.is_empty() {
            let Some(head) = self.head().await? else {
                let branch = self.current_branch().await?.unwrap_or_default();
                return fatal(format!("your current branch '{branch}' does not have any commits yet"));
            };
            starts.push(head);
        }
        let mut open: BinaryHeap<(i64, Id)> = BinaryHeap::new();
        let mut seen = HashSet::new();
        let mut held = self.hold(0)?;
        for id in starts {
            open.push((Commit::seconds(&self.read_commit(id).await?.committer), id));
        }
        let (mut shown, mut left_out) = (Vec::new(), 0);
        while let Some((_, id)) = open.pop() {
            if hidden.iter().any(|commits| commits.ids.contains(&id)) || !seen.insert(id) {
                continue;
            }
            let commit = self.read_commit(id).await?;
            grow(&mut held, 200 + 64 * commit.parents.len())?;
            let followed = if given.has('f') { 1 } else { usize::MAX };
            for parent in commit.parents.iter().take(followed) {
                open.push((Commit::seconds(&self.read_commit(*parent).await?.committer), *parent));
            }
            if given.has('m') && commit.parents.len() > 1 {
                continue;
            }
            if !paths.is_empty() {
                let before = self.files_of(commit.parents.first().copied()).await?;
                let after = self.files_of(Some(id)).await?;
                if !self.compare(&before.entries, &after.entries).await?.keys().any(|path| paths.have(path)) {
                    continue;
                }
            }
            if left_out < skip.unwrap_or(0) {
                left_out += 1;
                continue;
            }
            if shown.len() >= most.unwrap_or(usize::MAX) {
                break;
            }
            shown.push(id);
        }
        if given.has('r') {
            shown.reverse();
        }
        let decoration = match given.has('D') {
            true => Decoration::No,
            false if given.has('d') => Decoration::Short,
            false => self.default_decoration(),
        };
        let names = self.decorations(&style, decoration).await?;
        for (at, id) in shown.into_iter().enumerate() {
            if at > 0 && matches!(style, Style::Long | Style::Separated(_)) {
                self.print("\n").await?;
            }
            let commit = self.read_commit(id).await?;
            let shows = !given.has('s') && commit.parents.len() < 2 && given.last_of("pNStU").is_some();
            self.show_commit(id, &commit, &style, &names, shows.then_some((&given, &paths))).await?;
        }
        Ok(0)
    }

    /// Writes a commit, and its changes by the options for their form.
    async fn show_commit(
        &self,
        id: Id,
        commit: &Commit,
        style: &Style,
        names: &Decorations,
        changes: Option<(&Given, &Operands)>,
    ) -> Outcome<()> {
        let mut text = match style {
            Style::Long => self.render_long(id, commit, names).await?,
            Style::Oneline(format) | Style::Lines(format) | Style::Separated(format) => {
                self.render(id, commit, format, names).await?
            }
        };
        let mut files = None;
        if let Some((given, paths)) = changes {
            let before = self.files_of(commit.parents.first().copied()).await?;
            let after = self.files_of(Some(id)).await?;
            let changed = self.compare(&before.entries, &after.entries).await?;
            if changed.keys().any(|path| paths.is_empty() || paths.have(path)) {
                files = Some((before, after, given, paths));
            }
        }
        let between = match &files {
            Some((_, _, given, _)) if given.has('t') && (given.has('p') || given.has('U')) => "---\n",
            Some(_) => "\n",
            None => "",
        };
        match style {
            Style::Long | Style::Separated(_) => text.push(between).await?,
            Style::Oneline(_) => text.push("\n").await?,
            Style::Lines(_) => text.push(&format!("\n{between}")).await?,
        }
        self.print(&text.text).await?;
        if let Some((before, after, given, paths)) = files {
            self.write_changes(&before.entries, &after.entries, given, paths).await?;
        }
        Ok(())
    }

    pub(super) async fn show(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("format", 'φ'), ("pretty", 'φ'), ("oneline", 'o'), ("no-color", 'c')];
        let long = [&long[..], &CHANGES].concat();
        let given = self.git().options("show", arguments, "φ:psU:", &long).await?;
        let revision = given.operands.first().map_or("HEAD", String::as_str);
        if let Some((revision, path)) = revision.split_once(':') {
            let commit = self.resolve(if revision.is_empty() { "HEAD" } else { revision }).await?;
            let files = self.files_of(Some(commit)).await?;
            let Some(entry) = files.entries.get(path) else {
                return fatal(format!("path '{path}' does not exist in '{revision}'"));
            };
            let object = self.read_object(entry.id).await?;
            self.shell.out("git", &object.data).await?;
            return Ok(0);
        }
        let id = self.resolve_commit(revision).await?;
        let commit = self.read_commit(id).await?;
        let style = self.style(&given)?;
        let names = self.decorations(&style, self.default_decoration()).await?;
        let paths = Operands::default();
        let changes = (!given.has('s')).then_some((&given, &paths));
        self.show_commit(id, &commit, &style, &names, changes).await?;
        Ok(0)
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
