//! Programs `find` and `xargs`.

use super::input::usage;
use super::options::{Order, read};
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

/// Arguments that one command of `xargs` or `find … +` gets, bytes.
const MAX_ARGUMENTS: usize = 128 << 10;

enum Test {
    Name(Pattern, bool),
    Path(Pattern, bool),
    Kind(FileKind),
    Empty,
    Size(std::cmp::Ordering, u64, u64),
    Modified(std::cmp::Ordering, u64),
    Newer(u64),
    Not,
    Or,
    Print { end: &'static str },
    Delete,
    Prune,
    Execute { words: Vec<String>, together: bool },
}

pub(super) async fn find(shell: &mut Shell, arguments: &[String]) -> Done {
    let starts: Vec<String> =
        arguments.iter().take_while(|argument| !argument.starts_with(['-', '(', '!'])).cloned().collect();
    let mut rest = arguments[starts.len()..].iter();
    let starts = if starts.is_empty() { vec![".".to_owned()] } else { starts };
    let (mut least, mut most) = (0, usize::MAX);
    let mut tests = Vec::new();
    let sign = |text: &str| match text.chars().next() {
        Some('+') => (std::cmp::Ordering::Greater, text[1..].to_owned()),
        Some('-') => (std::cmp::Ordering::Less, text[1..].to_owned()),
        _ => (std::cmp::Ordering::Equal, text.to_owned()),
    };
    while let Some(word) = rest.next() {
        let takes = !matches!(
            word.as_str(),
            "-empty"
                | "-print"
                | "-print0"
                | "-delete"
                | "!"
                | "-not"
                | "-o"
                | "-or"
                | "-a"
                | "-and"
                | "-prune"
                | "-exec"
                | "-execdir"
        );
        let value = match takes {
            true => match rest.next() {
                Some(value) => value.as_str(),
                None => return Err(shell.fails("find", &format!("missing argument to `{word}'")).await),
            },
            false => "",
        };
        let pattern = |fold: bool| {
            let text = if fold { value.to_lowercase() } else { value.to_owned() };
            Pattern::new(&text, Lies::Whole)
        };
        let test = match word.as_str() {
            "-name" | "-iname" => pattern(word == "-iname").map(|found| Test::Name(found, word == "-iname")),
            "-path" | "-wholename" | "-ipath" => {
                pattern(word == "-ipath").map(|found| Test::Path(found, word == "-ipath"))
            }
            "-type" => match value {
                "f" => Ok(Test::Kind(FileKind::File)),
                "d" => Ok(Test::Kind(FileKind::Directory)),
                "l" => Ok(Test::Kind(FileKind::Link)),
                "c" => Ok(Test::Kind(FileKind::Device)),
                value => Err(format!("Unknown argument to -type: {value}")),
            },
            "-maxdepth" | "-mindepth" => match value.parse() {
                Ok(depth) => {
                    match word == "-maxdepth" {
                        true => most = depth,
                        false => least = depth,
                    }
                    continue;
                }
                Err(_) => Err(format!("Expected a positive decimal integer argument to {word}, but got '{value}'")),
            },
            "-size" => {
                let (order, text) = sign(value);
                let (digits, unit) = match text.char_indices().last() {
                    Some((at, 'c')) => (&text[..at], 1),
                    Some((at, 'k')) => (&text[..at], 1 << 10),
                    Some((at, 'M')) => (&text[..at], 1 << 20),
                    Some((at, 'G')) => (&text[..at], 1 << 30),
                    Some((at, 'b')) => (&text[..at], 512),
                    _ => (text.as_str(), 512),
                };
                digits
                    .parse()
                    .map(|count| Test::Size(order, count, unit))
                    .map_err(|_| format!("Invalid argument `{value}' to -size"))
            }
            "-mtime" | "-mmin" => {
                let (order, text) = sign(value);
                let unit = if word == "-mtime" { 86_400 } else { 60 };
                let count = text.parse::<u64>().map_err(|_| format!("invalid argument `{value}' to `{word}'"));
                count.map(|count| Test::Modified(order, count.saturating_mul(unit)))
            }
            "-newer" => match shell.look(value, true) {
                Ok(entry) => Ok(Test::Newer(entry.modified)),
                Err(error) => Err(format!("'{value}': {}", reason(&error))),
            },
            "-empty" => Ok(Test::Empty),
            "-print" => Ok(Test::Print { end: "\n" }),
            "-print0" => Ok(Test::Print { end: "\0" }),
            "-delete" => Ok(Test::Delete),
            "-prune" => Ok(Test::Prune),
            "!" | "-not" => Ok(Test::Not),
            "-o" | "-or" => Ok(Test::Or),
            "-a" | "-and" => continue,
            "-exec" | "-execdir" => {
                let words: Vec<String> =
                    rest.by_ref().take_while(|word| !matches!(word.as_str(), ";" | "+")).cloned().collect();
                let together =
                    words.last().is_some_and(|word| word == "{}") && arguments.iter().any(|word| word == "+");
                Ok(Test::Execute { words, together })
            }
            other => Err(format!("`{other}' is not supported here")),
        };
        match test {
            Ok(test) => tests.push(test),
            Err(why) => return Err(shell.fails("find", &why).await),
        }
    }
    let acts = tests.iter().any(|test| matches!(test, Test::Print { .. } | Test::Delete | Test::Execute { .. }));
    if !acts {
        // What is joined by `-o` is printed as a whole.
        let alternatives: Vec<Vec<Test>> = tests.into_iter().fold(vec![Vec::new()], |mut all, test| {
            match test {
                Test::Or => all.push(Vec::new()),
                test => all.last_mut().expect("it begins with one").push(test),
            }
            all
        });
        tests = Vec::new();
        for mut alternative in alternatives {
            if !tests.is_empty() {
                tests.push(Test::Or);
            }
            if !alternative.iter().any(|test| matches!(test, Test::Prune)) {
                alternative.push(Test::Print { end: "\n" });
            }
            tests.extend(alternative);
        }
    }
    let mut status = 0;
    let mut gathered = Vec::new();
    let deletes = tests.iter().any(|test| matches!(test, Test::Delete));
    for start in &starts {
        let entry = match shell.look(start, false) {
            Ok(entry) => entry,
            Err(error) => {
                shell.complain("find", &format!("'{start}': {}", reason(&error))).await;
                status = 1;
                continue;
            }
        };
        let mut waiting = vec![(start.clone(), entry, 0_usize, false)];
        while let Some((path, entry, depth, seen)) = waiting.pop() {
            shell.step(1).await?;
            let directory = entry.kind == FileKind::Directory && depth < most;
            // What is removed is emptied first.
            if deletes && directory && !seen {
                waiting.push((path.clone(), entry, depth, true));
                push_children(shell, &path, depth, &mut waiting);
                continue;
            }
            let mut prunes = false;
            if depth >= least {
                status |= matches(shell, &tests, &path, &entry, &mut prunes, &mut gathered).await?;
            }
            if directory && !seen && !prunes {
                push_children(shell, &path, depth, &mut waiting);
            }
        }
    }
    for test in &tests {
        if let Test::Execute { words, together: true } = test
            && !gathered.is_empty()
        {
            let fixed = words[..words.len() - 1].to_vec();
            status |= execute(shell, fixed, std::mem::take(&mut gathered)).await?;
        }
    }
    Ok(status)
}

fn push_children(shell: &Shell, path: &str, depth: usize, waiting: &mut Vec<(String, FileEntry, usize, bool)>) {
    let entries = lock(&shell.shared.tree).list(&shell.path(path), 1).unwrap_or_default();
    for entry in entries.into_iter().rev() {
        let below = format!("{}/{}", path.trim_end_matches('/'), entry.name);
        waiting.push((below, entry, depth + 1, false));
    }
}

async fn matches(
    shell: &mut Shell,
    tests: &[Test],
    path: &str,
    entry: &FileEntry,
    prunes: &mut bool,
    gathered: &mut Vec<String>,
) -> Done {
    let (mut holds, mut negated, mut status) = (true, false, 0);
    let folded = |text: &str, fold: bool| if fold { text.to_lowercase() } else { text.to_owned() };
    for test in tests {
        if let Test::Or = test {
            if holds {
                break;
            }
            holds = true;
            continue;
        }
        if !holds {
            continue;
        }
        let found = match test {
            Test::Not => {
                negated = !negated;
                continue;
            }
            Test::Or => true,
            Test::Name(pattern, fold) => {
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
                pattern.is(&folded(name, *fold))
            }
            Test::Path(pattern, fold) => pattern.is(&folded(path, *fold)),
            Test::Kind(kind) => entry.kind == *kind,
            Test::Empty => match entry.kind {
                FileKind::File => entry.size == 0,
                FileKind::Directory => {
                    lock(&shell.shared.tree).list(&shell.path(path), 1).is_ok_and(|entries| entries.is_empty())
                }
                FileKind::Link | FileKind::Device => false,
            },
            Test::Size(order, count, unit) => entry.size.div_ceil(*unit).cmp(count) == *order,
            Test::Modified(order, seconds) => {
                let age = shell.now().saturating_sub(entry.modified) / 1_000_000_000;
                let unit = if seconds % 86_400 == 0 { 86_400 } else { 60 };
                (age / unit).cmp(&(seconds / unit)) == *order
            }
            Test::Newer(time) => entry.modified > *time,
            Test::Prune => {
                *prunes = true;
                true
            }
            Test::Print { end } => {
                shell.out("find", format!("{path}{end}").as_bytes()).await?;
                true
            }
            Test::Delete => {
                let removed = lock(&shell.shared.tree).remove(&shell.path(path), shell.now());
                if let Err(error) = &removed {
                    shell.complain("find", &format!("cannot delete '{path}': {}", reason(error))).await;
                    status = 1;
                }
                removed.is_ok()
            }
            Test::Execute { together: true, .. } => {
                gathered.push(path.to_owned());
                true
            }
            Test::Execute { words, together: false } => {
                let words = words.iter().map(|word| word.replace("{}", path)).collect();
                execute(shell, words, Vec::new()).await? == 0
            }
        };
        holds = found != std::mem::take(&mut negated);
    }
    Ok(status)
}

/// Runs a command with more arguments.
async fn execute(shell: &mut Shell, mut words: Vec<String>, more: Vec<String>) -> Done {
    words.extend(more);
    if words.is_empty() {
        return Ok(0);
    }
    let name = words.remove(0);
    shell.deeper().await?;
    let done = super::run(shell, &name, &words).await;
    shell.level -= 1;
    match done {
        Err(Stop::Failed(code)) => Ok(code),
        Err(Stop::Broken) => Ok(141),
        done => done,
    }
}

/// Runs `xargs`, which makes arguments of input.
pub(super) async fn arguments(shell: &mut Shell, arguments: &[String]) -> Done {
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
            shell.complain("", &full.join(" ")).await;
        }
        let stdin = std::mem::replace(&mut shell.streams.stdin, crate::streams::Reader::empty());
        let code = execute(shell, full, Vec::new()).await;
        shell.streams.stdin = stdin;
        match code? {
            0 => {}
            127 => return Ok(127),
            255 => {
                shell.complain("xargs", &format!("{name}: exited with status 255; aborting")).await;
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
