//! Settings, in git's files of sections and keys.

use super::{Failure, Outcome, fatal, grow};
use crate::bounds::Held;
use crate::state::Shell;
use proofbox_vfs::HOME;
use std::sync::Arc;

/// Largest file of settings, in bytes.
pub(super) const MAX_SETTINGS: usize = 1 << 20;
/// Memory of a line beside its text, in bytes.
const BYTES_A_LINE: usize = 128;
/// Number of lines that cost a step to look through.
const LINES_A_STEP: usize = 16;

/// Returns the path of the user's settings.
pub(super) fn global_path(shell: &Shell) -> String {
    shell.path(&format!("{}/.gitconfig", shell.text_of("HOME").as_deref().unwrap_or(HOME)))
}

/// Refuses a file of settings that could not be read again.
pub(super) fn check_settings(path: &str, text: &str) -> Outcome<()> {
    if text.len() > MAX_SETTINGS {
        return fatal(format!("'{path}' would be too large"));
    }
    Ok(())
}

/// Text of a file of settings, line by line, in memory that is counted.
#[derive(Default)]
pub(super) struct Config {
    lines: Vec<Line>,
    _held: Option<Held>,
}

struct Line {
    text: String,
    /// Section that the line is in, as `remote.origin`.
    section: Arc<str>,
    /// Name and value, if the line sets one.
    setting: Option<(String, String)>,
}

/// Splits `section.name`; the part between may have any characters.
fn split_key(key: &str) -> Option<(String, String)> {
    let (section, name) = key.rsplit_once('.')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let section = match section.split_once('.') {
        Some((first, rest)) => format!("{}.{rest}", first.to_ascii_lowercase()),
        None => section.to_ascii_lowercase(),
    };
    (is_name && !section.is_empty() && !section.contains(['\n', '\0'])).then(|| (section, name.to_ascii_lowercase()))
}

impl Config {
    /// Parses a file of settings.
    pub(super) async fn parse(shell: &Shell, path: &str, text: &str) -> Outcome<Self> {
        if text.len() > MAX_SETTINGS {
            return fatal(format!("'{path}' is too large"));
        }
        let held = shell.shared.used.hold(0);
        let mut held = held.ok_or_else(|| Failure::Fatal("out of memory".to_owned()))?;
        let mut config = Self::default();
        for line in text.lines() {
            shell.step(1).await?;
            grow(&mut held, BYTES_A_LINE + 3 * line.len())?;
            config.add(line);
        }
        // Values are looked for among all lines.
        shell.step(1 + (config.lines.len() / LINES_A_STEP) as u64).await?;
        config._held = Some(held);
        Ok(config)
    }

    /// Adds a line of a file.
    fn add(&mut self, text: &str) {
        let mut section = self.lines.last().map_or_else(|| Arc::from(""), |line| Arc::clone(&line.section));
        let trimmed = text.trim();
        let mut setting = None;
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = Arc::from(match name.split_once('"') {
                Some((first, rest)) => format!(
                    "{}.{}",
                    first.trim().to_ascii_lowercase(),
                    rest.strip_suffix('"').unwrap_or(rest).replace("\\\"", "\"").replace("\\\\", "\\")
                ),
                None => name.trim().to_ascii_lowercase(),
            });
        } else if !trimmed.is_empty() && !trimmed.starts_with(['#', ';']) {
            let (name, value) = trimmed.split_once('=').unwrap_or((trimmed, "true"));
            setting = Some((name.trim().to_ascii_lowercase(), unquote(value.trim())));
        }
        self.lines.push(Line { text: text.to_owned(), section, setting });
    }

    pub(super) fn render(&self) -> String {
        self.lines.iter().fold(String::new(), |text, line| text + &line.text + "\n")
    }

    /// Lists all settings, as `section.name` and value.
    pub(super) fn settings(&self) -> impl DoubleEndedIterator<Item = (String, &str)> {
        self.lines.iter().filter_map(|line| {
            let (name, value) = line.setting.as_ref()?;
            Some((format!("{}.{name}", line.section), value.as_str()))
        })
    }

    /// Returns the values of a key, in order.
    pub(super) fn values<'c>(&'c self, key: &str) -> Vec<&'c str> {
        let Some((section, name)) = split_key(key) else { return Vec::new() };
        let settings =
            self.lines.iter().filter(|line| *line.section == *section).filter_map(|line| line.setting.as_ref());
        settings.filter(|(known, _)| *known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Sets a key to one value. False: this can be no key.
    pub(super) fn set(&mut self, key: &str, value: &str) -> bool {
        let Some((section, name)) = split_key(key) else { return false };
        let shown = key.rsplit('.').next().unwrap_or(key);
        let line = Line {
            text: format!("\t{shown} = {}", quote(value)),
            section: Arc::from(section.as_str()),
            setting: Some((name.clone(), value.to_owned())),
        };
        let is_it =
            |line: &Line| *line.section == *section && line.setting.as_ref().is_some_and(|(known, _)| *known == name);
        if let Some(known) = self.lines.iter().rposition(is_it) {
            self.lines[known] = line;
        } else if let Some(last) = self.lines.iter().rposition(|line| *line.section == *section) {
            self.lines.insert(last + 1, line);
        } else {
            let text = match section.split_once('.') {
                Some((first, rest)) => {
                    format!("[{first} \"{}\"]", rest.replace('\\', "\\\\").replace('"', "\\\""))
                }
                None => format!("[{section}]"),
            };
            self.lines.push(Line { text, section: Arc::from(section), setting: None });
            self.lines.push(line);
        }
        true
    }

    /// Removes a key. False: it was not there.
    pub(super) fn unset(&mut self, key: &str) -> bool {
        let Some((section, name)) = split_key(key) else { return false };
        let before = self.lines.len();
        self.lines
            .retain(|line| *line.section != *section || line.setting.as_ref().is_none_or(|(known, _)| *known != name));
        self.lines.len() < before
    }

    /// Removes a section. False: it was not there.
    pub(super) fn remove_section(&mut self, section: &str) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| *line.section != *section);
        self.lines.len() < before
    }
}

fn quote(value: &str) -> String {
    let is_plain = !value.is_empty() && value.trim() == value && !value.contains(['"', '\\', '\n', '\t', '#', ';']);
    if is_plain {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

fn unquote(text: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                other => value.extend(other),
            },
            '#' | ';' if !is_quoted => break,
            other => value.push(other),
        }
    }
    if is_quoted || text.ends_with('"') { value } else { value.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        let mut config = Config::default();
        text.lines().for_each(|line| config.add(line));
        config
    }

    #[test]
    fn settings_keep_their_file_as_it_is() {
        let text = "# mine\n[user]\n\tName = \"a # b\" ; c\n[remote \"o.x\"]\n\turl = /r\n";
        let mut config = parse(text);
        assert_eq!(config.render(), text);
        assert_eq!(config.values("user.name"), ["a # b"]);
        assert_eq!(config.values("remote.o.x.url"), ["/r"]);
        assert!(config.set("user.email", "a@b") && config.set("remote.o.x.url", "a\\ \"b\""));
        assert!(config.set("core.bare", "true"));
        assert!(!config.set("nothing", "x") && !config.set("a.b c", "x"));
        let again = parse(&config.render());
        assert_eq!(again.values("remote.o.x.url"), ["a\\ \"b\""]);
        assert_eq!((again.values("user.email"), again.values("core.bare")), (vec!["a@b"], vec!["true"]));
        assert!(config.unset("user.name") && !config.unset("user.name"));
        assert!(config.remove_section("remote.o.x") && !config.render().contains("url"));
    }
}
