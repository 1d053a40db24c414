//! The platform tag of a wheel, from what its program asks of the system it runs on.

use anyhow::{Context, bail, ensure};
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};

/// Libraries that every system of the `manylinux` tags has (PEP 600), among those that a Rust program may need.
const SYSTEM_LIBRARIES: [&str; 9] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
];

/// Needs of a program, towards the system that it runs on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Libraries that are loaded with it.
    pub libraries: Vec<String>,
    /// Newest version of glibc that one of its symbols has: major, minor.
    pub glibc: (u32, u32),
}

/// Reads what the program in `data` needs.
pub(crate) fn read_needs(data: &[u8]) -> anyhow::Result<Needs> {
    let header = FileHeader64::<Endianness>::parse(data).context("it is no 64-bit ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let (dynamic, strings) = sections.dynamic(endian, data)?.context("it is not linked dynamically")?;
    let strings = sections.strings(endian, data, strings)?;
    let mut libraries = Vec::new();
    for entry in dynamic.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
        libraries.push(String::from_utf8(entry.string(endian, strings)?.to_vec())?);
    }
    let mut glibc = (2, 0);
    if let Some((mut files, strings)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        while let Some((_, mut versions)) = files.next()? {
            while let Some(version) = versions.next()? {
                let name = std::str::from_utf8(version.name(endian, strings)?)?;
                glibc = glibc.max(parse_glibc(name).unwrap_or_default());
            }
        }
    }
    Ok(Needs { libraries, glibc })
}

/// Parses `GLIBC_2.35`, or `GLIBC_2.2.5`; none for versions of other libraries.
fn parse_glibc(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Needs {
    /// Returns the platform tag of a wheel with this program.
    ///
    /// # Errors
    /// Returns an error when it needs a library that such platforms need not have.
    pub(crate) fn platform_tag(&self, architecture: &str) -> anyhow::Result<String> {
        let foreign = |library: &&String| !SYSTEM_LIBRARIES.contains(&library.as_str());
        if let Some(library) = self.libraries.iter().find(foreign) {
            bail!("it needs {library}, which not every system has");
        }
        ensure!(matches!(architecture, "x86_64" | "aarch64"), "there is no platform tag for {architecture}");
        // No tag is older than manylinux2014.
        let (major, minor) = self.glibc.max((2, 17));
        Ok(format!("manylinux_{major}_{minor}_{architecture}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(parse_glibc("GLIBC_2.35") > parse_glibc("GLIBC_2.9"));
        assert_eq!(["GCC_3.0", "GLIBC_PRIVATE", "GLIBC_2"].map(parse_glibc), [None; 3]);
    }

    #[test]
    fn the_tag_is_that_of_the_newest_symbol() {
        let needs = |glibc, library: &str| Needs { libraries: vec![library.to_owned()], glibc };
        assert_eq!(needs((2, 35), "libc.so.6").platform_tag("x86_64").ok().as_deref(), Some("manylinux_2_35_x86_64"));
        assert_eq!(needs((2, 5), "libm.so.6").platform_tag("aarch64").ok().as_deref(), Some("manylinux_2_17_aarch64"));
        assert!(needs((2, 35), "libssl.so.3").platform_tag("x86_64").is_err());
        assert!(needs((2, 35), "libc.so.6").platform_tag("riscv64").is_err());
    }

    #[test]
    fn this_program_has_needs() {
        let program = std::fs::read("/proc/self/exe").expect("it runs");
        let needs = read_needs(&program).expect("it is an ELF file");
        assert!(needs.libraries.iter().any(|library| library == "libc.so.6"), "{needs:?}");
        assert!(needs.glibc > (2, 2), "{needs:?}");
    }
}
