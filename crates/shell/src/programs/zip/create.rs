//! Program `zip`.

use super::super::input::{Content, options, usage};
use super::archive::{Entry, Method, dos_time, read, write};
use crate::execute::WriteAt;
use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Shell, Stop};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use proofbox_vfs::{FileKind, FileUse, lock};
use std::io::Write as _;

/// Memory of one compression, about, in bytes.
const MEMORY: usize = 1 << 20;
/// Entries of an archive.
const MAX_ENTRIES: usize = 0xffff;
/// Bytes that are compressed at a time.
const BLOCK: usize = 16 << 10;
/// Number of bytes that cost a step to compress.
const BYTES_A_STEP: u64 = 64;
/// Patterns of `-x`.
const MAX_EXCLUDED: usize = 200;
/// Exit code when there is nothing to do.
const NOTHING: i32 = 12;

/// Runs `zip`.
pub(in super::super) async fn zip(shell: &mut Shell, arguments: &[String]) -> Done {
    // What follows `-x` is excluded.
    let at = arguments.iter().position(|word| word == "-x").unwrap_or(arguments.len());
    let (words, excluded) = arguments.split_at(at);
    let long = [("recurse-paths", 'r'), ("quiet", 'q'), ("junk-paths", 'j'), ("symlinks", 'y')];
    let given = options(shell, "zip", words, "rqjyXDo0123456789", &long, 16).await?;
    let excluded = excluded.iter().skip(1).map(|pattern| Pattern::new(pattern, Lies::Whole));
    let Ok(excluded) = excluded.take(MAX_EXCLUDED).collect::<Result<Vec<_>, _>>() else {
        return Err(usage(shell, "zip", "invalid pattern", 16).await);
    };
    let Some((target, operands)) = given.operands.split_first().filter(|(_, operands)| !operands.is_empty()) else {
        return Err(usage(shell, "zip", "nothing to do", 16).await);
    };
    let last = target.rsplit('/').next().unwrap_or(target);
    let target = if last.contains('.') { target.clone() } else { format!("{target}.zip") };
    let level = given.last_of("0123456789").and_then(|digit| digit.to_digit(10)).unwrap_or(6);
    let mut held = shell.shared.used.hold(MEMORY).ok_or(Stop::Failed(1))?;
    let before = match shell.reader_of(&target) {
        Ok(reader) => Some(Content::read(shell, "zip", reader).await?),
        Err(_) => None,
    };
    let mut entries = match &before {
        Some(content) => match read(&content.bytes) {
            Some(entries) => entries,
            None => {
                shell.say(&format!("\nzip error: Zip file structure invalid ({target})\n")).await;
                return Ok(3);
            }
        },
        None => Vec::new(),
    };
    let mut open: Vec<String> = operands.iter().rev().cloned().collect();
    let (mut added, mut missing) = (0, false);
    while let Some(path) = open.pop() {
        shell.step(2).await?;
        let Ok(found) = shell.stat(&path) else {
            missing = true;
            shell.say(&format!("\tzip warning: name not matched: {path}\n")).await;
            continue;
        };
        let is_directory = found.kind == FileKind::Directory;
        let name = path.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        let name = if given.has('j') { name.rsplit('/').next().unwrap_or(name) } else { name };
        let name = if is_directory { format!("{name}/") } else { name.to_owned() };
        if is_directory && given.has('r') {
            let below = lock(&shell.tree).list(&shell.path(&path), 1).unwrap_or_default();
            shell.step(1 + below.len() as u64 / 8).await?;
            let above = path.trim_end_matches('/');
            if !held.grow(below.len() * (above.len() + 100)) {
                return Err(shell.fails("zip", "memory exhausted").await);
            }
            // A link to a directory above would be followed without end.
            let paths = below.iter().rev().map(|entry| (entry.kind, format!("{above}/{}", entry.name)));
            open.extend(
                paths.filter(|(kind, path)| *kind != FileKind::Link || !shell.is_directory(path)).map(|(_, path)| path),
            );
        }
        let skipped = excluded.iter().any(|pattern| pattern.is(&name) || pattern.is(&path));
        if skipped || matches!(name.as_str(), "" | "/" | "./") || (is_directory && given.has('j')) || name == target {
            continue;
        }
        let time = dos_time(super::super::date::zoned(found.modified).datetime());
        let mode = Some(found.mode);
        let entry = match is_directory {
            true => Entry {
                name,
                method: Method::Stored,
                is_encrypted: false,
                checksum: 0,
                size: 0,
                packed: Vec::new().into(),
                time,
                mode,
            },
            false => match shell.reader_of(&path) {
                Ok(reader) => {
                    let content = Content::read(shell, "zip", reader).await?;
                    Entry { mode, ..pack(shell, name, &content.bytes, level, time).await? }
                }
                Err(why) => {
                    missing = true;
                    shell.say(&format!("\tzip warning: {why}: {path}\n")).await;
                    continue;
                }
            },
        };
        if !held.grow(2 * (entry.packed.len() + entry.name.len()) + 300) || entries.len() >= MAX_ENTRIES {
            return Err(shell.fails("zip", "memory exhausted").await);
        }
        let old = entries.iter().position(|known| known.name == entry.name);
        shell.step(entries.len() as u64 / 128).await?;
        if !given.has('q') {
            let verb = if old.is_some() { "updating" } else { "  adding" };
            let saved = u64::from(entry.size).saturating_sub(entry.packed.len() as u64);
            let percent = (200 * saved).checked_div(u64::from(entry.size)).unwrap_or(0).div_ceil(2);
            let how = if entry.method == Method::Deflated { "deflated" } else { "stored" };
            shell.out("zip", format!("{verb}: {} ({how} {percent}%)\n", entry.name).as_bytes()).await?;
        }
        added += 1;
        match old {
            Some(old) => entries[old] = entry,
            None => entries.push(entry),
        }
    }
    if added == 0 {
        shell.say(&format!("\nzip error: Nothing to do! ({target})\n")).await;
        return Ok(NOTHING);
    }
    let bytes = write(&entries);
    match shell.writer_of(&target, FileUse::Replace, WriteAt::Start) {
        Ok(writer) => shell.write(&writer, "zip", &bytes).await?,
        Err(why) => {
            shell.say(&format!("zip I/O error: {why}\nzip error: Could not create output file ({target})\n")).await;
            return Ok(15);
        }
    }
    // Names that are not there are a warning, as long as others are.
    Ok(if missing { 18 } else { 0 })
}

async fn pack<'e>(shell: &Shell, name: String, bytes: &[u8], level: u32, time: u32) -> Result<Entry<'e>, Stop> {
    let (mut checksum, mut packing) = (Crc::new(), DeflateEncoder::new(Vec::new(), Compression::new(level)));
    for block in bytes.chunks(BLOCK) {
        shell.step(1 + block.len() as u64 / BYTES_A_STEP).await?;
        checksum.update(block);
        packing.write_all(block).expect("a vector takes all bytes");
    }
    let packed = packing.finish().expect("a vector takes all bytes");
    let stored = level == 0 || packed.len() >= bytes.len();
    let (method, packed) = if stored { (Method::Stored, bytes.to_vec()) } else { (Method::Deflated, packed) };
    let Ok(size) = u32::try_from(bytes.len()) else { return Err(shell.fails("zip", "file too large").await) };
    Ok(Entry {
        name,
        method,
        is_encrypted: false,
        checksum: checksum.sum(),
        size,
        packed: packed.into(),
        time,
        mode: None,
    })
}
