//! Program `xargs`.

use super::execute::execute;
use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, Stop};

/// Arguments that one command of `xargs` or `find … +` gets, bytes.
const MAX_ARGUMENTS: usize = 128 << 10;

/// Runs `xargs`, which makes arguments of input.
pub(super) async fn xargs(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("null", '0'),
        ("max-args", 'n'),
        ("replace", 'I'),
        ("no-run-if-empty", 'r'),
        ("verbose", 't'),
        ("delimiter", 'd'),
    ];
    let given = match read(arguments, "0n:I:rtP:d:L:s:x", &long, Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "xargs", &why, 1).await),
    };
    let mut reader = shell.streams.stdin.clone();
    let mut bytes = Vec::new();
    let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
    loop {
        let read = reader.read_into(&mut bytes, 64 << 10, None).await;
        shell.step(1).await?;
        if read == 0 {
            break;
        }
        // The bytes, and the words made of them.
        if !held.grow(read * 4) {
            return Err(shell.fails("xargs", "memory exhausted").await);
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let delimiter = given.value('d').map(|text| match text {
        "\\n" => "\n".to_owned(),
        "\\t" => "\t".to_owned(),
        "\\0" => "\0".to_owned(),
        text => text.to_owned(),
    });
    let words: Vec<String> = match (given.has('0'), delimiter, given.value('I')) {
        (true, ..) => text.split_terminator('\0').map(str::to_owned).collect(),
        (false, Some(delimiter), _) => text.trim_end_matches('\n').split(&delimiter).map(str::to_owned).collect(),
        (false, None, Some(_)) => {
            text.lines().map(|line| line.trim_start().to_owned()).filter(|line| !line.is_empty()).collect()
        }
        (false, None, None) => match unquoted(&text) {
            Some(words) => words,
            None => {
                let what = "unmatched quote; by default quotes are special to xargs unless you use the -0 option";
                return Err(shell.fails("xargs", what).await);
            }
        },
    };
    let command = match given.operands.is_empty() {
        true => vec!["echo".to_owned()],
        false => given.operands.clone(),
    };
    if words.is_empty() && (given.has('r') || given.has('I')) {
        return Ok(0);
    }
    let most = given.value('n').or(given.value('L')).and_then(|count| count.parse().ok()).unwrap_or(usize::MAX).max(1);
    let mut status = 0;
    let mut rest = words.as_slice();
    loop {
        let (name, full) = match given.value('I') {
            Some(mark) => {
                let Some((word, more)) = rest.split_first() else { break };
                rest = more;
                (command[0].clone(), command.iter().map(|part| part.replace(mark, word)).collect::<Vec<_>>())
            }
            None => {
                let mut size = 0;
                let fits = rest.iter().take(most).take_while(|word| {
                    size += word.len() + 1;
                    size <= MAX_ARGUMENTS
                });
                let count = fits.count().max(1).min(rest.len());
                let (chunk, more) = rest.split_at(count);
                rest = more;
                (command[0].clone(), command.iter().chain(chunk).cloned().collect())
            }
        };
        if given.has('t') {
            shell.error("", &full.join(" ")).await;
        }
        let stdin = std::mem::replace(&mut shell.streams.stdin, crate::streams::Reader::empty());
        let code = execute(shell, full, Vec::new()).await;
        shell.streams.stdin = stdin;
        match code? {
            0 => {}
            127 => return Ok(127),
            255 => {
                shell.error("xargs", &format!("{name}: exited with status 255; aborting")).await;
                return Ok(124);
            }
            _ => status = 123,
        }
        if rest.is_empty() {
            break;
        }
    }
    Ok(status)
}

/// Words at blanks, with quotes and backslashes; none if a quote is not closed.
fn unquoted(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == c => break,
                        '\n' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}
