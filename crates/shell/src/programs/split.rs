//! Program `split`.

use super::input::{Content, Lines, options, usage};
use super::truncate::parse_size;
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop};
use crate::streams::{Reader, Writer};
use proofbox_vfs::FileUse;

/// Digits in the name of a part, at most.
const MAX_DIGITS: usize = 200;

/// Parts that the input is split into.
enum Parts {
    Lines(u64),
    Bytes(u64),
    /// Whole lines, together no longer than so many bytes.
    LineBytes(u64),
    /// A number of parts of the same size; of whole lines or not.
    Count(u64, Unit),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Lines,
}

/// Treatment of parts without content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyParts {
    Write,
    Skip,
}

const LONG: &[(&str, char)] = &[
    ("lines", 'l'),
    ("bytes", 'b'),
    ("line-bytes", 'C'),
    ("number", 'n'),
    ("suffix-length", 'a'),
    ("numeric-suffixes", 'd'),
    ("hex-suffixes", 'x'),
    ("additional-suffix", 'A'),
    ("verbose", 'v'),
    ("elide-empty-files", 'e'),
];

pub(super) async fn split(shell: &mut Shell, arguments: &[String]) -> Done {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match word.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) {
            true => format!("-l{}", &word[1..]),
            false => word.clone(),
        })
        .collect();
    let given = options(shell, "split", &words, "l:b:C:n:a:dxA:e", LONG, 1).await?;
    let by = given.last_of("lbCn").unwrap_or('l');
    let text = given.value(by).unwrap_or("1000");
    let parts = match by {
        'l' => parse_size(text).filter(|count| *count > 0).map(Parts::Lines),
        'b' => parse_size(text).filter(|count| *count > 0).map(Parts::Bytes),
        'C' => parse_size(text).filter(|count| *count > 0).map(Parts::LineBytes),
        _ => {
            let (unit, digits) = match text.strip_prefix("l/") {
                Some(digits) => (Unit::Lines, digits),
                None => (Unit::Bytes, text),
            };
            digits.parse().ok().filter(|count| *count > 0).map(|count| Parts::Count(count, unit))
        }
    };
    let Some(parts) = parts else {
        let what = match by {
            'l' => "lines",
            'n' => "chunks",
            _ => "bytes",
        };
        let range = if text.bytes().all(|byte| byte == b'0') { ": Numerical result out of range" } else { "" };
        return Err(shell.fails("split", &format!("invalid number of {what}: '{text}'{range}")).await);
    };
    if let Some(extra) = given.operands.get(2) {
        return Err(usage(shell, "split", &format!("extra operand '{extra}'"), 1).await);
    }
    let digits = match given.last_of("dx") {
        Some('d') => "0123456789",
        Some(_) => "0123456789abcdef",
        None => "abcdefghijklmnopqrstuvwxyz",
    };
    let length = match given.value('a').map(|text| (text, text.parse::<usize>())) {
        None | Some((_, Ok(0))) => None,
        Some((_, Ok(length @ 1..=MAX_DIGITS))) => Some(length),
        Some((text, _)) => return Err(shell.fails("split", &format!("invalid suffix length: '{text}'")).await),
    };
    let first = given.value('d').or(given.value('x')).and_then(|first| first.parse().ok()).unwrap_or(0);
    let mut files = Files {
        prefix: given.operands.get(1).map_or("x", String::as_str).to_owned(),
        suffix: given.value('A').unwrap_or_default().to_owned(),
        digits,
        length,
        next: first,
        verbose: given.has('v'),
    };
    let input = given.operands.first().map_or("-", String::as_str);
    let reader = match input {
        "-" => shell.streams.stdin.clone(),
        path => match shell.reader_of(path) {
            Ok(reader) => reader,
            Err(why) => {
                return Err(shell.fails("split", &format!("cannot open '{path}' for reading: {why}")).await);
            }
        },
    };
    match parts {
        Parts::Bytes(most) => by_bytes(shell, &mut files, reader, most).await?,
        Parts::Lines(most) => by_lines(shell, &mut files, reader, most, u64::MAX).await?,
        Parts::LineBytes(most) => by_lines(shell, &mut files, reader, u64::MAX, most).await?,
        Parts::Count(count, unit) => {
            // As many digits as the names need.
            let least = (1..).find(|length| (digits.len() as u64).saturating_pow(*length) >= count).unwrap_or(1);
            files.length = files.length.or(Some((least as usize).max(2)));
            let empty = if given.has('e') { EmptyParts::Skip } else { EmptyParts::Write };
            by_count(shell, &mut files, reader, count, unit, empty).await?;
        }
    }
    Ok(0)
}

/// The files that parts are written to.
struct Files {
    prefix: String,
    suffix: String,
    digits: &'static str,
    /// Digits in a name; none: two, and more as they are needed.
    length: Option<usize>,
    next: u64,
    verbose: bool,
}

impl Files {
    fn name(&mut self) -> Option<String> {
        let base = self.digits.len() as u64;
        let (mut number, mut length, mut lead) = (self.next, self.length.unwrap_or(2), String::new());
        if self.length.is_none() {
            // `…yz` is followed by `…zaaa`: names stay in order.
            let last = self.digits.chars().last()?;
            loop {
                let room = base.checked_pow(length as u32)? / base * (base - 1);
                if number < room {
                    break;
                }
                number -= room;
                length += 1;
                lead.push(last);
            }
        }
        self.next = self.next.checked_add(1)?;
        let mut name = Vec::new();
        for _ in 0..length {
            name.push(self.digits.as_bytes()[(number % base) as usize]);
            number /= base;
        }
        name.reverse();
        let digits = String::from_utf8(name).ok()?;
        (number == 0).then(|| format!("{}{lead}{digits}{}", self.prefix, self.suffix))
    }

    async fn open(&mut self, shell: &Shell) -> Result<Writer, Stop> {
        let Some(name) = self.name() else {
            return Err(shell.fails("split", "output file suffixes exhausted").await);
        };
        if self.verbose {
            shell.out("split", format!("creating file '{name}'\n").as_bytes()).await?;
        }
        match shell.writer_of(&name, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => Ok(writer),
            Err(why) => Err(shell.fails("split", &format!("{name}: {why}")).await),
        }
    }
}

async fn by_bytes(shell: &Shell, files: &mut Files, mut reader: Reader, most: u64) -> Result<(), Stop> {
    let mut part: Option<(Writer, u64)> = None;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let left = part.as_ref().map_or(most, |(_, left)| *left);
        let block = usize::try_from(left).unwrap_or(usize::MAX).min(PIPE_BYTES);
        if reader.read_into(&mut bytes, block, None).await == 0 {
            return Ok(());
        }
        let (writer, left) = match part.take() {
            Some(part) => part,
            None => (files.open(shell).await?, most),
        };
        shell.write(&writer, "split", &bytes).await?;
        let left = left - bytes.len() as u64;
        part = (left > 0).then_some((writer, left));
    }
}

async fn by_lines(
    shell: &Shell,
    files: &mut Files,
    reader: Reader,
    most_lines: u64,
    most_bytes: u64,
) -> Result<(), Stop> {
    let mut lines = Lines::new(shell, reader)?;
    let mut part: Option<(Writer, u64, u64)> = None;
    while lines.next(shell, "split").await? {
        let mut line = std::mem::take(&mut lines.line);
        line.extend(lines.whole.then_some(b'\n'));
        let length = line.len() as u64;
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let (writer, count, size) = match part.take() {
                Some(part) if part.1 < most_lines && part.2.saturating_add(length) <= most_bytes => part,
                _ => (files.open(shell).await?, 0, 0),
            };
            let fits = rest.len().min(usize::try_from(most_bytes).unwrap_or(usize::MAX));
            shell.write(&writer, "split", &rest[..fits]).await?;
            rest = &rest[fits..];
            part = Some((writer, count + 1, size + fits as u64));
        }
        lines.line = line;
    }
    Ok(())
}

async fn by_count(
    shell: &Shell,
    files: &mut Files,
    reader: Reader,
    count: u64,
    unit: Unit,
    empty: EmptyParts,
) -> Result<(), Stop> {
    let content = Content::read(shell, "split", reader).await?;
    let bytes = content.bytes.as_slice();
    let size = bytes.len() as u64 / count;
    let extra = bytes.len() as u64 % count;
    let mut from = 0_usize;
    for number in 1..=count {
        shell.step(1).await?;
        let mut to = (size * number + extra.min(number)) as usize;
        if unit == Unit::Lines && to > from {
            to += bytes[to - 1..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - to);
        }
        let to = to.clamp(from, bytes.len());
        if from == to && empty == EmptyParts::Skip {
            continue;
        }
        let writer = files.open(shell).await?;
        shell.write(&writer, "split", &bytes[from..to]).await?;
        from = to;
    }
    Ok(())
}
