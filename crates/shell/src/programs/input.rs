//! Input of programs: operands that name files, and lines.

use super::options::{Given, Order, read};
use crate::PIPE_BYTES;
use crate::bounds::{Held, MAX_TEXT};
use crate::state::{Shell, Stop};
use crate::streams::{Line, Reader};

/// Opens what an operand names; `-` is standard input. None: it cannot be, and that has been told.
pub(super) async fn open(shell: &Shell, who: &str, operand: &str) -> Option<Reader> {
    let opened = match operand {
        "-" => Ok(shell.streams.stdin.clone()),
        path => shell.reader_of(path),
    };
    match opened {
        Ok(reader) => {
            shell.wait_for_other_end(reader.opened(), operand).await;
            Some(reader)
        }
        Err(why) => {
            let what = match who {
                "head" | "tail" | "sort" if why != "Is a directory" => match who {
                    "sort" => format!("cannot read: {operand}: {why}"),
                    _ => format!("cannot open '{operand}' for reading: {why}"),
                },
                "head" | "tail" => format!("error reading '{operand}': {why}"),
                "sort" => format!("read failed: {operand}: {why}"),
                "sed" if why == "Is a directory" => format!("couldn't edit {operand}: not a regular file"),
                "sed" => format!("can't read {operand}: {why}"),
                _ => format!("{operand}: {why}"),
            };
            shell.error(who, &what).await;
            None
        }
    }
}

/// Lines, one at a time, in memory that is counted.
pub(super) struct Lines {
    reader: Reader,
    pub(super) line: Vec<u8>,
    held: Held,
    counted: usize,
    end: u8,
    /// True when the last line had a terminator.
    pub(super) whole: bool,
}

impl Lines {
    pub(super) fn new(shell: &Shell, reader: Reader) -> Result<Self, Stop> {
        Self::ended_by(shell, reader, b'\n')
    }

    pub(super) fn ended_by(shell: &Shell, reader: Reader, end: u8) -> Result<Self, Stop> {
        let held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        Ok(Self { reader, line: Vec::new(), held, counted: 0, end, whole: true })
    }

    /// Reads the next line into `line`, without what ends it. False: there is none.
    pub(super) async fn next(&mut self, shell: &Shell, who: &str) -> Result<bool, Stop> {
        shell.step(1).await?;
        self.line.clear();
        let read = self.reader.read_line(&mut self.line, self.end, MAX_TEXT).await;
        let more = self.line.capacity().saturating_sub(self.counted);
        self.counted += more;
        if read == Line::TooLong || !self.held.grow(more) {
            return Err(shell.fails(who, "memory exhausted").await);
        }
        shell.step(self.line.len() as u64 / 4096).await?;
        match read {
            Line::End => return Ok(false),
            Line::Whole => {
                self.whole = true;
                self.line.pop();
            }
            Line::Rest | Line::TooLong => self.whole = false,
        }
        Ok(true)
    }
}

/// Lines of every operand, in memory that is counted.
pub(super) struct AllLines {
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) status: i32,
    _held: Held,
}

impl AllLines {
    pub(super) async fn read(shell: &Shell, who: &str, operands: &[String], end: u8) -> Result<Self, Stop> {
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        let mut all = Vec::new();
        let mut status = 0;
        for operand in operands {
            let Some(reader) = open(shell, who, operand).await else {
                status = 1;
                continue;
            };
            let mut lines = Lines::ended_by(shell, reader, end)?;
            while lines.next(shell, who).await? {
                if !held.grow(lines.line.len() + 64) {
                    return Err(shell.fails(who, "memory exhausted").await);
                }
                all.push(lines.line.clone());
            }
        }
        Ok(Self { lines: all, status, _held: held })
    }
}

/// Content of one input, in memory that is counted.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    held: Held,
}

impl Content {
    pub(super) async fn read(shell: &Shell, who: &str, mut reader: Reader) -> Result<Self, Stop> {
        let held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        let mut content = Self { bytes: Vec::new(), held };
        loop {
            let before = content.bytes.capacity();
            let read = reader.read_into(&mut content.bytes, PIPE_BYTES, None).await;
            shell.step(1 + read as u64 / 4096).await?;
            if !content.held.grow(content.bytes.capacity() - before) {
                return Err(shell.fails(who, "memory exhausted").await);
            }
            if read == 0 {
                return Ok(content);
            }
        }
    }

    /// Takes memory for what is made of the content.
    pub(super) async fn hold(&mut self, shell: &Shell, who: &str, bytes: usize) -> Result<(), Stop> {
        match self.held.grow(bytes) {
            true => Ok(()),
            false => Err(shell.fails(who, "memory exhausted").await),
        }
    }
}

/// The lines of a text, each with what ends it.
pub(super) fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Reads a program's options. Err: they are wrong, which was told; it ends with `code`.
pub(super) async fn options(
    shell: &Shell,
    who: &str,
    arguments: &[String],
    letters: &str,
    long: &[(&str, char)],
    code: i32,
) -> Result<Given, Stop> {
    match read(arguments, letters, long, Order::Any) {
        Ok(given) => Ok(given),
        Err(why) => Err(usage(shell, who, &why, code).await),
    }
}

/// Returns the two operands of a program that takes two.
pub(super) async fn two_operands<'g>(
    shell: &Shell,
    who: &str,
    given: &'g Given,
    code: i32,
) -> Result<(&'g str, &'g str), Stop> {
    let why = match given.operands.as_slice() {
        [left, right] => return Ok((left, right)),
        [] => "missing operand".to_owned(),
        [one] => format!("missing operand after '{one}'"),
        [_, _, extra, ..] => format!("extra operand '{extra}'"),
    };
    Err(usage(shell, who, &why, code).await)
}

/// The operands, or standard input if there are none.
pub(super) fn or_input(mut operands: Vec<String>) -> Vec<String> {
    if operands.is_empty() {
        operands.push("-".to_owned());
    }
    operands
}

/// Says what is wrong with a program's options; it ends with `code`.
pub(super) async fn usage(shell: &Shell, who: &str, why: &str, code: i32) -> Stop {
    shell.error(who, &format!("{why}\nTry '{who} --help' for more information.")).await;
    Stop::Failed(code)
}
