//! `sed`: `s`, `y`, `p`, `d`, `q`, `=`, `a`, `i`, `c`, `n`, with addresses; no labels, no hold space.

use super::input::{Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::bounds::{MAX_TEXT, Pace};
use crate::execute::WriteAt;
use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Done, Shell, Stop};
use crate::streams::Writer;
use proofbox_vfs::FileUse;

enum Address {
    Line(u64),
    Last,
    Match(Regular),
    /// Address `first~step`.
    Step(u64, u64),
}

enum Act {
    Substitute { regular: Regular, with: Vec<Part>, which: Matches, prints: bool },
    Translate(Vec<(char, char)>),
    Print,
    Delete,
    Quit(i32),
    Number,
    Next,
    Append(String),
    Insert(String),
    Change(String),
}

/// A part of what `s` puts in.
enum Part {
    Text(String),
    Group(usize),
    Turn(Turn),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Upper,
    Lower,
    UpperOne,
    LowerOne,
    End,
}

struct Command {
    first: Option<Address>,
    last: Option<Address>,
    negated: bool,
    /// Within the range of its two addresses.
    active: bool,
    act: Act,
}

struct Script<'t> {
    text: &'t str,
    syntax: Syntax,
}

impl Script<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.text.chars().next()?;
        self.text = &self.text[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, also: &[char]) {
        self.text = self.text.trim_start_matches(|c: char| c == ' ' || c == '\t' || also.contains(&c));
    }

    /// Text up to a separator that has no backslash before it.
    fn until(&mut self, end: char) -> Result<String, String> {
        let mut text = String::new();
        let mut within = false;
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some(escaped) if escaped == end => {
                        // A separator that means something stays escaped.
                        if !within && ".*[]^$+?(){}|".contains(end) {
                            text.push('\\');
                        }
                        text.push(escaped);
                    }
                    Some(escaped) => text.extend(['\\', escaped]),
                    None => break,
                },
                c if c == end && !within => return Ok(text),
                '[' if !within => {
                    within = self.text.find(']').is_some_and(|close| !self.text[..close].contains('\n'));
                    text.push(c);
                }
                ']' if within => {
                    within = false;
                    text.push(c);
                }
                c => text.push(c),
            }
        }
        Err("unterminated `s' command".to_owned())
    }

    fn number(&mut self) -> u64 {
        let end = self.text.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.text.len());
        let number = self.text[..end].parse().unwrap_or(u64::MAX);
        self.text = &self.text[end..];
        number
    }

    fn address(&mut self) -> Result<Option<Address>, String> {
        match self.text.chars().next() {
            Some('$') => {
                self.next();
                Ok(Some(Address::Last))
            }
            Some(c) if c.is_ascii_digit() => {
                let line = self.number();
                if self.text.starts_with('~') {
                    self.next();
                    return Ok(Some(Address::Step(line, self.number())));
                }
                Ok(Some(Address::Line(line)))
            }
            Some('/') => {
                self.next();
                let text = self.until('/').map_err(|_| "unterminated address regex".to_owned())?;
                let fold = self.text.starts_with('I');
                if fold {
                    self.next();
                }
                Ok(Some(Address::Match(Regular::new(
                    &posix(&text, self.syntax),
                    if fold { Case::Insensitive } else { Case::Sensitive },
                )?)))
            }
            Some(_) | None => Ok(None),
        }
    }

    fn command(&mut self) -> Result<Option<Command>, String> {
        self.skip(&['\n', ';']);
        if self.text.is_empty() {
            return Ok(None);
        }
        let first = self.address()?;
        self.skip(&[]);
        let last = match self.text.starts_with(',') {
            true => {
                self.next();
                self.skip(&[]);
                Some(self.address()?.ok_or("unexpected `,'")?)
            }
            false => None,
        };
        self.skip(&[]);
        let negated = self.text.starts_with('!');
        if negated {
            self.next();
            self.skip(&[]);
        }
        let act = match self.next() {
            Some('s') => self.substitution()?,
            Some('y') => {
                let separator = self.next().ok_or("unterminated `y' command")?;
                let from: Vec<char> = self.until(separator)?.chars().collect();
                let to: Vec<char> = self.until(separator)?.chars().collect();
                if from.len() != to.len() {
                    return Err("strings for `y' command are different lengths".to_owned());
                }
                Act::Translate(from.into_iter().zip(to).collect())
            }
            Some('p') => Act::Print,
            Some('d') => Act::Delete,
            Some('n') => Act::Next,
            Some('=') => Act::Number,
            Some('q') => {
                self.skip(&[]);
                let code = if self.text.starts_with(|c: char| c.is_ascii_digit()) { self.number() } else { 0 };
                Act::Quit((code & 255) as i32)
            }
            Some(letter @ ('a' | 'i' | 'c')) => {
                self.skip(&[]);
                if self.text.starts_with('\\') {
                    self.next();
                    self.skip(&[]);
                    if self.text.starts_with('\n') {
                        self.next();
                    }
                }
                let end = self.text.find('\n').unwrap_or(self.text.len());
                let text = format!("{}\n", &self.text[..end]);
                self.text = &self.text[end..];
                match letter {
                    'a' => Act::Append(text),
                    'i' => Act::Insert(text),
                    _ => Act::Change(text),
                }
            }
            Some(other) => return Err(format!("unknown command: `{other}'")),
            None => return Err("missing command".to_owned()),
        };
        self.skip(&[]);
        match self.text.chars().next() {
            None | Some(';' | '\n' | '}') => {}
            Some('#') => self.text = "",
            Some(_) => return Err("extra characters after command".to_owned()),
        }
        Ok(Some(Command { first, last, negated, active: false, act }))
    }

    fn substitution(&mut self) -> Result<Act, String> {
        let separator = self.next().ok_or("unterminated `s' command")?;
        let pattern = self.until(separator)?;
        let with = self.replacement(separator)?;
        let (mut all, mut fold, mut prints, mut number) = (false, false, false, 1);
        loop {
            match self.text.chars().next() {
                Some('g') => all = true,
                Some('i' | 'I') => fold = true,
                Some('p') => prints = true,
                Some(c) if c.is_ascii_digit() => {
                    number = usize::try_from(self.number()).unwrap_or(usize::MAX).max(1);
                    continue;
                }
                Some(_) | None => break,
            }
            self.next();
        }
        let regular =
            Regular::new(&posix(&pattern, self.syntax), if fold { Case::Insensitive } else { Case::Sensitive })?;
        let which = if all { Matches::From(number) } else { Matches::One(number) };
        Ok(Act::Substitute { regular, with, which, prints })
    }

    fn replacement(&mut self, separator: char) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let c = self.next().ok_or("unterminated `s' command")?;
            let special = match c {
                c if c == separator => break,
                '&' => Part::Group(0),
                '\\' => match self.next().ok_or("unterminated `s' command")? {
                    c if c.is_ascii_digit() => Part::Group(c as usize - '0' as usize),
                    'U' => Part::Turn(Turn::Upper),
                    'L' => Part::Turn(Turn::Lower),
                    'u' => Part::Turn(Turn::UpperOne),
                    'l' => Part::Turn(Turn::LowerOne),
                    'E' => Part::Turn(Turn::End),
                    'n' => {
                        text.push('\n');
                        continue;
                    }
                    't' => {
                        text.push('\t');
                        continue;
                    }
                    c => {
                        text.push(c);
                        continue;
                    }
                },
                c => {
                    text.push(c);
                    continue;
                }
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(special);
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(parts)
    }
}

pub(super) async fn sed(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("quiet", 'n'),
        ("silent", 'n'),
        ("expression", 'e'),
        ("file", 'f'),
        ("regexp-extended", 'E'),
        ("in-place", 'I'),
    ];
    // `-i.bak` is the only option with a value that may be missing.
    let mut words = arguments.to_vec();
    let mut in_place = None;
    words.retain(|word| match word.strip_prefix("-i") {
        Some(suffix) if in_place.is_none() && !word.starts_with("--") => {
            in_place = Some(suffix.to_owned());
            false
        }
        _ => true,
    });
    let given = match read(&words, "ne:f:ErsIz", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "sed", &why, 1).await),
    };
    if given.has('I') {
        in_place = Some(given.value('I').unwrap_or_default().to_owned());
    }
    let mut operands = given.operands.clone();
    let mut text = given.values('e').join("\n");
    if let Some(path) = given.value('f') {
        let Some(reader) = open(shell, "sed", path).await else { return Ok(1) };
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "sed").await? {
            text.push_str(&format!("{}\n", String::from_utf8_lossy(&lines.line)));
        }
    } else if !given.has('e') {
        if operands.is_empty() {
            shell.error("sed", "no script given").await;
            return Ok(1);
        }
        text = operands.remove(0);
    }
    let mut script =
        Script { text: &text, syntax: if given.has('E') || given.has('r') { Syntax::Extended } else { Syntax::Basic } };
    let mut commands = Vec::new();
    loop {
        match script.command() {
            Ok(Some(command)) => commands.push(command),
            Ok(None) => break,
            Err(why) => {
                let at = text.len() - script.text.len();
                return Err(shell.fails("sed", &format!("-e expression #1, char {at}: {why}")).await);
            }
        }
    }
    let quiet = given.has('n');
    let mut status = 0;
    let mut number = 0;
    let operands = or_input(operands);
    for (at, path) in operands.iter().enumerate() {
        let Some(reader) = open(shell, "sed", path).await else {
            status = 2;
            continue;
        };
        let (writer, kept) = match &in_place {
            None => (shell.streams.stdout.clone(), None),
            Some(suffix) => {
                let (writer, kept) = collector();
                (writer, Some((suffix.clone(), kept)))
            }
        };
        if in_place.is_some() {
            number = 0;
        }
        let pass = Pass { quiet, last_file: in_place.is_some() || at + 1 == operands.len() };
        let mut lines = Lines::new(shell, reader)?;
        let ended = edit(shell, &mut commands, &mut lines, &writer, pass, &mut number).await;
        if let Some((suffix, kept)) = kept {
            let bytes = std::mem::take(&mut *kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
            put_back(shell, path, &suffix, &bytes).await?;
        }
        if let Some(code) = ended? {
            return Ok(code);
        }
    }
    Ok(status)
}

type Collected = std::sync::Arc<std::sync::Mutex<Vec<u8>>>;

/// A writer that keeps what it is given, up to the longest text.
fn collector() -> (Writer, Collected) {
    let kept = Collected::default();
    let into = Collected::clone(&kept);
    let writer = Writer::sink(std::sync::Arc::new(move |bytes: &[u8]| {
        let mut kept = into.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.len() <= MAX_TEXT {
            kept.extend_from_slice(bytes);
        }
    }));
    (writer, kept)
}

async fn put_back(shell: &Shell, path: &str, suffix: &str, bytes: &[u8]) -> Result<(), Stop> {
    if bytes.len() > MAX_TEXT {
        return Err(shell.fails("sed", &format!("{path}: too large to edit in place")).await);
    }
    if !suffix.is_empty() {
        let mut before = Vec::new();
        if let Ok(mut reader) = shell.reader_of(path) {
            while reader.read_into(&mut before, 64 << 10, None).await > 0 {
                if before.len() > MAX_TEXT {
                    return Err(shell.fails("sed", &format!("{path}: too large to edit in place")).await);
                }
            }
        }
        match shell.writer_of(&format!("{path}{suffix}"), FileUse::Replace, WriteAt::Start) {
            Ok(writer) => shell.write(&writer, "sed", &before).await?,
            Err(why) => return Err(shell.fails("sed", &format!("{path}{suffix}: {why}")).await),
        }
    }
    match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
        Ok(writer) => shell.write(&writer, "sed", bytes).await,
        Err(why) => Err(shell.fails("sed", &format!("{path}: {why}")).await),
    }
}

/// Options of editing one file.
#[derive(Clone, Copy)]
struct Pass {
    /// True when only commands print.
    quiet: bool,
    /// True when no file follows whose lines are counted on.
    last_file: bool,
}

/// Position of a line in the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Earlier,
    Last,
}

/// Matches in a line that are replaced.
#[derive(Debug, Clone, Copy)]
enum Matches {
    /// The match of this number only, counted from 1.
    One(usize),
    /// The match of this number, and all after it.
    From(usize),
}

/// Edits one file's lines; the exit code if `q` ended it.
async fn edit(
    shell: &Shell,
    commands: &mut [Command],
    lines: &mut Lines,
    writer: &Writer,
    pass: Pass,
    number: &mut u64,
) -> Result<Option<i32>, Stop> {
    let mut more = lines.next(shell, "sed").await?;
    while more {
        let mut line = std::mem::take(&mut lines.line);
        let mut whole = lines.whole;
        *number += 1;
        more = lines.next(shell, "sed").await?;
        let (mut deleted, mut quit, mut after) = (false, None, String::new());
        for command in commands.iter_mut() {
            shell.step(1).await?;
            let place = if !more && pass.last_file { Line::Last } else { Line::Earlier };
            if !selected(command, *number, place, &line) {
                continue;
            }
            let ended = |line: &[u8], whole: bool| [line, if whole { b"\n" } else { b"" }].concat();
            match &command.act {
                Act::Print => shell.write(writer, "sed", &ended(&line, true)).await?,
                Act::Number => shell.write(writer, "sed", format!("{number}\n").as_bytes()).await?,
                Act::Delete => deleted = true,
                Act::Quit(code) => quit = Some(*code),
                Act::Append(text) => after.push_str(text),
                Act::Insert(text) => shell.write(writer, "sed", text.as_bytes()).await?,
                Act::Change(text) => {
                    if !command.active {
                        shell.write(writer, "sed", text.as_bytes()).await?;
                    }
                    deleted = true;
                }
                Act::Next => {
                    if !pass.quiet {
                        shell.write(writer, "sed", &ended(&line, whole)).await?;
                    }
                    if !more {
                        return Ok(None);
                    }
                    line = std::mem::take(&mut lines.line);
                    whole = lines.whole;
                    *number += 1;
                    more = lines.next(shell, "sed").await?;
                }
                Act::Translate(pairs) => {
                    let text = String::from_utf8_lossy(&line);
                    let turned = |c| pairs.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to);
                    line = text.chars().map(turned).collect::<String>().into_bytes();
                }
                Act::Substitute { regular, with, which, prints } => {
                    if !regular.takes(line.len()) {
                        return Err(shell.fails("sed", "a line is too long for its expression").await);
                    }
                    shell.step(regular.steps(line.len())).await?;
                    match substitute(shell, &line, regular, with, *which).await? {
                        Ok(Some(text)) => {
                            line = text;
                            if *prints {
                                shell.write(writer, "sed", &ended(&line, true)).await?;
                            }
                        }
                        Ok(None) => {}
                        Err(()) => return Err(shell.fails("sed", "memory exhausted").await),
                    }
                }
            }
            if deleted || quit.is_some() {
                break;
            }
        }
        if !deleted && !pass.quiet {
            line.extend(whole.then_some(b'\n'));
            shell.write(writer, "sed", &line).await?;
        }
        if !after.is_empty() {
            shell.write(writer, "sed", after.as_bytes()).await?;
        }
        if quit.is_some() {
            return Ok(quit);
        }
    }
    Ok(None)
}

/// Returns whether a command applies to this line.
fn selected(command: &mut Command, number: u64, place: Line, line: &[u8]) -> bool {
    let at = |address: &Address| match address {
        Address::Line(wanted) => *wanted == number,
        Address::Last => place == Line::Last,
        Address::Match(regular) => regular.is_match(line),
        Address::Step(first, 0) => number == *first,
        Address::Step(first, step) => number >= *first && (number - first).is_multiple_of(*step),
    };
    let chosen = match (&command.first, &command.last) {
        (None, _) => true,
        (Some(first), None) => at(first),
        (Some(_), Some(end)) if command.active => {
            let ends = match end {
                Address::Line(wanted) => number >= *wanted,
                other => at(other),
            };
            command.active = !ends;
            // A range that ended before this line has no more to say.
            !matches!(end, Address::Line(wanted) if number > *wanted)
        }
        (Some(first), Some(end)) => {
            let begins = at(first);
            command.active =
                begins && place == Line::Earlier && !matches!(end, Address::Line(wanted) if *wanted <= number);
            begins
        }
    };
    chosen != command.negated
}

/// A line with what matched replaced; none if nothing did. Err: it became too long.
async fn substitute(
    shell: &Shell,
    line: &[u8],
    regular: &Regular,
    with: &[Part],
    which: Matches,
) -> Result<Result<Option<Vec<u8>>, ()>, Stop> {
    let mut out = Vec::new();
    let mut pace = Pace::new();
    let (Matches::One(number) | Matches::From(number)) = which;
    let (mut at, mut from, mut count) = (0, 0, 0);
    while let Some(found) = regular.captures_at(line, from) {
        shell.count_paced(&mut pace).await?;
        let whole = found.get(0).map(|whole| whole.range()).unwrap_or_default();
        count += 1;
        if count >= number {
            out.extend_from_slice(&line[at..whole.start]);
            put(with, &found, &mut out);
            at = whole.end;
        }
        if out.len() > MAX_TEXT {
            return Ok(Err(()));
        }
        if (matches!(which, Matches::One(_)) && count >= number) || whole.start >= line.len() {
            break;
        }
        from = match whole.is_empty() {
            true => whole.end + 1,
            false => whole.end,
        };
    }
    if count < number {
        return Ok(Ok(None));
    }
    out.extend_from_slice(&line[at..]);
    Ok(Ok(Some(out)))
}

fn put(with: &[Part], found: &regex::bytes::Captures<'_>, out: &mut Vec<u8>) {
    let (mut turn, mut one) = (Turn::End, None);
    for part in with {
        let bytes = match part {
            Part::Turn(new @ (Turn::UpperOne | Turn::LowerOne)) => {
                one = Some(*new);
                continue;
            }
            Part::Turn(new) => {
                turn = *new;
                continue;
            }
            Part::Text(text) => text.as_bytes(),
            Part::Group(number) => found.get(*number).map_or(&b""[..], |group| group.as_bytes()),
        };
        if turn == Turn::End && one.is_none() {
            out.extend_from_slice(bytes);
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        let turned = |text: &str, turn: Turn| match turn {
            Turn::Upper | Turn::UpperOne => text.to_uppercase(),
            Turn::Lower | Turn::LowerOne => text.to_lowercase(),
            Turn::End => text.to_owned(),
        };
        let head = text.chars().next().map_or(0, char::len_utf8);
        let (first, rest) = text.split_at(head);
        let first = turned(first, if head > 0 { one.take().unwrap_or(turn) } else { turn });
        out.extend_from_slice(first.as_bytes());
        out.extend_from_slice(turned(rest, turn).as_bytes());
    }
}
