//! Program `od`.

use super::input::{open, options, or_input};
use super::truncate::parse_size;
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;

/// A way to show bytes: in groups of so many.
#[derive(Debug, Clone, Copy)]
struct Format {
    kind: Kind,
    size: usize,
    /// True when characters are shown beside it.
    shows_text: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Octal,
    Hexadecimal,
    Signed,
    Unsigned,
    Float,
    Character,
    Name,
}

impl Format {
    /// Columns of one group, without the blank before it.
    fn width(self) -> usize {
        match (self.kind, self.size) {
            (Kind::Character | Kind::Name, _) => 3,
            (Kind::Octal, size) => [0, 3, 6, 0, 11, 0, 0, 0, 22][size],
            (Kind::Hexadecimal, size) => 2 * size,
            (Kind::Signed, size) => [0, 4, 6, 0, 11, 0, 0, 0, 20][size],
            (Kind::Unsigned, size) => [0, 3, 5, 0, 10, 0, 0, 0, 20][size],
            (Kind::Float, 4) => 15,
            (Kind::Float, _) => 24,
        }
    }

    fn shown(self, bytes: &[u8]) -> String {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        let value = u64::from_le_bytes(padded);
        match self.kind {
            Kind::Octal => format!("{value:0width$o}", width = self.width()),
            Kind::Hexadecimal => format!("{value:0width$x}", width = self.width()),
            Kind::Unsigned => value.to_string(),
            Kind::Signed => {
                let unused = 64 - 8 * self.size as u32;
                (((value << unused) as i64) >> unused).to_string()
            }
            Kind::Float if self.size == 4 => {
                crate::builtins::printf::general(f64::from(f32::from_bits(value as u32)), 8)
            }
            Kind::Float => crate::builtins::printf::general(f64::from_bits(value), 17),
            Kind::Character => match bytes[0] {
                0 => "\\0".to_owned(),
                7 => "\\a".to_owned(),
                8 => "\\b".to_owned(),
                9 => "\\t".to_owned(),
                10 => "\\n".to_owned(),
                11 => "\\v".to_owned(),
                12 => "\\f".to_owned(),
                13 => "\\r".to_owned(),
                byte @ 32..127 => char::from(byte).to_string(),
                byte => format!("{byte:03o}"),
            },
            Kind::Name => {
                const NAMES: [&str; 33] = [
                    "nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so",
                    "si", "dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs",
                    "gs", "rs", "us", "sp",
                ];
                match bytes[0] & 127 {
                    127 => "del".to_owned(),
                    byte => {
                        NAMES.get(usize::from(byte)).map_or_else(|| char::from(byte).to_string(), |&name| name.into())
                    }
                }
            }
        }
    }
}

/// The formats of `-t`; none if it is malformed.
fn formats(text: &str) -> Option<Vec<Format>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let kind = match letter {
            'o' => Kind::Octal,
            'x' => Kind::Hexadecimal,
            'd' => Kind::Signed,
            'u' => Kind::Unsigned,
            'f' => Kind::Float,
            'c' => Kind::Character,
            'a' => Kind::Name,
            _ => return None,
        };
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let size = match (kind, &rest[..end], rest.chars().next()) {
            (Kind::Character | Kind::Name, ..) => 1,
            (Kind::Float, "", Some('F')) => 4,
            (Kind::Float, "" | "8", _) => 8,
            (Kind::Float, "4", _) => 4,
            (_, "", Some('C')) => 1,
            (_, "", Some('S')) => 2,
            (_, "", Some('L')) => 8,
            (_, "", _) => 4,
            (_, digits, _) => digits.parse().ok().filter(|size| matches!(size, 1 | 2 | 4 | 8))?,
        };
        rest = match (end, rest.chars().next()) {
            (0, Some('C' | 'S' | 'I' | 'L' | 'F' | 'D')) => &rest[1..],
            _ => &rest[end..],
        };
        let shows_text = rest.starts_with('z');
        rest = rest.strip_prefix('z').unwrap_or(rest);
        found.push(Format { kind, size, shows_text });
    }
    (!found.is_empty()).then_some(found)
}

pub(super) async fn od(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("address-radix", 'A'),
        ("skip-bytes", 'j'),
        ("read-bytes", 'N'),
        ("format", 't'),
        ("output-duplicates", 'v'),
        ("width", 'w'),
    ];
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match word.strip_prefix("-w").filter(|width| !width.is_empty()) {
            Some(width) => format!("--width={width}"),
            None => word.clone(),
        })
        .collect();
    let given = options(shell, "od", &words, "A:j:N:t:vwabcdfhilosx", &long, 1).await?;
    let mut shapes = Vec::new();
    for (letter, value) in &given.options {
        let text = match letter {
            't' => value.as_str(),
            'a' => "a",
            'b' => "o1",
            'c' => "c",
            'd' => "u2",
            'f' => "fF",
            'h' | 'x' => "x2",
            'i' => "dI",
            'l' => "dL",
            'o' => "o2",
            's' => "d2",
            _ => continue,
        };
        match formats(text) {
            Some(found) => shapes.extend(found),
            None => return Err(shell.fails("od", &format!("invalid type string '{text}'")).await),
        }
    }
    if shapes.is_empty() {
        shapes.push(Format { kind: Kind::Octal, size: 2, shows_text: false });
    }
    let largest = shapes.iter().map(|format| format.size).max().unwrap_or(1);
    let width = match given.value('w') {
        None => Some(16),
        Some("") => Some(32),
        Some(text) => text.parse().ok().filter(|width| *width > 0 && *width <= PIPE_BYTES && width % largest == 0),
    };
    let Some(width) = width else {
        return Err(shell.fails("od", &format!("invalid -w argument '{}'", given.value('w').unwrap_or(""))).await);
    };
    let sizes = ['j', 'N'].map(|letter| given.value(letter).map(|text| (text, parse_number(text))));
    if let Some((text, _)) = sizes.into_iter().flatten().find(|(_, size)| size.is_none()) {
        return Err(shell.fails("od", &format!("invalid argument '{text}'")).await);
    }
    let [skip, most] = sizes.map(|size| size.and_then(|(_, size)| size));
    let radix = given.value('A').unwrap_or("o");
    if !matches!(radix, "d" | "o" | "x" | "n") {
        let what = format!("invalid output address radix '{radix}'; it must be one character from [doxn]");
        return Err(shell.fails("od", &what).await);
    }
    let (mut readers, mut status) = (Vec::new(), 0);
    for path in or_input(given.operands.clone()).iter().rev() {
        match open(shell, "od", path).await {
            Some(reader) => readers.push(reader),
            None => status = 1,
        }
    }
    let mut dump = Dump { shapes, width, radix: radix.to_owned(), all: given.has('v'), skips: false, last: None };
    dump.run(shell, readers, skip.unwrap_or(0), most.unwrap_or(u64::MAX)).await?;
    Ok(status)
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => parse_size(text),
    }
}

struct Dump {
    shapes: Vec<Format>,
    width: usize,
    radix: String,
    /// True when lines that repeat the one before are shown.
    all: bool,
    skips: bool,
    last: Option<Vec<u8>>,
}

impl Dump {
    async fn run(&mut self, shell: &Shell, mut readers: Vec<Reader>, skip: u64, most: u64) -> Result<(), Stop> {
        let (mut offset, mut left, mut skip) = (skip, most, skip);
        let mut bytes = Vec::new();
        let mut out = Vec::new();
        let had_input = !readers.is_empty();
        while let Some(reader) = readers.last_mut() {
            let block = PIPE_BYTES.min(usize::try_from(skip.saturating_add(left)).unwrap_or(usize::MAX));
            let before = bytes.len();
            let read = if block == 0 { 0 } else { reader.read_into(&mut bytes, block, None).await };
            shell.step(1 + read as u64 / 8).await?;
            if read == 0 {
                readers.pop();
                continue;
            }
            let dropped = usize::try_from(skip).unwrap_or(usize::MAX).min(read);
            bytes.drain(before..before + dropped);
            skip -= dropped as u64;
            left -= (read - dropped) as u64;
            let whole = bytes.len() / self.width * self.width;
            for line in bytes[..whole].chunks(self.width) {
                self.line(offset, line, &mut out);
                offset += line.len() as u64;
            }
            bytes.drain(..whole);
            shell.out("od", &out).await?;
            out.clear();
        }
        if skip > 0 {
            return Err(shell.fails("od", "cannot skip past end of combined input").await);
        }
        if !bytes.is_empty() {
            let rest = std::mem::take(&mut bytes);
            self.last = None;
            self.line(offset, &rest, &mut out);
            offset += rest.len() as u64;
        }
        if self.radix != "n" && had_input {
            out.extend(format!("{}\n", self.address(offset)).bytes());
        }
        shell.out("od", &out).await
    }

    fn address(&self, offset: u64) -> String {
        match self.radix.as_str() {
            "d" => format!("{offset:07}"),
            "x" => format!("{offset:06x}"),
            "n" => String::new(),
            _ => format!("{offset:07o}"),
        }
    }

    fn line(&mut self, offset: u64, line: &[u8], out: &mut Vec<u8>) {
        if !self.all && self.last.as_deref() == Some(line) {
            if !std::mem::replace(&mut self.skips, true) {
                out.extend(b"*\n");
            }
            return;
        }
        self.skips = false;
        self.last = Some(line.to_vec());
        // Columns of different formats stand below each other.
        let largest = self.shapes.iter().map(|format| format.size).max().unwrap_or(1);
        let block = self.shapes.iter().map(|format| (format.width() + 1) * (largest / format.size)).max().unwrap_or(1);
        for (at, format) in self.shapes.iter().enumerate() {
            let address = self.address(offset);
            match at {
                0 => out.extend(address.bytes()),
                _ => out.resize(out.len() + address.len(), b' '),
            }
            let width = block * format.size / largest;
            for group in line.chunks(format.size) {
                out.extend(format!("{:>width$}", format.shown(group)).bytes());
            }
            if format.shows_text {
                let missing = (self.width - line.len()).div_ceil(format.size) * width;
                out.resize(out.len() + missing, b' ');
                out.extend(b"  >");
                out.extend(line.iter().map(|byte| if (32..127).contains(byte) { *byte } else { b'.' }));
                out.push(b'<');
            }
            out.push(b'\n');
        }
    }
}
