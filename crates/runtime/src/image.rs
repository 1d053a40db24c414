//! The image: found in the cache, verified, or made.
//!
//! ```text
//! <cache>/runtimes/<recipe hash>/   manifest.json   what is there, with its hashes; for another interpreter than the
//!                                                   default one the directory's name ends in its name
//!                                   image.wasm      initialised interpreter, portable
//!                                   <hash>.cwasm    compiled for this wasmtime and this CPU
//! <cache>/build/                    work directory of the recipe
//! <data>/cache/                     the same, for an image whose cache can't be written: a container's
//! ```
//!
//! Files come into being under another name and are renamed when they are whole, the manifest last, so that an
//! interrupted build leaves nothing that looks finished.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::engine;
use super::hashing::hash_file;
use super::image_error::{ImageError, by_engine, io, write_whole};
use super::package_runs::{self, Importable};
use super::packaged;
use super::packages;
use super::pool::{ImageFiles, InterpreterPool};
use super::recipe;
use super::snapshot;

/// Source of an image, and the directory it is cached in.
#[derive(Clone, Debug)]
pub struct ImageSource {
    /// Root of the cache.
    pub cache: PathBuf,
    /// Name of the interpreter, one of the recipe's.
    pub interpreter: String,
    /// For each interpreter a ready `image.wasm` instead of the recipe's, or one that is packed (`packaged.rs`).
    pub prebuilt: BTreeMap<String, PathBuf>,
    /// A directory with the recipe's source archives.
    pub sources: Option<PathBuf>,
    /// Second cache, for code compiled from an image whose own cache can't be written.
    pub spare: Option<PathBuf>,
}

impl ImageSource {
    /// The same for another interpreter.
    #[must_use]
    pub fn of(&self, interpreter: &str) -> Self {
        Self { interpreter: interpreter.to_owned(), ..self.clone() }
    }

    /// The ready image of its interpreter, where one is given.
    pub fn prebuilt(&self) -> Option<&Path> {
        self.prebuilt.get(&self.interpreter).map(PathBuf::as_path)
    }

    /// Returns whether its image was made once, or is given: then it takes no more than to compile it for this machine.
    pub fn is_built(&self) -> bool {
        self.prebuilt().is_some() || directory(self).is_ok_and(|directory| directory.join("image.wasm").exists())
    }

    /// Returns whether the cache has an image of its interpreter by another version of the recipe.
    pub(super) fn has_outdated(&self) -> bool {
        let entries = fs::read_dir(self.cache.join("runtimes")).into_iter().flatten().filter_map(Result::ok);
        let built = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"prebuilt-"));
        let images =
            built.filter_map(|entry| serde_json::from_slice::<Image>(&fs::read(manifest(&entry.path())).ok()?).ok());
        !self.is_built() && images.into_iter().any(|image| image.interpreter == self.interpreter)
    }

    /// The image of a cache that can't be written, to be compiled elsewhere.
    fn elsewhere(&self) -> Option<Self> {
        let prebuilt = match self.prebuilt() {
            Some(path) => path.to_owned(),
            None => directory(self).ok()?.join("image.wasm"),
        };
        let cache = self.spare.clone().filter(|_| prebuilt.exists())?;
        let prebuilt = BTreeMap::from([(self.interpreter.clone(), prebuilt)]);
        Some(Self { cache, interpreter: self.interpreter.clone(), prebuilt, sources: None, spare: None })
    }
}

/// An image that is ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `sha256:…` of `image.wasm`.
    pub image_hash: String,
    /// Name of the interpreter in the recipe; empty in images that were made before it was noted.
    #[serde(default)]
    pub interpreter: String,
    /// Version of CPython in the image.
    pub python: String,
    /// `sha256:…` of the list of packages beyond the standard library.
    pub packages_hash: String,
    /// Packages beyond the standard library, with their versions.
    pub packages: BTreeMap<String, String>,
    /// Modules of the standard library that can be imported.
    pub modules: Vec<String>,
    /// Modules at the top that can be imported and are not of the standard library.
    pub imports: BTreeSet<String>,
    /// Path of the compiled module.
    pub compiled: PathBuf,
    /// File with the packages that are imported from files.
    #[serde(default)]
    pub packages_file: Option<PathBuf>,
    /// SHA-256 of that file.
    #[serde(default)]
    pub(super) packages_file_hash: Option<String>,
    /// SHA-256 of the compiled module's file.
    pub(super) compiled_hash: String,
    /// wasmtime, its settings and the CPU features it was compiled for.
    pub(super) compiled_for: String,
    /// Size of `image.wasm`, in bytes.
    pub image_bytes: u64,
    /// Size of the linear memory that every interpreter starts with, in bytes.
    pub initial_memory_bytes: u64,
    /// State of the files when they were last verified, for the next start and for workers.
    #[serde(default)]
    pub(super) verified: Verified,
}

/// State of an image's files at a time when their content was what it has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verified {
    compiled: Option<Stamp>,
    packages: Option<Stamp>,
}

/// Identity and last change of a file. The kernel sets the time of change at each write, and lets nobody set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Time of the last change, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    /// Age of a change below which the next one may have the same time.
    const MIN_AGE: Duration = Duration::from_secs(2);

    /// Returns the stamp of a file; none for a file that was changed a moment ago.
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let changed = Duration::new(file.ctime().try_into().ok()?, file.ctime_nsec().try_into().ok()?);
        let settled = now.checked_sub(changed)? >= Self::MIN_AGE;
        settled.then(|| Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

/// Checks that a file has that hash, or is unchanged since it was seen to have it; returns its stamp.
fn verify_file(path: &Path, hash: &str, before: Option<Stamp>) -> std::io::Result<Option<Stamp>> {
    let stamp = Stamp::of(path);
    if (stamp.is_some() && stamp == before) || hash_file(path)? == hash {
        return Ok(stamp);
    }
    Err(std::io::Error::other(format!("{} is damaged: make it again", path.display())))
}

impl Image {
    /// Returns the files that a pool of interpreters loads.
    pub fn pool_files(&self) -> ImageFiles {
        ImageFiles {
            hash: self.image_hash.clone(),
            compiled: self.compiled.clone(),
            packages: self.packages_file.clone(),
        }
    }

    /// The cached image when it is there, whole, and made for this machine.
    pub fn cached(source: &ImageSource) -> Option<Self> {
        Self::found(source).or_else(|| Self::found(&source.elsewhere()?))
    }

    fn found(source: &ImageSource) -> Option<Self> {
        let directory = directory(source).ok()?;
        let mut image: Self = serde_json::from_slice(&fs::read(manifest(&directory)).ok()?).ok()?;
        if image.compiled_for != compatibility().ok()? {
            return None;
        }
        let before = image.verified.clone();
        image.verify().ok()?;
        if image.verified != before {
            // Where nothing can be written, each start reads the files.
            let _ = image.record(&directory);
        }
        Some(image)
    }

    /// Writes the manifest, with the state in which the files were verified.
    fn record(&self, directory: &Path) -> Result<(), ImageError> {
        let content = serde_json::to_vec_pretty(self).expect("an image is plain data");
        write_whole(&manifest(directory), &content)
    }

    /// The cached image, or a new one; says on standard error what takes long.
    ///
    /// # Errors
    /// Returns an error when it can't be made; the cache is then as it was before.
    pub fn ready(source: &ImageSource) -> Result<Self, ImageError> {
        match Self::cached(source) {
            Some(image) => Ok(image),
            None => Self::build(source),
        }
    }

    /// Checks that the compiled module and the packages are what was made: it is machine code, and disks err. Files that
    /// are unchanged since this image was last verified, by this process or another, are not read again.
    ///
    /// # Errors
    /// Returns an error when it can't be read, or is another.
    pub fn verify(&mut self) -> std::io::Result<()> {
        let Self { compiled, compiled_hash, verified, .. } = &*self;
        let before = verified.compiled;
        let (module, packages) = std::thread::scope(|scope| {
            let packages = scope.spawn(|| self.verified_packages());
            let module = verify_file(compiled, compiled_hash, before);
            (module, packages.join().unwrap_or_else(|_| Err(std::io::Error::other("hashing the packages panicked"))))
        });
        self.verified = Verified { compiled: module?, packages: packages? };
        Ok(())
    }

    /// Checks that the packages are what was made, like [`Image::verify`].
    ///
    /// # Errors
    /// Returns an error when they can't be read, or are others.
    pub fn verify_packages(&mut self) -> std::io::Result<()> {
        self.verified.packages = self.verified_packages()?;
        Ok(())
    }

    fn verified_packages(&self) -> std::io::Result<Option<Stamp>> {
        match (&self.packages_file, &self.packages_file_hash) {
            (Some(file), Some(hash)) => verify_file(file, hash, self.verified.packages),
            (None, None) => Ok(None),
            _ => Err(std::io::Error::other("the manifest contradicts itself: make it again")),
        }
    }

    /// Makes the image, from as much as is there.
    ///
    /// # Errors
    /// Returns an error when a step fails.
    pub fn build(source: &ImageSource) -> Result<Self, ImageError> {
        let directory = directory(source)?;
        let locked =
            fs::create_dir_all(&directory).map_err(io("making", &directory)).and_then(|()| lock(&source.cache));
        let _lock = match (locked, source.elsewhere()) {
            (Ok(lock), _) => lock,
            // It is there, but compiled for another processor.
            (Err(ImageError::Io { source: error, .. }), Some(elsewhere)) if is_read_only(&error) => {
                return Self::build(&elsewhere);
            }
            (Err(error), _) => return Err(error),
        };
        // Another process may have made it while this one waited.
        if let Some(image) = Self::found(source) {
            return Ok(image);
        }
        let module = match source.prebuilt() {
            Some(path) => given(path)?,
            None => initialised(source, &directory)?,
        };
        let compiled = compile(&source.interpreter, &directory, &module);
        match (source.prebuilt(), compiled) {
            (Some(path), Err(ImageError::Engine { what, reason })) => {
                // The file is not ours to keep trying: nothing of it is left.
                let _ = fs::remove_dir_all(&directory);
                Err(ImageError::Engine { what, reason: format!("{}: {reason}", path.display()) })
            }
            (_, compiled) => compiled,
        }
    }
}

/// Returns whether a directory can't be written, by anybody or by this user.
pub(super) fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
}

fn manifest(directory: &Path) -> PathBuf {
    directory.join("manifest.json")
}

/// Returns the directory of an image: named by its recipe, or by the content of the file that is given.
fn directory(source: &ImageSource) -> Result<PathBuf, ImageError> {
    let name = match source.prebuilt() {
        Some(path) => format!("prebuilt-{}", packaged::content_hash(path).map_err(io("reading the image", path))?),
        None => recipe::hash(&source.interpreter),
    };
    Ok(source.cache.join("runtimes").join(name))
}

pub(super) fn lock(cache: &Path) -> Result<File, ImageError> {
    let path = cache.join("build.lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io("opening", &path))?;
    if file.try_lock().is_err() {
        eprintln!("Another process is building the Python runtime; waiting for it.");
        file.lock().map_err(io("locking", &path))?;
    }
    Ok(file)
}

/// `image.wasm`, from the cache or by way of the recipe.
fn initialised(source: &ImageSource, directory: &Path) -> Result<Vec<u8>, ImageError> {
    let path = directory.join("image.wasm");
    if let Ok(module) = fs::read(&path) {
        return Ok(module);
    }
    let interpreter = source.interpreter.as_str();
    let minutes = if interpreter == recipe::DEFAULT { 9 } else { 30 };
    eprintln!("Building the Python runtime `{interpreter}`: about {minutes} minutes on 2 cores, once.");
    // All share the directory, and with it the steps that they have in common.
    let work = source.cache.join("build");
    let own = if interpreter == recipe::DEFAULT { work.clone() } else { work.join(format!("out-{interpreter}")) };
    fs::create_dir_all(&own).map_err(io("making", &own))?;
    let reactor = own.join("reactor.wasm");
    recipe::build(interpreter, &reactor, &work, source.sources.as_deref())?;
    let packages = own.join(packages::FILE);
    let packages = fs::read(&packages).map_err(io("reading", &packages))?;
    let reactor = fs::read(&reactor).map_err(io("reading", &reactor))?;
    eprintln!("Initialising the interpreter and taking its snapshot.");
    let mut module = snapshot(&reactor)?;
    add_section(&mut module, PACKAGES_SECTION, &packages);
    write_whole(&path, &module)?;
    Ok(module)
}

/// The section of the image that has its packages (`packages.rs`), so that one file is all of it.
const PACKAGES_SECTION: &str = "proofbox.packages";

/// The image in that file; or that of the reactor in it, with the packages that lie beside it.
pub(crate) fn given(path: &Path) -> Result<Vec<u8>, ImageError> {
    let module = packaged::read(path).map_err(io("reading the image", path))?;
    if !exports(&module, "wizer-initialize") {
        return Ok(module);
    }
    let mut module = snapshot(&module)?;
    if let Ok(packages) = fs::read(path.with_file_name(packages::FILE)) {
        add_section(&mut module, PACKAGES_SECTION, &packages);
    }
    Ok(module)
}

fn snapshot(reactor: &[u8]) -> Result<Vec<u8>, ImageError> {
    let mut module = snapshot::snapshot(reactor).map_err(by_engine("making the snapshot"))?;
    add_section(&mut module, "proofbox", recipe::python_version().as_bytes());
    Ok(module)
}

fn exports(module: &[u8], name: &str) -> bool {
    wasmparser::Parser::new(0).parse_all(module).filter_map(Result::ok).any(|payload| match payload {
        wasmparser::Payload::ExportSection(exports) => {
            exports.into_iter().filter_map(Result::ok).any(|export| export.name == name)
        }
        _ => false,
    })
}

/// Compiles `image.wasm` for this machine, asks it what it has, and writes the manifest.
fn compile(interpreter: &str, directory: &Path, module: &[u8]) -> Result<Image, ImageError> {
    eprintln!("Compiling the image for this machine.");
    let engine = engine::for_building().map_err(by_engine("starting wasmtime"))?;
    let profile = recipe::branch_profile()
        .map_err(|reason| ImageError::Engine { what: "reading the recipe's profile of branches", reason })?;
    let metered = proofbox_metering::meter_with_hints(module, &profile)
        .map_err(|error| ImageError::Engine { what: "metering the image", reason: error.to_string() })?;
    proofbox_metering::check_resettable(&metered.module)
        .map_err(|error| ImageError::Engine { what: "checking the image", reason: error.to_string() })?;
    let compiled = engine.precompile_module(&metered.module).map_err(by_engine("compiling the image"))?;
    let compiled_for = compatibility()?;
    let path = directory.join(format!("{}.cwasm", &compiled_for[..16]));
    write_whole(&path, &compiled)?;
    let image_hash = format!("sha256:{}", recipe::hex(&Sha256::digest(module)));
    let python = section(module, "proofbox").and_then(|version| String::from_utf8(version.to_vec()).ok());
    let python = python.unwrap_or_else(recipe::python_version);
    let packages = section(module, PACKAGES_SECTION);
    let packages_file = packages.map(|_| directory.join(packages::FILE));
    if let (Some(content), Some(path)) = (packages, &packages_file) {
        write_whole(path, content)?;
    }
    let mut image = Image {
        image_hash,
        interpreter: interpreter.to_owned(),
        python,
        packages_hash: String::new(),
        packages: BTreeMap::new(),
        modules: Vec::new(),
        imports: BTreeSet::new(),
        compiled: path,
        packages_file,
        packages_file_hash: packages.map(|content| recipe::hex(&Sha256::digest(content))),
        compiled_hash: recipe::hex(&Sha256::digest(&compiled)),
        compiled_for,
        image_bytes: module.len() as u64,
        initial_memory_bytes: 0,
        verified: Verified::default(),
    };
    let pool = InterpreterPool::for_building(&image.pool_files()).map_err(by_engine("loading the image"))?;
    image.initial_memory_bytes = pool.initial_memory_bytes();
    let Importable { modules, imports, packages } = package_runs::importable(&pool)
        .map_err(|reason| ImageError::Engine { what: "trying the new image", reason })?;
    image.packages_hash = packages::hash_of(&packages);
    (image.modules, image.imports, image.packages) = (modules, imports, packages);
    // Changes from now on have another time, so that the next start need not read the files.
    std::thread::sleep(Stamp::MIN_AGE);
    image.verify().map_err(io("reading the image in", directory))?;
    image.record(directory)?;
    Ok(image)
}

/// Identity of what compiled code depends on: by wasmtime's own account its version, settings, and the CPU's features; and
/// how it is metered, and its branches hinted.
fn compatibility() -> Result<String, ImageError> {
    struct Digesting(Sha256);
    impl Hasher for Digesting {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let engine = engine::for_building().map_err(by_engine("starting wasmtime"))?;
    let mut digest = Digesting(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.update(proofbox_metering::VERSION.to_le_bytes());
    digest.0.update(proofbox_metering::LAYOUT.to_le_bytes());
    // An image that was compiled before `check_resettable` was there is checked.
    digest.0.update(b"resettable");
    digest.0.update(Sha256::digest(recipe::branches()));
    Ok(recipe::hex(&digest.0.finalize()))
}

/// Appends a custom section: <https://webassembly.github.io/spec/core/binary/modules.html#custom-section>.
fn add_section(module: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut named = leb128(name.len());
    named.extend_from_slice(name.as_bytes());
    module.push(0);
    module.extend_from_slice(&leb128(named.len() + content.len()));
    module.extend_from_slice(&named);
    module.extend_from_slice(content);
}

/// <https://webassembly.github.io/spec/core/binary/values.html#integers>
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn section<'a>(module: &'a [u8], name: &str) -> Option<&'a [u8]> {
    wasmparser::Parser::new(0).parse_all(module).filter_map(Result::ok).find_map(|payload| match payload {
        wasmparser::Payload::CustomSection(section) if section.name() == name => Some(section.data()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_is_hashed_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("module");
        fs::write(&path, "good").expect("room for it");
        let hash = hash_file(&path).expect("a file");
        assert_eq!(verify_file(&path, &hash, None).expect("good"), None, "it may be changed within the same instant");
        let age = Stamp::MIN_AGE + Duration::from_millis(10);
        std::thread::sleep(age);
        let stamp = verify_file(&path, &hash, None).expect("good");
        assert!(stamp.is_some());
        // It is not read: another hash would be right as well.
        assert_eq!(verify_file(&path, "another hash", stamp).expect("unchanged"), stamp);
        fs::write(&path, "evil").expect("room for it");
        let times = fs::FileTimes::new().set_modified(UNIX_EPOCH);
        File::options().write(true).open(&path).and_then(|file| file.set_times(times)).expect("our file");
        assert!(verify_file(&path, &hash, stamp).is_err(), "a moment later");
        std::thread::sleep(age);
        assert!(verify_file(&path, &hash, stamp).is_err(), "later");
    }

    #[test]
    fn sections_of_any_length_are_found_again() {
        for length in [0, 1, 127, 128, 300, 20_000, 3_000_000] {
            let mut module = b"\0asm\x01\0\0\0".to_vec();
            let content = vec![7; length];
            add_section(&mut module, "first", b"1");
            add_section(&mut module, PACKAGES_SECTION, &content);
            assert_eq!(section(&module, PACKAGES_SECTION), Some(&content[..]), "{length} bytes");
            assert_eq!(section(&module, "first"), Some(&b"1"[..]));
            assert_eq!(section(&module, "other"), None);
        }
    }
}
