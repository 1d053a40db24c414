//! Subcommand `diff`.

use super::object::{Entry, Id};
use super::output::Output;
use super::repository::{Content, Operands, Repository, Revisions};
use super::status::quote;
use super::worktree::Looked;
use super::{Outcome, fatal, grow};
use crate::programs::diff::{count_git_changes, write_git_hunks};
use crate::programs::options::Given;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Options for the form of changes.
pub(super) const CHANGES: [(&str, char); 7] = [
    ("name-only", 'N'),
    ("name-status", 'S'),
    ("stat", 't'),
    ("patch", 'p'),
    ("no-patch", 's'),
    ("unified", 'U'),
    ("no-ext-diff", 'c'),
];

/// Columns of `--stat`.
const STAT_COLUMNS: usize = 80;

/// Numbers of a changed file for `--stat`.
struct FileStat {
    name: String,
    added: usize,
    removed: usize,
    /// Bytes before and after, if it is not a text.
    sizes: Option<(usize, usize)>,
}

/// Returns a renamed file's name with what both names share written once, as in `d/{old => new}`.
fn render_rename(from: &str, to: &str) -> String {
    let pairs = || from.bytes().zip(to.bytes()).enumerate();
    let start = pairs().take_while(|(_, (one, other))| one == other).filter(|(_, (byte, _))| *byte == b'/').last();
    let start = start.map_or(0, |(at, _)| at + 1);
    // A slash may belong to both.
    let least = start.saturating_sub(1);
    let ends = from.bytes().rev().zip(to.bytes().rev()).take(from.len().min(to.len()) - least).enumerate();
    let end = ends.take_while(|(_, (one, other))| one == other).filter(|(_, (byte, _))| *byte == b'/').last();
    let end = end.map_or(0, |(at, _)| at + 1);
    if start + end == 0 {
        return format!("{from} => {to}");
    }
    let middle = |name: &'_ str| name[start..(name.len() - end).max(start)].to_owned();
    format!("{}{{{} => {}}}{}", &from[..start], middle(from), middle(to), &from[from.len() - end..])
}

/// Scales a number to columns, so that what is not zero has one.
fn scale(count: usize, columns: usize, most: usize) -> usize {
    if count == 0 { 0 } else { 1 + count * (columns - 1) / most }
}

/// Returns whether a file is shown as one that is no text.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|byte| *byte == 0)
}

impl Repository<'_> {
    pub(super) async fn diff(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [("cached", 'C'), ("staged", 'C'), ("quiet", 'q'), ("exit-code", 'e'), ("no-color", 'c')];
        let long = [&long[..], &CHANGES].concat();
        let separator = arguments.iter().position(|word| word == "--");
        let (words, after) = arguments.split_at(separator.unwrap_or(arguments.len()));
        let given = self.git().options("diff", words, "psU:", &long).await?;
        let (named, paths) = self.revisions_and_paths(&given.operands, after).await?;
        let mut revisions = Vec::new();
        for named in named {
            match named {
                Revisions::One(id) => revisions.push(id),
                Revisions::Range(from, to) => revisions.extend([from, to]),
                Revisions::Symmetric(from, to) => {
                    let Some(base) = self.merge_base(from, to).await? else { return fatal("no merge base") };
                    revisions.extend([base, to]);
                }
                Revisions::Excluded(_) => return fatal("revisions can't be left out of a diff"),
            }
        }
        let index = self.read_index().await?;
        let old = match revisions.first() {
            Some(id) => self.files_of(Some(*id)).await?,
            None if given.has('C') => self.files_of(self.head().await?).await?,
            None => self.read_index().await?,
        };
        let new = match revisions.get(1) {
            Some(id) => self.files_of(Some(*id)).await?,
            None if given.has('C') => index,
            None => {
                let looked = Looked::In(&[&index.entries]);
                let mut present = self.scan(&index.entries, &Operands::all(), looked).await?;
                self.retain(&mut present, |path| index.entries.contains_key(path)).await?;
                present
            }
        };
        let changes = self.compare(&old.entries, &new.entries).await?;
        let is_same = changes.keys().all(|path| !paths.is_empty() && !paths.have(path));
        if !given.has('q') && !given.has('s') {
            self.write_changes(&old.entries, &new.entries, &given, &paths).await?;
        }
        Ok(i32::from((given.has('q') || given.has('e')) && !is_same))
    }

    /// Writes the differences between files, by the options for their form.
    pub(super) async fn write_changes(
        &self,
        old: &BTreeMap<String, Entry>,
        new: &BTreeMap<String, Entry>,
        given: &Given,
        paths: &Operands,
    ) -> Outcome<i32> {
        let context = given.value('U').and_then(|count| count.parse().ok()).unwrap_or(3);
        let changes = self.compare(old, new).await?;
        let mut stats = Vec::new();
        let mut held = self.hold(0)?;
        for (path, (letter, from)) in changes.iter() {
            self.shell.step(1).await?;
            if !paths.is_empty() && !paths.have(path) {
                continue;
            }
            if given.has('N') {
                self.print(&format!("{}\n", quote(path))).await?;
                continue;
            }
            if given.has('S') {
                let letter = if *letter == 'R' { "R100".to_owned() } else { letter.to_string() };
                let from = from.as_ref().map_or(String::new(), |from| format!("{}\t", quote(from)));
                self.print(&format!("{letter}\t{from}{}\n", quote(path))).await?;
                continue;
            }
            let before = from.as_ref().unwrap_or(path);
            if given.has('t') {
                let stat = self.file_stat(before, old.get(before), path, new.get(path)).await?;
                grow(&mut held, stat.name.len() + 100)?;
                stats.push(stat);
            } else {
                self.write_file_change(before, old.get(before), path, new.get(path), context).await?;
            }
        }
        if given.has('t') && !stats.is_empty() {
            self.write_stats(&stats).await?;
            if given.has('p') || given.has('U') {
                self.print("\n").await?;
                let rest = Given {
                    options: given.options.iter().filter(|(letter, _)| *letter != 't').cloned().collect(),
                    ..Given::default()
                };
                return Box::pin(self.write_changes(old, new, &rest, paths)).await;
            }
        }
        Ok(0)
    }

    async fn file_stat(&self, before: &str, old: Option<&Entry>, path: &str, new: Option<&Entry>) -> Outcome<FileStat> {
        let name = if before == path { quote(path) } else { render_rename(before, path) };
        let (left, right) = (self.content(before, old).await?.bytes, self.content(path, new).await?.bytes);
        if is_binary(&left) || is_binary(&right) {
            return Ok(FileStat { name, added: 0, removed: 0, sizes: Some((left.len(), right.len())) });
        }
        let (added, removed) = count_git_changes(self.shell, &left, &right).await?;
        Ok(FileStat { name, added, removed, sizes: None })
    }

    /// Writes a line with a bar for each file, and the sums.
    async fn write_stats(&self, stats: &[FileStat]) -> Outcome<i32> {
        let most = stats.iter().map(|stat| stat.added + stat.removed).max().unwrap_or(0);
        let digits = if stats.iter().any(|stat| stat.sizes.is_some()) { 3 } else { 1 };
        let digits = most.to_string().len().max(digits);
        let mut names = stats.iter().map(|stat| stat.name.chars().count()).max().unwrap_or(0);
        let mut bar = most;
        if names + digits + 6 + bar > STAT_COLUMNS {
            bar = bar.min((STAT_COLUMNS * 3 / 8 - digits - 6).max(6));
            if names > STAT_COLUMNS - digits - 6 - bar {
                names = STAT_COLUMNS - digits - 6 - bar;
            } else {
                bar = STAT_COLUMNS - digits - 6 - names;
            }
        }
        let mut output = Output::new(self.shell);
        for stat in stats {
            let count = stat.name.chars().count();
            let name = if count > names {
                let end: String = stat.name.chars().skip(count - names + 3).collect();
                format!("...{}", end.find('/').map_or(end.as_str(), |slash| &end[slash..]))
            } else {
                stat.name.clone()
            };
            if let Some((before, after)) = stat.sizes {
                let sizes = if before + after > 0 { format!(" {before} -> {after} bytes") } else { String::new() };
                output.push(&format!(" {name:names$} | {:>digits$}{sizes}\n", "Bin")).await?;
                continue;
            }
            let (mut plus, mut minus) = (stat.added, stat.removed);
            if bar <= most && most > 0 {
                let mut total = scale(plus + minus, bar, most);
                if total < 2 && plus > 0 && minus > 0 {
                    total = 2;
                }
                if plus < minus {
                    plus = scale(plus, bar, most);
                    minus = total - plus;
                } else {
                    minus = scale(minus, bar, most);
                    plus = total - minus;
                }
            }
            let bars = format!("{}{}", "+".repeat(plus), "-".repeat(minus));
            let space = if bars.is_empty() { "" } else { " " };
            output.push(&format!(" {name:names$} | {:>digits$}{space}{bars}\n", stat.added + stat.removed)).await?;
        }
        let sum = |count: fn(&FileStat) -> usize| stats.iter().map(count).sum::<usize>();
        let (added, removed) = (sum(|stat| stat.added), sum(|stat| stat.removed));
        let plural = |count, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let mut line = format!(" {} changed", plural(stats.len(), "file"));
        if added > 0 || removed == 0 {
            line.push_str(&format!(", {}(+)", plural(added, "insertion")));
        }
        if removed > 0 || added == 0 {
            line.push_str(&format!(", {}(-)", plural(removed, "deletion")));
        }
        output.push(&format!("{line}\n")).await?;
        output.finish().await
    }

    async fn write_file_change(
        &self,
        before: &str,
        old: Option<&Entry>,
        path: &str,
        new: Option<&Entry>,
        context: usize,
    ) -> Outcome<()> {
        let (left_name, right_name) = (quote(&format!("a/{before}")), quote(&format!("b/{path}")));
        let mut head = format!("diff --git {left_name} {right_name}\n");
        match (old, new) {
            (Some(_), Some(_)) if before != path => {
                head.push_str(&format!(
                    "similarity index 100%\nrename from {}\nrename to {}\n",
                    quote(before),
                    quote(path)
                ));
                self.print(&head).await?;
                return Ok(());
            }
            (None, Some(new)) => head.push_str(&format!("new file mode {:06o}\n", new.mode)),
            (Some(old), None) => head.push_str(&format!("deleted file mode {:06o}\n", old.mode)),
            _ => {}
        }
        let short = |entry: Option<&Entry>| entry.map_or(Id([0; 20]), |entry| entry.id).short();
        let mode = match (old, new) {
            (Some(old), Some(_)) => format!(" {:06o}", old.mode),
            _ => String::new(),
        };
        head.push_str(&format!("index {}..{}{mode}\n", short(old), short(new)));
        let (old_content, new_content) = (self.content(before, old).await?, self.content(path, new).await?);
        let (left, right) = (&old_content.bytes[..], &new_content.bytes[..]);
        let names =
            (old.map_or("/dev/null".to_owned(), |_| left_name), new.map_or("/dev/null".to_owned(), |_| right_name));
        if is_binary(left) || is_binary(right) {
            head.push_str(&format!("Binary files {} and {} differ\n", names.0, names.1));
            self.print(&head).await?;
            return Ok(());
        }
        if left != right {
            head.push_str(&format!("--- {}\n+++ {}\n", names.0, names.1));
        }
        self.print(&head).await?;
        write_git_hunks(self.shell, left, right, context).await?;
        Ok(())
    }

    /// Returns the content of a file: of its object, or of the work tree where it has none.
    async fn content(&self, path: &str, entry: Option<&Entry>) -> Outcome<Content> {
        match entry {
            None => Ok(Content { bytes: Bytes::new(), _held: self.hold(0)? }),
            Some(entry) if self.has_object(entry.id) => {
                let object = self.read_object(entry.id).await?;
                Ok(Content { bytes: object.data.into(), _held: object.held })
            }
            Some(_) => Ok(self.work_content(path).await?.1),
        }
    }
}
