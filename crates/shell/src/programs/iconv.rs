//! Program `iconv`, between UTF-8, UTF-16, UTF-32, Latin 1, Windows-1252 and ASCII.

use super::input::{Content, open, options, or_input, usage};
use crate::execute::WriteAt;
use crate::state::{Done, Shell};
use proofbox_vfs::FileUse;

/// Encodings of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Ascii,
    Utf8,
    Utf16(Order),
    Utf32(Order),
    Latin1,
    Windows1252,
}

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As a mark at the start says; written with a mark, the smallest byte first.
    Marked,
    Little,
    Big,
}

impl Encoding {
    fn parse(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_ascii_uppercase();
        Some(match name.as_str() {
            "ASCII" | "USASCII" | "ANSIX3.41968" => Self::Ascii,
            "UTF8" => Self::Utf8,
            "UTF16" => Self::Utf16(Order::Marked),
            "UTF16LE" => Self::Utf16(Order::Little),
            "UTF16BE" => Self::Utf16(Order::Big),
            "UTF32" => Self::Utf32(Order::Marked),
            "UTF32LE" => Self::Utf32(Order::Little),
            "UTF32BE" => Self::Utf32(Order::Big),
            "ISO88591" | "LATIN1" | "L1" => Self::Latin1,
            "CP1252" | "WINDOWS1252" => Self::Windows1252,
            _ => return None,
        })
    }

    /// The characters of a text; where it is malformed, the place of that.
    fn decode(self, bytes: &[u8], out: &mut String) -> Result<(), usize> {
        match self {
            Self::Ascii => {
                let end = bytes.iter().position(|byte| !byte.is_ascii());
                out.extend(bytes[..end.unwrap_or(bytes.len())].iter().map(|byte| char::from(*byte)));
                end.map_or(Ok(()), Err)
            }
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    out.push_str(text);
                    Ok(())
                }
                Err(error) => {
                    out.push_str(&String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
                    Err(error.valid_up_to())
                }
            },
            Self::Latin1 => {
                out.extend(bytes.iter().map(|byte| char::from(*byte)));
                Ok(())
            }
            Self::Windows1252 => {
                let turned = |byte: &u8| match byte {
                    128..160 => WINDOWS_1252[usize::from(byte - 128)],
                    byte => char::from(*byte),
                };
                out.extend(bytes.iter().map(turned));
                Ok(())
            }
            Self::Utf16(order) => {
                let (order, start) = marked(order, bytes, &[0xff, 0xfe], &[0xfe, 0xff]);
                let units = bytes[start..].chunks(2).map(|pair| match (pair, order) {
                    ([a, b], Order::Big) => u16::from_be_bytes([*a, *b]),
                    ([a, b], _) => u16::from_le_bytes([*a, *b]),
                    // A half unit is malformed, as this half of a pair is.
                    _ => 0xd800,
                });
                let mut at = start;
                for found in char::decode_utf16(units) {
                    let Ok(c) = found else { return Err(at) };
                    out.push(c);
                    at += 2 * c.len_utf16();
                }
                Ok(())
            }
            Self::Utf32(order) => {
                let (order, start) = marked(order, bytes, &[0xff, 0xfe, 0, 0], &[0, 0, 0xfe, 0xff]);
                for (at, unit) in bytes[start..].chunks(4).enumerate() {
                    let value = match (unit, order) {
                        ([a, b, c, d], Order::Big) => u32::from_be_bytes([*a, *b, *c, *d]),
                        ([a, b, c, d], _) => u32::from_le_bytes([*a, *b, *c, *d]),
                        _ => u32::MAX,
                    };
                    out.push(char::from_u32(value).ok_or(start + 4 * at)?);
                }
                Ok(())
            }
        }
    }

    /// Appends a character. False: there is none such.
    fn encode(self, c: char, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Utf8 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Ascii | Self::Latin1 | Self::Windows1252 => {
                let most = if self == Self::Ascii { 127 } else { 255 };
                let special = WINDOWS_1252.iter().position(|known| *known == c).filter(|_| self == Self::Windows1252);
                match (special, u32::from(c)) {
                    (Some(at), _) => out.push(128 + at as u8),
                    (None, value @ 128..160) if self == Self::Windows1252 => {
                        let _ = value;
                        return false;
                    }
                    (None, value) if value <= most => out.push(value as u8),
                    (None, _) => return false,
                }
            }
            Self::Utf16(order) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if order == Order::Big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Self::Utf32(order) => {
                let value = u32::from(c);
                out.extend(if order == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() });
            }
        }
        true
    }

    /// The mark at the start of a text.
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf16(Order::Marked) => &[0xff, 0xfe],
            Self::Utf32(Order::Marked) => &[0xff, 0xfe, 0, 0],
            _ => &[],
        }
    }
}

/// Characters of the bytes from 128 to 159 in Windows' Latin; bytes without one are themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn marked(order: Order, bytes: &[u8], little: &[u8], big: &[u8]) -> (Order, usize) {
    match order {
        Order::Marked if bytes.starts_with(little) => (Order::Little, little.len()),
        Order::Marked if bytes.starts_with(big) => (Order::Big, big.len()),
        Order::Marked => (Order::Little, 0),
        order => (order, 0),
    }
}

pub(super) async fn iconv(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("from-code", 'f'), ("to-code", 't'), ("output", 'o'), ("list", 'l'), ("silent", 's')];
    let given = options(shell, "iconv", arguments, "f:t:o:lcs", &long, 1).await?;
    if given.has('l') {
        let names = "ASCII//\nUTF-8//\nUTF-16//\nUTF-16LE//\nUTF-16BE//\nUTF-32//\nUTF-32LE//\nUTF-32BE//\nISO-8859-1//\nCP1252//\n";
        shell.out("iconv", names.as_bytes()).await?;
        return Ok(0);
    }
    let names = ['f', 't'].map(|letter| given.value(letter).unwrap_or("UTF-8"));
    let [from, to] = names.map(|name| Encoding::parse(name.split("//").next().unwrap_or_default()));
    let (Some(from), Some(to)) = (from, to) else {
        let what = match (from, to) {
            (None, None) => format!("conversions from `{}' and to `{}' are not supported", names[0], names[1]),
            (None, _) => format!("conversion from `{}' is not supported", names[0]),
            _ => format!("conversion to `{}' is not supported", names[1]),
        };
        return Err(usage(shell, "iconv", &what, 1).await);
    };
    let (skips, replaces) = (given.has('c') || names[1].ends_with("//IGNORE"), names[1].ends_with("//TRANSLIT"));
    let writer = match given.value('o') {
        None => shell.streams.stdout.clone(),
        Some(path) => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => return Err(shell.fails("iconv", &format!("unable to open output file: {why}")).await),
        },
    };
    shell.write(&writer, "iconv", to.mark()).await?;
    for path in or_input(given.operands.clone()) {
        let Some(reader) = open(shell, "iconv", &path).await else { return Ok(1) };
        let mut content = Content::read(shell, "iconv", reader).await?;
        let length = content.bytes.len();
        content.hold(shell, "iconv", length.saturating_mul(3)).await?;
        let (mut at, mut left) = (0, String::new());
        let mut wrong = None;
        while at < length {
            // Some of the text at a time; a character is not cut.
            let mut end = (at + 4096).min(length);
            while end < length && end > at + 4090 && matches!(from, Encoding::Utf8) && content.bytes[end] & 0xc0 == 0x80
            {
                end -= 1;
            }
            if matches!(from, Encoding::Utf16(_)) && end < length && high_surrogate(&content.bytes[..end], from) {
                end -= 2;
            }
            let order = match (from, at) {
                // What the mark says holds for the rest.
                (Encoding::Utf16(order), 1..) => {
                    Encoding::Utf16(marked(order, &content.bytes, &[0xff, 0xfe], &[0xfe, 0xff]).0)
                }
                (Encoding::Utf32(order), 1..) => {
                    Encoding::Utf32(marked(order, &content.bytes, &[0xff, 0xfe, 0, 0], &[0, 0, 0xfe, 0xff]).0)
                }
                (from, _) => from,
            };
            left.clear();
            let decoded = order.decode(&content.bytes[at..end], &mut left);
            let mut out = Vec::with_capacity(left.len());
            for c in left.chars() {
                if !to.encode(c, &mut out) {
                    match (replaces, skips) {
                        (true, _) => out.push(b'?'),
                        (false, true) => {}
                        (false, false) => {
                            wrong = Some(at);
                            break;
                        }
                    }
                }
            }
            shell.write(&writer, "iconv", &out).await?;
            shell.step(20).await?;
            at = match decoded {
                Err(place) if skips => at + place + 1,
                Err(place) => {
                    wrong = wrong.or(Some(at + place));
                    length
                }
                Ok(()) => end,
            };
            if wrong.is_some() {
                break;
            }
        }
        if wrong.is_some() {
            return Err(shell.fails("iconv", "illegal input sequence").await);
        }
    }
    Ok(0)
}

/// Returns whether a text in UTF-16 ends between the halves of a character.
fn high_surrogate(bytes: &[u8], from: Encoding) -> bool {
    let [.., a, b] = bytes else { return false };
    let byte = match from {
        Encoding::Utf16(Order::Big) => a,
        _ => b,
    };
    (0xd8..0xdc).contains(byte)
}
