//! Links the functions that requests run through side by side (`functions.txt`, made by `loadtest/functions.py`).
//!
//! A request that comes alone finds cold caches. The program has some 40 MiB of code, of which a request runs functions
//! of 1.5 MiB: in the order of the crates they lie on most of its pages, and each page has to be found anew. The names
//! are of one compiler; what a program does not have is passed over.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=src/link");
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("src/link");
    let order = format!("-Wl,--symbol-ordering-file={}", folder.join("functions.txt").display());
    let arguments = [order.as_str(), "-Wl,--no-warn-symbol-ordering"];
    if links(&arguments, &folder.join("build.rs")) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Returns whether the linker that `rustc` uses takes these arguments: LLVM's does.
fn links(arguments: &[&str], program: &Path) -> bool {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--emit=link", "--target", &variable("TARGET"), "--out-dir", &variable("OUT_DIR")]);
    rustc.arg(program).args(arguments.iter().flat_map(|argument| ["-C".to_owned(), format!("link-arg={argument}")]));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
