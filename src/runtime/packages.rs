//! Packages that are imported from files: one file beside the image has them all, and every sandbox sees them as a
//! read-only directory.
//!
//! ```text
//! length of the index, 8 bytes, little endian
//! index, JSON: {"sympy/__init__.pyc": [position, length], ...}
//! contents, to which positions refer
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::files::{Base, Layer};
use super::guest::{Interpreters, block_on, generous};
use crate::domain::run::{Program, ResultWanted};
use crate::domain::value::Value;

/// Where sandboxes see them.
const DIRECTORY: &str = "/lib/python3.13/site-packages";

/// What sandboxes start from with the packages in that file.
///
/// # Errors
/// When it can't be read, or is not such a file.
pub(super) fn base(file: Option<&Path>) -> wasmtime::Result<Base> {
    let Some(file) = file else { return Ok(Base::bare()) };
    let content = std::fs::read(file)
        .map_err(|error| wasmtime::Error::msg(format!("reading the packages {}: {error}", file.display())))?;
    let damaged = |what: String| wasmtime::Error::msg(format!("the packages {} are damaged: {what}", file.display()));
    let files = parsed(&Bytes::from(content)).map_err(|what| damaged(what.to_owned()))?;
    let layer = Layer::new(files, 0).map_err(|error| damaged(error.to_string()))?;
    Base::with_layers([(DIRECTORY.to_owned(), layer)]).map_err(|error| damaged(error.to_string()))
}

fn parsed(content: &Bytes) -> Result<Vec<(String, Bytes)>, &'static str> {
    let (length, rest) = content.split_first_chunk::<8>().ok_or("it is too short")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= rest.len());
    let length = length.ok_or("its index is longer than the file")?;
    let index: BTreeMap<String, (usize, usize)> =
        serde_json::from_slice(&rest[..length]).map_err(|_| "its index can't be read")?;
    let contents = content.slice(8 + length..);
    let file = |(path, (position, length)): (String, (usize, usize))| {
        let end = position.checked_add(length).filter(|end| *end <= contents.len());
        Ok((path, contents.slice(position..end.ok_or("a file in it ends beyond it")?)))
    };
    index.into_iter().map(file).collect()
}

/// Names of the standard library's modules that this image can import, and the packages in it with their versions.
pub(super) fn importable(interpreters: &Interpreters) -> Result<(Vec<String>, BTreeMap<String, String>), String> {
    const CODE: &str = "\
import sys
def present(name):
    try:
        __import__(name)
        return True
    except Exception:
        return False
try:
    from _proofbox_packages import installed
except ImportError:
    installed = dict
modules = sorted(name for name in sys.stdlib_module_names if not name.startswith('_') and present(name))
modules, [f'{name} {version}' for name, version in installed().items()]
";
    let program = Program { code: CODE.to_owned(), result: Some(ResultWanted::LastExpression), ..Program::default() };
    let outcome = block_on(interpreters.run(program, &generous())).map_err(|error| error.to_string())?;
    let texts = |value: &Value| match value {
        Value::List(texts) => Some(
            texts
                .iter()
                .filter_map(|text| if let Value::Str(text) = text { Some(text.clone()) } else { None })
                .collect(),
        ),
        _ => None,
    };
    let found: Option<(Vec<String>, Vec<String>)> = match &outcome.report.result {
        Some(Value::Tuple(parts)) if parts.len() == 2 => texts(&parts[0]).zip(texts(&parts[1])),
        _ => None,
    };
    let (modules, packages) =
        found.ok_or_else(|| format!("it ended with {:?}: {}", outcome.end, outcome.stderr.text()))?;
    let versions = packages.iter().filter_map(|package| package.split_once(' '));
    Ok((modules, versions.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(index: &str, contents: &[u8]) -> Bytes {
        let mut bytes = (index.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(index.as_bytes());
        bytes.extend_from_slice(contents);
        Bytes::from(bytes)
    }

    #[test]
    fn files_are_where_the_index_says() {
        let files = parsed(&archive(r#"{"a/b.py": [2, 3], "c": [0, 2]}"#, b"xyabc")).expect("whole");
        let shown: Vec<_> = files.iter().map(|(path, content)| (path.as_str(), &content[..])).collect();
        assert_eq!(shown, [("a/b.py", &b"abc"[..]), ("c", &b"xy"[..])]);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let whole = archive(r#"{"a": [0, 3]}"#, b"abc");
        for length in 0..whole.len() {
            assert!(parsed(&whole.slice(..length)).is_err(), "{length} of {} bytes", whole.len());
        }
        for index in ["[]", r#"{"a": [18446744073709551615, 2]}"#, r#"{"a": [1, 3]}"#, r#"{"a": [-1, 1]}"#] {
            assert!(parsed(&archive(index, b"abc")).is_err(), "{index}");
        }
    }

    #[test]
    fn an_image_without_packages_has_none() {
        assert!(base(None).is_ok());
        assert!(base(Some(Path::new("/nonexistent"))).is_err());
    }
}
