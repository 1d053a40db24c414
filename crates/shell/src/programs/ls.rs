//! Program `ls`.

use super::date::zoned;
use super::input::usage;
use super::metadata::{blocks, human, mode};
use super::options::{Given, Order, read};
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

pub(super) async fn ls(shell: &mut Shell, arguments: &[String]) -> Done {
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
        let found = if follow { shell.stat(operand) } else { shell.lstat(operand) };
        match found.or_else(|_| shell.lstat(operand)) {
            Err(error) => {
                shell.error("ls", &format!("cannot access '{operand}': {}", reason(&error))).await;
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
    show(shell, &files, &given, Total::Omit).await?;
    let mut sorted: Vec<FileEntry> = Vec::new();
    for directory in &directories {
        if let Ok(mut entry) = shell.stat(directory) {
            entry.name.clone_from(directory);
            sorted.push(entry);
        }
    }
    order(&mut sorted, &given);
    let mut waiting: Vec<String> = sorted.into_iter().rev().map(|entry| entry.name).collect();
    while let Some(directory) = waiting.pop() {
        let path = shell.path(&directory);
        let listed = lock(&shell.tree).list(&path, 1);
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                shell.error("ls", &format!("cannot open directory '{directory}': {}", reason(&error))).await;
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
                if let Ok(mut entry) = lock(&shell.tree).stat_followed(&crate::state::absolute(&path, name)) {
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
        show(shell, &entries, &given, Total::Show).await?;
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

/// Line with the blocks of all entries, in long lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Total {
    Show,
    Omit,
}

async fn show(shell: &Shell, entries: &[FileEntry], given: &Given, total: Total) -> Result<(), Stop> {
    let mark = |entry: &FileEntry| match (entry.kind, given.has('F')) {
        (FileKind::Directory, true) => "/",
        (FileKind::Directory, false) if given.has('p') => "/",
        (FileKind::Link, true) if !given.has('l') => "@",
        (FileKind::File, true) if entry.mode & 0o111 != 0 => "*",
        _ => "",
    };
    if !given.has('l') && !given.has('n') && !given.has('o') {
        let mut text = String::new();
        for entry in entries {
            if given.has('i') {
                text.push_str(&format!("{} ", entry.inode));
            }
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
    if total == Total::Show {
        let sum: u64 = entries.iter().map(blocks).sum();
        match given.has('h') {
            true => text.push_str(&format!("total {}\n", human(sum * 1024))),
            false => text.push_str(&format!("total {sum}\n")),
        }
    }
    let size = |entry: &FileEntry| if given.has('h') { human(entry.size) } else { entry.size.to_string() };
    let width = entries.iter().map(|entry| size(entry).len()).max().unwrap_or(0);
    let name = |entry: &FileEntry| match given.has('n') {
        true => entry.owner.id().to_string(),
        false => entry.owner.name().to_owned(),
    };
    let name_width = entries.iter().map(|entry| name(entry).len()).max().unwrap_or(0);
    let owner = |entry: &FileEntry| format!("{:<name_width$}", name(entry));
    let group = |entry: &FileEntry| match given.has('o') || given.has('G') {
        true => String::new(),
        false => format!(" {:<name_width$}", name(entry)),
    };
    let links_width = entries.iter().map(|entry| entry.links.to_string().len()).max().unwrap_or(0);
    for entry in entries {
        if given.has('i') {
            text.push_str(&format!("{} ", entry.inode));
        }
        // As `ls` does, half a year back. A file may be changed after the time that the shell has last looked at.
        let recent =
            entry.modified <= now + 60_000_000_000 && now.saturating_sub(entry.modified) < 15_778_476_000_000_000;
        let format = if recent { "%b %e %H:%M" } else { "%b %e  %Y" };
        let date = jiff::fmt::strtime::format(format, &zoned(entry.modified)).unwrap_or_default();
        let target = entry.link_target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default();
        text.push_str(&format!(
            "{} {:>links_width$} {}{} {:>width$} {date} {}{}{target}\n",
            mode(entry),
            entry.links,
            owner(entry),
            group(entry),
            size(entry),
            entry.name,
            mark(entry)
        ));
    }
    shell.out("ls", text.as_bytes()).await
}
