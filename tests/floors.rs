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
    &["grader", "policy", "sandbox", "store"],
    &["worker"],
    &["shell"],
    &["runtime"],
    &["telemetry"],
    &["config", "jail", "memory", "metrics", "syntax"],
    &["domain"],
];

/// Uses that skip the rule, each with its reason.
const ALLOWED: &[(&str, &str)] = &[
    // Where images come from is a setting: plain data of the runtime's.
    ("config", "runtime::image::ImageSource"),
];

/// Of the runtime, what floors that do not run guests themselves may name: which images there are, to tell it to clients.
const DESCRIPTIONS: [&str; 2] = ["runtime::image::Image", "runtime::images::Images"];
const DESCRIBE_ONLY: &[&str] = &["http", "service", "grader", "policy"];

fn height(floor: &str) -> usize {
    let known = FLOORS.iter().position(|line| line.contains(&floor));
    known.unwrap_or_else(|| panic!("{floor} is on no floor: add it to tests/floors.rs"))
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

/// The module of a file: `["runtime", "files", "tree"]`.
fn module_of(path: &Path, root: &Path) -> Vec<String> {
    let below = path.strip_prefix(root).expect("it lies below src").with_extension("");
    let mut parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|name| name == "mod") {
        parts.pop();
    }
    parts
}

/// Code without comments: what they name is not imported.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// The paths that `rest` begins with: one, or those of a group in braces.
fn paths(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else { return vec![rest.chars().take_while(|c| is_path(*c)).collect()] };
    let (mut depth, mut item, mut found) = (0, String::new(), Vec::new());
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => found.push(std::mem::take(&mut item)),
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => item.push(c),
            _ => {}
        }
    }
    found.push(item);
    found.iter().map(|item| item.trim().chars().take_while(|c| is_path(*c)).collect()).collect()
}

/// What code of `module` names that it may not.
fn breaches(module: &[&str], text: &str) -> Vec<String> {
    let floor = module[0];
    let code = code(text);
    let mut found = Vec::new();
    let after = |word: &'static str| code.match_indices(word).map(|(at, _)| &code[at + word.len()..]);
    for used in after("crate::").chain(after("proofbox::")).flat_map(paths) {
        let other = used.split("::").next().unwrap_or("");
        let known = FLOORS.iter().any(|floors| floors.contains(&other));
        let allowed = ALLOWED.contains(&(floor, used.as_str()));
        if !known || other == floor || allowed {
            continue;
        }
        let describes = other != "runtime" || !DESCRIBE_ONLY.contains(&floor) || DESCRIPTIONS.contains(&used.as_str());
        if height(other) <= height(floor) || !describes {
            found.push(format!("{} uses {used}", module.join("::")));
        }
    }
    for line in code.lines() {
        // As many as lead out of the floor; code in an indented block may be one module deeper.
        let most = module.len() - 1 + usize::from(line.starts_with(' '));
        let longest = (1..8).rev().find(|count| line.contains(&"super::".repeat(*count))).unwrap_or(0);
        if longest > most {
            found.push(format!("{} climbs: {}", module.join("::"), line.trim()));
        }
    }
    if floor != "runtime" && code.contains("wasmtime") {
        found.push(format!("{} names wasmtime", module.join("::")));
    }
    found
}

#[test]
fn imports_go_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found = Vec::new();
    for path in files {
        let module = module_of(&path, &root);
        // The list of floors itself.
        if module != ["lib"] {
            let names: Vec<&str> = module.iter().map(String::as_str).collect();
            found.extend(breaches(&names, &std::fs::read_to_string(&path).expect("a source can be read")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_climbing_import_is_found() {
    let breach = |module: &[&str], code: &str| breaches(module, code).len();
    assert_eq!(breach(&["policy", "admit"], "use crate::service::Service;"), 1);
    assert_eq!(breach(&["policy", "admit"], "use crate::grader::Verdict;"), 1);
    assert_eq!(breach(&["policy"], "use crate::{\n    domain::{run, verdict},\n    http::router,\n    grader,\n};"), 2);
    assert_eq!(breach(&["domain", "run"], "use super::super::http;"), 1);
    assert_eq!(breach(&["domain"], "use super::http;"), 1);
    assert_eq!(breach(&["http", "v1", "wire"], "fn f() -> crate::runtime::Interpreters {}"), 1);
    assert_eq!(breach(&["grader"], "use wasmtime::Engine;"), 1);
}

#[test]
fn an_import_that_goes_down_is_none_of_them() {
    let code = "use crate::domain::run::Program; // crate::http\nuse crate::{service, runtime::image::Image};\nuse super::Shared;\n";
    assert_eq!(breaches(&["http", "v1"], code), [""; 0]);
    assert_eq!(breaches(&["domain"], "mod tests {\n    use super::*;\n}"), [""; 0]);
    assert_eq!(breaches(&["main"], "proofbox::cli::main()"), [""; 0]);
}
