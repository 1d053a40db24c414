//! Holds the house together: imports go down, floors that share a line never import each other, and only `runtime`
//! names wasmtime.

use std::path::{Path, PathBuf};

/// Top to bottom; what shares a line may not know each other.
const FLOORS: &[&[&str]] = &[
    &["main"],
    &["cli"],
    &["app"],
    &["http"],
    &["service"],
    &["grader", "policy", "sandbox"],
    &["worker"],
    &["runtime"],
    &["config", "metrics"],
    &["domain"],
];

/// Uses that skip the rule, each with its reason.
const ALLOWED: &[(&str, &str)] = &[
    // Where images come from is a setting: plain data of the runtime's.
    ("config", "runtime"),
];

fn height(floor: &str) -> usize {
    FLOORS
        .iter()
        .position(|line| line.contains(&floor))
        .unwrap_or_else(|| panic!("{floor} is on no floor: add it to tests/floors.rs"))
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the sources are there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The floor a file is on: the first part of its path below `src`.
fn floor_of(path: &Path, root: &Path) -> String {
    let below = path.strip_prefix(root).expect("it lies below src");
    let first = below.components().next().expect("it has a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Code without comments: what they name is not imported.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap_or(""))
}

fn breaches(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code(text) {
        for used in line.split("crate::").skip(1).chain(line.split("proofbox::").skip(1)) {
            let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let known = FLOORS.iter().any(|floors| floors.contains(&used.as_str()));
            if !known || used == name || ALLOWED.contains(&(name, used.as_str())) {
                continue;
            }
            if height(&used) <= height(name) {
                found.push(format!("{name} uses {used}: {}", line.trim()));
            }
        }
        if name != "runtime" && line.contains("wasmtime") {
            found.push(format!("{name} names wasmtime: {}", line.trim()));
        }
    }
    found
}

#[test]
fn imports_go_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    let found: Vec<String> = paths
        .iter()
        .filter(|path| floor_of(path, &root) != "lib")
        .flat_map(|path| {
            breaches(&floor_of(path, &root), &std::fs::read_to_string(path).expect("a source can be read"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_climbing_import_is_found() {
    assert_eq!(breaches("policy", "use crate::service::Service;").len(), 1);
    assert_eq!(breaches("policy", "use crate::grader::Verdict;").len(), 1);
    assert_eq!(breaches("grader", "use wasmtime::Engine;").len(), 1);
    assert_eq!(breaches("service", "use crate::domain::run::Program; // crate::http").len(), 0);
}
