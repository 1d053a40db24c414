//! Files that `rg` searches: what its operands name, and what lies below without what is ignored.

use super::flags::Given;
use super::types::TYPES;
use crate::bounds::{Held, Pace};
use crate::programs::ignore::{MAX_PATTERN, MAX_RULE_BYTES, MAX_RULES, RULE_MEMORY, Rule, matches_name};
use crate::programs::input::{Content, Lines};
use crate::state::{Shell, Stop, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

/// Directories below each other that are searched.
const MAX_DEPTH: usize = 128;
/// Patterns of all globs and types, those of braces included.
const MAX_PATTERNS: usize = 1000;
/// Names of files with rules, from the one that counts most to the one that counts least.
const RULE_FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];
/// First of the [`RULE_FILES`] that hold within a repository only.
const FIRST_OF_GIT: usize = 2;

/// File to search.
pub(super) struct Found {
    pub(super) path: String,
    /// Path as it is shown; empty for standard input.
    pub(super) name: String,
    /// True for an operand, which is searched whatever it is.
    pub(super) is_operand: bool,
    entry: Option<FileEntry>,
}

impl Found {
    /// Makes what stands for standard input.
    pub(super) fn stdin() -> Self {
        Self { path: "-".to_owned(), name: "<stdin>".to_owned(), is_operand: true, entry: None }
    }
}

/// Decision of one kind of rule about a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    None,
    Ignore,
    /// The path is wanted, even if it is hidden.
    Keep,
}

/// Order of the files.
#[derive(Clone, Copy)]
enum SortKey {
    Path,
    Modified,
    Accessed,
    Created,
}

/// Pattern of `-g`.
struct Glob {
    rule: Rule,
    is_caseless: bool,
}

/// Selection of files.
pub(super) struct Walk {
    globs: Vec<Glob>,
    /// Patterns of types, each with whether its type is wanted.
    types: Vec<(String, bool)>,
    is_hidden_wanted: bool,
    /// Kinds of the [`RULE_FILES`] that are read.
    reads: [bool; RULE_FILES.len()],
    reads_parents: bool,
    requires_git: bool,
    follows: bool,
    max_depth: usize,
    sort: SortKey,
    is_reversed: bool,
    explicit_rules: Vec<Rule>,
    /// True where no operand is given: paths are shown without the one that is searched.
    pub(super) is_implied: bool,
    pub(super) failed: bool,
}

/// Rules that hold for a directory and what is below it.
struct Rules {
    by_kind: [Vec<Rule>; RULE_FILES.len()],
    /// Tops of repositories, each with a slash at its end.
    repositories: Vec<String>,
    pace: Pace,
    _held: Held,
}

impl Walk {
    /// Makes the selection that flags ask for. Err: what is wrong with them.
    pub(super) fn new(shell: &Shell, given: &Given) -> Result<Self, String> {
        let level = given.count("unrestricted");
        let is_last = |name, others: &[&str]| given.last_of(others).is_some_and(|(last, _)| last == name);
        let reads_any = !is_last("no-ignore", &["no-ignore", "ignore"]) && level == 0;
        let reads_dot = reads_any && !given.has("no-ignore-dot");
        let reads_git = reads_any && !given.has("no-ignore-vcs");
        let (sort, is_reversed) = match given.last_of(&["sort", "sortr"]) {
            None | Some(("sort", "none" | "path") | ("sortr", "none")) => (SortKey::Path, false),
            Some(("sortr", "path")) => (SortKey::Path, true),
            Some((name, "modified")) => (SortKey::Modified, name == "sortr"),
            Some((name, "accessed")) => (SortKey::Accessed, name == "sortr"),
            Some((name, "created")) => (SortKey::Created, name == "sortr"),
            Some((name, other)) => {
                return Err(format!("error parsing flag --{name}: choice '{other}' is unrecognized"));
            }
        };
        let depth = given.number("max-depth")?.or(given.number("maxdepth")?);
        let mut walk = Self {
            globs: Vec::new(),
            types: selected_types(given)?,
            is_hidden_wanted: is_last("hidden", &["hidden", "no-hidden"]) || level > 1,
            reads: [reads_dot, reads_dot, reads_git, reads_git],
            reads_parents: !given.has("no-ignore-parent"),
            requires_git: !given.has("no-require-git"),
            follows: given.has("follow"),
            max_depth: depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH),
            sort,
            is_reversed,
            explicit_rules: Vec::new(),
            is_implied: false,
            failed: false,
        };
        let here = with_slash(&shell.cwd);
        for (name, glob) in given.all_of(&["glob", "iglob"]) {
            let is_caseless = name == "iglob";
            for pattern in braces(glob)? {
                let pattern = if is_caseless { pattern.to_lowercase() } else { pattern };
                let Some(rule) = Rule::parse(&pattern, &here) else { continue };
                walk.globs.push(Glob { rule, is_caseless });
            }
            check_count(walk.globs.len())?;
        }
        Ok(walk)
    }

    /// Lists the files to search, and says what can't be.
    pub(super) async fn files(
        &mut self,
        shell: &Shell,
        given: &Given,
        operands: &[String],
    ) -> Result<(Vec<Found>, Held), Stop> {
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(2))?;
        for (_, path) in given.all_of(&["ignore-file"]) {
            self.read_explicit_rules(shell, path).await?;
        }
        let mut files = Vec::new();
        for operand in operands {
            let first = files.len();
            if operand == "-" {
                files.push(Found::stdin());
                continue;
            }
            let entry = match shell.stat(operand) {
                Ok(entry) => entry,
                Err(error) => {
                    let why = os_error(reason(&error));
                    // Where several are searched at a time, less is said.
                    let what = match operands.len() == 1 || given.last_of(&["sort", "sortr"]).is_some() {
                        true => format!("{operand}: IO error for operation on {operand}: {why}"),
                        false => format!("{operand}: {why}"),
                    };
                    self.fail(shell, given, &what).await;
                    continue;
                }
            };
            if entry.kind == FileKind::Directory {
                let name = if self.is_implied { "" } else { operand.as_str() };
                self.descend(shell, given, operand, name, &mut files, &mut held).await?;
                if self.is_reversed && matches!(self.sort, SortKey::Path) {
                    files[first..].reverse();
                }
            } else {
                let (path, name) = (operand.clone(), operand.clone());
                files.push(Found { path, name, is_operand: true, entry: Some(entry) });
            }
        }
        shell.step(files.len() as u64 / 8).await?;
        let time = |found: &Found| {
            found.entry.as_ref().map(|entry| match self.sort {
                SortKey::Path => 0,
                SortKey::Modified => entry.modified,
                SortKey::Accessed => entry.accessed,
                SortKey::Created => entry.changed,
            })
        };
        files.sort_by_key(time);
        if self.is_reversed && !matches!(self.sort, SortKey::Path) {
            files.reverse();
        }
        Ok((files, held))
    }

    async fn descend(
        &mut self,
        shell: &Shell,
        given: &Given,
        path: &str,
        name: &str,
        files: &mut Vec<Found>,
        held: &mut Held,
    ) -> Result<(), Stop> {
        let mut rules = Rules::new(shell)?;
        let top = lock(&shell.tree).real_path(&shell.path(path)).unwrap_or_else(|_| shell.path(path));
        let of_parents = self.reads.map(|is_read| is_read && self.reads_parents);
        for (at, _) in top.match_indices('/') {
            rules.enter(shell, &top[..=at], &of_parents).await?;
        }
        // Directories and files on the way, the next one last.
        let mut open = vec![(path.to_owned(), name.to_owned(), top, None, 0)];
        while let Some((path, name, full, entry, depth)) = open.pop() {
            shell.step(1).await?;
            if let Some(entry) = entry {
                files.push(Found { path, name, is_operand: false, entry: Some(entry) });
                continue;
            }
            if depth >= self.max_depth {
                continue;
            }
            let listed = lock(&shell.tree).list(&shell.path(&path), 1);
            let entries = match listed {
                Ok(entries) => entries,
                Err(error) => {
                    let shown = if name.is_empty() { "." } else { &name };
                    let what = format!("{shown}: {}", os_error(reason(&error)));
                    self.fail(shell, given, &what).await;
                    continue;
                }
            };
            let directory = with_slash(&full);
            rules.enter(shell, &directory, &self.reads).await?;
            for mut entry in entries.into_iter().rev() {
                shell.step(1 + (self.globs.len() + self.types.len()) as u64 / 8).await?;
                let (path, name) = (below(&path, &entry.name), below(&name, &entry.name));
                let is_link = entry.kind == FileKind::Link;
                if is_link {
                    shell.step(depth as u64).await?;
                    match self.follows.then(|| shell.stat(&path)) {
                        None => continue,
                        Some(Ok(target)) if target.kind == FileKind::Directory && self.loops(shell, &path) => {
                            self.fail(shell, given, &format!("File system loop found: {name}")).await;
                            continue;
                        }
                        Some(Ok(target)) => entry = FileEntry { name: entry.name, ..target },
                        Some(Err(error)) => {
                            self.fail(shell, given, &format!("{name}: {}", os_error(reason(&error)))).await;
                            continue;
                        }
                    }
                }
                let full = format!("{directory}{}", entry.name);
                if matches!(entry.kind, FileKind::Device | FileKind::NamedPipe)
                    || !self.wants(shell, &mut rules, &full, entry.kind).await?
                {
                    continue;
                }
                if !held.grow(2 * path.len() + name.len() + full.len() + 300) {
                    return Err(shell.fails("rg", "memory exhausted").await);
                }
                let is_directory = entry.kind == FileKind::Directory;
                open.push((path, name, full, (!is_directory).then_some(entry), depth + 1));
            }
        }
        Ok(())
    }

    /// Returns whether a link leads to one of the directories on the way to it.
    fn loops(&self, shell: &Shell, path: &str) -> bool {
        let tree = lock(&shell.tree);
        let real = |path: &str| tree.real_path(&shell.path(path)).ok();
        let target = real(path);
        path.match_indices('/').any(|(at, _)| real(&path[..at]) == target) || target.is_none()
    }

    /// Returns whether an entry below a directory is searched.
    async fn wants(&self, shell: &Shell, rules: &mut Rules, full: &str, kind: FileKind) -> Result<bool, Stop> {
        let by_globs = self.decide_by_globs(shell, rules, full, kind).await?;
        if by_globs != Decision::None {
            return Ok(by_globs == Decision::Keep);
        }
        let by_rules = rules.decide(shell, full, kind, self).await?;
        if by_rules == Decision::Ignore {
            return Ok(false);
        }
        let name = full.rsplit('/').next().unwrap_or(full);
        let by_types = if kind == FileKind::Directory { Decision::None } else { self.decide_by_types(name) };
        if by_types == Decision::Ignore {
            return Ok(false);
        }
        let is_wanted = by_rules == Decision::Keep || by_types == Decision::Keep;
        Ok(is_wanted || self.is_hidden_wanted || !name.starts_with('.'))
    }

    async fn decide_by_globs(
        &self,
        shell: &Shell,
        rules: &mut Rules,
        full: &str,
        kind: FileKind,
    ) -> Result<Decision, Stop> {
        if self.globs.is_empty() {
            return Ok(Decision::None);
        }
        let here = with_slash(&shell.cwd);
        // Outside of the working directory, a pattern of a name holds as well.
        let path = if full.starts_with(&here) { full.to_owned() } else { format!("{}{full}", shell.cwd) };
        let lower = path.to_lowercase();
        for glob in self.globs.iter().rev() {
            shell.count_paced(&mut rules.pace).await?;
            let text = match glob.is_caseless {
                true => {
                    lower.strip_prefix(&here.to_lowercase()).map(|rest| format!("{here}{rest}")).unwrap_or_default()
                }
                false => path.clone(),
            };
            if glob.rule.is_about(&text, kind) {
                return Ok(if glob.rule.is_negated { Decision::Ignore } else { Decision::Keep });
            }
        }
        let has_wanted = self.globs.iter().any(|glob| !glob.rule.is_negated);
        Ok(if has_wanted && kind != FileKind::Directory { Decision::Ignore } else { Decision::None })
    }

    fn decide_by_types(&self, name: &str) -> Decision {
        let is = |pattern: &str| matches_name(pattern.as_bytes(), name.as_bytes());
        match self.types.iter().rev().find(|(pattern, _)| is(pattern)) {
            Some((_, true)) => Decision::Keep,
            Some((_, false)) => Decision::Ignore,
            None if self.types.iter().any(|(_, is_wanted)| *is_wanted) => Decision::Ignore,
            None => Decision::None,
        }
    }

    async fn read_explicit_rules(&mut self, shell: &Shell, path: &str) -> Result<(), Stop> {
        let reader = match shell.reader_of(path) {
            Ok(reader) => reader,
            Err(why) => {
                shell.error("rg", &format!("{path}: {}", os_error(why))).await;
                return Ok(());
            }
        };
        let here = with_slash(&shell.cwd);
        let mut lines = Lines::new(shell, reader)?;
        while self.explicit_rules.len() < MAX_RULES && lines.next(shell, "rg").await? {
            self.explicit_rules.extend(Rule::parse(&String::from_utf8_lossy(&lines.line), &here));
        }
        Ok(())
    }

    async fn fail(&mut self, shell: &Shell, given: &Given, what: &str) {
        self.failed = true;
        if !given.has("no-messages") {
            shell.error("rg", what).await;
        }
    }
}

impl Rules {
    fn new(shell: &Shell) -> Result<Self, Stop> {
        let held = shell.shared.used.hold(RULE_MEMORY).ok_or(Stop::Failed(2))?;
        Ok(Self { by_kind: Default::default(), repositories: Vec::new(), pace: Pace::new(), _held: held })
    }

    /// Adds the rules of a directory, and leaves out those of directories beside it.
    async fn enter(&mut self, shell: &Shell, directory: &str, reads: &[bool; RULE_FILES.len()]) -> Result<(), Stop> {
        shell.step(1).await?;
        self.repositories.retain(|top| directory.starts_with(top.as_str()));
        let is_repository = shell.lstat(&format!("{directory}.git")).is_ok();
        if is_repository && self.repositories.last().is_none_or(|last| last != directory) {
            self.repositories.push(directory.to_owned());
        }
        for (kind, file) in RULE_FILES.iter().enumerate() {
            let rules = &mut self.by_kind[kind];
            rules.retain(|rule| directory.starts_with(&rule.directory));
            let is_read = rules.iter().any(|rule| rule.directory == directory);
            let path = format!("{directory}{file}");
            let is_file = |entry: FileEntry| entry.kind == FileKind::File && entry.size <= MAX_RULE_BYTES;
            if !reads[kind] || is_read || !shell.stat(&path).is_ok_and(is_file) {
                continue;
            }
            // One that can't be read has no rules.
            let Ok(reader) = shell.reader_of(&path) else { continue };
            let content = Content::read(shell, "rg", reader).await?;
            for line in String::from_utf8_lossy(&content.bytes).lines() {
                shell.step(1).await?;
                let held: usize = self.by_kind.iter().map(Vec::len).sum();
                if held < MAX_RULES {
                    self.by_kind[kind].extend(Rule::parse(line, directory));
                }
            }
        }
        Ok(())
    }

    /// Returns what the files of rules say about a path.
    async fn decide(&mut self, shell: &Shell, path: &str, kind: FileKind, walk: &Walk) -> Result<Decision, Stop> {
        let above = path.rfind('/').map_or("", |slash| &path[..=slash]);
        let repository = self.repositories.iter().rfind(|top| above.starts_with(top.as_str()));
        let count: usize = self.by_kind.iter().map(Vec::len).sum();
        shell.step(count as u64 / 8).await?;
        for (index, rules) in self.by_kind.iter().chain([&walk.explicit_rules]).enumerate() {
            let is_of_git = (FIRST_OF_GIT..RULE_FILES.len()).contains(&index);
            if is_of_git && walk.requires_git && repository.is_none() {
                continue;
            }
            for rule in rules.iter().rev() {
                shell.count_paced(&mut self.pace).await?;
                let is_outside = is_of_git && repository.is_some_and(|top| !rule.directory.starts_with(top.as_str()));
                if !is_outside && rule.is_about(path, kind) {
                    return Ok(if rule.is_negated { Decision::Keep } else { Decision::Ignore });
                }
            }
        }
        Ok(Decision::None)
    }
}

fn with_slash(directory: &str) -> String {
    if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") }
}

/// Returns the path of an entry of a directory as it is shown.
fn below(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{}{name}", with_slash(directory)),
    }
}

/// Adds the number of C's library to its message.
pub(super) fn os_error(why: &str) -> String {
    let number = match why {
        "No such file or directory" => 2,
        "Permission denied" => 13,
        "Not a directory" => 20,
        "Is a directory" => 21,
        "File name too long" => 36,
        "Too many levels of symbolic links" => 40,
        _ => 5,
    };
    format!("{why} (os error {number})")
}

fn check_count(patterns: usize) -> Result<(), String> {
    if patterns > MAX_PATTERNS { Err("too many patterns".to_owned()) } else { Ok(()) }
}

/// Expands `{a,b}` in a pattern into one pattern for each. Err: what is wrong with it.
fn braces(glob: &str) -> Result<Vec<String>, String> {
    let wrong = |why: &str| Err(format!("error parsing glob '{glob}': {why}"));
    if glob.len() > MAX_PATTERN {
        return wrong("the pattern is too long");
    }
    let mut done = Vec::new();
    let mut open = vec![(String::new(), glob.to_owned())];
    while let Some((mut before, rest)) = open.pop() {
        check_count(open.len() + done.len())?;
        let mut characters = rest.char_indices().peekable();
        let mut is_expanded = false;
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => {
                    before.push(c);
                    before.extend(characters.next().map(|(_, escaped)| escaped));
                }
                '[' => {
                    let Some(length) = class_length(&rest[at..]) else {
                        return wrong("unclosed character class; missing ']'");
                    };
                    before.push_str(&rest[at..at + length]);
                    while characters.next_if(|(next, _)| *next < at + length).is_some() {}
                }
                '{' => {
                    let Some((choices, after)) = split_choices(&rest[at + 1..]) else {
                        return wrong("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
                    };
                    check_count(open.len() + done.len() + choices.len())?;
                    for choice in choices.into_iter().rev() {
                        open.push((before.clone(), format!("{choice}{after}")));
                    }
                    is_expanded = true;
                    break;
                }
                '}' => return wrong("unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)"),
                c => before.push(c),
            }
        }
        if !is_expanded {
            done.push(before);
        }
    }
    Ok(done)
}

/// Returns the length of the class that a text begins with, in bytes; none if it is not closed.
fn class_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let first = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    let begin = text.len() - first.len();
    // A bracket that comes first is one of the class.
    let from = begin + usize::from(first.starts_with(']'));
    text.get(from..)?.find(']').map(|at| from + at + 1)
}

/// Splits what is behind an opening brace into the choices, and what comes after the closing one.
fn split_choices(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut choices = Vec::new();
    let (mut start, mut depth, mut is_escaped) = (0, 0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if std::mem::take(&mut is_escaped) => {}
            '\\' => is_escaped = true,
            '{' => depth += 1,
            '}' if depth == 0 => {
                choices.push(&text[start..at]);
                return Some((choices, &text[at + 1..]));
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                choices.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Returns all types with their patterns, in order: those known, and those that flags define.
pub(super) fn all_types(given: &Given) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut types: Vec<(String, Vec<String>)> = TYPES
        .iter()
        .map(|(name, patterns)| ((*name).to_owned(), patterns.split(", ").map(str::to_owned).collect()))
        .collect();
    let mut count = 0;
    for (_, definition) in given.all_of(&["type-add"]) {
        let parts = definition.split_once(':').filter(|(name, glob)| !name.is_empty() && !glob.is_empty());
        let Some((name, glob)) = parts else {
            return Err("invalid definition (format is type:glob, e.g., html:*.html)".to_owned());
        };
        let patterns = match glob.strip_prefix("include:") {
            None => braces(glob)?,
            Some(names) => {
                let mut patterns = Vec::new();
                for included in names.split(',') {
                    let Some((_, known)) = types.iter().find(|(known, _)| known == included) else {
                        return Err(format!("unrecognized file type: {included}"));
                    };
                    patterns.extend_from_slice(known);
                }
                patterns
            }
        };
        count += patterns.len();
        check_count(count)?;
        match types.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            Ok(at) => types[at].1.extend(patterns),
            Err(at) => types.insert(at, (name.to_owned(), patterns)),
        }
    }
    Ok(types)
}

fn selected_types(given: &Given) -> Result<Vec<(String, bool)>, String> {
    if !given.has("type") && !given.has("type-not") && !given.has("type-add") {
        return Ok(Vec::new());
    }
    let types = all_types(given)?;
    let mut selected = Vec::new();
    for (flag, name) in given.all_of(&["type", "type-not"]) {
        let mut found = types.iter().filter(|(known, _)| known == name || name == "all").peekable();
        if found.peek().is_none() {
            return Err(format!("unrecognized file type: {name}"));
        }
        for (_, patterns) in found {
            selected.extend(patterns.iter().map(|pattern| (pattern.clone(), flag == "type")));
        }
        check_count(selected.len())?;
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_give_a_pattern_each() {
        let all = |glob| braces(glob).expect("a pattern").join(" ");
        assert_eq!(all("*.{py,r{s,b}}"), "*.py *.rs *.rb");
        assert_eq!(all("[{]a\\{b,c"), "[{]a\\{b,c");
        assert_eq!(all("{a,b}{1,2}"), "a1 a2 b1 b2");
        assert!(braces("{a").is_err() && braces("a}").is_err() && braces("[a").is_err());
    }

    #[test]
    fn braces_have_no_more_than_so_many_patterns() {
        assert_eq!(braces(&"{a,b}".repeat(9)).map(|all| all.len()), Ok(512));
        assert_eq!(braces(&"{a,b}".repeat(30)), Err("too many patterns".to_owned()));
        assert!(braces(&"{".repeat(MAX_PATTERN)).is_err());
        assert!(braces(&"a".repeat(MAX_PATTERN + 1)).is_err());
    }
}
