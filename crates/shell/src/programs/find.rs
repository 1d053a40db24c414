//! Program `find`.

use super::execute::execute;
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

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
            "-newer" => match shell.stat(value) {
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
        let entry = match shell.lstat(start) {
            Ok(entry) => entry,
            Err(error) => {
                shell.error("find", &format!("'{start}': {}", reason(&error))).await;
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
                    shell.error("find", &format!("cannot delete '{path}': {}", reason(error))).await;
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
