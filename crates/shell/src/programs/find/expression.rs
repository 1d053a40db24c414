//! The expression of `find`: its tests and actions, and how they are joined.

use crate::expand::pattern::{Lies, Pattern};
use crate::programs::date;
use crate::programs::modes::ModeChange;
use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Shell, reason};
use proofbox_vfs::{FileEntry, FileKind};
use std::cmp::Ordering;

/// Parentheses within each other.
const MAX_NESTING: usize = 32;
/// Depth at which links to directories are followed no more: they may lead in a circle.
pub(super) const MAX_DEPTH_OF_LINKS: usize = 32;

pub(super) enum Expression {
    Test(Test),
    Action(Action),
    Not(Box<Expression>),
    /// Holds when all of them do.
    All(Vec<Expression>),
    /// Holds when one of them does.
    Any(Vec<Expression>),
    /// All of them, as joined by commas; the last one counts.
    Last(Vec<Expression>),
}

pub(super) enum Test {
    Always(bool),
    Name(FoldedPattern),
    Path(FoldedPattern),
    Regular(Regular),
    Kinds(Vec<FileKind>),
    Empty,
    Size {
        count: Count,
        unit: u64,
    },
    Age(Age),
    Newer(Time, u64),
    Inode(u64),
    Links(Count),
    Mode(Mode),
    /// Test of the shell, such as `-r`.
    File(&'static str),
}

pub(super) enum Action {
    Print {
        end: &'static str,
    },
    Format(String),
    Prune,
    Quit,
    Delete,
    /// Command that gets all paths at once, by its number and words.
    Gather(usize, Vec<String>),
    Execute {
        words: Vec<String>,
        in_directory: bool,
    },
}

/// Options among the tests.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) contents_first: bool,
    pub(super) follows_links: bool,
}

/// A number as `5`, `+5` or `-5`.
pub(super) struct Count {
    order: Ordering,
    number: u64,
}

impl Count {
    fn parse(text: &str) -> Option<Self> {
        let (order, digits) = match text.as_bytes().first()? {
            b'+' => (Ordering::Greater, &text[1..]),
            b'-' => (Ordering::Less, &text[1..]),
            _ => (Ordering::Equal, text),
        };
        Some(Self { order, number: digits.parse().ok()? })
    }

    pub(super) fn takes(&self, number: u64) -> bool {
        number.cmp(&self.number) == self.order
    }
}

#[derive(Clone, Copy)]
pub(super) enum Time {
    Accessed,
    Modified,
    Changed,
}

pub(super) struct Age {
    pub(super) time: Time,
    /// Seconds that `count` counts.
    pub(super) unit: u64,
    pub(super) count: Count,
}

/// A pattern of file names, for `-iname` in lower case.
pub(super) struct FoldedPattern {
    pattern: Pattern,
    case: Case,
}

impl FoldedPattern {
    fn new(text: &str, case: Case) -> Result<Self, String> {
        let text = if case == Case::Insensitive { text.to_lowercase() } else { text.to_owned() };
        Ok(Self { pattern: Pattern::new(&text, Lies::Whole)?, case })
    }

    pub(super) fn is(&self, text: &str) -> bool {
        match self.case {
            Case::Sensitive => self.pattern.is(text),
            Case::Insensitive => self.pattern.is(&text.to_lowercase()),
        }
    }
}

/// Permission bits as `-perm` asks for them.
pub(super) enum Mode {
    Exactly(u16),
    AllOf(u16),
    AnyOf(u16),
}

impl Mode {
    fn parse(text: &str) -> Option<Self> {
        // Symbols start from no bits at all.
        let bits = |text: &str| Some(ModeChange::parse(text)?.apply(0, FileKind::File, 0));
        match text.as_bytes().first()? {
            b'-' => bits(&text[1..]).map(Self::AllOf),
            b'/' => bits(&text[1..]).map(Self::AnyOf),
            _ => bits(text).map(Self::Exactly),
        }
    }

    pub(super) fn takes(&self, bits: u16) -> bool {
        match self {
            Self::Exactly(wanted) => bits == *wanted,
            Self::AllOf(wanted) => bits & wanted == *wanted,
            Self::AnyOf(wanted) => *wanted == 0 || bits & wanted != 0,
        }
    }
}

pub(super) struct Parser<'a> {
    shell: &'a Shell,
    words: std::iter::Peekable<std::slice::Iter<'a, String>>,
    options: Options,
    /// True when an action prints, or stands in for it.
    acts: bool,
    gathers: usize,
    nesting: usize,
    syntax: Option<Syntax>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(shell: &'a Shell, words: &'a [String]) -> Self {
        let options = Options { least: 0, most: usize::MAX, contents_first: false, follows_links: false };
        let words = words.iter().peekable();
        Self { shell, words, options, acts: false, gathers: 0, nesting: 0, syntax: None }
    }

    /// Parses the whole expression. Err: what is wrong with it.
    pub(super) fn parse(mut self) -> Result<(Expression, Options), String> {
        let given = match self.words.peek() {
            None => Expression::Test(Test::Always(true)),
            Some(_) => self.list()?,
        };
        match self.words.next() {
            None => {}
            Some(word) if word == ")" => return Err("invalid expression; you have too many ')'".to_owned()),
            Some(word) => return Err(format!("paths must precede expression: `{word}'")),
        }
        let print = Expression::Action(Action::Print { end: "\n" });
        let expression = if self.acts { given } else { Expression::All(vec![given, print]) };
        Ok((expression, self.options))
    }

    fn take(&mut self, words: &[&str]) -> bool {
        self.words.next_if(|word| words.contains(&word.as_str())).is_some()
    }

    fn list(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.any()?];
        while self.take(&[","]) {
            parts.push(self.any()?);
        }
        Ok(only(parts, Expression::Last))
    }

    fn any(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.all()?];
        while self.take(&["-o", "-or"]) {
            parts.push(self.all()?);
        }
        Ok(only(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.negated()?];
        loop {
            self.take(&["-a", "-and"]);
            match self.words.peek().map(|word| word.as_str()) {
                None | Some(")" | "," | "-o" | "-or") => return Ok(only(parts, Expression::All)),
                Some(_) => parts.push(self.negated()?),
            }
        }
    }

    fn negated(&mut self) -> Result<Expression, String> {
        let mut negated = false;
        while self.take(&["!", "-not"]) {
            negated = !negated;
        }
        let expression = match self.take(&["("]) {
            true => self.parenthesis()?,
            false => self.primary()?,
        };
        Ok(if negated { Expression::Not(Box::new(expression)) } else { expression })
    }

    fn parenthesis(&mut self) -> Result<Expression, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("the expression is nested too deeply".to_owned());
        }
        if self.words.peek().is_some_and(|word| *word == ")") {
            return Err("invalid expression; empty parentheses are not allowed.".to_owned());
        }
        let inner = self.list()?;
        self.nesting -= 1;
        match self.take(&[")"]) {
            true => Ok(inner),
            false => Err("invalid expression; I was expecting to find a ')' somewhere but did not see one.".to_owned()),
        }
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let Some(word) = self.words.next() else {
            return Err("invalid expression; you have used a binary operator with nothing after it.".to_owned());
        };
        if !word.starts_with('-') {
            return Err(match word.as_str() {
                ")" => "invalid expression; you have too many ')'".to_owned(),
                word => format!("paths must precede expression: `{word}'"),
            });
        }
        if let Some(action) = self.action(word)? {
            return Ok(Expression::Action(action));
        }
        self.test(word).map(Expression::Test)
    }

    fn value(&mut self, word: &str) -> Result<&'a str, String> {
        self.words.next().map(String::as_str).ok_or_else(|| format!("missing argument to `{word}'"))
    }

    fn action(&mut self, word: &str) -> Result<Option<Action>, String> {
        let action = match word {
            "-prune" => return Ok(Some(Action::Prune)),
            "-quit" => return Ok(Some(Action::Quit)),
            "-print" => Action::Print { end: "\n" },
            "-print0" => Action::Print { end: "\0" },
            "-printf" => Action::Format(self.value(word)?.to_owned()),
            "-ls" => Action::Format("%9i %6k %M %3n %-8u %-8g %8s %Tb %Te %TH:%TM %p\\n".to_owned()),
            "-delete" => {
                self.options.contents_first = true;
                Action::Delete
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => self.command(word)?,
            _ => return Ok(None),
        };
        self.acts = true;
        Ok(Some(action))
    }

    fn command(&mut self, word: &str) -> Result<Action, String> {
        let mut words: Vec<String> = Vec::new();
        loop {
            let Some(next) = self.words.next() else { return Err(format!("missing argument to `{word}'")) };
            match next.as_str() {
                ";" if words.is_empty() => return Err(format!("invalid argument `;' to `{word}'")),
                ";" => return Ok(Action::Execute { words, in_directory: word.ends_with("dir") }),
                "+" if words.last().is_some_and(|last| last == "{}") => {
                    words.pop();
                    self.gathers += 1;
                    return Ok(Action::Gather(self.gathers - 1, words));
                }
                next => words.push(next.to_owned()),
            }
        }
    }

    fn test(&mut self, word: &str) -> Result<Test, String> {
        let case = match word {
            "-iname" | "-ipath" | "-iwholename" | "-iregex" => Case::Insensitive,
            _ => Case::Sensitive,
        };
        Ok(match word {
            "-name" | "-iname" => Test::Name(FoldedPattern::new(self.value(word)?, case)?),
            "-path" | "-wholename" | "-ipath" | "-iwholename" => {
                Test::Path(FoldedPattern::new(self.value(word)?, case)?)
            }
            "-regex" | "-iregex" => Test::Regular(self.regular(word, case)?),
            "-regextype" => {
                self.syntax = Some(match self.value(word)? {
                    "posix-extended" | "posix-egrep" | "egrep" | "awk" | "gnu-awk" | "posix-awk" => Syntax::Extended,
                    _ => Syntax::Basic,
                });
                Test::Always(true)
            }
            "-type" | "-xtype" => Test::Kinds(kinds(word, self.value(word)?)?),
            "-empty" => Test::Empty,
            "-size" => self.size()?,
            "-atime" | "-mtime" | "-ctime" | "-amin" | "-mmin" | "-cmin" => self.age(word)?,
            "-newer" | "-anewer" | "-cnewer" => Test::Newer(time(&word[1..2]), self.reference(word)?.modified),
            "-newermt" | "-newerat" | "-newerct" => {
                let text = self.value(word)?;
                let than = date::parse(text, self.shell.now());
                Test::Newer(time(&word[6..7]), than.ok_or_else(|| format!("invalid argument `{text}' to `{word}'"))?)
            }
            "-samefile" => Test::Inode(self.reference(word)?.inode),
            "-inum" | "-links" | "-uid" | "-gid" => self.number(word)?,
            "-perm" => {
                let text = self.value(word)?;
                Test::Mode(Mode::parse(text).ok_or_else(|| format!("invalid mode '{text}'"))?)
            }
            "-user" | "-group" => Test::Always(matches!(self.value(word)?, "user" | "1000")),
            "-nouser" | "-nogroup" | "-false" => Test::Always(false),
            "-readable" => Test::File("-r"),
            "-writable" => Test::File("-w"),
            "-executable" => Test::File("-x"),
            "-maxdepth" | "-mindepth" => {
                let text = self.value(word)?;
                let depth = text
                    .parse()
                    .map_err(|_| format!("Expected a positive decimal integer argument to {word}, but got '{text}'"))?;
                match word {
                    "-maxdepth" => self.options.most = depth,
                    _ => self.options.least = depth,
                }
                Test::Always(true)
            }
            "-depth" | "-d" => {
                self.options.contents_first = true;
                Test::Always(true)
            }
            "-follow" => {
                self.options.follows_links = true;
                Test::Always(true)
            }
            "-true" | "-mount" | "-xdev" | "-noleaf" | "-daystart" | "-warn" | "-nowarn" => Test::Always(true),
            word => return Err(format!("unknown predicate `{word}'")),
        })
    }

    fn regular(&mut self, word: &str, case: Case) -> Result<Regular, String> {
        let text = self.value(word)?;
        let expression = match self.syntax {
            Some(syntax) => posix(text, syntax),
            None => posix(&basic_of_emacs(text), Syntax::Basic),
        };
        Regular::new(&format!("^(?:{expression})$"), case)
    }

    fn size(&mut self) -> Result<Test, String> {
        let text = self.value("-size")?;
        let (digits, unit) = match text.as_bytes().last() {
            Some(b'c') => (&text[..text.len() - 1], 1),
            Some(b'w') => (&text[..text.len() - 1], 2),
            Some(b'b') => (&text[..text.len() - 1], 512),
            Some(b'k') => (&text[..text.len() - 1], 1 << 10),
            Some(b'M') => (&text[..text.len() - 1], 1 << 20),
            Some(b'G') => (&text[..text.len() - 1], 1 << 30),
            _ => (text, 512),
        };
        let count = Count::parse(digits).ok_or_else(|| format!("Invalid argument `{text}' to -size"))?;
        Ok(Test::Size { count, unit })
    }

    fn age(&mut self, word: &str) -> Result<Test, String> {
        let text = self.value(word)?;
        let unit = if word.ends_with("min") { 60 } else { 86_400 };
        let count = Count::parse(text).ok_or_else(|| format!("invalid argument `{text}' to `{word}'"))?;
        Ok(Test::Age(Age { time: time(&word[1..2]), unit, count }))
    }

    fn number(&mut self, word: &str) -> Result<Test, String> {
        let text = self.value(word)?;
        let count = Count::parse(text).ok_or_else(|| format!("invalid argument `{text}' to `{word}'"))?;
        Ok(match word {
            "-inum" => Test::Inode(count.number),
            "-links" => Test::Links(count),
            _ => Test::Always(count.takes(1000)),
        })
    }

    /// The file that a test compares with.
    fn reference(&mut self, word: &str) -> Result<FileEntry, String> {
        let path = self.value(word)?;
        self.shell.stat(path).map_err(|error| format!("'{path}': {}", reason(&error)))
    }
}

fn only(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

fn time(letter: &str) -> Time {
    match letter {
        "a" => Time::Accessed,
        "c" => Time::Changed,
        _ => Time::Modified,
    }
}

fn kinds(word: &str, text: &str) -> Result<Vec<FileKind>, String> {
    let mut kinds = Vec::new();
    for letter in text.split(',') {
        match letter {
            "f" => kinds.push(FileKind::File),
            "d" => kinds.push(FileKind::Directory),
            "l" => kinds.push(FileKind::Link),
            "c" => kinds.push(FileKind::Device),
            "p" => kinds.push(FileKind::NamedPipe),
            "b" | "s" => {}
            letter => return Err(format!("Unknown argument to {word}: {letter}")),
        }
    }
    Ok(kinds)
}

/// An expression as `find` reads it by itself, in which `+` and `?` stand without a backslash.
fn basic_of_emacs(text: &str) -> String {
    let mut basic = String::with_capacity(text.len() + 8);
    let mut letters = text.chars();
    let mut in_brackets = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                basic.push(letter);
                basic.extend(letters.next());
                continue;
            }
            '+' | '?' if !in_brackets => basic.push('\\'),
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
        basic.push(letter);
    }
    basic
}
