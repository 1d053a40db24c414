//! Subcommand `diff`.

use super::objects::{Entry, Id};
use super::repository::{Content, Operands, Repository};
use super::status::compare;
use super::worktree::Looked;
use super::{Failure, Outcome};
use crate::programs::diff::write_git_hunks;
use crate::programs::options::Given;
use bytes::Bytes;
use std::collections::BTreeMap;

impl Repository<'_> {
    pub(super) async fn diff(&self, arguments: &[String]) -> Outcome<i32> {
        let long = [
            ("cached", 'C'),
            ("staged", 'C'),
            ("name-only", 'N'),
            ("name-status", 'S'),
            ("quiet", 'q'),
            ("exit-code", 'e'),
            ("no-color", 'c'),
            ("unified", 'U'),
            ("no-ext-diff", 'c'),
        ];
        let separator = arguments.iter().position(|word| word == "--");
        let (words, after) = arguments.split_at(separator.unwrap_or(arguments.len()));
        let given = self.git().options("diff", words, "CNSqecU:", &long).await?;
        let (mut revisions, mut paths) = (Vec::new(), Vec::new());
        for operand in &given.operands {
            let (from, to) = operand.split_once("..").map_or((operand.as_str(), None), |(from, to)| (from, Some(to)));
            let named = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
            match self.resolve(&named(from)).await {
                Ok(id) if paths.is_empty() => {
                    revisions.push(id);
                    if let Some(to) = to {
                        revisions.push(self.resolve(&named(to)).await?);
                    }
                }
                Err(Failure::Stop(stop)) => return Err(stop.into()),
                Err(failure @ Failure::Fatal(_)) if separator.is_some() || self.shell.lstat(operand).is_err() => {
                    let known = self.read_index().await?;
                    if separator.is_some() || !known.entries.contains_key(&self.relative(operand)?) {
                        return Err(failure);
                    }
                    paths.push(operand.clone());
                }
                _ => paths.push(operand.clone()),
            }
        }
        paths.extend(after.iter().skip(1).cloned());
        let paths = self.operands(&paths).await?;
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
                let mut present = self.scan(&index.entries, &Operands::all(), Looked::In(&[&index.entries])).await?;
                present.entries.retain(|path, _| index.entries.contains_key(path));
                present
            }
        };
        let is_same =
            compare(&old.entries, &new.entries).keys().all(|path| !paths.is_empty() && !paths.have(path));
        if !given.has('q') {
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
        for (path, (letter, from)) in compare(old, new) {
            self.shell.step(1).await?;
            if !paths.is_empty() && !paths.have(&path) {
                continue;
            }
            if given.has('N') {
                self.print(&format!("{path}\n")).await?;
                continue;
            }
            if given.has('S') {
                let letter = if letter == 'R' { "R100".to_owned() } else { letter.to_string() };
                let from = from.as_ref().map_or(String::new(), |from| format!("{from}\t"));
                self.print(&format!("{letter}\t{from}{path}\n")).await?;
                continue;
            }
            let before = from.as_ref().unwrap_or(&path);
            self.write_file_change(before, old.get(before), &path, new.get(&path), context).await?;
        }
        Ok(0)
    }

    async fn write_file_change(
        &self,
        before: &str,
        old: Option<&Entry>,
        path: &str,
        new: Option<&Entry>,
        context: usize,
    ) -> Outcome<()> {
        let mut head = format!("diff --git a/{before} b/{path}\n");
        match (old, new) {
            (Some(_), Some(_)) if before != path => {
                head.push_str(&format!("similarity index 100%\nrename from {before}\nrename to {path}\n"));
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
        let is_binary = |bytes: &[u8]| bytes.iter().take(8000).any(|byte| *byte == 0);
        let names = (
            old.map_or("/dev/null".to_owned(), |_| format!("a/{before}")),
            new.map_or("/dev/null".to_owned(), |_| format!("b/{path}")),
        );
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
