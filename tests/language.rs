//! Holds how the code is written: openings and lengths of doc comments, names of bounds and of types (CONTRIBUTING.md).

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

/// Names that say nothing of a type.
const VAGUE_TYPES: [&str; 6] = ["Place", "Told", "Kept", "Asked", "From", "Into"];

struct DocComment {
    place: String,
    text: String,
}

fn rust_files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["src", "crates", "loadtest/src"] {
        walk(&root.join(folder), &mut found);
    }
    found.sort();
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

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || "_'`:[]<>".contains(character)))
        .filter(|word| !word.is_empty())
}

fn assert_share(what: &str, most: usize, all: usize, found: &[&DocComment]) {
    let shown: String = found.iter().map(|comment| format!("\n{}: {}", comment.place, comment.text.trim())).collect();
    assert!(found.len() * 100 <= all * most, "{} of {all} doc comments {what}, {most} % may:{shown}", found.len());
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let comments = doc_comments();
    let opens = |comment: &&DocComment| {
        words(&comment.text)
            .next()
            .is_some_and(|word| POINTERS.split_whitespace().any(|pointer| word.eq_ignore_ascii_case(pointer)))
    };
    let found: Vec<_> = comments.iter().filter(opens).collect();
    assert_share("open with a pointer", MAX_POINTERS, comments.len(), &found);
}

#[test]
fn doc_comments_say_more_than_the_name() {
    let comments = doc_comments();
    let found: Vec<_> = comments.iter().filter(|comment| words(&comment.text).count() <= FEW_WORDS).collect();
    assert_share(&format!("have at most {FEW_WORDS} words"), MAX_SHORT, comments.len(), &found);
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
