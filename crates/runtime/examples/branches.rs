//! Makes the profile of branches of an image anew (runtimes/python-3.13/profile/README.md):
//!
//! ```text
//! cargo run --release -p proofbox-runtime --example branches -- count IMAGE.wasm PACKAGES.bin COUNTERS PROGRAMS
//! cargo run --release -p proofbox-runtime --example branches -- count-short-runs IMAGE.wasm PACKAGES.bin SHORT_RUNS
//! cargo run --release -p proofbox-runtime --example branches -- profile IMAGE.wasm COUNTERS SHORT_RUNS PROFILE.zst [BRANCH FUNCTION]
//! cargo run --release -p proofbox-runtime --example branches -- compile IMAGE.wasm PROFILE.zst IMAGE.cwasm
//! ```
//!
//! `IMAGE.wasm` may be the reactor that `build.py` makes of the recipe, too.
//!
//! `count` runs the programs of a directory in an interpreter that counts which way its branches go, and `count-short-runs` a
//! print, a few asserts, and a session: which functions these use is noted. `profile` makes of the
//! counters what the metering pass gives the compiler as hints: a way is rare that is gone in a share of at most BRANCH of
//! the times that its branch is reached, or FUNCTION of those that the most frequent part of the function is. `compile` tries a profile: the result takes the place of the
//! compiled module in a cache directory.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

use std::error::Error;
use std::fs;
use std::path::Path;

use proofbox_metering::{BranchProfile, Thresholds, meter_with_hints, note_short_runs, profile};
use proofbox_runtime::{ImageFiles, branch_counts};
use proofbox_types::program::{Program, PythonTests};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["count", module, packages, counters, programs] => {
            count(module.as_ref(), packages.as_ref(), counters.as_ref(), &programs_of(programs.as_ref())?, &[])
        }
        ["count-short-runs", module, packages, counters] => {
            count(module.as_ref(), packages.as_ref(), counters.as_ref(), &short_programs(), CALLS)
        }
        ["profile", module, counters, short_runs, to] => {
            let thresholds = Thresholds::default();
            make_profile(module.as_ref(), counters.as_ref(), short_runs.as_ref(), to.as_ref(), thresholds)
        }
        ["profile", module, counters, short_runs, to, branch, function] => {
            let thresholds = Thresholds { branch: branch.parse()?, function: function.parse()? };
            make_profile(module.as_ref(), counters.as_ref(), short_runs.as_ref(), to.as_ref(), thresholds)
        }
        ["compile", module, from, to] => {
            let profile = BranchProfile::read(&zstd::decode_all(&*fs::read(from)?)?)?;
            Ok(fs::write(to, branch_counts::compile(&branch_counts::read(module.as_ref())?, &profile)?)?)
        }
        _ => Err("the head of examples/branches.rs says which arguments there are".into()),
    }
}

/// Calls of a session.
const CALLS: &[&str] = &[
    "import json, re\nfrom collections import Counter\nx = {'a': [1, 2.5, None]}\ndef f(n):\n    return n + 1\nf(2)",
    "class Stack:\n    def __init__(self): self.items = []\n    def push(self, item): self.items.append(item)\n\
     stack = Stack()\nstack.push(f'{f(3):.2f}')\nprint(stack.items, sorted(x), json.dumps(x))\nCounter('abracadabra')",
    "try:\n    x['b']\nexcept KeyError as error:\n    print(repr(error))\nre.findall(r'[a-z]+', 'one two'), sum(x['a'][:2])",
];

/// A print, and a few asserts.
fn short_programs() -> Vec<(String, Program)> {
    let print = Program { code: "print(1 + 1)".to_owned(), ..Program::default() };
    vec![("print".to_owned(), print), ("asserts".to_owned(), graded_program(10))]
}

/// A function with so many asserts.
fn graded_program(asserts: u32) -> Program {
    let code = "def double(number):\n    return number * 2\n".to_owned();
    let asserts = (0..asserts).map(|number| format!("assert double({number}) == {}", number * 2)).collect();
    let tests = Some(PythonTests::Asserts { setup: String::new(), asserts });
    Program { code, tests, ..Program::default() }
}

fn count(
    module: &Path,
    packages: &Path,
    counters: &Path,
    programs: &[(String, Program)],
    calls: &[&str],
) -> Result<()> {
    let compiled = counters.with_extension("cwasm");
    let files = ImageFiles { hash: String::new(), compiled: compiled.clone(), packages: Some(packages.to_owned()) };
    let mut total: Vec<u64> = Vec::new();
    let add = |name: &str, counts: &[u8]| {
        let counts: Vec<u64> = counts.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        println!("{name}: {:.1e} counted", counts.iter().sum::<u64>() as f64);
        total.resize(counts.len(), 0);
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    };
    let done = branch_counts::run_all(&branch_counts::read(module)?, &files, programs, calls, add);
    let _ = fs::remove_file(&compiled);
    done?;
    let bytes: Vec<u8> = total.into_iter().flat_map(u64::to_le_bytes).collect();
    Ok(fs::write(counters, bytes)?)
}

/// The programs of a directory, in the order of their names, and a graded one.
fn programs_of(directory: &Path) -> Result<Vec<(String, Program)>> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            let code = fs::read_to_string(&path)?;
            programs.push((path.display().to_string(), Program { code, ..Program::default() }));
        }
    }
    if programs.is_empty() {
        return Err(format!("there are no programs in {}", directory.display()).into());
    }
    programs.sort_by(|one, other| one.0.cmp(&other.0));
    programs.push(("asserts".to_owned(), graded_program(200)));
    Ok(programs)
}

fn counts_in(file: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(file)?;
    let (counts, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(format!("{} is no file of counters", file.display()).into());
    }
    Ok(counts.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

fn make_profile(module: &Path, counters: &Path, short_runs: &Path, to: &Path, thresholds: Thresholds) -> Result<()> {
    let module = branch_counts::read(module)?;
    let mut profile = profile(&module, &counts_in(counters)?, thresholds)?;
    note_short_runs(&mut profile, &module, &counts_in(short_runs)?)?;
    let written = profile.write();
    let packed = zstd::encode_all(&*written, 19)?;
    fs::write(to, &packed)?;
    let report = meter_with_hints(&module, &profile)?.report;
    println!(
        "{} functions, {} bytes, {} compressed; {} of {} functions of the module have {} hints",
        profile.len(),
        written.len(),
        packed.len(),
        report.hinted,
        report.functions,
        report.hints
    );
    Ok(())
}
