//! Program `unzip`.

use super::super::destination::make_directories;
use super::super::input::{Content, options, usage};
use super::archive::{Entry, Method, read};
use crate::execute::WriteAt;
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, Stop};
use crate::streams::Writer;
use flate2::Crc;
use flate2::write::DeflateDecoder;
use proofbox_vfs::{FileUse, lock};
use std::io::Write as _;

/// Memory of unpacking, about, in bytes: what the packed bytes of one turn may become.
const MEMORY: usize = 5 << 20;
/// Bytes that are unpacked at a time.
const PACKED_AT_ONCE: usize = 4096;
/// Number of bytes that cost a step to unpack.
const BYTES_A_STEP: u64 = 512;
/// Names that are extracted or excluded.
const MAX_PATTERNS: usize = 200;

/// Exit code of an archive with errors.
const DAMAGED: i32 = 2;
/// Exit code of what is no archive.
const NO_ARCHIVE: i32 = 9;
/// Exit code when no name matches.
const NO_MATCH: i32 = 11;

/// Runs `unzip`.
pub(in super::super) async fn unzip(shell: &mut Shell, arguments: &[String]) -> Done {
    let at = arguments.iter().position(|word| word == "-x").unwrap_or(arguments.len());
    let (words, excluded) = arguments.split_at(at);
    // A directory may be named after what is excluded.
    let late = excluded.iter().position(|word| word == "-d").unwrap_or(excluded.len());
    let (excluded, tail) = excluded.split_at(late);
    let words: Vec<String> = words.iter().chain(tail).cloned().collect();
    let given = options(shell, "unzip", &words, "oqnd:lpjtv", &[], 10).await?;
    let Some((archive, members)) = given.operands.split_first() else {
        return Err(usage(shell, "unzip", "no archive", 10).await);
    };
    let patterns = |words: &[String]| {
        let patterns = words.iter().take(MAX_PATTERNS).map(|pattern| Pattern::new(pattern, Lies::Whole));
        patterns.collect::<Result<Vec<_>, _>>()
    };
    let (Ok(wanted), Ok(excluded)) = (patterns(members), patterns(excluded.get(1..).unwrap_or_default())) else {
        return Err(usage(shell, "unzip", "invalid pattern", 10).await);
    };
    let found = [archive.clone(), format!("{archive}.zip")].into_iter();
    let opened = found.map(|path| (shell.reader_of(&path), path)).find(|(reader, _)| reader.is_ok());
    let Some((Ok(reader), path)) = opened else {
        shell.say(&format!("unzip:  cannot find or open {archive}, {archive}.zip or {archive}.ZIP.\n")).await;
        return Ok(NO_ARCHIVE);
    };
    let content = Content::read(shell, "unzip", reader).await?;
    let Some(_held) = shell.shared.used.hold(MEMORY + content.bytes.len() * 4) else {
        return Err(shell.fails("unzip", "memory exhausted").await);
    };
    shell.step(1 + content.bytes.len() as u64 / 512).await?;
    let pipes = given.has('p');
    if !pipes && (!given.has('q') || given.has('l')) {
        shell.out("unzip", format!("Archive:  {path}\n").as_bytes()).await?;
    }
    let Some(entries) = read(&content.bytes) else {
        let text = format!(
            "  End-of-central-directory signature not found.  Either this file is not\n  a zipfile, or it constitutes one \
             disk of a multi-part archive.  In the\n  latter case the central directory and zipfile comment will be found \
             on\n  the last disk(s) of this archive.\nunzip:  cannot find zipfile directory in one of {path} or\n        \
             {path}.zip, and cannot find {path}.ZIP, period.\n"
        );
        shell.say(&text).await;
        return Ok(NO_ARCHIVE);
    };
    let chosen: Vec<&Entry<'_>> = entries
        .iter()
        .filter(|entry| wanted.is_empty() || wanted.iter().any(|pattern| pattern.is(&entry.name)))
        .filter(|entry| !excluded.iter().any(|pattern| pattern.is(&entry.name)))
        .collect();
    shell.step(1 + entries.len() as u64).await?;
    if given.has('l') || given.has('v') {
        list(shell, &chosen).await?;
        return Ok(if chosen.is_empty() { NO_MATCH } else { 0 });
    }
    let extraction = Extraction {
        directory: given.value('d').unwrap_or("").trim_end_matches('/').to_owned(),
        pipes,
        tests: given.has('t'),
        quiet: given.has('q') || pipes,
        keeps: !given.has('o'),
        never: given.has('n'),
        junks: given.has('j'),
    };
    let mut status = 0;
    for entry in &chosen {
        status = status.max(extraction.one(shell, entry).await?);
    }
    if extraction.tests && status == 0 {
        shell.out("unzip", format!("No errors detected in compressed data of {path}.\n").as_bytes()).await?;
    }
    for (pattern, name) in wanted.iter().zip(members) {
        if !entries.iter().any(|entry| pattern.is(&entry.name)) {
            shell.say(&format!("caution: filename not matched:  {name}\n")).await;
            status = status.max(NO_MATCH);
        }
    }
    Ok(status)
}

async fn list(shell: &Shell, entries: &[&Entry<'_>]) -> Result<(), Stop> {
    let line = "---------";
    shell
        .out("unzip", format!("  Length      Date    Time    Name\n{line}  ---------- -----   ----\n").as_bytes())
        .await?;
    let mut total = 0;
    for entry in entries {
        total += u64::from(entry.size);
        let time = match entry.modified() {
            Some(time) => format!(
                "{:04}-{:02}-{:02} {:02}:{:02}",
                time.year(),
                time.month(),
                time.day(),
                time.hour(),
                time.minute()
            ),
            None => "1980-00-00 00:00".to_owned(),
        };
        shell.out("unzip", format!("{:>9}  {time}   {}\n", entry.size, entry.name).as_bytes()).await?;
    }
    let files = if entries.len() == 1 { "file" } else { "files" };
    let text =
        format!("{line}                     -------\n{total:>9}                     {} {files}\n", entries.len());
    shell.out("unzip", text.as_bytes()).await
}

struct Extraction {
    directory: String,
    /// True when content goes to standard output.
    pipes: bool,
    tests: bool,
    quiet: bool,
    /// True when files that are there stay, which is told.
    keeps: bool,
    /// True when they stay without a word.
    never: bool,
    junks: bool,
}

impl Extraction {
    async fn one(&self, shell: &Shell, entry: &Entry<'_>) -> Done {
        shell.step(2).await?;
        if self.pipes || self.tests {
            if entry.is_directory() {
                return Ok(0);
            }
            let writer = if self.pipes { shell.streams.stdout.clone() } else { Writer::null() };
            let status = unpack(shell, entry, &writer).await?;
            if self.tests && !self.quiet {
                let verdict = if status == 0 { "OK" } else { "error" };
                shell.out("unzip", format!("    testing: {:<22}   {verdict}\n", entry.name).as_bytes()).await?;
            }
            return Ok(status);
        }
        // Nothing is put above or beside the directory.
        let parts = entry.name.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
        let name = match self.junks {
            true => entry.name.rsplit('/').next().filter(|name| *name != "..").unwrap_or_default().to_owned(),
            false => parts.collect::<Vec<_>>().join("/"),
        };
        if name.is_empty() || (self.junks && entry.is_directory()) {
            return Ok(0);
        }
        let shown = if self.directory.is_empty() { name } else { format!("{}/{name}", self.directory) };
        let path = shell.path(&shown);
        if entry.is_directory() {
            if shell.is_directory(&shown) {
                return Ok(0);
            }
            if let Err(why) = make_directories(shell, &path).await? {
                shell.say(&format!("checkdir error:  cannot create {shown}\n                 {why}\n")).await;
                return Ok(DAMAGED);
            }
            self.say(shell, &format!("   creating: {shown}/\n")).await?;
            return Ok(0);
        }
        if self.never && shell.lstat(&shown).is_ok() {
            return Ok(0);
        }
        if self.keeps && shell.lstat(&shown).is_ok() {
            if !self.quiet {
                let text = format!(
                    "replace {shown}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n(EOF or read error, treating as \"[N]one\" ...)\n"
                );
                shell.say(&text).await;
            }
            return Ok(1);
        }
        if let Err(why) = make_directories(shell, &crate::state::absolute(&path, "..")).await? {
            shell.say(&format!("checkdir error:  cannot create {shown}\n                 {why}\n")).await;
            return Ok(DAMAGED);
        }
        let writer = match shell.writer_of(&path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => writer,
            Err(why) => {
                shell.say(&format!("error:  cannot create {shown}\n        {why}\n")).await;
                return Ok(50);
            }
        };
        let verb = if entry.method == Method::Deflated { "  inflating" } else { " extracting" };
        self.say(shell, &format!("{verb}: {shown:<22}  \n")).await?;
        let status = unpack(shell, entry, &writer).await?;
        if let Some(mode) = entry.mode {
            let mode = mode & 0o777 & !shell.tree.credentials().mask;
            // It may have been removed meanwhile.
            let _ = lock(&shell.tree).set_mode(&path, mode, shell.now());
        }
        Ok(status)
    }

    async fn say(&self, shell: &Shell, text: &str) -> Result<(), Stop> {
        match self.quiet {
            true => Ok(()),
            false => shell.out("unzip", text.as_bytes()).await,
        }
    }
}

async fn unpack(shell: &Shell, entry: &Entry<'_>, writer: &Writer) -> Done {
    if entry.is_encrypted || matches!(entry.method, Method::Unknown(_)) {
        shell.say(&format!("   skipping: {:<22}  unsupported compression method\n", entry.name)).await;
        return Ok(81);
    }
    let mut checksum = Crc::new();
    let mut unpacking = DeflateDecoder::new(Vec::new());
    let mut fine = true;
    for block in entry.packed.chunks(PACKED_AT_ONCE) {
        let plain = match entry.method {
            Method::Deflated => {
                fine &= unpacking.write_all(block).is_ok();
                std::mem::take(unpacking.get_mut())
            }
            Method::Stored | Method::Unknown(_) => block.to_vec(),
        };
        shell.step(1 + plain.len() as u64 / BYTES_A_STEP).await?;
        checksum.update(&plain);
        shell.write(writer, "unzip", &plain).await?;
        if !fine {
            break;
        }
    }
    if entry.method == Method::Deflated && fine {
        fine = unpacking.try_finish().is_ok();
        let plain = std::mem::take(unpacking.get_mut());
        checksum.update(&plain);
        shell.write(writer, "unzip", &plain).await?;
    }
    if !fine || checksum.sum() != entry.checksum {
        let (found, wanted) = (checksum.sum(), entry.checksum);
        shell.say(&format!("  bad CRC {found:08x}  (should be {wanted:08x})\n")).await;
        return Ok(DAMAGED);
    }
    Ok(0)
}
