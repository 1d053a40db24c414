//! Program `bc`: a compiler to instructions, and a machine for them. Numbers have any length, as far as memory allows.

mod code;
mod failure;
mod lexer;
mod machine;
mod math;
mod number;
mod parser;

use super::input::Lines;
use super::options::{Order, read};
use crate::bounds::MAX_TEXT;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;
use failure::Failure;
use lexer::{Extent, Lexer};
use machine::Machine;
use parser::{Item, Notice, Parser};

/// Longest text that is read for one item, in bytes.
const MAX_ITEM: usize = 256 << 10;
/// Memory of code, for each byte of its text.
const CODE_MEMORY: usize = 64;
/// Digits after the point with `-l`.
const LIBRARY_SCALE: usize = 20;

const USAGE: &str = "\
usage: bc [options] [file ...]
  -h  --help         print this usage and exit
  -i  --interactive  force interactive mode
  -l  --mathlib      use the predefined math routines
  -q  --quiet        don't print initial banner
  -s  --standard     non-standard bc constructs are errors
  -w  --warn         warn about non-standard bc constructs
  -v  --version      print version information and exit
";
const LIMITS: &str = "\
BC_BASE_MAX     = 2147483647
BC_DIM_MAX      = 16777215
BC_SCALE_MAX    = 2147483647
BC_STRING_MAX   = 2147483647
MAX Exponent    = 9223372036854775807
Number of vars  = 32767
";

/// Continuation after an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoesOn,
    Ends,
}

pub(super) async fn bc(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("help", 'h'),
        ("interactive", 'i'),
        ("mathlib", 'l'),
        ("quiet", 'q'),
        ("standard", 's'),
        ("version", 'v'),
        ("warn", 'w'),
        ("compile", 'c'),
    ];
    let given = match read(arguments, "hilqsvwc", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => {
            shell.error("bc", &why).await;
            shell.out("bc", USAGE.as_bytes()).await?;
            return Ok(1);
        }
    };
    if given.has('h') {
        shell.out("bc", USAGE.as_bytes()).await?;
        return Ok(0);
    }
    if given.has('v') {
        shell.out("bc", b"bc 1.07.1\n").await?;
        return Ok(0);
    }
    let mut machine = Machine::new(shell)?;
    if given.has('l') {
        machine.has_library = true;
        machine.scale = LIBRARY_SCALE;
    }
    let mut sources = vec![("(standard_in)".to_owned(), Some(shell.streams.stdin.clone()))];
    for path in given.operands.iter().rev() {
        sources.push((path.clone(), shell.reader_of(path).ok()));
    }
    run(shell, &mut machine, sources).await
}

/// Runs the sources, the last one first, an item at a time as its lines are read: they are one program.
async fn run(shell: &Shell, machine: &mut Machine<'_>, mut sources: Vec<(String, Option<Reader>)>) -> Done {
    let mut lines = None;
    let mut name = String::new();
    let mut text = String::new();
    // Line of the source that the text begins with.
    let mut line = 1;
    let mut extent = Extent::Beginning;
    loop {
        // An item is compiled anew with each of its lines.
        shell.step(1 + text.len() as u64 / 64).await?;
        if text.len() > MAX_ITEM {
            return Err(shell.fails("bc", "the item is too long").await);
        }
        let compiled = match extent {
            Extent::Beginning if text.is_empty() => None,
            Extent::Beginning | Extent::Whole => compile(machine, &text, line, extent),
        };
        let Some(compiled) = compiled else {
            if extent == Extent::Whole {
                return Ok(0);
            }
            let is_read = match &mut lines {
                Some(lines) => read_line(shell, lines, &mut text).await?,
                None => false,
            };
            if is_read {
                continue;
            }
            match sources.pop() {
                None => extent = Extent::Whole,
                Some((next, None)) => {
                    shell.say(&format!("File {next} is unavailable.\n")).await;
                    return Ok(1);
                }
                Some((next, Some(reader))) => {
                    name = next;
                    lines = Some(Lines::new(shell, reader)?);
                    line = 1 - text.matches('\n').count() as i64;
                }
            }
            continue;
        };
        for (at, what) in &compiled.mistakes {
            let prefix = at.map_or(String::new(), |line| format!("{name} {line}: "));
            shell.say(&format!("{prefix}{what}\n")).await;
        }
        for notice in &compiled.notices {
            let text = match notice {
                Notice::Limits => LIMITS,
                Notice::Warranty => "\nbc 1.07.1\nThere is no warranty.\n\n",
            };
            let written = machine.write(text).await;
            end(shell, written).await?;
        }
        let next = match compiled.outcome {
            Outcome::Quit | Outcome::Item(Item::End) => Next::Ends,
            Outcome::Item(_) if !compiled.mistakes.is_empty() => Next::GoesOn,
            Outcome::Item(Item::Function(number, function)) => {
                let memory = machine.charge(compiled.length * CODE_MEMORY);
                end(shell, memory.and_then(|()| machine.define(number, function))).await?
            }
            Outcome::Item(Item::Statements(code)) => {
                let done = machine.run(code).await;
                end(shell, done).await?
            }
        };
        if next == Next::Ends {
            return Ok(0);
        }
        text.drain(..compiled.length);
        line = compiled.line;
    }
}

/// Reads a line into a text, with its newline. False: there is none left.
async fn read_line(shell: &Shell, lines: &mut Lines, text: &mut String) -> Result<bool, Stop> {
    if !lines.next(shell, "bc").await? {
        return Ok(false);
    }
    if text.len() + lines.line.len() > MAX_TEXT {
        return Err(shell.fails("bc", "memory exhausted").await);
    }
    text.push_str(&String::from_utf8_lossy(&lines.line));
    if lines.whole {
        text.push('\n');
    }
    Ok(true)
}

/// Carries on after a mistake of one line.
async fn end(shell: &Shell, done: Result<(), Failure>) -> Result<Next, Stop> {
    match done {
        Ok(()) | Err(Failure::Told) => Ok(Next::GoesOn),
        Err(Failure::Halt) => Ok(Next::Ends),
        Err(Failure::TooLong) => Err(shell.fails("bc", "memory exhausted").await),
        Err(Failure::Stop(stop)) => Err(stop),
    }
}

/// Result of compiling.
enum Outcome {
    Item(Item),
    Quit,
}

/// Item that was compiled, and how far its text goes.
struct Compiled {
    outcome: Outcome,
    mistakes: Vec<(Option<i64>, String)>,
    notices: Vec<Notice>,
    length: usize,
    line: i64,
}

/// Compiles the first item of a text; none when it goes on in what has not been read yet.
fn compile(machine: &mut Machine<'_>, text: &str, line: i64, extent: Extent) -> Option<Compiled> {
    let mut parser = Parser::new(Lexer::new(text, line, extent), &mut machine.tables);
    let outcome = match parser.item() {
        Ok(item) => Outcome::Item(item),
        Err(parser::Failure::Unfinished) => return None,
        Err(parser::Failure::Quit) => Outcome::Quit,
        Err(parser::Failure::Syntax | parser::Failure::Refused(_)) => Outcome::Item(Item::End),
    };
    let notices = std::mem::take(&mut parser.notices);
    let lexer = parser.lexer;
    Some(Compiled { outcome, mistakes: lexer.mistakes, notices, length: lexer.at, line: lexer.line })
}
