//! Programs `ls`, `stat` and `du`.

use super::dates::zoned;
use super::input::usage;
use super::options::{Given, Order, read};
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

/// `4.0K`, as `-h` shows sizes.
pub(super) fn human(size: u64) -> String {
    let mut value = size as f64;
    for unit in ["", "K", "M", "G"] {
        if value < 1024.0 {
            return match unit {
                "" => size.to_string(),
                unit if value < 10.0 => format!("{:.1}{unit}", (value * 10.0).ceil() / 10.0),
                unit => format!("{:.0}{unit}", value.ceil()),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.0}T")
}

/// Modes as they are shown: there are none.
fn mode(entry: &FileEntry) -> &'static str {
    match entry.kind {
        FileKind::Directory => "drwxr-xr-x",
        FileKind::Link => "lrwxrwxrwx",
        FileKind::Device => "crw-rw-rw-",
        FileKind::File => "-rw-r--r--",
    }
}

pub(super) async fn list(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("all", 'a'),
        ("almost-all", 'A'),
        ("human-readable", 'h'),
        ("recursive", 'R'),
        ("reverse", 'r'),
        ("directory", 'd'),
        ("classify", 'F'),
        ("size", 's'),
        ("inode", 'i'),
        ("color", 'k'),
        ("time-style", 'y'),
        ("full-time", 'l'),
        ("group-directories-first", 'g'),
    ];
    let given = match read(arguments, "aAlh1RrtSdFpsiknUXCxmgGoy:cuHLNqQvBb", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "ls", &why, 2).await),
    };
    let mut operands = given.operands.clone();
    if operands.is_empty() {
        operands.push(".".to_owned());
    }
    let mut status = 0;
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for operand in &operands {
        let follow = !given.has('l') && !given.has('d') && !given.has('F');
        match shell.look(operand, follow).or_else(|_| shell.look(operand, false)) {
            Err(error) => {
                shell.complain("ls", &format!("cannot access '{operand}': {}", reason(&error))).await;
                status = 2;
            }
            Ok(entry) if entry.kind == FileKind::Directory && !given.has('d') => directories.push(operand.clone()),
            Ok(mut entry) => {
                entry.name.clone_from(operand);
                files.push(entry);
            }
        }
    }
    let titles = operands.len() > 1 || given.has('R');
    order(&mut files, &given);
    let mut shown = !files.is_empty();
    show(shell, &files, &given, false).await?;
    let mut sorted: Vec<FileEntry> = Vec::new();
    for directory in &directories {
        if let Ok(mut entry) = shell.look(directory, true) {
            entry.name.clone_from(directory);
            sorted.push(entry);
        }
    }
    order(&mut sorted, &given);
    let mut waiting: Vec<String> = sorted.into_iter().rev().map(|entry| entry.name).collect();
    while let Some(directory) = waiting.pop() {
        let path = shell.path(&directory);
        let listed = lock(&shell.shared.tree).list(&path, 1);
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                shell.complain("ls", &format!("cannot open directory '{directory}': {}", reason(&error))).await;
                status = 2;
                continue;
            }
        };
        shell.step(1 + entries.len() as u64 / 16).await?;
        if !given.has('a') && !given.has('A') {
            entries.retain(|entry| !entry.name.starts_with('.'));
        }
        if given.has('a') {
            for name in [".", ".."] {
                if let Ok(mut entry) = lock(&shell.shared.tree).stat_followed(&crate::state::absolute(&path, name)) {
                    entry.name = name.to_owned();
                    entries.push(entry);
                }
            }
        }
        order(&mut entries, &given);
        if titles {
            let title = format!("{}{directory}:\n", if shown { "\n" } else { "" });
            shell.out("ls", title.as_bytes()).await?;
        }
        shown = true;
        show(shell, &entries, &given, true).await?;
        if given.has('R') {
            let below = entries.iter().rev().filter(|entry| entry.kind == FileKind::Directory);
            let below = below.filter(|entry| !matches!(entry.name.as_str(), "." | ".."));
            waiting.extend(below.map(|entry| format!("{}/{}", directory.trim_end_matches('/'), entry.name)));
        }
    }
    Ok(status)
}

fn order(entries: &mut [FileEntry], given: &Given) {
    match given.last_of("tSUX") {
        Some('t') => entries.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name))),
        Some('S') => entries.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name))),
        _ => entries.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    if given.has('r') {
        entries.reverse();
    }
    if given.has('g') {
        entries.sort_by_key(|entry| entry.kind != FileKind::Directory);
    }
}

async fn show(shell: &Shell, entries: &[FileEntry], given: &Given, total: bool) -> Result<(), Stop> {
    let mark = |entry: &FileEntry| match (entry.kind, given.has('F')) {
        (FileKind::Directory, true) => "/",
        (FileKind::Directory, false) if given.has('p') => "/",
        (FileKind::Link, true) if !given.has('l') => "@",
        _ => "",
    };
    if !given.has('l') && !given.has('n') && !given.has('o') {
        let mut text = String::new();
        for entry in entries {
            if given.has('s') {
                text.push_str(&format!("{} ", blocks(entry)));
            }
            text.push_str(&format!("{}{}\n", entry.name, mark(entry)));
        }
        return match given.has('m') {
            true => shell.out("ls", text.trim_end().replace('\n', ", ").as_bytes()).await,
            false => shell.out("ls", text.as_bytes()).await,
        };
    }
    let now = shell.now();
    let mut text = String::new();
    if total {
        let sum: u64 = entries.iter().map(blocks).sum();
        match given.has('h') {
            true => text.push_str(&format!("total {}\n", human(sum * 1024))),
            false => text.push_str(&format!("total {sum}\n")),
        }
    }
    let size = |entry: &FileEntry| if given.has('h') { human(entry.size) } else { entry.size.to_string() };
    let width = entries.iter().map(|entry| size(entry).len()).max().unwrap_or(0);
    for entry in entries {
        // As `ls` does, half a year back.
        let recent = entry.modified <= now && now - entry.modified < 15_778_476_000_000_000;
        let format = if recent { "%b %e %H:%M" } else { "%b %e  %Y" };
        let date = jiff::fmt::strtime::format(format, &zoned(entry.modified)).unwrap_or_default();
        let links = if entry.kind == FileKind::Directory { 2 } else { 1 };
        let target = entry.link_target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default();
        text.push_str(&format!(
            "{} {links} user user {:>width$} {date} {}{}{target}\n",
            mode(entry),
            size(entry),
            entry.name,
            mark(entry)
        ));
    }
    shell.out("ls", text.as_bytes()).await
}

/// Blocks of 1 KiB.
fn blocks(entry: &FileEntry) -> u64 {
    match entry.kind {
        FileKind::Link | FileKind::Device => 0,
        FileKind::File | FileKind::Directory => entry.size.div_ceil(4096) * 4,
    }
}

pub(super) async fn stat(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("format", 'c'), ("printf", 'P'), ("dereference", 'L')];
    let given = match read(arguments, "c:P:Lft", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "stat", &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, "stat", "missing operand", 1).await);
    }
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let entry = match shell.look(name, given.has('L')) {
            Ok(entry) => entry,
            Err(error) => {
                shell.complain("stat", &format!("cannot statx '{name}': {}", reason(&error))).await;
                status = 1;
                continue;
            }
        };
        let kind = match entry.kind {
            FileKind::File if entry.size == 0 => "regular empty file",
            FileKind::File => "regular file",
            FileKind::Directory => "directory",
            FileKind::Link => "symbolic link",
            FileKind::Device => "character special file",
        };
        let octal = match entry.kind {
            FileKind::Directory => "755",
            FileKind::Link => "777",
            FileKind::Device => "666",
            FileKind::File => "644",
        };
        let day = |time| jiff::fmt::strtime::format("%Y-%m-%d %H:%M:%S.%N +0000", &zoned(time)).unwrap_or_default();
        let text = match given.value('c').or(given.value('P')) {
            Some(format) => {
                let mut text = String::new();
                let mut letters = format.chars();
                while let Some(c) = letters.next() {
                    match (c, if c == '%' { letters.next() } else { None }) {
                        ('%', Some('s')) => text.push_str(&entry.size.to_string()),
                        ('%', Some('n')) => text.push_str(name),
                        ('%', Some('N')) => text.push_str(&format!("'{name}'")),
                        ('%', Some('F')) => text.push_str(kind),
                        ('%', Some('a')) => text.push_str(octal),
                        ('%', Some('A')) => text.push_str(mode(&entry)),
                        ('%', Some('U' | 'G')) => text.push_str("user"),
                        ('%', Some('u' | 'g')) => text.push_str("1000"),
                        ('%', Some('Y')) => text.push_str(&(entry.modified / 1_000_000_000).to_string()),
                        ('%', Some('X')) => text.push_str(&(entry.accessed / 1_000_000_000).to_string()),
                        ('%', Some('Z')) => text.push_str(&(entry.changed / 1_000_000_000).to_string()),
                        ('%', Some('y')) => text.push_str(&day(entry.modified)),
                        ('%', Some('x')) => text.push_str(&day(entry.accessed)),
                        ('%', Some('z')) => text.push_str(&day(entry.changed)),
                        ('%', Some('b')) => text.push_str(&(blocks(&entry) * 2).to_string()),
                        ('%', Some('B')) => text.push_str("512"),
                        ('%', Some('h')) => text.push('1'),
                        ('%', Some('%') | None) => text.push('%'),
                        ('%', Some(other)) => text.extend(['?', other]),
                        (c, _) => text.push(c),
                    }
                }
                match given.has('P') {
                    true => String::from_utf8_lossy(&crate::escapes::unescape(&text, crate::escapes::Kind::Format).0)
                        .into_owned(),
                    false => format!("{text}\n"),
                }
            }
            None => format!(
                "  File: {name}{}\n  Size: {:<10}\tBlocks: {:<10} IO Block: 4096   {kind}\nAccess: (0{octal}/{})  Uid: ( 1000/    user)   Gid: ( 1000/    user)\nAccess: {}\nModify: {}\nChange: {}\n",
                entry.link_target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default(),
                entry.size,
                blocks(&entry) * 2,
                mode(&entry),
                day(entry.accessed),
                day(entry.modified),
                day(entry.changed)
            ),
        };
        shell.out("stat", text.as_bytes()).await?;
    }
    Ok(status)
}

pub(super) async fn disk_use(shell: &mut Shell, arguments: &[String]) -> Done {
    let long =
        [("summarize", 's'), ("human-readable", 'h'), ("bytes", 'b'), ("all", 'a'), ("total", 'c'), ("max-depth", 'd')];
    let given = match read(arguments, "shbackmd:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "du", &why, 1).await),
    };
    let mut operands = given.operands.clone();
    if operands.is_empty() {
        operands.push(".".to_owned());
    }
    let most = match given.has('s') {
        true => 0,
        false => given.value('d').and_then(|depth| depth.parse::<usize>().ok()).unwrap_or(usize::MAX),
    };
    let weight = |entry: &FileEntry| if given.has('b') { entry.size } else { blocks(entry) * 1024 };
    let shown = |bytes: u64| match (given.has('h'), given.has('b')) {
        (true, _) => human(bytes),
        (false, true) => bytes.to_string(),
        (false, false) => bytes.div_ceil(1024).to_string(),
    };
    let (mut status, mut all) = (0, 0);
    for name in &operands {
        let top = match shell.look(name, false) {
            Ok(entry) => entry,
            Err(error) => {
                shell.complain("du", &format!("cannot access '{name}': {}", reason(&error))).await;
                status = 1;
                continue;
            }
        };
        let path = shell.path(name);
        let entries = lock(&shell.shared.tree).list(&path, usize::MAX).unwrap_or_default();
        shell.step(1 + entries.len() as u64 / 16).await?;
        let prefix = if path == "/" { 1 } else { path.len() + 1 };
        let mut sums: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        let mut total = weight(&top);
        for entry in &entries {
            total += weight(entry);
            let below = &entry.path[prefix..];
            if entry.kind == FileKind::Directory {
                *sums.entry(below.to_owned()).or_default() += weight(entry);
            } else if given.has('a') {
                sums.insert(below.to_owned(), weight(entry));
            }
            for (end, _) in below.match_indices('/') {
                *sums.entry(below[..end].to_owned()).or_default() += weight(entry);
            }
        }
        all += total;
        let mut text = String::new();
        // What lies deeper comes first.
        let mut rows: Vec<(String, u64)> = sums.into_iter().collect();
        rows.sort_by(|(one, _), (other, _)| {
            let key = |name: &str| format!("{name}/\u{10ffff}");
            key(one).cmp(&key(other))
        });
        for (below, bytes) in rows {
            if below.matches('/').count() < most {
                text.push_str(&format!("{}\t{}/{below}\n", shown(bytes), name.trim_end_matches('/')));
            }
        }
        text.push_str(&format!("{}\t{name}\n", shown(total)));
        shell.out("du", text.as_bytes()).await?;
    }
    if given.has('c') {
        shell.out("du", format!("{}\ttotal\n", shown(all)).as_bytes()).await?;
    }
    Ok(status)
}
