//! The recipe of the runtime is part of the binary (`src/runtime/recipe.rs`): build again when it changes.

fn main() {
    println!("cargo::rerun-if-changed=runtimes");
    println!("cargo::rerun-if-changed=policies");
}
