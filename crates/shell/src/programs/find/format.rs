//! The format of `find -printf`.

use super::{Found, name_of};
use crate::escapes::{Kind, unescape};
use crate::programs::date::zoned;
use crate::programs::metadata::{blocks, mode};
use proofbox_vfs::FileKind;

/// Renders a format for an entry.
pub(super) fn render(format: &str, found: &Found) -> Vec<u8> {
    let (format, _) = unescape(format, Kind::Format);
    let format = String::from_utf8_lossy(&format).into_owned();
    let mut out = String::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut flags = String::new();
        while let Some(flag) = letters.next_if(|flag| matches!(flag, '-' | '0'..='9' | '.' | '+' | ' ' | '#')) {
            flags.push(flag);
        }
        let Some(letter) = letters.next() else {
            out.push('%');
            break;
        };
        let time_letter = if matches!(letter, 'A' | 'C' | 'T') { letters.next() } else { None };
        match field(letter, time_letter, found) {
            Some(text) => pad(&mut out, &flags, &text),
            None => out.extend(['%', letter]),
        }
    }
    out.into_bytes()
}

fn field(letter: char, time_letter: Option<char>, found: &Found) -> Option<String> {
    let Found { path, start, entry, depth } = found;
    Some(match letter {
        '%' => "%".to_owned(),
        'p' => path.clone(),
        'P' => path.strip_prefix(start.as_str()).unwrap_or(path).trim_start_matches('/').to_owned(),
        'f' => name_of(path).to_owned(),
        'h' => path.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above).to_owned(),
        'H' => start.clone(),
        'd' => depth.to_string(),
        's' => entry.size.to_string(),
        'b' => (blocks(entry) * 2).to_string(),
        'k' => blocks(entry).to_string(),
        'i' => entry.inode.to_string(),
        'n' => entry.links.to_string(),
        'l' => entry.link_target.clone().unwrap_or_default(),
        'm' => format!("{:o}", entry.mode),
        'M' => mode(entry),
        'u' | 'g' => "user".to_owned(),
        'U' | 'G' => "1000".to_owned(),
        'y' | 'Y' => match entry.kind {
            FileKind::File => "f",
            FileKind::Directory => "d",
            FileKind::Link => "l",
            FileKind::Device => "c",
            FileKind::NamedPipe => "p",
        }
        .to_owned(),
        'a' | 'A' => time(entry.accessed, time_letter),
        'c' | 'C' => time(entry.changed, time_letter),
        't' | 'T' => time(entry.modified, time_letter),
        _ => return None,
    })
}

fn time(time: u64, letter: Option<char>) -> String {
    let format = match letter {
        Some('@') => return format!("{}.{:09}0", time / 1_000_000_000, time % 1_000_000_000),
        None => "%a %b %e %H:%M:%S.%9f0 %Y".to_owned(),
        Some('+') => "%Y-%m-%d+%H:%M:%S.%9f0".to_owned(),
        Some('S') => "%S.%9f0".to_owned(),
        Some('T') => "%H:%M:%S.%9f0".to_owned(),
        Some(letter) => format!("%{letter}"),
    };
    jiff::fmt::strtime::format(&format, &zoned(time)).unwrap_or_default()
}

fn pad(out: &mut String, flags: &str, text: &str) {
    let width = flags.trim_start_matches(['-', '+', ' ', '#', '0']).split('.').next().unwrap_or_default();
    // Wider than any terminal is nobody's wish.
    let width = width.parse::<usize>().unwrap_or(0).min(1000);
    match flags.starts_with('-') {
        true => out.push_str(&format!("{text:<width$}")),
        false => out.push_str(&format!("{text:>width$}")),
    }
}
