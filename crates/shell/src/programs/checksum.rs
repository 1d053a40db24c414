//! Programs `md5sum`, `sha1sum`, `sha224sum`, `sha256sum`, `sha384sum`, `sha512sum` and `cksum`.

use super::input::{Lines, open, options, or_input, usage};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;
use md5::Md5;
use sha1::Sha1;
use sha2::digest::DynDigest;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Number of bytes that cost a step to digest.
const BYTES_A_STEP: u64 = 512;

/// The digest that a program makes.
fn digest_of(who: &str) -> (&'static str, Box<dyn DynDigest + Send>) {
    match who {
        "md5sum" => ("MD5", Box::new(Md5::default())),
        "sha1sum" => ("SHA1", Box::new(Sha1::default())),
        "sha224sum" => ("SHA224", Box::new(Sha224::default())),
        "sha384sum" => ("SHA384", Box::new(Sha384::default())),
        "sha512sum" => ("SHA512", Box::new(Sha512::default())),
        _ => ("SHA256", Box::new(Sha256::default())),
    }
}

/// Runs one of the programs that show or check digests of files.
pub(super) async fn digest(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let long = [
        ("check", 'c'),
        ("binary", 'b'),
        ("text", 't'),
        ("quiet", 'q'),
        ("status", 's'),
        ("strict", 'S'),
        ("warn", 'w'),
        ("ignore-missing", 'i'),
        ("tag", 'T'),
        ("zero", 'z'),
    ];
    let given = options(shell, who, arguments, "cbtwz", &long, 1).await?;
    let check = Check { quiet: given.has('q'), status: given.has('s'), missing: given.has('i') };
    let (mark, end) = (if given.has('b') { '*' } else { ' ' }, if given.has('z') { '\0' } else { '\n' });
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        if given.has('c') {
            status |= check.run(shell, who, &path).await?;
            continue;
        }
        match open(shell, who, &path).await {
            Some(reader) => {
                let sum = sum(shell, who, reader).await?;
                let text = match given.has('T') {
                    true => format!("{} ({path}) = {sum}{end}", digest_of(who).0),
                    false => format!("{sum} {mark}{path}{end}"),
                };
                shell.out(who, text.as_bytes()).await?;
            }
            None => status = 1,
        }
    }
    Ok(status)
}

async fn sum(shell: &Shell, who: &str, mut reader: Reader) -> Result<String, Stop> {
    let (_, mut digest) = digest_of(who);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
        shell.step(1 + read as u64 / BYTES_A_STEP).await?;
        if read == 0 {
            return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        digest.update(&bytes);
    }
}

/// Check of files against a list of digests.
struct Check {
    quiet: bool,
    status: bool,
    /// True when files that are not there do not count.
    missing: bool,
}

impl Check {
    async fn run(&self, shell: &Shell, who: &str, path: &str) -> Done {
        let Some(reader) = open(shell, who, path).await else { return Ok(1) };
        let mut lines = Lines::new(shell, reader)?;
        let (mut found, mut malformed, mut unread, mut different, mut verified) = (0, 0, 0, 0, 0);
        while lines.next(shell, who).await? {
            let line = String::from_utf8_lossy(&lines.line).into_owned();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((wanted, name)) = entry(who, &line) else {
                malformed += 1;
                continue;
            };
            found += 1;
            if self.missing && shell.stat(name).is_err() {
                continue;
            }
            let found = match open(shell, who, name).await {
                Some(reader) => Some(sum(shell, who, reader).await?),
                None => None,
            };
            let outcome = match found {
                None => {
                    unread += 1;
                    "FAILED open or read"
                }
                Some(sum) if sum.eq_ignore_ascii_case(wanted) => {
                    verified += 1;
                    "OK"
                }
                Some(_) => {
                    different += 1;
                    "FAILED"
                }
            };
            if !(self.status || self.quiet && outcome == "OK") {
                shell.out(who, format!("{name}: {outcome}\n").as_bytes()).await?;
            }
        }
        if found == 0 {
            let name = if path == "-" { "'standard input'" } else { path };
            shell.error(who, &format!("{name}: no properly formatted checksum lines found")).await;
            return Ok(1);
        }
        let warnings = [
            (malformed, "line is improperly formatted", "lines are improperly formatted"),
            (unread, "listed file could not be read", "listed files could not be read"),
            (different, "computed checksum did NOT match", "computed checksums did NOT match"),
        ];
        for (count, one, many) in warnings {
            if count > 0 && !self.status {
                shell.error(who, &format!("WARNING: {count} {}", if count == 1 { one } else { many })).await;
            }
        }
        if self.missing && verified == 0 {
            shell.error(who, &format!("{path}: no file was verified")).await;
            return Ok(1);
        }
        Ok(i32::from(unread + different > 0))
    }
}

/// The digest and the name in a line; none if it is no line of this program.
fn entry<'l>(who: &str, line: &'l str) -> Option<(&'l str, &'l str)> {
    let (tag, digest) = digest_of(who);
    let length = 2 * digest.output_size();
    if let Some(rest) = line.strip_prefix(tag).and_then(|rest| rest.strip_prefix(" (")) {
        let (name, sum) = rest.rsplit_once(") = ")?;
        return (sum.len() == length).then_some((sum, name));
    }
    let (sum, rest) = line.split_at_checked(length)?;
    let name = rest.strip_prefix("  ").or_else(|| rest.strip_prefix(" *"))?;
    (sum.bytes().all(|byte| byte.is_ascii_hexdigit()) && !name.is_empty()).then_some((sum, name))
}

/// Runs `cksum`, the checksum of POSIX.
pub(super) async fn cksum(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = options(shell, "cksum", arguments, "a:", &[("algorithm", 'a')], 1).await?;
    let named = match given.value('a') {
        None | Some("crc") => None,
        Some("md5") => Some("md5sum"),
        Some("sha1") => Some("sha1sum"),
        Some("sha224") => Some("sha224sum"),
        Some("sha256") => Some("sha256sum"),
        Some("sha384") => Some("sha384sum"),
        Some("sha512") => Some("sha512sum"),
        Some(other) => {
            return Err(usage(shell, "cksum", &format!("invalid argument '{other}' for '--algorithm'"), 1).await);
        }
    };
    if let Some(who) = named {
        let operands = given.operands.iter().cloned();
        let arguments: Vec<String> = ["--tag".to_owned(), "--".to_owned()].into_iter().chain(operands).collect();
        return digest(shell, who, &arguments).await;
    }
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let Some(mut reader) = open(shell, "cksum", &path).await else {
            status = 1;
            continue;
        };
        let (mut crc, mut length) = (0_u32, 0_u64);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
            shell.step(1 + read as u64 / BYTES_A_STEP).await?;
            if read == 0 {
                break;
            }
            length += read as u64;
            crc = bytes.iter().fold(crc, |crc, byte| add(crc, *byte));
        }
        let mut left = length;
        while left > 0 {
            crc = add(crc, left as u8);
            left >>= 8;
        }
        let name = if given.operands.is_empty() { String::new() } else { format!(" {path}") };
        shell.out("cksum", format!("{} {length}{name}\n", !crc).as_bytes()).await?;
    }
    Ok(status)
}

/// Adds a byte to the checksum of POSIX.
fn add(crc: u32, byte: u8) -> u32 {
    /// The polynomial's remainders.
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut crc = (at as u32) << 24;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { (crc << 1) ^ 0x04c1_1db7 };
                bit += 1;
            }
            table[at] = crc;
            at += 1;
        }
        table
    };
    (crc << 8) ^ TABLE[((crc >> 24) as u8 ^ byte) as usize]
}
