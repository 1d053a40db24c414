//! Program `xxd`.

use super::input::{Lines, options};
use super::truncate::parse_size;
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop};
use crate::streams::{Reader, Writer};
use proofbox_vfs::FileUse;

/// Bytes that one line may show.
const MAX_COLUMNS: usize = 256;
/// Zero bytes of a gap that are written at once.
const GAP: [u8; 4096] = [0; 4096];

/// Output of `xxd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Offset, hexadecimal digits, text.
    Hexadecimal,
    /// Offset, hexadecimal digits of groups whose last byte comes first, text.
    LittleEndian,
    /// Offset, binary digits, text.
    Binary,
    /// Hexadecimal digits only.
    Plain,
    /// An array in C.
    Array,
}

pub(super) async fn xxd(shell: &mut Shell, arguments: &[String]) -> Done {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match word.as_str() {
            "-ps" | "-plain" | "-postscript" => "-p".to_owned(),
            "-revert" | "-rp" | "-pr" => if word == "-revert" { "-r" } else { "-rp" }.to_owned(),
            "-len" => "-l".to_owned(),
            "-cols" => "-c".to_owned(),
            "-bits" => "-b".to_owned(),
            "-include" => "-i".to_owned(),
            "-seek" => "-s".to_owned(),
            "-groupsize" => "-g".to_owned(),
            _ => word.clone(),
        })
        .collect();
    let given = options(shell, "xxd", &words, "pril:s:c:g:ubde", &[], 1).await?;
    let style = match given.last_of("pibe") {
        Some('p') => Style::Plain,
        Some('i') => Style::Array,
        Some('e') => Style::LittleEndian,
        Some(_) => Style::Binary,
        None => Style::Hexadecimal,
    };
    let number = |letter, default: u64| match given.value(letter).map(|text| text.strip_prefix("0x").ok_or(text)) {
        None => Some(default),
        Some(Ok(digits)) => u64::from_str_radix(digits, 16).ok(),
        Some(Err(text)) => parse_size(text),
    };
    let columns = match style {
        Style::Hexadecimal | Style::LittleEndian => 16,
        Style::Binary => 6,
        Style::Plain => 30,
        Style::Array => 12,
    };
    let group = match style {
        Style::Binary => 1,
        Style::LittleEndian => 4,
        Style::Hexadecimal | Style::Plain | Style::Array => 2,
    };
    let sizes = (number('c', columns), number('g', group), number('l', u64::MAX), number('s', 0));
    let (Some(columns), Some(group), Some(most), Some(skip)) = sizes else {
        return Err(shell.fails("xxd", "invalid number").await);
    };
    let columns = usize::try_from(columns).unwrap_or(usize::MAX);
    if columns > MAX_COLUMNS && style != Style::Plain {
        return Err(shell.fails("xxd", &format!("invalid number of columns (max. {MAX_COLUMNS}).")).await);
    }
    let name = given.operands.first().map_or("-", String::as_str);
    let reader = match name {
        "-" => Ok(shell.streams.stdin.clone()),
        path => shell.reader_of(path),
    };
    let reader = match reader {
        Ok(reader) => reader,
        Err(why) => {
            shell.error("xxd", &format!("{name}: {why}")).await;
            return Ok(2);
        }
    };
    let writer = match given.operands.get(1) {
        None => shell.streams.stdout.clone(),
        Some(path) => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => {
                shell.error("xxd", &format!("{path}: {why}")).await;
                return Ok(3);
            }
        },
    };
    if given.has('r') {
        revert(shell, reader, &writer, style).await?;
        return Ok(0);
    }
    let columns = match columns {
        0 if style == Style::Plain => usize::MAX,
        0 => 16,
        columns => columns,
    };
    let dump = Dump {
        style,
        columns,
        group: usize::try_from(group).unwrap_or(columns).clamp(0, MAX_COLUMNS),
        upper: given.has('u'),
        decimal: given.has('d'),
        name: name.to_owned(),
    };
    dump.run(shell, reader, &writer, skip, most).await?;
    Ok(0)
}

struct Dump {
    style: Style,
    /// Bytes in a line.
    columns: usize,
    /// Bytes without a blank between them; 0: all of a line.
    group: usize,
    upper: bool,
    decimal: bool,
    name: String,
}

impl Dump {
    async fn run(
        &self,
        shell: &Shell,
        mut reader: Reader,
        writer: &Writer,
        mut skip: u64,
        mut left: u64,
    ) -> Result<(), Stop> {
        let (mut offset, mut bytes, mut out, mut ended) = (skip, Vec::new(), Vec::new(), false);
        let identifier: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let named = self.style == Style::Array && self.name != "-";
        if named {
            out.extend(format!("unsigned char {identifier}[] = {{\n").bytes());
        }
        let start = offset;
        while !ended {
            let block = usize::try_from(skip.saturating_add(left)).unwrap_or(usize::MAX).min(PIPE_BYTES);
            let before = bytes.len();
            let read = if block == 0 { 0 } else { reader.read_into(&mut bytes, block, None).await };
            shell.step(1 + read as u64 / 4).await?;
            ended = read == 0;
            let dropped = usize::try_from(skip).unwrap_or(usize::MAX).min(read);
            bytes.drain(before..before + dropped);
            skip -= dropped as u64;
            left -= (read - dropped) as u64;
            let whole = match (ended, self.columns) {
                (true, _) => bytes.len(),
                // A line without end is written as it comes.
                (false, usize::MAX) => bytes.len(),
                (false, columns) => bytes.len() / columns * columns,
            };
            for line in bytes[..whole].chunks(self.columns) {
                let separator: &[u8] = if offset == start { b"  " } else { b",\n  " };
                self.line(offset, line, separator, &mut out);
                offset += line.len() as u64;
            }
            bytes.drain(..whole);
            shell.write(writer, "xxd", &out).await?;
            out.clear();
        }
        let end = match self.style {
            Style::Array => {
                let close = if offset > start { "\n" } else { "" };
                let close = if named { format!("{close}}};\n") } else { close.to_owned() };
                let length = if named {
                    format!("unsigned int {identifier}_len = {};\n", offset - start)
                } else {
                    String::new()
                };
                format!("{close}{length}")
            }
            Style::Plain if self.columns == usize::MAX && offset > start => "\n".to_owned(),
            Style::Plain | Style::Hexadecimal | Style::LittleEndian | Style::Binary => String::new(),
        };
        shell.write(writer, "xxd", end.as_bytes()).await
    }

    /// Adds a line. `separator`: what stands before it in an array.
    fn line(&self, offset: u64, line: &[u8], separator: &[u8], out: &mut Vec<u8>) {
        let digits = |byte: u8| match (self.style, self.upper) {
            (Style::Binary, _) => format!("{byte:08b}"),
            (_, true) => format!("{byte:02X}"),
            (_, false) => format!("{byte:02x}"),
        };
        match self.style {
            Style::Plain => {
                out.extend(line.iter().flat_map(|byte| digits(*byte).into_bytes()));
                out.extend((self.columns != usize::MAX).then_some(b'\n'));
            }
            Style::Array => {
                out.extend(separator);
                let values: Vec<String> = line.iter().map(|byte| format!("0x{}", digits(*byte))).collect();
                out.extend(values.join(", ").bytes());
            }
            Style::Hexadecimal | Style::LittleEndian | Style::Binary => {
                let address = if self.decimal { format!("{offset:08}") } else { format!("{offset:08x}") };
                out.extend(format!("{address}:").bytes());
                let unit = if self.style == Style::Binary { 8 } else { 2 };
                let group = if self.group == 0 { self.columns } else { self.group };
                let mut shown = 0;
                let is_little = self.style == Style::LittleEndian;
                for bytes in line.chunks(group) {
                    let mut text: Vec<String> = bytes.iter().map(|byte| digits(*byte)).collect();
                    let mut missing = 0;
                    if is_little {
                        text.reverse();
                        missing = unit * (group - bytes.len());
                    }
                    let text = format!(" {:missing$}{}", "", text.concat());
                    shown += text.len();
                    out.extend(text.bytes());
                }
                let whole = self.columns * unit + self.columns.div_ceil(group);
                out.resize(out.len() + whole.saturating_sub(shown) + 2, b' ');
                out.extend(line.iter().map(|byte| if (32..127).contains(byte) { *byte } else { b'.' }));
                out.push(b'\n');
            }
        }
    }
}

/// Writes the bytes that a dump shows.
async fn revert(shell: &Shell, reader: Reader, writer: &Writer, style: Style) -> Result<(), Stop> {
    let mut lines = Lines::new(shell, reader)?;
    let mut written = 0_u64;
    let (radix, count) = if style == Style::Binary { (2, 8) } else { (16, 2) };
    while lines.next(shell, "xxd").await? {
        shell.step(lines.line.len() as u64 / 256).await?;
        let line = lines.line.as_slice();
        let digits = match (style, line.iter().position(|byte| *byte == b':')) {
            (Style::Plain, _) => line,
            (_, Some(colon)) => {
                let address = std::str::from_utf8(&line[..colon]).unwrap_or_default().trim();
                let at = u64::from_str_radix(address, 16).unwrap_or(written);
                // Gaps are filled with zero bytes.
                while written < at {
                    let gap = usize::try_from(at - written).unwrap_or(usize::MAX).min(GAP.len());
                    shell.write(writer, "xxd", &GAP[..gap]).await?;
                    written += gap as u64;
                }
                // Two blanks end the digits.
                let rest = &line[colon + 1..];
                let rest = rest.strip_prefix(b" ").unwrap_or(rest);
                let end = rest.windows(2).position(|pair| pair == b"  ");
                &rest[..end.unwrap_or(rest.len())]
            }
            (_, None) => continue,
        };
        let mut out = Vec::new();
        let (mut value, mut missing) = (0_u32, count);
        for digit in digits.iter().filter_map(|byte| char::from(*byte).to_digit(radix)) {
            value = value * radix + digit;
            missing -= 1;
            if missing == 0 {
                out.push(value as u8);
                (value, missing) = (0, count);
            }
            if out.len() == GAP.len() {
                written += out.len() as u64;
                shell.write(writer, "xxd", &out).await?;
                out.clear();
            }
        }
        written += out.len() as u64;
        shell.write(writer, "xxd", &out).await?;
    }
    Ok(())
}
