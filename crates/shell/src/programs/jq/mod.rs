//! Program `jq`: a reader of filters, and a machine that evaluates them.

mod filter;
mod json;
mod machine;
mod native;
mod operator;
mod parser;
mod path;
mod shown;
mod value;

use super::input::{Content, open};
use crate::bounds::{MAX_TEXT, Pace, Pieces};
use crate::state::{Done, Shell, Stop};
use filter::Filter;
use json::{Characters, Indent, NameOrder, Style, measure, write};
use machine::{Inputs, Machine, Outcome};
use value::{Failure, Memory, Names, Value};

/// Definitions that all filters may use.
const PRELUDE: &str = include_str!("prelude.jq");
/// Longest filter, in bytes.
const MAX_FILTER: usize = 64 << 10;
/// Blanks of one level, at most.
const MAX_INDENT: usize = 7;

/// Exit code of a file or a text that can't be read.
const UNREADABLE: i32 = 2;
/// Exit code of a filter that can't be read.
const MALFORMED: i32 = 3;
/// Exit code of a filter without a value, with `-e`.
const NO_VALUE: i32 = 4;
/// Exit code of an error of a filter.
const FAILURE: i32 = 5;

/// Form in which strings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strings {
    Json,
    /// As they are, each with a newline.
    Raw,
    /// As they are, one right after the other.
    Joined,
}

/// Input that filters get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feed {
    Each,
    /// `null`, once.
    Null,
    /// All of it as one array or, with `-R`, as one string.
    Slurped,
}

struct Options {
    style: Style,
    strings: Strings,
    feed: Feed,
    raw_input: bool,
    /// True when the last value makes the exit code.
    exit_status: bool,
    filter: Option<String>,
    filter_file: Option<String>,
    files: Vec<String>,
    named: Vec<(String, Value)>,
    positional: Vec<Value>,
}

pub(super) async fn jq(shell: &mut Shell, arguments: &[String]) -> Done {
    let memory = Memory(std::sync::Arc::clone(&shell.shared.used));
    let options = read_options(shell, &memory, arguments).await?;
    let text = match (&options.filter_file, &options.filter) {
        (Some(path), _) => {
            let Some(reader) = open(shell, "jq", path).await else { return Ok(UNREADABLE) };
            String::from_utf8_lossy(&Content::read(shell, "jq", reader).await?.bytes).into_owned()
        }
        (None, Some(filter)) => filter.clone(),
        (None, None) => {
            shell.say("Usage:\tjq [OPTIONS] FILTER [FILES...]\n").await;
            return Ok(UNREADABLE);
        }
    };
    if text.len() > MAX_FILTER {
        shell.error("jq", "error: the filter is too long").await;
        return Ok(MALFORMED);
    }
    let (names, mut values): (Vec<String>, Vec<Value>) = options.named.iter().cloned().unzip();
    let all: Names = options.named.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect();
    let arguments = memory.array(options.positional.clone()).and_then(|positional| {
        let named = memory.object(all)?;
        memory.object(Names::from_iter([("positional".into(), positional), ("named".into(), named)]))
    });
    let Ok(arguments) = arguments else { return Err(exhausted(shell).await) };
    values.push(arguments);
    let names: Vec<String> = names.into_iter().chain(std::iter::once("ARGS".to_owned())).collect();
    // The tree of a filter takes some times as much as its text.
    let Some(_held) = shell.shared.used.hold((PRELUDE.len() + text.len()) * 40) else {
        return Err(exhausted(shell).await);
    };
    shell.step(200 + text.len() as u64 / 16).await?;
    let filter = match parser::parse(&memory, PRELUDE, &text, &names) {
        Ok(filter) => filter,
        Err(why) => {
            shell.say(&format!("jq: error: {why} at <top-level>\njq: 1 compile error\n")).await;
            return Ok(MALFORMED);
        }
    };
    Run { shell, memory, options, filter, values, pieces: Pieces::default(), last: None, status: 0 }.all().await
}

async fn exhausted(shell: &Shell) -> Stop {
    shell.error("jq", "error: memory exhausted").await;
    Stop::Failed(FAILURE)
}

async fn wrong_usage(shell: &Shell, why: &str) -> Stop {
    let text = format!("jq: error: {why}\nUse jq --help for help with command-line options,\nor see the jq manpage\n");
    shell.say(&text).await;
    Stop::Failed(UNREADABLE)
}

async fn read_options(shell: &Shell, memory: &Memory, arguments: &[String]) -> Result<Options, Stop> {
    let style = Style { indent: Some(Indent::Blanks(2)), names: NameOrder::Kept, characters: Characters::All };
    let mut options = Options {
        style,
        strings: Strings::Json,
        feed: Feed::Each,
        raw_input: false,
        exit_status: false,
        filter: None,
        filter_file: None,
        files: Vec::new(),
        named: Vec::new(),
        positional: Vec::new(),
    };
    let mut words = arguments.iter();
    // What operands after the filter are: files, strings, or JSON.
    let mut operands = Operands::Files;
    let mut plain = false;
    while let Some(word) = words.next() {
        if plain || !word.starts_with('-') || word == "-" {
            if options.filter.is_none() && options.filter_file.is_none() {
                options.filter = Some(word.clone());
                continue;
            }
            match operands {
                Operands::Files => options.files.push(word.clone()),
                Operands::Strings => options.positional.push(string(shell, memory, word).await?),
                Operands::Json => options.positional.push(parsed(shell, memory, "positional", word).await?),
            }
            continue;
        }
        if word == "--" {
            plain = true;
            continue;
        }
        let letters: Vec<&str> = match word.strip_prefix("--") {
            Some(name) => vec![name],
            None => word[1..].split("").filter(|letter| !letter.is_empty()).collect(),
        };
        for letter in letters {
            match letter {
                "r" | "raw-output" => options.strings = Strings::Raw,
                "j" | "join-output" => options.strings = Strings::Joined,
                "c" | "compact-output" => options.style.indent = None,
                "e" | "exit-status" => options.exit_status = true,
                "n" | "null-input" => options.feed = Feed::Null,
                "s" | "slurp" if options.feed != Feed::Null => options.feed = Feed::Slurped,
                "s" | "slurp" => {}
                "R" | "raw-input" => options.raw_input = true,
                "S" | "sort-keys" => options.style.names = NameOrder::Sorted,
                "a" | "ascii-output" => options.style.characters = Characters::Ascii,
                "C" | "color-output" | "M" | "monochrome-output" | "unbuffered" => {}
                "tab" => options.style.indent = Some(Indent::Tab),
                "args" => operands = Operands::Strings,
                "jsonargs" => operands = Operands::Json,
                "h" | "help" => {
                    shell.out("jq", b"Usage:\tjq [OPTIONS] FILTER [FILES...]\n").await?;
                    return Err(Stop::Failed(0));
                }
                "V" | "version" => {
                    shell.out("jq", b"jq-1.7\n").await?;
                    return Err(Stop::Failed(0));
                }
                "indent" => {
                    let count = words.next().and_then(|count| count.parse::<usize>().ok());
                    options.style.indent = match count {
                        Some(0) => None,
                        Some(count @ ..=MAX_INDENT) => Some(Indent::Blanks(count)),
                        _ => return Err(wrong_usage(shell, "Cannot indent more than 7 characters").await),
                    };
                }
                "f" | "from-file" => {
                    // The filter is in a file: what was taken for it names an input.
                    let path = match options.filter.take() {
                        Some(path) => Some(path),
                        None => words.next().cloned(),
                    };
                    match path {
                        Some(path) => options.filter_file = Some(path),
                        None => return Err(wrong_usage(shell, "-f takes a parameter").await),
                    }
                }
                "arg" | "argjson" | "slurpfile" | "rawfile" => {
                    let (Some(name), Some(value)) = (words.next(), words.next()) else {
                        let why = format!("--{letter} takes two parameters (e.g. --{letter} varname value)");
                        return Err(wrong_usage(shell, &why).await);
                    };
                    let value = match letter {
                        "arg" => string(shell, memory, value).await?,
                        "argjson" => parsed(shell, memory, name, value).await?,
                        _ => file_value(shell, memory, letter, value).await?,
                    };
                    options.named.retain(|(known, _)| known != name);
                    options.named.push((name.clone(), value));
                }
                unknown => return Err(wrong_usage(shell, &format!("Unknown arguments: {unknown}")).await),
            }
        }
    }
    Ok(options)
}

/// Meaning of operands after the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    Files,
    Strings,
    Json,
}

async fn string(shell: &Shell, memory: &Memory, text: &str) -> Result<Value, Stop> {
    match memory.string(text) {
        Ok(value) => Ok(value),
        Err(_) => Err(exhausted(shell).await),
    }
}

async fn parsed(shell: &Shell, memory: &Memory, name: &str, text: &str) -> Result<Value, Stop> {
    let mut parser = json::Parser::new(memory, text.as_bytes(), 0);
    match parser.next() {
        Ok(Some(value)) => Ok(value),
        _ => Err(wrong_usage(shell, &format!("Invalid JSON text passed to --argjson {name}")).await),
    }
}

async fn file_value(shell: &Shell, memory: &Memory, option: &str, path: &str) -> Result<Value, Stop> {
    let reader = match shell.reader_of(path) {
        Ok(reader) => reader,
        Err(why) => return Err(wrong_usage(shell, &format!("Bad JSON in --{option} {path}: {why}")).await),
    };
    let content = Content::read(shell, "jq", reader).await?;
    shell.step(content.bytes.len() as u64 / 64).await?;
    if option == "rawfile" {
        return string(shell, memory, &String::from_utf8_lossy(&content.bytes)).await;
    }
    let mut inputs = Inputs { text: &content.bytes, at: 0, waiting: Vec::new(), raw: false };
    match slurp(memory, &mut inputs) {
        Ok(value) => Ok(value),
        Err(_) => Err(wrong_usage(shell, &format!("Bad JSON in --{option} {path}")).await),
    }
}

fn slurp(memory: &Memory, inputs: &mut Inputs<'_>) -> Result<Value, Failure> {
    let mut held = memory.hold(0)?;
    let mut values = Vec::new();
    while let Some(value) = inputs.next(memory)? {
        if !held.grow(40) {
            return Err(Failure::Memory);
        }
        values.push(value);
    }
    memory.array(values)
}

struct Run<'a> {
    shell: &'a Shell,
    memory: Memory,
    options: Options,
    filter: Filter,
    values: Vec<Value>,
    pieces: Pieces,
    /// Truth of the last value that was written.
    last: Option<bool>,
    status: i32,
}

impl Run<'_> {
    async fn all(mut self) -> Done {
        let mut text = Vec::new();
        let mut held = self.shell.shared.used.hold(0).ok_or(Stop::Failed(FAILURE))?;
        let files = super::input::or_input(self.options.files.clone());
        let reads =
            self.options.feed != Feed::Null || !self.options.files.is_empty() || !self.shell.streams.stdin.is_file();
        for path in files.iter().filter(|_| reads) {
            let opened = match path.as_str() {
                "-" => Ok(self.shell.streams.stdin.clone()),
                path => self.shell.reader_of(path),
            };
            match opened {
                Ok(reader) => {
                    let content = Content::read(self.shell, "jq", reader).await?;
                    if !held.grow(content.bytes.len()) {
                        return Err(exhausted(self.shell).await);
                    }
                    text.extend_from_slice(&content.bytes);
                }
                Err(why) => {
                    self.shell.error("jq", &format!("error: Could not open {path}: {why}")).await;
                    self.status = UNREADABLE;
                }
            }
        }
        let memory = self.memory.clone();
        let mut inputs = Inputs { text: &text, at: 0, waiting: Vec::new(), raw: self.options.raw_input };
        match (self.options.feed, self.options.raw_input) {
            (Feed::Null, _) => self.one(&mut inputs, Value::Null).await?,
            (Feed::Slurped, true) => {
                inputs.at = text.len();
                let value = string(self.shell, &memory, &String::from_utf8_lossy(&text)).await?;
                self.one(&mut inputs, value).await?;
            }
            (Feed::Slurped, false) => {
                self.shell.step(text.len() as u64 / 64).await?;
                match slurp(&memory, &mut inputs) {
                    Ok(value) => self.one(&mut inputs, value).await?,
                    Err(failure) => self.tell(&text, inputs.at, failure, UNREADABLE).await?,
                }
            }
            (Feed::Each, _) => loop {
                let mut pace = Pace::new();
                let before = inputs.at;
                let next = inputs.next(&memory);
                self.shell.step(1 + inputs.at.saturating_sub(before) as u64 / 256).await?;
                self.shell.count_paced(&mut pace).await?;
                match next {
                    Ok(Some(value)) => self.one(&mut inputs, value).await?,
                    Ok(None) => break,
                    Err(failure) => {
                        self.tell(&text, inputs.at, failure, UNREADABLE).await?;
                        break;
                    }
                }
            },
        }
        Ok(match (self.status, self.options.exit_status, self.last) {
            (0, true, Some(last)) => i32::from(!last),
            (0, true, None) => NO_VALUE,
            (status, ..) => status,
        })
    }

    /// Evaluates the filter of one value.
    async fn one(&mut self, inputs: &mut Inputs<'_>, value: Value) -> Result<(), Stop> {
        let text = inputs.text;
        let mut pieces = std::mem::take(&mut self.pieces);
        let memory = self.memory.clone();
        let filter = Filter::clone(&self.filter);
        let values = self.values.clone();
        let started = Machine::new(self.shell, &memory, inputs, &mut pieces, (&filter, &values), value);
        let mut failed = None;
        match started {
            Ok(mut machine) => loop {
                match machine.next().await? {
                    Outcome::Value(value) => {
                        if !self.put(&value).await? {
                            failed = Some(Failure::Memory);
                            break;
                        }
                        self.last = Some(value.is_true());
                    }
                    Outcome::End => break,
                    Outcome::Failed(failure) => {
                        failed = Some(failure);
                        break;
                    }
                }
            },
            Err(failure) => failed = Some(failure),
        }
        self.pieces = pieces;
        if let Some(failure) = failed {
            let at = inputs.at;
            self.tell(text, at, failure, FAILURE).await?;
        }
        Ok(())
    }

    /// Writes a value. False: it is too long.
    async fn put(&mut self, value: &Value) -> Result<bool, Stop> {
        let mut out = String::new();
        match (value, self.options.strings) {
            (Value::String(text), Strings::Raw | Strings::Joined) => out.push_str(&text.content),
            (value, _) => {
                let mut left = MAX_TEXT;
                if !measure(value, self.options.style, &mut left) {
                    return Ok(false);
                }
                let bytes = MAX_TEXT - left;
                let Some(_held) = self.shell.shared.used.hold(bytes) else { return Ok(false) };
                self.shell.step(bytes as u64 / 128).await?;
                write(value, self.options.style, 0, &mut out);
            }
        }
        if self.options.strings != Strings::Joined {
            out.push('\n');
        }
        self.shell.out("jq", out.as_bytes()).await?;
        Ok(true)
    }

    /// Tells of a failure.
    async fn tell(&mut self, text: &[u8], at: usize, failure: Failure, status: i32) -> Result<(), Stop> {
        let value = match failure {
            Failure::Memory => return Err(exhausted(self.shell).await),
            Failure::Error(value) => value,
        };
        let at = at.min(text.len());
        let rest = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| at + length + 1);
        let lines = text[..rest].iter().filter(|byte| **byte == b'\n').count();
        let source = match (self.options.feed, self.options.files.first()) {
            (Feed::Null, _) => "<unknown>".to_owned(),
            (_, None) => format!("<stdin>:{lines}"),
            (_, Some(path)) => format!("{path}:{lines}"),
        };
        self.shell.step(1 + text.len() as u64 / 4096).await?;
        let what = match &value {
            Value::String(text) => text.content.clone(),
            Value::Object(_) | Value::Array(_) => {
                format!("(not a string): {}", native::json_text(&value).unwrap_or_default())
            }
            value => format!("(not a string): {}", json::compact(value)),
        };
        self.shell.say(&format!("jq: error (at {source}): {what}\n")).await;
        self.status = status;
        Ok(())
    }
}
