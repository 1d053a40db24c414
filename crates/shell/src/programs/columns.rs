//! Programs `cut`, `tr` and `paste`.

use super::input::{AllLines, Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

/// `1,3-5,7-`: the ranges of a list, each from and to.
fn ranges(text: &str) -> Option<Vec<(usize, usize)>> {
    text.split(',')
        .map(|part| {
            let (from, to) = match part.split_once('-') {
                Some(("", "")) => return None,
                Some((from, to)) => (from, to),
                None => (part, part),
            };
            let from = if from.is_empty() { 1 } else { from.parse().ok()? };
            let to = if to.is_empty() { usize::MAX } else { to.parse().ok()? };
            (from > 0 && from <= to).then_some((from, to))
        })
        .collect()
}

pub(super) async fn cut(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("fields", 'f'),
        ("characters", 'c'),
        ("bytes", 'b'),
        ("delimiter", 'd'),
        ("only-delimited", 's'),
        ("output-delimiter", 'o'),
        ("complement", 'C'),
    ];
    let given = match read(arguments, "f:c:b:d:so:Cn", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "cut", &why, 1).await),
    };
    let by = given.last_of("fcb");
    let Some(by) = by else {
        return Err(usage(shell, "cut", "you must specify a list of bytes, characters, or fields", 1).await);
    };
    let Some(ranges) = ranges(given.value(by).unwrap_or_default()) else {
        let zero = given.value(by).unwrap_or_default().split([',', '-']).any(|number| number == "0");
        let what = match (by, zero) {
            ('f', true) => "fields are numbered from 1",
            ('f', false) => "invalid field range",
            (_, true) => "byte/character positions are numbered from 1",
            (_, false) => "invalid byte or character range",
        };
        return Err(usage(shell, "cut", what, 1).await);
    };
    let delimiter = given.value('d').unwrap_or("\t");
    if delimiter.chars().count() != 1 {
        return Err(usage(shell, "cut", "the delimiter must be a single character", 1).await);
    }
    let between = given.value('o').unwrap_or(if by == 'f' { delimiter } else { "" }).to_owned();
    let wanted = |number: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&number)) != given.has('C');
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let Some(reader) = open(shell, "cut", &path).await else {
            status = 1;
            continue;
        };
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "cut").await? {
            let text = String::from_utf8_lossy(&lines.line);
            shell.step(text.len() as u64 * ranges.len() as u64 / 4096).await?;
            let mut out = match by {
                'f' if !text.contains(delimiter) && given.has('s') => continue,
                'f' if !text.contains(delimiter) => text.into_owned(),
                'f' => {
                    let fields = text.split(delimiter).enumerate().filter(|(at, _)| wanted(at + 1));
                    fields.map(|(_, field)| field).collect::<Vec<_>>().join(&between)
                }
                _ => text.chars().enumerate().filter(|(at, _)| wanted(at + 1)).map(|(_, c)| c).collect(),
            };
            out.push('\n');
            shell.out("cut", out.as_bytes()).await?;
        }
    }
    Ok(status)
}

/// The characters of a set of `tr`. Err: what is wrong with it.
fn set(text: &str, length: Option<usize>) -> Result<Vec<char>, String> {
    let (bytes, _) = crate::escapes::unescape(text, crate::escapes::Kind::Format);
    let characters: Vec<char> = String::from_utf8_lossy(&bytes).chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = characters.get(at) {
        let rest: String = characters[at..].iter().take(12).collect();
        if let Some((name, _)) = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) {
            let is: fn(&char) -> bool = match name {
                "alpha" => char::is_ascii_alphabetic,
                "digit" => char::is_ascii_digit,
                "alnum" => char::is_ascii_alphanumeric,
                "upper" => char::is_ascii_uppercase,
                "lower" => char::is_ascii_lowercase,
                "space" => |c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}'),
                "blank" => |c| matches!(c, ' ' | '\t'),
                "punct" => char::is_ascii_punctuation,
                "cntrl" => char::is_ascii_control,
                "xdigit" => char::is_ascii_hexdigit,
                "print" => |c| c.is_ascii_graphic() || *c == ' ',
                "graph" => char::is_ascii_graphic,
                name => return Err(format!("invalid character class '{name}'")),
            };
            found.extend((0..128_u8).map(char::from).filter(is));
            at += name.len() + 4;
            continue;
        }
        if let (Some('-'), Some(&last)) = (characters.get(at + 1), characters.get(at + 2)) {
            if last < c {
                return Err(format!("range-endpoints of '{c}-{last}' are in reverse collating sequence order"));
            }
            found.extend((c..=last).take(1 << 16));
            at += 3;
            continue;
        }
        // `[c*]` fills up to the length of the other set.
        if c == '[' && characters.get(at + 2) == Some(&'*') && characters.get(at + 3) == Some(&']') {
            let missing = length.unwrap_or(0).saturating_sub(found.len());
            found.extend(std::iter::repeat_n(characters[at + 1], missing));
            at += 4;
            continue;
        }
        found.push(c);
        at += 1;
    }
    Ok(found)
}

pub(super) async fn translate(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("delete", 'd'), ("squeeze-repeats", 's'), ("complement", 'c'), ("truncate-set1", 't')];
    let given = match read(arguments, "dscCt", &long, Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "tr", &why, 1).await),
    };
    let (deletes, squeezes) = (given.has('d'), given.has('s'));
    let complement = given.has('c') || given.has('C');
    let (first, second) = match given.operands.as_slice() {
        [] => return Err(usage(shell, "tr", "missing operand", 1).await),
        [first] if deletes || squeezes => (first, None),
        [first] => {
            let why = format!("missing operand after '{first}'\nTwo strings must be given when translating.");
            return Err(usage(shell, "tr", &why, 1).await);
        }
        [first, second, ..] => (first, Some(second)),
    };
    let sets = set(first, None).and_then(|first| {
        let second = second.map(|second| set(second, Some(first.len()))).transpose()?;
        Ok((first, second))
    });
    let (first, second) = match sets {
        Ok(sets) => sets,
        Err(why) => return Err(shell.fails("tr", &why).await),
    };
    let places: std::collections::HashMap<char, usize> =
        first.iter().enumerate().rev().map(|(at, c)| (*c, at)).collect();
    let last = second.as_ref().and_then(|second| second.last().copied());
    let squeezed: std::collections::HashSet<char> = match (&second, squeezes) {
        (_, false) => Default::default(),
        (Some(second), true) => second.iter().copied().collect(),
        (None, true) => first.iter().copied().collect(),
    };
    let mut reader = shell.streams.stdin.clone();
    let mut bytes = Vec::new();
    let mut before = None;
    loop {
        let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
        shell.step(1 + read as u64 / 1024).await?;
        // A character may be cut in two.
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() && read > 0 => error.valid_up_to(),
            _ => bytes.len(),
        };
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        bytes.drain(..whole);
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let place = places.get(&c).copied();
            let chosen = place.is_some() != complement;
            let c = match (&second, chosen) {
                (_, true) if deletes => continue,
                (Some(second), true) if !deletes => {
                    place.and_then(|place| second.get(place).copied()).or(last).unwrap_or(c)
                }
                _ => c,
            };
            let in_squeezed = match (complement, &second) {
                (true, None) => chosen && squeezes,
                _ => squeezed.contains(&c),
            };
            if in_squeezed && before == Some(c) {
                continue;
            }
            before = Some(c);
            out.push(c);
        }
        shell.out("tr", out.as_bytes()).await?;
        if read == 0 {
            return Ok(0);
        }
    }
}

/// Runs `paste`, which joins lines.
pub(super) async fn paste(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "d:s", &[("delimiters", 'd'), ("serial", 's')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "paste", &why, 1).await),
    };
    let between: Vec<char> =
        given.value('d').unwrap_or("\t").replace("\\n", "\n").replace("\\t", "\t").chars().collect();
    let separator = |at: usize| between.get(at % between.len().max(1)).map(char::to_string).unwrap_or_default();
    let mut files = Vec::new();
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let all = AllLines::read(shell, "paste", &[path], b'\n').await?;
        status |= all.status;
        files.push(all);
    }
    let columns: Vec<Vec<String>> = files
        .iter()
        .map(|all| all.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect())
        .collect();
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let rows: Vec<Vec<&str>> = match given.has('s') {
        true => columns.iter().map(|column| column.iter().map(String::as_str).collect()).collect(),
        false => (0..longest)
            .map(|row| columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect())
            .collect(),
    };
    for row in rows {
        let mut out = String::new();
        for (at, text) in row.iter().enumerate() {
            if at > 0 {
                out.push_str(&separator(at - 1));
            }
            out.push_str(text);
        }
        out.push('\n');
        shell.out("paste", out.as_bytes()).await?;
    }
    Ok(status)
}
