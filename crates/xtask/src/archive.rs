//! Archives whose bytes depend on their content alone: a fixed order, one time, no owner.
//!
//! The formats are written here, since only a part of each is needed, and a library may change its bytes.

use std::io::Write;

use anyhow::{Context, ensure};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc, GzBuilder};

/// 1980-01-01, the first day that ZIP has.
const FIRST_DAY: u64 = 315_532_800;

/// One file of an archive.
pub(crate) struct Entry {
    /// Path in the archive.
    pub path: String,
    /// Content of the file.
    pub content: Vec<u8>,
    /// Rights: 0o644, or 0o755 for programs.
    pub mode: u32,
}

impl Entry {
    /// Makes a file that is only read.
    pub(crate) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), mode: 0o644 }
    }

    /// Makes a file that can be started.
    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::file(path, content) }
    }

    fn is_compressed(&self) -> bool {
        !self.path.ends_with(".zst")
    }
}

/// Time of all files: SOURCE_DATE_EPOCH (<https://reproducible-builds.org/specs/source-date-epoch/>), or 1980-01-01.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(u64);

impl Time {
    /// Reads the environment.
    pub(crate) fn from_environment() -> anyhow::Result<Self> {
        match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(text) => Ok(Self(text.parse::<u64>().context("SOURCE_DATE_EPOCH")?.max(FIRST_DAY))),
            Err(_) => Ok(Self(FIRST_DAY)),
        }
    }

    /// Returns date and time as ZIP has them.
    fn to_dos(self) -> (u16, u16) {
        let (days, seconds) = (self.0 / 86_400, self.0 % 86_400);
        // From days to a date: <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let date = ((year - 1980) << 9) | (month << 5) | day;
        let time = ((seconds / 3600) << 11) | ((seconds / 60 % 60) << 5) | (seconds % 60 / 2);
        (date as u16, time as u16)
    }
}

/// Writes a ZIP archive: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>.
pub(crate) fn write_zip(entries: &[Entry], time: Time) -> anyhow::Result<Vec<u8>> {
    let (date, time) = time.to_dos();
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let mut crc = Crc::new();
        crc.update(&entry.content);
        let (method, data) = if entry.is_compressed() {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&entry.content)?;
            (8_u16, encoder.finish()?)
        } else {
            (0, entry.content.clone())
        };
        let offset = u32::try_from(archive.len())?;
        // What the local header and the directory have in common, from the flags to the length of the extra field.
        let mut common = Vec::new();
        for short in [0, method, time, date] {
            common.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), u32::try_from(data.len())?, u32::try_from(entry.content.len())?] {
            common.extend(long.to_le_bytes());
        }
        common.extend(u16::try_from(entry.path.len())?.to_le_bytes());
        common.extend([0, 0]);

        archive.extend(b"PK\x03\x04\x14\0");
        archive.extend(&common);
        archive.extend(entry.path.as_bytes());
        archive.extend(data);

        // Made by version 2.0 on Unix, for the rights.
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | entry.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.path.as_bytes());
    }
    let count = u16::try_from(entries.len())?.to_le_bytes();
    let (start, length) = (u32::try_from(archive.len())?, u32::try_from(directory.len())?);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.into_iter().chain(count));
    archive.extend(length.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    Ok(archive)
}

/// Writes a tar archive (POSIX ustar), compressed with gzip.
pub(crate) fn write_tar_gz(entries: &[Entry], time: Time) -> anyhow::Result<Vec<u8>> {
    // A header without time and name: 0 is what gzip has for none.
    let mut gz: GzEncoder<Vec<u8>> = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    for entry in entries {
        gz.write_all(&tar_header(&entry.path, entry.content.len(), entry.mode, time)?)?;
        gz.write_all(&entry.content)?;
        gz.write_all(&vec![0; entry.content.len().next_multiple_of(512) - entry.content.len()])?;
    }
    gz.write_all(&[0; 1024])?;
    Ok(gz.finish()?)
}

fn tar_header(path: &str, size: usize, mode: u32, time: Time) -> anyhow::Result<[u8; 512]> {
    ensure!(path.len() <= 100, "the name is too long for tar: {path}");
    let mut header = [0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{:011o}", time.0));
    // The checksum is taken with blanks in its own place.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    fn entries() -> Vec<Entry> {
        vec![Entry::program("a/run", "#!/bin/sh\n"), Entry::file("a/b.zst", vec![7; 1000]), Entry::file("c", "")]
    }

    #[test]
    #[expect(clippy::decimal_bitwise_operands, reason = "the fields of a date are decimal")]
    fn times_are_those_of_the_calendar() {
        assert_eq!(Time(FIRST_DAY).to_dos(), ((1 << 5) | 1, 0));
        // 2024-02-29 23:59:58
        assert_eq!(Time(1_709_251_198).to_dos(), ((44 << 9) | (2 << 5) | 29, (23 << 11) | (59 << 5) | 29));
    }

    #[test]
    fn python_reads_both_archives() {
        let directory = std::env::temp_dir().join(format!("xtask-archive-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let time = Time(FIRST_DAY);
        std::fs::write(directory.join("a.zip"), write_zip(&entries(), time).expect("a ZIP file")).expect("a file");
        std::fs::write(directory.join("a.tar.gz"), write_tar_gz(&entries(), time).expect("a tar file"))
            .expect("a file");
        let program = "
import sys, tarfile, zipfile
with zipfile.ZipFile(sys.argv[1] + '/a.zip') as archive:
    assert archive.testzip() is None
    for info in archive.infolist():
        print(info.filename, oct(info.external_attr >> 16), info.date_time, len(archive.read(info)))
with tarfile.open(sys.argv[1] + '/a.tar.gz') as archive:
    for info in archive:
        print(info.name, oct(info.mode), info.mtime, info.isfile(), len(archive.extractfile(info).read()))
";
        let mut python = Command::new("python3").args(["-c", program]).arg(&directory).stdout(Stdio::piped()).spawn();
        let mut output = String::new();
        let python = python.as_mut().expect("python3 is a prerequisite");
        python.stdout.take().expect("a pipe").read_to_string(&mut output).expect("text");
        assert!(python.wait().expect("it ends").success());
        let _ = std::fs::remove_dir_all(&directory);
        let date = "(1980, 1, 1, 0, 0, 0)";
        let expected = format!(
            "a/run 0o100755 {date} 10\na/b.zst 0o100644 {date} 1000\nc 0o100644 {date} 0\n\
             a/run 0o755 {FIRST_DAY} True 10\na/b.zst 0o644 {FIRST_DAY} True 1000\nc 0o644 {FIRST_DAY} True 0\n"
        );
        assert_eq!(output, expected);
    }
}
