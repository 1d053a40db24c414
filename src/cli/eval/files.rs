//! Files of suites and samples: JSON, or a line of JSON for each object; plain or compressed with gzip.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use flate2::read::MultiGzDecoder;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use proofbox_types::large_integers::{string_end, tag_large_integers, tag_large_integers_of_cases};

/// Maximum size of a file, uncompressed, in bytes.
const MAX_BYTES: u64 = 4 << 30;
/// Fields whose text is kept, for Python to read: numbers in them may be larger than those of [`Json`].
const KEPT: [&str; 2] = ["base_input", "plus_input"];
/// First bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Object of a file, and where it comes from.
#[derive(Debug)]
pub(super) struct Line {
    /// File and line that the object comes from.
    pub origin: String,
    /// Fields of the object.
    pub fields: Map<String, Json>,
    /// Text of the fields that are [`KEPT`], where the object has a line of its own.
    kept: BTreeMap<&'static str, Box<RawValue>>,
}

/// Content of a file.
pub(super) enum Content {
    /// Objects: one a line, or the items of a document.
    Objects(Vec<Line>),
    /// Lists of programs by the number of their problem, as bigcode's `generations.json` has them.
    Generations(Vec<Vec<String>>),
}

/// Reads a file.
///
/// # Errors
/// Returns an error that names file and line of the first mistake.
pub(super) fn read(path: &Path) -> anyhow::Result<Content> {
    let text = text(path)?;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let is_document = name.strip_suffix(".gz").unwrap_or(&name).ends_with(".json");
    // Some publish lines under the name of a document.
    if is_document && (starts_with(&text, '[') || first_line_is_open(&text)) {
        return document(path, &text);
    }
    lines(path, &text).map(Content::Objects)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let bytes = if bytes.starts_with(&GZIP) {
        let mut plain = Vec::new();
        let mut decoder = MultiGzDecoder::new(&bytes[..]).take(MAX_BYTES + 1);
        decoder.read_to_end(&mut plain).with_context(|| format!("decompressing {}", path.display()))?;
        if plain.len() as u64 > MAX_BYTES {
            bail!("{} has more than {MAX_BYTES} bytes when it is decompressed", path.display());
        }
        plain
    } else {
        bytes
    };
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

fn starts_with(text: &str, char: char) -> bool {
    text.trim_start().starts_with(char)
}

/// Returns whether the first line with text is no object by itself.
fn first_line_is_open(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let is_only = text.lines().filter(|line| !line.trim().is_empty()).take(2).count() == 1;
    is_only || serde_json::from_str::<serde::de::IgnoredAny>(first).is_err()
}

fn lines(path: &Path, text: &str) -> anyhow::Result<Vec<Line>> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(index, line)| {
            let origin = format!("{}:{}", path.display(), index + 1);
            let line = quote_constants(line);
            let value = serde_json::from_str(&tag_large_integers_of_cases(&line)).map_err(|error| {
                anyhow::anyhow!("{origin}: not JSON: {}", error.to_string().replace(" at line 1", ""))
            })?;
            let Json::Object(fields) = value else { bail!("{origin}: expected an object") };
            for (name, value) in &fields {
                if !KEPT.contains(&name.as_str()) && has_constant(value) {
                    bail!("{origin}: `{name}` has a number that JSON does not have, such as NaN");
                }
            }
            let kept = kept(&line, &fields).with_context(|| format!("{origin}: not JSON"))?;
            Ok(Line { origin, fields, kept })
        })
        .collect()
}

/// Numbers that Python writes in JSON.
const CONSTANTS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
/// First character of the strings that stand for them while a line is read: private, and not in benchmarks.
const CONSTANT: char = '\u{f8ff}';

/// Writes [`CONSTANTS`] as strings.
fn quote_constants(line: &str) -> Cow<'_, str> {
    if !CONSTANTS.iter().any(|name| line.contains(name)) {
        return Cow::Borrowed(line);
    }
    let mut quoted = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['"', '-', 'I', 'N']) {
        let (before, found) = rest.split_at(at);
        quoted.push_str(before);
        let constant = CONSTANTS.iter().find(|name| found.starts_with(**name));
        let length = match constant {
            Some(name) => {
                quoted.extend(['"', CONSTANT]);
                quoted.push_str(name);
                quoted.push('"');
                name.len()
            }
            None => {
                let length = if found.starts_with('"') { string_end(found.as_bytes(), 1) } else { 1 };
                quoted.push_str(&found[..length]);
                length
            }
        };
        rest = &found[length..];
    }
    quoted.push_str(rest);
    Cow::Owned(quoted)
}

/// Returns whether a value has one of [`CONSTANTS`] in it.
fn has_constant(value: &Json) -> bool {
    match value {
        Json::String(text) => text.starts_with(CONSTANT),
        Json::Array(items) => items.iter().any(has_constant),
        Json::Object(members) => members.values().any(has_constant),
        _ => false,
    }
}

/// Writes [`CONSTANTS`] as Python reads them.
fn unquote_constants(text: &str) -> String {
    CONSTANTS.iter().fold(text.to_owned(), |text, name| text.replace(&format!("\"{CONSTANT}{name}\""), name))
}

fn kept(text: &str, fields: &Map<String, Json>) -> serde_json::Result<BTreeMap<&'static str, Box<RawValue>>> {
    if !KEPT.iter().any(|name| fields.contains_key(*name)) {
        return Ok(BTreeMap::new());
    }
    let mut raw: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
    Ok(KEPT.into_iter().filter_map(|name| Some((name, raw.remove(name)?))).collect())
}

fn document(path: &Path, text: &str) -> anyhow::Result<Content> {
    let value: Json = serde_json::from_str(&tag_large_integers_of_cases(text))
        .with_context(|| format!("{} is not JSON", path.display()))?;
    let (head, items) = match value {
        Json::Array(items) if !items.is_empty() && items.iter().all(Json::is_array) => {
            let generations = serde_json::from_value(Json::Array(items))
                .map_err(|_| anyhow::anyhow!("{}: expected a list of lists of programs", path.display()))?;
            return Ok(Content::Generations(generations));
        }
        Json::Array(items) => (Map::new(), items),
        Json::Object(mut fields) => match fields.shift_remove("items") {
            Some(Json::Array(items)) => (fields, items),
            _ => bail!("{}: `items` must be a list", path.display()),
        },
        _ => bail!("{}: expected a list of items, or an object with `items`", path.display()),
    };
    let mut lines = Vec::with_capacity(items.len() + 1);
    if !head.is_empty() {
        lines.push(Line { origin: path.display().to_string(), fields: head, kept: BTreeMap::new() });
    }
    for (index, item) in items.into_iter().enumerate() {
        let origin = format!("{}: items[{index}]", path.display());
        let Json::Object(fields) = item else { bail!("{origin}: expected an object") };
        lines.push(Line { origin, fields, kept: BTreeMap::new() });
    }
    Ok(Content::Objects(lines))
}

impl Line {
    /// Returns whether the object has a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Returns the text of a field.
    ///
    /// # Errors
    /// Returns an error when the field is missing or no string.
    pub(super) fn text(&self, name: &str) -> anyhow::Result<String> {
        match self.fields.get(name) {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(_) => bail!("{}: `{name}` must be a string", self.origin),
            None => bail!("{}: the field `{name}` is missing", self.origin),
        }
    }

    /// Returns the text of a field; none where it is missing or `null`.
    ///
    /// # Errors
    /// Returns an error when the field is no string.
    pub(super) fn optional_text(&self, name: &str) -> anyhow::Result<Option<String>> {
        match self.fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }

    /// Returns the JSON text of a list, as it came where it is kept; an empty list's where some files have none.
    ///
    /// # Errors
    /// Returns an error when the field is no list.
    pub(super) fn list_text(&self, name: &str) -> anyhow::Result<String> {
        match self.fields.get(name) {
            Some(list @ Json::Array(_)) => {
                Ok(self.kept.get(name).map_or_else(|| list.to_string(), |raw| unquote_constants(raw.get())))
            }
            None | Some(Json::Null | Json::Object(_)) => Ok("[]".to_owned()),
            Some(_) => bail!("{}: `{name}` must be a list", self.origin),
        }
    }

    /// Returns a list of strings; empty where the field is missing.
    ///
    /// # Errors
    /// Returns an error when it is no such list.
    pub(super) fn texts(&self, name: &str) -> anyhow::Result<Vec<String>> {
        match self.fields.get(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(list) => serde_json::from_value(list.clone())
                .map_err(|_| anyhow::anyhow!("{}: `{name}` must be a list of strings", self.origin)),
        }
    }

    /// Returns a field that is JSON, or a string with JSON in it; none where it is missing, `null` or empty.
    ///
    /// # Errors
    /// Returns an error when the string is not JSON.
    pub(super) fn json(&self, name: &str) -> anyhow::Result<Option<Json>> {
        self.json_of(name, |text| Cow::Borrowed(text))
    }

    /// Like [`Line::json`], with integers beyond 64 bits tagged where the field is a string.
    ///
    /// # Errors
    /// Returns the errors of [`Line::json`].
    pub(super) fn tagged_json(&self, name: &str) -> anyhow::Result<Option<Json>> {
        self.json_of(name, tag_large_integers)
    }

    fn json_of(&self, name: &str, text_of: fn(&str) -> Cow<'_, str>) -> anyhow::Result<Option<Json>> {
        match self.fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Json::String(text)) => serde_json::from_str(&text_of(text))
                .map(Some)
                .map_err(|error| anyhow::anyhow!("{}: `{name}` is not JSON: {error}", self.origin)),
            Some(value) => Ok(Some(value.clone())),
        }
    }
}
