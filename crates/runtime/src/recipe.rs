//! Runs the recipe (`runtimes/python-3.13`), which is carried inside this binary, and shows how far it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use include_dir::{Dir, DirEntry, include_dir};
use indicatif::{ProgressBar, ProgressStyle};
use proofbox_metering::BranchProfile;
use sha2::{Digest, Sha256};

/// The interpreter that is built where none is named.
pub(crate) const DEFAULT: &str = "default";

/// Path of the profile of branches in the recipe.
const BRANCHES: &str = "profile/branches.zst";

static RECIPE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../runtimes/python-3.13");

/// The recipe did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// A file or process of proofbox could not be had.
    #[error("building the Python runtime: {what}: {source}")]
    Io {
        /// Operation that was attempted.
        what: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// Packages can't be put into an image.
    #[error("{reason}")]
    Packages {
        /// Reason, with the packages concerned.
        reason: String,
    },
    /// The recipe says what went wrong.
    #[error("building the Python runtime failed: {reason}\n  The log is {}; what is done is kept: run the same command again to go on.", log.display())]
    Failed {
        /// Error message of the recipe.
        reason: String,
        /// Output of all its commands.
        log: PathBuf,
    },
}

/// Identifies everything that an interpreter is built from: the recipe, and which of its interpreters it is.
pub(crate) fn hash(interpreter: &str) -> String {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let mut files = Vec::new();
        collect(&RECIPE, &mut files);
        files.sort_unstable_by_key(|(path, _)| *path);
        let mut hash = Sha256::new();
        for (path, content) in files {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update([0]);
            hash.update((content.len() as u64).to_le_bytes());
            hash.update(content);
        }
        hex(&hash.finalize())
    });
    if interpreter == DEFAULT { HASH.clone() } else { format!("{}-{interpreter}", *HASH) }
}

/// The profile of branches (`profile/README.md`) as it is in the recipe, compressed; empty, where there is none.
pub(crate) fn branches() -> &'static [u8] {
    RECIPE.get_file(BRANCHES).map_or(&[], include_dir::File::contents)
}

/// Returns the profile of an interpreter's branches.
///
/// # Errors
/// Returns an error when the profile in the recipe is damaged.
pub(crate) fn branch_profile() -> Result<BranchProfile, String> {
    unpack_branches(branches())
}

fn unpack_branches(packed: &[u8]) -> Result<BranchProfile, String> {
    if packed.is_empty() {
        return Ok(BranchProfile::default());
    }
    let profile = zstd::decode_all(packed).map_err(|error| format!("{BRANCHES} can't be unpacked: {error}"))?;
    BranchProfile::read(&profile).map_err(|error| format!("{BRANCHES}: {error}"))
}

/// Names of the interpreters that can be built, the default one first.
pub(crate) fn interpreters() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let runtime = toml_of("runtime.toml");
        let names = runtime.get("interpreter").and_then(|value| value.as_table()).map(|table| table.keys().cloned());
        let others = names.into_iter().flatten().filter(|name| name != DEFAULT);
        std::iter::once(DEFAULT.to_owned()).chain(others).collect()
    });
    &NAMES
}

/// Names of the modules at the top that an interpreter's own libraries have.
pub(crate) fn modules_of(interpreter: &str) -> Vec<String> {
    let runtime = toml_of("runtime.toml");
    let listed = runtime.get("interpreter").and_then(|all| all.get(interpreter)?.get("extensions")?.as_array());
    let libraries = listed.into_iter().flatten().filter_map(|name| name.as_str());
    let mut tops = BTreeSet::new();
    for name in libraries {
        let library = toml_of(&format!("extensions/{name}.toml"));
        let Some(python) = library.get("python").and_then(|python| python.as_table()) else { continue };
        let packages = python.get("packages").and_then(|packages| packages.as_table());
        let packages = packages.into_iter().flat_map(|packages| packages.keys().map(String::as_str));
        let preloaded = strings(python.get("preload"));
        let layered = python.get("data").and_then(|data| data.as_array()).into_iter().flatten();
        let layered = layered.filter_map(|part| part.get("below").and_then(|below| below.as_str()));
        tops.extend(
            packages
                .chain(preloaded)
                .chain(layered)
                .filter_map(|path| path.split(['/', '.']).next().map(str::to_owned)),
        );
    }
    tops.into_iter().collect()
}

/// The texts of an array; none, where there is no such array.
fn strings(value: Option<&toml::Value>) -> impl Iterator<Item = &str> {
    value.and_then(|value| value.as_array()).into_iter().flatten().filter_map(|item| item.as_str())
}

/// The table in a file of the recipe; an empty one, where there is no such file.
fn toml_of(path: &str) -> toml::Table {
    let text = RECIPE.get_file(path).and_then(|file| file.contents_utf8()).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// Returns bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(dir: &'static Dir<'static>, files: &mut Vec<(&'static Path, &'static [u8])>) {
    for entry in dir.entries() {
        match entry {
            // Left by Python beside the sources; not part of the recipe.
            DirEntry::Dir(dir) if dir.path().ends_with("__pycache__") => {}
            DirEntry::Dir(dir) => collect(dir, files),
            DirEntry::File(file) => files.push((file.path(), file.contents())),
        }
    }
}

/// The value of `key` in the recipe's `runtime.toml`, below `[python]`.
pub(crate) fn python_version() -> String {
    toml_of("runtime.toml")
        .get("python")
        .and_then(|python| python.get("version"))
        .and_then(|version| version.as_str())
        .unwrap_or("3.13")
        .to_owned()
}

/// Builds the reactor of an interpreter at `reactor`, working below `work`, with archives from `sources` where they are
/// there.
///
/// # Errors
/// Returns an error when a prerequisite is missing or a step fails; finished steps are kept.
pub(crate) fn build(interpreter: &str, reactor: &Path, work: &Path, sources: Option<&Path>) -> Result<(), RecipeError> {
    let mut arguments = vec![OsStr::new("--out"), reactor.as_os_str(), OsStr::new("--work"), work.as_os_str()];
    arguments.extend([OsStr::new("--interpreter"), OsStr::new(interpreter)]);
    if let Some(sources) = sources {
        arguments.extend([OsStr::new("--sources"), sources.as_os_str()]);
    }
    let reason = run("build.py", &arguments, work)?;
    if reason.is_none() && reactor.is_file() {
        return Ok(());
    }
    let reason = reason.unwrap_or_else(|| "build.py made no reactor".to_owned());
    Err(RecipeError::Failed { reason, log: work.join("build.log") })
}

/// Puts packages into the file `out`, as sources: those that `wanted` names (requirements files, wheels, directories of
/// wheels) and what they need beyond those that are `included` in the image.
///
/// # Errors
/// Returns an error when one can't be had, or has native code.
pub(crate) fn collect_packages(
    out: &Path,
    work: &Path,
    included: &BTreeMap<String, String>,
    wanted: &[PathBuf],
) -> Result<(), RecipeError> {
    let included: Vec<String> =
        included.iter().map(|(name, version)| format!("--included={name}=={version}")).collect();
    let mut arguments = vec![OsStr::new("--out"), out.as_os_str(), OsStr::new("--work"), work.as_os_str()];
    arguments.extend(included.iter().map(OsStr::new));
    arguments.push(OsStr::new("--"));
    arguments.extend(wanted.iter().map(|path| path.as_os_str()));
    match run("add_packages.py", &arguments, work)? {
        None => Ok(()),
        Some(reason) => Err(RecipeError::Packages { reason }),
    }
}

/// Makes a directory hold these files and no others: a source that an earlier recipe left would be compiled in.
fn unpack(files: &[(&Path, &[u8])], directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut open = vec![directory.to_owned()];
    while let Some(above) = open.pop() {
        for entry in std::fs::read_dir(&above)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if !files.iter().any(|(name, _)| directory.join(name) == path) {
                std::fs::remove_file(path)?;
            }
        }
    }
    for (path, content) in files {
        let target = directory.join(path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // A file that is the same keeps its time of change, by which steps know that they are done.
        if std::fs::read(&target).ok().as_deref() != Some(*content) {
            std::fs::write(&target, content)?;
        }
    }
    Ok(())
}

/// Runs a program of the recipe, showing how far it is; why it failed, if it did.
fn run(program: &str, arguments: &[&OsStr], work: &Path) -> Result<Option<String>, RecipeError> {
    let io = |what: &str| {
        let what = what.to_owned();
        move |source| RecipeError::Io { what, source }
    };
    let recipe = work.join("recipe");
    let mut files = Vec::new();
    collect(&RECIPE, &mut files);
    unpack(&files, &recipe).map_err(io("unpacking the recipe"))?;
    let mut command = Command::new("python3");
    command.arg("-B").arg(recipe.join(program)).args(arguments);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io("starting python3 (is it installed?)"))?;
    let stdout = child.stdout.take().expect("it was asked to be piped");
    let mut progress = Progress::start();
    let mut reason = None;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("@step", rest)) => progress.step(rest),
            Some(("@error", rest)) => reason = Some(rest.to_owned()),
            _ => {}
        }
    }
    let status = child.wait().map_err(io("waiting for the recipe"))?;
    progress.finish();
    Ok(reason.or_else(|| (!status.success()).then(|| format!("{program} ended with {status}"))))
}

/// A bar on a terminal, a line a step elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
}

impl Progress {
    fn start() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1);
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { bar, started: Instant::now() }
    }

    /// `I/N SECONDS TEXT`
    fn step(&mut self, step: &str) {
        let mut parts = step.splitn(3, ' ');
        let (Some(place), Some(seconds), Some(text)) = (parts.next(), parts.next(), parts.next()) else { return };
        let (index, count) = place.split_once('/').unwrap_or((place, place));
        match &self.bar {
            Some(bar) => {
                bar.set_length(count.parse().unwrap_or(1));
                bar.set_position(index.parse().unwrap_or(0));
                bar.set_message(format!("{text} (about {seconds} s)"));
            }
            None => eprintln!("[{:4} s] {place} {text} (about {seconds} s)", self.started.elapsed().as_secs()),
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_profile_of_branches_is_refused() {
        assert!(unpack_branches(branches()).expect("it is whole").len() > 1000);
        let half = &branches()[..branches().len() / 2];
        let refused = |packed: &[u8]| unpack_branches(packed).expect_err("it is refused");
        assert!(refused(half).starts_with("profile/branches.zst can't be unpacked: "), "{}", refused(half));
        let whole = zstd::decode_all(branches()).expect("it is whole");
        let cut_off = zstd::encode_all(&whole[..whole.len() / 2], 1).expect("memory");
        assert_eq!(refused(&cut_off), "profile/branches.zst: the profile of branches is cut off");
        let other = zstd::encode_all(&b"other"[..], 1).expect("memory");
        assert_eq!(refused(&other), "profile/branches.zst: it is no profile of branches, or one of another version");
    }

    #[test]
    fn a_recipe_is_unpacked_over_an_earlier_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let file = |name: &'static str, content: &'static [u8]| (Path::new(name), content);
        unpack(&[file("a/kept.c", b"1"), file("a/gone.c", b"2")], directory.path()).expect("space");
        let before = std::fs::metadata(at("a/kept.c")).and_then(|kept| kept.modified()).expect("a file");
        unpack(&[file("a/kept.c", b"1"), file("b/new.c", b"3")], directory.path()).expect("space");
        let after = std::fs::metadata(at("a/kept.c")).and_then(|kept| kept.modified()).expect("a file");
        assert_eq!(before, after);
        assert_eq!(std::fs::read(at("b/new.c")).expect("a file"), b"3");
        assert!(!at("a/gone.c").exists());
    }
}
