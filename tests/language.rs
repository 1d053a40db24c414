//! Holds how the code is written: openings and lengths of doc comments and docstrings, names of bounds and of types,
//! `bool` parameters (CONTRIBUTING.md).

use std::path::{Path, PathBuf};

/// Words that open no doc comment: they point at something that a reader of search results does not see.
const POINTERS: &str = "it its they them their he she this that these those which who whom whose what where when \
    whether how why if as such so there here one ones each all both none some any others other another";
/// Largest share of doc comments that open with a pointer, in percent.
const MAX_POINTERS: usize = 1;
/// Largest share of doc comments of at most [`FEW_WORDS`] words, in percent.
const MAX_SHORT: usize = 5;
const FEW_WORDS: usize = 3;
/// Prefixes that bounds had beside `MAX_`.
const OTHER_BOUNDS: [&str; 3] = ["MOST_", "LONGEST_", "MAXIMUM_"];

/// Largest number of parameters that are a `bool`.
const MAX_BOOL_PARAMETERS: usize = 5;

const RUST_FOLDERS: [&str; 3] = ["src", "crates", "loadtest/src"];
const PYTHON_FOLDERS: [&str; 4] = ["clients", "loadtest", "runtimes", "tests"];
/// Folders of Python programs that are run or scanned as they are: their docstrings are data.
const PROGRAM_FOLDERS: [&str; 4] =
    ["runtimes/python-3.13/profile/training", "tests/policy/benign", "tests/policy/evasions", "tests/redteam"];
/// Quotes of a docstring.
const QUOTES: &str = "\"\"\"";

/// Names that say nothing of a type.
const VAGUE_TYPES: [&str; 6] = ["Place", "Told", "Kept", "Asked", "From", "Into"];

struct DocComment {
    place: String,
    text: String,
}

/// Returns the files below the folders whose names end in `.extension`, but for hidden and installed ones.
fn files(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "node_modules" {
                walk(&path, extension, found);
            } else if path.is_file() && path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in folders {
        walk(&root.join(folder), extension, &mut found);
    }
    found.sort();
    found
}

fn rust_files() -> Vec<PathBuf> {
    files(&RUST_FOLDERS, "rs")
}

fn python_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = PROGRAM_FOLDERS.map(|folder| root.join(folder));
    let mut found = files(&PYTHON_FOLDERS, "py");
    found.retain(|path| !programs.iter().any(|folder| path.starts_with(folder)));
    found
}

fn doc_comments() -> Vec<DocComment> {
    let mut comments = Vec::new();
    for path in rust_files() {
        let source = std::fs::read_to_string(&path).expect("UTF-8");
        let mut open = false;
        for (number, line) in source.lines().enumerate() {
            let Some(text) = line.trim_start().strip_prefix("///") else {
                open = false;
                continue;
            };
            match comments.last_mut() {
                Some(DocComment { text: whole, .. }) if open => {
                    whole.push(' ');
                    whole.push_str(text);
                }
                _ => comments
                    .push(DocComment { place: format!("{}:{}", path.display(), number + 1), text: text.to_owned() }),
            }
            open = true;
        }
    }
    // Sections alone, such as `# Errors`, say nothing of the item.
    comments.retain(|comment| !comment.text.trim_start().starts_with('#'));
    comments
}

/// Returns the docstrings of modules, classes and functions: texts in `"""` at the start of a file, or behind a line
/// that ends a header.
fn docstrings() -> Vec<DocComment> {
    let mut found: Vec<DocComment> = Vec::new();
    for path in python_files() {
        let source = std::fs::read_to_string(&path).expect("UTF-8");
        let (mut is_expected, mut in_header, mut is_open) = (true, false, false);
        for (number, line) in source.lines().enumerate() {
            let line = line.trim();
            if is_open {
                let text = line.split(QUOTES).next().unwrap_or_default();
                if let Some(docstring) = found.last_mut() {
                    docstring.text.push(' ');
                    docstring.text.push_str(text);
                }
                is_open = !line.contains(QUOTES);
                continue;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let quoted = line.strip_prefix('r').unwrap_or(line).strip_prefix(QUOTES);
            if let Some(text) = quoted.filter(|_| is_expected) {
                let place = format!("{}:{}", path.display(), number + 1);
                found.push(DocComment { place, text: text.split(QUOTES).next().unwrap_or_default().to_owned() });
                (is_expected, is_open) = (false, !text.contains(QUOTES));
                continue;
            }
            in_header |= ["def ", "async def ", "class "].iter().any(|word| line.starts_with(word));
            let code = line.split("  #").next().unwrap_or_default();
            is_expected = in_header && code.ends_with(':');
            in_header &= !is_expected;
        }
    }
    assert!(!found.is_empty(), "there are docstrings");
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || "_'`:[]<>".contains(character)))
        .filter(|word| !word.is_empty())
}

fn assert_share(what: &str, most: usize, all: usize, found: &[&DocComment]) {
    let shown: String = found.iter().map(|comment| format!("\n{}: {}", comment.place, comment.text.trim())).collect();
    assert!(found.len() * 100 <= all * most, "{} of {all} doc comments {what}, {most} % may:{shown}", found.len());
}

fn assert_few_open_with_a_pointer(comments: &[DocComment]) {
    let opens = |comment: &&DocComment| {
        words(&comment.text)
            .next()
            .is_some_and(|word| POINTERS.split_whitespace().any(|pointer| word.eq_ignore_ascii_case(pointer)))
    };
    let found: Vec<_> = comments.iter().filter(opens).collect();
    assert_share("open with a pointer", MAX_POINTERS, comments.len(), &found);
}

fn assert_few_are_short(comments: &[DocComment]) {
    let found: Vec<_> = comments.iter().filter(|comment| words(&comment.text).count() <= FEW_WORDS).collect();
    assert_share(&format!("have at most {FEW_WORDS} words"), MAX_SHORT, comments.len(), &found);
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    assert_few_open_with_a_pointer(&doc_comments());
}

#[test]
fn doc_comments_say_more_than_the_name() {
    assert_few_are_short(&doc_comments());
}

#[test]
fn docstrings_open_with_a_noun_or_a_verb() {
    assert_few_open_with_a_pointer(&docstrings());
}

#[test]
fn docstrings_say_more_than_the_name() {
    assert_few_are_short(&docstrings());
}

#[test]
fn bounds_are_named_max() {
    for path in rust_files() {
        let source = std::fs::read_to_string(&path).expect("UTF-8");
        for (number, line) in source.lines().enumerate() {
            let named = line
                .split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
                .find(|word| OTHER_BOUNDS.iter().any(|prefix| word.starts_with(prefix)));
            assert_eq!(named, None, "{}:{}: bounds are MAX_…", path.display(), number + 1);
        }
    }
}

#[test]
fn types_have_names_that_can_be_searched_for() {
    for path in rust_files() {
        let source = std::fs::read_to_string(&path).expect("UTF-8");
        for (number, line) in source.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let mut words = line
                .split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
                .skip_while(|word| !["struct", "enum", "trait", "type", "union"].contains(word));
            let named = words.nth(1).filter(|name| VAGUE_TYPES.contains(name));
            assert_eq!(named, None, "{}:{}: a type needs a telling name", path.display(), number + 1);
        }
    }
}

/// Returns the parameters of the function whose signature a text begins with.
fn parameters(signature: &str) -> Option<Vec<&str>> {
    let (mut depth, mut start, mut before, mut found) = (0, None, ' ', Vec::new());
    for (at, character) in signature.char_indices() {
        match (character, start) {
            ('>', _) if before == '-' => {}
            ('(', None) if depth == 0 => start = Some(at + 1),
            ('{' | ';' | '"', None) => return None,
            (',', Some(from)) if depth == 0 => {
                found.push(&signature[from..at]);
                start = Some(at + 1);
            }
            (')', Some(from)) if depth == 0 => {
                found.push(&signature[from..at]);
                return Some(found);
            }
            ('(' | '[' | '<', _) => depth += 1,
            (')' | ']' | '>', _) => depth -= 1,
            _ => {}
        }
        before = character;
    }
    None
}

#[test]
fn choices_are_enums_and_not_bool_arguments() {
    let is_test = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("test_") || path.components().any(|part| part.as_os_str() == "tests")
    };
    let mut found = Vec::new();
    for path in rust_files().iter().filter(|path| !is_test(path)) {
        let source = std::fs::read_to_string(path).expect("UTF-8");
        let code = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (at, _) in code.match_indices("fn ") {
            for parameter in parameters(&code[at..]).unwrap_or_default() {
                let kind = parameter.split_once(':').map_or("", |(_, kind)| kind.trim());
                if ["bool", "Option<bool>"].contains(&kind) {
                    let line = code[..at].matches('\n').count() + 1;
                    found.push(format!("\n{}:{line}: {}", path.display(), parameter.trim()));
                }
            }
        }
    }
    assert!(found.len() <= MAX_BOOL_PARAMETERS, "{} bool parameters: {}", found.len(), found.concat());
}
