//! The images that there are: one of each interpreter that was built, and those with packages of one's own.
//!
//! ```text
//! <cache>/images/<hash>/        manifest.json   what is there, with its hashes
//!                               packages.bin    the default image's packages, and its own over them
//! <cache>/images/names/<name>   the hash of the image that has this name
//! ```
//!
//! One with packages of one's own shares its interpreter, and with it the compiled module and the memory that runs start
//! from: it costs the file of its packages. It belongs to one interpreter: for another it has to be made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::hashing::hash_file;
use super::image::{Image, ImageSource, is_read_only, lock};
use super::image_error::{ImageError, by_engine, io, write_whole};
use super::package_runs::{self, Tried};
use super::packages;
use super::pool::InterpreterPool;
use super::recipe;

/// The name of the image that is always there.
pub const DEFAULT: &str = recipe::DEFAULT;

/// The name of the image with the libraries for data: pandas, matplotlib and their kin.
pub const DATA: &str = "data";

/// The name that stands for the smallest image which has what a program imports.
pub const AUTO: &str = "auto";

/// Names of the interpreters that can be built, the default one first.
pub fn interpreters() -> &'static [String] {
    recipe::interpreters()
}

/// Names of the modules at the top that an interpreter's own libraries have, whether it was built or not.
pub fn modules_of(interpreter: &str) -> Vec<String> {
    recipe::modules_of(interpreter)
}

/// The longest name of an image.
const MAX_NAME: usize = 64;

/// The images of one service.
#[derive(Clone, Debug)]
pub struct Images {
    default: Arc<Image>,
    /// Images of the other interpreters, by name, in the recipe's order.
    others: Vec<(String, Arc<Image>)>,
    own: BTreeMap<String, Arc<Image>>,
    names: BTreeMap<String, String>,
}

/// An image that is there and can't be used.
#[derive(Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Name of the image, or its hash where it has none.
    pub name: String,
    /// Reason for which it can't be used.
    pub reason: String,
}

const OTHER_INTERPRETER: &str = "it was made for another interpreter: make it again";

#[derive(Serialize, Deserialize)]
struct Manifest {
    /// Hash of the image that it was made from.
    base: String,
    imports: BTreeSet<String>,
    packages: BTreeMap<String, String>,
    packages_file_hash: String,
}

impl Images {
    /// Makes a set of the default image alone.
    pub fn only(default: Image) -> Self {
        Self { default: Arc::new(default), others: Vec::new(), own: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// The sources of the other interpreters that were built for this recipe, or are given.
    pub fn other_sources(source: &ImageSource) -> Vec<ImageSource> {
        let others = recipe::interpreters().iter().filter(|name| *name != DEFAULT);
        others.map(|name| source.of(name)).filter(ImageSource::is_built).collect()
    }

    /// The default image, the other interpreters' and those with packages of one's own, and what is there beside and
    /// can't be used.
    pub fn over(default: Image, source: &ImageSource) -> (Self, Vec<Unusable>) {
        let mut images = Self::only(default);
        let mut unusable = Vec::new();
        for source in Self::other_sources(source) {
            match Image::cached(&source) {
                Some(image) => images.others.push((source.interpreter, Arc::new(image))),
                None => {
                    let reason =
                        "it is not compiled for this machine: `proofbox runtime build --interpreter` does that";
                    unusable.push(Unusable { name: source.interpreter, reason: reason.to_owned() });
                }
            }
        }
        let others = recipe::interpreters().iter().filter(|name| *name != DEFAULT).map(|name| source.of(name));
        for outdated in others.filter(ImageSource::has_outdated) {
            let name = outdated.interpreter;
            let reason = format!(
                "another version of proofbox has built it: `proofbox runtime build --interpreter {name}` builds it anew"
            );
            unusable.push(Unusable { name, reason });
        }
        // Those of the cache come last: their names are what `proofbox runtime build` set, where it can.
        for directory in directories(source).iter().rev() {
            let names = names_in(&directory.join("names"));
            let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
            for hash in entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_hash(name)) {
                match images.with_packages_in(&directory.join(&hash)) {
                    Ok(image) => drop(images.own.insert(image.image_hash.clone(), Arc::new(image))),
                    Err(reason) => {
                        let name = names.iter().find(|(_, named)| **named == hash).map_or(&hash, |(name, _)| name);
                        unusable.push(Unusable { name: name.clone(), reason });
                    }
                }
            }
            let named = names.into_iter().map(|(name, hash)| (name, format!("sha256:{hash}")));
            images.names.extend(named.filter(|(_, hash)| images.own.contains_key(hash)));
        }
        (images, unusable)
    }

    /// The image of runs that name none.
    pub fn default(&self) -> &Arc<Image> {
        &self.default
    }

    /// Returns the image of a name or hash.
    pub fn find(&self, asked: &str) -> Option<&Arc<Image>> {
        let named = |(name, image): &&(String, Arc<Image>)| *name == asked || image.image_hash == asked;
        if asked == DEFAULT || asked == self.default.image_hash {
            return Some(&self.default);
        }
        if let Some((_, image)) = self.others.iter().find(named) {
            return Some(image);
        }
        self.own.get(self.names.get(asked).map_or(asked, String::as_str))
    }

    /// Returns the hash by which a worker knows the image: none for the default one.
    pub fn worker_hash(&self, image: &Image) -> Option<String> {
        (image.image_hash != self.default.image_hash).then(|| image.image_hash.clone())
    }

    /// Returns copies of all images, as workers get them: the default one first.
    pub fn to_worker(&self) -> Vec<Image> {
        self.all().map(|image| Image::clone(image)).collect()
    }

    /// Names of an image.
    pub fn names_of(&self, image: &Image) -> impl Iterator<Item = &str> {
        let default = (image.image_hash == self.default.image_hash).then_some(DEFAULT);
        let others = self.others.iter().filter(|(_, other)| other.image_hash == image.image_hash);
        let names = self.names.iter().filter(|(_, hash)| **hash == image.image_hash);
        let others = others.map(|(name, _)| name.as_str());
        default.into_iter().chain(others).chain(names.map(|(name, _)| name.as_str()))
    }

    /// The name of an image, or its hash where it has none.
    pub fn name_of<'a>(&'a self, image: &'a Image) -> &'a str {
        self.names_of(image).next().unwrap_or(&image.image_hash)
    }

    /// Returns all images, the default one first, then the other interpreters'.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Image>> {
        let others = self.others.iter().map(|(_, image)| image);
        std::iter::once(&self.default).chain(others).chain(self.own.values())
    }

    /// Names of the images, the default one's first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(|(name, _)| name.as_str());
        std::iter::once(DEFAULT).chain(others).chain(self.names.keys().map(String::as_str))
    }

    /// The interpreters' images, the default one first.
    fn interpreters(&self) -> impl Iterator<Item = &Arc<Image>> {
        std::iter::once(&self.default).chain(self.others.iter().map(|(_, image)| image))
    }

    /// Makes the image with the packages in that directory, of the interpreter that it was made for.
    fn with_packages_in(&self, directory: &Path) -> Result<Image, String> {
        let manifest = manifest_in(directory)?;
        let base = self.interpreters().find(|interpreter| interpreter.image_hash == manifest.base);
        base.ok_or(OTHER_INTERPRETER)?.with_packages_in(directory)
    }
}

impl Image {
    /// Makes the image of this interpreter with the packages in that directory.
    fn with_packages_in(&self, directory: &Path) -> Result<Self, String> {
        let manifest = manifest_in(directory)?;
        if manifest.base != self.image_hash {
            return Err(OTHER_INTERPRETER.to_owned());
        }
        let mut image = self.with_packages(manifest, directory.join(packages::FILE));
        image.verify_packages().map_err(|error| error.to_string())?;
        Ok(image)
    }

    fn with_packages(&self, manifest: Manifest, file: PathBuf) -> Self {
        Self {
            image_hash: format!("sha256:{}", hash_of(&manifest.base, &manifest.packages_file_hash)),
            packages_hash: packages::hash_of(&manifest.packages),
            packages: manifest.packages,
            imports: manifest.imports,
            packages_file: Some(file),
            packages_file_hash: Some(manifest.packages_file_hash),
            ..self.clone()
        }
    }

    /// Makes an image with the packages that `wanted` names (requirements files, wheels, directories of wheels) and
    /// what they need, under `name`; says on standard error what it does, and which of them can't be imported.
    ///
    /// # Errors
    /// Returns an error when the name is none, a package can't be had or has native code; nothing is changed then.
    pub fn build_with_packages(source: &ImageSource, name: &str, wanted: &[PathBuf]) -> Result<Self, ImageError> {
        check_name(name)?;
        let base = Self::ready(source)?;
        let cache = source.cache.join("images");
        match (base.build_in(&cache, name, wanted), &source.spare) {
            // Where what is compiled for a cache that can't be written is kept, too.
            (Err(ImageError::Io { source: error, .. }), Some(spare)) if is_read_only(&error) => {
                base.build_in(&spare.join("images"), name, wanted)
            }
            (made, _) => made,
        }
    }

    fn build_in(&self, directory: &Path, name: &str, wanted: &[PathBuf]) -> Result<Self, ImageError> {
        let names = directory.join("names");
        fs::create_dir_all(&names).map_err(io("making", &names))?;
        let _lock = lock(directory)?;
        let work = directory.join("work");
        // What an interrupted one left.
        let _ = fs::remove_dir_all(&work);
        let new = work.join("image");
        fs::create_dir_all(&new).map_err(io("making", &new))?;
        let made = self.make_in(directory, &work, &new, wanted);
        let _ = fs::remove_dir_all(&work);
        let image = made?;
        let hash = image.image_hash.trim_start_matches("sha256:");
        write_whole(&names.join(name), hash.as_bytes())?;
        Ok(image)
    }

    /// Makes an image in the directory `new` below `work`, and moves that to its final directory.
    fn make_in(&self, directory: &Path, work: &Path, new: &Path, wanted: &[PathBuf]) -> Result<Self, ImageError> {
        let collected = work.join("collected.bin");
        recipe::collect_packages(&collected, work, &self.packages, wanted)?;
        let own = packages::read(&collected).map_err(by_engine("reading the packages"))?;
        let plain = InterpreterPool::for_building(&self.pool_files()).map_err(by_engine("loading the image"))?;
        let own = package_runs::compiled(&plain, own).map_err(by_engine("compiling the packages"))?;
        let base = match &self.packages_file {
            Some(file) => packages::read(file).map_err(by_engine("reading the default image's packages"))?,
            None => Vec::new(),
        };
        let imported = packages::top_level(&own);
        let file = new.join(packages::FILE);
        write_whole(&file, &packages::written(packages::over(base, own)))?;

        let packages_file_hash = hash_file(&file).map_err(io("reading", &file))?;
        let manifest = |imports, packages| Manifest {
            base: self.image_hash.clone(),
            imports,
            packages,
            packages_file_hash: packages_file_hash.clone(),
        };
        let image = self.with_packages(manifest(BTreeSet::new(), BTreeMap::new()), file);
        let pool = InterpreterPool::for_building(&image.pool_files()).map_err(by_engine("loading the new image"))?;
        let Tried { imports, packages, failing } = package_runs::tried(&pool, &imported)
            .map_err(|reason| ImageError::Engine { what: "trying the new image", reason })?;
        for (module, error) in failing {
            eprintln!("Not importable here: {module} ({error})");
        }
        let manifest = manifest(imports, packages);
        write_whole(&new.join("manifest.json"), &serde_json::to_vec_pretty(&manifest).expect("plain data"))?;
        let place = directory.join(hash_of(&self.image_hash, &packages_file_hash));
        // The same packages again: what is there is as good.
        if self.with_packages_in(&place).is_err() {
            let _ = fs::remove_dir_all(&place);
            fs::rename(new, &place).map_err(io("writing", &place))?;
        }
        Ok(self.with_packages(manifest, place.join(packages::FILE)))
    }

    /// Removes an image of one's own, by name or hash, with all its names.
    ///
    /// # Errors
    /// Returns an error when there is none, or it can't be removed.
    pub fn remove(source: &ImageSource, asked: &str) -> Result<(), ImageError> {
        let mut found = false;
        for directory in directories(source) {
            let names = names_in(&directory.join("names"));
            let hash = asked.strip_prefix("sha256:").filter(|hash| is_hash(hash)).map(str::to_owned);
            let Some(hash) = hash.or_else(|| names.get(asked).cloned()) else { continue };
            for name in names.iter().filter(|(_, named)| **named == hash).map(|(name, _)| name) {
                let path = directory.join("names").join(name);
                fs::remove_file(&path).map_err(io("removing", &path))?;
                found = true;
            }
            let place = directory.join(hash);
            if place.exists() {
                fs::remove_dir_all(&place).map_err(io("removing", &place))?;
                found = true;
            }
        }
        if found { Ok(()) } else { Err(ImageError::Unknown { asked: asked.to_owned() }) }
    }
}

/// Reads the manifest of an image with packages of one's own.
fn manifest_in(directory: &Path) -> Result<Manifest, String> {
    let text = fs::read(directory.join("manifest.json")).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

/// Returns the directories of images: in the cache, and beside the service's data where the cache can't be written.
fn directories(source: &ImageSource) -> Vec<PathBuf> {
    std::iter::once(&source.cache).chain(&source.spare).map(|cache| cache.join("images")).collect()
}

/// Names and the hashes that they stand for.
fn names_in(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| check_name(name).is_ok())?;
        let hash = fs::read_to_string(entry.path()).ok().filter(|hash| is_hash(hash))?;
        Some((name, hash))
    };
    entries.filter_map(name).collect()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A name that is neither a path nor a hash, as those of containers' images are.
fn check_name(name: &str) -> Result<(), ImageError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
        && name != AUTO
        && !recipe::interpreters().iter().any(|interpreter| interpreter == name)
        && !is_hash(name);
    if fits { Ok(()) } else { Err(ImageError::BadName { name: name.to_owned() }) }
}

/// Returns the hash of an interpreter with packages.
fn hash_of(base: &str, packages_file_hash: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(b"proofbox image\n");
    digest.update(base);
    digest.update(b"\n");
    digest.update(packages_file_hash);
    recipe::hex(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_paths_nor_hashes() {
        for good in ["a", "ml", "data-science_2.1", "0"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let (long, hash) = ("a".repeat(MAX_NAME + 1), "0".repeat(64));
        for bad in ["", "default", "data", "auto", "A", ".", "..", "a/b", "-a", "a b", "sha256:0", "a\n", &long, &hash]
        {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_image_is_named_by_all_that_is_in_it() {
        let hashes =
            [hash_of("a", "b"), hash_of("a", "c"), hash_of("b", "b"), hash_of("a\nb", ""), hash_of("", "a\nb")];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
        assert!(hashes.iter().all(|hash| is_hash(hash)));
    }

    #[test]
    fn an_interpreter_that_another_recipe_built_is_told() {
        let cache = tempfile::tempdir().expect("a directory");
        let source = ImageSource {
            cache: cache.path().to_owned(),
            interpreter: DEFAULT.to_owned(),
            prebuilt: BTreeMap::new(),
            sources: None,
            spare: None,
        };
        let told = || Images::over(Image::default(), &source).1.into_iter().map(|image| image.name).collect::<Vec<_>>();
        let keep = |directory: &str, interpreter: &str| {
            let directory = cache.path().join("runtimes").join(directory);
            fs::create_dir_all(&directory).expect("made");
            let image = Image { interpreter: interpreter.to_owned(), ..Image::default() };
            fs::write(directory.join("manifest.json"), serde_json::to_vec(&image).expect("plain")).expect("written");
        };
        assert!(told().is_empty());
        keep(&"0".repeat(64), DEFAULT);
        keep("prebuilt-0", DATA);
        assert!(told().is_empty());
        keep(&"1".repeat(64), DATA);
        assert_eq!(told(), [DATA]);
    }
}
