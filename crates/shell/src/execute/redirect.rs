//! Redirections, and opening what a path names.

use crate::state::{Shell, Stop, Stream, reason};
use crate::streams::{Endless, Reader, Writer};
use crate::syntax::{Redirection, Target, Word};
use futures_util::future::BoxFuture;
use proofbox_vfs::{FileUse, OpenFile};
use std::sync::Arc;

/// Highest descriptor that can be redirected.
const MAX_DESCRIPTOR: u32 = 255;

/// Position in a file at which a writer begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteAt {
    /// At the start, and onwards from there.
    Start,
    /// At the end, wherever that is at each write.
    End,
}

/// Direction in which a device is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Shell {
    /// Carries out redirections, in their order. `Failed`: one could not be, and that has been told.
    pub(crate) fn redirect<'a>(&'a mut self, redirections: &'a [Redirection]) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async move {
            for redirection in redirections {
                self.redirect_one(redirection).await?;
            }
            Ok(())
        })
    }

    async fn redirect_one(&mut self, redirection: &Redirection) -> Result<(), Stop> {
        let from = |default| redirection.descriptor.unwrap_or(default);
        match &redirection.to {
            Target::Read(word) => {
                let path = self.target(word).await?;
                let reader = self.open_to_read(&path).await?;
                self.put_stream(from(0), Stream::Read(reader)).await
            }
            Target::Write(word) | Target::ReadWrite(word) | Target::Append(word) => {
                let path = self.target(word).await?;
                let how = match redirection.to {
                    Target::Write(_) => FileUse::Replace,
                    _ => FileUse::Extend,
                };
                if matches!(redirection.to, Target::ReadWrite(_))
                    && let Some((reader, writer)) = self.both_ends_of(&path).await?
                {
                    return self.put_stream(from(0), Stream::Both(reader, writer)).await;
                }
                let at = if matches!(redirection.to, Target::Append(_)) { WriteAt::End } else { WriteAt::Start };
                let writer = self.open_to_write(&path, how, at).await?;
                self.put_stream(from(1), Stream::Write(writer)).await
            }
            Target::Both(word) | Target::BothAppend(word) => {
                let path = self.target(word).await?;
                let (how, at) = match redirection.to {
                    Target::BothAppend(_) => (FileUse::Extend, WriteAt::End),
                    _ => (FileUse::Replace, WriteAt::Start),
                };
                let writer = self.open_to_write(&path, how, at).await?;
                self.streams.stdout = writer.clone();
                self.streams.stderr = writer;
                Ok(())
            }
            Target::Same(word) => {
                let target = self.target(word).await?;
                let default = u32::from(!redirection.reads);
                self.duplicate(from(default), &target).await
            }
            Target::Here(body) => {
                let text = match body.get() {
                    Some(word) => self.expand_text(word).await?,
                    None => String::new(),
                };
                self.put_stream(from(0), Stream::Read(Reader::from_bytes(text))).await
            }
            Target::HereString(word) => {
                let mut text = self.expand_text(word).await?;
                text.push('\n');
                self.put_stream(from(0), Stream::Read(Reader::from_bytes(text))).await
            }
        }
    }

    async fn target(&mut self, word: &Word) -> Result<String, Stop> {
        let mut words = self.expand_words(std::slice::from_ref(word)).await?;
        match (words.pop(), words.is_empty()) {
            (Some(word), true) => Ok(word),
            (last, _) => {
                self.error("", &format!("{}: ambiguous redirect", last.unwrap_or_default())).await;
                Err(Stop::Failed(1))
            }
        }
    }

    /// Returns whether a path is that of a device that is not in the tree.
    pub(super) fn is_device(path: &str) -> bool {
        matches!(path, "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/tty")
    }

    /// The open stream that a path of `/dev` names.
    fn descriptor_of(&self, path: &str) -> Option<Option<Stream>> {
        let number = match path {
            "/dev/stdin" => 0,
            "/dev/stdout" => 1,
            "/dev/stderr" => 2,
            path => path.strip_prefix("/dev/fd/")?.parse().ok()?,
        };
        Some(self.stream(number))
    }

    /// The stream of a device that is not in the tree; `None` within: it can't be opened so.
    fn stream_of_device(&self, path: &str, access: Access) -> Option<Option<Stream>> {
        let path = self.path(path);
        let endless = match path.as_str() {
            "/dev/zero" => Endless::Zeros,
            "/dev/urandom" | "/dev/random" => Endless::Random(Arc::clone(&self.shared.random)),
            "/dev/tty" => return Some(None),
            // A device like a file of the tree, but that it has no input to search.
            "/dev/null" if access == Access::Read => return Some(Some(Stream::Read(Reader::empty()))),
            path => return self.descriptor_of(path),
        };
        Some(Some(match access {
            Access::Read => Stream::Read(Reader::endless(endless, Arc::clone(&self.shared.used))),
            Access::Write => Stream::Write(Writer::null()),
        }))
    }

    fn stream(&self, number: u32) -> Option<Stream> {
        match number {
            0 => Some(Stream::Read(self.streams.stdin.clone())),
            1 => Some(Stream::Write(self.streams.stdout.clone())),
            2 => Some(Stream::Write(self.streams.stderr.clone())),
            number => self.streams.more.get(&number).cloned(),
        }
    }

    async fn put_stream(&mut self, number: u32, stream: Stream) -> Result<(), Stop> {
        match (number, stream) {
            (0, Stream::Read(reader) | Stream::Both(reader, _)) => self.streams.stdin = reader,
            (1, Stream::Write(writer) | Stream::Both(_, writer)) => self.streams.stdout = writer,
            (2, Stream::Write(writer) | Stream::Both(_, writer)) => self.streams.stderr = writer,
            (3..=MAX_DESCRIPTOR, stream) => {
                self.streams.more.insert(number, stream);
            }
            (0..=2, Stream::Read(_) | Stream::Write(_)) | (_, _) => {
                self.error("", &format!("{number}: Bad file descriptor")).await;
                return Err(Stop::Failed(1));
            }
        }
        Ok(())
    }

    async fn duplicate(&mut self, number: u32, target: &str) -> Result<(), Stop> {
        if target == "-" {
            match number {
                0 => self.streams.stdin = Reader::empty(),
                1 => self.streams.stdout = Writer::closed(),
                2 => self.streams.stderr = Writer::closed(),
                number => {
                    self.streams.more.remove(&number);
                }
            }
            return Ok(());
        }
        match target.parse().ok().and_then(|target| self.stream(target)) {
            Some(stream) => self.put_stream(number, stream).await,
            None => {
                self.error("", &format!("{target}: Bad file descriptor")).await;
                Err(Stop::Failed(1))
            }
        }
    }

    /// Opens a file to read, as a redirection does.
    async fn open_to_read(&mut self, path: &str) -> Result<Reader, Stop> {
        match self.reader_of(path) {
            Ok(reader) => {
                self.wait_for_other_end(reader.opened(), path).await;
                Ok(reader)
            }
            Err(why) => {
                self.error("", &format!("{path}: {why}")).await;
                Err(Stop::Failed(1))
            }
        }
    }

    /// Opens both ends of a named pipe, which waits for nobody; none of anything else.
    async fn both_ends_of(&mut self, path: &str) -> Result<Option<(Reader, Writer)>, Stop> {
        let Ok(file) = OpenFile::open(&self.tree, &self.path(path), FileUse::Read, self.now()) else { return Ok(None) };
        match self.fifo(&file) {
            Some(Ok(fifo)) => Ok(Some(fifo.open_both())),
            Some(Err(why)) => {
                self.error("", &format!("{path}: {why}")).await;
                Err(Stop::Failed(1))
            }
            None => Ok(None),
        }
    }

    async fn open_to_write(&mut self, path: &str, how: FileUse, at: WriteAt) -> Result<Writer, Stop> {
        match self.writer_of(path, how, at) {
            Ok(writer) => {
                self.wait_for_other_end(writer.opened(), path).await;
                Ok(writer)
            }
            Err(why) => {
                self.error("", &format!("{path}: {why}")).await;
                Err(Stop::Failed(1))
            }
        }
    }

    /// Opens a file or device for reading. The error is the reason, as bash reports it.
    pub(crate) fn reader_of(&self, path: &str) -> Result<Reader, &'static str> {
        match self.stream_of_device(path, Access::Read) {
            Some(Some(Stream::Read(reader) | Stream::Both(reader, _))) => return Ok(reader),
            Some(_) => return Err("No such device or address"),
            None if path.is_empty() => return Err("No such file or directory"),
            None => {}
        }
        let file = OpenFile::open(&self.tree, &self.path(path), FileUse::Read, self.now());
        let file = file.map_err(|error| reason(&error))?;
        match self.fifo(&file) {
            Some(fifo) => Ok(fifo?.open_to_read()),
            None => Ok(Reader::from_file(file)),
        }
    }

    /// Opens a file or device for writing. The error is the reason, as bash reports it.
    pub(crate) fn writer_of(&self, path: &str, how: FileUse, at: WriteAt) -> Result<Writer, &'static str> {
        match self.stream_of_device(path, Access::Write) {
            Some(Some(Stream::Write(writer) | Stream::Both(_, writer))) => return Ok(writer),
            Some(_) => return Err("No such device or address"),
            None if path.is_empty() => return Err("No such file or directory"),
            None => {}
        }
        let file = OpenFile::open(&self.tree, &self.path(path), how, self.now());
        let file = file.map_err(|error| reason(&error))?;
        let offset = (at == WriteAt::Start).then_some(0);
        match self.fifo(&file) {
            Some(fifo) => Ok(fifo?.open_to_write()),
            None => Ok(Writer::to_file(file, offset, Arc::clone(&self.shared.time))),
        }
    }
}
