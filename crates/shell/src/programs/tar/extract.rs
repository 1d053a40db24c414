//! `tar -x` and `tar -t`.

use super::header::{BLOCK, Header, Kind, attributes, padding};
use super::{Excluded, gives_up};
use crate::PIPE_BYTES;
use crate::bounds::Held;
use crate::execute::WriteAt;
use crate::programs::destination::make_directories;
use crate::programs::modes::letters;
use crate::programs::options::Given;
use crate::state::{Shell, Stop, absolute, reason};
use crate::streams::{Reader, Writer};
use flate2::write::MultiGzDecoder;
use proofbox_vfs::{FileKind, FileUse, User, lock};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write as _;

/// Bytes that are unpacked at a time: they become a thousand times as many at most.
const PACKED_AT_ONCE: usize = 4096;
/// Memory that unpacking holds at a time, approximately, in bytes.
const UNPACKING_BYTES: usize = 9 << 20;
/// Number of bytes that cost a step to unpack.
const BYTES_A_STEP: u64 = 512;
/// Longest name or set of attributes that is read.
const MAX_ATTRIBUTES: u64 = 1 << 20;

/// Unpacks the archive into `directory`, or lists it; whether something went wrong.
pub(super) async fn extract(
    shell: &Shell,
    given: &Given,
    archive: &str,
    directory: &str,
    excluded: &Excluded,
) -> Result<bool, Stop> {
    let Some(held) = shell.shared.used.hold(UNPACKING_BYTES) else {
        return Err(gives_up(shell, "memory exhausted").await);
    };
    let Ok(strip) = given.value('2').map_or(Ok(0), str::parse::<usize>) else {
        return Err(gives_up(shell, "invalid number of elements").await);
    };
    let opened = match archive {
        "-" => Ok(shell.streams.stdin.clone()),
        path => shell.reader_of(path),
    };
    let reader = match opened {
        Ok(reader) => reader,
        Err(why) => return Err(gives_up(shell, &format!("{archive}: Cannot open: {why}")).await),
    };
    let source = Source { reader, unpacking: None, bytes: Vec::new(), at: 0, began: false, ended: false };
    let wanted = given.operands.iter().map(|name| (name.trim_end_matches('/').to_owned(), false)).collect();
    let mut unpacker = Unpacker {
        source,
        directory: directory.to_owned(),
        wanted,
        strip,
        lists: given.has('t'),
        verbose: given.has('v'),
        keeps_times: !given.has('m'),
        keeps_modes: given.has('p') || shell.tree.credentials().user == User::Root,
        directory_modes: Vec::new(),
        held,
        links_out: BTreeSet::new(),
        to_output: given.has('O'),
        removes_slash: false,
        failed: false,
    };
    unpacker.run(shell, excluded).await?;
    for (directory, mode) in unpacker.directory_modes.iter().rev() {
        // It may have been removed meanwhile.
        let _ = lock(&shell.tree).set_mode(directory, *mode, shell.now());
    }
    let missing: Vec<String> =
        unpacker.wanted.iter().filter(|(_, found)| !found).map(|(name, _)| name.clone()).collect();
    for name in missing {
        unpacker.fail(shell, &format!("{name}: Not found in archive")).await;
    }
    Ok(unpacker.failed)
}

/// The bytes of an archive, unpacked if they are packed.
struct Source {
    reader: Reader,
    unpacking: Option<MultiGzDecoder<Vec<u8>>>,
    bytes: Vec<u8>,
    at: usize,
    began: bool,
    ended: bool,
}

impl Source {
    /// The bytes that are there.
    fn ready(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Reads some more. False: there are none.
    async fn fill(&mut self, shell: &Shell) -> Result<bool, Stop> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let before = self.bytes.len();
        while self.bytes.len() == before && !self.ended {
            let mut read = Vec::new();
            // The first two bytes say whether it is packed.
            let least = if self.began { 1 } else { 2 };
            while read.len() < least && !self.ended {
                self.ended = self.reader.read_into(&mut read, PACKED_AT_ONCE, None).await == 0;
            }
            if !self.began && read.starts_with(&[0x1f, 0x8b]) {
                self.unpacking = Some(MultiGzDecoder::new(Vec::new()));
            }
            self.began = true;
            match &mut self.unpacking {
                None => self.bytes.append(&mut read),
                Some(unpacking) => {
                    let unpacked = unpacking.write_all(&read);
                    let unpacked = if self.ended { unpacked.and_then(|()| unpacking.try_finish()) } else { unpacked };
                    if unpacked.is_err() {
                        return Err(gives_up(shell, "the archive is not in gzip format, or damaged").await);
                    }
                    self.bytes.append(unpacking.get_mut());
                }
            }
            shell.step(1 + (self.bytes.len() - before) as u64 / BYTES_A_STEP).await?;
        }
        Ok(self.bytes.len() > before)
    }

    /// The next block; none at the end.
    async fn block(&mut self, shell: &Shell) -> Result<Option<[u8; BLOCK]>, Stop> {
        while self.ready().len() < BLOCK {
            if !self.fill(shell).await? {
                return Ok(None);
            }
        }
        let block = self.ready().first_chunk().copied();
        self.at += BLOCK;
        Ok(block)
    }

    /// The next bytes, at most so many. None are left: that is told.
    async fn part(&mut self, shell: &Shell, most: u64) -> Result<Vec<u8>, Stop> {
        if self.ready().is_empty() && !self.fill(shell).await? {
            return Err(gives_up(shell, "Unexpected EOF in archive").await);
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(PIPE_BYTES);
        let ready = self.ready();
        let part = ready[..ready.len().min(most)].to_vec();
        self.at += part.len();
        Ok(part)
    }

    /// Passes over so many bytes.
    async fn skip(&mut self, shell: &Shell, count: u64) -> Result<(), Stop> {
        let mut left = count;
        while left > 0 {
            shell.step(1).await?;
            left -= self.part(shell, left).await?.len() as u64;
        }
        Ok(())
    }
}

struct Unpacker {
    source: Source,
    directory: String,
    /// Names that are asked for, and whether they were there; none: all are.
    wanted: Vec<(String, bool)>,
    /// Parts that names lose.
    strip: usize,
    lists: bool,
    verbose: bool,
    keeps_times: bool,
    to_output: bool,
    /// True when modes are set as they are in the archive, without the creation mask.
    keeps_modes: bool,
    /// Modes of directories, which are set at the end: they may forbid to fill them.
    directory_modes: Vec<(String, u16)>,
    held: Held,
    /// Symbolic links of the archive that may lead out of the directory: no other entry goes through them.
    links_out: BTreeSet<String>,
    /// True when it was reported that names lose their leading slash.
    removes_slash: bool,
    failed: bool,
}

impl Unpacker {
    async fn run(&mut self, shell: &Shell, excluded: &Excluded) -> Result<(), Stop> {
        let (mut long_name, mut long_target, mut long_size) = (None, None, None);
        let mut first = true;
        while let Some(block) = self.source.block(shell).await? {
            shell.step(1).await?;
            if block.iter().all(|byte| *byte == 0) {
                // The end. What follows is read, as its writer may wait for that.
                while self.source.fill(shell).await? {
                    self.source.at = self.source.bytes.len();
                }
                return Ok(());
            }
            let Some(mut header) = Header::parse(&block) else {
                let what = match first {
                    true => "This does not look like a tar archive",
                    false => "the archive is damaged",
                };
                return Err(gives_up(shell, what).await);
            };
            first = false;
            match header.kind {
                Kind::LongName => long_name = Some(self.attribute(shell, header.size).await?),
                Kind::LongTarget => long_target = Some(self.attribute(shell, header.size).await?),
                Kind::Extended => {
                    let bytes = self.attribute(shell, header.size).await?;
                    let Some(found) = attributes(&bytes) else {
                        return Err(gives_up(shell, "Malformed extended header").await);
                    };
                    for (name, value) in found {
                        match name {
                            b"path" => long_name = Some(value.to_vec()),
                            b"linkpath" => long_target = Some(value.to_vec()),
                            b"size" => long_size = std::str::from_utf8(value).ok().and_then(|size| size.parse().ok()),
                            _ => {}
                        }
                    }
                }
                Kind::Global => drop(self.attribute(shell, header.size).await?),
                Kind::File | Kind::HardLink | Kind::SymbolicLink | Kind::Directory | Kind::Other => {
                    header.name = long_name.take().unwrap_or(header.name);
                    header.target = long_target.take().unwrap_or(header.target);
                    if header.kind == Kind::File {
                        header.size = long_size.take().unwrap_or(header.size);
                    }
                    long_size = None;
                    self.entry(shell, &header, excluded).await?;
                }
            }
        }
        if first {
            return Err(gives_up(shell, "This does not look like a tar archive").await);
        }
        Ok(())
    }

    /// The content of a header that says something of another, without zero bytes at its end.
    async fn attribute(&mut self, shell: &Shell, size: u64) -> Result<Vec<u8>, Stop> {
        if size > MAX_ATTRIBUTES {
            return Err(gives_up(shell, "Malformed extended header").await);
        }
        shell.step(size / BYTES_A_STEP).await?;
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < size {
            let left = size - bytes.len() as u64;
            bytes.extend(self.source.part(shell, left).await?);
        }
        self.source.skip(shell, padding(size) as u64).await?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        Ok(bytes)
    }

    /// Unpacks or lists one entry.
    async fn entry(&mut self, shell: &Shell, header: &Header, excluded: &Excluded) -> Result<(), Stop> {
        let whole = header.size.saturating_add(padding(header.size) as u64);
        let name = String::from_utf8_lossy(&header.name).into_owned();
        if !self.is_wanted(&name) || excluded.has(shell, &name).await? {
            return self.source.skip(shell, whole).await;
        }
        if self.lists {
            let text = if self.verbose { described(header, &name) } else { format!("{name}\n") };
            shell.out("tar", text.as_bytes()).await?;
            return self.source.skip(shell, whole).await;
        }
        if name.starts_with('/') && !std::mem::replace(&mut self.removes_slash, true) {
            shell.error("tar", "Removing leading `/' from member names").await;
        }
        if name.split('/').any(|part| part == "..") {
            self.fail(shell, &format!("{name}: Member name contains '..'")).await;
            return self.source.skip(shell, whole).await;
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).skip(self.strip).collect();
        if parts.is_empty() {
            return self.source.skip(shell, whole).await;
        }
        if self.verbose {
            let told = if self.to_output { &shell.streams.stderr } else { &shell.streams.stdout };
            shell.write(told, "tar", format!("{name}\n").as_bytes()).await?;
        }
        let path = absolute(&self.directory, &parts.join("/"));
        if self.to_output {
            let writer = shell.streams.stdout.clone();
            return self.content(shell, header, Some(&writer)).await;
        }
        self.unpack(shell, header, &name, &path).await
    }

    /// Returns whether an entry at `path` would be made through a link that leads out of the directory.
    fn goes_out(&self, kind: Kind, path: &str) -> bool {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        // A directory is made where the link leads; all else takes the link's place.
        let itself = (kind == Kind::Directory).then_some(path);
        !self.links_out.is_empty() && above.chain(itself).any(|path| self.links_out.contains(path))
    }

    async fn unpack(&mut self, shell: &Shell, header: &Header, name: &str, path: &str) -> Result<(), Stop> {
        let target = String::from_utf8_lossy(&header.target).into_owned();
        if self.goes_out(header.kind, path) {
            self.fail(shell, &format!("{name}: Cannot open: Not a directory")).await;
            return self.content(shell, header, None).await;
        }
        if let Err(why) = make_directories(shell, &absolute(path, "..")).await? {
            self.fail(shell, &format!("{name}: Cannot open: {why}")).await;
            return self.content(shell, header, None).await;
        }
        let there = lock(&shell.tree).stat(path).map(|entry| entry.kind).ok();
        // A file takes the place of what is there, and goes through no link.
        if header.kind != Kind::Directory && matches!(there, Some(FileKind::File | FileKind::Link)) {
            // What is made next says if it is still there.
            let _ = lock(&shell.tree).remove(path, shell.now());
            self.links_out.remove(path);
        }
        let (made, writer) = match header.kind {
            Kind::Directory => (make_directories(shell, path).await?, None),
            Kind::SymbolicLink => {
                if target.starts_with('/') || target.split('/').any(|part| part == "..") {
                    if !self.held.grow(path.len() + 64) {
                        return Err(gives_up(shell, "memory exhausted").await);
                    }
                    self.links_out.insert(path.to_owned());
                }
                let made = lock(&shell.tree).make_symbolic_link(path, &target, shell.now());
                (made.map_err(|error| reason(&error)), None)
            }
            Kind::HardLink => {
                // What lies before the last `..` is removed, as GNU's does.
                let parts: Vec<&str> = target.split('/').collect();
                let start = parts.iter().rposition(|part| *part == "..").map_or(0, |at| at + 1);
                let existing = absolute(&self.directory, parts[start..].join("/").trim_start_matches('/'));
                let made = lock(&shell.tree).make_hard_link(path, &existing, shell.now());
                (made.map_err(|error| reason(&error)), None)
            }
            Kind::File => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
                Ok(writer) => (Ok(()), Some(writer)),
                Err(why) => (Err(why), None),
            },
            // There are no devices to be made, and the other kinds are no entries.
            Kind::Other | Kind::LongName | Kind::LongTarget | Kind::Extended | Kind::Global => {
                (Err("Operation not permitted"), None)
            }
        };
        if let Err(why) = made {
            let verb = match header.kind {
                Kind::Directory => "mkdir".to_owned(),
                Kind::SymbolicLink => format!("create symlink to '{target}'"),
                Kind::HardLink => format!("hard link to '{target}'"),
                Kind::File => "open".to_owned(),
                _ => "mknod".to_owned(),
            };
            self.fail(shell, &format!("{name}: Cannot {verb}: {why}")).await;
            return self.content(shell, header, None).await;
        }
        self.content(shell, header, writer.as_ref()).await?;
        if matches!(header.kind, Kind::File | Kind::Directory) {
            let mask = if self.keeps_modes { 0 } else { shell.tree.credentials().mask | 0o6000 };
            let mode = header.mode & !mask;
            match header.kind {
                // One that may not be written to is filled first.
                Kind::Directory => {
                    if !self.held.grow(path.len() + 64) {
                        return Err(gives_up(shell, "memory exhausted").await);
                    }
                    self.directory_modes.push((path.to_owned(), mode));
                }
                _ => {
                    // It may have been removed meanwhile.
                    let _ = lock(&shell.tree).set_mode(path, mode, shell.now());
                }
            }
        }
        if self.keeps_times && header.kind == Kind::File {
            let time = Some(header.modified.saturating_mul(1_000_000_000));
            // It may have been removed meanwhile.
            let _ = lock(&shell.tree).set_file_times(path, time, time, shell.now());
        }
        Ok(())
    }

    /// Takes the content of an entry, and writes it if it is a file's.
    async fn content(&mut self, shell: &Shell, header: &Header, writer: Option<&Writer>) -> Result<(), Stop> {
        let Some(writer) = writer else {
            return self.source.skip(shell, header.size.saturating_add(padding(header.size) as u64)).await;
        };
        let mut left = header.size;
        while left > 0 {
            let part = self.source.part(shell, left).await?;
            left -= part.len() as u64;
            shell.write(writer, "tar", &part).await?;
        }
        self.source.skip(shell, padding(header.size) as u64).await
    }

    /// Returns whether a name, or a directory above it, was asked for.
    fn is_wanted(&mut self, name: &str) -> bool {
        let mut is_wanted = self.wanted.is_empty();
        for (wanted, found) in &mut self.wanted {
            let rest = name.strip_prefix(wanted.as_str());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                (is_wanted, *found) = (true, true);
            }
        }
        is_wanted
    }

    async fn fail(&mut self, shell: &Shell, what: &str) {
        self.failed = true;
        shell.error("tar", what).await;
    }
}

/// A line of `tar -tv`.
fn described(header: &Header, name: &str) -> String {
    let (kind, link) = match header.kind {
        Kind::Directory => ('d', ""),
        Kind::SymbolicLink => ('l', " -> "),
        Kind::HardLink => ('h', " link to "),
        _ => ('-', ""),
    };
    let (mode, owner) = (letters(header.mode), header.owner.name());
    let target = if link.is_empty() { Cow::Borrowed("") } else { String::from_utf8_lossy(&header.target) };
    let time = crate::programs::date::zoned(header.modified.saturating_mul(1_000_000_000));
    let date = jiff::fmt::strtime::format("%Y-%m-%d %H:%M", &time).unwrap_or_default();
    format!("{kind}{mode} {owner}/{owner} {:9} {date} {name}{link}{target}\n", header.size)
}
