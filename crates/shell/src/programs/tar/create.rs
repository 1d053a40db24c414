//! Creation of archives, `tar -c`.

use super::header::{Header, Kind, padding};
use super::{Excluded, PACKING_BYTES, gives_up};
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::programs::options::Given;
use crate::state::{Shell, Stop, absolute, reason};
use crate::streams::{Reader, Writer};
use flate2::{Compression, write::GzEncoder};
use proofbox_vfs::{FileEntry, FileKind, FileUse, OpenFile, lock};
use std::io::Write as _;

/// An archive is a multiple of so many bytes long.
const RECORD: u64 = 10_240;
/// Number of bytes that cost a step to compress.
const BYTES_A_STEP: u64 = 128;

/// Packs the operands, names below `directory`; whether something was left out that should not have been.
pub(super) async fn create(
    shell: &Shell,
    given: &Given,
    archive: &str,
    directory: &str,
    excluded: &Excluded,
) -> Result<bool, Stop> {
    if given.operands.is_empty() {
        return Err(gives_up(shell, "Cowardly refusing to create an empty archive").await);
    }
    let writer = match archive {
        "-" => shell.streams.stdout.clone(),
        path => match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => return Err(gives_up(shell, &format!("{path}: Cannot open: {why}")).await),
        },
    };
    let Some(_held) = shell.shared.used.hold(PACKING_BYTES) else {
        return Err(gives_up(shell, "memory exhausted").await);
    };
    let told = match (given.has('v'), archive) {
        (false, _) => Writer::null(),
        (true, "-") => shell.streams.stderr.clone(),
        (true, _) => shell.streams.stdout.clone(),
    };
    let packing = given.has('z').then(|| GzEncoder::new(Vec::new(), Compression::default()));
    let own = (archive != "-").then(|| shell.path(archive));
    let mut packer = Packer { writer, packing, written: 0, told, own, removes_slash: false, failed: false };
    for operand in &given.operands {
        packer.add(shell, directory, operand, excluded).await?;
    }
    packer.finish(shell).await?;
    Ok(packer.failed)
}

struct Packer {
    writer: Writer,
    packing: Option<GzEncoder<Vec<u8>>>,
    /// Bytes of the archive, before they were compressed.
    written: u64,
    /// Writer for the names of the entries.
    told: Writer,
    /// The path of the archive itself.
    own: Option<String>,
    /// True when it was reported that names lose their leading slash.
    removes_slash: bool,
    failed: bool,
}

impl Packer {
    /// Adds a file, or a directory with all it holds.
    async fn add(&mut self, shell: &Shell, directory: &str, name: &str, excluded: &Excluded) -> Result<(), Stop> {
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(super::FAILURE))?;
        let mut waiting = vec![name.to_owned()];
        while let Some(name) = waiting.pop() {
            shell.step(1).await?;
            if excluded.has(shell, &name).await? {
                continue;
            }
            let path = absolute(directory, &name);
            let follows = name.ends_with('/') || name == "." || name.ends_with("/.");
            let found = {
                let tree = lock(&shell.tree);
                if follows { tree.stat_followed(&path) } else { tree.stat(&path) }
            };
            let entry = match found {
                Ok(entry) => entry,
                Err(error) => {
                    self.fail(shell, &format!("{name}: Cannot stat: {}", reason(&error))).await;
                    continue;
                }
            };
            if self.own.as_ref() == Some(&path) {
                shell.error("tar", &format!("{name}: file is the archive; not dumped")).await;
                continue;
            }
            if name.starts_with('/') && !std::mem::replace(&mut self.removes_slash, true) {
                shell.error("tar", "Removing leading `/' from member names").await;
            }
            self.add_entry(shell, &name, &path, &entry).await?;
            if entry.kind != FileKind::Directory {
                continue;
            }
            let entries = lock(&shell.tree).list(&path, 1).unwrap_or_default();
            for below in entries.iter().rev() {
                shell.step(1).await?;
                let below = format!("{}/{}", name.trim_end_matches('/'), below.name);
                if !held.grow(below.len() + 64) {
                    return Err(gives_up(shell, "memory exhausted").await);
                }
                waiting.push(below);
            }
        }
        Ok(())
    }

    async fn add_entry(&mut self, shell: &Shell, name: &str, path: &str, entry: &FileEntry) -> Result<(), Stop> {
        let mut shown = name.trim_start_matches('/').trim_end_matches('/').to_owned();
        if shown.is_empty() {
            shown.push('.');
        }
        let mut target = String::new();
        let mut content = None;
        let kind = match entry.kind {
            FileKind::Directory => {
                shown.push('/');
                Kind::Directory
            }
            FileKind::Link => {
                target = entry.link_target.clone().unwrap_or_default();
                Kind::SymbolicLink
            }
            FileKind::Device | FileKind::NamedPipe => {
                shell.error("tar", &format!("{name}: Unknown file type; file ignored")).await;
                return Ok(());
            }
            FileKind::File => {
                match OpenFile::open(&shell.tree, path, FileUse::Read, shell.now()) {
                    Ok(file) => content = Some(Reader::from_file(file)),
                    Err(error) => {
                        self.fail(shell, &format!("{name}: Cannot open: {}", reason(&error))).await;
                        return Ok(());
                    }
                }
                Kind::File
            }
        };
        let size = if content.is_some() { entry.size } else { 0 };
        let (modified, mode, owner) = (entry.modified / 1_000_000_000, entry.mode, entry.owner);
        let mut bytes = Vec::new();
        let header =
            Header { kind, name: shown.clone().into_bytes(), target: target.into_bytes(), size, modified, mode, owner };
        header.write(&mut bytes);
        self.put(shell, &bytes).await?;
        if let Some(mut reader) = content {
            self.put_content(shell, &mut reader, size).await?;
        }
        shell.write(&self.told, "tar", format!("{shown}\n").as_bytes()).await
    }

    /// Writes as many bytes as were announced, whatever has become of the file meanwhile.
    async fn put_content(&mut self, shell: &Shell, reader: &mut Reader, size: u64) -> Result<(), Stop> {
        let mut left = size;
        let mut bytes = Vec::new();
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(PIPE_BYTES);
            bytes.clear();
            if reader.read_into(&mut bytes, most, None).await == 0 {
                bytes.resize(most, 0);
            }
            left -= bytes.len() as u64;
            self.put(shell, &bytes).await?;
        }
        bytes.clear();
        bytes.resize(padding(size), 0);
        self.put(shell, &bytes).await
    }

    async fn put(&mut self, shell: &Shell, bytes: &[u8]) -> Result<(), Stop> {
        self.written += bytes.len() as u64;
        let Some(packing) = &mut self.packing else { return shell.write(&self.writer, "tar", bytes).await };
        shell.step(1 + bytes.len() as u64 / BYTES_A_STEP).await?;
        packing.write_all(bytes).expect("a vector takes all bytes");
        let packed = std::mem::take(packing.get_mut());
        shell.write(&self.writer, "tar", &packed).await
    }

    /// Writes the end of the archive.
    async fn finish(&mut self, shell: &Shell) -> Result<(), Stop> {
        let end = (self.written + 1024).next_multiple_of(RECORD);
        // At most a record and two blocks.
        let zeros = vec![0; (end - self.written) as usize];
        self.put(shell, &zeros).await?;
        let Some(packing) = &mut self.packing else { return Ok(()) };
        packing.try_finish().expect("a vector takes all bytes");
        let packed = std::mem::take(packing.get_mut());
        shell.write(&self.writer, "tar", &packed).await
    }

    async fn fail(&mut self, shell: &Shell, what: &str) {
        self.failed = true;
        shell.error("tar", what).await;
    }
}
