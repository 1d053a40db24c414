//! The image that a program of this checkout makes, packed as `crates/runtime/src/packaged.rs` reads it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

/// First bytes of a skippable frame (RFC 8878, 3.1.2).
const SKIPPABLE_FRAME: u32 = 0x184D_2A50;

/// Part of the image's manifest, as `proofbox runtime info --json` prints it.
#[derive(Debug, Deserialize)]
pub(crate) struct Manifest {
    /// `sha256:…` of `image.wasm`.
    pub image_hash: String,
    /// Version of CPython.
    pub python: String,
    /// Packages beyond the standard library, with their versions.
    pub packages: BTreeMap<String, String>,
    /// Path of the compiled module: `<cache>/runtimes/<recipe hash>/….cwasm`.
    pub compiled: PathBuf,
}

/// A source of the image, as the recipe pins it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Source {
    /// Name; in the file of a library it may be missing, and is the library's.
    #[serde(default)]
    pub name: String,
    pub version: String,
    pub licence: String,
    /// Name of the archive.
    pub archive: String,
    /// SHA-256 of the archive.
    pub sha256: String,
    /// Machine that the archive is for; none: any.
    #[serde(default)]
    pub machine: Option<String>,
    /// Interpreters that have it; none: all.
    #[serde(default)]
    interpreters: Option<Vec<String>>,
}

impl Source {
    fn named(mut self, library: &str) -> Self {
        if self.name.is_empty() {
            library.clone_into(&mut self.name);
        }
        self
    }
}

/// An interpreter beside the default one.
pub(crate) const DATA: &str = "data";

/// An image with all that is known of it.
pub(crate) struct Image {
    pub manifest: Manifest,
    /// Directory of the recipe's archives.
    pub archives: PathBuf,
    /// Hash of the recipe.
    recipe: String,
    /// Content of `image.wasm`.
    content: Vec<u8>,
}

impl Image {
    /// Has the program make its image, unless that is in the cache already, and reads it.
    pub(crate) fn build(program: &Path) -> anyhow::Result<Self> {
        let proofbox = |arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).env_remove("PROOFBOX_IMAGE").env_remove("PROOFBOX_CONFIG").stdin(Stdio::null());
            command
        };
        let status = proofbox(&["runtime", "build"]).stdout(Stdio::null()).status().context("starting the service")?;
        ensure!(status.success(), "the image can't be made");
        let output = proofbox(&["runtime", "info", "--json"]).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "there is no image");
        let manifest: Manifest = serde_json::from_slice(&output.stdout)?;
        let directory = manifest.compiled.parent().context("the image has no directory")?;
        let recipe = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if recipe.len() != 64 {
            bail!("{} is not the image of the recipe", directory.display());
        }
        let cache = directory.ancestors().nth(2).context("the image is in no cache")?;
        let content = fs::read(directory.join("image.wasm")).context("reading image.wasm")?;
        let archives = cache.join("build/sources");
        let image = Self { manifest, archives, recipe, content };
        ensure!(image.manifest.image_hash == format!("sha256:{}", image.sha256()), "image.wasm is damaged");
        Ok(image)
    }

    fn sha256(&self) -> String {
        crate::digest::sha256(&self.content)
    }

    /// Has the program make the image of the interpreter `data`, whose directory lies beside this one's, and packs it.
    pub(crate) fn pack_data(&self, program: &Path, level: i32) -> anyhow::Result<Vec<u8>> {
        let mut command = Command::new(program);
        command.args(["runtime", "build", "--interpreter", DATA]);
        command
            .env_remove("PROOFBOX_DATA_IMAGE")
            .env_remove("PROOFBOX_CONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        ensure!(command.status().context("starting the service")?.success(), "the image `{DATA}` can't be made");
        let recipe = format!("{}-{DATA}", self.recipe);
        let directory = self.manifest.compiled.parent().context("the image has no directory")?.with_file_name(&recipe);
        let path = directory.join("image.wasm");
        let content = fs::read(&path).with_context(|| path.display().to_string())?;
        pack(&recipe, &content, level)
    }

    /// Packs the image.
    pub(crate) fn pack(&self, level: i32) -> anyhow::Result<Vec<u8>> {
        pack(&self.recipe, &self.content, level)
    }
}

/// Packs an image: a frame that says what it is, and its content.
fn pack(recipe: &str, content: &[u8], level: i32) -> anyhow::Result<Vec<u8>> {
    let head = serde_json::json!({"recipe": recipe, "sha256": crate::digest::sha256(content)}).to_string();
    let mut packed = SKIPPABLE_FRAME.to_le_bytes().to_vec();
    packed.extend(u32::try_from(head.len())?.to_le_bytes());
    packed.extend(head.as_bytes());
    let mut encoder = zstd::Encoder::new(packed, level)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(content.len() as u64))?;
    encoder.long_distance_matching(true)?;
    // The largest that decoders take without being told.
    encoder.window_log(27)?;
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

/// Reads the sources that the recipe pins for this machine and these interpreters.
pub(crate) fn read_sources(root: &Path, interpreters: &[&str]) -> anyhow::Result<Vec<Source>> {
    #[derive(Deserialize)]
    struct Pins {
        #[serde(default, alias = "package")]
        source: Vec<Source>,
    }
    let recipe = root.join("runtimes/python-3.13");
    let mut files = vec![recipe.join("runtime.toml"), recipe.join("packages.toml")];
    if interpreters.contains(&DATA) {
        let folder = recipe.join("extensions");
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        files.extend(paths);
    }
    let mut sources = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let pins: Pins = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let library = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        sources.extend(pins.source.into_iter().map(|source| source.named(&library)));
    }
    sources.retain(|source| {
        let wanted = |names: &Vec<String>| names.iter().any(|name| interpreters.contains(&name.as_str()));
        source.machine.as_deref().is_none_or(|machine| machine == std::env::consts::ARCH)
            && source.interpreters.as_ref().is_none_or(wanted)
    });
    Ok(sources)
}
