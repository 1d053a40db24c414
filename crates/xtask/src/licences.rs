//! The licence texts of all that is in the artefacts: who distributes a program has to pass them on.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::image::Source;
use crate::sbom::Workspace;

/// Reads archives of every kind, which Python does by itself.
const COLLECT: &str = include_str!("collect_licences.py");

/// Returns the licence texts of the service's crates, and of the sources of the image, whose archives are in `archives`.
///
/// # Errors
/// Returns an error when the archive of a source is not there: its licence has to be in the artefacts.
pub(crate) fn collect_licences(workspace: &Workspace, sources: &[Source], archives: &Path) -> anyhow::Result<String> {
    let mut input = String::new();
    for package in workspace.packages.iter().filter(|package| package.is_used && package.source.is_some()) {
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
        input += &format!("{} {}\t{}\t{}\n", package.name, package.version, package.licence(), folder.display());
    }
    for source in sources {
        let archive = archives.join(&source.archive);
        ensure!(
            archive.is_file(),
            "{} is not there, and its licence belongs into the artefacts: remove {}, and make the image again",
            archive.display(),
            archives.parent().unwrap_or(archives).display(),
        );
        input += &format!("{} {}\t{}\t{}\n", source.name, source.version, source.licence, archive.display());
    }
    let mut python = Command::new("python3")
        .args(["-c", COLLECT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting python3")?;
    // It reads all of its input before it writes.
    let mut stdin = python.stdin.take().context("a pipe")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let output = python.wait_with_output()?;
    ensure!(output.status.success(), "the licence texts can't be collected");
    Ok(String::from_utf8(output.stdout)?)
}
