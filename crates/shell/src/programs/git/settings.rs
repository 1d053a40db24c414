//! Subcommands `init`, `config` and `credential`.

use super::config::{Config, MAX_SETTINGS, check_settings, global_path};
use super::output::Output;
use super::repository::{Repository, is_name, is_repository};
use super::{Git, Outcome, fatal, file_failure};
use crate::programs::input::Content;
use crate::state::absolute;
use proofbox_vfs::{HOME, lock};

/// Directories of a new repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Objects and references alone (`--bare`).
    Bare,
    /// A work tree, with that one in it.
    WorkTree,
}

impl<'s> Git<'s> {
    pub(super) async fn init(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("bare", 'B'), ("initial-branch", 'b'), ("quiet", 'q')];
        let given = self.options("init", arguments, "b:q", &long).await?;
        let path = absolute(&self.cwd, given.operands.first().map_or("", String::as_str));
        let branch = match given.value('b') {
            Some(branch) => branch.to_owned(),
            None => self.user_setting("init.defaultBranch").await?.unwrap_or_else(|| "master".to_owned()),
        };
        let git_dir = if given.has('B') { path } else { absolute(&path, ".git") };
        let again = is_repository(self.shell, &git_dir);
        let layout = if given.has('B') { Layout::Bare } else { Layout::WorkTree };
        self.create(&git_dir, layout, &branch).await?;
        if given.has('q') {
            return Ok(0);
        }
        let verb = if again { "Reinitialized existing" } else { "Initialized empty" };
        self.print(&format!("{verb} Git repository in {git_dir}/\n")).await
    }

    /// Makes a repository, or what is missing of it.
    pub(super) async fn create(&self, git_dir: &str, layout: Layout, branch: &str) -> Outcome<Repository<'s>> {
        let is_bare = layout == Layout::Bare;
        if !is_name(branch) {
            return fatal(format!("invalid initial branch name: '{branch}'"));
        }
        let is_new = !is_repository(self.shell, git_dir);
        for name in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            let path = absolute(git_dir, name);
            if !self.shell.is_directory(&path) {
                let made = lock(&self.shell.tree).make_directory(&path, self.shell.now());
                made.map_err(|error| file_failure(&path, &error))?;
            }
        }
        if is_new {
            let config = format!("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {is_bare}\n");
            for (name, text) in [("HEAD", format!("ref: refs/heads/{branch}\n")), ("config", config)] {
                let path = absolute(git_dir, name);
                let written = lock(&self.shell.tree).write_file(&path, text.as_bytes(), self.shell.now());
                written.map_err(|error| file_failure(&path, &error))?;
            }
        }
        let work_tree = (!is_bare).then(|| absolute(git_dir, ".."));
        self.open(git_dir, work_tree)
    }

    async fn read_settings(&self, path: &str) -> Outcome<Config> {
        let Ok(reader) = self.shell.reader_of(path) else { return Ok(Config::default()) };
        let content = Content::read(self.shell, "git", reader).await?;
        Config::parse(self.shell, path, &String::from_utf8_lossy(&content.bytes)).await
    }

    async fn user_setting(&self, key: &str) -> Outcome<Option<String>> {
        if let Some((_, value)) = self.settings.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(key)) {
            return Ok(Some(value.clone()));
        }
        let config = self.read_settings(&global_path(self.shell)).await?;
        Ok(config.values(key).last().map(|value| (*value).to_owned()))
    }

    pub(super) async fn config(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("global", 'g'),
            ("local", 'L'),
            ("system", 's'),
            ("file", 'f'),
            ("get", 'G'),
            ("get-all", 'A'),
            ("unset", 'u'),
            ("unset-all", 'u'),
            ("list", 'l'),
            ("add", 'a'),
            ("replace-all", 'r'),
            ("bool", 'b'),
            ("int", 'b'),
            ("type", 'τ'),
            ("default", 'δ'),
        ];
        let given = self.options("config", arguments, "lf:τ:δ:", &long).await?;
        let own = self.repository().ok().map(|repository| format!("{}/config", repository.git_dir));
        let one = match given.last_of("gLsf") {
            Some('g') => Some(global_path(self.shell)),
            Some('s') => Some("/etc/gitconfig".to_owned()),
            Some('f') => given.value('f').map(|path| absolute(&self.cwd, path)),
            Some(_) if own.is_none() => return fatal("--local can only be used inside a git repository"),
            Some(_) => own.clone(),
            None => None,
        };
        let operands: Vec<&str> = given.operands.iter().map(String::as_str).collect();
        if let ([key, value] | [key, value, _], false) = (operands.as_slice(), given.has('l') || given.has('u')) {
            let Some(path) = one.or(own) else { return fatal("not in a git directory") };
            let mut config = self.read_settings(&path).await?;
            if !config.set(key, value) {
                return fatal(format!("invalid key: {key}"));
            }
            return self.write_settings(&path, &config).await;
        }
        if let (true, [key, ..]) = (given.has('u'), operands.as_slice()) {
            let Some(path) = one.or(own) else { return fatal("not in a git directory") };
            let mut config = self.read_settings(&path).await?;
            return if config.unset(key) { self.write_settings(&path, &config).await } else { Ok(5) };
        }
        let mut configs = Vec::new();
        for path in one.map_or_else(|| vec![global_path(self.shell)].into_iter().chain(own).collect(), |one| vec![one])
        {
            configs.push(self.read_settings(&path).await?);
        }
        if given.has('l') {
            let mut output = Output::new(self.shell);
            for (key, value) in configs.iter().flat_map(Config::settings) {
                output.push(&format!("{key}={value}\n")).await?;
            }
            return output.finish().await;
        }
        let [key] = operands.as_slice() else { return fatal("usage: git config [<options>] <name> [<value>]") };
        let mut values: Vec<&str> = configs.iter().flat_map(|config| config.values(key)).collect();
        let settings = self.settings.iter().filter(|(known, _)| known.eq_ignore_ascii_case(key));
        values.extend(settings.map(|(_, value)| value.as_str()));
        if values.is_empty() {
            values.extend(given.value('δ'));
        }
        let Some(last) = values.last() else { return Ok(1) };
        let shown = if given.has('A') { values.join("\n") } else { (*last).to_owned() };
        self.print(&format!("{shown}\n")).await
    }

    async fn write_settings(&self, path: &str, config: &Config) -> Outcome<i32> {
        let text = config.render();
        check_settings(path, &text)?;
        let written = lock(&self.shell.tree).write_file(path, text.as_bytes(), self.shell.now());
        written.map_err(|error| file_failure(path, &error))?;
        Ok(0)
    }

    /// `credential approve` with the helper `store`: adds a line to its file. Nothing reads it, as there is no network.
    pub(super) async fn credential(&self, arguments: &[String]) -> Outcome<i32> {
        let content = Content::read(self.shell, "git", self.shell.streams.stdin.clone()).await?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        match arguments.first().map(String::as_str) {
            Some("approve" | "store") => {}
            Some("reject" | "erase" | "fill") => return Ok(0),
            _ => return fatal("usage: git credential (fill|approve|reject)"),
        }
        if self.user_setting("credential.helper").await?.as_deref() != Some("store") {
            return Ok(0);
        }
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or("");
        let encode = |text: &str| {
            text.bytes().fold(String::new(), |mut encoded, byte| {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
                    byte => encoded.push_str(&format!("%{byte:02x}")),
                }
                encoded
            })
        };
        let line = format!(
            "{}://{}:{}@{}\n",
            value("protocol"),
            encode(value("username")),
            encode(value("password")),
            value("host")
        );
        let home = self.shell.text_of("HOME");
        let path = self.shell.path(&format!("{}/.git-credentials", home.as_deref().unwrap_or(HOME)));
        let mut known = match self.shell.reader_of(&path) {
            Ok(reader) => Content::read(self.shell, "git", reader).await?.bytes,
            Err(_) => Vec::new(),
        };
        if known.len() > MAX_SETTINGS {
            return fatal(format!("'{path}' is too large"));
        }
        if !String::from_utf8_lossy(&known).lines().any(|known| known == line.trim_end()) {
            known.extend_from_slice(line.as_bytes());
            let written = lock(&self.shell.tree).write_file(&path, &known, self.shell.now());
            written.map_err(|error| file_failure(&path, &error))?;
        }
        Ok(0)
    }
}
