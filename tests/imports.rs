//! Holds how files depend on each other: those that have no files below them import in no circle (CONTRIBUTING.md).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type ModulePath = Vec<String>;

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Paths that its file imports, each with the name at its end.
    imports: Vec<ModulePath>,
}

type Modules = BTreeMap<ModulePath, Module>;

/// Splits at commas outside of braces.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Adds the paths of a tree of imports, such as `a::{self, b as c}`.
fn add_tree(prefix: &[String], tree: &str, imports: &mut Vec<ModulePath>) {
    let list = tree.trim().strip_suffix('}').and_then(|tree| tree.split_once('{'));
    let before = list.map_or(tree, |(before, _)| before).split(" as ").next().unwrap_or_default();
    let segments = before.split("::").map(|segment| segment.trim().to_owned());
    let mut path = [prefix, &segments.filter(|segment| !segment.is_empty()).collect::<Vec<_>>()].concat();
    match list {
        Some((_, list)) => split(list).into_iter().for_each(|part| add_tree(&path, part, imports)),
        None => {
            path.pop_if(|last| last == "self" && !prefix.is_empty());
            imports.push(path);
        }
    }
}

/// Reads the imports of a file outside its tests, and paths within its code.
fn imports_of(source: &str) -> Vec<ModulePath> {
    let mut imports = Vec::new();
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let is_part = |character: char| character.is_alphanumeric() || "_:".contains(character);
    for word in code.split(|character| !is_part(character)) {
        if word.starts_with("super::") || word.starts_with("crate::") {
            add_tree(&[], word, &mut imports);
        }
    }
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if before.is_empty() || before.starts_with("pub") {
            let tree = code[at + "use ".len()..].split(';').next().unwrap_or_default();
            add_tree(&[], tree, &mut imports);
        }
    }
    imports
}

fn read_modules(folder: &Path, path: &[String], modules: &mut Modules) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let file = entry.expect("a readable entry").path();
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let inner = [path, std::slice::from_ref(&name)].concat();
        if file.is_dir() {
            read_modules(&file, &inner, modules);
        } else if file.extension().is_some_and(|extension| extension == "rs")
            && (name != "main" || !folder.join("lib.rs").exists())
        {
            let source = std::fs::read_to_string(&file).expect("UTF-8");
            let own = if is_front(&file) { path.to_vec() } else { inner };
            modules.insert(own, Module { file, imports: imports_of(&source) });
        }
    }
}

/// Returns whether a file stands for the folder that it is in.
fn is_front(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| ["mod", "lib", "main"].iter().any(|front| stem == *front))
}

fn is_leaf(file: &Path) -> bool {
    let is_test = file.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("test_"));
    !is_front(file) && !is_test && !file.with_extension("").is_dir()
}

/// Returns the file that an import in a module leads to, behind what others export again; the module's own for a name of
/// another crate.
fn file_of<'m>(modules: &'m Modules, module: &[String], path: &[String], left: usize) -> Option<&'m Path> {
    let mut here = module.to_vec();
    for (at, segment) in path.iter().enumerate() {
        let below = [&here[..], std::slice::from_ref(segment)].concat();
        match segment.as_str() {
            "crate" => here.clear(),
            "self" => {}
            "super" => drop(here.pop()),
            _ if modules.contains_key(&below) => here = below,
            name => {
                let Module { file, imports } = modules.get(&here)?;
                let again = imports.iter().find(|path| path.last().is_some_and(|last| last == name));
                let Some(target) = again else { return Some(file) };
                let whole = [&target[..], &path[at + 1..]].concat();
                return file_of(modules, &here, &whole, left.checked_sub(1)?);
            }
        }
    }
    modules.get(&here).map(|module| module.file.as_path())
}

/// Returns the circles of files of a crate, each in order.
fn circles(source: &Path) -> BTreeSet<BTreeSet<PathBuf>> {
    let mut modules = Modules::new();
    read_modules(source, &[], &mut modules);
    let mut imported: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for (path, module) in modules.iter().filter(|(_, module)| is_leaf(&module.file)) {
        let files = module.imports.iter().filter_map(|target| file_of(&modules, path, target, 10));
        imported.insert(&module.file, files.filter(|file| is_leaf(file)).collect());
    }
    let mut reached: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for file in imported.keys() {
        let (seen, mut open) = (reached.entry(file).or_default(), vec![*file]);
        while let Some(file) = open.pop() {
            open.extend(imported[file].iter().copied().filter(|next| seen.insert(next)));
        }
    }
    let circle = |file: &&Path| {
        reached[file].iter().filter(|other| reached[*other].contains(file)).map(|other| other.to_path_buf()).collect()
    };
    let circles = reached.keys().map(circle);
    circles.filter(|circle: &BTreeSet<PathBuf>| circle.len() > 1).collect()
}

#[test]
fn files_import_in_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let all = crates.chain([root.to_owned(), root.join("loadtest")]);
    let sources = all.map(|folder| folder.join("src")).filter(|folder| folder.is_dir());
    let found: Vec<_> = sources.flat_map(|source| circles(&source)).collect();
    assert!(found.is_empty(), "{} circles; put what both need in a file below them: {found:#?}", found.len());
}
