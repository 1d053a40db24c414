//! Programs `gzip`, `gunzip` and `zcat`.

use super::input::options;
use crate::PIPE_BYTES;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop, reason};
use crate::streams::{Reader, Writer};
use flate2::Compression;
use flate2::write::{GzEncoder, MultiGzDecoder};
use proofbox_vfs::{FileKind, FileUse, lock};
use std::io::Write as _;

/// Memory that one file takes, about, in bytes: what is packed, or what packed bytes may become.
const MEMORY: usize = 5 << 20;
/// Bytes that are unpacked at a time: they become a thousand times as many at most.
const PACKED_AT_ONCE: usize = 4096;
/// Number of bytes that cost a step to compress.
const PACKED_A_STEP: u64 = 64;
/// Number of bytes that cost a step to unpack.
const UNPACKED_A_STEP: u64 = 512;

const LONG: &[(&str, char)] = &[
    ("decompress", 'd'),
    ("uncompress", 'd'),
    ("stdout", 'c'),
    ("to-stdout", 'c'),
    ("keep", 'k'),
    ("force", 'f'),
    ("test", 't'),
    ("verbose", 'v'),
    ("quiet", 'q'),
    ("recursive", 'r'),
    ("no-name", 'n'),
    ("name", 'N'),
    ("suffix", 'S'),
    ("fast", '1'),
    ("best", '9'),
];

/// Direction of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Pack(Compression),
    Unpack,
}

/// Runs `gzip`, `gunzip` or `zcat`.
pub(super) async fn gzip(shell: &mut Shell, who: &'static str, arguments: &[String]) -> Done {
    let given = options(shell, who, arguments, "dcktfvqrnNS:123456789", LONG, 1).await?;
    let level = given.last_of("123456789").and_then(|digit| digit.to_digit(10)).unwrap_or(6);
    let work = match who == "gzip" && !given.has('d') && !given.has('t') {
        true => Work::Pack(Compression::new(level)),
        false => Work::Unpack,
    };
    let files = Files {
        work,
        suffix: given.value('S').unwrap_or(".gz").to_owned(),
        to_output: given.has('c') || who == "zcat",
        tests: given.has('t'),
        keeps: given.has('k'),
        force: given.has('f'),
    };
    let mut operands: Vec<String> = given.operands.iter().rev().cloned().collect();
    if operands.is_empty() {
        operands.push("-".to_owned());
    }
    let mut status = 0;
    while let Some(name) = operands.pop() {
        shell.step(1).await?;
        if given.has('r') && shell.lstat(&name).is_ok_and(|entry| entry.kind == FileKind::Directory) {
            let entries = lock(&shell.tree).list(&shell.path(&name), 1).unwrap_or_default();
            shell.step(1 + entries.len() as u64 / 16).await?;
            operands.extend(entries.iter().rev().map(|entry| format!("{}/{}", name.trim_end_matches('/'), entry.name)));
            continue;
        }
        status = status.max(files.one(shell, &name).await?);
    }
    Ok(status)
}

struct Files {
    work: Work,
    suffix: String,
    to_output: bool,
    tests: bool,
    keeps: bool,
    force: bool,
}

impl Files {
    /// Packs or unpacks one file: 0, 1 for an error, 2 for a warning.
    async fn one(&self, shell: &Shell, name: &str) -> Done {
        if name == "-" {
            let writer = if self.tests { Writer::null() } else { shell.streams.stdout.clone() };
            return self.convert(shell, "stdin", shell.streams.stdin.clone(), &writer).await;
        }
        let mut name = name.to_owned();
        if self.work == Work::Unpack
            && shell.stat(&name).is_err()
            && shell.stat(&format!("{name}{}", self.suffix)).is_ok()
        {
            name.push_str(&self.suffix);
        }
        let reader = match shell.reader_of(&name) {
            Ok(reader) => reader,
            Err("Is a directory") => {
                shell.error("gzip", &format!("{name} is a directory -- ignored")).await;
                return Ok(2);
            }
            Err(why) => {
                let suffix = if self.work == Work::Unpack && !name.ends_with(&self.suffix) { &self.suffix } else { "" };
                shell.error("gzip", &format!("{name}{suffix}: {why}")).await;
                return Ok(1);
            }
        };
        if self.to_output || self.tests {
            let writer = if self.tests { Writer::null() } else { shell.streams.stdout.clone() };
            return self.convert(shell, &name, reader, &writer).await;
        }
        let target = match self.work {
            Work::Pack(_) if name.ends_with(&self.suffix) && !self.force => {
                shell.error("gzip", &format!("{name} already has {} suffix -- unchanged", self.suffix)).await;
                return Ok(2);
            }
            Work::Pack(_) => format!("{name}{}", self.suffix),
            Work::Unpack => match (name.strip_suffix(&self.suffix), name.strip_suffix(".tgz")) {
                (Some(target), _) => target.to_owned(),
                (None, Some(target)) => format!("{target}.tar"),
                (None, None) => {
                    shell.error("gzip", &format!("{name}: unknown suffix -- ignored")).await;
                    return Ok(2);
                }
            },
        };
        if shell.lstat(&target).is_ok() && !self.force {
            shell.error("gzip", &format!("{target} already exists;\tnot overwritten")).await;
            return Ok(2);
        }
        let writer = match shell.writer_of(&target, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => {
                shell.error("gzip", &format!("{target}: {why}")).await;
                return Ok(1);
            }
        };
        let entry = shell.stat(&name).ok();
        let modified = entry.as_ref().map(|entry| entry.modified);
        let status = self.convert(shell, &name, reader, &writer).await?;
        let path = if status == 0 { shell.path(&name) } else { shell.path(&target) };
        // It may have been removed meanwhile.
        let _ = lock(&shell.tree).set_file_times(&shell.path(&target), modified, modified, shell.now());
        if let Some(entry) = entry {
            let _ = lock(&shell.tree).set_mode(&shell.path(&target), entry.mode, shell.now());
        }
        if status == 0 && self.keeps {
            return Ok(0);
        }
        let removed = lock(&shell.tree).remove(&path, shell.now());
        if let Err(error) = removed {
            shell.error("gzip", &format!("{name}: {}", reason(&error))).await;
            return Ok(1);
        }
        Ok(status)
    }

    async fn convert(&self, shell: &Shell, name: &str, reader: Reader, writer: &Writer) -> Done {
        let Some(_held) = shell.shared.used.hold(MEMORY) else {
            return Err(shell.fails("gzip", "memory exhausted").await);
        };
        match self.work {
            Work::Pack(level) => pack(shell, level, reader, writer).await.map(|()| 0),
            Work::Unpack => match unpack(shell, reader, writer).await? {
                Ok(()) => Ok(0),
                Err(why) => {
                    shell.say(&format!("\ngzip: {name}: {why}\n")).await;
                    Ok(1)
                }
            },
        }
    }
}

async fn pack(shell: &Shell, level: Compression, mut reader: Reader, writer: &Writer) -> Result<(), Stop> {
    let mut packing = GzEncoder::new(Vec::new(), level);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
        shell.step(1 + read as u64 / PACKED_A_STEP).await?;
        match read {
            0 => packing.try_finish().expect("a vector takes all bytes"),
            _ => packing.write_all(&bytes).expect("a vector takes all bytes"),
        }
        let packed = std::mem::take(packing.get_mut());
        shell.write(writer, "gzip", &packed).await?;
        if read == 0 {
            return Ok(());
        }
    }
}

/// Err: what is wrong with the packed bytes.
async fn unpack(shell: &Shell, mut reader: Reader, writer: &Writer) -> Result<Result<(), &'static str>, Stop> {
    let mut unpacking = MultiGzDecoder::new(Vec::new());
    let mut bytes = Vec::new();
    let mut began = false;
    loop {
        bytes.clear();
        let least = if began { 1 } else { 2 };
        let mut ended = false;
        while bytes.len() < least && !ended {
            ended = reader.read_into(&mut bytes, PACKED_AT_ONCE, None).await == 0;
        }
        if !began && !bytes.starts_with(&[0x1f, 0x8b]) {
            return Ok(Err(if bytes.len() < 2 { "unexpected end of file" } else { "not in gzip format" }));
        }
        began = true;
        let unpacked = unpacking.write_all(&bytes);
        let unpacked = if ended { unpacked.and_then(|()| unpacking.try_finish()) } else { unpacked };
        let plain = std::mem::take(unpacking.get_mut());
        shell.step(1 + plain.len() as u64 / UNPACKED_A_STEP).await?;
        shell.write(writer, "gzip", &plain).await?;
        match unpacked {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Ok(Err("unexpected end of file"));
            }
            Err(_) => return Ok(Err("invalid compressed data--format violated")),
            Ok(()) if ended => return Ok(Ok(())),
            Ok(()) => {}
        }
    }
}
