//! The recipe of the interpreter is part of the library (`src/recipe.rs`): build again when it changes.

fn main() {
    println!("cargo::rerun-if-changed=../../runtimes");
}
