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
pub struct Manifest {
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
pub struct Source {
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

/// An image with all that is known of it.
pub struct Image {
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
    pub fn build(program: &Path) -> anyhow::Result<Self> {
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
        let image = Self { archives, recipe, content, manifest };
        ensure!(image.manifest.image_hash == format!("sha256:{}", image.sha256()), "image.wasm is damaged");
        Ok(image)
    }

    fn sha256(&self) -> String {
        crate::dist::sha256(&self.content)
    }

    /// Packs the image: a frame that says what it is, and its content.
    pub fn pack(&self, level: i32) -> anyhow::Result<Vec<u8>> {
        let head = serde_json::json!({"recipe": self.recipe, "sha256": self.sha256()}).to_string();
        let mut packed = SKIPPABLE_FRAME.to_le_bytes().to_vec();
        packed.extend(u32::try_from(head.len())?.to_le_bytes());
        packed.extend(head.as_bytes());
        let mut encoder = zstd::Encoder::new(packed, level)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(self.content.len() as u64))?;
        encoder.long_distance_matching(true)?;
        // The largest that decoders take without being told.
        encoder.window_log(27)?;
        encoder.write_all(&self.content)?;
        Ok(encoder.finish()?)
    }
}

/// Reads the sources that the recipe pins for this machine.
pub fn read_sources(root: &Path) -> anyhow::Result<Vec<Source>> {
    #[derive(Deserialize)]
    struct Pins {
        #[serde(default, alias = "package")]
        source: Vec<Source>,
    }
    let mut sources = Vec::new();
    for name in ["runtime.toml", "packages.toml"] {
        let path = root.join("runtimes/python-3.13").join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let pins: Pins = toml::from_str(&text).with_context(|| path.display().to_string())?;
        sources.extend(pins.source);
    }
    sources.retain(|source| {
        let of_default = |names: &Vec<String>| names.iter().any(|name| name == "default");
        source.machine.as_deref().is_none_or(|machine| machine == std::env::consts::ARCH)
            && source.interpreters.as_ref().is_none_or(of_default)
    });
    Ok(sources)
}
