//! Program `stat`.

use super::date::zoned;
use super::input::usage;
use super::metadata::{blocks, mode};
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::FileKind;

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
        let found = if given.has('L') { shell.stat(name) } else { shell.lstat(name) };
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => {
                shell.error("stat", &format!("cannot statx '{name}': {}", reason(&error))).await;
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
            FileKind::NamedPipe => "fifo",
        };
        let (user, id) = (entry.owner.name(), entry.owner.id());
        let type_bits = match entry.kind {
            FileKind::File => 0o100_000,
            FileKind::Directory => 0o040_000,
            FileKind::Link => 0o120_000,
            FileKind::Device => 0o020_000,
            FileKind::NamedPipe => 0o010_000,
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
                        ('%', Some('a')) => text.push_str(&format!("{:o}", entry.mode)),
                        ('%', Some('f')) => text.push_str(&format!("{:x}", type_bits | u32::from(entry.mode))),
                        ('%', Some('A')) => text.push_str(&mode(&entry)),
                        ('%', Some('U' | 'G')) => text.push_str(user),
                        ('%', Some('u' | 'g')) => text.push_str(&id.to_string()),
                        ('%', Some('Y')) => text.push_str(&(entry.modified / 1_000_000_000).to_string()),
                        ('%', Some('X')) => text.push_str(&(entry.accessed / 1_000_000_000).to_string()),
                        ('%', Some('Z')) => text.push_str(&(entry.changed / 1_000_000_000).to_string()),
                        ('%', Some('y')) => text.push_str(&day(entry.modified)),
                        ('%', Some('x')) => text.push_str(&day(entry.accessed)),
                        ('%', Some('z')) => text.push_str(&day(entry.changed)),
                        ('%', Some('b')) => text.push_str(&(blocks(&entry) * 2).to_string()),
                        ('%', Some('B')) => text.push_str("512"),
                        ('%', Some('h')) => text.push_str(&entry.links.to_string()),
                        ('%', Some('i')) => text.push_str(&entry.inode.to_string()),
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
                "  File: {name}{}\n  Size: {:<10}\tBlocks: {:<10} IO Block: 4096   {kind}\nAccess: ({:04o}/{})  Uid: ({id:>5}/{user:>8})   Gid: ({id:>5}/{user:>8})\nAccess: {}\nModify: {}\nChange: {}\n",
                entry.link_target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default(),
                entry.size,
                blocks(&entry) * 2,
                entry.mode,
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
