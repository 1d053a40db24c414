//! `cargo xtask dist`: the artefacts of a release, in `target/dist`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

use crate::archive::{Entry, Time, write_tar_gz};
use crate::digest::sha256;
use crate::elf;
use crate::image::{DATA, Image, read_sources};
use crate::licences::collect_licences;
use crate::sbom::{Workspace, build_service, megabytes, write_sbom};
use crate::wheel::Wheel;

/// Number of steps that are told.
const STEPS: usize = 6;

/// Description of the wheel, below its metadata.
const DESCRIPTION: &str = "\
# proofbox-server

The service proofbox with its Python runtime: it runs untrusted Python in WebAssembly, and grades it.

```sh
proofbox serve
curl -s localhost:8080/v1/execute -d '{\"code\": \"print(1 + 1)\"}'
```

The first start compiles the runtime for your processor, which takes about half a minute on 2 cores.
";

/// Arguments of `cargo xtask dist`.
#[derive(Args)]
pub(crate) struct DistArguments {
    /// A binary of this checkout to pack, instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Level of zstd for the image, from 1 to 19; 19 takes about two minutes, and 3 a second for 10 MB more
    #[arg(long, default_value_t = 19, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// Pack the image of the interpreter `data` as well
    #[arg(long)]
    data: bool,
}

/// Says on standard error what is done now.
fn tell(step: usize, text: &str) {
    eprintln!("[{step}/{STEPS}] {text}");
}

/// Makes the artefacts.
pub(crate) fn dist(arguments: &DistArguments) -> anyhow::Result<()> {
    let time = Time::from_environment()?;
    let platform = host_platform()?;
    let workspace = Workspace::read(&platform)?;
    let service = workspace.service()?;
    ensure!(!service.version.contains(['-', '+']), "a release has a version of three numbers");

    tell(1, "Building the service");
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => {
            build_service()?;
            workspace.target.join("release/proofbox")
        }
    };
    let binary = fs::canonicalize(&binary).with_context(|| binary.display().to_string())?;

    tell(2, "Making the image of the Python runtime");
    let image = Image::build(&binary)?;
    let interpreters: &[&str] = if arguments.data { &["default", DATA] } else { &["default"] };
    let sources = read_sources(&workspace.root, interpreters)?;

    let out = workspace.target.join("dist");
    if out.exists() {
        fs::remove_dir_all(&out).context("removing the last artefacts")?;
    }
    fs::create_dir_all(&out)?;
    let program = strip(&binary, &out.join("proofbox"))?;
    let tag = elf::read_needs(&program)
        .and_then(|needs| needs.platform_tag(std::env::consts::ARCH))
        .with_context(|| format!("{} can't be distributed", binary.display()))?;

    tell(3, "Collecting licences");
    let licences = collect_licences(&workspace, &sources, &image.archives)?;
    let page = |name: &str| fs::read(workspace.root.join(name)).with_context(|| name.to_owned());
    let licences = || -> anyhow::Result<Vec<Entry>> {
        Ok(vec![
            Entry::file("LICENSE", page("LICENSE")?),
            Entry::file("docs/LICENSES.md", page("docs/LICENSES.md")?),
            Entry::file("docs/THIRD-PARTY-LICENSES.txt", licences.as_str()),
        ])
    };
    let sbom = write_sbom(&workspace, &image.manifest, &sources)?;

    tell(4, &format!("Compressing the image at level {}", arguments.level));
    let mut packed = vec![Entry::file("share/proofbox/image.wasm.zst", image.pack(arguments.level)?)];
    if arguments.data {
        let content = image.pack_data(&binary, arguments.level)?;
        packed.push(Entry::file(format!("share/proofbox/{DATA}.wasm.zst"), content));
    }

    tell(5, "Writing the wheel");
    let release = format!("proofbox-{}-{}-linux-gnu", service.version, std::env::consts::ARCH);
    let wheel = Wheel {
        version: service.version.clone(),
        summary: service.description.clone().unwrap_or_default(),
        licence: service.license.clone().context("the package has no licence")?,
        platform: tag,
        description: DESCRIPTION.to_owned(),
        programs: vec![Entry::program("proofbox", program.as_slice())],
        data: packed,
        licences: licences()?,
        sboms: vec![Entry::file("proofbox.cdx.json", sbom.as_str())],
    };
    let mut artefacts = vec![(wheel.file_name(), wheel.to_bytes(time)?)];

    tell(6, "Writing the tarball");
    let mut entries = vec![Entry::program("bin/proofbox", program)];
    entries.extend(wheel.data);
    entries.extend(licences()?);
    for entry in &mut entries {
        entry.path = format!("{release}/{}", entry.path);
    }
    artefacts.push((format!("{release}.tar.gz"), write_tar_gz(&entries, time)?));
    artefacts.push((format!("{release}.cdx.json"), sbom.into_bytes()));

    // In the order of their names, as `sha256sum *` has them.
    artefacts.sort();
    let sums: String = artefacts.iter().map(|(name, content)| format!("{}  {name}\n", sha256(content))).collect();
    artefacts.push(("SHA256SUMS".to_owned(), sums.into_bytes()));
    for (name, content) in artefacts {
        let path = out.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
        eprintln!("{} ({})", path.display(), megabytes(&path)?);
    }
    Ok(())
}

/// Returns a program without its symbols for debuggers; `copy` is where it is for the time.
fn strip(program: &Path, copy: &Path) -> anyhow::Result<Vec<u8>> {
    let status =
        Command::new("strip").arg("-o").arg(copy).arg(program).status().context("starting strip (binutils)")?;
    ensure!(status.success(), "{} can't be stripped", program.display());
    let stripped = fs::read(copy)?;
    fs::remove_file(copy)?;
    Ok(stripped)
}

/// Returns the platform that rustc builds for.
fn host_platform() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").stdin(Stdio::null()).output().context("starting rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    Ok(host.to_owned())
}
