//! Runs of our own that compile the packages of an image, and try what it has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use super::packages::{DIRECTORY, Files};
use super::pool::InterpreterPool;
use super::run::run;
use super::trusted::{block_on, trusted_limits};
use proofbox_types::grant::Limits;
use proofbox_types::outcome::End;
use proofbox_types::program::{File as RunFile, Program, ResultWanted};
use proofbox_types::value::Value;

/// Modules compiled in one run.
const COMPILED_AT_ONCE: usize = 256;

/// Compiles modules with this interpreter, in place of their sources. A source that is not Python of this version (a
/// template, a module for another one) is left out: nothing can import it.
///
/// # Errors
/// Returns an error when the interpreter fails.
pub(super) fn compiled(pool: &InterpreterPool, files: Files) -> wasmtime::Result<Files> {
    const CODE: &str = "\
import importlib._bootstrap_external, importlib.util, os, sys
os.mkdir('compiled')
for number, shown in enumerate(sys.argv[1:]):
    with open(f'sources/{number}', 'rb') as file:
        source = file.read()
    try:
        code = compile(source, shown, 'exec', dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        continue
    with open(f'compiled/{number}', 'wb') as file:
        file.write(importlib._bootstrap_external._code_to_hash_pyc(code, importlib.util.source_hash(source), False))
";
    let (sources, mut others): (Files, Files) = files.into_iter().partition(|(path, _)| path.ends_with(".py"));
    let count = sources.len();
    let limits = Limits { files_bytes: 1 << 30, files_count: 4 * COMPILED_AT_ONCE as u64, ..trusted_limits() };
    for (group, sources) in sources.chunks(COMPILED_AT_ONCE).enumerate() {
        eprintln!("Compiling modules: {} of {count}", group * COMPILED_AT_ONCE + sources.len());
        let files = sources.iter().enumerate();
        let program = Program {
            code: CODE.to_owned(),
            args: sources.iter().map(|(path, _)| format!("{DIRECTORY}/{path}")).collect(),
            files: files
                .map(|(number, (_, source))| RunFile { path: format!("sources/{number}"), content: source.to_vec() })
                .collect(),
            fetch_files: vec!["compiled/*".to_owned()],
            ..Program::default()
        };
        let outcome = block_on(run(pool, program, &limits)).map_err(wasmtime::Error::from)?;
        if outcome.end != End::Exited(0) {
            let said = outcome.stderr.text();
            return Err(wasmtime::Error::msg(format!("it ended with {:?}: {said}", outcome.end)));
        }
        for RunFile { path, content } in outcome.files {
            let number: Option<usize> = path.rsplit('/').next().and_then(|number| number.parse().ok());
            let source = number.and_then(|number| sources.get(number));
            let (source, _) = source.ok_or_else(|| wasmtime::Error::msg("a file that nobody asked for"))?;
            others.push((format!("{source}c"), Bytes::from(content)));
        }
    }
    Ok(others)
}

/// Contents that an image turned out to have.
pub(super) struct Tried {
    /// Modules at the top that are not of the standard library.
    pub imports: BTreeSet<String>,
    /// Packages of the image, with their versions.
    pub packages: BTreeMap<String, String>,
    /// Modules that can't be imported, and why.
    pub failing: Vec<(String, String)>,
}

/// The packages that this image has, and which of these modules can't be imported.
///
/// # Errors
/// Returns an error when it can't be asked.
pub(super) fn tried(pool: &InterpreterPool, modules: &[String]) -> Result<Tried, String> {
    let Importable { imports, packages, .. } = importable(pool)?;
    let mut failing = Vec::new();
    for module in modules {
        // Each in a fresh interpreter: what one does is no matter of the next one's.
        let program = Program {
            code: "import sys\n__import__(sys.argv[1])\n".to_owned(),
            args: vec![module.clone()],
            ..Program::default()
        };
        let limits = Limits { wall: Duration::from_secs(60), ..trusted_limits() };
        let outcome = block_on(run(pool, program, &limits)).map_err(|error| error.to_string())?;
        if outcome.end != End::Exited(0) {
            let said = outcome.stderr.text();
            let said = said.lines().last().map_or_else(|| format!("{:?}", outcome.end), str::to_owned);
            failing.push((module.clone(), said));
        }
    }
    Ok(Tried { imports, packages, failing })
}

/// Modules and packages that an image has.
pub(super) struct Importable {
    /// Modules of the standard library that can be imported.
    pub modules: Vec<String>,
    /// Other modules at the top.
    pub imports: BTreeSet<String>,
    /// Packages, with their versions.
    pub packages: BTreeMap<String, String>,
}

/// Returns the modules and packages that this image has.
///
/// # Errors
/// Returns an error when it can't be asked.
pub(super) fn importable(pool: &InterpreterPool) -> Result<Importable, String> {
    const CODE: &str = "\
import sys
def present(name):
    try:
        __import__(name)
        return True
    except Exception:
        return False
try:
    from _proofbox_packages import available, installed
except ImportError:
    installed, available = dict, tuple
modules = sorted(name for name in sys.stdlib_module_names if not name.startswith('_') and present(name))
imports = [name for name in available() if name not in sys.stdlib_module_names]
modules, imports, [f'{name} {version}' for name, version in installed().items()]
";
    let program = Program { code: CODE.to_owned(), result: Some(ResultWanted::LastExpression), ..Program::default() };
    let outcome = block_on(run(pool, program, &trusted_limits())).map_err(|error| error.to_string())?;
    let texts = |value: &Value| match value {
        Value::List(texts) => Some(
            texts
                .iter()
                .filter_map(|text| if let Value::Str(text) = text { Some(text.clone()) } else { None })
                .collect(),
        ),
        _ => None,
    };
    let found: Option<Vec<Vec<String>>> = match &outcome.report.result {
        Some(Value::Tuple(parts)) => parts.iter().map(texts).collect(),
        _ => None,
    };
    let Some(Ok([modules, imports, packages])) = found.map(<[Vec<String>; 3]>::try_from) else {
        return Err(format!("it ended with {:?}: {}", outcome.end, outcome.stderr.text()));
    };
    let versions = packages.iter().filter_map(|package| package.split_once(' '));
    let packages = versions.map(|(name, version)| (name.to_owned(), version.to_owned())).collect();
    Ok(Importable { modules, imports: imports.into_iter().collect(), packages })
}
