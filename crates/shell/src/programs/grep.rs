//! Programs `grep`, `egrep` and `fgrep`.

use super::input::{Lines, open, usage};
use super::options::{Given, Order, read};
use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Done, Shell, Stop, reason};
use crate::streams::Reader;
use proofbox_vfs::{FileKind, lock};
use std::collections::VecDeque;

/// Directories below each other that `-r` goes down.
const MAX_DEPTH: usize = 128;

struct Search {
    regular: Regular,
    recursive: bool,
    given: Given,
    /// True when lines are shown with the name of their file.
    names: bool,
    before: usize,
    after: usize,
    most: u64,
    binary_files: BinaryFiles,
    found: bool,
    failed: bool,
}

/// Long options without a letter, by signs that nobody gives as one.
const INCLUDE: char = '+';
const EXCLUDE: char = '%';
const EXCLUDE_DIRECTORY: char = '@';
const BINARY_FILES: char = '=';
/// Bytes of a file's beginning that tell whether it is binary.
const BINARY_START: usize = 32 << 10;

/// Treatment of binary files with a match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BinaryFiles {
    /// Only their names are told.
    Name,
    /// Binary files are passed over.
    Skip,
    /// Binary files are searched like others.
    AreText,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Binary,
}

/// Letters of options that take a value.
const WITH_VALUE: [char; 8] = ['e', 'f', 'm', 'A', 'B', 'C', 'd', 'D'];

/// Replaces `-2` by `-C2`, and `-n2` by `-nC2`.
fn with_context_numbers(arguments: &[String]) -> Vec<String> {
    let mut takes_value = false;
    let mut rest = false;
    let replaced = arguments.iter().map(|argument| {
        let letters = argument.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &argument[letters.len()..];
        let is_context = letters.starts_with('-') && !letters.starts_with("--") && !letters.contains(WITH_VALUE);
        let is_context = is_context && !digits.is_empty() && !takes_value && !rest;
        rest |= argument == "--";
        takes_value = argument.starts_with('-') && argument.ends_with(WITH_VALUE);
        if is_context { format!("{letters}C{digits}") } else { argument.clone() }
    });
    replaced.collect()
}

pub(super) async fn grep(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let long = [
        ("ignore-case", 'i'),
        ("invert-match", 'v'),
        ("count", 'c'),
        ("line-number", 'n'),
        ("files-with-matches", 'l'),
        ("files-without-match", 'L'),
        ("only-matching", 'o'),
        ("word-regexp", 'w'),
        ("line-regexp", 'x'),
        ("recursive", 'r'),
        ("quiet", 'q'),
        ("silent", 'q'),
        ("no-messages", 's'),
        ("extended-regexp", 'E'),
        ("fixed-strings", 'F'),
        ("perl-regexp", 'P'),
        ("regexp", 'e'),
        ("file", 'f'),
        ("max-count", 'm'),
        ("after-context", 'A'),
        ("before-context", 'B'),
        ("context", 'C'),
        ("no-filename", 'h'),
        ("with-filename", 'H'),
        ("include", INCLUDE),
        ("exclude", EXCLUDE),
        ("exclude-dir", EXCLUDE_DIRECTORY),
        ("binary-files", BINARY_FILES),
        ("directories", 'd'),
        ("devices", 'D'),
        ("line-buffered", 'U'),
        ("binary", 'U'),
        ("color", 'k'),
        ("colour", 'k'),
        ("text", 'a'),
        ("null", 'Z'),
    ];
    let arguments = with_context_numbers(arguments);
    let mut given = match read(&arguments, "ivcnlLowxrRqsEFPGe:f:m:A:B:C:d:D:hHIUkazZ+:%:@:=:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "grep", &why, 2).await),
    };
    let mut patterns: Vec<String> = given.values('e').iter().map(|pattern| (*pattern).to_owned()).collect();
    if let Some(path) = given.value('f') {
        let Some(reader) = open(shell, "grep", path).await else { return Ok(2) };
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "grep").await? {
            patterns.push(String::from_utf8_lossy(&lines.line).into_owned());
        }
    } else if patterns.is_empty() {
        if given.operands.is_empty() {
            let usage = "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n";
            shell.say(usage).await;
            return Ok(2);
        }
        patterns = given.operands.remove(0).split('\n').map(str::to_owned).collect();
    }
    let kind = match who {
        "egrep" => Some('E'),
        "fgrep" => Some('F'),
        _ => given.last_of("EFPG"),
    };
    let expression = |pattern: &String| match kind {
        Some('F') => regex::escape(pattern),
        Some('E') => posix(pattern, Syntax::Extended),
        Some('P') => pattern.clone(),
        _ => posix(pattern, Syntax::Basic),
    };
    let mut joined =
        patterns.iter().map(|pattern| format!("(?:{})", expression(pattern))).collect::<Vec<_>>().join("|");
    if given.has('x') {
        joined = format!("^(?:{joined})$");
    } else if given.has('w') {
        joined = format!("\\b{{start-half}}(?:{joined})\\b{{end-half}}");
    }
    let regular = match Regular::new(&joined, if given.has('i') { Case::Insensitive } else { Case::Sensitive }) {
        Ok(regular) => regular,
        Err(why) => {
            shell.error("grep", &why).await;
            return Ok(2);
        }
    };
    let number = |letter| given.value(letter).map(|text| text.parse::<usize>().unwrap_or(0));
    let around = number('C');
    let recursive = given.has('r') || given.has('R') || given.value('d') == Some("recurse");
    let binary_files = match (given.last_of("aI="), given.value(BINARY_FILES)) {
        (Some('a'), _) | (Some(BINARY_FILES), Some("text")) => BinaryFiles::AreText,
        (Some('I'), _) | (Some(BINARY_FILES), Some("without-match")) => BinaryFiles::Skip,
        _ => BinaryFiles::Name,
    };
    let mut operands = given.operands.clone();
    let implied = operands.is_empty();
    if implied {
        operands.push(if recursive { "." } else { "-" }.to_owned());
    }
    let names = given.last_of("hH").map_or(operands.len() > 1 || recursive, |letter| letter == 'H');
    let (before, after) = (number('B').or(around).unwrap_or(0).min(100_000), number('A').or(around).unwrap_or(0));
    let most = number('m').map_or(u64::MAX, |count| count as u64);
    let mut search =
        Search { regular, names, before, after, most, recursive, binary_files, given, found: false, failed: false };
    for path in &operands {
        let name = if implied && path == "." { "" } else { path.as_str() };
        search.visit(shell, path, name).await?;
        if search.found && search.given.has('q') {
            return Ok(0);
        }
    }
    Ok(match (search.found, search.failed) {
        (_, true) => 2,
        (true, false) => 0,
        (false, false) => 1,
    })
}

impl Search {
    /// Searches a file, or with `-r` all below a directory.
    async fn visit(&mut self, shell: &Shell, path: &str, name: &str) -> Result<(), Stop> {
        if path == "-" {
            return self.search(shell, shell.streams.stdin.clone(), "(standard input)", Content::Text).await;
        }
        let mut open_paths = vec![(path.to_owned(), name.to_owned(), 0)];
        while let Some((path, name, depth)) = open_paths.pop() {
            shell.step(1).await?;
            let found = lock(&shell.tree).stat_followed(&shell.path(&path));
            match found {
                Err(error) => {
                    self.fail(shell, &format!("{path}: {}", reason(&error))).await;
                    continue;
                }
                Ok(entry) if entry.kind == FileKind::Directory => {
                    if !self.recursive {
                        if self.given.value('d') != Some("skip") {
                            self.fail_softly(shell, &format!("{path}: Is a directory")).await;
                        }
                        continue;
                    }
                    if depth > 0 && self.excluded(EXCLUDE_DIRECTORY, &entry.name) {
                        continue;
                    }
                    let entries = lock(&shell.tree).list(&shell.path(&path), 1).unwrap_or_default();
                    for entry in entries.into_iter().rev().filter(|_| depth < MAX_DEPTH) {
                        let link = entry.kind == FileKind::Link;
                        if !link || self.given.has('R') {
                            let below = |above: &str| match above {
                                "" => entry.name.clone(),
                                above => format!("{}/{}", above.trim_end_matches('/'), entry.name),
                            };
                            open_paths.push((below(&path), below(&name), depth + 1));
                        }
                    }
                    continue;
                }
                Ok(entry) => {
                    let included = self.given.values(INCLUDE).is_empty() || self.excluded(INCLUDE, &entry.name);
                    if self.recursive && (!included || self.excluded(EXCLUDE, &entry.name)) {
                        continue;
                    }
                }
            }
            let content = self.content_of(shell, &path).await;
            if content == Content::Binary && self.binary_files == BinaryFiles::Skip {
                continue;
            }
            match shell.reader_of(&path) {
                Ok(reader) => self.search(shell, reader, if name.is_empty() { &path } else { &name }, content).await?,
                Err(why) => self.fail(shell, &format!("{path}: {why}")).await,
            }
        }
        Ok(())
    }

    /// Returns whether a name matches a pattern of an option.
    fn excluded(&self, letter: char, name: &str) -> bool {
        use crate::expand::pattern::{Lies, Pattern};
        let mut patterns = self.given.values(letter).into_iter();
        patterns.any(|pattern| Pattern::new(pattern, Lies::Whole).is_ok_and(|pattern| pattern.is(name)))
    }

    async fn fail(&mut self, shell: &Shell, what: &str) {
        self.failed = true;
        if !self.given.has('s') {
            shell.error("grep", what).await;
        }
    }

    async fn fail_softly(&mut self, shell: &Shell, what: &str) {
        let failed = self.failed;
        self.fail(shell, what).await;
        self.failed = failed;
    }

    /// A file is binary when there is a zero byte at its beginning.
    async fn content_of(&self, shell: &Shell, path: &str) -> Content {
        let mut start = Vec::new();
        // What is read from a named pipe is gone.
        if self.binary_files != BinaryFiles::AreText
            && !shell.stat(path).is_ok_and(|entry| entry.kind == FileKind::NamedPipe)
            && let Ok(mut reader) = shell.reader_of(path)
        {
            reader.read_into(&mut start, BINARY_START, None).await;
        }
        if start.contains(&0) { Content::Binary } else { Content::Text }
    }

    async fn search(&mut self, shell: &Shell, reader: Reader, name: &str, content: Content) -> Result<(), Stop> {
        let mut lines = Lines::new(shell, reader)?;
        let (mut number, mut count, mut after) = (0_u64, 0_u64, 0_usize);
        let mut before: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let mut last_shown = 0;
        let listing = self.given.has('l') || self.given.has('L') || self.given.has('q');
        let shows = !listing && !self.given.has('c');
        let context = self.before > 0 || self.after > 0;
        while count < self.most && lines.next(shell, "grep").await? {
            number += 1;
            let line = &lines.line;
            if !self.regular.takes(line.len()) {
                self.fail(shell, &format!("{name}: line {number} is too long for this expression")).await;
                return Ok(());
            }
            shell.step(self.regular.steps(line.len())).await?;
            let matched = self.regular.is_match(line) != self.given.has('v');
            if !matched {
                if shows && content == Content::Text && after > 0 {
                    after -= 1;
                    last_shown = number;
                    self.show(shell, name, number, line, '-').await?;
                } else if shows && self.before > 0 {
                    before.push_back((number, line.clone()));
                    if before.len() > self.before {
                        before.pop_front();
                    }
                    let held: usize = before.iter().map(|(_, line)| line.len()).sum();
                    if held > crate::bounds::MAX_TEXT {
                        return Err(shell.fails("grep", "memory exhausted").await);
                    }
                }
                continue;
            }
            count += 1;
            self.found = true;
            if listing {
                break;
            }
            if !shows {
                continue;
            }
            if content == Content::Binary {
                shell.error("grep", &format!("{name}: binary file matches")).await;
                return Ok(());
            }
            let first = before.front().map_or(number, |(number, _)| *number);
            if context && last_shown > 0 && first > last_shown + 1 {
                shell.out("grep", b"--\n").await?;
            }
            for (number, line) in before.drain(..) {
                self.show(shell, name, number, &line, '-').await?;
            }
            self.show(shell, name, number, line, ':').await?;
            last_shown = number;
            after = self.after;
        }
        if self.given.has('c') && !listing {
            let prefix = if self.names { self.named(name, ':') } else { String::new() };
            shell.out("grep", format!("{prefix}{count}\n").as_bytes()).await?;
        }
        if (self.given.has('l') && count > 0) || (self.given.has('L') && count == 0) {
            shell.out("grep", self.named(name, '\n').as_bytes()).await?;
        }
        Ok(())
    }

    /// A file's name with what follows it: `sign`, or with `-Z` a zero byte.
    fn named(&self, name: &str, sign: char) -> String {
        let sign = if self.given.has('Z') { '\0' } else { sign };
        format!("{name}{sign}")
    }

    async fn show(&self, shell: &Shell, name: &str, number: u64, line: &[u8], sign: char) -> Result<(), Stop> {
        let mut prefix = String::new();
        if self.names {
            prefix.push_str(&self.named(name, sign));
        }
        if self.given.has('n') {
            prefix.push_str(&format!("{number}{sign}"));
        }
        if !self.given.has('o') {
            let mut out = prefix.into_bytes();
            out.extend_from_slice(line);
            out.push(b'\n');
            return shell.out("grep", &out).await;
        }
        if self.given.has('v') || sign == '-' {
            return Ok(());
        }
        let mut at = 0;
        while let Some(found) = self.regular.find_at(line, at) {
            shell.step(self.regular.steps(line.len() - found.start)).await?;
            at = found.end.max(found.start + 1);
            if !found.is_empty() {
                let mut out = prefix.clone().into_bytes();
                out.extend_from_slice(&line[found]);
                out.push(b'\n');
                shell.out("grep", &out).await?;
            }
        }
        Ok(())
    }
}
