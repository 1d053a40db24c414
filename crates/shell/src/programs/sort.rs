//! Program `sort`.

use super::input::{AllLines, or_input, usage};
use super::options::{Order, read};
use crate::execute::WriteAt;
use crate::state::{Done, Shell};
use proofbox_vfs::FileUse;
use std::cmp::Ordering;

/// Comparison of keys.
#[derive(Debug, Clone, Copy, Default)]
struct How {
    numeric: bool,
    human: bool,
    version: bool,
    month: bool,
    fold: bool,
    blanks: bool,
    dictionary: bool,
    reverse: bool,
}

impl How {
    fn add(&mut self, letter: char) -> bool {
        match letter {
            'n' | 'g' => self.numeric = true,
            'h' => self.human = true,
            'V' => self.version = true,
            'M' => self.month = true,
            'f' => self.fold = true,
            'b' => self.blanks = true,
            'd' => self.dictionary = true,
            'r' => self.reverse = true,
            _ => return false,
        }
        true
    }

    fn is_default(self) -> bool {
        !(self.numeric
            || self.human
            || self.version
            || self.month
            || self.fold
            || self.blanks
            || self.dictionary
            || self.reverse)
    }
}

/// `-k 2.3,4n`
#[derive(Debug, Clone, Copy)]
struct Key {
    first: (usize, usize),
    last: Option<(usize, usize)>,
    how: How,
}

fn key(text: &str) -> Option<Key> {
    let mut how = How::default();
    let mut position = |text: &str| -> Option<(usize, usize)> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        if !text[end..].chars().all(|letter| how.add(letter)) {
            return None;
        }
        let (field, character) = text[..end].split_once('.').unwrap_or((&text[..end], "0"));
        Some((field.parse().ok()?, character.parse().ok()?))
    };
    let (first, last) = match text.split_once(',') {
        Some((first, last)) => (position(first)?, Some(position(last)?)),
        None => (position(text)?, None),
    };
    (first.0 > 0).then_some(Key { first, last, how })
}

/// The part of a line that a key means.
fn part<'l>(line: &'l [u8], key: &Key, separator: Option<u8>) -> &'l [u8] {
    let field = |number: usize| -> (usize, usize) {
        let mut at = 0;
        for index in 1.. {
            let start = at;
            match separator {
                Some(separator) => {
                    at += line[at..].iter().position(|byte| *byte == separator).unwrap_or(line.len() - at);
                }
                None => {
                    let blanks = line[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t'));
                    at += blanks.unwrap_or(line.len() - at);
                    let word = line[at..].iter().position(|byte| matches!(byte, b' ' | b'\t'));
                    at += word.unwrap_or(line.len() - at);
                }
            }
            if index == number || at >= line.len() {
                return if index == number { (start, at) } else { (line.len(), line.len()) };
            }
            at += usize::from(separator.is_some());
        }
        (line.len(), line.len())
    };
    let (start, _) = field(key.first.0);
    let mut from = start + key.first.1.saturating_sub(1);
    if key.how.blanks || separator.is_none() && key.first.1 > 0 {
        from += line.get(start..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }
    let to = match key.last {
        None => line.len(),
        Some((number, 0)) => field(number).1,
        Some((number, character)) => field(number).0 + character,
    };
    line.get(from.min(line.len())..to.min(line.len())).unwrap_or_default()
}

fn number(text: &[u8]) -> f64 {
    let text = std::str::from_utf8(text).unwrap_or("").trim_start();
    let end = text.char_indices().find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-')));
    text[..end.map_or(text.len(), |(at, _)| at)].parse().unwrap_or(0.0)
}

fn human(text: &[u8]) -> f64 {
    let unit = text.iter().find_map(|byte| "KMGTPE".find(char::from(byte.to_ascii_uppercase())));
    number(text) * unit.map_or(1.0, |power| 1024_f64.powi(power as i32 + 1))
}

fn version(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match (digits(left), digits(right)) {
            (0, _) | (_, 0) => match (left.split_first(), right.split_first()) {
                (Some((a, more)), Some((b, others))) if a == b => (left, right) = (more, others),
                (a, b) => return a.map(|(byte, _)| byte).cmp(&b.map(|(byte, _)| byte)),
            },
            (a, b) => {
                let (first, second) = (number(&left[..a]), number(&right[..b]));
                match first.total_cmp(&second) {
                    Ordering::Equal => (left, right) = (&left[a..], &right[b..]),
                    unequal => return unequal,
                }
            }
        }
    }
}

fn compare(one: &[u8], other: &[u8], how: How) -> Ordering {
    let order = if how.numeric {
        number(one).total_cmp(&number(other))
    } else if how.human {
        human(one).total_cmp(&human(other))
    } else if how.version {
        version(one, other)
    } else if how.month {
        month(one).cmp(&month(other))
    } else {
        let kept =
            |byte: &u8| !how.dictionary || byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'\t') || *byte > 127;
        let seen = |byte: &u8| if how.fold { byte.to_ascii_uppercase() } else { *byte };
        let trimmed = |text: &[u8]| if how.blanks { text.trim_ascii_start().to_vec() } else { text.to_vec() };
        match how.fold || how.blanks || how.dictionary {
            false => one.cmp(other),
            true => {
                let (one, other) = (trimmed(one), trimmed(other));
                one.iter().filter(|byte| kept(byte)).map(seen).cmp(other.iter().filter(|byte| kept(byte)).map(seen))
            }
        }
    };
    if how.reverse { order.reverse() } else { order }
}

fn month(text: &[u8]) -> usize {
    let name = String::from_utf8_lossy(text).trim().chars().take(3).collect::<String>().to_uppercase();
    let months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    months.iter().position(|month| *month == name).map_or(0, |at| at + 1)
}

pub(super) async fn sort(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("numeric-sort", 'n'),
        ("reverse", 'r'),
        ("unique", 'u'),
        ("key", 'k'),
        ("field-separator", 't'),
        ("output", 'o'),
        ("human-numeric-sort", 'h'),
        ("version-sort", 'V'),
        ("ignore-case", 'f'),
        ("stable", 's'),
        ("check", 'c'),
        ("zero-terminated", 'z'),
    ];
    let given = match read(arguments, "nghVMfbdruk:t:o:scRmzS:T:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "sort", &why, 2).await),
    };
    let mut how = How::default();
    for (letter, _) in &given.options {
        how.add(*letter);
    }
    let separator = match given.value('t') {
        None => None,
        Some("\\0") => Some(0),
        Some("\\t") => Some(b'\t'),
        Some(text) if text.len() == 1 => text.bytes().next(),
        Some(text) => {
            shell.error("sort", &format!("multi-character tab '{text}'")).await;
            return Ok(2);
        }
    };
    let mut keys = Vec::new();
    for text in given.values('k') {
        match key(text) {
            Some(mut key) => {
                if key.how.is_default() {
                    key.how = how;
                }
                keys.push(key);
            }
            None => {
                shell.error("sort", &format!("invalid field specification '{text}'")).await;
                return Ok(2);
            }
        }
    }
    let end = if given.has('z') { 0 } else { b'\n' };
    let mut all = AllLines::read(shell, "sort", &or_input(given.operands.clone()), end).await?;
    if all.status != 0 {
        return Ok(2);
    }
    let compared = |one: &Vec<u8>, other: &Vec<u8>| -> Ordering {
        if keys.is_empty() {
            return compare(one, other, how);
        }
        let by_key = |key: &Key| compare(part(one, key, separator), part(other, key, separator), key.how);
        keys.iter().map(by_key).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
    };
    let last_resort = |one: &Vec<u8>, other: &Vec<u8>| match given.has('s') || given.has('u') {
        true => Ordering::Equal,
        false if how.reverse => other.cmp(one),
        false => one.cmp(other),
    };
    if given.has('c') {
        let unsorted = all.lines.windows(2).position(|pair| {
            let order = compared(&pair[0], &pair[1]);
            order == Ordering::Greater || (given.has('u') && order == Ordering::Equal)
        });
        let Some(at) = unsorted else { return Ok(0) };
        let name = given.operands.first().map_or("-", String::as_str);
        let text = String::from_utf8_lossy(&all.lines[at + 1]).into_owned();
        return Err(shell.fails("sort", &format!("{name}:{}: disorder: {text}", at + 2)).await);
    }
    // Lines times their logarithm.
    let count = all.lines.len() as u64;
    shell.step(count * u64::from(64 - count.leading_zeros()) / 16).await?;
    all.lines.sort_by(|one, other| compared(one, other).then_with(|| last_resort(one, other)));
    if given.has('u') {
        all.lines.dedup_by(|other, one| compared(one, other) == Ordering::Equal);
    }
    let writer = match given.value('o') {
        None => shell.streams.stdout.clone(),
        Some(path) => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => {
                shell.error("sort", &format!("open failed: {path}: {why}")).await;
                return Ok(2);
            }
        },
    };
    for line in &mut all.lines {
        line.push(end);
        shell.write(&writer, "sort", line).await?;
    }
    Ok(0)
}
