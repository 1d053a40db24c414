//! The image in the cache is verified before it is loaded, and made again when it is not what it should be.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::{Server, proofbox};
use crate::tools::{cache, root, succeed};

/// A cache of its own with a copy of the image that this binary runs.
pub(crate) struct Cache {
    pub directory: tempfile::TempDir,
    /// Of the image, with its manifest.
    image: PathBuf,
    /// The compiled module.
    pub compiled: PathBuf,
}

pub(crate) fn copy() -> Cache {
    // Starting a server makes the image where there is none.
    let _ = Server::shared();
    let output = proofbox(&["runtime", "info", "--json"]).output().expect("the binary was built");
    let info: Value = serde_json::from_slice(&output.stdout).expect("there is an image");
    let compiled = PathBuf::from(info["compiled"].as_str().expect("a path"));
    let original = compiled.parent().expect("a directory").to_owned();
    let directory = tempfile::tempdir().expect("a directory");
    let image = directory.path().join("runtimes").join(original.file_name().expect("a name"));
    std::fs::create_dir_all(&image).expect("a directory");
    for name in [
        "image.wasm",
        "manifest.json",
        "packages.bin",
        compiled.file_name().and_then(|name| name.to_str()).expect("a name"),
    ] {
        std::fs::copy(original.join(name), image.join(name)).expect("a file of the cache");
    }
    // The manifest says where the compiled module lies.
    let manifest = std::fs::read_to_string(image.join("manifest.json")).expect("a manifest");
    let moved = manifest.replace(original.to_str().expect("UTF-8"), image.to_str().expect("UTF-8"));
    std::fs::write(image.join("manifest.json"), moved).expect("a file");
    let compiled = image.join(compiled.file_name().expect("a name"));
    Cache { directory, image, compiled }
}

impl Cache {
    fn proofbox(&self, arguments: &[&str]) -> Output {
        let mut command = proofbox(arguments);
        command.env("PROOFBOX_CACHE_DIR", self.directory.path()).env_remove("PROOFBOX_IMAGE");
        command.output().expect("the binary was built")
    }

    /// Whether the image would be loaded as it is.
    fn is_taken(&self) -> bool {
        self.proofbox(&["runtime", "info"]).status.success()
    }
}

/// Changes one bit in the middle of a file; done twice, it is as it was.
pub(crate) fn alter(path: &Path) {
    let file = std::fs::File::options().read(true).write(true).open(path).expect("a file");
    let middle = file.metadata().expect("a file").len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, middle).expect("it is as long");
    file.write_all_at(&[byte[0] ^ 1], middle).expect("room for it");
}

fn shorten(path: &Path) {
    let bytes = std::fs::read(path).expect("a file");
    std::fs::write(path, &bytes[..bytes.len() / 2]).expect("a file");
}

/// Two machines make the same image, wherever their caches lie.
#[test]
fn the_image_names_no_directory_that_it_was_made_in() {
    let cache = copy();
    let image = std::fs::read(cache.image.join("image.wasm")).expect("a file");
    let made_in = b"/proofbox/build";
    let found = image.windows(made_in.len()).position(|bytes| bytes == made_in);
    let shown = found.map(|at| String::from_utf8_lossy(&image[at.saturating_sub(60)..at + 60]).into_owned());
    assert_eq!(shown, None);
}

/// Byte code is the same whatever each process compiled before and however many there are. `networkx` has modules in which
/// shared constants show it.
#[test]
fn the_byte_code_of_packages_does_not_depend_on_the_number_of_processes() {
    const UNPACK: &str = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    let python = cache().join("build/native/python");
    let sources = std::fs::read_dir(cache().join("build/sources")).expect("`proofbox runtime build` makes it");
    let wheels: Vec<PathBuf> = sources
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("networkx-"))
        })
        .collect();
    assert!(!wheels.is_empty(), "the sources of the image have no networkx");
    let compiled = [1, 2, 3, 5].map(|processes| {
        let directory = tempfile::tempdir().expect("a directory");
        for wheel in &wheels {
            succeed("unzip", Command::new(&python).args(["-c", UNPACK]).arg(wheel).arg(directory.path()));
        }
        let mut command = Command::new(&python);
        command.env("PYTHONHASHSEED", "0").arg("-sP").arg(root().join("runtimes/python-3.13/compile_packages.py"));
        command.arg("--tree").arg(directory.path()).args(["--shown-as", "/packages", "--jobs", &processes.to_string()]);
        succeed("the compilation", &mut command);
        let mut files = BTreeMap::new();
        collect(directory.path(), directory.path(), &mut files);
        assert!(files.len() > 500, "{} files", files.len());
        files
    });
    for other in &compiled[1..] {
        let differing: Vec<_> =
            compiled[0].iter().filter(|(name, bytes)| other.get(*name) != Some(*bytes)).map(|(name, _)| name).collect();
        assert!(differing.is_empty(), "{differing:?}");
    }
}

/// The contents of the files in `directory`, by their paths from `root`.
fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let content = std::fs::read(&path).expect("a file");
            files.insert(path.strip_prefix(root).expect("a part of it").to_owned(), content);
        }
    }
}

#[test]
fn an_altered_image_is_not_loaded() {
    let cache = copy();
    assert!(cache.is_taken());
    let good = std::fs::read(&cache.compiled).expect("a file");
    alter(&cache.compiled);
    assert!(!cache.is_taken());
    // It is compiled again, from the module that the recipe made.
    let file = cache.directory.path().join("a.py");
    std::fs::write(&file, "print(6 * 7)").expect("a file");
    let output = cache.proofbox(&["run", file.to_str().expect("UTF-8")]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{stderr}");
    assert!(stderr.contains("Compiling"), "{stderr}");
    assert!(cache.is_taken() && std::fs::read(&cache.compiled).expect("a file") == good);
}

#[test]
fn a_cache_that_is_not_whole_is_not_used() {
    let cache = copy();
    let manifest = cache.image.join("manifest.json");
    let whole = std::fs::read(&manifest).expect("a file");
    shorten(&manifest);
    assert!(!cache.is_taken(), "a manifest cut short");
    std::fs::write(&manifest, &whole).expect("a file");
    assert!(cache.is_taken());
    shorten(&cache.compiled);
    assert!(!cache.is_taken(), "a module cut short");
    std::fs::remove_file(&cache.compiled).expect("a file");
    assert!(!cache.is_taken(), "no module");
}

#[test]
fn altered_packages_are_not_loaded() {
    let cache = copy();
    alter(&cache.image.join("packages.bin"));
    assert!(!cache.is_taken());
}

#[test]
fn an_image_for_another_machine_is_not_loaded() {
    let cache = copy();
    let path = cache.image.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    manifest["compiled_for"] = Value::from("another");
    std::fs::write(&path, manifest.to_string()).expect("a file");
    assert!(!cache.is_taken());
}

#[test]
fn an_image_for_another_machine_in_a_cache_that_cannot_be_written_is_compiled_into_the_data_directory() {
    let cache = copy();
    let path = cache.image.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    manifest["compiled_for"] = Value::from("another");
    std::fs::write(&path, manifest.to_string()).expect("a file");
    let root = cache.directory.path();
    let permit = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    // Root may write anywhere; nobody may not, and finds what it needs here.
    let binary = root.join("proofbox");
    std::fs::copy(env!("CARGO_BIN_EXE_proofbox"), &binary).expect("a file");
    std::fs::write(root.join("a.py"), "print(6 * 7)").expect("a file");
    std::fs::create_dir(root.join("data")).expect("a directory");
    permit(&root.join("data"), 0o777);
    for directory in [root, &root.join("runtimes"), &cache.image] {
        permit(directory, 0o555);
    }
    let run = || {
        let mut command = Command::new(&binary);
        command.args(["run", "a.py"]).current_dir(root).env_clear();
        command.env("PROOFBOX_CACHE_DIR", root).env("PROOFBOX_DATA_DIR", root.join("data"));
        // SAFETY: it has no arguments and no effect but its answer.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(65534).gid(65534);
        }
        let output = command.output().expect("it was copied");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{stderr}");
        stderr
    };
    assert!(run().contains("Compiling"));
    assert!(root.join("data/cache/runtimes").is_dir());
    let again = run();
    assert!(!again.contains("Compiling"), "{again}");
    // For the directory to be removed.
    for directory in [root, &root.join("runtimes"), &cache.image] {
        permit(directory, 0o755);
    }
}

#[test]
fn an_image_file_that_cannot_be_used_is_named_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let files: [(&str, &[u8]); 3] =
        [("text.wasm", b"not wasm"), ("empty.wasm", b"\0asm\x01\0\0\0"), ("nothing.wasm", b"")];
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let cache = directory.path().join(format!("cache-{name}"));
        let mut command = proofbox(&["runtime", "build"]);
        command.env("PROOFBOX_CACHE_DIR", &cache).env("PROOFBOX_IMAGE", &path);
        let output = command.output().expect("the binary was built");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(125) && stderr.contains(name), "{name}: {stderr}");
        let left = std::fs::read_dir(cache.join("runtimes")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{name} left something in the cache");
    }
    let missing = proofbox(&["runtime", "build"])
        .env("PROOFBOX_IMAGE", directory.path().join("missing.wasm"))
        .output()
        .expect("it was built");
    let stderr = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(125) && stderr.contains("missing.wasm"), "{stderr}");
}
