//! Program `file`: kinds of content by their first bytes.

use super::input::{options, usage};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

/// Bytes that are looked at.
const MAX_LOOKED_AT: u64 = 64 << 10;

/// Beginnings of known formats: offset, bytes, description, media type.
const KNOWN: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "PNG image data", "image/png"),
    (0, b"\xff\xd8\xff", "JPEG image data", "image/jpeg"),
    (0, b"GIF87a", "GIF image data, version 87a", "image/gif"),
    (0, b"GIF89a", "GIF image data, version 89a", "image/gif"),
    (0, b"BM", "PC bitmap", "image/bmp"),
    (8, b"WEBP", "RIFF (little-endian) data, Web/P image", "image/webp"),
    (0, b"%PDF-", "PDF document", "application/pdf"),
    (0, b"PK\x03\x04", "Zip archive data", "application/zip"),
    (0, b"PK\x05\x06", "Zip archive data (empty)", "application/zip"),
    (0, b"\x1f\x8b", "gzip compressed data", "application/gzip"),
    (0, b"BZh", "bzip2 compressed data", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "XZ compressed data", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard compressed data", "application/zstd"),
    (257, b"ustar\0", "POSIX tar archive", "application/x-tar"),
    (257, b"ustar  \0", "POSIX tar archive (GNU)", "application/x-tar"),
    (0, b"\x7fELF", "ELF", "application/x-executable"),
    (0, b"\0asm", "WebAssembly (wasm) binary module", "application/wasm"),
    (0, b"SQLite format 3\0", "SQLite 3.x database", "application/vnd.sqlite3"),
    (0, b"\x93NUMPY", "NumPy data file", "application/octet-stream"),
    (0, b"-----BEGIN CERTIFICATE-----", "PEM certificate", "text/plain"),
    (0, b"OggS", "Ogg data", "audio/ogg"),
    (0, b"ID3", "Audio file with ID3", "audio/mpeg"),
    (8, b"WAVE", "RIFF (little-endian) data, WAVE audio", "audio/x-wav"),
];

pub(super) async fn file(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("brief", 'b'), ("mime-type", '1'), ("mime", 'i'), ("dereference", 'L')];
    let given = options(shell, "file", arguments, "biLhkz", &long, 1).await?;
    if given.operands.is_empty() {
        return Err(usage(shell, "file", "missing file operand", 1).await);
    }
    let widest = given.operands.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for name in &given.operands {
        shell.step(20).await?;
        let found = if given.has('L') { shell.stat(name) } else { shell.lstat(name) };
        let (text, mime) = match found {
            Err(error) => {
                let text = format!("cannot open `{name}' ({})", reason(&error));
                (text.clone(), text)
            }
            Ok(entry) => describe(shell, name, &entry),
        };
        let shown = if given.has('1') {
            mime.split(';').next().unwrap_or_default().to_owned()
        } else if given.has('i') {
            mime
        } else {
            text
        };
        let line = match given.has('b') {
            true => format!("{shown}\n"),
            false => format!("{name}: {:>pad$}{shown}\n", "", pad = widest - name.chars().count()),
        };
        shell.out("file", line.as_bytes()).await?;
    }
    Ok(0)
}

/// The description of an entry, and its media type.
fn describe(shell: &Shell, name: &str, entry: &FileEntry) -> (String, String) {
    let inode = |text: &str, kind: &str| (text.to_owned(), format!("inode/{kind}; charset=binary"));
    match entry.kind {
        FileKind::Directory => inode("directory", "directory"),
        FileKind::NamedPipe => inode("fifo (named pipe)", "fifo"),
        FileKind::Device => inode("character special (1/3)", "chardevice"),
        FileKind::Link => {
            let target = entry.link_target.as_deref().unwrap_or_default();
            match shell.stat(name) {
                Ok(_) => inode(&format!("symbolic link to {target}"), "symlink"),
                Err(_) => inode(&format!("broken symbolic link to {target}"), "symlink"),
            }
        }
        FileKind::File if entry.size == 0 => inode("empty", "x-empty"),
        FileKind::File => match lock(&shell.tree).read_range(&shell.path(name), 0, MAX_LOOKED_AT) {
            Ok(bytes) => content(&bytes),
            Err(error) => (format!("cannot open ({})", reason(&error)), String::new()),
        },
    }
}

/// Properties that the header of a known format states.
fn detail(bytes: &[u8], mime: &str) -> String {
    let number = |at: usize| {
        bytes.get(at..at + 4).map(|four| four.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)))
    };
    match mime {
        "image/png" => {
            let (Some(width), Some(height), Some([depth, color, _, _, interlace])) =
                (number(16), number(20), bytes.get(24..29))
            else {
                return String::new();
            };
            let color = match color {
                0 => " grayscale",
                2 => "/color RGB",
                3 => " colormap",
                4 => " gray+alpha",
                _ => "/color RGBA",
            };
            let interlace = if *interlace == 0 { "non-interlaced" } else { "interlaced" };
            format!(", {width} x {height}, {depth}-bit{color}, {interlace}")
        }
        "image/gif" => match bytes.get(6..10) {
            Some([a, b, c, d]) => {
                format!(", {} x {}", u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]))
            }
            _ => String::new(),
        },
        "application/pdf" => {
            let version: String =
                bytes.iter().skip(5).take(3).map(|byte| char::from(*byte)).filter(char::is_ascii_graphic).collect();
            format!(", version {version}")
        }
        _ => String::new(),
    }
}

fn content(bytes: &[u8]) -> (String, String) {
    for (offset, magic, text, mime) in KNOWN {
        if bytes.get(*offset..).is_some_and(|rest| rest.starts_with(magic)) {
            return (format!("{text}{}", detail(bytes, mime)), format!("{mime}; charset=binary"));
        }
    }
    let utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The last character may be cut.
        Err(error) => error.error_len().is_none() && bytes.len() as u64 == MAX_LOOKED_AT,
    };
    let control = |byte: &u8| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127);
    if bytes.iter().any(control) {
        return ("data".to_owned(), "application/octet-stream; charset=binary".to_owned());
    }
    let (encoding, charset) = match (bytes.is_ascii(), utf8, bytes.starts_with(b"\xef\xbb\xbf")) {
        (true, ..) => ("ASCII", "us-ascii"),
        (false, true, true) => ("Unicode text, UTF-8 (with BOM)", "utf-8"),
        (false, true, false) => ("Unicode text, UTF-8", "utf-8"),
        (false, false, _) if bytes.iter().all(|byte| !(128..160).contains(byte)) => ("ISO-8859", "iso-8859-1"),
        (false, false, _) => ("Non-ISO extended-ASCII", "unknown-8bit"),
    };
    let text = String::from_utf8_lossy(bytes);
    let first = text.lines().next().unwrap_or_default();
    let start = text.trim_start();
    let kind = match () {
        () if first.starts_with("#!") && first.contains("python") => Some(("Python script", "text/x-script.python")),
        () if first.starts_with("#!") && first.contains("bash") => {
            Some(("Bourne-Again shell script", "text/x-shellscript"))
        }
        () if first.starts_with("#!") && first.contains("sh") => Some(("POSIX shell script", "text/x-shellscript")),
        () if start.starts_with("<?xml") => Some(("XML 1.0 document", "text/xml")),
        () if start.to_ascii_lowercase().starts_with("<!doctype html") || start.starts_with("<html") => {
            Some(("HTML document", "text/html"))
        }
        () if start.starts_with(['{', '[']) && is_json(start) => Some(("JSON text data", "application/json")),
        () => None,
    };
    let returns = match (bytes.contains(&b'\n'), bytes.windows(2).any(|pair| pair == b"\r\n")) {
        (true, true) => ", with CRLF line terminators",
        (false, _) if !matches!(kind, Some((_, "application/json"))) => ", with no line terminators",
        _ => "",
    };
    match kind {
        Some((name, mime @ "application/json")) => (name.to_owned(), format!("{mime}; charset={charset}")),
        Some((name, mime)) => {
            let executable = if first.starts_with("#!") { " executable" } else { "" };
            (format!("{name}, {encoding} text{executable}{returns}"), format!("{mime}; charset={charset}"))
        }
        None => (format!("{encoding} text{returns}"), format!("text/plain; charset={charset}")),
    }
}

/// Returns whether a text has the tokens of JSON in an order that JSON allows at its beginning.
fn is_json(text: &str) -> bool {
    let rest = text[1..].trim_start();
    match text.starts_with('{') {
        true => {
            rest.starts_with('}') || (rest.starts_with('"') && rest.contains(':') && text.trim_end().ends_with('}'))
        }
        false => {
            let value = |c: char| c.is_ascii_digit() || matches!(c, '"' | '{' | '[' | ']' | '-' | 't' | 'f' | 'n');
            rest.starts_with(value) && text.trim_end().ends_with(']')
        }
    }
}
