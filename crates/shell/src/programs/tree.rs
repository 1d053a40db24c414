//! Program `tree`.

use super::input::options;
use super::metadata::human;
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, Stop};
use proofbox_vfs::{FileEntry, FileKind, lock};

/// Patterns of `-I` and `-P`.
const MAX_PATTERNS: usize = 200;
/// Directories below each other that are shown.
const MAX_DEPTH: usize = 128;

pub(super) async fn tree(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("dirsfirst", '1'), ("noreport", '2'), ("prune", '3'), ("gitignore", '4'), ("charset", '5')];
    let given = options(shell, "tree", arguments, "adfL:I:P:FshCnirtvU", &long, 1).await?;
    let depth = match given.value('L').map(str::parse::<usize>) {
        None => MAX_DEPTH,
        Some(Ok(depth @ 1..)) => depth.min(MAX_DEPTH),
        Some(_) => {
            shell.say("tree: Invalid level, must be greater than 0.\n").await;
            return Ok(1);
        }
    };
    let parts = |letter| given.values(letter).iter().map(|text| text.split('|').count()).sum::<usize>();
    if parts('I') + parts('P') > MAX_PATTERNS {
        shell.say("tree: too many patterns.\n").await;
        return Ok(1);
    }
    let patterns = |letter| {
        let texts = given.values(letter).into_iter().flat_map(|text| text.split('|'));
        texts.filter_map(|text| Pattern::new(text.trim_end_matches('/'), Lies::Whole).ok()).collect::<Vec<_>>()
    };
    let mut listing = Listing {
        all: given.has('a'),
        only_directories: given.has('d'),
        paths: given.has('f'),
        marks: given.has('F'),
        sizes: given.last_of("sh"),
        plain: given.has('i'),
        directories_first: given.has('1'),
        newest_last: given.has('t'),
        reversed: given.has('r'),
        depth,
        ignored: patterns('I'),
        wanted: patterns('P'),
        directories: 0,
        files: 0,
    };
    let mut operands = given.operands.clone();
    if operands.is_empty() {
        operands.push(".".to_owned());
    }
    let mut status = 0;
    for name in &operands {
        match shell.is_directory(name) {
            true => {
                shell.out("tree", format!("{name}\n").as_bytes()).await?;
                listing.run(shell, name).await?;
            }
            false => {
                shell.out("tree", format!("{name}  [error opening dir]\n").as_bytes()).await?;
                status = 2;
            }
        }
    }
    if !given.has('2') {
        let directories = match listing.directories {
            1 => "1 directory".to_owned(),
            count => format!("{count} directories"),
        };
        let files = match (listing.only_directories, listing.files) {
            (true, _) => String::new(),
            (false, 1) => ", 1 file".to_owned(),
            (false, count) => format!(", {count} files"),
        };
        shell.out("tree", format!("\n{directories}{files}\n").as_bytes()).await?;
    }
    Ok(status)
}

struct Listing {
    all: bool,
    only_directories: bool,
    paths: bool,
    /// True when names have a sign of their kind.
    marks: bool,
    sizes: Option<char>,
    /// True when there are no lines of the tree.
    plain: bool,
    directories_first: bool,
    newest_last: bool,
    reversed: bool,
    depth: usize,
    ignored: Vec<Pattern>,
    wanted: Vec<Pattern>,
    directories: u64,
    files: u64,
}

/// An entry that is still to be shown.
struct Waiting {
    entry: FileEntry,
    path: String,
    /// Lines of the tree before it.
    prefix: String,
    last: bool,
    depth: usize,
}

impl Listing {
    async fn run(&mut self, shell: &Shell, top: &str) -> Result<(), Stop> {
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        // The directory that is named counts as one, if it holds any.
        self.directories += 1;
        let mut waiting = Vec::new();
        let mut next = Some((top.to_owned(), String::new(), 1));
        loop {
            if let Some((path, prefix, depth)) = next.take() {
                let entries = self.entries(shell, &path).await?;
                let count = entries.len();
                for (at, entry) in entries.into_iter().enumerate().rev() {
                    let path = format!("{}/{}", path.trim_end_matches('/'), entry.name);
                    if !held.grow(path.len() + prefix.len() + entry.path.len() + 200) {
                        return Err(shell.fails("tree", "memory exhausted").await);
                    }
                    waiting.push(Waiting { entry, path, prefix: prefix.clone(), last: at + 1 == count, depth });
                }
            }
            let Some(one) = waiting.pop() else { return Ok(()) };
            shell.step(1).await?;
            let (branch, below) = match (self.plain, one.last) {
                (true, _) => ("", ""),
                (false, true) => ("└── ", "    "),
                (false, false) => ("├── ", "│\u{a0}\u{a0} "),
            };
            let text = self.shown(shell, &one);
            shell.out("tree", format!("{}{branch}{text}\n", one.prefix).as_bytes()).await?;
            let directory = one.entry.kind == FileKind::Directory;
            match directory || (one.entry.kind == FileKind::Link && shell.is_directory(&one.path)) {
                true => self.directories += 1,
                false => self.files += 1,
            }
            if directory && one.depth < self.depth {
                next = Some((one.path, format!("{}{below}", one.prefix), one.depth + 1));
            }
        }
    }

    async fn entries(&self, shell: &Shell, path: &str) -> Result<Vec<FileEntry>, Stop> {
        let mut entries = lock(&shell.tree).list(&shell.path(path), 1).unwrap_or_default();
        shell.step(1 + entries.len() as u64 / 8).await?;
        let is = |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.is(name));
        entries.retain(|entry| {
            let directory = entry.kind == FileKind::Directory;
            (self.all || !entry.name.starts_with('.'))
                && (directory || !self.only_directories)
                && !is(&self.ignored, &entry.name)
                && (directory || self.wanted.is_empty() || is(&self.wanted, &entry.name))
        });
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        if self.newest_last {
            entries.sort_by_key(|entry| entry.modified);
        }
        if self.reversed {
            entries.reverse();
        }
        if self.directories_first {
            entries.sort_by_key(|entry| entry.kind != FileKind::Directory);
        }
        Ok(entries)
    }

    fn shown(&self, shell: &Shell, one: &Waiting) -> String {
        let mut text = match self.sizes {
            Some('h') => format!("[{:>4}]  ", human(one.entry.size)),
            Some(_) => format!("[{:>11}]  ", one.entry.size),
            None => String::new(),
        };
        text.push_str(if self.paths { &one.path } else { &one.entry.name });
        match one.entry.kind {
            FileKind::Directory if self.marks => text.push('/'),
            FileKind::Link => {
                text.push_str(&format!(" -> {}", one.entry.link_target.as_deref().unwrap_or_default()));
                if self.marks && shell.is_directory(&one.path) {
                    text.push('/');
                }
            }
            FileKind::Directory | FileKind::File | FileKind::Device | FileKind::NamedPipe => {}
        }
        text
    }
}
