//! Program `tr`.

use super::input::usage;
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

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

pub(super) async fn tr(shell: &mut Shell, arguments: &[String]) -> Done {
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
        shell.step(1 + read as u64 / 128).await?;
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
