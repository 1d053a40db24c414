//! Program `diff`.

mod changes;
mod hunks;
mod side_by_side;

use super::destination::join_last_name;
use super::input::{Content, lines_of};
use super::options::{Given, Order, read};
use crate::bounds::Held;
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, Stop, reason};
use crate::streams::Reader;
use proofbox_vfs::{FileKind, lock};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use changes::{Change, changes};

/// Directories below each other that `-r` goes down.
const MAX_DEPTH: usize = 128;
/// Patterns of `-x`.
const MAX_EXCLUDED: usize = 200;
/// Memory that a line takes beside its text, about, in bytes.
const BYTES_A_LINE: usize = 160;
/// Exit code of whatever went wrong.
const FAILURE: i32 = 2;

const LONG: &[(&str, char)] = &[
    ("unified", 'u'),
    ("context", 'C'),
    ("side-by-side", 'y'),
    ("width", 'W'),
    ("suppress-common-lines", '3'),
    ("brief", 'q'),
    ("recursive", 'r'),
    ("new-file", 'N'),
    ("ignore-case", 'i'),
    ("ignore-all-space", 'w'),
    ("ignore-space-change", 'b'),
    ("ignore-trailing-space", 'Z'),
    ("ignore-blank-lines", 'B'),
    ("strip-trailing-cr", '1'),
    ("report-identical-files", 's'),
    ("text", 'a'),
    ("label", 'L'),
    ("exclude", 'x'),
    ("minimal", 'd'),
    ("color", '2'),
    ("no-dereference", '2'),
];

pub(super) async fn diff(shell: &mut Shell, arguments: &[String]) -> Done {
    let words: Vec<String> = arguments.iter().map(|word| spelled_out(word)).collect();
    let given = match read(&words, "uU:cC:yW:qrNiwbZB1saL:x:dp23P", LONG, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, &why).await),
    };
    let [left, right] = given.operands.as_slice() else {
        let why = match (given.operands.get(2), arguments.last()) {
            (Some(operand), _) => format!("extra operand '{operand}'"),
            (None, Some(last)) => format!("missing operand after '{last}'"),
            (None, None) => "missing operand after 'diff'".to_owned(),
        };
        return Err(usage(shell, &why).await);
    };
    let lengths = ['U', 'C', 'u', 'c'].into_iter().filter_map(|letter| given.value(letter));
    let length = lengths.into_iter().find(|text| !text.is_empty());
    let Ok(context) = length.map_or(Ok(3), str::parse::<usize>).map(|count| count.min(1 << 40)) else {
        return Err(usage(shell, &format!("invalid context length '{}'", length.unwrap_or_default())).await);
    };
    let style = match given.last_of("uUcCy") {
        Some('u' | 'U') => Style::Unified { context },
        Some('c' | 'C') => Style::Context { context },
        Some(_) => match given.value('W').map_or(Ok(130), str::parse::<usize>) {
            Ok(width) => Style::SideBySide { width: width.clamp(1, 10_000) },
            Err(_) => {
                let why = format!("invalid width '{}'", given.value('W').unwrap_or_default());
                return Err(usage(shell, &why).await);
            }
        },
        None => Style::Plain,
    };
    if given.values('x').len() > MAX_EXCLUDED {
        return Err(usage(shell, "too many patterns to exclude").await);
    }
    let excluded = given.values('x').into_iter().map(|pattern| Pattern::new(pattern, Lies::Whole));
    let Ok(excluded) = excluded.collect::<Result<Vec<_>, _>>() else {
        return Err(usage(shell, "invalid pattern").await);
    };
    let options = arguments.iter().filter(|argument| argument.starts_with('-') && argument.len() > 1);
    let words: Vec<&str> = options.map(String::as_str).collect();
    let command = ["diff"].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    let mut comparison = Comparison { style, excluded, command, status: 0, given: given.clone() };
    match comparison.compare_operands(shell, left, right).await {
        Ok(()) => Ok(comparison.status),
        // 1 would mean that the files differ.
        Err(Stop::Failed(_)) => Err(Stop::Failed(FAILURE)),
        Err(stop) => Err(stop),
    }
}

/// Writes the hunks between two texts, with lines around them.
pub(super) async fn write_git_hunks(shell: &Shell, left: &[u8], right: &[u8], context: usize) -> Result<(), Stop> {
    let (texts, found, _held) = find_git_changes(shell, left, right, context).await?;
    hunks::write_unified(shell, &texts, &found, context).await
}

/// Returns the numbers of lines that were added and removed between two texts.
pub(super) async fn count_git_changes(shell: &Shell, left: &[u8], right: &[u8]) -> Result<(usize, usize), Stop> {
    let (_, found, _held) = find_git_changes(shell, left, right, 0).await?;
    let count = |length: fn(&Change) -> usize| found.iter().map(length).sum();
    Ok((count(|change| change.right.1 - change.right.0), count(|change| change.left.1 - change.left.0)))
}

async fn find_git_changes<'t>(
    shell: &Shell,
    left: &'t [u8],
    right: &'t [u8],
    context: usize,
) -> Result<(hunks::Texts<'t>, Vec<Change>, Held), Stop> {
    let lines = [left, right].iter().flat_map(|text| text.iter()).filter(|byte| **byte == b'\n').count() + 2;
    let Some(held) = shell.shared.used.hold(lines * (BYTES_A_LINE + changes::memory(1))) else {
        return Err(shell.fails("diff", "memory exhausted").await);
    };
    shell.step((left.len() + right.len()) as u64 / 512).await?;
    let texts = hunks::Texts { left: lines_of(left).collect(), right: lines_of(right).collect() };
    let given = Given::default();
    let mut numbers = Numbers { known: HashMap::new(), given: &given };
    let (numbered_left, numbered_right) = (numbers.number(&texts.left), numbers.number(&texts.right));
    let found = changes(shell, &numbered_left, &numbered_right, context).await?;
    Ok((texts, found, held))
}

async fn usage(shell: &Shell, why: &str) -> Stop {
    shell.error("diff", why).await;
    shell.error("diff", "Try 'diff --help' for more information.").await;
    Stop::Failed(FAILURE)
}

/// Writes out `-u3` as `-U3`, `-c3` as `-C3`.
fn spelled_out(word: &str) -> String {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let letters = &word[..word.len() - digits.len()];
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match (letters.strip_prefix('-'), letters.strip_suffix('u'), letters.strip_suffix('c')) {
        (Some(flags), Some(before), _) if is_count && flags.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            format!("{before}U{digits}")
        }
        (Some(flags), _, Some(before)) if is_count && flags.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            format!("{before}C{digits}")
        }
        _ => word.to_owned(),
    }
}

/// Format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    /// Number of lines around changes.
    Unified {
        context: usize,
    },
    /// Number of lines around changes.
    Context {
        context: usize,
    },
    /// Number of columns for both sides.
    SideBySide {
        width: usize,
    },
}

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    File,
    Directory,
    Missing,
    Input,
}

struct Comparison {
    given: Given,
    style: Style,
    excluded: Vec<Pattern>,
    /// The command as it is shown before the files of directories.
    command: String,
    status: i32,
}

impl Comparison {
    async fn compare_operands(&mut self, shell: &Shell, left: &str, right: &str) -> Result<(), Stop> {
        let (one, other) = (self.find(shell, left).await, self.find(shell, right).await);
        let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
        // A file is compared with that of its name in a directory.
        let (left, right) = match (one, other) {
            (Found::Directory, Found::File) => (join_last_name(left, right), right.to_owned()),
            (Found::File, Found::Directory) => (left.to_owned(), join_last_name(right, left)),
            (Found::Input, Found::Directory) | (Found::Directory, Found::Input) => {
                self.fail(shell, "cannot compare '-' to a directory").await;
                return Ok(());
            }
            _ => (left.to_owned(), right.to_owned()),
        };
        if one == Found::Directory && other == Found::Directory {
            return self.compare_directories(shell, &left, &right).await;
        }
        let (Some(one), Some(other)) = (self.find(shell, &left).await, self.find(shell, &right).await) else {
            return Ok(());
        };
        self.compare_files(shell, (&left, one), (&right, other)).await
    }

    /// Looks at an operand. None: it is not there, which was told.
    async fn find(&mut self, shell: &Shell, path: &str) -> Option<Found> {
        if path == "-" {
            return Some(Found::Input);
        }
        match shell.stat(path) {
            Ok(entry) if entry.kind == FileKind::Directory => Some(Found::Directory),
            Ok(_) => Some(Found::File),
            Err(_) if self.given.has('N') => Some(Found::Missing),
            // `<(…)` is not there, but `/dev/stdin` is.
            Err(_) if shell.reader_of(path).is_ok() => Some(Found::File),
            Err(error) => {
                self.fail(shell, &format!("{path}: {}", reason(&error))).await;
                None
            }
        }
    }

    async fn compare_directories(&mut self, shell: &Shell, left: &str, right: &str) -> Result<(), Stop> {
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(FAILURE))?;
        let mut open = vec![(left.to_owned(), right.to_owned(), 0)];
        while let Some((left, right, depth)) = open.pop() {
            shell.step(1).await?;
            let (one, other) = (kind(shell, &left), kind(shell, &right));
            match (one, other) {
                (Found::Directory, Found::Directory) if depth > 0 && !self.given.has('r') => {
                    self.say(shell, &format!("Common subdirectories: {left} and {right}")).await?;
                }
                (Found::Directory | Found::Missing, Found::Directory | Found::Missing)
                    if depth <= MAX_DEPTH && (one == other || self.given.has('N')) =>
                {
                    let mut names = BTreeSet::new();
                    for path in [&left, &right] {
                        let entries = lock(&shell.tree).list(&shell.path(path), 1).unwrap_or_default();
                        shell.step(1 + entries.len() as u64 / 16).await?;
                        names.extend(entries.into_iter().map(|entry| entry.name));
                    }
                    for name in names.iter().rev().filter(|name| !self.excluded.iter().any(|found| found.is(name))) {
                        if !held.grow(left.len() + right.len() + 2 * name.len() + 100) {
                            return Err(shell.fails("diff", "memory exhausted").await);
                        }
                        let below = |above: &str| format!("{}/{name}", above.trim_end_matches('/'));
                        open.push((below(&left), below(&right), depth + 1));
                    }
                }
                (Found::Missing, _) if !self.given.has('N') => self.tell_only(shell, &right).await?,
                (_, Found::Missing) if !self.given.has('N') => self.tell_only(shell, &left).await?,
                (Found::Missing, Found::Directory) | (Found::Directory, Found::Missing | Found::Directory) => {}
                (Found::Directory, _) => {
                    self.tell(shell, &format!("File {left} is a directory while file {right} is a regular file"))
                        .await?;
                }
                (_, Found::Directory) => {
                    self.tell(shell, &format!("File {left} is a regular file while file {right} is a directory"))
                        .await?;
                }
                _ => self.compare_files(shell, (&left, one), (&right, other)).await?,
            }
        }
        Ok(())
    }

    async fn tell_only(&mut self, shell: &Shell, path: &str) -> Result<(), Stop> {
        let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
        self.tell(shell, &format!("Only in {directory}: {name}")).await
    }

    /// Says in what two files differ.
    async fn tell(&mut self, shell: &Shell, text: &str) -> Result<(), Stop> {
        self.status = self.status.max(1);
        self.say(shell, text).await
    }

    async fn say(&self, shell: &Shell, text: &str) -> Result<(), Stop> {
        shell.out("diff", format!("{text}\n").as_bytes()).await
    }

    async fn fail(&mut self, shell: &Shell, what: &str) {
        self.status = FAILURE;
        shell.error("diff", what).await;
    }

    async fn compare_files(
        &mut self,
        shell: &Shell,
        (left, one): (&str, Found),
        (right, other): (&str, Found),
    ) -> Result<(), Stop> {
        let opened = |path: &str, found: Found| match found {
            Found::Missing => Ok(Reader::empty()),
            Found::Input => Ok(shell.streams.stdin.clone()),
            Found::File | Found::Directory => shell.reader_of(path),
        };
        let mut contents = Vec::new();
        for (path, found) in [(left, one), (right, other)] {
            match opened(path, found) {
                Ok(reader) => contents.push(Content::read(shell, "diff", reader).await?),
                Err(why) => {
                    self.fail(shell, &format!("{path}: {why}")).await;
                    return Ok(());
                }
            }
        }
        let [a, b] = contents.as_mut_slice() else { return Ok(()) };
        let shows_equal = matches!(self.style, Style::SideBySide { .. }) && !self.given.has('q');
        if a.bytes == b.bytes && !shows_equal {
            if self.given.has('s') {
                self.say(shell, &format!("Files {left} and {right} are identical")).await?;
            }
            return Ok(());
        }
        if !self.given.has('a') && (is_binary(&a.bytes) || is_binary(&b.bytes)) {
            match self.given.has('q') {
                true => self.tell(shell, &format!("Files {left} and {right} differ")).await?,
                false => self.tell(shell, &format!("Binary files {left} and {right} differ")).await?,
            }
            return Ok(());
        }
        for content in [&mut *a, &mut *b] {
            let lines = content.bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            content.hold(shell, "diff", lines * BYTES_A_LINE + changes::memory(lines)).await?;
        }
        shell.step((a.bytes.len() + b.bytes.len()) as u64 / 512).await?;
        let texts = hunks::Texts { left: lines_of(&a.bytes).collect(), right: lines_of(&b.bytes).collect() };
        let mut numbers = Numbers { known: HashMap::new(), given: &self.given };
        let (numbered_left, numbered_right) = (numbers.number(&texts.left), numbers.number(&texts.right));
        let around = match self.style {
            Style::Unified { context } | Style::Context { context } => context,
            Style::Plain | Style::SideBySide { .. } => 0,
        };
        let mut found = changes(shell, &numbered_left, &numbered_right, around).await?;
        if self.given.has('B') {
            found.retain(|change| !texts.are_blank(*change));
        }
        if found.is_empty() && !shows_equal {
            return Ok(());
        }
        if self.given.has('q') {
            return self.tell(shell, &format!("Files {left} and {right} differ")).await;
        }
        self.status = self.status.max(i32::from(!found.is_empty()));
        if self.given.has('r') && (left, right) != self.operands() {
            self.say(shell, &format!("{} {left} {right}", self.command)).await?;
        }
        match self.style {
            Style::Plain => hunks::write_plain(shell, &texts, &found).await,
            Style::SideBySide { width } => {
                let columns = side_by_side::Columns::new(width);
                let shown = match self.given.has('3') {
                    true => side_by_side::Shown::Changes,
                    false => side_by_side::Shown::AllLines,
                };
                columns.write(shell, &texts, &found, shown).await
            }
            Style::Unified { context } => {
                self.write_names(shell, ["---", "+++"], [(left, one), (right, other)]).await?;
                hunks::write_unified(shell, &texts, &found, context).await
            }
            Style::Context { context } => {
                self.write_names(shell, ["***", "---"], [(left, one), (right, other)]).await?;
                hunks::write_context(shell, &texts, &found, context).await
            }
        }
    }

    async fn write_names(&self, shell: &Shell, signs: [&str; 2], names: [(&str, Found); 2]) -> Result<(), Stop> {
        let labels = self.given.values('L');
        for (at, (sign, (path, found))) in signs.into_iter().zip(names).enumerate() {
            let name = match labels.get(at) {
                Some(label) => (*label).to_owned(),
                None => format!("{path}\t{}", modified(shell, path, found)),
            };
            self.say(shell, &format!("{sign} {name}")).await?;
        }
        Ok(())
    }

    fn operands(&self) -> (&str, &str) {
        (&self.given.operands[0], &self.given.operands[1])
    }
}

fn kind(shell: &Shell, path: &str) -> Found {
    match shell.stat(path) {
        Ok(entry) if entry.kind == FileKind::Directory => Found::Directory,
        Ok(_) => Found::File,
        Err(_) => Found::Missing,
    }
}

/// The time of a file, as it stands after its name.
fn modified(shell: &Shell, path: &str, found: Found) -> String {
    let time = match found {
        Found::Missing => 0,
        Found::Input => shell.now(),
        Found::File | Found::Directory => shell.stat(path).map_or(shell.now(), |entry| entry.modified),
    };
    let format = format!("%Y-%m-%d %H:%M:%S.{:09} +0000", time % 1_000_000_000);
    jiff::fmt::strtime::format(&format, &super::date::zoned(time)).unwrap_or_default()
}

/// Returns whether a content is shown as binary: its beginning has a zero byte.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(32 << 10)].contains(&0)
}

/// Numbers for lines: the same for lines that count as equal.
struct Numbers<'a> {
    known: HashMap<Cow<'a, [u8]>, u32>,
    given: &'a Given,
}

impl<'a> Numbers<'a> {
    fn number(&mut self, lines: &[&'a [u8]]) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(lines.len());
        for line in lines {
            let next = self.known.len() as u32;
            let line = self.normalized(line);
            numbers.push(*self.known.entry(line).or_insert(next));
        }
        numbers
    }

    /// A line as it is compared.
    fn normalized(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let has = |letter| self.given.has(letter);
        if !"iwbZ1".chars().any(has) {
            return Cow::Borrowed(line);
        }
        let (mut text, end) = match line.strip_suffix(b"\n") {
            Some(text) => (text, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        if has('1') {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        }
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 11;
        if has('Z') || has('b') || has('w') {
            let kept = text.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
            text = &text[..kept];
        }
        let mut out = Vec::with_capacity(text.len() + 1);
        for byte in text {
            match byte {
                byte if is_blank(byte) && has('w') => {}
                byte if is_blank(byte) && has('b') => {
                    if out.last() != Some(&b' ') {
                        out.push(b' ');
                    }
                }
                byte if has('i') => out.push(byte.to_ascii_lowercase()),
                byte => out.push(*byte),
            }
        }
        // A newline that is missing does not count as a change of space does.
        if !(has('w') || has('b') || has('Z')) {
            out.extend_from_slice(end);
        }
        Cow::Owned(out)
    }
}
